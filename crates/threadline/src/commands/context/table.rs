//! The table of parts.

use threadline_core::id::Seq;

use super::bar::{percent, permille, window};
use super::parts::{PartLine, ResultLine, lines};
use super::sight::Sight;
use crate::view::{Line, View, grouped, remark};

/// How far a text is indented below its line.
const INDENT: &str = "           ";

/// Prints all parts, and what they take together.
pub(super) fn whole(sight: &Sight, texts: bool, view: &mut View) -> anyhow::Result<()> {
    let lines = lines(sight, texts);
    let columns = Columns::of(&lines);
    columns.heading(view)?;
    for line in &lines {
        columns.part(line, view)?;
    }
    columns.sum(sight, view)
}

/// Prints the largest parts in their order; gives how many were left out.
pub(super) fn largest(sight: &Sight, most: usize, view: &mut View) -> anyhow::Result<u64> {
    let mut lines = lines(sight, false);
    let mut sizes: Vec<u64> = lines.iter().map(PartLine::all).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let least = sizes.get(most.saturating_sub(1)).copied().unwrap_or(0);
    let mut equal = sizes.iter().take(most).filter(|size| **size == least).count();
    let before = lines.len();
    lines.retain(|line| {
        let is_equal = line.all() == least;
        let kept = line.all() > least || (is_equal && equal > 0);
        equal -= usize::from(is_equal && kept);
        kept
    });
    let columns = Columns::of(&lines);
    columns.heading(view)?;
    for line in &lines {
        columns.part(line, view)?;
    }
    columns.sum(sight, view)?;
    Ok(u64::try_from(before - lines.len()).unwrap_or(u64::MAX))
}

/// One part with its text, or one result of a part.
pub(super) struct Found {
    columns: Columns,
    which: Which,
}

enum Which {
    Part(PartLine),
    Result(ResultLine),
    /// The entry is folded: the part that stands for it.
    Folded(Seq, PartLine),
}

impl Found {
    /// What shows an entry.
    pub(super) fn new(sight: &Sight, seq: Seq) -> anyhow::Result<Self> {
        let lines = lines(sight, true);
        let columns = Columns::of(&lines);
        let entry = Some(seq.0);
        for mut line in lines {
            if line.from == entry && line.to == entry {
                return Ok(Self { columns, which: Which::Part(line) });
            }
            if let Some(place) = line.results.iter().position(|result| result.entry == seq.0) {
                return Ok(Self { columns, which: Which::Result(line.results.swap_remove(place)) });
            }
            if line.from <= entry && entry <= line.to {
                return Ok(Self { columns, which: Which::Folded(seq, line) });
            }
        }
        anyhow::bail!("entry {seq} is not shown to the model")
    }

    pub(super) fn print(&self, view: &mut View) -> anyhow::Result<()> {
        match &self.which {
            Which::Part(line) => self.columns.part(line, view),
            Which::Result(result) => self.columns.result(result, view),
            Which::Folded(seq, line) => {
                let (entries, seq) = (line.entries(), *seq);
                remark(&format!("entry {seq} is folded; this stands for entries {entries}"));
                self.columns.part(line, view)
            }
        }
    }
}

impl PartLine {
    /// What it takes with its screen.
    fn all(&self) -> u64 {
        self.tokens + self.screen.as_ref().map_or(0, |screen| screen.tokens)
    }

    /// The entries it stands for.
    fn entries(&self) -> String {
        range(self.from, self.to)
    }
}

/// A place, or a range of places.
pub(super) fn range(from: Option<u64>, to: Option<u64>) -> String {
    match (from, to) {
        (Some(from), Some(to)) if from == to => from.to_string(),
        (Some(from), Some(to)) => format!("{from}-{to}"),
        (Some(_), None) | (None, _) => String::new(),
    }
}

impl ResultLine {
    fn name(&self) -> String {
        match self.status {
            "success" => format!("  {}", self.tool),
            status => format!("  {} ({status})", self.tool),
        }
    }
}

/// How wide the columns are.
struct Columns {
    entry: usize,
    what: usize,
}

impl Columns {
    fn of(lines: &[PartLine]) -> Self {
        let entry = lines.iter().map(|line| line.entries().len()).max();
        let results = || lines.iter().flat_map(|line| &line.results);
        let what = lines.iter().map(|line| line.what.chars().count());
        let what = what.chain(results().map(|result| result.name().chars().count())).max();
        Self { entry: entry.unwrap_or(0).max(5), what: what.unwrap_or(0).clamp(8, 24) }
    }

    fn heading(&self, view: &mut View) -> anyhow::Result<()> {
        let Self { entry, what } = *self;
        let line = format!(
            "  {:>entry$}  {:<what$}  {:<6}  {:>8}  {:>7}  {}",
            "entry", "what", "level", "tokens", "share", "first words"
        );
        view.row(Line::new().dim(line))?;
        Ok(())
    }

    fn part(&self, line: &PartLine, view: &mut View) -> anyhow::Result<()> {
        let amount = (line.tokens, line.share_permille);
        let level = line.level.unwrap_or("");
        // What results say stands below, one by one.
        let said = if line.results.is_empty() { &*line.first_words } else { "" };
        self.row((&line.entries(), line.what, level), amount, said, view)?;
        if let Some(text) = &line.text {
            view.text(text, INDENT)?;
        }
        for result in &line.results {
            self.result(result, view)?;
        }
        if let Some(screen) = &line.screen {
            self.row(("", "  screen", ""), (screen.tokens, screen.share_permille), "", view)?;
            if let Some(text) = &screen.text {
                view.text(text, INDENT)?;
            }
        }
        Ok(())
    }

    fn result(&self, result: &ResultLine, view: &mut View) -> anyhow::Result<()> {
        let (entry, name) = (result.entry.to_string(), result.name());
        let amount = (result.tokens, result.share_permille);
        self.row((&entry, &name, result.level), amount, &result.first_words, view)?;
        if let Some(text) = &result.text {
            view.text(text, INDENT)?;
        }
        Ok(())
    }

    fn sum(&self, sight: &Sight, view: &mut View) -> anyhow::Result<()> {
        let tokens = sight.shown().tokens();
        let amount = (tokens, permille(tokens, window(sight)));
        self.row(("", "sum", ""), amount, "", view)
    }

    fn row(
        &self,
        (place, name, level): (&str, &str, &str),
        (tokens, share): (u64, u64),
        said: &str,
        view: &mut View,
    ) -> anyhow::Result<()> {
        let Self { entry, what } = *self;
        let (tokens, share) = (grouped(tokens), percent(share));
        let line = Line::new()
            .dim(format!("  {place:>entry$}  "))
            .name(format!("{name:<what$}"))
            .plain(format!("  {level:<6}  {tokens:>8}  {share:>7}"));
        let line = if said.is_empty() { line } else { line.dim(format!("  {said}")) };
        view.row(line)?;
        Ok(())
    }
}
