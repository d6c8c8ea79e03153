//! The tool `recall`: what an agent's context shows only as a line is read again, or found.
//!
//! It reads the agent's own thread and nothing else: along its path, before the output that made
//! the call. An entry comes as plain text, in pages that are shown whole; what is found comes as
//! one line each. Later on, either is shown as one line that names the source.

mod find;
mod page;
mod told;

use std::fmt::Write as _;
use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::Value;
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::{Effect, Verdict};
use threadline_core::history::sections::Section;
use threadline_core::id::Seq;
use threadline_core::search;
use threadline_core::store::StoreError;
use threadline_core::tool::{
    Handling, RunRules, Tool, ToolContext, ToolOutcome, ToolResult, ToolSpec,
};

use crate::text::{one_line, shortened};
use crate::typed;
use told::Told;

pub use crate::text::PAGE_CAP_BYTES;
pub use find::HITS_CAP;

/// The tool's name.
pub const RECALL: &str = "recall";
/// The longest query.
pub const QUERY_CAP_BYTES: usize = 1000;
/// How much of an entry or of a query stands in the line that is left of a result.
const LINE_WORDS_BYTES: usize = 80;

/// Reads the agent's own thread again: the tool `recall`.
///
/// # Example
///
/// ```
/// use threadline_core::tool::{Schema, Tool as _};
/// use threadline_tools::recall::Recall;
///
/// let recall = Recall::new();
/// let schema = Schema::new(&recall.spec().schema).unwrap();
/// assert!(schema.validate(r#"{"seq":12,"page":2}"#).is_ok());
/// assert!(schema.validate(r#"{"query":"the red door"}"#).is_ok());
/// ```
#[derive(Clone, Debug)]
pub struct Recall {
    spec: ToolSpec,
}

impl Recall {
    /// The tool.
    pub fn new() -> Self {
        let description = format!(
            "Reads again what was said and done earlier in this conversation and is now shown to \
             you shortened, as one line, or not at all. With seq: the entry of that number in \
             full, {} KB at a time; the end says how to read on. With query: the newest entries, \
             at most {HITS_CAP}, that have all its words; words in quotation marks must stand \
             next to each other. Give either seq or query.",
            PAGE_CAP_BYTES / 1024
        );
        Self {
            spec: ToolSpec {
                name: RECALL.into(),
                description: description.into(),
                schema: r#"{"type":"object","properties":{"seq":{"type":"integer","description":"the number of the entry to read"},"page":{"type":"integer","description":"which page of the entry, from 1","minimum":1},"query":{"type":"string","description":"words to find entries by","minLength":1,"maxLength":1000}}}"#
                    .into(),
                strict: false,
                server: None,
                verdict: Verdict::Allow,
                handling: Handling::Run(RunRules::usual(Effect::Read)),
            },
        }
    }
}

impl Default for Recall {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Tool for Recall {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, arguments: &str, context: &ToolContext) -> ToolOutcome {
        let answer = match Wish::read(arguments) {
            Ok(Wish::Entry { seq, page }) => entry(context, seq, page).await,
            Ok(Wish::Find(query)) => find(context, &query).await,
            Err(message) => Err(message),
        };
        match answer {
            Ok(section) => ToolOutcome::Success(ToolResult {
                sections: vec![section],
                ..ToolResult::default()
            }),
            Err(message) => typed::failed(message),
        }
    }
}

#[derive(Deserialize)]
struct Arguments {
    seq: Option<Value>,
    page: Option<Value>,
    query: Option<String>,
}

/// What is to be recalled.
#[derive(Debug, PartialEq, Eq)]
enum Wish {
    /// A page of an entry; what is no number of an entry is the place before the first.
    Entry { seq: Seq, page: usize },
    /// Entries that have some words.
    Find(String),
}

impl Wish {
    fn read(arguments: &str) -> Result<Self, String> {
        let Arguments { seq, page, query } = typed::read(arguments)?;
        match (seq, query) {
            (Some(_), Some(_)) => {
                Err("give either seq, to read an entry, or query, to find some, not both".into())
            }
            (None, None) => Err("give seq, the number of the entry to read, or query, words to \
                                 find entries by"
                .into()),
            (Some(seq), None) => Self::entry(&seq, page.as_ref()),
            (None, Some(_)) if page.is_some() => {
                Err("page goes with seq; give query without it".into())
            }
            (None, Some(query)) => Self::find(query),
        }
    }

    fn entry(seq: &Value, page: Option<&Value>) -> Result<Self, String> {
        let page = match page.map(whole) {
            None => 1,
            Some(Some(page)) if page > 0 => usize::try_from(page).unwrap_or(usize::MAX),
            Some(_) => return Err("page is a whole number from 1 on".into()),
        };
        match (whole(seq), seq) {
            (Some(seq), _) => Ok(Self::Entry { seq: Seq(seq), page }),
            (None, Value::Number(_)) => Ok(Self::Entry { seq: Seq::ZERO, page }),
            (None, _) => Err("seq is the number of an entry, such as 12".into()),
        }
    }

    fn find(query: String) -> Result<Self, String> {
        if query.len() > QUERY_CAP_BYTES {
            return Err(format!(
                "the query has {} bytes, and may have {QUERY_CAP_BYTES}: give fewer words",
                query.len()
            ));
        }
        if search::phrases(&query).is_empty() {
            return Err("the query has no words in it; give some that stand in what you look \
                        for"
            .into());
        }
        Ok(Self::Find(query))
    }
}

/// A whole number that is not negative, as models write them.
fn whole(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A page of an entry.
async fn entry(context: &ToolContext, seq: Seq, page: usize) -> Result<Section, String> {
    let entry = match seq {
        Seq::ZERO => None,
        seq if seq >= context.call.output => None,
        seq => context.thread.entry(seq).await.map_err(|error| unread(&error))?,
    };
    let Some(entry) = entry else { return Err(not_there()) };
    let finished = sealed(context, entry.sealed()).await.map_err(|error| unread(&error))?;
    shown(&entry, &told::told(&entry, &finished), page)
}

/// The entries in which calls have their results.
async fn sealed(
    context: &ToolContext,
    results: &[Seq],
) -> Result<Vec<(Seq, Option<Entry>)>, StoreError> {
    let mut finished = Vec::new();
    for seq in results {
        finished.push((*seq, context.thread.entry(*seq).await?));
    }
    Ok(finished)
}

/// A page of what an entry says, and the line that is left of it.
fn shown(entry: &Entry, told: &Told, page: usize) -> Result<Section, String> {
    let (seq, what) = (entry.seq, &told.what);
    let Some(text) = &told.text else {
        let line =
            format!("entry {seq} is {what}: models do not see it, and it has nothing to read");
        return Ok(faded(line.clone(), line));
    };
    let pages = page::pages(text);
    let last = pages.len();
    let Some(part) = page.checked_sub(1).and_then(|index| pages.get(index)) else {
        return Err(format!("entry {seq} has no page {page}: its last page is {last}"));
    };
    let of = if last > 1 { format!(", page {page} of {last}") } else { String::new() };
    let head = format!("[entry {seq}, {what}, {}{of}]", told::minute(entry.at));
    let end = if page < last {
        let next = page + 1;
        format!("\n[page {page} of {last}: read on with {{\"seq\":{seq},\"page\":{next}}}]")
    } else {
        String::new()
    };
    let part = part.strip_suffix('\n').unwrap_or(part);
    let words = one_line(part);
    let words = shortened(&words, LINE_WORDS_BYTES);
    let line = format!("{RECALL} of {seq} ({}{of}): {words}", told.kind());
    Ok(faded(format!("{head}\n{part}{end}"), line))
}

/// Entries that have some words, and the line that is left of them.
async fn find(context: &ToolContext, query: &str) -> Result<Section, String> {
    let found = find::find(context, query).await.map_err(|error| unread(&error))?;
    let quoted = one_line(query);
    let quoted = format!("{:?}", shortened(&quoted, LINE_WORDS_BYTES));
    let Some(newest) = found.hits.first() else {
        let line = format!("{RECALL} of {quoted}: nothing found");
        let text = format!(
            "nothing found for {quoted} before this turn's own question; try fewer or other words"
        );
        return Ok(faded(text, line));
    };
    let (count, which) = match (found.hits.len(), found.more) {
        (hits, false) => (format!("{hits} found"), "newest first"),
        (hits, true) => (format!("more than {hits} found"), "the newest; more words find fewer"),
    };
    let mut text = format!("{count} for {quoted}, {which}:\n");
    for hit in &found.hits {
        let _ = writeln!(text, "{}", hit.line);
    }
    let seq = newest.seq;
    let _ = write!(text, "[read one with its number, such as {{\"seq\":{seq}}}]");
    let seqs = found.hits.iter().rev().map(|hit| hit.seq.to_string()).collect::<Vec<_>>();
    let line = format!("{RECALL} of {quoted}: {count} ({})", seqs.join(", "));
    Ok(faded(text, line))
}

/// A text of which one line is left after its turn.
fn faded(text: String, line: String) -> Section {
    let line = Arc::<str>::from(line);
    Section::levels(text, Arc::clone(&line), line)
}

/// Whatever the reason is: that an entry is another agent's is not for this one to know.
fn not_there() -> String {
    "there is no such entry to recall: only entries of your own thread of this conversation that \
     still count and came before this call can be recalled; look for words with query"
        .to_owned()
}

fn unread(error: &StoreError) -> String {
    format!("the history could not be read: {error}")
}

#[cfg(test)]
mod tests;
