//! JSON as a tree that keeps the order of keys: models fill in properties in the order they see.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::Number;

/// The members of an object, each key once.
pub(crate) type Members = Vec<(String, Json)>;

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
    Null,
    Flag(bool),
    Number(Number),
    Text(String),
    List(Vec<Self>),
    Object(Members),
}

impl Json {
    /// A text.
    pub(crate) fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    /// The text that it is.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Null | Self::Flag(_) | Self::Number(_) | Self::List(_) | Self::Object(_) => None,
        }
    }

    /// The items of the list that it is; none of anything else.
    pub(crate) fn items(&self) -> &[Self] {
        match self {
            Self::List(items) => items,
            Self::Null | Self::Flag(_) | Self::Number(_) | Self::Text(_) | Self::Object(_) => &[],
        }
    }

    /// The members of the object that it is.
    pub(crate) fn members(&self) -> Option<&Members> {
        match self {
            Self::Object(members) => Some(members),
            Self::Null | Self::Flag(_) | Self::Number(_) | Self::Text(_) | Self::List(_) => None,
        }
    }
}

/// The value under a key.
pub(crate) fn get<'a>(members: &'a Members, key: &str) -> Option<&'a Json> {
    members.iter().find(|(name, _)| name == key).map(|(_, value)| value)
}

/// Puts a value under a key, in the place of the one before it.
pub(crate) fn put(members: &mut Members, key: &str, value: Json) {
    match members.iter_mut().find(|(name, _)| name == key) {
        Some((_, old)) => *old = value,
        None => members.push((key.to_owned(), value)),
    }
}

/// A count of tokens or money, as a provider reports it: none if it is absent or no number.
///
/// What is a number and no count, such as a negative one, is the largest there is: it does not fail
/// the answer, and whoever counts refuses it.
pub(crate) fn reported<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<u64>, D::Error> {
    Ok(match Json::deserialize(deserializer)? {
        Json::Number(number) => {
            let whole = number.as_f64().filter(|float| float.fract() == 0.0);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "it is whole and within the bounds"
            )]
            let whole =
                whole.filter(|float| (0.0..=1e15).contains(float)).map(|float| float as u64);
            Some(number.as_u64().or(whole).unwrap_or(u64::MAX))
        }
        Json::Null | Json::Flag(_) | Json::Text(_) | Json::List(_) | Json::Object(_) => None,
    })
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Flag(flag) => serializer.serialize_bool(*flag),
            Self::Number(number) => number.serialize(serializer),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(items) => serializer.collect_seq(items),
            Self::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (key, value) in members {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
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
        Ok(Json::text(value))
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

    /// Of a key that is given twice the later value counts, as with most readers of schemas.
    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Json, A::Error> {
        let mut members = Members::new();
        let mut places = std::collections::BTreeMap::new();
        while let Some((key, value)) = access.next_entry::<String, Json>()? {
            let place = *places.entry(key.clone()).or_insert(members.len());
            match members.get_mut(place) {
                Some((_, old)) => *old = value,
                None => members.push((key, value)),
            }
        }
        Ok(Json::Object(members))
    }
}
