//! What a generator remembers of the past: places to rewind to, and what became of calls.

use std::collections::VecDeque;
use std::sync::Arc;

use threadline_core::history::batch::Batch;
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::Fact;
use threadline_core::history::{Aftermath, History};
use threadline_core::id::Seq;

use crate::ids::Choices;

/// How many of the newest batches can be gone back to.
const RECENT: usize = 48;
/// How many places further back are kept.
const LANDMARKS: usize = 16;
/// How many entries lie between two such places, at least.
const LANDMARK_EVERY: u64 = 500;

/// Places to rewind to.
#[derive(Debug)]
pub(super) struct Past {
    /// The history after each of the newest batches, the newest last.
    recent: VecDeque<Arc<History>>,
    /// The history at places further back, where all agents rested.
    landmarks: Vec<Arc<History>>,
    /// Starts and ends of calls, and rewinds, since the oldest of `recent`.
    calls: VecDeque<Arc<Entry>>,
    /// The head before the newest rewind.
    before_rewind: Option<Seq>,
}

impl Past {
    pub(super) fn new(beginning: Arc<History>) -> Self {
        Self {
            recent: VecDeque::new(),
            landmarks: vec![beginning],
            calls: VecDeque::new(),
            before_rewind: None,
        }
    }

    /// Remembers a batch and the history after it.
    pub(super) fn keep(&mut self, batch: &Batch, history: &Arc<History>, choices: &mut Choices) {
        for placed in &batch.entries {
            match &placed.entry.fact {
                Fact::Rewound(_) => self.before_rewind = Some(batch.base),
                Fact::ToolStarted(_) | Fact::ToolFinished(_) => {}
                Fact::AgentJoined(_)
                | Fact::AgentLeft(_)
                | Fact::InstructionSet(_)
                | Fact::Input(_)
                | Fact::Output(_)
                | Fact::ToolResults(_)
                | Fact::InvocationStarted(_)
                | Fact::InvocationFailed(_)
                | Fact::ApprovalAsked(_)
                | Fact::ApprovalGiven(_)
                | Fact::PolicySet(_)
                | Fact::WidgetChanged(_)
                | Fact::AgentCalled(_)
                | Fact::AgentReturned(_)
                | Fact::TimerSet(_)
                | Fact::TimerCleared(_)
                | Fact::TurnEnded(_)
                | Fact::Recap(_)
                | Fact::Pinned(_)
                | Fact::Described(_)
                | Fact::Forked(_)
                | Fact::Moved(_)
                | Fact::WorkspaceSet(_)
                | Fact::FileChanged(_)
                | Fact::AuthorityReset(_)
                | Fact::Note(_)
                | Fact::Unrecognised(_) => continue,
            }
            self.calls.push_back(Arc::clone(&placed.entry));
        }
        self.recent.push_back(Arc::clone(history));
        if self.recent.len() > RECENT {
            self.recent.pop_front();
        }
        let oldest = self.recent.front().map_or(Seq::ZERO, |oldest| oldest.head());
        while self.calls.front().is_some_and(|entry| entry.seq <= oldest) {
            self.calls.pop_front();
        }
        let last = self.landmarks.last().map_or(Seq::ZERO, |last| last.head());
        if history.head().0 - last.0 >= LANDMARK_EVERY && is_at_rest(history) {
            if self.landmarks.len() >= LANDMARKS {
                self.landmarks.remove(1 + choices.index(LANDMARKS - 2));
            }
            self.landmarks.push(Arc::clone(history));
        }
    }

    /// A place to rewind to: before the last turn, into the middle of one, further back, or to
    /// what the last rewind left.
    pub(super) fn choose(&self, now: &History, choices: &mut Choices) -> Option<Arc<History>> {
        let found = match choices.below(100) {
            0..50 => now.state().last_turn.and_then(|turn| self.at(turn.before())),
            50..65 => self.before_rewind.and_then(|seq| self.at(seq)),
            65..85 => {
                let open: Vec<_> = self.recent.iter().filter(|past| has_open_calls(past)).collect();
                choices.pick(&open).map(|past| Arc::clone(past))
            }
            85..97 => self.recent.get(choices.index(self.recent.len())).cloned(),
            _ => choices.pick(&self.landmarks).cloned(),
        };
        found.or_else(|| self.recent.get(choices.index(self.recent.len())).cloned())
    }

    /// What became of calls after a place in memory.
    pub(super) fn aftermath(&self, to: Seq) -> Aftermath {
        let mut aftermath = Aftermath::default();
        for entry in self.calls.iter().filter(|entry| entry.seq > to) {
            // Calls go on only in the branch that follows directly.
            if entry.fact.rewinds_to().is_some() {
                break;
            }
            aftermath.note(entry);
        }
        aftermath
    }

    fn at(&self, seq: Seq) -> Option<Arc<History>> {
        let place = self.recent.binary_search_by_key(&seq, |past| past.head()).ok()?;
        self.recent.get(place).cloned()
    }
}

fn is_at_rest(history: &History) -> bool {
    history.state().agents.values().all(|agent| !agent.in_turn())
}

fn has_open_calls(history: &History) -> bool {
    history.state().agents.values().any(|agent| agent.open_calls().next().is_some())
}
