//! Exchanges: the rows of a thread as units that are shown whole or not at all.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::history::History;
use crate::history::entry::Entry;
use crate::history::fact::Fact;
use crate::id::{AgentId, CallId, Seq};
use crate::outline::{OutlineRow, RowKind};
use crate::store::Shown;

/// A row and its entries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item<'a> {
    pub(super) row: &'a OutlineRow,
    pub(super) entries: &'a [Arc<Entry>],
}

/// A thread by what must be shown of it and what may be.
#[derive(Default)]
pub(super) struct Thread<'a> {
    /// The first entry of the current turn; zero if none is under way.
    pub(super) turn: Seq,
    /// The last entry of the history.
    pub(super) head: Seq,
    /// Exchanges of earlier turns, oldest first.
    pub(super) before: Vec<Vec<Item<'a>>>,
    /// The inputs that began the current turn.
    pub(super) opening: Vec<Item<'a>>,
    /// Exchanges of the current turn but the newest, oldest first.
    pub(super) inside: Vec<Vec<Item<'a>>>,
    /// The newest exchange of the current turn.
    pub(super) newest: Vec<Item<'a>>,
    /// Inputs of the current turn that no model has answered, but for those that began it.
    pub(super) pending: Vec<Item<'a>>,
    /// How many outputs of the current turn models see.
    steps: usize,
}

impl<'a> Thread<'a> {
    /// The thread of the rows of a window, oldest first.
    pub(super) fn new(history: &History, agent: AgentId, window: &'a [Shown]) -> Self {
        let state = history.agent(agent);
        let turn = state.filter(|agent| agent.in_turn()).and_then(|agent| agent.turn.as_ref());
        let unsealed = state.is_some_and(|agent| agent.open_calls().next().is_some());
        let steps = turn.map_or(0, |turn| usize::try_from(turn.steps).unwrap_or(usize::MAX));
        let mut thread = Self {
            turn: turn.map_or(Seq::ZERO, |turn| turn.start),
            head: history.head(),
            steps: steps.saturating_sub(usize::from(unsealed)),
            ..Self::default()
        };
        let is_of_turn =
            |exchange: &Exchange<'_>| turn.is_some_and(|turn| exchange.turn() == Some(turn.start));
        let mut before = exchanges(history, agent, window);
        let of_turn = before.iter().position(is_of_turn).unwrap_or(before.len());
        let of_turn = before.split_off(of_turn);
        thread.before = after_gap(before);
        thread.place(of_turn);
        thread
    }

    /// How many exchanges of the current turn are not shown if so many of `inside` are not.
    pub(super) fn left_out(&self, dropped: usize) -> usize {
        let kept = self.inside.iter().skip(dropped).chain([&self.newest]);
        let shown = kept.filter(|items| items.iter().any(Item::is_output)).count();
        self.steps.saturating_sub(shown)
    }

    /// The inputs and results of the current turn: what the screen may be attached to.
    pub(super) fn heard(&self) -> BTreeSet<Seq> {
        let exchanges = self.inside.iter().chain([&self.opening, &self.newest, &self.pending]);
        let heard = |item: &&Item<'_>| item.is_input() || item.row.kind == RowKind::Results;
        exchanges.flatten().filter(heard).map(|item| item.row.seq).collect()
    }

    /// Finds its place for each exchange of the current turn.
    fn place(&mut self, mut exchanges: Vec<Exchange<'a>>) {
        if let Some(first) = exchanges.first_mut()
            && first.items.first().is_some_and(|item| item.row.seq == self.turn)
        {
            let inputs = first.items.iter().take_while(|item| item.is_input()).count();
            let rest = first.items.split_off(inputs);
            self.opening = std::mem::replace(&mut first.items, rest);
        }
        if let Some(last) = exchanges.pop_if(|last| !last.is_answered() && !last.is_recap()) {
            self.pending = last.items;
            if !last.whole {
                exchanges.clear();
            }
        }
        // A recap may follow the newest exchange. It is shown before it: what it stands for is
        // older still.
        if let Some(newest) = exchanges.iter().rposition(Exchange::is_answered) {
            let newest = exchanges.remove(newest);
            self.newest = newest.items;
            if !newest.whole {
                exchanges.clear();
            }
        }
        self.inside = after_gap(exchanges);
        if self.left_out(0) > 0 {
            self.before.clear();
        }
    }
}

/// The exchanges after the last gap, which are those that are known to be whole.
fn after_gap(mut exchanges: Vec<Exchange<'_>>) -> Vec<Vec<Item<'_>>> {
    let whole = exchanges.iter().rposition(|exchange| !exchange.whole).map_or(0, |gap| gap + 1);
    let items = exchanges.drain(whole..).map(|exchange| exchange.items);
    items.filter(|items| !items.is_empty()).collect()
}

/// The rows of a window as exchanges, oldest first.
fn exchanges<'a>(history: &History, agent: AgentId, window: &'a [Shown]) -> Vec<Exchange<'a>> {
    let mut grouping = Grouping::default();
    for (row, entries) in window.iter().filter(|(row, _)| row.agent == agent) {
        let item = Item { row, entries };
        grouping.come_to(item);
        match row.kind {
            RowKind::Message | RowKind::Input | RowKind::Output | RowKind::Answer => {
                if grouping.current.is_answered() {
                    grouping.flush();
                }
                grouping.current.items.push(item);
            }
            RowKind::Results if grouping.current.is_sealed_by(item) => {
                grouping.current.items.push(item);
            }
            // Results whose output the window does not have.
            RowKind::Results => {}
            RowKind::Ended => grouping.current.items.push(item),
            RowKind::Recap => {
                if history.state().recaps.iter().any(|recap| recap.seq == row.seq) {
                    grouping.recap(item);
                }
            }
        }
    }
    grouping.flush();
    grouping.done
}

/// An output with its results, the inputs before it and the end of the turn after it; or a recap.
#[derive(Debug)]
struct Exchange<'a> {
    items: Vec<Item<'a>>,
    /// Whether no row of it is missing.
    whole: bool,
}

/// Exchanges in the making.
struct Grouping<'a> {
    done: Vec<Exchange<'a>>,
    current: Exchange<'a>,
    last: Option<Seq>,
}

impl Default for Grouping<'_> {
    fn default() -> Self {
        let current = Exchange { items: Vec::new(), whole: true };
        Self { done: Vec::new(), current, last: None }
    }
}

impl<'a> Grouping<'a> {
    /// The next row: after a gap, and where a turn begins, an exchange begins.
    fn come_to(&mut self, item: Item<'a>) {
        let follows = item.row.previous == self.last;
        let begins_turn = item.row.seq == item.row.turn;
        if !follows || begins_turn {
            self.flush();
            self.current.whole = follows || begins_turn;
        }
        self.last = Some(item.row.seq);
    }

    /// A recap is an exchange of its own, before the one in the middle of which it was written.
    fn recap(&mut self, item: Item<'a>) {
        if self.current.is_complete() {
            self.flush();
        }
        self.done.push(Exchange { items: vec![item], whole: true });
    }

    fn flush(&mut self) {
        let next = Exchange { items: Vec::new(), whole: true };
        let mut ready = std::mem::replace(&mut self.current, next);
        // Calls that are not sealed are not shown.
        if !ready.is_sealed() {
            ready.items.retain(|item| !item.is_output());
        }
        if !ready.items.is_empty() || !ready.whole {
            self.done.push(ready);
        }
    }
}

impl Exchange<'_> {
    /// The turn it belongs to.
    fn turn(&self) -> Option<Seq> {
        self.items.first().map(|item| item.row.turn)
    }

    fn is_recap(&self) -> bool {
        self.items.first().is_some_and(|item| item.row.kind == RowKind::Recap)
    }

    /// Whether an output or the end of the turn answers its inputs.
    fn is_answered(&self) -> bool {
        self.items.iter().any(|item| item.is_output() || item.row.kind == RowKind::Ended)
    }

    /// Whether nothing is missing after its output.
    fn is_complete(&self) -> bool {
        self.is_answered() && self.is_sealed()
    }

    /// Whether its output, if it has one, has no calls or has their results.
    fn is_sealed(&self) -> bool {
        let output = self.items.iter().find(|item| item.is_output());
        output.is_none_or(|output| output.calls().next().is_none())
            || self.items.iter().any(|item| item.row.kind == RowKind::Results)
    }

    /// Whether these are the results of its output's calls, all of them, in their order.
    fn is_sealed_by(&self, results: Item<'_>) -> bool {
        let Some(output) = self.items.last().filter(|last| last.is_output()) else { return false };
        output.calls().next().is_some() && output.calls().eq(results.answered())
    }
}

impl Item<'_> {
    pub(super) fn is_input(&self) -> bool {
        matches!(self.row.kind, RowKind::Message | RowKind::Input)
    }

    fn is_output(&self) -> bool {
        matches!(self.row.kind, RowKind::Output | RowKind::Answer)
    }

    /// The calls of an output.
    fn calls(&self) -> impl Iterator<Item = CallId> {
        let calls = match self.entries.first().map(|entry| &entry.fact) {
            Some(Fact::Output(output)) => output.calls().count(),
            _ => 0,
        };
        (0..).take(calls).map(|index| CallId::new(self.row.seq, index))
    }

    /// The calls that sealed results answer.
    fn answered(&self) -> impl Iterator<Item = CallId> {
        self.entries.iter().filter_map(|entry| match &entry.fact {
            Fact::ToolFinished(finished) => Some(finished.call),
            _ => None,
        })
    }
}
