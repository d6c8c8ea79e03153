//! What is printed: everything goes through here, and through the sanitiser.

mod aside;
mod line;
mod progress;
mod safe_json;
mod stream;
mod width;

use std::io::{self, BufWriter, IsTerminal as _, Write as _};

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use terminal_size::{Width, terminal_size_of};
use threadline_core::sanitise;

pub(crate) use aside::{aside, aside_piece};
pub(crate) use line::Line;
pub(crate) use progress::Progress;
pub(crate) use stream::Wrapping;

/// The narrowest terminal that is written for; on a narrower one, lines are as long as on this.
const NARROWEST: usize = 20;

/// Where a command prints to.
pub(crate) struct View {
    /// Whether programs read it.
    pub(crate) json: bool,
    colour: bool,
    /// The width of the terminal, if it is one.
    width: Option<usize>,
    out: BufWriter<io::Stdout>,
}

impl View {
    /// Standard output, in colour only on a terminal.
    pub(crate) fn new(json: bool) -> Self {
        let out = io::stdout();
        let colour = anstream::AutoStream::choice(&out) != anstream::ColorChoice::Never;
        let width = if out.is_terminal() { terminal_size_of(&out) } else { None };
        let width = width.map(|(Width(width), _)| usize::from(width).max(NARROWEST));
        Self { json, colour, width, out: BufWriter::new(out) }
    }

    /// How many columns there are; none if no person looks on.
    pub(crate) fn width(&self) -> Option<usize> {
        self.width
    }

    /// Prints a line, whole.
    pub(crate) fn line(&mut self, line: &Line) -> io::Result<()> {
        line.write(&mut self.out, self.colour)?;
        self.end_line()
    }

    /// Prints a line, cut to the width of the terminal.
    pub(crate) fn row(&mut self, line: Line) -> io::Result<()> {
        match self.width {
            Some(width) => self.line(&line.cut(width)),
            None => self.line(&line),
        }
    }

    /// Prints remarks one after the other, in as many lines as they need.
    pub(crate) fn remarks(&mut self, remarks: &[String], indent: &str) -> io::Result<()> {
        let width = self.width.unwrap_or(usize::MAX).saturating_sub(indent.len());
        for line in width::fill(remarks, " · ", width) {
            self.line(&Line::new().plain(indent).dim(line))?;
        }
        Ok(())
    }

    /// Prints text of several lines, each indented, and broken between words on a terminal.
    pub(crate) fn text(&mut self, text: &str, indent: &str) -> io::Result<()> {
        let width = self.width.unwrap_or(usize::MAX).saturating_sub(indent.len());
        for line in sanitise::text(text).lines() {
            for part in width::wrap(line, width) {
                if part.is_empty() {
                    writeln!(self.out)?;
                } else {
                    writeln!(self.out, "{indent}{part}")?;
                }
            }
        }
        self.show()
    }

    /// Prints a piece of a text that is already inert, without a line end, to be seen at once.
    pub(crate) fn piece(&mut self, inert: &str) -> io::Result<()> {
        self.out.write_all(inert.as_bytes())?;
        self.out.flush()
    }

    /// Asks a person for a line.
    pub(crate) fn prompt(&mut self, prompt: &str) -> io::Result<()> {
        Line::new().bold(prompt).write(&mut self.out, self.colour)?;
        self.out.flush()
    }

    /// Prints a value for programs, on one line.
    pub(crate) fn value(&mut self, value: &impl Serialize) -> io::Result<()> {
        self.json(value)?;
        self.end_line()
    }

    /// Prints a list for programs piece by piece: `{"NAME":[…]}`, with what comes before it.
    pub(crate) fn list(&mut self, name: &str, before: &impl Serialize) -> io::Result<JsonList<'_>> {
        let before = serde_json::to_string(before)?;
        let before = before.strip_suffix('}').unwrap_or(&before);
        let comma = if before.len() > 1 { "," } else { "" };
        let begin = format!("{before}{comma}{}:[", serde_json::to_string(name)?);
        self.out.write_all(safe_json::safe(&begin).as_bytes())?;
        Ok(JsonList { view: self, first: true })
    }

    /// Writes out what is still held back.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_string(value)?;
        self.out.write_all(safe_json::safe(&text).as_bytes())
    }

    fn end_line(&mut self) -> io::Result<()> {
        writeln!(self.out)?;
        self.show()
    }

    /// Lets a person see what there is so far; programs get it in larger pieces.
    fn show(&mut self) -> io::Result<()> {
        if self.width.is_some() { self.out.flush() } else { Ok(()) }
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
        self.view.json(value)
    }

    /// Ends the list and the object around it, with what comes after it.
    pub(crate) fn end(self, after: &impl Serialize) -> io::Result<()> {
        let after = serde_json::to_string(after)?;
        let after = after.strip_prefix('{').unwrap_or("}");
        let comma = if after.len() > 1 { "," } else { "" };
        write!(self.view.out, "]{comma}{}", safe_json::safe(after))?;
        self.view.end_line()
    }
}

/// Tells people something beside the output.
pub(crate) fn remark(text: &str) {
    // Who closed standard error does not want to know.
    drop(writeln!(anstream::stderr(), "{}", sanitise::text(text)));
}

/// Prints a note on standard error: for people in words, for programs as `{"note":…}`.
pub(crate) fn note(text: &str, json: bool) {
    let told = if json {
        let value = serde_json::json!({ "note": text });
        writeln!(io::stderr(), "{}", safe_json::safe(&value.to_string()))
    } else {
        writeln!(anstream::stderr(), "note: {}", sanitise::text(text))
    };
    // Who closed standard error does not want to know.
    drop(told);
}

/// Tells what went wrong: people in words, programs as `{"error":{"message":…}}`.
pub(crate) fn error(message: &str, json: bool) {
    let told = if json {
        let value = serde_json::json!({ "error": { "message": message } });
        writeln!(io::stderr(), "{}", safe_json::safe(&value.to_string()))
    } else {
        let red = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
        writeln!(anstream::stderr(), "{red}error:{red:#} {}", sanitise::text(message))
    };
    drop(told);
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
}
