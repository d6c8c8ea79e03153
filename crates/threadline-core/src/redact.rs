//! Redaction: known secrets are replaced in text before it is recorded, published or captured.
//!
//! A [`Redactor`] is a function of values: texts in, texts out. It finds a secret as it is and in
//! the encodings in which services and models repeat one: base64 (both alphabets, also within a
//! longer text), hexadecimal, percent-encoded and escaped as in JSON. It cannot find a secret that
//! was disguised on purpose, such as one with a blank between its letters.

mod forms;
mod stream;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use aho_corasick::{AhoCorasick, MatchKind};

pub use stream::RedactStream;

/// The shortest secret that is looked for: a shorter one may be a word of any text.
pub const SECRET_MIN_BYTES: usize = 8;
/// How many secrets are looked for; of more, the oldest are forgotten.
const SECRETS_CAP: usize = 64;
/// The longest name of a secret.
const NAME_CAP_CHARS: usize = 64;

/// The secrets that a process knows, as they become known. Copies of the `Arc` share them.
#[derive(Debug, Default)]
pub struct Secrets(RwLock<Arc<Redactor>>);

impl Secrets {
    /// Adds a secret under a name for people, such as the variable that it is in.
    pub fn add(&self, name: &str, value: &str) {
        let name = plain_name(name);
        if self.redactor().knows(&name, value) {
            return;
        }
        let mut redactor = self.0.write().unwrap_or_else(PoisonError::into_inner);
        *redactor = Arc::new(redactor.with(name, value));
    }

    /// Adds the name of a secret that is not known yet, so that its placeholder is known.
    pub fn declare(&self, name: &str) {
        let name = plain_name(name);
        if self.redactor().names.contains(&name) {
            return;
        }
        let mut redactor = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let mut names = redactor.names.clone();
        names.insert(name);
        *redactor = Arc::new(Redactor { names, ..Redactor::clone(&redactor) });
    }

    /// Returns a redactor for the secrets that are known now.
    pub fn redactor(&self) -> Arc<Redactor> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Replaces secrets in texts by `[redacted: NAME]`.
#[derive(Clone, Default)]
pub struct Redactor {
    /// The name and value of each secret, in the order in which they became known.
    secrets: Vec<(Arc<str>, Arc<str>)>,
    /// The names, also of secrets whose values are not known.
    names: BTreeSet<Arc<str>>,
    patterns: Option<Arc<Patterns>>,
}

/// The forms in which secrets are looked for.
struct Patterns {
    searcher: AhoCorasick,
    /// The bytes of each form, and what takes their place.
    forms: Vec<(Vec<u8>, Arc<str>)>,
    longest: usize,
    /// The bytes that a form begins with.
    first_bytes: BTreeSet<u8>,
}

/// Where a secret is in a text, and what takes its place.
struct Found<'a> {
    start: usize,
    end: usize,
    placeholder: &'a str,
}

impl Redactor {
    /// A redactor for these secrets, each a name and a value. Values shorter than
    /// [`SECRET_MIN_BYTES`] are ignored.
    ///
    /// ```
    /// use threadline_core::redact::Redactor;
    ///
    /// let redactor = Redactor::new([("API_KEY", "sk-0123456789")]);
    /// assert_eq!(redactor.redact("key: sk-0123456789!"), "key: [redacted: API_KEY]!");
    /// ```
    pub fn new<'a>(secrets: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let empty = Self::default();
        secrets.into_iter().fold(empty, |all, (name, value)| all.with(plain_name(name), value))
    }

    /// Whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_none()
    }

    /// The text without secrets.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.redact_bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(bytes) => Cow::Owned(into_text(bytes)),
        }
    }

    /// The bytes without secrets.
    pub fn redact_bytes<'t>(&self, bytes: &'t [u8]) -> Cow<'t, [u8]> {
        let Some(first) = self.find(bytes, 0) else { return Cow::Borrowed(bytes) };
        let (mut out, mut from, mut next) = (Vec::with_capacity(bytes.len()), 0, Some(first));
        while let Some(found) = next {
            out.extend_from_slice(bytes.get(from..found.start).unwrap_or_default());
            out.extend_from_slice(found.placeholder.as_bytes());
            from = found.end;
            next = self.find(bytes, from);
        }
        out.extend_from_slice(bytes.get(from..).unwrap_or_default());
        Cow::Owned(out)
    }

    /// The name of a secret whose placeholder is in a text.
    pub fn placeholder_in(&self, text: &str) -> Option<&Arc<str>> {
        if !text.contains(PLACEHOLDER_START) {
            return None;
        }
        self.names.iter().find(|name| text.contains(&*placeholder(name)))
    }

    fn knows(&self, name: &Arc<str>, value: &str) -> bool {
        self.secrets.iter().any(|(known, known_value)| known == name && &**known_value == value)
    }

    /// The same with one more secret.
    fn with(&self, name: Arc<str>, value: &str) -> Self {
        let mut names = self.names.clone();
        names.insert(Arc::clone(&name));
        let mut secrets = self.secrets.clone();
        if value.len() >= SECRET_MIN_BYTES && !self.knows(&name, value) {
            secrets.push((name, value.into()));
        }
        if secrets.len() > SECRETS_CAP {
            secrets.remove(0);
        }
        let patterns = Patterns::of(&secrets).map(Arc::new);
        Self { secrets, names, patterns }
    }

    /// The first secret in some bytes from a place on; of several that begin there the longest.
    fn find(&self, bytes: &[u8], from: usize) -> Option<Found<'_>> {
        let patterns = self.patterns.as_ref()?;
        let found = patterns.searcher.find(aho_corasick::Input::new(bytes).range(from..))?;
        let (_, placeholder) = patterns.forms.get(found.pattern().as_usize())?;
        Some(Found { start: found.start(), end: found.end(), placeholder })
    }

    /// Where the beginning of a secret may stand at the end of some bytes; their end if none does.
    fn partial(&self, bytes: &[u8], from: usize) -> usize {
        let Some(patterns) = &self.patterns else { return bytes.len() };
        let first = from.max((bytes.len() + 1).saturating_sub(patterns.longest));
        let begins = |at: &usize| {
            let rest = bytes.get(*at..).unwrap_or_default();
            rest.first().is_some_and(|byte| patterns.first_bytes.contains(byte))
                && patterns.begins(rest)
        };
        (first..bytes.len()).find(begins).unwrap_or(bytes.len())
    }
}

/// It does not show what it looks for.
impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("names", &self.names).finish_non_exhaustive()
    }
}

impl Patterns {
    fn of(secrets: &[(Arc<str>, Arc<str>)]) -> Option<Self> {
        let mut forms = BTreeMap::new();
        for (name, value) in secrets {
            for form in forms::of(value) {
                forms.entry(form).or_insert_with(|| placeholder(name));
            }
        }
        let forms: Vec<(Vec<u8>, Arc<str>)> = forms.into_iter().collect();
        let longest = forms.iter().map(|(form, _)| form.len()).max()?;
        let searcher = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(forms.iter().map(|(form, _)| form))
            // It fails only for more bytes than so many secrets can have.
            .ok()?;
        let first_bytes = forms.iter().filter_map(|(form, _)| form.first().copied()).collect();
        Some(Self { searcher, forms, longest, first_bytes })
    }

    /// Whether a form begins with these bytes and goes on.
    fn begins(&self, bytes: &[u8]) -> bool {
        self.forms.iter().any(|(form, _)| form.len() > bytes.len() && form.starts_with(bytes))
    }
}

const PLACEHOLDER_START: &str = "[redacted: ";

fn placeholder(name: &str) -> Arc<str> {
    format!("{PLACEHOLDER_START}{name}]").into()
}

/// A name that is safe in text, in JSON and in a log line.
fn plain_name(name: &str) -> Arc<str> {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    let name: String = name.chars().map(plain).take(NAME_CAP_CHARS).collect();
    if name.is_empty() { "key".into() } else { name.into() }
}

/// Secrets are cut out of texts between characters.
fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests;
