//! JSON as a tree that borrows its texts, keeps the order of keys and takes none of them twice.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Number;

/// The deepest that values may be nested.
pub(super) const DEPTH_CAP: usize = 127;

/// How much is shown of a name.
pub(super) const NAME_CAP_BYTES: usize = 80;

/// A JSON value.
#[derive(Clone, Debug)]
pub(super) enum Json<'a> {
    Null,
    Flag(bool),
    Number(Numeral<'a>),
    Text(Cow<'a, str>),
    List(Vec<Self>),
    Object(Vec<Member<'a>>),
}

/// A key of an object and what is under it.
pub(super) type Member<'a> = (Cow<'a, str>, Json<'a>);

/// A number and, where it is known, how it was written: 1.10 may be the name of a version.
#[derive(Clone, Debug)]
pub(super) struct Numeral<'a> {
    pub(super) value: Number,
    /// Empty where it is not known.
    pub(super) spelling: Cow<'a, str>,
}

impl From<Number> for Numeral<'_> {
    fn from(value: Number) -> Self {
        Self { value, spelling: Cow::Borrowed("") }
    }
}

impl Numeral<'_> {
    /// The number as JSON, as it was written if that is known.
    pub(super) fn text(&self) -> Cow<'_, str> {
        match &*self.spelling {
            "" => Cow::Owned(self.value.to_string()),
            spelling => Cow::Borrowed(spelling),
        }
    }
}

/// Reads one JSON value. Two readers of a key that is given twice could disagree on what was
/// asked, so that is refused; and so is what is nested deeper than 127 levels.
pub(super) fn read(text: &str) -> Result<Json<'_>, String> {
    serde_json::from_str(text).map_err(|error| {
        let message = error.to_string();
        match message.strip_prefix("recursion limit exceeded") {
            Some(place) => format!("it is nested deeper than {DEPTH_CAP} levels{place}"),
            None => message,
        }
    })
}

impl<'a> Json<'a> {
    /// The value under a key of an object.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => {
                members.iter().find(|(name, _)| name == key).map(|(_, value)| value)
            }
            Self::Null | Self::Flag(_) | Self::Number(_) | Self::Text(_) | Self::List(_) => None,
        }
    }

    /// The same value, which borrows from nothing.
    pub(super) fn into_owned(self) -> Json<'static> {
        let own = |text: Cow<'a, str>| Cow::Owned(text.into_owned());
        match self {
            Self::Null => Json::Null,
            Self::Flag(flag) => Json::Flag(flag),
            Self::Number(Numeral { value, spelling }) => {
                Json::Number(Numeral { value, spelling: own(spelling) })
            }
            Self::Text(text) => Json::Text(own(text)),
            Self::List(items) => Json::List(items.into_iter().map(Json::into_owned).collect()),
            Self::Object(members) => {
                let members =
                    members.into_iter().map(|(key, value)| (own(key), value.into_owned()));
                Json::Object(members.collect())
            }
        }
    }

    /// Whether two values are the same: numbers by value, objects in any order.
    pub(super) fn same(&self, other: &Json<'_>) -> bool {
        match (self, other) {
            (Self::Null, Json::Null) => true,
            (Self::Flag(one), Json::Flag(two)) => one == two,
            (Self::Number(one), Json::Number(two)) => {
                compare(&one.value, &two.value) == Some(Ordering::Equal)
            }
            (Self::Text(one), Json::Text(two)) => one == two,
            (Self::List(one), Json::List(two)) => {
                one.len() == two.len() && one.iter().zip(two).all(|(one, two)| one.same(two))
            }
            (Self::Object(one), Json::Object(two)) => {
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

    /// A text that values share if, and only if, they are the same.
    pub(super) fn key(&self) -> String {
        let mut text = String::new();
        self.write_key(&mut text);
        text
    }

    fn write_key(&self, text: &mut String) {
        match self {
            Self::Null | Self::Flag(_) | Self::Text(_) => self.write(text, usize::MAX),
            Self::Number(number) => text.push_str(&match whole(&number.value) {
                Some(whole) => whole.to_string(),
                None => number.value.to_string(),
            }),
            Self::List(items) => {
                text.push('[');
                for item in items {
                    item.write_key(text);
                    text.push(',');
                }
                text.push(']');
            }
            Self::Object(members) => {
                let mut members: Vec<&Member<'a>> = members.iter().collect();
                members.sort_by(|(one, _), (two, _)| one.cmp(two));
                text.push('{');
                for (key, value) in members {
                    push_quoted(text, key);
                    value.write_key(text);
                    text.push(',');
                }
                text.push('}');
            }
        }
    }

    /// The value as JSON.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, usize::MAX);
        text
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
            Self::Number(number) => text.push_str(&number.text()),
            Self::Text(value) => {
                let end = value.floor_char_boundary(cap_bytes.saturating_add(1));
                push_quoted(text, value.get(..end).unwrap_or_default());
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
                    push_quoted(text, key);
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

/// A name as a JSON string, shortened if it is longer than any name should be.
pub(super) fn quoted_name(name: &str) -> String {
    Json::Text(Cow::Borrowed(name)).shortened(NAME_CAP_BYTES)
}

/// A text as a JSON string.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    push_quoted(&mut quoted, text);
    quoted
}

fn push_quoted(to: &mut String, text: &str) {
    let is_plain = |byte: u8| byte >= b' ' && byte != b'"' && byte != b'\\';
    if text.bytes().all(is_plain) {
        to.push('"');
        to.push_str(text);
        to.push('"');
    } else {
        to.push_str(&serde_json::Value::from(text).to_string());
    }
}

/// How two numbers compare: exactly where both are integers.
pub(super) fn compare(one: &Number, two: &Number) -> Option<Ordering> {
    match (one.as_i128(), two.as_i128()) {
        (Some(one), Some(two)) => Some(one.cmp(&two)),
        _ => one.as_f64()?.partial_cmp(&two.as_f64()?),
    }
}

/// The whole number that a number is, however it is written: with a fraction or an exponent only
/// where it is certain that no digit was lost in reading it.
pub(super) fn whole(number: &Number) -> Option<i128> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if let Some(whole) = number.as_i128() {
        return Some(whole);
    }
    let float = number.as_f64()?;
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and small")]
    (float.fract() == 0.0 && float.abs() < EXACT).then_some(float as i128)
}

/// The keys of an object that is being read: none may come twice.
#[derive(Default)]
pub(super) struct Keys<'a> {
    /// Empty while there are few: comparing with each is faster then.
    seen: HashSet<Cow<'a, str>>,
}

impl<'a> Keys<'a> {
    const FEW: usize = 16;

    /// Whether a key is among those of the members that were read.
    #[expect(clippy::ptr_arg, reason = "a key that is borrowed is kept without a copy")]
    pub(super) fn has(&mut self, key: &Cow<'a, str>, members: &[Member<'a>]) -> bool {
        if members.len() < Self::FEW {
            return members.iter().any(|(known, _)| known == key);
        }
        if self.seen.is_empty() {
            self.seen.extend(members.iter().map(|(key, _)| key.clone()));
        }
        !self.seen.insert(key.clone())
    }
}

impl<'de> Deserialize<'de> for Json<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Tree)
    }
}

/// A text that is borrowed where it has no escapes.
struct Text<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Borrow).map(Self)
    }
}

struct Borrow;

impl<'de> Visitor<'de> for Borrow {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E: Error>(self, value: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(value.to_owned()))
    }
}

struct Tree;

impl<'de> Visitor<'de> for Tree {
    type Value = Json<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Json::Flag(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Json::Number(Number::from(value).into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Json::Number(Number::from(value).into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Self::Value, E> {
        let number = Number::from_f64(value).ok_or_else(|| E::custom("number out of range"))?;
        Ok(Json::Number(number.into()))
    }

    fn visit_borrowed_str<E: Error>(self, value: &'de str) -> Result<Self::Value, E> {
        Ok(Json::Text(Cow::Borrowed(value)))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Json::Text(Cow::Owned(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Json::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        let mut keys = Keys::default();
        while let Some(Text(key)) = access.next_key()? {
            if keys.has(&key, &members) {
                return Err(A::Error::custom(format_args!("{} is given twice", quoted_name(&key))));
            }
            members.push((key, access.next_value()?));
        }
        Ok(Json::Object(members))
    }
}
