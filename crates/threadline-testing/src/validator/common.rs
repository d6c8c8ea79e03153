//! What several dialects ask for in the same words.

use super::node::{Found, Node};
use super::{Body, Rule};

/// The first rule of every dialect.
pub(super) const OBJECT: Rule = Rule {
    name: "is-a-json-object",
    says: "the body is one JSON object",
    check: |body| {
        let found = || body.root.found("not an object");
        if body.root.value.is_object() { Vec::new() } else { vec![found()] }
    },
};

/// The second rule of every dialect.
pub(super) const BODY_FITS: Rule = Rule {
    name: "body-fits",
    says: "a body above the size limit is refused with 413",
    check: |body| {
        let (bytes, cap) = (body.bytes, body.server.body_cap);
        let found = || body.root.found(format_args!("{bytes} bytes, where {cap} are taken"));
        if bytes <= cap { Vec::new() } else { vec![found()] }
    },
};

/// The model is in the body.
pub(super) const MODEL: Rule = Rule {
    name: "model-is-named",
    says: "model is required",
    check: |body| {
        let named = body.root.text_of("model").is_some_and(|model| !model.is_empty());
        let found = || body.root.found_in("model", "no name of a model");
        if named || body.server.model_in_path { Vec::new() } else { vec![found()] }
    },
};

/// Options of a stream need a stream.
pub(super) const STREAM_OPTIONS: Rule = Rule {
    name: "stream-options-need-stream",
    says: "stream_options is only legal with stream: true",
    check: |body| {
        let streams =
            body.root.get("stream").is_some_and(|flag| flag.value.as_bool() == Some(true));
        let options = body.root.get("stream_options");
        options.filter(|_| !streams).map(|at| at.found("without a stream")).into_iter().collect()
    },
};

/// Metadata is small.
pub(super) const METADATA: Rule = Rule {
    name: "metadata-fits",
    says: "metadata has at most 16 pairs of texts, keys of 64 and values of 512 characters",
    check: |body| {
        let Some(metadata) = body.root.get("metadata") else { return Vec::new() };
        let mut found = Vec::new();
        if !metadata.value.is_object() || metadata.fields().len() > 16 {
            found.push(metadata.found("not an object of at most 16 pairs"));
        }
        for (key, value) in metadata.fields() {
            let fits = value.text().is_some_and(|text| text.chars().count() <= 512);
            if key.chars().count() > 64 || !fits {
                found.push(value.found("not a text that fits"));
            }
        }
        found
    },
};

/// The end user's name is short.
pub(super) const SAFETY_IDENTIFIER: Rule = Rule {
    name: "safety-identifier-fits",
    says: "safety_identifier has at most 64 characters",
    check: |body| {
        let id = body.root.get("safety_identifier");
        let long = id.filter(|id| id.text().is_none_or(|text| text.chars().count() > 64));
        long.map(|id| id.found("not a text of at most 64 characters")).into_iter().collect()
    },
};

/// Top-level fields that nobody knows.
pub(super) fn unknown_fields(body: &Body<'_>, known: &[&str]) -> Vec<Found> {
    unknown(&body.root, known, &body.server.extra_fields)
}

/// Fields of an object that nobody knows.
pub(super) fn unknown(at: &Node<'_>, known: &[&str], extra: &[String]) -> Vec<Found> {
    let fields = at.fields().into_iter();
    fields
        .filter(|(key, _)| !known.contains(key) && !extra.iter().any(|extra| extra == key))
        .map(|(key, value)| value.found(format_args!("{key} is not known")))
        .collect()
}

/// A field that is not a number of a range.
pub(super) fn out_of_range(at: &Node<'_>, key: &str, least: f64, most: f64) -> Option<Found> {
    let value = at.get(key)?;
    let inside = value.value.as_f64().is_some_and(|number| (least..=most).contains(&number));
    (!inside).then(|| value.found(format_args!("{}, not within {least} and {most}", value.value)))
}

/// A field that is not a whole number of at least so much.
pub(super) fn below(at: &Node<'_>, key: &str, least: u64) -> Option<Found> {
    let value = at.get(key)?;
    let enough = value.value.as_u64().is_some_and(|number| number >= least);
    (!enough).then(|| value.found(format_args!("{}, not a number from {least} up", value.value)))
}

/// Fields that are there although the server refuses them.
pub(super) fn refused(at: &Node<'_>, keys: &[&str], why: &str) -> Vec<Found> {
    keys.iter().filter_map(|key| at.get(key)).map(|value| value.found(why)).collect()
}

/// A field that holds none of the words it may hold.
pub(super) fn not_one_of(at: &Node<'_>, key: &str, words: &[&str]) -> Option<Found> {
    let value = at.get(key)?;
    let known = value.text().is_some_and(|text| words.contains(&text));
    (!known).then(|| value.found(format_args!("{} is none of {}", value.value, words.join(", "))))
}

/// Whether a text says nothing.
pub(super) fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// A list that is not of 1 to `most` objects.
pub(super) fn not_objects(at: &Node<'_>, key: &str, most: usize) -> Vec<Found> {
    let items = at.list(key);
    if !(1..=most).contains(&items.len()) {
        return vec![at.found_in(key, format_args!("not a list of 1 to {most} objects"))];
    }
    let others = items.iter().filter(|item| !item.value.is_object());
    others.map(|item| item.found("not an object")).collect()
}
