//! Descriptions: what someone says of a model, every field optional.
//!
//! The built-in rows and the user's configuration are written in this one form.

use std::sync::Arc;

use serde::Deserialize;
use threadline_core::history::fact::Money;
use threadline_core::provider::{MediaSupport, Price, Profile, ThinkingSupport, ToolSupport};
use threadline_core::tokens;
use toml::{Table, Value};

use crate::quirks::Quirks;

/// The images that `image/*` stands for: those that every model with eyes takes.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/webp", "image/gif"];

/// What is said of a model.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Description {
    /// What request and answer may take together.
    pub window_tokens: Option<u64>,
    /// The most it answers.
    pub output_cap_tokens: Option<u32>,
    /// The token counter that comes nearest to its own.
    pub counter: Option<Arc<str>>,
    /// Its tokens for 100 of ours, in steps of 5.
    pub factor_percent: Option<u32>,
    /// The media it takes.
    pub media: Option<Vec<MediaDescription>>,
    /// Whether it calls tools.
    pub tools: Option<Tools>,
    /// Whether it can be held to a tool's schema.
    pub strict_tools: Option<bool>,
    /// Whether it thinks, and how it is told to.
    pub thinking: Option<ThinkingDescription>,
    /// Whether it can be held to a schema for its answer.
    pub json_answers: Option<bool>,
    /// Whether it takes a temperature.
    pub temperature: Option<bool>,
    /// Its prices, by rising size of the request.
    pub prices: Option<Vec<PriceDescription>>,
    /// The peculiarities of its wire, those that are different.
    pub quirks: Table,
}

/// A type of media that a model takes; `image/*` stands for the usual images.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MediaDescription {
    /// The media type.
    #[serde(rename = "type")]
    pub media_type: Arc<str>,
    /// The most bytes of one.
    pub cap_bytes: u64,
    /// The most tokens that one takes.
    pub tokens: u32,
    /// Whether it may stand in a tool's result.
    #[serde(default)]
    pub in_results: bool,
}

/// Whether a model calls tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tools {
    /// It does not.
    None,
    /// One call in an output.
    OneByOne,
    /// Several calls in an output.
    SideBySide,
}

/// Whether a model thinks, and how it is told to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case", deny_unknown_fields)]
pub enum ThinkingDescription {
    /// It does not.
    Never,
    /// It always does.
    Always,
    /// It is told with how much effort.
    Effort {
        /// Whether it can be told not to.
        #[serde(default)]
        can_be_off: bool,
    },
    /// It is told how many tokens it may take.
    Budget {
        /// The least it can be given.
        least_tokens: u32,
        /// The most it can be given.
        most_tokens: u32,
    },
}

/// What a model costs, in US dollars for a million tokens each, written as text: `"2.50"`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceDescription {
    /// For requests of at least so many tokens.
    #[serde(default)]
    pub from_input_tokens: u64,
    /// Prompt tokens.
    pub input: String,
    /// Generated tokens.
    pub output: String,
    /// Prompt tokens read from a cache.
    pub cached_input: Option<String>,
    /// Prompt tokens written to a cache.
    pub cache_write: Option<String>,
}

impl Description {
    /// Whether everything in it can be understood; else what cannot.
    pub fn check(&self) -> Result<(), String> {
        self.describe(&mut Profile::unknown())?;
        quirks(&self.quirks).map(|_| ())
    }

    /// Changes a profile by what is said.
    pub(super) fn describe(&self, profile: &mut Profile) -> Result<(), String> {
        if let Some(window) = self.window_tokens {
            profile.window_tokens = at_least_one("window_tokens", window)?;
        }
        if let Some(cap) = self.output_cap_tokens {
            profile.output_cap_tokens = at_least_one("output_cap_tokens", cap)?;
        }
        if let Some(counter) = &self.counter {
            profile.counter = known_counter(counter)?;
        }
        if let Some(factor) = self.factor_percent {
            profile.factor_percent = fit_factor(factor)?;
        }
        if let Some(media) = &self.media {
            profile.media = media.iter().flat_map(MediaDescription::support).collect();
        }
        if let Some(tools) = self.tools {
            profile.tools = tools.support();
        }
        if let Some(thinking) = self.thinking {
            profile.thinking = thinking.support();
        }
        if let Some(prices) = &self.prices {
            let prices =
                prices.iter().map(PriceDescription::price).collect::<Result<Vec<_>, _>>()?;
            if !prices.is_sorted_by(|one, next| one.from_input_tokens < next.from_input_tokens) {
                return Err("prices must come by rising from_input_tokens".to_owned());
            }
            profile.prices = prices;
        }
        profile.strict_tools = self.strict_tools.unwrap_or(profile.strict_tools);
        profile.json_answers = self.json_answers.unwrap_or(profile.json_answers);
        profile.temperature = self.temperature.unwrap_or(profile.temperature);
        Ok(())
    }
}

/// The quirks of a table: what it does not say is as usual.
pub(super) fn quirks(table: &Table) -> Result<Quirks, String> {
    let read = Quirks::deserialize(Value::Table(table.clone()));
    read.map_err(|error| format!("quirks: {}", error.message()))
}

fn at_least_one<N: PartialOrd + From<u8>>(what: &str, number: N) -> Result<N, String> {
    if number < N::from(1) {
        return Err(format!("{what} must be at least 1"));
    }
    Ok(number)
}

fn known_counter(name: &str) -> Result<Arc<str>, String> {
    let known = ["o200k", "cl100k", "estimate"];
    if known.contains(&name) || tokens::by_id(name).is_some() {
        return Ok(name.into());
    }
    Err(format!("counter must be one of {}", known.join(", ")))
}

fn fit_factor(factor: u32) -> Result<u32, String> {
    if (50..=400).contains(&factor) && factor.is_multiple_of(5) {
        return Ok(factor);
    }
    Err("factor_percent must be from 50 to 400, in steps of 5".to_owned())
}

impl MediaDescription {
    fn support(&self) -> Vec<MediaSupport> {
        let Self { media_type, cap_bytes, tokens, in_results } = self;
        let of = |media_type: Arc<str>| MediaSupport {
            media_type,
            cap_bytes: *cap_bytes,
            tokens: *tokens,
            in_results: *in_results,
        };
        match &**media_type {
            "image/*" => IMAGES.iter().map(|name| of((*name).into())).collect(),
            _ => vec![of(Arc::clone(media_type))],
        }
    }
}

impl Tools {
    const fn support(self) -> ToolSupport {
        match self {
            Self::None => ToolSupport::None,
            Self::OneByOne => ToolSupport::OneByOne,
            Self::SideBySide => ToolSupport::SideBySide,
        }
    }
}

impl ThinkingDescription {
    const fn support(self) -> ThinkingSupport {
        match self {
            Self::Never => ThinkingSupport::Never,
            Self::Always => ThinkingSupport::Always,
            Self::Effort { can_be_off } => ThinkingSupport::Effort { can_be_off },
            Self::Budget { least_tokens, most_tokens } => {
                ThinkingSupport::Budget { least_tokens, most_tokens }
            }
        }
    }
}

impl PriceDescription {
    fn price(&self) -> Result<Price, String> {
        let optional = |text: &Option<String>| text.as_deref().map(dollars).transpose();
        Ok(Price {
            from_input_tokens: self.from_input_tokens,
            input: dollars(&self.input)?,
            output: dollars(&self.output)?,
            cached_input: optional(&self.cached_input)?,
            cache_write: optional(&self.cache_write)?,
        })
    }
}

/// An amount of US dollars that was written as text, such as `2.50`.
pub fn dollars(text: &str) -> Result<Money, String> {
    let wrong = || format!("{text:?} is not an amount in dollars, such as \"0.50\"");
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(part) || part.len() > 9 {
        return Err(wrong());
    }
    let whole: u64 = whole.parse().map_err(|_| wrong())?;
    let part: u64 = format!("{part:0<9}").parse().map_err(|_| wrong())?;
    let billionths = whole.checked_mul(1_000_000_000).and_then(|whole| whole.checked_add(part));
    billionths.map(Money).ok_or_else(wrong)
}
