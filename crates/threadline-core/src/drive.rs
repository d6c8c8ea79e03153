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
//! appended, so that their beginnings share its batch ([`ahead`](self)). What has an effect follows
//! only once its batch is durable.

mod ahead;
mod appending;
mod asking;
mod calls;
mod choosing;
mod command;
mod cut;
mod event;
mod failing;
mod items;
mod lately;
mod peers;
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

use self::ahead::Filled;
use self::appending::Appending;
use self::asking::Asking;
use self::calls::{CallText, Running};
use self::items::{Cancelling, Rewinding};
use self::lately::Lately;
use self::peers::Ended;
use self::place::Landed;
use self::recapping::RecapItem;
use self::setting::Shown;
use crate::clock::Timestamp;
use crate::history::History;
use crate::history::entry::Entry;
use crate::history::fact::{AgentJoined, Fact};
use crate::history::state::Peer;
use crate::id::{AgentId, CallId, ConversationId, Seq};
use crate::inbox::{Item, ItemNumber};
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
    /// Open calls as their models wrote them.
    texts: BTreeMap<CallId, CallText>,
    /// What waits, as far as it is known here.
    inbox: BTreeMap<ItemNumber, Item>,
    /// What was taken here: a list that was read before that still has it.
    taken: Lately<ItemNumber>,
    /// What is placed and waits for a request; never beside an append under way.
    filled: Option<Filled>,
    /// The append under way.
    appending: Option<Appending>,
    /// What has happened and waits to be recorded.
    landed: VecDeque<Landed>,
    /// Models that are being asked.
    asking: BTreeMap<AgentId, Asking>,
    /// Recaps that someone asked for.
    recaps: BTreeMap<AgentId, RecapItem>,
    /// Calls that run, or that are looked into.
    running: BTreeMap<CallId, Running>,
    /// Agents whose turn is being stopped.
    cancelling: BTreeMap<AgentId, Cancelling>,
    /// The rewind under way.
    rewinding: Option<Rewinding>,
    /// Agents whose model is not asked before a while has passed.
    paused: BTreeMap<AgentId, Ticket>,
    /// What agents are shown of their tools, by their settings and who is there.
    shown: BTreeMap<AgentId, (ShownFor, Shown)>,
    /// How turns ended of which someone is still to be told.
    endings: BTreeMap<Seq, Ended>,
    /// Under which circumstances it drives.
    circumstances: Circumstances,
    tickets: u64,
    wake_at: Option<Timestamp>,
    resting: bool,
    stopped: bool,
}

/// An agent's settings and who it may call: what it is shown of its tools follows from them.
type ShownFor = (Arc<AgentJoined>, Arc<Vec<Peer>>);

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
            texts: BTreeMap::new(),
            inbox: BTreeMap::new(),
            taken: Lately::default(),
            filled: None,
            appending: None,
            landed: VecDeque::new(),
            asking: BTreeMap::new(),
            recaps: BTreeMap::new(),
            running: BTreeMap::new(),
            cancelling: BTreeMap::new(),
            rewinding: None,
            paused: BTreeMap::new(),
            shown: BTreeMap::new(),
            endings: BTreeMap::new(),
            circumstances: opening.circumstances,
            tickets: 0,
            wake_at: None,
            resting: false,
            stopped: false,
        };
        for entry in &opening.entries {
            driver.note_texts(entry);
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
        let mut out = Vec::new();
        if self.stopped {
            return out;
        }
        if let Some(seq) = self.history.ledger().unrecognised {
            self.stop(Stopped::NotUnderstood(seq), &mut out);
            return out;
        }
        if let Some(refusal) = workspace_refusal(&self.history, &self.setting, self.circumstances) {
            self.stop(refusal, &mut out);
            return out;
        }
        let is_delta = matches!(event, Event::Delta { .. });
        self.take_in(event, at, &mut out);
        // Most events are bits of answers, which leave nothing to record.
        if !is_delta || !self.landed.is_empty() {
            self.move_on(at, &mut out);
        }
        out
    }

    fn take_in(&mut self, event: Event, at: Timestamp, out: &mut Vec<Command>) {
        match event {
            Event::Begin | Event::Due => {}
            Event::Arrived(items) => {
                self.inbox.extend(items.into_iter().filter(|(number, _)| !self.taken.has(number)));
            }
            Event::Appended => self.appended(out),
            Event::NotAppended(setback) => self.not_appended(setback, out),
            Event::Gathered { agent, ticket, gathered } => {
                self.gathered(agent, ticket, *gathered, out);
            }
            Event::RecapGathered { agent, ticket, source } => {
                self.recap_gathered(agent, ticket, source, out);
            }
            Event::NotGathered { agent, ticket, setback } => {
                self.not_gathered(agent, ticket, setback, out);
            }
            Event::Delta { agent, ticket, delta } => self.delta(agent, ticket, delta, out),
            Event::Broke { agent, ticket, error } => self.broke(agent, ticket, error),
            Event::FileChange { change } => self.file_change(*change, out),
            Event::Ran { call, outcome } => self.ran(call, outcome),
            Event::Reconciled { call, outcome } => self.reconciled(call, outcome),
            Event::Past { item, past } => self.past(item, past, at, out),
            Event::Alarm(alarm) => self.alarm(alarm, out),
            Event::LeaseLost => self.stop(Stopped::LeaseLost, out),
        }
    }

    fn alarm(&mut self, alarm: Alarm, out: &mut Vec<Command>) {
        match alarm {
            Alarm::Backoff(agent, ticket) => {
                self.paused.retain(|of, pause| *of != agent || *pause != ticket);
            }
            Alarm::Append => self.append_again(out),
            Alarm::Grace(agent, ticket) => self.grace_is_over(agent, ticket),
            Alarm::Rewind => self.fetch_past_again(out),
        }
    }

    /// Records what can be recorded, starts what can be started, and rests if there is nothing.
    fn move_on(&mut self, at: Timestamp, out: &mut Vec<Command>) {
        if self.stopped {
            return;
        }
        self.record(at, out);
        if self.stopped {
            return;
        }
        self.ask(out);
        self.hand_in(out);
        self.rest(at, out);
    }

    /// Says once that nothing is left to do, and when to look again.
    fn rest(&mut self, at: Timestamp, out: &mut Vec<Command>) {
        let busy = self.filled.is_some()
            || self.appending.is_some()
            || !self.landed.is_empty()
            || !self.asking.is_empty()
            || !self.running.is_empty()
            || !self.cancelling.is_empty()
            || !self.paused.is_empty()
            || self.rewinding.is_some();
        let wake_at = self.next_moment(at);
        if wake_at != self.wake_at {
            self.wake_at = wake_at;
            out.push(Command::WakeAt(wake_at));
        }
        if busy {
            self.resting = false;
        } else if !self.resting {
            self.resting = true;
            out.push(Command::Rest(self.rests_for()));
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
        let items = self.inbox.values().filter_map(|item| item.due);
        let moments = self.history.state().moments().chain(items);
        moments.filter(|moment| *moment > at).min()
    }

    fn stop(&mut self, why: Stopped, out: &mut Vec<Command>) {
        if self.stopped {
            return;
        }
        self.stopped = true;
        for (agent, asking) in std::mem::take(&mut self.asking) {
            out.push(Command::Abandon { agent, ticket: asking.ticket });
        }
        for call in std::mem::take(&mut self.running).into_keys() {
            out.push(Command::StopCall(call));
        }
        out.push(Command::Stop(why));
    }

    /// Keeps what the model wrote of open calls, and what they were started with.
    fn note_texts(&mut self, entry: &Entry) {
        match &entry.fact {
            Fact::Output(output) => {
                for (index, call) in (0..).zip(output.calls()) {
                    let id = CallId::new(entry.seq, index);
                    self.texts.insert(id, CallText::new(call));
                }
            }
            Fact::ToolStarted(started) => {
                if let (Some(text), Some(arguments)) =
                    (self.texts.get_mut(&started.call), &started.arguments)
                {
                    text.ran_with = Some(Arc::clone(arguments));
                }
            }
            Fact::FileChanged(changed) => {
                if let Some(text) = self.texts.get_mut(&changed.call) {
                    text.changes.push(changed.clone());
                }
            }
            Fact::ToolResults(results) => {
                self.texts.retain(|id, _| id.output != results.output);
            }
            _ => {}
        }
    }

    fn next_ticket(&mut self) -> Ticket {
        self.tickets += 1;
        Ticket(self.tickets)
    }
}
