//! A value of one type taken as one of another, where there is only one thing that it can mean.

use std::borrow::Cow;

use serde_json::Number;

use super::found::SHOWN_CAP_BYTES;
use super::json::{Json, whole};
use super::repair;
use super::schema::Type;

/// A value that was taken as something else.
pub(super) struct Coerced<'a> {
    pub(super) value: Json<'a>,
    /// What it was taken as, after "took … as".
    pub(super) as_what: String,
    /// Whether it is the only item of a list that was not there.
    pub(super) is_wrapped: bool,
}

/// Takes a value as one of some types, the first that it can be.
pub(super) fn coerce<'a>(wanted: &[Type], value: &Json<'a>) -> Option<Coerced<'a>> {
    wanted.iter().find_map(|wanted| to(*wanted, value)).or_else(|| wrapped(wanted, value))
}

/// The words for what was taken as what.
pub(super) fn took(value: &Json<'_>, as_what: &str) -> String {
    format!("took {} as {as_what}", value.shortened(SHOWN_CAP_BYTES))
}

fn to<'a>(wanted: Type, value: &Json<'a>) -> Option<Coerced<'a>> {
    match wanted {
        Type::Null => None,
        Type::Boolean => to_flag(value).map(|flag| plain(Json::Flag(flag), "")),
        Type::Integer => {
            let number = Json::Number(to_integer(value)?.into());
            Some(plain(number, "the integer "))
        }
        Type::Number => {
            let number = Json::Number(to_number(value)?.into());
            Some(plain(number, "the number "))
        }
        Type::String => to_text(value).map(|text| plain(Json::Text(text.into()), "the text ")),
        Type::Array => held(value, '[', "list"),
        Type::Object => held(value, '{', "object"),
    }
}

fn plain<'a>(value: Json<'a>, kind: &str) -> Coerced<'a> {
    let as_what = format!("{kind}{}", value.shortened(SHOWN_CAP_BYTES));
    Coerced { value, as_what, is_wrapped: false }
}

fn to_flag(value: &Json<'_>) -> Option<bool> {
    match value {
        Json::Number(number) => Some(number.value.as_f64()? != 0.0),
        Json::Text(text) => {
            let text = text.trim();
            let is = |word| text.eq_ignore_ascii_case(word);
            if is("true") { Some(true) } else { is("false").then_some(false) }
        }
        Json::Null | Json::Flag(_) | Json::List(_) | Json::Object(_) => None,
    }
}

/// What has a fraction is no integer: nobody knows whether to cut or to round it.
fn to_integer(value: &Json<'_>) -> Option<Number> {
    let whole = match value {
        Json::Number(number) => whole(&number.value)?,
        Json::Text(text) => match text.trim().parse::<i128>() {
            Ok(whole) => whole,
            Err(_) => whole(&number_in(text)?)?,
        },
        Json::Null | Json::Flag(_) | Json::List(_) | Json::Object(_) => return None,
    };
    Number::from_i128(whole)
}

fn to_number(value: &Json<'_>) -> Option<Number> {
    match value {
        Json::Text(text) => number_in(text),
        Json::Null | Json::Flag(_) | Json::Number(_) | Json::List(_) | Json::Object(_) => None,
    }
}

/// The number that a text is, if it is one and not too large.
fn number_in(text: &str) -> Option<Number> {
    let text = text.trim();
    if let Some(whole) = text.parse::<i128>().ok().and_then(Number::from_i128) {
        return Some(whole);
    }
    // What else is read as a number are words such as `inf`.
    let is_sign = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
    if !text.bytes().all(is_sign) {
        return None;
    }
    Number::from_f64(text.parse().ok()?)
}

fn to_text(value: &Json<'_>) -> Option<String> {
    match value {
        Json::Flag(flag) => Some(flag.to_string()),
        Json::Number(number) => Some(number.text().into_owned()),
        Json::Null | Json::Text(_) | Json::List(_) | Json::Object(_) => None,
    }
}

/// The object or list that a text holds; an empty one if it holds nothing.
fn held<'a>(value: &Json<'a>, open: char, kind: &str) -> Option<Coerced<'a>> {
    let Json::Text(text) = value else { return None };
    let (value, as_what) = if text.trim().is_empty() {
        let empty = if open == '[' { Json::List(Vec::new()) } else { Json::Object(Vec::new()) };
        (empty, format!("an empty {kind}"))
    } else if may_hold(text, open) {
        match text {
            Cow::Borrowed(text) => read(text, kind)?,
            Cow::Owned(text) => {
                let (value, as_what) = read(text, kind)?;
                (value.into_owned(), as_what)
            }
        }
    } else {
        return None;
    };
    let fits = match value {
        Json::List(_) => open == '[',
        Json::Object(_) => open == '{',
        Json::Null | Json::Flag(_) | Json::Number(_) | Json::Text(_) => false,
    };
    fits.then_some(Coerced { value, as_what, is_wrapped: false })
}

fn read<'a>(text: &'a str, kind: &str) -> Option<(Json<'a>, String)> {
    let repaired = repair::read(text).ok()?;
    let mut as_what = format!("the {kind} that it holds");
    for warning in repaired.warnings() {
        as_what = format!("{as_what}, {warning}");
    }
    Some((repaired.value, as_what))
}

/// Whether a text looks like one that holds an object or a list.
fn may_hold(text: &str, open: char) -> bool {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    text.starts_with(open) || text.starts_with("```")
}

/// A list of one, if a list is wanted and this is not what should have become one.
fn wrapped<'a>(wanted: &[Type], value: &Json<'a>) -> Option<Coerced<'a>> {
    let can_be_item = match value {
        Json::Flag(_) | Json::Number(_) => true,
        Json::Text(text) => !may_hold(text, '['),
        Json::Null | Json::List(_) | Json::Object(_) => false,
    };
    (wanted.contains(&Type::Array) && can_be_item).then(|| Coerced {
        value: Json::List(vec![value.clone()]),
        as_what: "a list of one".to_owned(),
        is_wrapped: true,
    })
}

/// The one of some values that a value stands for, though it is written otherwise: in other
/// letters, or as another type. None if there are several.
pub(super) fn token<'v>(
    values: &'v [Json<'static>],
    value: &Json<'_>,
) -> Option<&'v Json<'static>> {
    let wanted = word(value)?;
    let mut same = values
        .iter()
        .filter(|known| word(known).is_some_and(|known| is_same_word(&known, wanted.trim())));
    let found = same.next();
    if same.next().is_some() { None } else { found }
}

fn word<'v>(value: &'v Json<'_>) -> Option<Cow<'v, str>> {
    match value {
        Json::Flag(flag) => Some(Cow::Borrowed(if *flag { "true" } else { "false" })),
        Json::Number(number) => Some(number.text()),
        Json::Text(text) => Some(Cow::Borrowed(text)),
        Json::Null | Json::List(_) | Json::Object(_) => None,
    }
}

/// Whether two words are the same in lower case.
pub(super) fn is_same_word(one: &str, two: &str) -> bool {
    let lower = |text: &str| text.is_ascii();
    if lower(one) && lower(two) {
        return one.eq_ignore_ascii_case(two);
    }
    one.chars().flat_map(char::to_lowercase).eq(two.chars().flat_map(char::to_lowercase))
}
