//! How much of a result stays in its entry: head and tail; the whole is kept beside it.

use std::sync::Arc;

use super::ToolResult;
use crate::history::sections::{Level, Section, render};

/// The most of a result that is kept as an attachment.
pub const WHOLE_CAP_BYTES: usize = 16 * 1024 * 1024;

/// A result that fits its entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capped {
    /// What stays in the entry.
    pub sections: Vec<Section>,
    /// The whole text, to be kept as an attachment, if it was cut.
    pub whole: Option<Arc<str>>,
}

/// Cuts a result to what stays in its entry.
///
/// One that is too large even to be kept beside the entry is cut to its head there.
pub fn capped(result: &ToolResult, cap_bytes: usize) -> Capped {
    let size = |section: &Section| {
        section.text.len() + section.title.as_ref().map_or(0, |title| title.len() + 4)
    };
    let total: usize = result.sections.iter().map(size).sum();
    if total <= cap_bytes {
        return Capped { sections: result.sections.clone(), whole: None };
    }
    let text = render(&result.sections, Level::Live);
    let (head, tail) = (floor(&text, cap_bytes / 2), ceil(&text, text.len() - cap_bytes / 2));
    let (first, last) = (part(&text, 0, head), part(&text, tail, text.len()));
    let kept = if text.len() <= WHOLE_CAP_BYTES { "whole" } else { "the first 16 MiB" };
    let cut = format!(
        "{first}\n\n[{} of {} bytes left out; {kept} in the attachment]\n\n{last}",
        tail - head,
        text.len()
    );
    let whole = part(&text, 0, floor(&text, WHOLE_CAP_BYTES));
    Capped { sections: vec![Section::text(cut)], whole: Some(whole.into()) }
}

fn part(text: &str, from: usize, to: usize) -> &str {
    text.get(from..to).unwrap_or_default()
}

fn floor(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at)
}

fn ceil(text: &str, at: usize) -> usize {
    text.ceil_char_boundary(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_within_the_cap_is_left_as_it_is() {
        let result = ToolResult::text("short");
        let capped = capped(&result, 5);
        assert_eq!(capped, Capped { sections: result.sections, whole: None });
    }

    #[test]
    fn a_longer_one_keeps_head_and_tail_and_says_what_is_left_out() {
        let text = format!("{}ß{}", "a".repeat(100), "z".repeat(100));
        let capped = capped(&ToolResult::text(text.as_str()), 21);
        let [section] = &capped.sections[..] else { panic!("{:?}", capped.sections) };
        let expected = "aaaaaaaaaa\n\n[182 of 202 bytes left out; whole in the attachment]\n\n\
            zzzzzzzzzz";
        assert_eq!(&*section.text, expected);
        assert_eq!(capped.whole.as_deref(), Some(text.as_str()));
    }

    #[test]
    fn characters_are_never_cut() {
        let text = "ßßßßßßßßßß";
        for cap in 0..20 {
            let capped = capped(&ToolResult::text(text), cap);
            assert!(capped.sections[0].text.contains("left out"), "{cap}");
        }
    }

    #[test]
    fn what_is_too_large_to_keep_is_cut_there_too() {
        let text = "x".repeat(WHOLE_CAP_BYTES + 1);
        let capped = capped(&ToolResult::text(text), 1024);
        assert_eq!(capped.whole.map(|whole| whole.len()), Some(WHOLE_CAP_BYTES));
        assert!(capped.sections[0].text.contains("the first 16 MiB in the attachment"));
        assert!(capped.sections[0].text.len() < 1200);
    }
}
