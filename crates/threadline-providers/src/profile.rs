//! Profiles: what a model can do, and the peculiarities of its wire, by its name.
//!
//! What is known is layered: what is safe, what holds at its endpoint, the rows whose patterns fit
//! its name, and at last what the user says. Each layer says only what it knows.

mod description;
mod pattern;

use std::sync::LazyLock;

use serde::Deserialize;
use threadline_core::provider::Profile;
use toml::Table;

pub use self::description::{
    Description, MediaDescription, PriceDescription, ThinkingDescription, Tools, dollars,
};
use self::pattern::Pattern;
use crate::dialect::Dialect;
use crate::endpoint::{self, Endpoint};
use crate::quirks::Quirks;

/// The rows of the models that are known.
const ROWS: &str = include_str!("../data/models.toml");

/// All that is known of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// What it can do.
    pub profile: Profile,
    /// The peculiarities of its wire.
    pub quirks: Quirks,
    /// Whether its name is one that is known.
    pub known: bool,
}

/// What is known of a model at an endpoint.
///
/// `like` is the name that it is described by, where its own says nothing, as with a deployment.
/// What the user says of it beats all else.
pub fn describe(
    endpoint: &Endpoint,
    dialect: Dialect,
    like: &str,
    own: &Description,
) -> Result<Described, String> {
    let mut profile = Profile::unknown();
    let mut table = Table::new();
    let defaults = [&endpoint.defaults];
    let rows = rows_for(endpoint, like);
    let known = !rows.is_empty();
    for layer in defaults.into_iter().chain(rows.iter().map(|(row, _)| &row.says)) {
        layer.describe(&mut profile)?;
    }
    let of_wire = rows.iter().filter(|(_, own_wire)| *own_wire).map(|(row, _)| &row.says);
    for layer in defaults.into_iter().chain(of_wire) {
        table.extend(layer.quirks.clone());
    }
    own.describe(&mut profile)?;
    table.extend(own.quirks.clone());
    let quirks = description::quirks(&table)?;
    // What a protocol cannot say, no model of it takes.
    let in_results = match dialect {
        Dialect::OpenAiChat => false,
        Dialect::OpenAiResponses | Dialect::Anthropic => true,
        Dialect::Gemini => quirks.result_parts,
    };
    for media in &mut profile.media {
        media.in_results &= in_results;
    }
    profile.output_cap_tokens = within(profile.output_cap_tokens, profile.window_tokens);
    Ok(Described { profile, quirks, known })
}

/// The names of the models that a provider is known to have, as they can be asked.
pub fn names(provider: &str) -> Vec<&'static str> {
    let of = MODELS.iter().filter(|row| row.providers.iter().any(|name| name == provider));
    let mut names: Vec<&str> =
        of.flat_map(|row| &row.names).filter_map(|pattern| pattern.plain()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Whether a provider is known to have models of such a name.
pub fn has(provider: &str, model: &str) -> bool {
    let name = plain_name(model);
    let letters = |of: &dyn Fn(&Row) -> bool| {
        let patterns = MODELS.iter().filter(|row| of(row)).flat_map(|row| &row.names);
        let fitting = patterns.filter(|pattern| !pattern.is_any() && pattern.fits(&name));
        fitting.map(Pattern::letters).max()
    };
    let own = letters(&|row| row.providers.iter().any(|own| own == provider));
    // An open model may be named like those of a provider that does not serve it.
    own.is_some() && own >= letters(&|row| row.providers.is_empty())
}

/// An answer takes at most half of a window that would else have no room for the question.
fn within(cap: u32, window: u64) -> u32 {
    let half = u32::try_from(window / 2).unwrap_or(u32::MAX);
    cap.min(half.max(1))
}

/// The rows that fit a model, the most particular one last, each with whether what it says of the
/// wire holds here: a model that is relayed is spoken to as the relay wants it.
fn rows_for(endpoint: &Endpoint, model: &str) -> Vec<(&'static Row, bool)> {
    let mut found = matching(&endpoint.provider, model, true);
    if let (true, Some((vendor, model))) = (endpoint.relays, model.split_once('/')) {
        let vendor = endpoint::all_known()
            .find(|known| known.relayed_as.iter().any(|name| **name == *vendor))
            .map_or(vendor, |known| &known.provider);
        let mut relayed = matching(vendor, model, false);
        relayed.append(&mut found);
        found = relayed;
    }
    found
}

fn matching(provider: &str, model: &str, own_wire: bool) -> Vec<(&'static Row, bool)> {
    let name = plain_name(model);
    let rank = |row: &'static Row| {
        let letters = row.names.iter().filter(|pattern| pattern.fits(&name)).map(Pattern::letters);
        let is_here = row.providers.is_empty() || row.providers.iter().any(|own| own == provider);
        let letters = letters.max().filter(|_| is_here)?;
        Some(((!row.providers.is_empty(), letters), row))
    };
    let mut found: Vec<_> = MODELS.iter().filter_map(rank).collect();
    found.sort_by_key(|(rank, _)| *rank);
    found.into_iter().map(|(_, row)| (row, own_wire)).collect()
}

/// A name as patterns know it. Claude's versions are written with a dot by those who relay them.
fn plain_name(model: &str) -> String {
    let name = model.to_lowercase();
    if name.starts_with("claude") { name.replace('.', "-") } else { name }
}

/// A row: what is said of the models whose names fit.
#[derive(Debug)]
struct Row {
    providers: Vec<String>,
    names: Vec<Pattern>,
    says: Description,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rows {
    models: Vec<Table>,
}

#[expect(clippy::expect_used, reason = "the rows are part of the program, and a test reads them")]
static MODELS: LazyLock<Vec<Row>> =
    LazyLock::new(|| read(ROWS).expect("the rows of the models can be read"));

fn read(rows: &str) -> Result<Vec<Row>, String> {
    let rows: Rows = toml::from_str(rows).map_err(|error| error.to_string())?;
    rows.models.into_iter().map(row).collect()
}

fn row(mut table: Table) -> Result<Row, String> {
    let whom = table.get("names").map(ToString::to_string).unwrap_or_default();
    let wrong = |error: &str| format!("{whom}: {error}");
    let mut list = |key: &str| {
        let list = table.remove(key).map_or_else(|| Ok(Vec::new()), Vec::deserialize);
        list.map_err(|error| wrong(error.message()))
    };
    let (providers, names): (_, Vec<String>) = (list("providers")?, list("names")?);
    let says = Description::deserialize(table).map_err(|error| wrong(error.message()))?;
    says.check().map_err(|error| wrong(&error))?;
    Ok(Row { providers, names: names.into_iter().map(Pattern::from).collect(), says })
}

#[cfg(test)]
mod tests;
