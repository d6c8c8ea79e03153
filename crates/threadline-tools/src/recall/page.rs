//! The pages of a text: as much at a time as a model is shown whole.

use threadline_core::tokens::{Estimator, TokenCounter as _};

use crate::text::PAGE_CAP_BYTES;

/// The room for what stands around the text of a page.
const AROUND_BYTES: usize = 1024;
/// The most tokens of a page's text, as they are estimated: even if there are a quarter more, a
/// result stays below the 4,096 that are shown whole.
const PAGE_CAP_TOKENS: u32 = 3_200;

/// The pages of a text, which together are the text. There is always one.
pub(super) fn pages(text: &str) -> Vec<&str> {
    let mut pages = Vec::new();
    let mut rest = text;
    loop {
        let (page, after) = rest.split_at(end(rest));
        pages.push(page);
        if after.is_empty() {
            return pages;
        }
        rest = after;
    }
}

/// Where the first page of a text ends: after a line, or within one that is too long.
fn end(text: &str) -> usize {
    let mut cap = PAGE_CAP_BYTES - AROUND_BYTES;
    loop {
        let end = text.floor_char_boundary(cap);
        let head = text.get(..end).unwrap_or_default();
        let tokens = Estimator.count(head);
        // A character has at most four bytes: a page is never empty.
        if tokens <= PAGE_CAP_TOKENS || cap <= 4 {
            return if end == text.len() { end } else { line_end(head) };
        }
        cap = (cap * 15 / 16).max(4);
    }
}

/// The end of the last whole line, if it leaves most of the text.
fn line_end(head: &str) -> usize {
    let end = head.rfind('\n').map_or(0, |at| at + 1);
    if end > head.len() / 2 { end } else { head.len() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn pages_end_with_lines_or_between_characters() {
        let lines = "some words in a line\n".repeat(1000);
        let cut = pages(&lines);
        assert_eq!(cut.len(), 2);
        assert!(cut[0].ends_with("line\n") && cut[1].starts_with("some"), "{}", cut[0].len());
        assert_eq!(pages(""), [""]);
        assert_eq!(pages(&"雨".repeat(9000)).concat(), "雨".repeat(9000));
    }

    #[test]
    fn dense_text_has_smaller_pages() {
        let dense = "🜁".repeat(9000);
        let cut = pages(&dense);
        assert!(cut.iter().all(|page| Estimator.count(page) <= PAGE_CAP_TOKENS));
        assert!(cut[0].len() > 4000, "{}", cut[0].len());
    }

    proptest! {
        #[test]
        fn pages_are_the_text(text in "(\\PC{0,900}\n?){0,60}") {
            let cut = pages(&text);
            prop_assert_eq!(cut.concat(), text.clone());
            prop_assert!(cut.iter().all(|page| page.len() <= PAGE_CAP_BYTES - AROUND_BYTES));
            prop_assert!(text.is_empty() || cut.iter().all(|page| !page.is_empty()));
        }
    }
}
