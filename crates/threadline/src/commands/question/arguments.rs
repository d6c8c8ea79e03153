//! The arguments of a call, as a person reads them who is to allow it: all that is there, or how
//! much is not shown.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

/// The most of a value that is shown: its beginning and its end.
const HEAD_BYTES: usize = 3_000;
const TAIL_BYTES: usize = 1_000;
/// The most parameters that are shown.
const PARAMETERS_CAP: usize = 40;

/// Arguments as lines, and how many bytes of them are not shown.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) lines: Vec<String>,
    pub(super) left_out: usize,
}

/// Arguments as a person reads them: a parameter on each line; a text of several lines as a block.
pub(super) fn shown(arguments: &str) -> Shown {
    let mut shown = Shown { lines: Vec::new(), left_out: 0 };
    let Ok(members) = serde_json::from_str::<BTreeMap<String, &RawValue>>(arguments) else {
        shown.value("", arguments);
        return shown;
    };
    if members.is_empty() {
        shown.lines.push("no arguments".to_owned());
    }
    for (index, (name, value)) in members.iter().enumerate() {
        if index >= PARAMETERS_CAP {
            shown.left_out += name.len() + value.get().len();
            continue;
        }
        let name = plain_name(name);
        match serde_json::from_str::<String>(value.get()) {
            Ok(text) if is_block(&text) => shown.block(&name, &text),
            Ok(_) | Err(_) => shown.value(&format!("{name}: "), value.get()),
        }
    }
    shown
}

/// A name as it is, or as JSON if it could be taken for something else.
fn plain_name(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    if !name.is_empty() && name.chars().all(plain) {
        return name.to_owned();
    }
    serde_json::Value::from(name).to_string()
}

/// Whether a text reads best line by line. What has other control characters in it is shown as
/// JSON, which has a sign for each.
fn is_block(text: &str) -> bool {
    text.contains('\n') && !text.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t'))
}

impl Shown {
    /// A value as JSON, on one line.
    fn value(&mut self, before: &str, json: &str) {
        let (head, tail) = self.ends(json);
        match tail {
            None => self.lines.push(format!("{before}{head}")),
            Some(tail) => {
                self.lines.push(format!("{before}{head} …"));
                self.lines.push(format!("  … {tail}"));
            }
        }
    }

    /// A text line by line, each with a mark before it: an empty one at the end is a line feed.
    fn block(&mut self, name: &str, text: &str) {
        self.lines.push(format!("{name}:"));
        let (head, tail) = self.ends(text);
        self.lines.extend(head.split('\n').map(|line| format!("  | {line}")));
        if let Some(tail) = tail {
            self.lines.push("  …".to_owned());
            self.lines.extend(tail.split('\n').map(|line| format!("  | {line}")));
        }
    }

    /// A text, or its beginning and its end if it is long.
    fn ends<'t>(&mut self, text: &'t str) -> (&'t str, Option<&'t str>) {
        if text.len() <= HEAD_BYTES + TAIL_BYTES {
            return (text, None);
        }
        let head = text.floor_char_boundary(HEAD_BYTES);
        let tail = text.ceil_char_boundary(text.len() - TAIL_BYTES);
        self.left_out += tail - head;
        (text.get(..head).unwrap_or_default(), text.get(tail..))
    }
}

/// A text among the parameters.
pub(super) fn text_of(arguments: &str, parameter: &str) -> Option<String> {
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(arguments).ok()?;
    serde_json::from_str(members.get(parameter)?.get()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(arguments: &str) -> Vec<String> {
        let shown = shown(arguments);
        assert_eq!(shown.left_out, 0);
        shown.lines
    }

    #[test]
    fn every_parameter_is_shown_as_it_is() {
        assert_eq!(lines("{}"), ["no arguments"]);
        assert_eq!(
            lines(r#"{"path":"docs/a.md","n":123456789012345678901234567890,"all":true}"#),
            ["all: true", "n: 123456789012345678901234567890", r#"path: "docs/a.md""#]
        );
        assert_eq!(lines(r#"{"a b":{"c": [1, 2]}}"#), [r#""a b": {"c": [1, 2]}"#]);
        assert_eq!(lines(r#"{"line":"a\u001b[2Jb"}"#), [r#"line: "a\u001b[2Jb""#]);
    }

    #[test]
    fn a_text_of_several_lines_is_a_block() {
        assert_eq!(lines(r#"{"new":"one\n\ttwo\n"}"#), ["new:", "  | one", "  | \ttwo", "  | "]);
        assert_eq!(lines(r#"{"new":"one\r\ntwo"}"#), [r#"new: "one\r\ntwo""#]);
    }

    #[test]
    fn what_is_not_shown_is_counted() {
        let long = format!(r#"{{"x":"{}"}}"#, "a".repeat(5_000));
        let shown = shown(&long);
        assert_eq!(shown.left_out, 5_002 - HEAD_BYTES - TAIL_BYTES);
        assert!(shown.lines[0].ends_with("aaa …") && shown.lines[1].ends_with("aaa\""));
        let many: Vec<String> = (0..50).map(|n| format!(r#""p{n:02}":{n}"#)).collect();
        let shown = super::shown(&format!("{{{}}}", many.join(",")));
        assert_eq!((shown.lines.len(), shown.left_out), (PARAMETERS_CAP, 10 * 5));
    }

    #[test]
    fn a_text_is_found_by_its_name() {
        assert_eq!(text_of(r#"{"path":"a\u0062"}"#, "path").as_deref(), Some("ab"));
        assert_eq!(text_of(r#"{"path":7}"#, "path"), None);
    }
}
