//! A node: a value inside a body, and where it is.

use std::fmt::Display;

use serde_json::Value;

/// So much is said of what was found, in characters.
const FOUND_CAP: usize = 200;

/// A value inside a body, and where it is.
#[derive(Clone, Debug)]
pub(super) struct Node<'a> {
    pub(super) value: &'a Value,
    path: String,
}

/// A place where a rule is broken.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) path: String,
    pub(super) found: String,
}

impl<'a> Node<'a> {
    /// The body itself.
    pub(super) fn root(value: &'a Value) -> Self {
        Self { value, path: String::new() }
    }

    /// What a field holds; a field that is null is as good as not there.
    pub(super) fn get(&self, key: &str) -> Option<Self> {
        let value = self.value.get(key).filter(|value| !value.is_null())?;
        Some(Self { value, path: self.path_of(key) })
    }

    /// Whether a field is there and not null.
    pub(super) fn has(&self, key: &str) -> bool {
        self.value.get(key).is_some_and(|value| !value.is_null())
    }

    /// The items of a list; none if it is not a list.
    pub(super) fn items(&self) -> Vec<Self> {
        let items = self.value.as_array().map(Vec::as_slice).unwrap_or_default();
        let places = items.iter().enumerate();
        places
            .map(|(place, value)| Self { value, path: format!("{}[{place}]", self.path) })
            .collect()
    }

    /// The items of a list that a field holds.
    pub(super) fn list(&self, key: &str) -> Vec<Self> {
        self.get(key).map(|list| list.items()).unwrap_or_default()
    }

    /// The fields of an object that are not null, with their names.
    pub(super) fn fields(&self) -> Vec<(&'a str, Self)> {
        let fields = self.value.as_object().into_iter().flatten();
        fields
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key.as_str(), Self { value, path: self.path_of(key) }))
            .collect()
    }

    /// The text, if it is one.
    pub(super) fn text(&self) -> Option<&'a str> {
        self.value.as_str()
    }

    /// The text that a field holds.
    pub(super) fn text_of(&self, key: &str) -> Option<&'a str> {
        self.value.get(key).and_then(Value::as_str)
    }

    /// Whether a field holds this text.
    pub(super) fn is(&self, key: &str, text: &str) -> bool {
        self.text_of(key) == Some(text)
    }

    /// Whether a field holds one of these texts.
    pub(super) fn is_one_of(&self, key: &str, texts: &[&str]) -> bool {
        self.text_of(key).is_some_and(|text| texts.contains(&text))
    }

    /// The number that a field holds.
    pub(super) fn number(&self, key: &str) -> Option<f64> {
        self.value.get(key).and_then(Value::as_f64)
    }

    /// Where this is.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// That something is wrong here.
    pub(super) fn found(&self, found: impl Display) -> Found {
        Found { path: self.path.clone(), found: clip(&found.to_string()) }
    }

    /// That something is wrong with a field, which may not be there.
    pub(super) fn found_in(&self, key: &str, found: impl Display) -> Found {
        Found { path: self.path_of(key), found: clip(&found.to_string()) }
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}

/// The beginning of a text.
fn clip(text: &str) -> String {
    match text.char_indices().nth(FOUND_CAP) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
