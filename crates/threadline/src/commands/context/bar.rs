//! The window as a picture: what it is taken up by, and what is free.

use anstyle::AnsiColor;
use serde::Serialize;
use threadline_core::context::plan::budget;
use threadline_core::context::{Part, Source};

use super::sight::Sight;
use crate::view::{Line, View, grouped};

/// How many cells a window is drawn with.
const CELLS: usize = 60;

/// What takes up a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Group {
    System,
    Tools,
    Pinned,
    Earlier,
    EarlierTurns,
    CurrentTurn,
    Screens,
    Free,
    Reserve,
}

impl Group {
    const ALL: [Self; 9] = [
        Self::System,
        Self::Tools,
        Self::Pinned,
        Self::Earlier,
        Self::EarlierTurns,
        Self::CurrentTurn,
        Self::Screens,
        Self::Free,
        Self::Reserve,
    ];

    /// What it is called.
    const fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Tools => "tools",
            Self::Pinned => "pinned",
            Self::Earlier => "Earlier",
            Self::EarlierTurns => "earlier turns",
            Self::CurrentTurn => "current turn",
            Self::Screens => "screens",
            Self::Free => "free",
            Self::Reserve => "reserve",
        }
    }

    /// Its cells: told apart without colours too.
    const fn cell(self) -> &'static str {
        match self {
            Self::System => "S",
            Self::Tools => "T",
            Self::Pinned => "P",
            Self::Earlier => "E",
            Self::EarlierTurns => "=",
            Self::CurrentTurn => "#",
            Self::Screens => "~",
            Self::Free => ".",
            Self::Reserve => "-",
        }
    }

    const fn colour(self) -> Option<AnsiColor> {
        match self {
            Self::System | Self::Tools => Some(AnsiColor::Magenta),
            Self::Pinned => Some(AnsiColor::Red),
            Self::Earlier => Some(AnsiColor::Blue),
            Self::EarlierTurns => Some(AnsiColor::Cyan),
            Self::CurrentTurn => Some(AnsiColor::Green),
            Self::Screens => Some(AnsiColor::Yellow),
            Self::Free | Self::Reserve => None,
        }
    }

    /// Where a part belongs.
    pub(super) fn of(part: &Part, sight: &Sight) -> Self {
        match part.source {
            Source::Earlier { .. } => Self::Earlier,
            Source::Entry(seq) if sight.pins.contains(&seq) => Self::Pinned,
            Source::Entry(seq) if sight.turn.is_some_and(|start| seq >= start) => Self::CurrentTurn,
            Source::Entry(_) => Self::EarlierTurns,
        }
    }
}

/// What takes up a window, and how much of it, in our unit.
#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct Shares(Vec<Share>);

#[derive(Serialize)]
struct Share {
    group: Group,
    tokens: u64,
    #[serde(rename = "share_permille")]
    permille: u64,
}

impl Shares {
    pub(super) fn of(sight: &Sight) -> Self {
        let whole = window(sight);
        let mut taken = 0;
        let mut shares = Vec::with_capacity(Group::ALL.len());
        for group in Group::ALL {
            let tokens = match group {
                Group::Free => budget(&sight.options).saturating_sub(taken),
                Group::Reserve => whole.saturating_sub(budget(&sight.options)),
                Group::System
                | Group::Tools
                | Group::Pinned
                | Group::Earlier
                | Group::EarlierTurns
                | Group::CurrentTurn
                | Group::Screens => tokens(sight, group),
            };
            taken += tokens;
            shares.push(Share { group, tokens, permille: permille(tokens, whole) });
        }
        Self(shares)
    }
}

/// The whole window, in our unit.
pub(super) fn window(sight: &Sight) -> u64 {
    let factor = u64::from(sight.options.factor_percent.max(1));
    sight.options.window_tokens.saturating_mul(100) / factor
}

/// A share of a window in parts of a thousand.
pub(super) fn permille(tokens: u64, whole: u64) -> u64 {
    let rounded = tokens.saturating_mul(1000).saturating_add(whole / 2);
    rounded.checked_div(whole).unwrap_or(0)
}

/// A share for people.
pub(super) fn percent(permille: u64) -> String {
    format!("{}.{} %", permille / 10, permille % 10)
}

/// What a group takes.
fn tokens(sight: &Sight, group: Group) -> u64 {
    let context = &sight.context;
    let screen = |part: &Part| part.screen().map_or(0, |screen| screen.tokens);
    let sum =
        |each: &dyn Fn(&Part) -> u32| context.parts.iter().map(|part| u64::from(each(part))).sum();
    match group {
        Group::System => u64::from(context.system.tokens),
        Group::Tools => u64::from(sight.catalogue.tokens()),
        Group::Screens => sum(&screen),
        Group::Pinned | Group::Earlier | Group::EarlierTurns | Group::CurrentTurn => sum(&|part| {
            let own = part.tokens.saturating_sub(screen(part));
            if Group::of(part, sight) == group { own } else { 0 }
        }),
        Group::Free | Group::Reserve => 0,
    }
}

/// Draws the window in one line, and what its cells stand for.
pub(super) fn print(sight: &Sight, view: &mut View) -> anyhow::Result<()> {
    let Shares(shares) = Shares::of(sight);
    let width = view.width().map_or(CELLS, |width| width.saturating_sub(4).min(CELLS));
    let amounts: Vec<u64> = shares.iter().map(|share| share.tokens).collect();
    let mut line = Line::new().plain("  [");
    for (share, cells) in shares.iter().zip(cells(&amounts, width)) {
        line = line.coloured(share.group.colour(), share.group.cell().repeat(cells));
    }
    view.line(&line.plain("]"))?;
    let shown = shares.iter().filter(|share| share.tokens > 0);
    let legend = shown.map(|share| {
        let (group, tokens) = (share.group, grouped(share.tokens));
        let percent = percent(share.permille);
        format!("{} {} {tokens} ({percent})", group.cell(), group.name())
    });
    view.remarks(&legend.collect::<Vec<_>>(), "  ")?;
    Ok(())
}

/// Shares so many cells out: each in its proportion, and one at least to whatever there is.
fn cells(amounts: &[u64], cells: usize) -> Vec<usize> {
    let whole: u128 = amounts.iter().map(|amount| u128::from(*amount)).sum();
    let there = amounts.iter().filter(|amount| **amount > 0).count();
    if whole == 0 || there > cells {
        return vec![0; amounts.len()];
    }
    let all = u128::try_from(cells).unwrap_or(0);
    let mut shared: Vec<usize> = amounts
        .iter()
        .map(|amount| {
            let cells = usize::try_from(u128::from(*amount) * all / whole).unwrap_or(0);
            cells.max(usize::from(*amount > 0))
        })
        .collect();
    // What is too much is taken from the largest, what is missing goes to it.
    loop {
        let given: usize = shared.iter().sum();
        let Some(largest) = shared.iter_mut().max().filter(|_| given != cells) else { break };
        *largest = if given > cells { *largest - 1 } else { *largest + cells - given };
    }
    shared
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_shared_out_whole_and_nothing_vanishes() {
        assert_eq!(cells(&[1, 1], 10), [5, 5]);
        assert_eq!(cells(&[1, 999, 0], 10), [1, 9, 0]);
        assert_eq!(cells(&[0, 0], 10), [0, 0]);
        assert_eq!(cells(&[1, 1, 1], 2), [0, 0, 0]);
        for many in 1..40_u64 {
            let amounts = [many, 3, 0, many * many, 100_000, 7];
            let shared = cells(&amounts, 60);
            assert_eq!(shared.iter().sum::<usize>(), 60);
            for (amount, cells) in amounts.iter().zip(shared) {
                assert_eq!(*amount > 0, cells > 0, "{amounts:?}");
            }
        }
        assert_eq!(cells(&[u64::MAX, u64::MAX], 4), [2, 2]);
    }

    #[test]
    fn shares_are_told_in_percent() {
        assert_eq!(percent(permille(1, 8)), "12.5 %");
        assert_eq!(percent(permille(0, 0)), "0.0 %");
        assert_eq!(percent(permille(32, 32)), "100.0 %");
    }
}
