//! A story: a history as it is told, line by line.

use std::collections::BTreeMap;

use threadline_core::clock::Timestamp;
use threadline_core::history::batch::Batch;
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::Fact;
use threadline_core::history::{Aftermath, Counts, History, Proposal, Proposed, Stamp};
use threadline_core::id::{AgentId, ConversationId, Seq};
use threadline_core::tokens::Estimator;

use super::line::{self, Line};
use super::tracker::Tracker;
use super::{Mistake, NotationError, read, words, write};
use crate::ids::SeededIds;

/// How long after an entry the next one comes.
const STEP_MS: u64 = 1000;

/// A history as it is told, with all it was on the way.
#[derive(Debug)]
pub struct Story {
    batches: Vec<Batch>,
    history: History,
    pasts: BTreeMap<Seq, History>,
    tracker: Tracker,
    ids: SeededIds,
    /// How the entries that settling added to the last batch are written, the last first, as far
    /// as no line has named them yet.
    settled: Vec<String>,
}

impl Default for Story {
    fn default() -> Self {
        Self::new()
    }
}

impl Story {
    /// A story that begins with the first moment of 2026.
    pub fn new() -> Self {
        let now = Timestamp::from_micros(1_767_225_600_000_000);
        Self {
            batches: Vec::new(),
            history: History::new(),
            pasts: BTreeMap::from([(Seq::ZERO, History::new())]),
            tracker: Tracker::at(now),
            ids: SeededIds::new(0),
            settled: Vec::new(),
        }
    }

    /// Goes on with what a text tells. On an error the story has come as far as the line before.
    pub fn tell(&mut self, text: &str) -> Result<&mut Self, NotationError> {
        for (number, line) in line::join(text) {
            self.tell_line(number, &line)
                .map_err(|mistake| NotationError { line: number, mistake })?;
        }
        Ok(self)
    }

    /// What it amounts to.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// What it amounted to right after an entry, if it has that entry.
    pub fn history_at(&self, seq: Seq) -> Option<&History> {
        self.pasts.get(&seq)
    }

    /// What was appended, one batch for each line.
    pub fn batches(&self) -> &[Batch] {
        &self.batches
    }

    /// Its entries, rewound ones included.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.batches.iter().flat_map(|batch| &batch.entries).map(|placed| &*placed.entry)
    }

    /// The moment of its last entry, or of what was said to have gone by since.
    pub fn now(&self) -> Timestamp {
        self.tracker.now
    }

    /// What a rewind or a fork to an entry needs: the history there, and what became later of the
    /// calls that were open.
    pub fn past(&self, to: Seq) -> Option<(&History, Aftermath)> {
        let past = self.pasts.get(&to)?;
        let mut aftermath = Aftermath::default();
        for entry in self.entries().skip_while(|entry| entry.seq <= to) {
            if entry.fact.rewinds_to().is_some() {
                break;
            }
            aftermath.note(entry);
        }
        Some((past, aftermath))
    }

    fn tell_line(&mut self, number: usize, written: &str) -> Result<(), Mistake> {
        if let Some(settled) = written.strip_prefix("~ ") {
            return self.check_settled(settled).map_err(Mistake::from);
        }
        if let Some(span) = written.strip_prefix("+ ") {
            self.tracker.now = self.tracker.now.plus_millis(words::millis(span.trim())?);
            return Ok(());
        }
        if written.trim() == "copy" {
            self.history = std::mem::take(&mut self.history).into_copy();
            return Ok(());
        }
        let line = Line::parse(number, written)?;
        let (agent, fact) = read::fact(&line, &self.tracker)?;
        let proposed = self.propose(agent, fact)?;
        self.take(proposed);
        Ok(())
    }

    fn propose(&mut self, agent: AgentId, fact: Fact) -> Result<Proposed, Mistake> {
        let stamp = Stamp {
            at: self.tracker.now.plus_millis(STEP_MS),
            ids: &self.ids,
            counter: &Estimator,
        };
        let proposed = match fact {
            Fact::Rewound(rewound) => {
                let no_entry = || format!("there is no entry {} to rewind to", rewound.to);
                let (past, aftermath) = self.past(rewound.to).ok_or_else(no_entry)?;
                self.history.propose_rewind(past, &aftermath, stamp)?
            }
            Fact::Forked(forked) => {
                let from: ConversationId = forked.from;
                self.history.propose_fork(from, &Aftermath::default(), stamp)?
            }
            fact @ (Fact::AgentJoined(_)
            | Fact::AgentLeft(_)
            | Fact::InstructionSet(_)
            | Fact::Input(_)
            | Fact::Output(_)
            | Fact::ToolResults(_)
            | Fact::InvocationStarted(_)
            | Fact::InvocationFailed(_)
            | Fact::ToolStarted(_)
            | Fact::ToolFinished(_)
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
            | Fact::Moved(_)
            | Fact::WorkspaceSet(_)
            | Fact::FileChanged(_)
            | Fact::AuthorityReset(_)
            | Fact::Note(_)
            | Fact::Unrecognised(_)) => {
                self.history.propose([Proposal::new(agent, fact, &Estimator)], stamp)?
            }
        };
        Ok(proposed)
    }

    fn take(&mut self, proposed: Proposed) {
        let Proposed { batch, history } = proposed;
        self.settled.clear();
        let mut past = std::mem::replace(&mut self.history, history);
        for (nth, placed) in batch.entries.iter().enumerate() {
            let (entry, hash) = (&placed.entry, placed.record.hash);
            let folded = match entry.fact.rewinds_to().map(|to| self.pasts.get(&to)) {
                Some(Some(to)) => past.rewind(entry, hash, to).is_ok(),
                Some(None) => false,
                None => past.apply(entry, hash, Counts::of(&entry.fact, &Estimator)).is_ok(),
            };
            if folded {
                self.pasts.insert(entry.seq, past.clone());
            }
            if nth > 0 && write::settles(&entry.fact) {
                let written = line::join(&write::line(entry, &self.tracker));
                self.settled.extend(written.into_iter().map(|(_, line)| line));
            }
            self.tracker.note(entry);
        }
        self.pasts.insert(self.history.head(), self.history.clone());
        self.settled.reverse();
        self.batches.push(batch);
    }

    fn check_settled(&mut self, written: &str) -> Result<(), String> {
        match self.settled.pop() {
            None => Err("nothing more was settled here".to_owned()),
            Some(expected) if expected == written => Ok(()),
            Some(expected) => Err(format!("what was settled is: ~ {expected}")),
        }
    }
}
