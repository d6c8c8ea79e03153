//! Placing: all facts that can be recorded now become one batch.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Driver;
use super::appending::Move;
use super::calls::CallText;
use super::command::{Command, Stopped};
use super::event::{Alarm, Ticket};
use super::pending_batch::{BuiltBatch, Contents, PendingBatch};
use super::planted::planted;
use super::step::{CallStep, Step, next_step, run_state};
use crate::clock::Timestamp;
use crate::history::entry::Entry;
use crate::history::fact::{
    EndReason, Fact, FailureKind, FileChanged, InvocationFailed, InvocationStarted, Limit, Output,
    Recap, ToolFinished, TurnEnded,
};
use crate::history::metadata::Metadata;
use crate::history::settle::{Cause, Progress, settlement};
use crate::history::{Draft, DraftMark, History, Proposal, Proposed, Refused, Stamp};
use crate::id::{AgentId, CallId, EntryId, IdSource, Seq};
use crate::inbox::ItemNumber;
use crate::provider::Partial;
use crate::tokens::TokenCounter;
use crate::widget::Widgets;

/// What has happened and waits to be recorded.
pub(super) enum Landed {
    /// A request is prepared and about to be sent.
    Start { agent: AgentId, ticket: Ticket, started: Box<InvocationStarted> },
    /// A model answered.
    Output { agent: AgentId, output: Output, metadata: Metadata },
    /// A model gave no answer that counts.
    Failed { agent: AgentId, failure: Failure },
    /// A model wrote a recap.
    Recap { agent: AgentId, recap: Recap, metadata: Metadata, item: Option<ItemNumber> },
    /// A model was asked for a recap and gave none that counts.
    RecapFailed { agent: AgentId, failure: Failure, item: Option<ItemNumber> },
    /// A recap that someone asked for does not come about.
    NoRecap { agent: AgentId, item: ItemNumber, why: String },
    /// A running call is about to change a file.
    FileChange { agent: AgentId, change: FileChanged },
    /// A call has its result.
    Finished { agent: AgentId, finished: ToolFinished, metadata: Option<Metadata> },
    /// A turn cannot go on.
    End { agent: AgentId, reason: EndReason, detail: String },
}

impl Landed {
    pub(super) fn agent(&self) -> AgentId {
        match self {
            Self::Start { agent, .. }
            | Self::Output { agent, .. }
            | Self::Failed { agent, .. }
            | Self::Recap { agent, .. }
            | Self::RecapFailed { agent, .. }
            | Self::NoRecap { agent, .. }
            | Self::FileChange { agent, .. }
            | Self::Finished { agent, .. }
            | Self::End { agent, .. } => *agent,
        }
    }

    /// The inbox item that is taken when it is recorded.
    pub(super) fn item(&self) -> Option<ItemNumber> {
        match self {
            Self::Recap { item, .. } | Self::RecapFailed { item, .. } => *item,
            Self::NoRecap { item, .. } => Some(*item),
            Self::Start { .. }
            | Self::Output { .. }
            | Self::Failed { .. }
            | Self::FileChange { .. }
            | Self::Finished { .. }
            | Self::End { .. } => None,
        }
    }
}

/// How an invocation failed.
pub(super) struct Failure {
    pub(super) kind: FailureKind,
    pub(super) message: String,
    pub(super) retry: bool,
    pub(super) retry_after_ms: Option<u64>,
    /// The most tokens that the model takes, if it said so.
    pub(super) limit_tokens: Option<u64>,
    pub(super) partial: Partial,
}

impl Failure {
    /// One after which asking again does not help.
    pub(super) fn new(kind: FailureKind, message: impl Into<String>, partial: Partial) -> Self {
        let (retry_after_ms, limit_tokens) = (None, None);
        Self { kind, message: message.into(), retry: false, retry_after_ms, limit_tokens, partial }
    }

    /// One after which asking again may help.
    pub(super) fn passing(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { retry: true, ..Self::new(kind, message, Partial::default()) }
    }
}

/// A batch in the making, and what it makes of widgets and calls.
pub(super) struct Sheet<'a> {
    pub(super) draft: Draft<'a>,
    pub(super) widgets: Widgets,
    /// The calls of outputs that are placed here.
    pub(super) texts: BTreeMap<CallId, CallText>,
    pub(super) at: Timestamp,
    counter: &'a dyn TokenCounter,
    ids: &'a dyn IdSource,
    /// How agents move, entry by entry.
    moves: Vec<Move>,
    /// Whether something had to be left for the next batch.
    pub(super) full: bool,
    /// Whether it is to be appended at once.
    pub(super) urgent: bool,
    pub(super) contents: Contents,
}

/// How far a sheet was filled.
pub(super) struct SheetMark {
    draft: DraftMark,
    widgets: Widgets,
    moves: usize,
}

/// Why a fact was not placed.
pub(super) enum NotPlaced {
    /// It belongs into the next batch.
    Full,
    /// It cannot be placed.
    Refused(String),
}

impl Sheet<'_> {
    /// How far it is filled: what comes after can be taken back as a whole.
    pub(super) fn mark(&self) -> SheetMark {
        let (widgets, moves) = (self.widgets.clone(), self.moves.len());
        SheetMark { draft: self.draft.mark(), widgets, moves }
    }

    /// Takes back what was placed after a mark.
    pub(super) fn back_to(&mut self, mark: SheetMark) {
        self.draft.back_to(mark.draft);
        self.widgets = mark.widgets;
        self.moves.truncate(mark.moves);
    }

    /// Places a fact.
    pub(super) fn place(
        &mut self,
        agent: AgentId,
        fact: impl Into<Fact>,
        note: Beside,
    ) -> Result<Seq, NotPlaced> {
        let fact = fact.into();
        let widgets = self.widgets_after(agent, &fact)?;
        let mut proposal = Proposal::new(agent, fact, self.counter);
        proposal.cause = note.cause;
        proposal.metadata = note.metadata;
        proposal.takes = note.takes;
        let (history, fact) = (self.draft.history(), &proposal.fact);
        let showing = self.widgets.showing(history, agent, fact, self.at, self.counter);
        let urgent = is_urgent(fact);
        let from = run_state(self.draft.history(), agent);
        let seq = match self.draft.try_place(proposal) {
            Ok(seq) => seq,
            Err(Refused::Size) if !self.draft.is_empty() => {
                self.full = true;
                return Err(NotPlaced::Full);
            }
            Err(refused) => return Err(NotPlaced::Refused(chain_of(&refused))),
        };
        let to = run_state(self.draft.history(), agent);
        self.urgent |= urgent;
        if from != to {
            self.moves.push(Move { agent, from, to });
        }
        if let Some(widgets) = widgets {
            self.widgets = widgets;
        }
        if let Some(showing) = showing {
            self.widgets.show(agent, seq, showing);
        }
        let output = self.draft.entries().last().and_then(|entry| entry.fact.as_output());
        if let Some(output) = output {
            let texts = (0..).zip(output.calls());
            let texts = texts.map(|(i, call)| (CallId::new(seq, i), CallText::new(call)));
            self.texts.extend(texts);
        }
        Ok(seq)
    }

    /// The widgets as they are after a fact, if it changes one; refused if the widget refuses it.
    fn widgets_after(&self, agent: AgentId, fact: &Fact) -> Result<Option<Widgets>, NotPlaced> {
        let Fact::WidgetChanged(_) = fact else { return Ok(None) };
        let entry = Entry {
            seq: self.draft.history().head().next(),
            id: EntryId::new(self.at, self.ids),
            at: self.at,
            agent,
            cause: None,
            metadata: Metadata::new(),
            fact: fact.clone(),
        };
        let mut widgets = self.widgets.clone();
        match widgets.apply(&entry) {
            Ok(()) => Ok(Some(widgets)),
            Err(refused) => Err(NotPlaced::Refused(refused.to_string())),
        }
    }

    /// Places a fact about a call; tells whether it was placed.
    pub(super) fn place_for(&mut self, agent: AgentId, fact: impl Into<Fact>, id: CallId) -> bool {
        self.place(agent, fact, Beside::cause(id.output)).is_ok()
    }

    /// Places a fact, or another one if it cannot be placed; tells whether one was.
    pub(super) fn place_or(
        &mut self,
        agent: AgentId,
        fact: impl Into<Fact>,
        other: impl Into<Fact>,
        metadata: Metadata,
        cause: Seq,
    ) -> bool {
        let beside = Beside { metadata, ..Beside::cause(cause) };
        match self.place(agent, fact, beside) {
            Ok(_) => true,
            Err(NotPlaced::Full) => false,
            Err(NotPlaced::Refused(_)) => self.place(agent, other, Beside::cause(cause)).is_ok(),
        }
    }

    /// Whether messages may be taken from the inbox into this batch. If not, it is appended at once,
    /// so that they go into the next one before anything follows from this one.
    pub(super) fn admits_messages(&mut self) -> bool {
        let admits = match self.contents {
            Contents::Derived | Contents::Messages => true,
            Contents::Completions => false,
        };
        self.urgent |= !admits;
        admits
    }

    /// Whether completions may be recorded in this batch. If not, it is appended at once.
    pub(super) fn admits_completions(&mut self) -> bool {
        let admits = match self.contents {
            Contents::Derived | Contents::Completions => true,
            Contents::Messages => false,
        };
        self.urgent |= !admits;
        admits
    }

    /// Whether a call is started on this sheet.
    pub(super) fn has_started(&self, id: CallId) -> bool {
        let mut started = self.draft.entries().filter_map(|entry| entry.fact.as_tool_started());
        started.any(|started| started.call == id)
    }

    fn placed(&self) -> Seq {
        self.draft.history().head()
    }

    /// What was placed, to be appended.
    fn finish(self) -> Result<BuiltBatch, Refused> {
        let Proposed { batch, history } = self.draft.finish()?;
        Ok(BuiltBatch {
            batch: Arc::new(batch),
            history,
            widgets: self.widgets,
            texts: self.texts,
            moves: self.moves,
            urgent: self.urgent || self.full,
            contents: self.contents,
        })
    }
}

/// What goes beside a fact.
#[derive(Default)]
pub(super) struct Beside {
    pub(super) cause: Option<Seq>,
    pub(super) metadata: Metadata,
    pub(super) takes: Option<ItemNumber>,
}

impl Beside {
    pub(super) fn cause(seq: Seq) -> Self {
        Self { cause: Some(seq), ..Self::default() }
    }

    pub(super) fn takes(item: ItemNumber) -> Self {
        Self { takes: Some(item), ..Self::default() }
    }
}

/// Whether a fact is to be durable at once: what it starts waits for that, and whoever failed is on
/// record before another is asked.
fn is_urgent(fact: &Fact) -> bool {
    match fact {
        Fact::InvocationStarted(_)
        | Fact::ToolStarted(_)
        | Fact::InvocationFailed(_)
        | Fact::FileChanged(_)
        | Fact::WorkspaceSet(_) => true,
        Fact::Rewound(_)
        | Fact::AgentJoined(_)
        | Fact::AgentLeft(_)
        | Fact::InstructionSet(_)
        | Fact::Input(_)
        | Fact::Output(_)
        | Fact::ToolResults(_)
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
        | Fact::Forked(_)
        | Fact::Moved(_)
        | Fact::AuthorityReset(_)
        | Fact::Note(_)
        | Fact::Unrecognised(_) => false,
    }
}

fn chain_of(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

impl Driver {
    /// Places all that can be placed.
    pub(super) fn record(&mut self, at: Timestamp) {
        if self.pending.is_appending() || self.rewinding.is_some() {
            return;
        }
        if self.history.is_copy() && !self.inbox.has_due(at) {
            // A copy settles what was open with its first batch, and nothing begins by itself.
            return;
        }
        let setting = Arc::clone(&self.setting);
        let stamp = Stamp { at, ids: &*setting.ids, counter: &*setting.counter };
        let mut sheet = match self.sheet(stamp) {
            Ok(sheet) => sheet,
            Err(refused) => return self.stop(Stopped::Store(chain_of(&refused))),
        };
        self.place_workspace(&mut sheet);
        loop {
            let before = sheet.placed();
            self.place_landed(&mut sheet);
            self.place_returns(&mut sheet);
            self.place_items(&mut sheet);
            if self.rewinding.is_some() {
                // Nothing is placed yet, and nothing may be before the rewind is.
                return;
            }
            self.place_cancels(&mut sheet);
            self.place_due(&mut sheet);
            self.place_replies(&mut sheet);
            let agents: Vec<AgentId> =
                sheet.draft.history().state().agents.keys().copied().collect();
            for agent in agents {
                self.place_step(&mut sheet, agent);
            }
            if sheet.full || sheet.placed() == before {
                break;
            }
        }
        if sheet.draft.is_empty() {
            return;
        }
        match sheet.finish() {
            Ok(built) => self.pending = PendingBatch::Built(built),
            Err(refused) => self.stop(Stopped::Store(chain_of(&refused))),
        }
    }

    /// The sheet that waits for a request, or a blank one.
    fn sheet<'a>(&mut self, stamp: Stamp<'a>) -> Result<Sheet<'a>, Refused> {
        let Stamp { at, ids, counter } = stamp;
        // What settles a copy makes it one that can be driven: that must be durable first.
        let (full, urgent) = (false, self.history.is_copy());
        Ok(match self.pending.reopen() {
            Some(BuiltBatch { batch, history, widgets, texts, moves, contents, .. }) => {
                let proposed = Proposed { batch: Arc::unwrap_or_clone(batch), history };
                let draft = proposed.reopen(stamp);
                Sheet { draft, widgets, texts, at, counter, ids, moves, full, urgent, contents }
            }
            None => Sheet {
                draft: self.history.draft(stamp)?,
                widgets: self.widgets.clone(),
                texts: BTreeMap::new(),
                at,
                counter,
                ids,
                moves: Vec::new(),
                full,
                urgent,
                contents: Contents::Derived,
            },
        })
    }

    fn place_landed(&mut self, sheet: &mut Sheet<'_>) {
        for _ in 0..self.landed.len() {
            // What may take much room comes into a batch of its own rather than being refused.
            if sheet.full {
                return;
            }
            let Some(landed) = self.landed.pop_front() else { return };
            if !matches!(landed, Landed::Start { .. }) {
                if !sheet.admits_completions() {
                    self.landed.push_front(landed);
                    return;
                }
                sheet.contents = Contents::Completions;
            }
            match landed {
                Landed::Start { agent, ticket, started } => {
                    self.place_start(sheet, agent, ticket, started);
                }
                Landed::Output { agent, output, metadata } => {
                    self.place_output(sheet, agent, output, metadata);
                }
                Landed::Failed { agent, failure } => self.place_failure(sheet, agent, failure),
                Landed::Recap { agent, recap, metadata, item } => {
                    self.place_recap(sheet, agent, recap, metadata, item);
                }
                Landed::RecapFailed { agent, failure, item } => {
                    self.place_recap_failure(sheet, agent, failure, item);
                }
                Landed::NoRecap { agent, item, why } => {
                    self.place_no_recap(sheet, agent, item, why);
                }
                Landed::FileChange { agent, change } => {
                    self.place_file_change(sheet, agent, change);
                }
                Landed::Finished { agent, finished, metadata } => {
                    if is_open(sheet.draft.history(), agent, finished.call)
                        && !Self::place_finished(sheet, agent, finished.clone(), metadata.clone())
                        && sheet.full
                    {
                        self.landed.push_front(Landed::Finished { agent, finished, metadata });
                    }
                }
                Landed::End { agent, reason, detail } => {
                    let ending = Ending::new(reason, detail);
                    if !self.end_turn(sheet, agent, &ending) && sheet.full {
                        let (reason, detail) = (ending.reason, ending.detail);
                        self.landed.push_front(Landed::End { agent, reason, detail });
                    }
                }
            }
        }
    }

    fn place_output(
        &mut self,
        sheet: &mut Sheet<'_>,
        agent: AgentId,
        output: Output,
        metadata: Metadata,
    ) {
        let Some(started) = sheet.draft.history().agent(agent).and_then(|a| a.invoking) else {
            return;
        };
        let output = self.with_repaired_calls(output);
        let (usage, cost) = (Some(output.usage), output.cost);
        let failed = InvocationFailed {
            usage,
            cost,
            ..failed(started, FailureKind::Protocol, "the answer was too large to be recorded")
        };
        if !sheet.place_or(agent, output.clone(), failed, metadata.clone(), started) && sheet.full {
            self.landed.push_front(Landed::Output { agent, output, metadata });
        }
    }

    /// Lets a while pass before an agent's model is asked again.
    pub(super) fn pause(&mut self, agent: AgentId, ms: u64) {
        let ticket = self.invocations.pause(agent);
        self.commands.push(Command::Sleep { alarm: Alarm::Backoff(agent, ticket), ms });
    }

    /// Records what an agent's next step records.
    fn place_step(&mut self, sheet: &mut Sheet<'_>, agent: AgentId) {
        let cancelled = self.cancelling.contains_key(&agent) && !planted!(StartAfterCancel);
        // Completions are recorded first: otherwise the step would take an answer for a lost one.
        let landed = self.landed.iter().any(|landed| landed.agent() == agent);
        if cancelled || landed || sheet.full {
            return;
        }
        match next_step(sheet.draft.history(), agent) {
            Step::Rest => {}
            Step::Seal(mut results) => {
                if planted!(SealAsLanded) {
                    results.results.sort_unstable();
                }
                let cause = Beside::cause(results.output);
                // It is whole by the state it was made from: at worst it waits for room.
                drop(sheet.place(agent, results, cause));
            }
            Step::Invoke => self.place_before_asking(sheet, agent),
            Step::Calls(calls) => {
                if let Some(ending) = self.calls_over(sheet.draft.history(), agent, &calls) {
                    self.end_turn(sheet, agent, &ending);
                    return;
                }
                for (id, step) in calls {
                    self.place_call(sheet, agent, id, step);
                }
            }
        }
    }

    /// Why a turn ends before its calls begin, if it does.
    fn calls_over(
        &self,
        history: &History,
        agent: AgentId,
        calls: &[(CallId, CallStep)],
    ) -> Option<Ending> {
        let limits = &self.setting.limits;
        let turn = turn_of(history, agent)?;
        // What has begun goes on: also another agent's turn, which would be left without its end.
        let has_begun =
            |step: &CallStep| matches!(step, CallStep::Started { .. } | CallStep::Waits);
        if calls.iter().any(|(_, step)| has_begun(step)) {
            return None;
        }
        if turn.progress.calls > limits.calls {
            let text = format!("{} in one turn", counted(turn.progress.calls, "call"));
            return Some(Ending::new(EndReason::Limit(Limit::Calls), text));
        }
        if turn.progress.repeats > limits.same_call {
            let text = format!("the same call {} times in a row", turn.progress.repeats);
            return Some(Ending::new(EndReason::Limit(Limit::SameCall), text));
        }
        None
    }

    /// Ends a turn: what is open is told as it stands. Tells whether all of it is placed; if the
    /// batch is full, the rest follows in the next.
    pub(super) fn end_turn(&self, sheet: &mut Sheet<'_>, agent: AgentId, ending: &Ending) -> bool {
        let Some(state) = sheet.draft.history().agent(agent).filter(|agent| agent.in_turn()) else {
            return true;
        };
        let open = state.open_calls().filter(|(_, call)| call.finished.is_none());
        let open: Vec<(CallId, Progress)> =
            open.map(|(id, call)| (id, Progress::of(call, None))).collect();
        if let Some(started) = state.invoking.or(state.invoking_aside) {
            let message = "stopped before it was answered";
            let bare = InvocationFailed {
                usage: ending.partial.usage,
                cost: ending.partial.cost,
                ..failed(started, FailureKind::Cancelled, message)
            };
            let streamed = ending.partial.streamed.clone();
            let whole = InvocationFailed { streamed, ..bare.clone() };
            let metadata = ending.partial.metadata.clone();
            if !sheet.place_or(agent, whole, bare, metadata, started) {
                return false;
            }
        }
        for (id, progress) in open {
            let (status, text) = settlement(progress, Cause::TurnEnded);
            self.finish(sheet, agent, id, status, text);
            if sheet.full {
                return false;
            }
        }
        if let Step::Seal(results) = next_step(sheet.draft.history(), agent) {
            let cause = Beside::cause(results.output);
            if sheet.place(agent, results, cause).is_err() {
                return false;
            }
        }
        let ended = TurnEnded {
            reason: ending.reason,
            detail: ending.detail.clone(),
            by: ending.by.clone(),
        };
        let beside = Beside { takes: ending.takes, ..Beside::default() };
        sheet.place(agent, ended, beside).is_ok()
    }
}

/// A number of things, in words.
pub(super) fn counted(number: u32, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

/// How a turn ends without an answer.
pub(super) struct Ending {
    pub(super) reason: EndReason,
    pub(super) detail: String,
    pub(super) by: Option<Arc<str>>,
    pub(super) takes: Option<ItemNumber>,
    pub(super) partial: Partial,
}

impl Ending {
    pub(super) fn new(reason: EndReason, detail: String) -> Self {
        Self { reason, detail, by: None, takes: None, partial: Partial::default() }
    }
}

pub(super) fn failed(started: Seq, kind: FailureKind, message: &str) -> InvocationFailed {
    InvocationFailed {
        started,
        kind,
        message: message.to_owned(),
        retry: false,
        retry_after_ms: None,
        limit_tokens: None,
        streamed: Vec::new(),
        usage: None,
        cost: None,
    }
}

pub(super) fn turn_of(history: &History, agent: AgentId) -> Option<&crate::history::state::Turn> {
    history.agent(agent)?.turn.as_ref()
}

fn is_open(history: &History, agent: AgentId, id: CallId) -> bool {
    let Some(agent) = history.agent(agent) else { return false };
    agent.open_calls().any(|(open, call)| open == id && call.finished.is_none())
}
