//! An agent at a place of a history, with all there is to show.

use std::sync::Arc;

use threadline_core::context::Material;
use threadline_core::context::plan::{Ask, DoesNotFit, More, Outlook};
use threadline_core::history::History;
use threadline_core::history::state::{Agent, Turn};
use threadline_core::id::{AgentId, Seq};
use threadline_core::outline::{OutlineRow, RowKind};

use crate::projection::Kept;

pub(super) struct Place<'a> {
    pub(super) kept: &'a Kept,
    pub(super) history: &'a History,
    pub(super) agent: AgentId,
    /// The rows on the path of the thread, newest first.
    pub(super) rows: Vec<Arc<OutlineRow>>,
}

impl<'a> Place<'a> {
    pub(super) fn new(kept: &'a Kept, history: &'a History, agent: AgentId) -> Self {
        let mut rows = Vec::new();
        let mut next = history.agent(agent).and_then(|agent| agent.row);
        while let Some(row) = next.map(|seq| &kept.rows[&seq]) {
            next = row.previous;
            rows.push(Arc::clone(row));
        }
        Self { kept, history, agent, rows }
    }

    pub(super) fn material(&self, ask: &Ask) -> Result<Material, DoesNotFit> {
        self.kept.material(self.history, ask)
    }

    pub(super) fn agent(&self) -> Option<&Agent> {
        self.history.agent(self.agent)
    }

    pub(super) fn turn(&self) -> Option<&Turn> {
        self.agent()?.turn.as_ref()
    }

    pub(super) fn row(&self, seq: Seq) -> Option<&Arc<OutlineRow>> {
        self.rows.iter().find(|row| row.seq == seq)
    }

    /// The output whose calls are not sealed.
    pub(super) fn unsealed(&self) -> Option<Seq> {
        self.agent()?.open_calls().next().map(|(call, _)| call.output)
    }

    /// Where screens may be attached in the newest turn, oldest first.
    pub(super) fn screen_places(&self) -> Vec<Seq> {
        let Some(turn) = self.turn() else { return Vec::new() };
        let of_turn = self.rows.iter().rev().filter(|row| row.turn == turn.start);
        let places = of_turn.filter(|row| row.seq == turn.start || row.kind == RowKind::Results);
        places.map(|row| row.seq).collect()
    }

    /// As much of the outline as was read first.
    pub(super) fn outlook(&self, rows: usize) -> Outlook {
        let read: Vec<_> = self.rows.iter().take(rows).cloned().collect();
        Outlook { whole: read.len() == self.rows.len(), rows: read, ..Outlook::default() }
    }

    /// Reads what a plan asks for.
    pub(super) fn read_on(&self, outlook: &mut Outlook, more: &More, rows: usize) {
        match more {
            More::Path => {
                assert!(!outlook.whole, "there is no more");
                let known = outlook.rows.len();
                outlook.rows.extend(self.rows.iter().skip(known).take(rows).cloned());
                outlook.whole = outlook.rows.len() == self.rows.len();
            }
            More::Rows(seqs) => {
                assert!(!seqs.is_empty());
                for seq in seqs {
                    let before = outlook.others.insert(*seq, self.row(*seq).cloned());
                    assert!(before.is_none(), "{seq} is asked for twice");
                }
            }
        }
    }
}
