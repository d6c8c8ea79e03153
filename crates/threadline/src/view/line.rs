//! A line in the making.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use threadline_core::sanitise;

use super::width;

/// A line in the making. Text gets into it only through the sanitiser.
#[derive(Debug, Default)]
pub(crate) struct Line(Vec<(Style, String)>);

impl Line {
    /// An empty line.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Text as it is.
    #[must_use]
    pub(crate) fn plain(self, text: impl AsRef<str>) -> Self {
        self.styled(Style::new(), text.as_ref())
    }

    /// Text that matters more.
    #[must_use]
    pub(crate) fn bold(self, text: impl AsRef<str>) -> Self {
        self.styled(Style::new().bold(), text.as_ref())
    }

    /// Text that matters less.
    #[must_use]
    pub(crate) fn dim(self, text: impl AsRef<str>) -> Self {
        self.styled(Style::new().dimmed(), text.as_ref())
    }

    /// The name of someone or something.
    #[must_use]
    pub(crate) fn name(self, text: impl AsRef<str>) -> Self {
        self.styled(Style::new().fg_color(Some(AnsiColor::Cyan.into())), text.as_ref())
    }

    /// Text that says that something is right.
    #[must_use]
    pub(crate) fn good(self, text: impl AsRef<str>) -> Self {
        self.styled(Style::new().fg_color(Some(AnsiColor::Green.into())), text.as_ref())
    }

    /// Text that says that something is wrong.
    #[must_use]
    pub(crate) fn bad(self, text: impl AsRef<str>) -> Self {
        self.styled(Style::new().fg_color(Some(AnsiColor::Red.into())), text.as_ref())
    }

    /// Text in a colour, if there is one, else text that matters less.
    #[must_use]
    pub(crate) fn coloured(self, colour: Option<AnsiColor>, text: impl AsRef<str>) -> Self {
        let style = colour.map_or(Style::new().dimmed(), |c| Style::new().fg_color(Some(c.into())));
        self.styled(style, text.as_ref())
    }

    fn styled(mut self, style: Style, text: &str) -> Self {
        self.0.push((style, sanitise::line(text).into_owned()));
        self
    }

    /// The line cut to so many columns, with an ellipsis where something is missing.
    #[must_use]
    pub(super) fn cut(self, columns: usize) -> Self {
        let whole: usize = self.0.iter().map(|(_, text)| width::of(text)).sum();
        if whole <= columns {
            return self;
        }
        let mut left = columns.saturating_sub(1);
        let mut cut = Self::new();
        for (style, text) in self.0 {
            let part = width::head(&text, left);
            let is_whole = part.len() == text.len();
            left -= width::of(part);
            cut.0.push((style, part.to_owned()));
            if !is_whole {
                break;
            }
        }
        cut.0.push((Style::new(), "…".to_owned()));
        cut
    }

    /// Writes the line, without its end.
    pub(super) fn write(&self, to: &mut impl Write, colour: bool) -> io::Result<()> {
        for (style, text) in &self.0 {
            if colour && *style != Style::new() {
                write!(to, "{style}{text}{style:#}")?;
            } else {
                write!(to, "{text}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(line: &Line, colour: bool) -> String {
        let mut bytes = Vec::new();
        line.write(&mut bytes, colour).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn text_gets_into_a_line_only_through_the_sanitiser() {
        let line = Line::new().plain("a\u{1b}[31mb").bold("c\u{202e}d");
        assert_eq!(written(&line, false), "a␛[31mbc<U+202E>d");
        assert_eq!(written(&line, true), "a␛[31mb\u{1b}[1mc<U+202E>d\u{1b}[0m");
    }

    #[test]
    fn a_line_is_cut_at_its_width_and_says_so() {
        let line = || Line::new().plain("one ").bold("two ").plain("three");
        assert_eq!(written(&line().cut(13), false), "one two three");
        assert_eq!(written(&line().cut(12), false), "one two thr…");
        assert_eq!(written(&line().cut(5), false), "one …");
        // A character of two columns does not fit into one.
        assert_eq!(written(&Line::new().plain("今天天气").cut(6), false), "今天…");
    }
}
