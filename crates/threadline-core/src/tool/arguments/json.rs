//! JSON as a tree that keeps the order of keys and takes none of them twice.

use std::cmp::Ordering;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Number;

/// A JSON value.
#[derive(Clone, Debug)]
pub(super) enum Json {
    Null,
    Flag(bool),
    Number(Number),
    Text(String),
    List(Vec<Self>),
    Object(Vec<(String, Self)>),
}

/// Reads one JSON value. Two readers of a key that is given twice could disagree on what was
/// asked, so that is refused; and so is what is nested deeper than 127 levels.
pub(super) fn read(text: &str) -> Result<Json, String> {
    serde_json::from_str(text).map_err(|error| {
        let message = error.to_string();
        match message.strip_prefix("recursion limit exceeded") {
            Some(place) => format!("it is nested deeper than 127 levels{place}"),
            None => message,
        }
    })
}

impl Json {
    /// The value under a key of an object.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => {
                members.iter().find(|(name, _)| name == key).map(|(_, value)| value)
            }
            Self::Null | Self::Flag(_) | Self::Number(_) | Self::Text(_) | Self::List(_) => None,
        }
    }

    /// Whether two values are the same: numbers by value, objects in any order.
    pub(super) fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Flag(one), Self::Flag(two)) => one == two,
            (Self::Number(one), Self::Number(two)) => compare(one, two) == Some(Ordering::Equal),
            (Self::Text(one), Self::Text(two)) => one == two,
            (Self::List(one), Self::List(two)) => {
                one.len() == two.len() && one.iter().zip(two).all(|(one, two)| one.same(two))
            }
            (Self::Object(one), Self::Object(two)) => {
                one.len() == two.len()
                    && one
                        .iter()
                        .all(|(key, value)| other.get(key).is_some_and(|theirs| value.same(theirs)))
            }
            (
                Self::Null
                | Self::Flag(_)
                | Self::Number(_)
                | Self::Text(_)
                | Self::List(_)
                | Self::Object(_),
                _,
            ) => false,
        }
    }

    /// The value as JSON, cut after so many bytes.
    pub(super) fn shortened(&self, cap_bytes: usize) -> String {
        let mut text = String::new();
        self.write(&mut text, cap_bytes);
        if text.len() > cap_bytes {
            text.truncate(text.floor_char_boundary(cap_bytes));
            text.push('…');
        }
        text
    }

    /// Writes the value until there is more than so many bytes.
    fn write(&self, text: &mut String, cap_bytes: usize) {
        if text.len() > cap_bytes {
            return;
        }
        match self {
            Self::Null => text.push_str("null"),
            Self::Flag(flag) => text.push_str(if *flag { "true" } else { "false" }),
            Self::Number(number) => text.push_str(&number.to_string()),
            Self::Text(value) => {
                let end = value.floor_char_boundary(cap_bytes.saturating_add(1));
                text.push_str(&quoted(value.get(..end).unwrap_or_default()));
            }
            Self::List(items) => {
                text.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        text.push(',');
                    }
                    item.write(text, cap_bytes);
                    if text.len() > cap_bytes {
                        return;
                    }
                }
                text.push(']');
            }
            Self::Object(members) => {
                text.push('{');
                for (index, (key, value)) in members.iter().enumerate() {
                    if index > 0 {
                        text.push(',');
                    }
                    text.push_str(&quoted(key));
                    text.push(':');
                    value.write(text, cap_bytes);
                    if text.len() > cap_bytes {
                        return;
                    }
                }
                text.push('}');
            }
        }
    }
}

/// A text as a JSON string.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// How two numbers compare: exactly where both are integers.
pub(super) fn compare(one: &Number, two: &Number) -> Option<Ordering> {
    match (one.as_i128(), two.as_i128()) {
        (Some(one), Some(two)) => Some(one.cmp(&two)),
        _ => one.as_f64()?.partial_cmp(&two.as_f64()?),
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Tree)
    }
}

struct Tree;

impl<'de> Visitor<'de> for Tree {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Flag(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Json, E> {
        Number::from_f64(value).map(Json::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Json, E> {
        Ok(Json::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Json, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Json::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Json, A::Error> {
        let mut members: Vec<(String, Json)> = Vec::new();
        let mut keys = std::collections::BTreeSet::new();
        while let Some(key) = access.next_key::<String>()? {
            if !keys.insert(key.clone()) {
                return Err(A::Error::custom(format_args!("{} is given twice", quoted(&key))));
            }
            members.push((key, access.next_value()?));
        }
        Ok(Json::Object(members))
    }
}
