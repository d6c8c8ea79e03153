//! Patterns for the parameters of a call, and the values they are compared with.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::Fit;
use super::pattern::{fits, plain};

/// The most bytes of patterns as they are recorded: a rule is read for every call.
pub const PATTERNS_CAP_BYTES: usize = 4096;
/// The most parameters that a rule speaks of.
pub const PARAMETERS_CAP: usize = 32;

/// What the parameters of a call have to be for a rule to speak of it: each that is named is
/// there, and its value fits its pattern, in which `*` stands for any run of characters. None at
/// all fit every call.
///
/// A parameter of a parameter is named `a.b`. A text is compared as it is, any other value as JSON
/// without spaces, its keys sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patterns(BTreeMap<Arc<str>, Arc<str>>);

/// Why a rule cannot be set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternsRefused {
    /// It names no tool.
    #[error("a rule names the tool it is about; * stands for all")]
    NoTool,
    /// Its arguments are not an object of texts.
    #[error(
        "the arguments of a rule are a JSON object of patterns by parameter, such as {{\"path\":\"docs/*\"}}: {0}"
    )]
    NoObject(String),
    /// There are too many of them, or they are too long.
    #[error(
        "the arguments of a rule name at most {PARAMETERS_CAP} parameters in at most {PATTERNS_CAP_BYTES} bytes"
    )]
    TooMuch,
}

impl Patterns {
    /// Reads what [`text`](Self::text) writes: a JSON object of patterns by parameter.
    pub fn read(text: &str) -> Result<Self, PatternsRefused> {
        if text.len() > PATTERNS_CAP_BYTES {
            return Err(PatternsRefused::TooMuch);
        }
        let patterns: BTreeMap<Arc<str>, Arc<str>> =
            serde_json::from_str(text).map_err(|e| PatternsRefused::NoObject(e.to_string()))?;
        Self::new(patterns)
    }

    /// Patterns by parameter.
    pub fn new(
        patterns: impl IntoIterator<Item = (Arc<str>, Arc<str>)>,
    ) -> Result<Self, PatternsRefused> {
        let patterns = Self(patterns.into_iter().collect());
        let much = patterns.0.len() > PARAMETERS_CAP || patterns.text().len() > PATTERNS_CAP_BYTES;
        if much { Err(PatternsRefused::TooMuch) } else { Ok(patterns) }
    }

    /// Whether they fit every call.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The patterns by parameter.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(parameter, pattern)| (&**parameter, &**pattern))
    }

    /// The patterns as a rule of a conversation has them.
    pub fn text(&self) -> String {
        // A map of texts is always written.
        serde_json::to_string(&self.0).unwrap_or_default()
    }

    pub(super) fn fit(&self, given: &Given<'_>) -> Fit {
        Fit::all(self.iter().map(|(parameter, pattern)| given.fit(parameter, pattern)))
    }
}

/// Patterns in one line, each with a space before it: ` path=docs/*`.
impl fmt::Display for Patterns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (parameter, pattern) in self.iter() {
            if pattern.contains(char::is_whitespace) || pattern.is_empty() {
                write!(f, " {parameter}={pattern:?}")?;
            } else {
                write!(f, " {parameter}={pattern}")?;
            }
        }
        Ok(())
    }
}

/// The arguments of a call, read once and only if a rule asks for them.
pub(super) struct Given<'a> {
    text: &'a str,
    json: OnceCell<Value>,
}

impl<'a> Given<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, json: OnceCell::new() }
    }

    /// What a call runs with is JSON; anything else has no parameters.
    fn json(&self) -> &Value {
        self.json.get_or_init(|| serde_json::from_str(self.text).unwrap_or_default())
    }

    /// How a parameter fits a pattern. A name with dots in it may lead to more than one value.
    fn fit(&self, parameter: &str, pattern: &str) -> Fit {
        let mut found = Vec::new();
        find(self.json(), parameter, &mut found);
        let pattern_plain = plain(pattern);
        let ways = found.into_iter().flat_map(ways);
        Fit::ways(ways.map(|way| fits(pattern, &way) || fits(&pattern_plain, &way)))
    }

    /// How the arguments as a whole fit a pattern, as they are written.
    pub(super) fn fit_as_text(&self, pattern: &str) -> Fit {
        Fit::ways([fits(pattern, self.text), fits(pattern, &compact(self.json(), false))])
    }
}

/// The values that a name leads to: `a.b` is a key, and `b` in what is under `a`.
fn find<'v>(value: &'v Value, name: &str, found: &mut Vec<&'v Value>) {
    let Value::Object(members) = value else { return };
    found.extend(members.get(name));
    for (at, _) in name.match_indices('.') {
        let (key, rest) = name.split_at(at);
        if let (Some(inner), Some(rest)) = (members.get(key), rest.strip_prefix('.')) {
            find(inner, rest, found);
        }
    }
}

/// The ways in which a value can be read: as it is given, and with its paths made plain.
fn ways(value: &Value) -> Vec<Cow<'_, str>> {
    match value {
        Value::String(text) => vec![Cow::Borrowed(text), plain(text)],
        Value::Number(number) => {
            let whole = number.as_f64().filter(|_| number.is_f64()).and_then(whole);
            let ways = [Some(number.to_string()), whole];
            ways.into_iter().flatten().map(Cow::Owned).collect()
        }
        Value::Null | Value::Bool(_) => vec![Cow::Owned(value.to_string())],
        Value::Array(_) | Value::Object(_) => {
            vec![Cow::Owned(compact(value, false)), Cow::Owned(compact(value, true))]
        }
    }
}

/// A number with a fraction of nothing as an integer: `2.0` is `2`.
fn whole(number: f64) -> Option<String> {
    (number.fract() == 0.0 && number.abs() < 1e15).then(|| format!("{number:.0}"))
}

/// A value as JSON without spaces, keys sorted, its paths made plain if that is wanted.
fn compact(value: &Value, paths_plain: bool) -> String {
    let mut text = String::new();
    write(value, paths_plain, &mut text);
    text
}

fn write(value: &Value, paths_plain: bool, out: &mut String) {
    match value {
        Value::String(text) if paths_plain => {
            out.push_str(&Value::from(plain(text).as_ref()).to_string());
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            out.push_str(&value.to_string());
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, paths_plain, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            let sorted: BTreeMap<&String, &Value> = members.iter().collect();
            out.push('{');
            for (index, (key, value)) in sorted.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write(value, paths_plain, out);
            }
            out.push('}');
        }
    }
}
