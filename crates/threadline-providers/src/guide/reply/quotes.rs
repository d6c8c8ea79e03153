//! Titles and recaps: what was asked, quoted.

use threadline_core::context::Context;

use crate::guide::scene;
use crate::guide::told::listed;

/// The most of an input that a title or a recap quotes.
const QUOTE_WORDS: usize = 8;

/// A title: the first input.
pub(super) fn title(context: &Context) -> String {
    scene::inputs(context)
        .next()
        .map(quote)
        .filter(|quote| !quote.is_empty())
        .unwrap_or_else(|| "Untitled".to_owned())
}

/// A recap: the inputs, or what they were folded into.
pub(super) fn recap(context: &Context) -> String {
    if let Some(folded) = scene::folded(context) {
        return shortened(folded);
    }
    let asked = scene::inputs(context).map(quote).filter(|quote| !quote.is_empty());
    match &*asked.collect::<Vec<_>>() {
        [] => "Nothing was asked.".to_owned(),
        asked => format!("This was asked:\n\n{}", listed(asked)),
    }
}

/// The lines of a text, each shortened, until half of its length is told.
fn shortened(text: &str) -> String {
    let mut told = String::new();
    for line in text.lines().map(quote).filter(|quote| !quote.is_empty()) {
        if (told.len() + line.len()) * 2 > text.len() {
            break;
        }
        if !told.is_empty() {
            told.push('\n');
        }
        told.push_str(&line);
    }
    if told.is_empty() { quote(text) } else { told }
}

fn quote(text: &str) -> String {
    let words = text.split_whitespace().take(QUOTE_WORDS).collect::<Vec<_>>().join(" ");
    let more = text.split_whitespace().nth(QUOTE_WORDS).is_some();
    if more { format!("{words} …") } else { words }
}
