//! The tables that are printed.

use std::fmt::Display;

/// What a ratio should be.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// So much or more.
    AtLeast(f64),
    /// So much or less.
    AtMost(f64),
}

impl Target {
    fn is_met(self, ratio: f64) -> bool {
        match self {
            Self::AtLeast(least) => ratio >= least,
            Self::AtMost(most) => ratio <= most,
        }
    }

    fn text(self) -> String {
        match self {
            Self::AtLeast(least) => format!(">= {least}"),
            Self::AtMost(most) => format!("<= {most}"),
        }
    }
}

/// All that was measured.
#[derive(Debug, Default)]
pub struct Report {
    ratios: usize,
    missed: usize,
}

impl Report {
    /// Begins the table of a part.
    pub fn begin(&self, part: &str) {
        if self.ratios > 0 {
            line("");
        }
        line(&format!(
            "{part:<50} {:>14} {:>14} {:>7} {:>8}",
            "ours", "against", "ratio", "target"
        ));
    }

    /// Adds a ratio of two numbers of a unit.
    pub fn ratio(
        &mut self,
        what: &str,
        ours: f64,
        against: f64,
        unit: &str,
        target: Option<Target>,
    ) {
        let ratio = ours / against;
        self.ratios += 1;
        let (wanted, verdict) = match target {
            None => (String::new(), ""),
            Some(target) if target.is_met(ratio) => (target.text(), "ok"),
            Some(target) => {
                self.missed += 1;
                (target.text(), "MISS")
            }
        };
        let (ours, against) = (number(ours, unit), number(against, unit));
        line(&format!("{what:<50} {ours:>14} {against:>14} {ratio:>7.2} {wanted:>8} {verdict}"));
    }

    /// Whether nothing was measured yet.
    pub fn is_empty(&self) -> bool {
        self.ratios == 0
    }

    /// Sums it up.
    pub fn end(&self) {
        line("");
        line(&format!("{} ratios, {} targets missed", self.ratios, self.missed));
    }
}

/// Prints something that is only told.
pub fn fact(what: &str, value: impl Display) {
    line(&format!("{what:<50} {value}"));
}

fn number(value: f64, unit: &str) -> String {
    let digits = if value >= 100.0 { 0 } else { 2 };
    format!("{value:.digits$} {unit}")
}

/// Prints a line.
#[expect(clippy::print_stdout, reason = "printing is what a bench is for")]
pub fn line(text: &str) {
    println!("{text}");
}
