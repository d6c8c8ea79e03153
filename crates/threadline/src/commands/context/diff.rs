//! What differs from what was seen the time before.

use serde::Serialize;
use threadline_core::context::compare::{Breach, Change, Prefix, changes, prefix};
use threadline_core::context::{Body, Part, Source};
use threadline_core::history::fact::Block;
use threadline_core::history::one_line;
use threadline_core::id::Seq;

use super::bar::percent;
use super::parts::{level, line, places};
use super::sight::Sight;
use super::table::range;
use crate::view::{Line, View, counted, grouped};

/// How much of a system message a line shows, in characters.
const WORDS_CAP: usize = 60;

/// What is told of a part that is gone because it is folded now.
const FOLDED: &str = "folded";

/// What differs.
#[derive(Serialize)]
pub(super) struct Diff {
    /// The invocation it is compared with.
    against: u64,
    same_parts: usize,
    same_tokens: u64,
    of_tokens: u64,
    share_permille: u32,
    broken: Option<Break>,
    changes: Vec<ChangeLine>,
}

/// Where the identical prefix ends, and why.
#[derive(Serialize)]
struct Break {
    by: &'static str,
    from: Option<u64>,
    to: Option<u64>,
    #[serde(skip)]
    told: &'static str,
}

/// What became of one part.
#[derive(Serialize)]
struct ChangeLine {
    change: &'static str,
    what: &'static str,
    from: Option<u64>,
    to: Option<u64>,
    level_before: Option<&'static str>,
    level: Option<&'static str>,
    tokens_before: Option<u64>,
    tokens: Option<u64>,
    /// What else is to be said.
    how: Option<&'static str>,
    first_words: String,
}

impl Diff {
    pub(super) fn new(against: Seq, before: &Sight, now: &Sight) -> Self {
        let prefix = prefix(&before.shown(), &now.shown());
        let mut lines = Vec::new();
        if before.catalogue_digest != now.catalogue_digest {
            lines.push(tools(before, now));
        }
        let told = changes(&before.context, &now.context);
        lines.extend(told.iter().map(|change| change_line(change, before, now)));
        Self {
            against: against.0,
            same_parts: prefix.parts,
            same_tokens: prefix.tokens,
            of_tokens: prefix.of_tokens,
            share_permille: prefix.share(),
            broken: broken(&prefix),
            changes: lines,
        }
    }

    pub(super) fn print(&self, view: &mut View) -> anyhow::Result<()> {
        let against = format!("  against what was asked at entry {}: ", self.against);
        let share = percent(u64::from(self.share_permille));
        let (same, of) = (grouped(self.same_tokens), grouped(self.of_tokens));
        let parts = u64::try_from(self.same_parts).unwrap_or(u64::MAX);
        let parts = counted(parts, "part", "parts");
        let prefix = format!("{share} is an identical prefix");
        let line = Line::new().plain(against).bold(prefix);
        view.line(&line.plain(format!(" ({same} of {of} tokens, {parts})")))?;
        let told = match &self.broken {
            None => Line::new().good("  it goes on where that ended"),
            Some(broken) => {
                let at = match (broken.from, broken.to) {
                    (Some(from), Some(to)) if from != to => format!(" at entries {from} to {to}"),
                    (Some(from), _) => format!(" at entry {from}"),
                    (None, _) => String::new(),
                };
                Line::new().bad(format!("  broken{at}: {}", broken.told))
            }
        };
        view.line(&told)?;
        view.line(&Line::new())?;
        if self.changes.is_empty() {
            view.line(&Line::new().dim("  nothing else differs"))?;
        }
        let widest = self.changes.iter().map(|line| range(line.from, line.to).len()).max();
        let entry = widest.unwrap_or(0).max(5);
        let is_folded = |line: &ChangeLine| line.how == Some(FOLDED);
        for lines in self.changes.chunk_by(|one, next| is_folded(one) && is_folded(next)) {
            match lines {
                [first, .., last] if is_folded(first) => {
                    view.row(folded_run(lines, first.from, last.to, entry))?;
                }
                lines => {
                    for line in lines {
                        view.row(line.drawn(entry))?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Parts in a row that are folded now, in one line.
fn folded_run(lines: &[ChangeLine], from: Option<u64>, to: Option<u64>, entry: usize) -> Line {
    let tokens = lines.iter().filter_map(|line| line.tokens_before).sum();
    let count = u64::try_from(lines.len()).unwrap_or(u64::MAX);
    let what = counted(count, "part", "parts");
    let (place, tokens) = (range(from, to), grouped(tokens));
    let row = format!("  - {place:>entry$}  {what:<23}  {tokens:>13}");
    Line::new().bad(row).dim(format!("  [{FOLDED}]"))
}

impl ChangeLine {
    fn drawn(&self, entry: usize) -> Line {
        let place = range(self.from, self.to);
        let both = |before: Option<String>, after: Option<String>| match (before, after) {
            (Some(before), Some(after)) if before != after => format!("{before} → {after}"),
            (Some(one), _) | (None, Some(one)) => one,
            (None, None) => String::new(),
        };
        let level = both(self.level_before.map(str::to_owned), self.level.map(str::to_owned));
        let tokens = both(self.tokens_before.map(grouped), self.tokens.map(grouped));
        let row = format!(" {place:>entry$}  {:<8}  {level:<13}  {tokens:>13}", self.what);
        let line = match self.change {
            "gone" => Line::new().bad(format!("  -{row}")),
            "new" => Line::new().good(format!("  +{row}")),
            _ => Line::new().name(format!("  ~{row}")),
        };
        let how = self.how.map(|how| format!("[{how}] ")).unwrap_or_default();
        line.dim(format!("  {how}{}", self.first_words))
    }
}

fn broken(prefix: &Prefix) -> Option<Break> {
    let broken = prefix.broken?;
    let places = broken.at.map(places);
    Some(Break {
        by: broken.by.name(),
        from: places.map(|(from, _)| from.0),
        to: places.map(|(_, to)| to.0),
        told: match broken.by {
            Breach::Tools => "other tools are shown",
            Breach::System => "the system message is another",
            Breach::Recap => "a recap came or went",
            Breach::Border => "the fold border moved by a block",
            Breach::Pin => "an entry was pinned, or is no longer",
            Breach::Rewound => "a rewind took it back",
            Breach::Turn => "a new turn began, and the one before is shown as a past one",
            Breach::Screen => "its live screen is another",
            Breach::Level => "it is shown at another level",
            Breach::Other => "it is shown differently",
        },
    })
}

fn tools(before: &Sight, now: &Sight) -> ChangeLine {
    let names: Vec<&str> = now.catalogue.tools().iter().map(|tool| &*tool.name).collect();
    ChangeLine {
        change: "changed",
        what: "tools",
        from: None,
        to: None,
        level_before: None,
        level: None,
        tokens_before: Some(u64::from(before.catalogue.tokens())),
        tokens: Some(u64::from(now.catalogue.tokens())),
        how: None,
        first_words: one_line(&names.join(", "), WORDS_CAP),
    }
}

fn change_line(change: &Change<'_>, before: &Sight, now: &Sight) -> ChangeLine {
    let told = |part: &Part, sight: &Sight| {
        let line = line(part, sight, false);
        ChangeLine {
            change: "new",
            what: line.what,
            from: line.from,
            to: line.to,
            level_before: None,
            level: line.level,
            tokens_before: None,
            tokens: Some(u64::from(part.tokens)),
            how: None,
            first_words: line.first_words,
        }
    };
    match change {
        Change::System(was, is) => ChangeLine {
            change: "changed",
            what: "system",
            from: is.entry.map(|seq| seq.0),
            to: is.entry.map(|seq| seq.0),
            level_before: None,
            level: None,
            tokens_before: Some(u64::from(was.tokens)),
            tokens: Some(u64::from(is.tokens)),
            how: None,
            first_words: one_line(&is.text, WORDS_CAP),
        },
        Change::New(part) => told(part, now),
        Change::Gone(part) => {
            let line = told(part, before);
            let how = folded(part, now).then_some(FOLDED);
            let (level, tokens) = (line.level, line.tokens);
            ChangeLine {
                change: "gone",
                level_before: level,
                level: None,
                tokens_before: tokens,
                tokens: None,
                how,
                ..line
            }
        }
        Change::Changed(was, is) => ChangeLine {
            change: "changed",
            level_before: Some(level(was.level)),
            tokens_before: Some(u64::from(was.tokens)),
            how: how(was, is),
            ..told(is, now)
        },
    }
}

/// Whether a part that is gone is among what is folded now.
fn folded(part: &Part, now: &Sight) -> bool {
    let (seq, _) = places(part.source);
    now.context.parts.iter().any(|part| match part.source {
        Source::Earlier { from, to } => from <= seq && seq <= to,
        Source::Entry(_) => false,
    })
}

/// In which way a part is shown differently, where the level does not say it.
fn how(was: &Part, is: &Part) -> Option<&'static str> {
    let thinks = |part: &Part| match &part.body {
        Body::Output(output) => output.blocks.iter().any(Block::is_thinking),
        Body::Input(_) | Body::Results(_) => false,
    };
    match (was.screen(), is.screen()) {
        (Some(_), None) => Some("without its screen"),
        (None, Some(_)) => Some("with a screen"),
        (Some(was), Some(is)) if was.text != is.text => Some("another screen"),
        (Some(_), Some(_)) | (None, None) if thinks(was) && !thinks(is) => Some("without thinking"),
        (Some(_), Some(_)) | (None, None) => None,
    }
}
