//! Driving: all control flow of a conversation, as a pure machine.
//!
//! A [`Driver`] is told what happened, one [`Event`] at a time, and says what it wants done, as
//! [`Command`]s. It reads no clock, touches no store and starts no task: the runtime does, and so
//! does the simulator, in a world of its own. What it holds beyond the history is only what this
//! process has under way; all else is derived from the history, so that a driver can be dropped
//! at any moment and another can take its place.
//!
//! Everything recorded goes through one append at a time. Between two appends the driver places
//! all facts that can be placed ([`place`](self)): what has landed, what waits in the inbox, what
//! the agents' next steps record. The requests that follow from it are prepared before it is
//! appended, so that their beginnings share its batch ([`pending_batch`](self)). What has an effect follows
//! only once its batch is durable.

mod appending;
mod asking;
mod calls;
mod choosing;
mod command;
mod cut;
mod event;
mod failing;
mod inbox;
mod invocations;
mod items;
mod lately;
mod open_calls;
mod peers;
mod pending_batch;
mod place;
pub mod planted;
mod recapping;
mod setting;
mod step;
mod timing;
mod workspace;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

pub use command::{Command, Gather, GatherRecap, Notice, Rest, Run, Standing, Stopped};
pub use event::{Alarm, Event, Outcome, Past, Setback, Ticket};
pub use setting::{Limits, Setting, Toolset, ToolsetRefused, UnknownName, own_tools};
pub use step::{CallStep, RunState, Step, next_step, run_state};
pub use timing::{CLEAR_TIMER, SET_TIMER, WAIT};
pub use workspace::workspace_refusal;

use self::inbox::Inbox;
use self::invocations::Invocations;
use self::items::{Cancelling, Rewinding};
use self::open_calls::OpenCalls;
use self::peers::Ended;
use self::pending_batch::PendingBatch;
use self::place::Landed;
use crate::clock::Timestamp;
use crate::history::History;
use crate::history::entry::Entry;
use crate::id::{AgentId, ConversationId, Seq};
use crate::store::Predecessor;
use crate::widget::Widgets;

/// Drives one conversation.
pub struct Driver {
    conversation: ConversationId,
    setting: Arc<Setting>,
    /// The history as it is durable.
    history: History,
    /// The widgets as they are durable.
    widgets: Widgets,
    inbox: Inbox,
    pending: PendingBatch,
    invocations: Invocations,
    calls: OpenCalls,
    /// What has happened and waits to be recorded.
    landed: VecDeque<Landed>,
    /// Agents whose turn is being stopped.
    cancelling: BTreeMap<AgentId, Cancelling>,
    /// The rewind under way.
    rewinding: Option<Rewinding>,
    /// How turns ended of which someone is still to be told.
    endings: BTreeMap<Seq, Ended>,
    /// Under which circumstances it drives.
    circumstances: Circumstances,
    wake_at: Option<Timestamp>,
    resting: bool,
    stopped: bool,
    /// The answer to the event that is being handled.
    commands: Vec<Command>,
}

/// What a driver begins with.
#[derive(Debug)]
pub struct Opening {
    /// The history.
    pub history: History,
    /// The widgets as the history has them.
    pub widgets: Widgets,
    /// The entries that [`Opening::needs`] names.
    pub entries: Vec<Entry>,
    /// Under which circumstances it drives.
    pub circumstances: Circumstances,
}

/// Under which circumstances a driver took its conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Circumstances {
    /// Whether a person has this conversation driven, by name. What nobody attends binds no
    /// conversation to a workspace.
    pub attended: bool,
    /// Whether the owner before this one can still be running.
    pub predecessor: Predecessor,
}

impl Circumstances {
    /// A person has the conversation driven, and nobody else does.
    pub const ATTENDED: Self = Self { attended: true, predecessor: Predecessor::Gone };
}

impl Opening {
    /// The entries that a driver of this history needs: outputs whose calls are open, and the
    /// newest starts of those calls and the file changes that they recorded, and ends of turns of
    /// which the caller has not been notified yet.
    pub fn needs(history: &History) -> Vec<Seq> {
        let mut seqs = BTreeSet::new();
        for agent in history.state().agents.values() {
            for (id, call) in agent.open_calls().filter(|(_, call)| call.finished.is_none()) {
                seqs.insert(id.output);
                seqs.extend(call.started.map(|started| started.seq));
                seqs.extend(&call.changes);
            }
        }
        seqs.extend(peers::wanted_endings(history));
        seqs.into_iter().collect()
    }
}

impl Driver {
    /// A driver of a conversation. It does nothing before it is told to begin.
    pub fn new(conversation: ConversationId, setting: Arc<Setting>, opening: Opening) -> Self {
        let mut driver = Self {
            conversation,
            setting,
            history: opening.history,
            widgets: opening.widgets,
            inbox: Inbox::default(),
            pending: PendingBatch::None,
            invocations: Invocations::default(),
            calls: OpenCalls::default(),
            landed: VecDeque::new(),
            cancelling: BTreeMap::new(),
            rewinding: None,
            endings: BTreeMap::new(),
            circumstances: opening.circumstances,
            wake_at: None,
            resting: false,
            stopped: false,
            commands: Vec::new(),
        };
        for entry in &opening.entries {
            driver.calls.note(entry);
        }
        if !planted::planted!(ForgetAnswers) {
            driver.note_endings(opening.entries.iter());
        }
        driver
    }

    /// The history as it is durable.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The widgets as they are durable.
    pub fn widgets(&self) -> &Widgets {
        &self.widgets
    }

    /// Why it rests, if it does.
    pub fn rests(&self) -> Option<Rest> {
        self.resting.then(|| self.rests_for())
    }

    /// Takes in what happened, and says what is to be done.
    ///
    /// Once it has stopped it says nothing any more.
    pub fn on(&mut self, event: Event, at: Timestamp) -> Vec<Command> {
        if self.stopped {
            return Vec::new();
        }
        self.handle(event, at);
        std::mem::take(&mut self.commands)
    }

    fn handle(&mut self, event: Event, at: Timestamp) {
        if let Some(seq) = self.history.ledger().unrecognised {
            return self.stop(Stopped::NotUnderstood(seq));
        }
        if let Some(refusal) = workspace_refusal(&self.history, &self.setting, self.circumstances) {
            return self.stop(refusal);
        }
        let is_delta = matches!(event, Event::Delta { .. });
        self.take_in(event, at);
        // Most events are bits of answers, which leave nothing to record.
        if !is_delta || !self.landed.is_empty() {
            self.move_on(at);
        }
    }

    fn take_in(&mut self, event: Event, at: Timestamp) {
        match event {
            Event::Begin | Event::Due => {}
            Event::Arrived(items) => {
                self.inbox.add(items);
            }
            Event::Appended => self.appended(),
            Event::NotAppended(setback) => self.not_appended(setback),
            Event::Gathered { agent, ticket, gathered } => {
                self.gathered(agent, ticket, *gathered);
            }
            Event::RecapGathered { agent, ticket, source } => {
                self.recap_gathered(agent, ticket, source);
            }
            Event::NotGathered { agent, ticket, setback } => {
                self.not_gathered(agent, ticket, setback);
            }
            Event::Delta { agent, ticket, delta } => self.delta(agent, ticket, delta),
            Event::Broke { agent, ticket, error } => self.broke(agent, ticket, error),
            Event::FileChange { change } => self.file_change(*change),
            Event::Ran { call, outcome } => self.ran(call, outcome),
            Event::Reconciled { call, outcome } => self.reconciled(call, outcome),
            Event::Past { item, past } => self.past(item, past, at),
            Event::Alarm(alarm) => self.alarm(alarm),
            Event::LeaseLost => self.stop(Stopped::LeaseLost),
        }
    }

    fn alarm(&mut self, alarm: Alarm) {
        match alarm {
            Alarm::Backoff(agent, ticket) => {
                self.invocations.end_pause(agent, ticket);
            }
            Alarm::Append => self.append_again(),
            Alarm::Grace(agent, ticket) => self.grace_is_over(agent, ticket),
            Alarm::Rewind => self.fetch_past_again(),
        }
    }

    /// Records what can be recorded, starts what can be started, and rests if there is nothing.
    fn move_on(&mut self, at: Timestamp) {
        if self.stopped {
            return;
        }
        self.record(at);
        if self.stopped {
            return;
        }
        self.ask();
        self.flush_if_ready();
        self.rest(at);
    }

    /// Says once that nothing is left to do, and when to look again.
    fn rest(&mut self, at: Timestamp) {
        let busy = !self.pending.is_none()
            || !self.landed.is_empty()
            || !self.invocations.is_idle()
            || !self.calls.is_idle()
            || !self.cancelling.is_empty()
            || self.rewinding.is_some();
        let wake_at = self.next_moment(at);
        if wake_at != self.wake_at {
            self.wake_at = wake_at;
            self.commands.push(Command::WakeAt(wake_at));
        }
        if busy {
            self.resting = false;
        } else if !self.resting {
            self.resting = true;
            self.commands.push(Command::Rest(self.rests_for()));
        }
    }

    fn rests_for(&self) -> Rest {
        let agents = &self.history.state().agents;
        let mut in_turn = agents.iter().filter(|(_, agent)| agent.present && agent.in_turn());
        if self.history.is_copy() || in_turn.clone().next().is_none() {
            return Rest::Idle;
        }
        let asks =
            |(id, _): (&AgentId, _)| run_state(&self.history, *id) == RunState::AwaitingApproval;
        if in_turn.any(asks) { Rest::Approval } else { Rest::Time }
    }

    /// When something will be due: a timer, a question, an item of the inbox. What is due
    /// already waits for something else than the clock.
    fn next_moment(&self, at: Timestamp) -> Option<Timestamp> {
        let moments = self.history.state().moments().chain(self.inbox.due_times());
        moments.filter(|moment| *moment > at).min()
    }

    fn stop(&mut self, why: Stopped) {
        if self.stopped {
            return;
        }
        self.stopped = true;
        for (agent, asking) in std::mem::take(&mut self.invocations.active) {
            self.commands.push(Command::Abandon { agent, ticket: asking.ticket });
        }
        for call in self.calls.end_all() {
            self.commands.push(Command::StopCall(call));
        }
        self.commands.push(Command::Stop(why));
    }
}
