//! From what a call asks for to what it changes.

use super::change::{Put, Recorded, is_key};
use super::show::told_size;
use super::{DESCRIPTION_CAP_BYTES, KEY_CAP_BYTES, PUT, Resource, Resources, TEXT_CAP_BYTES};
use crate::text::{nearest, one_line, plain, shortened};
use crate::widgets::answer::{Done, Unfit};
use crate::widgets::lines;

/// How many keys are named.
const KEYS_SHOWN: usize = 10;
/// How much of what is no key is shown.
const SHOWN_BYTES: usize = 80;

/// Puts a text under a key.
pub(super) fn put(
    resources: &Resources,
    key: &str,
    text: &str,
    description: Option<&str>,
) -> Result<Done<Recorded>, Unfit> {
    if !is_key(key) {
        return Err(no_key(key));
    }
    if text.is_empty() {
        let message = "there is nothing to put: the text is empty; resource_drop takes one away";
        return Err(Unfit::new("text_empty", message));
    }
    if text.len() > TEXT_CAP_BYTES {
        let message = format!(
            "a resource has at most {TEXT_CAP_BYTES} bytes, not {}; put it in parts, such as \
             {key}/1 and {key}/2",
            text.len(),
        );
        return Err(Unfit::new("text_too_long", message));
    }
    let before = resources.by_key.get(key);
    let given = description.map(|text| plain(&one_line(text))).filter(|text| !text.is_empty());
    if let Some(bytes) = given.as_ref().map(String::len).filter(|len| *len > DESCRIPTION_CAP_BYTES)
    {
        let message =
            format!("a description has at most {DESCRIPTION_CAP_BYTES} bytes, not {bytes}");
        return Err(Unfit::new("description_too_long", message));
    }
    let kept = || before.and_then(|before| before.description.as_deref()).map(str::to_owned);
    let description = given.or_else(kept);
    let same = |before: &Resource| {
        *before.text == *text && before.description.as_deref() == description.as_deref()
    };
    if before.is_some_and(same) {
        return Ok(Done::nothing(format!("nothing changed: {key} is so already")));
    }
    let (verb, diff) = match before {
        None => ("put", format!("+ {key}: {}", told_size(text))),
        Some(before) if *before.text == *text => {
            let words = description.as_deref().unwrap_or_default();
            ("described", format!("~ {key}: {words}"))
        }
        Some(before) => ("replaced", format!("~ {key} {}", lines::diff(&before.text, text))),
    };
    let done = format!("{verb} {key}");
    let gist = match &description {
        Some(words) => format!("{done}: {}, {}", told_size(text), shortened(words, SHOWN_BYTES)),
        None => format!("{done}: {}", told_size(text)),
    };
    let put = Put { key: key.to_owned(), text: text.to_owned(), description };
    Ok(Done { recorded: Some(Recorded::Put(put)), told: done, diff, gist })
}

/// Takes away what is under a key.
pub(super) fn drop(resources: &Resources, key: &str) -> Result<Done<Recorded>, Unfit> {
    let resource = find(resources, key)?;
    Ok(Done {
        recorded: Some(Recorded::Drop(key.to_owned())),
        told: format!("dropped {key}"),
        diff: format!("- {key}: {}", told_size(&resource.text)),
        gist: format!("dropped {key}"),
    })
}

/// What is under a key; if there is nothing, which keys are like it.
pub(super) fn find<'a>(resources: &'a Resources, key: &str) -> Result<&'a Resource, Unfit> {
    if let Some(resource) = resources.by_key.get(key) {
        return Ok(resource);
    }
    let shown = shortened(key, SHOWN_BYTES);
    if resources.by_key.is_empty() {
        let message = format!(
            "there is nothing under {shown:?}, and nothing is shared; {PUT} puts a text there"
        );
        return Err(Unfit::new("key_unknown", message));
    }
    let keys = || resources.by_key.keys().map(|key| &**key);
    let near = nearest(key, keys().map(|key| (key, key)), 3);
    let told = if near.is_empty() {
        let more = if keys().count() > KEYS_SHOWN { " and more" } else { "" };
        let some = keys().take(KEYS_SHOWN).collect::<Vec<_>>().join(", ");
        format!("there is: {some}{more}")
    } else {
        format!("the nearest there is: {}", near.join(", "))
    };
    let message = format!("there is nothing under {shown:?}; {told}");
    Err(Unfit::new("key_unknown", message))
}

fn no_key(key: &str) -> Unfit {
    let mut like = String::new();
    for c in key.trim().chars().flat_map(char::to_lowercase).take(KEY_CAP_BYTES) {
        if is_key(c.encode_utf8(&mut [0; 4])) {
            like.push(c);
        } else if !like.ends_with('-') {
            like.push('-');
        }
    }
    let like = match like.trim_matches('-') {
        "" => "plan/draft-2",
        like => like,
    };
    let message = format!(
        "a key is 1 to {KEY_CAP_BYTES} of a-z, 0-9 and . _ / -, such as {like}, not {:?}",
        shortened(key, SHOWN_BYTES)
    );
    Unfit::new("key_invalid", message)
}
