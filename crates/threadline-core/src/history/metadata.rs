//! Small facts beside an entry: `snake_case` keys, at most 2 KiB in all.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// The most that an entry's metadata may take, serialised.
pub const METADATA_CAP_BYTES: usize = 2048;
/// The key that says that something was dropped to stay within the cap.
pub const DROPPED_KEY: &str = "metadata_dropped";

/// What an entry carries beside its fact.
///
/// Values of a type that this version does not know are passed over when a record is read: they
/// stay in the record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Metadata(#[serde(deserialize_with = "known_values")] BTreeMap<String, Value>);

/// One metadata value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// Yes or no.
    Flag(bool),
    /// A count or a measure.
    Number(i64),
    /// A word or two.
    Text(String),
}

fn known_values<'de, D>(deserializer: D) -> Result<BTreeMap<String, Value>, D::Error>
where
    D: Deserializer<'de>,
{
    let all = BTreeMap::<String, Known>::deserialize(deserializer)?;
    Ok(all.into_iter().filter_map(|(key, Known(value))| Some((key, value?))).collect())
}

/// A value, if it is of a type that this version knows.
struct Known(Option<Value>);

impl<'de> Deserialize<'de> for Known {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(KnownVisitor).map(Self)
    }
}

struct KnownVisitor;

impl<'de> Visitor<'de> for KnownVisitor {
    type Value = Option<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Self::Value, E> {
        Ok(Some(Value::Flag(flag)))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Some(Value::Number(number)))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(i64::try_from(number).ok().map(Value::Number))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(Value::Text(text.to_owned())))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        IgnoredAny.visit_seq(seq).map(|_| None)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        IgnoredAny.visit_map(map).map(|_| None)
    }
}

/// Why metadata was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MetadataRefused {
    /// A key is not in `snake_case`.
    #[error("metadata keys are snake_case, not {0:?}")]
    Key(String),
    /// More than the cap.
    #[error("metadata of {bytes} bytes is over the cap of {METADATA_CAP_BYTES}")]
    TooLarge {
        /// The serialised size.
        bytes: usize,
    },
}

impl Metadata {
    /// Nothing.
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// A caller's metadata: refused if a key is not `snake_case` or if it is too much.
    pub fn checked(
        values: impl IntoIterator<Item = (String, Value)>,
    ) -> Result<Self, MetadataRefused> {
        let metadata = Self(values.into_iter().collect());
        metadata.check()?;
        Ok(metadata)
    }

    /// An adapter's metadata: the largest values are dropped, and said to be, until it fits.
    pub fn fitted(values: impl IntoIterator<Item = (&'static str, Value)>) -> Self {
        Self(values.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()).fit()
    }

    /// Both together, fitted like an adapter's; of two values under one key the later counts.
    #[must_use]
    pub fn joined(&self, later: &Self) -> Self {
        let mut values = self.0.clone();
        values.extend(later.0.clone());
        Self(values).fit()
    }

    fn fit(mut self) -> Self {
        let mut dropped = match self.0.get(DROPPED_KEY) {
            Some(Value::Number(before)) => *before,
            Some(Value::Flag(_) | Value::Text(_)) | None => 0,
        };
        while self.size() > METADATA_CAP_BYTES {
            let largest = self
                .0
                .iter()
                .filter(|(key, _)| *key != DROPPED_KEY)
                .max_by_key(|(key, value)| key.len() + value.size())
                .map(|(key, _)| key.clone());
            let Some(largest) = largest else { break };
            self.0.remove(&largest);
            dropped = dropped.saturating_add(1);
            self.0.insert(DROPPED_KEY.to_owned(), Value::Number(dropped));
        }
        self
    }

    /// The same with other texts, fitted like an adapter's.
    #[must_use]
    pub fn map_text(self, map: impl Fn(&str) -> String) -> Self {
        let values = self.0.into_iter().map(|(key, value)| match value {
            Value::Text(text) => (key, Value::Text(map(&text))),
            Value::Flag(_) | Value::Number(_) => (key, value),
        });
        Self(values.collect()).fit()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value under a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// All of it, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Whether it keeps the rules; what was read from a record may not.
    pub fn check(&self) -> Result<(), MetadataRefused> {
        if let Some(key) = self.0.keys().find(|key| !is_snake_case(key)) {
            return Err(MetadataRefused::Key(key.clone()));
        }
        let bytes = self.size();
        if bytes > METADATA_CAP_BYTES {
            return Err(MetadataRefused::TooLarge { bytes });
        }
        Ok(())
    }

    fn size(&self) -> usize {
        if self.is_empty() {
            2
        } else {
            serde_json::to_string(self).map_or(usize::MAX, |json| json.len())
        }
    }
}

impl Value {
    fn size(&self) -> usize {
        match self {
            Self::Flag(_) => 5,
            Self::Number(_) => 20,
            Self::Text(text) => text.len(),
        }
    }
}

fn is_snake_case(key: &str) -> bool {
    key.starts_with(|c: char| c.is_ascii_lowercase())
        && key.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_callers_excess_is_refused() {
        let big = ("note".to_owned(), Value::Text("x".repeat(METADATA_CAP_BYTES)));
        assert!(matches!(Metadata::checked([big]), Err(MetadataRefused::TooLarge { .. })));
        let key = ("Note".to_owned(), Value::Flag(true));
        assert_eq!(Metadata::checked([key]), Err(MetadataRefused::Key("Note".into())));
    }

    #[test]
    fn values_of_a_newer_version_are_passed_over() {
        let newer = r#"{"a":1,"b":1.5,"c":[true],"d":{"a":1},"e":null,"f":9223372036854775808}"#;
        let metadata: Metadata = serde_json::from_str(newer).unwrap();
        assert_eq!(metadata, Metadata::checked([("a".to_owned(), Value::Number(1))]).unwrap());
        let known = r#"{"a":-1,"b":"\u00e9","c":false}"#;
        let metadata: Metadata = serde_json::from_str(known).unwrap();
        assert_eq!(serde_json::to_string(&metadata).unwrap(), r#"{"a":-1,"b":"é","c":false}"#);
    }

    #[test]
    fn an_adapters_excess_is_dropped_and_said() {
        let metadata = Metadata::fitted([
            ("request_id", Value::Text("r1".into())),
            ("headers", Value::Text("x".repeat(4096))),
        ]);
        assert_eq!(metadata.get("headers"), None);
        assert_eq!(metadata.get(DROPPED_KEY), Some(&Value::Number(1)));
        assert_eq!(metadata.check(), Ok(()));
    }

    #[test]
    fn of_two_values_the_later_counts_and_too_much_is_dropped() {
        let text = |text: &str| Value::Text(text.to_owned());
        let first = Metadata::fitted([("id", text("a")), ("model", text("m"))]);
        let later = Metadata::fitted([("id", text("b")), ("long", text(&"x".repeat(2000)))]);
        let joined = first.joined(&later);
        assert_eq!(joined.get("id"), Some(&text("b")));
        assert_eq!(joined.get("model"), Some(&text("m")));
        let joined = joined.joined(&Metadata::fitted([("other", text(&"y".repeat(1000)))]));
        assert_eq!(joined.get("long"), None);
        assert_eq!(joined.get(DROPPED_KEY), Some(&Value::Number(1)));
        assert_eq!(joined.check(), Ok(()));
    }
}
