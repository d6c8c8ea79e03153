//! The history: facts placed in order, and the fold over them.
//!
//! A [`History`] is what a conversation's entries amount to. It is small, whatever their number:
//! the entries stay in the store. It is made from entries by [`History::apply`] and
//! [`History::rewind`], from a snapshot by [`History::from_snapshot`], and says what may come next
//! by [`History::propose`].

pub mod batch;
pub mod by_seq;
mod counts;
pub mod entry;
pub mod fact;
mod fold;
mod jumps;
pub mod metadata;
pub mod path;
mod propose;
pub mod record;
pub mod rule;
pub mod sections;
pub(crate) mod settle;
pub mod snapshot;
pub mod state;

use std::sync::Arc;

pub(crate) use counts::gist;
pub use counts::{Counts, one_line};
pub use fold::{
    AGENTS_CAP, LIVE_RESULT_CAP_TOKENS, PINS_CAP, POLICIES_CAP, RECAPS_CAP, TIMERS_CAP, WIDGETS_CAP,
};
pub use propose::{Aftermath, Draft, DraftMark, Proposal, Proposed, Refused, Stamp};

use self::batch::{AgentSums, Sums};
use self::entry::Entry;
use self::fact::{Digest, Invocation};
use self::jumps::Jumps;
use self::record::GENESIS;
use self::rule::{BrokenRule, Rule};
use self::state::{Agent, Ledger, PathState, Stage};
use crate::id::{AgentId, Seq};
use crate::outline::OutlineRow;

/// What the entries of a conversation amount to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    head: Seq,
    head_hash: Digest,
    state: PathState,
    ledger: Ledger,
    jumps: Jumps,
    arrival: Arrival,
}

/// What the first batch here has to settle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arrival {
    /// Nothing: the history goes on where it was written.
    Own,
    /// Open calls and turns: the history is a copy of one that may go on elsewhere.
    Copy,
    /// The same, and authority: nobody vouched for the file that the history came from.
    Import,
}

impl Default for History {
    fn default() -> Self {
        Self::new()
    }
}

impl History {
    /// A history without entries.
    pub fn new() -> Self {
        Self {
            head: Seq::ZERO,
            head_hash: GENESIS,
            state: PathState::default(),
            ledger: Ledger::default(),
            jumps: Jumps::default(),
            arrival: Arrival::Own,
        }
    }

    /// The last entry.
    pub fn head(&self) -> Seq {
        self.head
    }

    /// The last entry's hash.
    pub fn head_hash(&self) -> Digest {
        self.head_hash
    }

    /// What counts after rewinds.
    pub fn state(&self) -> &PathState {
        &self.state
    }

    /// What is never taken back.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// An agent, gone ones included.
    pub fn agent(&self, id: AgentId) -> Option<&Agent> {
        self.state.agents.get(&id).map(|agent| &**agent)
    }

    /// The window that a model stated when it refused a request as too long, if it did.
    pub fn limit_of(&self, invocation: &Invocation) -> Option<u64> {
        let known = self.state.limits.iter().find(|known| known.invocation == *invocation);
        known.map(|known| known.window_tokens)
    }

    /// What is known of the conversation without reading it.
    pub fn sums(&self) -> Sums {
        self.state.sums(&self.ledger)
    }

    /// What is known of every agent without reading its thread.
    pub fn agent_sums(&self) -> Vec<AgentSums> {
        self.state.agents.iter().map(|(id, agent)| agent.sums(*id)).collect()
    }

    /// Whether an entry is on the path.
    pub fn counts(&self, seq: Seq) -> bool {
        seq > Seq::ZERO && seq <= self.head && !self.jumps.pass_over(seq)
    }

    /// The finishing entries of an agent's open calls, in their order, once all are finished.
    pub fn results(&self, agent: AgentId) -> Option<Vec<Seq>> {
        let Stage::Calling(open) = &self.agent(agent)?.stage else { return None };
        open.calls.iter().map(|call| call.finished.as_ref().map(|finished| finished.seq)).collect()
    }

    /// Takes in the next entry on the path; gives its outline row if models see it.
    ///
    /// On an error nothing has changed. A rewind is taken in by [`History::rewind`].
    pub fn apply(
        &mut self,
        entry: &Entry,
        hash: Digest,
        counts: Counts,
    ) -> Result<Option<OutlineRow>, BrokenRule> {
        self.check_seq(entry)?;
        let understood = self.ledger.unrecognised.is_none();
        let (mut state, mut ledger) = (self.state.clone(), self.ledger.clone());
        let folded = ledger.apply(entry).and_then(|()| state.apply(entry, counts));
        let row = match folded {
            Ok(row) => {
                self.state = state;
                row
            }
            // After an entry that is not understood, rules cannot be judged: what does not fit
            // what is known changes nothing.
            Err(_) if !understood => None,
            Err(rule) => return Err(broken(entry, rule)),
        };
        self.ledger = ledger;
        (self.head, self.head_hash) = (entry.seq, hash);
        Ok(row)
    }

    /// The same for whoever drops this history on an error: what breaks a rule may be half taken
    /// in, and nothing is copied so that it could be taken back.
    pub(crate) fn apply_or_break(
        &mut self,
        entry: &Entry,
        hash: Digest,
        counts: Counts,
    ) -> Result<Option<OutlineRow>, BrokenRule> {
        if self.ledger.unrecognised.is_some() {
            // Here a broken rule is no error, and must leave no trace.
            return self.apply(entry, hash, counts);
        }
        self.check_seq(entry)?;
        let folded = self.ledger.apply(entry).and_then(|()| self.state.apply(entry, counts));
        let row = folded.map_err(|rule| broken(entry, rule))?;
        (self.head, self.head_hash) = (entry.seq, hash);
        Ok(row)
    }

    /// Takes in a rewind: from here on the state is that of `past`, the history as it was where
    /// the rewind leads, but for what is never taken back.
    pub fn rewind(&mut self, entry: &Entry, hash: Digest, past: &Self) -> Result<(), BrokenRule> {
        self.check_seq(entry)?;
        let Some(to) = entry.fact.rewinds_to() else {
            return Err(broken(entry, Rule::NoEntry(past.head)));
        };
        fold::of_conversation(entry).map_err(|rule| broken(entry, rule))?;
        if to >= entry.seq {
            return Err(broken(entry, Rule::NoEntry(to)));
        }
        if past.head != to {
            return Err(broken(entry, Rule::NeedsPast(to)));
        }
        self.state = past.state.clone();
        self.state.withdraw(entry.at);
        self.jumps = past.jumps.clone();
        self.jumps.push(entry.seq, to);
        (self.head, self.head_hash) = (entry.seq, hash);
        Ok(())
    }

    /// Takes in an entry that a later rewind has left off the path: only what is never taken back
    /// counts.
    pub fn pass(&mut self, entry: &Entry, hash: Digest) -> Result<(), BrokenRule> {
        self.check_seq(entry)?;
        self.ledger.apply(entry).map_err(|rule| broken(entry, rule))?;
        (self.head, self.head_hash) = (entry.seq, hash);
        Ok(())
    }

    /// Takes in a rewind on a path whose abandoned entries were passed: the state is already that
    /// of where the rewind leads.
    pub fn rewind_in_place(&mut self, entry: &Entry, hash: Digest) -> Result<(), BrokenRule> {
        self.check_seq(entry)?;
        self.state.withdraw(entry.at);
        if let Some(to) = entry.fact.rewinds_to() {
            self.jumps.push(entry.seq, to);
        }
        (self.head, self.head_hash) = (entry.seq, hash);
        Ok(())
    }

    /// This state with the ledger and head of a later one: for a fold that goes on from there
    /// along the path of this one.
    #[must_use]
    pub(crate) fn with_ledger_of(mut self, later: &Self) -> Self {
        (self.head, self.head_hash) = (later.head, later.head_hash);
        self.ledger = later.ledger.clone();
        self
    }

    /// This thread's sums as they are stored, where they cannot be counted again.
    pub(crate) fn adopt_sums(&mut self, row: &OutlineRow) {
        if let Some(agent) = self.state.agents.get_mut(&row.agent) {
            let agent = Arc::make_mut(agent);
            (agent.recent_sum, agent.live_sum) = (row.recent_sum, row.live_sum);
        }
    }

    /// Goes over entries that are not on the path and are not read.
    pub(crate) fn skip_to(&mut self, head: Seq) {
        self.head = self.head.max(head);
    }

    /// This history as a copy of one that may go on elsewhere: its first batch settles what is
    /// open.
    #[must_use]
    pub fn into_copy(mut self) -> Self {
        self.arrival = Arrival::Copy;
        self
    }

    /// This history as one from a file that nobody vouched for: its first batch withdraws the
    /// authority that it brings, and settles what is open.
    #[must_use]
    pub fn into_import(mut self) -> Self {
        self.arrival = Arrival::Import;
        self
    }

    /// Whether the first batch still has to settle what is open.
    pub fn is_copy(&self) -> bool {
        match self.arrival {
            Arrival::Own => false,
            Arrival::Copy | Arrival::Import => true,
        }
    }

    /// Whether the first batch still has to withdraw the authority that the history brings.
    pub fn is_import(&self) -> bool {
        match self.arrival {
            Arrival::Own | Arrival::Copy => false,
            Arrival::Import => true,
        }
    }

    fn settled(&mut self) {
        self.arrival = Arrival::Own;
    }

    fn check_seq(&self, entry: &Entry) -> Result<(), BrokenRule> {
        let expected = self.head.next();
        if entry.seq == expected { Ok(()) } else { Err(broken(entry, Rule::Dense { expected })) }
    }
}

fn broken(entry: &Entry, rule: Rule) -> BrokenRule {
    BrokenRule { seq: entry.seq, kind: entry.fact.kind().to_owned(), rule }
}

impl History {
    /// The state of this history as bytes, for a snapshot.
    pub fn to_snapshot(&self) -> snapshot::Snapshot {
        // State is plain data: it always encodes.
        let history =
            serde_json::to_vec(&(&self.state, &self.ledger, &self.jumps)).unwrap_or_default();
        snapshot::Snapshot {
            seq: self.head,
            hash: self.head_hash,
            fold_version: snapshot::FOLD_VERSION,
            history,
            widgets: std::collections::BTreeMap::new(),
        }
    }

    /// The history in a snapshot; none if another version wrote it or it cannot be read.
    pub fn from_snapshot(snapshot: &snapshot::Snapshot) -> Option<Self> {
        if snapshot.fold_version != snapshot::FOLD_VERSION {
            return None;
        }
        let (state, ledger, jumps) = serde_json::from_slice(&snapshot.history).ok()?;
        let (head, head_hash) = (snapshot.seq, snapshot.hash);
        Some(Self { head, head_hash, state, ledger, jumps, arrival: Arrival::Own })
    }
}

impl PathState {
    /// The agent with a name, if it is in the conversation.
    pub fn agent_named(&self, name: &str) -> Option<AgentId> {
        let named = |(id, agent): (&AgentId, &Arc<Agent>)| {
            (agent.present && &*agent.joined.name == name).then_some(*id)
        };
        self.agents.iter().find_map(named)
    }

    /// The agent with a name, or the newest of those that had it and left.
    pub fn agent_once_named(&self, name: &str) -> Option<AgentId> {
        let gone = || self.agents.iter().rev().find(|(_, agent)| &*agent.joined.name == name);
        self.agent_named(name).or_else(|| gone().map(|(id, _)| *id))
    }
}
