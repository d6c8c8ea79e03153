//! Proposing: facts that want to happen become a batch, if the rules allow it.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::Arc;

use super::History;
use super::batch::{BATCH_CAP_BYTES, BATCH_CAP_ENTRIES, Batch, Placed, Taken};
use super::counts::Counts;
use super::entry::Entry;
use super::fact::{
    AuthorityReset, Effect, EndReason, Fact, Forked, Rewound, ToolFinished, ToolResults, TurnEnded,
};
use super::metadata::Metadata;
use super::record::{Record, Unwritable};
use super::rule::{BrokenRule, Rule};
use super::sections::Section;
use super::settle::{Cause, Progress, settlement};
use super::state::{OpenCall, Stage};
use crate::clock::Timestamp;
use crate::id::{AgentId, CallId, ConversationId, EntryId, IdSource, Seq};
use crate::inbox::ItemNumber;
use crate::outline::OutlineRow;
use crate::tokens::TokenCounter;

/// A fact that wants to happen.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// On which thread.
    pub agent: AgentId,
    /// What.
    pub fact: Fact,
    /// What it takes, counted.
    pub counts: Counts,
    /// The entry that led to it.
    pub cause: Option<Seq>,
    /// What goes beside it.
    pub metadata: Metadata,
    /// The inbox item it takes.
    pub takes: Option<ItemNumber>,
}

impl Proposal {
    /// A fact on an agent's thread, counted.
    pub fn new(agent: AgentId, fact: impl Into<Fact>, counter: &dyn TokenCounter) -> Self {
        let fact = fact.into();
        let counts = Counts::of(&fact, counter);
        Self { agent, fact, counts, cause: None, metadata: Metadata::new(), takes: None }
    }

    /// The same with the entry that led to it.
    #[must_use]
    pub fn because_of(self, cause: Seq) -> Self {
        Self { cause: Some(cause), ..self }
    }
}

/// When and under which ids entries are placed, and who counts their tokens.
#[derive(Clone, Copy)]
pub struct Stamp<'a> {
    /// The moment.
    pub at: Timestamp,
    /// Where ids and salts come from.
    pub ids: &'a dyn IdSource,
    /// Who counts what the history itself adds.
    pub counter: &'a dyn TokenCounter,
}

/// A batch that the rules allow, and the history as it is once the batch is appended.
#[derive(Clone, Debug)]
pub struct Proposed {
    /// What to append.
    pub batch: Batch,
    /// The history after it.
    pub history: History,
}

impl Proposed {
    /// The batch in the making again, to be filled further; what is in it stays. What settles a
    /// copy counts as any other fact.
    pub fn reopen(self, stamp: Stamp<'_>) -> Draft<'_> {
        let Self { batch, history } = self;
        Draft {
            base: (batch.base, batch.base_hash),
            history,
            bytes: batch.entries.iter().map(|placed| placed.record.size()).sum(),
            touched: batch.agents.iter().map(|sums| sums.agent).collect(),
            placed: batch.entries,
            rows: batch.rows,
            taken: batch.taken,
            settled: 0,
            stamp,
        }
    }
}

/// Why facts were refused. Nothing happened.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// A fact breaks a rule.
    #[error(transparent)]
    Rule(#[from] BrokenRule),
    /// A fact cannot be written.
    #[error("could not write entry {seq}")]
    Unwritable {
        /// The entry it would have been.
        seq: Seq,
        /// Why not.
        #[source]
        source: Unwritable,
    },
    /// Too much at once.
    #[error("a batch has 1 to {BATCH_CAP_ENTRIES} entries and at most {BATCH_CAP_BYTES} bytes")]
    Size,
    /// The history has entries of a newer version: it can be read but not driven.
    #[error(
        "entry {0} is of a newer version of threadline: this history can be read but not driven"
    )]
    NotUnderstood(Seq),
    /// A rewind or fork needs the state the history had there.
    #[error("the past given ends at entry {found}, not at {wanted}")]
    WrongPast {
        /// Where it should end.
        wanted: Seq,
        /// Where it ends.
        found: Seq,
    },
}

/// What became, later in the ledger, of calls that are open at an earlier point: effects are
/// never rewound.
#[derive(Clone, Debug, Default)]
pub struct Aftermath {
    /// How each call was started and how it ended.
    calls: BTreeMap<CallId, (Option<Effect>, Option<ToolFinished>)>,
    /// Calls that an earlier rewind or fork had taken back: they cannot have started since.
    taken_back: BTreeSet<CallId>,
}

impl Aftermath {
    /// The same, with the calls that were taken back before the point where a history ends.
    fn following(&self, past: &History) -> Self {
        let open = past.state().agents.values().flat_map(|agent| agent.open_calls());
        let taken_back = open.filter(|(_, call)| call.withdrawn).map(|(id, _)| id).collect();
        Self { calls: self.calls.clone(), taken_back }
    }

    /// Takes note of a later entry.
    pub fn note(&mut self, entry: &Entry) {
        match &entry.fact {
            Fact::ToolStarted(started) => {
                self.calls.entry(started.call).or_default().0 = Some(started.effect);
            }
            Fact::ToolFinished(finished) => {
                // The first end counts: later ones are settlements of other rewinds.
                let known = &mut self.calls.entry(finished.call).or_default().1;
                known.get_or_insert_with(|| finished.clone());
            }
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
            | Fact::Rewound(_)
            | Fact::Forked(_)
            | Fact::Moved(_)
            | Fact::WorkspaceSet(_)
            | Fact::FileChanged(_)
            | Fact::AuthorityReset(_)
            | Fact::Note(_)
            | Fact::Unrecognised(_) => {}
        }
    }
}

impl History {
    /// A batch of facts that follows this history, if the rules allow it.
    ///
    /// On a copy the batch begins by settling what was open.
    pub fn propose(
        &self,
        proposals: impl IntoIterator<Item = Proposal>,
        stamp: Stamp<'_>,
    ) -> Result<Proposed, Refused> {
        let mut draft = self.draft(stamp)?;
        for proposal in proposals {
            draft.place(proposal)?;
        }
        if draft.placed.len() - draft.settled > BATCH_CAP_ENTRIES {
            return Err(Refused::Size);
        }
        draft.finish()
    }

    /// A batch that follows this history, to be filled fact by fact.
    ///
    /// On a copy it begins by settling what was open.
    pub fn draft<'a>(&self, stamp: Stamp<'a>) -> Result<Draft<'a>, Refused> {
        let mut draft = Draft::new(self.clone(), stamp)?;
        if self.is_copy() {
            draft.reset_authority()?;
            draft.settle(&Aftermath::default())?;
            draft.settled = draft.placed.len();
        }
        Ok(draft)
    }

    /// A batch that moves the head back to where `past` ends, and settles what was open there.
    pub fn propose_rewind(
        &self,
        past: &Self,
        aftermath: &Aftermath,
        stamp: Stamp<'_>,
    ) -> Result<Proposed, Refused> {
        if past.head() > self.head() {
            return Err(Refused::WrongPast { wanted: self.head(), found: past.head() });
        }
        let mut draft = Draft::new(self.clone(), stamp)?;
        draft.reset_authority()?;
        let rewound =
            Proposal::new(AgentId::CONVERSATION, Rewound { to: past.head() }, stamp.counter);
        draft.place_rewind(rewound, past)?;
        draft.settle(&aftermath.following(past))?;
        draft.finish()
    }

    /// The first batch of a conversation that branches off `from` where this history ends, and
    /// settles what was open there.
    pub fn propose_fork(
        &self,
        from: ConversationId,
        aftermath: &Aftermath,
        stamp: Stamp<'_>,
    ) -> Result<Proposed, Refused> {
        let mut draft = Draft::new(self.clone(), stamp)?;
        let forked = Forked { from, seq: self.head(), hash: self.head_hash() };
        draft.place(Proposal::new(AgentId::CONVERSATION, forked, stamp.counter))?;
        // The store has every agent's sums as they are at the parent's head, not here.
        draft.touched.extend(self.state().agents.keys());
        draft.reset_authority()?;
        draft.settle(&aftermath.following(self))?;
        draft.finish()
    }
}

/// A batch in the making: facts are placed one by one, each by what the ones before it amount to.
pub struct Draft<'a> {
    base: (Seq, super::fact::Digest),
    history: History,
    placed: Vec<Placed>,
    rows: Vec<Arc<OutlineRow>>,
    touched: BTreeSet<AgentId>,
    taken: Vec<Taken>,
    bytes: usize,
    /// How many entries settle what was open in a copy.
    settled: usize,
    stamp: Stamp<'a>,
}

/// A place in the making of a batch, to come back to.
#[derive(Clone, Debug)]
pub struct DraftMark {
    history: History,
    placed: usize,
    rows: usize,
    touched: BTreeSet<AgentId>,
    taken: usize,
    bytes: usize,
}

impl<'a> Draft<'a> {
    /// Where it stands.
    pub fn mark(&self) -> DraftMark {
        DraftMark {
            history: self.history.clone(),
            placed: self.placed.len(),
            rows: self.rows.len(),
            touched: self.touched.clone(),
            taken: self.taken.len(),
            bytes: self.bytes,
        }
    }

    /// Takes back what was placed since a mark of this draft.
    pub fn back_to(&mut self, mark: DraftMark) {
        self.history = mark.history;
        self.placed.truncate(mark.placed);
        self.rows.truncate(mark.rows);
        self.touched = mark.touched;
        self.taken.truncate(mark.taken);
        self.bytes = mark.bytes;
    }

    /// The history with what is placed so far.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The entries placed so far.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.placed.iter().map(|placed| &*placed.entry)
    }

    /// Whether no fact was placed; what settles a copy does not count.
    pub fn is_empty(&self) -> bool {
        self.placed.len() == self.settled
    }

    /// Whether an item of the inbox is taken by what is placed so far.
    pub fn takes(&self, item: ItemNumber) -> bool {
        self.taken.iter().any(|taken| taken.item == item)
    }

    /// How many more facts it takes, and how many more bytes.
    fn room(&self) -> (usize, usize) {
        let placed = self.placed.len() - self.settled;
        (BATCH_CAP_ENTRIES.saturating_sub(placed), BATCH_CAP_BYTES.saturating_sub(self.bytes))
    }

    /// Places a fact; gives its entry. If it is refused, the draft is as it was.
    pub fn try_place(&mut self, mut proposal: Proposal) -> Result<Seq, Refused> {
        let (counts, takes) = (mem::take(&mut proposal.counts), proposal.takes);
        let (entry, record) = self.seal(proposal)?;
        let (entries, bytes) = self.room();
        if entries == 0 || record.size() > bytes {
            return Err(Refused::Size);
        }
        let row = self.history.apply(&entry, record.hash, counts)?;
        let seq = entry.seq;
        self.rows.extend(row.map(Arc::new));
        self.keep(entry, record, takes);
        Ok(seq)
    }

    fn new(history: History, stamp: Stamp<'a>) -> Result<Self, Refused> {
        if let Some(seq) = history.ledger().unrecognised {
            return Err(Refused::NotUnderstood(seq));
        }
        Ok(Self {
            base: (history.head(), history.head_hash()),
            history,
            placed: Vec::new(),
            rows: Vec::new(),
            touched: BTreeSet::new(),
            taken: Vec::new(),
            bytes: 0,
            settled: 0,
            stamp,
        })
    }

    fn place(&mut self, mut proposal: Proposal) -> Result<(), Refused> {
        let (counts, takes) = (mem::take(&mut proposal.counts), proposal.takes);
        let (entry, record) = self.seal(proposal)?;
        let row = self.history.apply_or_break(&entry, record.hash, counts)?;
        self.rows.extend(row.map(Arc::new));
        self.keep(entry, record, takes);
        Ok(())
    }

    fn place_rewind(&mut self, proposal: Proposal, past: &History) -> Result<(), Refused> {
        let (entry, record) = self.seal(proposal)?;
        self.history.rewind(&entry, record.hash, past)?;
        // Every agent stands elsewhere now.
        self.touched.extend(self.history.state().agents.keys());
        self.keep(entry, record, None);
        Ok(())
    }

    fn seal(&self, proposal: Proposal) -> Result<(Entry, Record), Refused> {
        let seq = self.history.head().next();
        let entry = Entry {
            seq,
            id: EntryId::new(self.stamp.at, self.stamp.ids),
            at: self.stamp.at,
            agent: proposal.agent,
            cause: proposal.cause,
            metadata: proposal.metadata,
            fact: proposal.fact,
        };
        if let Fact::Unrecognised(_) = entry.fact {
            return Err(Refused::NotUnderstood(seq));
        }
        let broken = |rule| BrokenRule { seq, kind: entry.fact.kind().to_owned(), rule };
        entry.metadata.check().map_err(|refused| broken(Rule::Metadata(refused)))?;
        let record = Record::seal(&entry, self.stamp.ids.random(), self.history.head_hash())
            .map_err(|source| Refused::Unwritable { seq, source })?;
        Ok((entry, record))
    }

    fn keep(&mut self, entry: Entry, record: Record, takes: Option<ItemNumber>) {
        self.touched.insert(entry.agent);
        self.bytes += record.size();
        self.taken.extend(takes.map(|item| Taken { item, seq: entry.seq }));
        self.placed.push(Placed { entry: Arc::new(entry), record: Arc::new(record) });
    }

    /// Withdraws the authority that an imported history brings.
    fn reset_authority(&mut self) -> Result<(), Refused> {
        if !self.history.is_import() {
            return Ok(());
        }
        let reset = AuthorityReset {};
        self.place(Proposal::new(AgentId::CONVERSATION, reset, self.stamp.counter))
    }

    /// Settles what is open after a rewind, a fork or in a copy: calls end as what is known of
    /// them, and turns end, so that nothing runs by itself.
    fn settle(&mut self, aftermath: &Aftermath) -> Result<(), Refused> {
        let in_turn = |(id, agent): (&AgentId, &Arc<super::state::Agent>)| {
            (agent.present && agent.in_turn()).then_some(*id)
        };
        let agents: Vec<AgentId> = self.history.state().agents.iter().filter_map(in_turn).collect();
        for id in agents {
            self.settle_calls(id, aftermath)?;
            let ended = TurnEnded { reason: EndReason::Withdrawn, detail: String::new(), by: None };
            self.place(Proposal::new(id, ended, self.stamp.counter))?;
        }
        Ok(())
    }

    fn settle_calls(&mut self, id: AgentId, aftermath: &Aftermath) -> Result<(), Refused> {
        let Some(agent) = self.history.agent(id) else { return Ok(()) };
        let Stage::Calling(open) = &agent.stage else { return Ok(()) };
        let output = open.output;
        let unfinished: Vec<ToolFinished> = open
            .calls()
            .filter(|(_, call)| call.finished.is_none())
            .map(|(call_id, call)| taken_back(call_id, call, aftermath))
            .collect();
        for finished in unfinished {
            self.place(Proposal::new(id, finished, self.stamp.counter))?;
        }
        let Some(results) = self.history.results(id) else { return Ok(()) };
        let results = ToolResults { output, results, execute_error: None };
        self.place(Proposal::new(id, results, self.stamp.counter))
    }

    /// What was placed, as a batch.
    pub fn finish(self) -> Result<Proposed, Refused> {
        if self.placed.is_empty() || self.bytes > BATCH_CAP_BYTES {
            return Err(Refused::Size);
        }
        let agents = self.touched.iter().filter_map(|id| Some(self.history.agent(*id)?.sums(*id)));
        let (agents, sums) = (agents.collect(), self.history.sums());
        let batch = Batch::new(self.base, self.placed, self.rows, sums, agents);
        let batch = Batch { taken: self.taken, ..batch };
        let mut history = self.history;
        history.settled();
        Ok(Proposed { batch, history })
    }
}

/// How a call that was taken back ended, by what is known of it.
fn taken_back(id: CallId, call: &OpenCall, aftermath: &Aftermath) -> ToolFinished {
    let later = aftermath.calls.get(&id);
    let effect = later.and_then(|(effect, _)| *effect).or(call.started.map(|s| s.effect));
    // A call that ran has its result; a recorded one is taken back with its changes. A call that was
    // taken back before has the result that settled it then.
    if let Some((_, Some(finished))) = later
        && finished.name == call.name
        && (effect.is_some() || aftermath.taken_back.contains(&id))
    {
        return finished.clone();
    }
    let (status, words) = settlement(Progress::of(call, effect), Cause::TakenBack);
    ToolFinished {
        call: id,
        name: Arc::clone(&call.name),
        status,
        result: vec![Section::text(words)],
        attachments: Vec::new(),
        elapsed_ms: 0,
        warnings: Vec::new(),
        error: None,
    }
}
