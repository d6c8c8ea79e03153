//! JSON that does nothing to a terminal: what could is written by its number.

use std::borrow::Cow;
use std::fmt::Write as _;

use threadline_core::sanitise;

/// The same value, with every character that the sanitiser would not let through escaped.
///
/// Such characters stand only within strings, where `\u` means the same. What is left are line
/// ends and tabs between values, which become spaces.
pub(crate) fn safe(json: &str) -> Cow<'_, str> {
    if json.bytes().all(|byte| (0x20..0x7F).contains(&byte)) {
        return Cow::Borrowed(json);
    }
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            ' '..='~' => text.push(c),
            '\n' | '\r' | '\t' => text.push(' '),
            _ if is_seen(c) => text.push(c),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(text, "\\u{unit:04x}");
                }
            }
        }
    }
    Cow::Owned(text)
}

/// Whether the sanitiser lets a character through.
fn is_seen(c: char) -> bool {
    let mut buffer = [0; 4];
    let text: &str = c.encode_utf8(&mut buffer);
    sanitise::line(text) == text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_something_is_written_by_its_number() {
        let value = serde_json::json!({"a": "天气 \u{9b}2J\u{7f}\u{202e}\u{e0041}\u{1b}"});
        let text = value.to_string();
        let safe = safe(&text);
        assert_eq!(
            safe, r#"{"a":"天气 \u009b2J\u007f\u202e\udb40\udc41\u001b"}"#,
            "the value is readable and inert"
        );
        assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).unwrap(), value);
    }

    #[test]
    fn what_stands_between_values_stays_outside_of_strings() {
        assert_eq!(safe("{\"a\"\n:\t1}"), "{\"a\" : 1}");
    }
}
