//! What is printed: everything goes through here, and through the sanitiser.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use threadline_core::sanitise;

/// A line in the making. Text gets into it only through the sanitiser.
#[derive(Debug, Default)]
pub(crate) struct Line(String);

impl Line {
    /// An empty line.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Text as it is.
    #[must_use]
    pub(crate) fn plain(mut self, text: impl AsRef<str>) -> Self {
        self.0.push_str(&sanitise::line(text.as_ref()));
        self
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

    fn styled(mut self, style: Style, text: &str) -> Self {
        let text = sanitise::line(text);
        let _ = write!(self.0, "{style}{text}{style:#}");
        self
    }
}

/// Where a command prints to.
pub(crate) struct View {
    /// Whether programs read it.
    pub(crate) json: bool,
    out: anstream::AutoStream<io::Stdout>,
}

impl View {
    /// Standard output, in colour only on a terminal.
    pub(crate) fn new(json: bool) -> Self {
        Self { json, out: anstream::AutoStream::auto(io::stdout()) }
    }

    /// Prints a line.
    pub(crate) fn line(&mut self, line: &Line) -> io::Result<()> {
        writeln!(self.out, "{}", line.0)
    }

    /// Prints text of several lines, each indented.
    pub(crate) fn text(&mut self, text: &str, indent: &str) -> io::Result<()> {
        for line in sanitise::text(text).lines() {
            if line.is_empty() {
                writeln!(self.out)?;
            } else {
                writeln!(self.out, "{indent}{line}")?;
            }
        }
        Ok(())
    }

    /// Prints a value for programs, on one line.
    pub(crate) fn value(&mut self, value: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, value)?;
        writeln!(self.out)
    }

    /// Prints a list for programs piece by piece: `{"NAME":[…]}`, with what comes before it.
    pub(crate) fn list(&mut self, name: &str, before: &impl Serialize) -> io::Result<JsonList<'_>> {
        let before = serde_json::to_string(before)?;
        let before = before.strip_suffix('}').unwrap_or(&before);
        let comma = if before.len() > 1 { "," } else { "" };
        write!(self.out, "{before}{comma}{}:[", serde_json::to_string(name)?)?;
        Ok(JsonList { view: self, first: true })
    }
}

/// A list that is printed piece by piece.
pub(crate) struct JsonList<'a> {
    view: &'a mut View,
    first: bool,
}

impl JsonList<'_> {
    /// Prints the next piece.
    pub(crate) fn push(&mut self, value: &impl Serialize) -> io::Result<()> {
        if !std::mem::take(&mut self.first) {
            write!(self.view.out, ",")?;
        }
        serde_json::to_writer(&mut self.view.out, value).map_err(io::Error::from)
    }

    /// Ends the list and the object around it, with what comes after it.
    pub(crate) fn end(self, after: &impl Serialize) -> io::Result<()> {
        let after = serde_json::to_string(after)?;
        let after = after.strip_prefix('{').unwrap_or("}");
        let comma = if after.len() > 1 { "," } else { "" };
        writeln!(self.view.out, "]{comma}{after}")
    }
}

/// Progress of long work, on a terminal only: one line that is written over.
pub(crate) struct Progress {
    doing: &'static str,
    total: Option<u64>,
    shown: Option<u64>,
    terminal: bool,
}

impl Progress {
    /// Progress of some work on so many entries.
    pub(crate) fn new(doing: &'static str, total: Option<u64>, view: &View) -> Self {
        Self { doing, total, shown: None, terminal: io::stderr().is_terminal() && !view.json }
    }

    /// So many entries are done.
    pub(crate) fn at(&mut self, done: u64) {
        // Often enough to see it move, seldom enough to cost nothing.
        let step = 5000;
        if !self.terminal || self.shown.is_some_and(|shown| done / step == shown / step) {
            return;
        }
        let done_text = grouped(done);
        let of = self.total.map(|total| format!(" of {}", grouped(total))).unwrap_or_default();
        self.shown = Some(done);
        let mut err = io::stderr();
        // Progress that cannot be shown is not missed.
        drop(write!(err, "\r\x1b[K{} {done_text}{of} entries…", self.doing));
        drop(err.flush());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown.is_some() {
            drop(write!(io::stderr(), "\r\x1b[K"));
        }
    }
}

/// Tells people something beside the output.
pub(crate) fn remark(text: &str) {
    drop(writeln!(anstream::stderr(), "{}", sanitise::text(text)));
}

/// A number with its digits in groups of three.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of things, in words: `1 entry`, `2 entries`.
pub(crate) fn counted(number: u64, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{} {many}", grouped(number)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1000), "1,000");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }

    #[test]
    fn text_gets_into_a_line_only_through_the_sanitiser() {
        let line = Line::new().plain("a\u{1b}[31mb").bold("c\u{202e}d");
        assert!(!line.0.contains("\u{1b}[31m"));
        assert!(!line.0.contains('\u{202e}'));
    }
}
