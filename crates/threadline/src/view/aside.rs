//! What is told beside the output, on standard error: how an agent gets on, for people.

use std::io::{self, IsTerminal as _, Write as _};

use anstyle::Style;
use terminal_size::{Width, terminal_size_of};

use super::{Line, NARROWEST};

/// Tells a line beside the output, cut to the width of the terminal if there is one.
pub(crate) fn aside(line: Line) {
    let width = if io::stderr().is_terminal() { terminal_size_of(io::stderr()) } else { None };
    let line = match width {
        Some((Width(width), _)) => line.cut(usize::from(width).max(NARROWEST)),
        None => line,
    };
    let mut out = anstream::stderr();
    // Who closed standard error does not want to know.
    drop(line.write(&mut out, true).and_then(|()| writeln!(out)));
}

/// Tells a piece of a text that is already inert and matters less, without a line end.
pub(crate) fn aside_piece(inert: &str) {
    let dim = Style::new().dimmed();
    let mut out = anstream::stderr();
    drop(write!(out, "{dim}{inert}{dim:#}").and_then(|()| out.flush()));
}
