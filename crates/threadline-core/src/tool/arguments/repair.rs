//! Reads almost-JSON: what models write when they write for people.
//!
//! What is there is understood; nothing is made up. An object, a list or a string that is not
//! closed is an error, and so is a second value: nobody knows what else was meant to come.
//! One pass over the text, and each kind of repair is told with its first place.

mod string;

use std::borrow::Cow;

use serde_json::Number;

use super::json::{DEPTH_CAP, Json, Keys, Numeral, quoted_name};

/// A value that was read, and what had to be repaired.
#[derive(Debug)]
pub(super) struct Repaired<'a> {
    pub(super) value: Json<'a>,
    repairs: Vec<(Repair, usize)>,
    text: &'a str,
}

/// A kind of repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repair {
    ByteOrderMark,
    CodeFence,
    Comment,
    TrailingComma,
    SingleQuotes,
    CurlyQuotes,
    UnquotedKey,
    PythonWord,
    LineInString,
    EscapedQuote,
}

impl Repair {
    const fn name(self) -> &'static str {
        match self {
            Self::ByteOrderMark => "byte order mark",
            Self::CodeFence => "code fence",
            Self::Comment => "comment",
            Self::TrailingComma => "trailing comma",
            Self::SingleQuotes => "single quotes",
            Self::CurlyQuotes => "curly quotes",
            Self::UnquotedKey => "unquoted key",
            Self::PythonWord => "Python's word for a value",
            Self::LineInString => "line break or tab in a string",
            Self::EscapedQuote => "needless escape",
        }
    }
}

impl Repaired<'_> {
    /// What was repaired, each kind once, with its first place.
    pub(super) fn warnings(&self) -> impl Iterator<Item = String> {
        self.repairs
            .iter()
            .map(|(repair, at)| format!("repaired: {} at {}", repair.name(), place(self.text, *at)))
    }
}

/// Reads one value, JSON or nearly so.
pub(super) fn read(text: &str) -> Result<Repaired<'_>, String> {
    let mut reader = Reader { text, at: 0, depth: 0, repairs: Vec::new() };
    let value = reader.whole()?;
    Ok(Repaired { value, repairs: reader.repairs, text })
}

/// A place in a text, for people.
fn place(text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or(text);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!("line {line} column {column}")
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// How many objects and lists are open.
    depth: usize,
    repairs: Vec<(Repair, usize)>,
}

impl<'a> Reader<'a> {
    fn whole(&mut self) -> Result<Json<'a>, String> {
        if self.takes("\u{feff}") {
            self.note(Repair::ByteOrderMark, 0);
        }
        self.blank()?;
        let fence = self.fence();
        self.blank()?;
        let value = self.value()?;
        self.blank()?;
        if let Some(fence) = fence {
            if self.rest().is_empty() {
                return Err("it is cut off: its code fence is not closed".to_owned());
            }
            if !self.takes(fence) {
                return Err(self.wanted("the end of the code fence"));
            }
            self.blank()?;
        }
        if self.rest().is_empty() { Ok(value) } else { Err(self.wanted("nothing more")) }
    }

    /// The marks of a code fence, if one begins here; the word after them is passed over.
    fn fence(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        let marks = rest.len() - rest.trim_start_matches('`').len();
        let fence = rest.get(..marks).filter(|fence| fence.len() >= 3)?;
        self.note(Repair::CodeFence, self.at);
        self.at += marks;
        let word = self.rest().bytes().take_while(u8::is_ascii_alphanumeric).count();
        self.at += word;
        Some(fence)
    }

    fn value(&mut self) -> Result<Json<'a>, String> {
        if let Some(text) = self.string()? {
            return Ok(Json::Text(text));
        }
        match self.peek() {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::list),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.word(),
        }
    }

    fn nested(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<Json<'a>, String>,
    ) -> Result<Json<'a>, String> {
        if self.depth == DEPTH_CAP {
            let place = place(self.text, self.at);
            return Err(format!("it is nested deeper than {DEPTH_CAP} levels at {place}"));
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn object(&mut self) -> Result<Json<'a>, String> {
        let open = self.at;
        self.at += 1;
        let mut members = Vec::new();
        let mut keys = Keys::default();
        loop {
            self.blank()?;
            if self.takes("}") {
                return Ok(Json::Object(members));
            }
            let start = self.at;
            let key = self.key().map_err(|error| self.unless_cut(error, "object", open))?;
            if keys.has(&key, &members) {
                return Err(format!(
                    "{} is given twice at {}",
                    quoted_name(&key),
                    place(self.text, start)
                ));
            }
            self.blank()?;
            if !self.takes(":") {
                let wanted = self.wanted("`:`");
                return Err(self.unless_cut(wanted, "object", open));
            }
            self.blank()?;
            let value = self.value().map_err(|error| self.unless_cut(error, "object", open))?;
            members.push((key, value));
            if !self.goes_on("}", "object", open)? {
                return Ok(Json::Object(members));
            }
        }
    }

    fn list(&mut self) -> Result<Json<'a>, String> {
        let open = self.at;
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.blank()?;
            if self.takes("]") {
                return Ok(Json::List(items));
            }
            items.push(self.value().map_err(|error| self.unless_cut(error, "list", open))?);
            if !self.goes_on("]", "list", open)? {
                return Ok(Json::List(items));
            }
        }
    }

    /// Whether another part follows one: after a comma that is not the last thing.
    fn goes_on(&mut self, close: &str, what: &str, open: usize) -> Result<bool, String> {
        self.blank()?;
        if self.takes(close) {
            return Ok(false);
        }
        let comma = self.at;
        if !self.takes(",") {
            let wanted = self.wanted(&format!("`,` or `{close}`"));
            return Err(self.unless_cut(wanted, what, open));
        }
        self.blank()?;
        if self.rest().starts_with(close) {
            self.note(Repair::TrailingComma, comma);
        }
        Ok(true)
    }

    fn key(&mut self) -> Result<Cow<'a, str>, String> {
        if let Some(key) = self.string()? {
            return Ok(key);
        }
        let is_part = |c: &char| c.is_alphanumeric() || matches!(c, '_' | '$' | '-');
        let length = self.rest().chars().take_while(is_part).map(char::len_utf8).sum::<usize>();
        let key = self.rest().get(..length).filter(|key| !key.is_empty() && !key.starts_with('-'));
        let Some(key) = key else { return Err(self.wanted("a key")) };
        self.note(Repair::UnquotedKey, self.at);
        self.at += length;
        Ok(Cow::Borrowed(key))
    }

    fn number(&mut self) -> Result<Json<'a>, String> {
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-._".contains(byte);
        let length = self.rest().bytes().take_while(is_part).count();
        let spelling = self.rest().get(..length).unwrap_or_default();
        let value = serde_json::from_str::<Number>(spelling)
            .map_err(|_| self.wanted("a number that can be read"))?;
        self.at += length;
        Ok(Json::Number(Numeral { value, spelling: Cow::Borrowed(spelling) }))
    }

    fn word(&mut self) -> Result<Json<'a>, String> {
        let length = self.rest().bytes().take_while(u8::is_ascii_alphanumeric).count();
        let (value, is_json) = match self.rest().get(..length).unwrap_or_default() {
            "null" => (Json::Null, true),
            "true" => (Json::Flag(true), true),
            "false" => (Json::Flag(false), true),
            "None" => (Json::Null, false),
            "True" => (Json::Flag(true), false),
            "False" => (Json::Flag(false), false),
            _ => return Err(self.wanted("a value")),
        };
        if !is_json {
            self.note(Repair::PythonWord, self.at);
        }
        self.at += length;
        Ok(value)
    }

    /// Passes over blanks and comments.
    fn blank(&mut self) -> Result<(), String> {
        loop {
            let rest = self.rest();
            let blank = rest.bytes().take_while(|byte| b" \t\n\r".contains(byte)).count();
            self.at += blank;
            let rest = self.rest();
            let length = if rest.starts_with('#') || rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if let Some(comment) = rest.strip_prefix("/*") {
                let end = comment.find("*/").ok_or_else(|| {
                    let place = place(self.text, self.at);
                    format!("it is cut off: the comment that begins at {place} is not closed")
                })?;
                end + 4
            } else {
                return Ok(());
            };
            self.note(Repair::Comment, self.at);
            self.at += length;
        }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn takes(&mut self, word: &str) -> bool {
        let found = self.rest().starts_with(word);
        if found {
            self.at += word.len();
        }
        found
    }

    fn note(&mut self, repair: Repair, at: usize) {
        if !self.repairs.iter().any(|(known, _)| *known == repair) {
            self.repairs.push((repair, at));
        }
    }

    fn wanted(&self, what: &str) -> String {
        let place = place(self.text, self.at);
        if self.rest().is_empty() {
            return format!("it is cut off: expected {what} at {place}");
        }
        format!("expected {what} at {place}")
    }

    /// What is wrong within an object or a list; if the text ends there, that it is not closed.
    fn unless_cut(&self, error: String, what: &str, open: usize) -> String {
        if !self.rest().is_empty() || error.contains("is not closed") {
            return error;
        }
        let place = place(self.text, open);
        format!("it is cut off: the {what} that begins at {place} is not closed")
    }
}

#[cfg(test)]
mod tests;
