//! What a history amounts to: state derived from entries, small whatever its length.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::batch::{AgentSums, Interaction, LastMessage, State, Sums};
use super::fact::{
    AgentJoined, Answer, CallMode, Digest, Effect, FailureKind, Invocation, Money, PolicySet,
    ProjectionOptions, Status, TimerSet, Usage, WorkspaceSet,
};
use super::sections::Levels;
use crate::clock::Timestamp;
use crate::id::{AgentId, BroadcastId, CallId, ConversationId, Seq};

/// What counts after rewinds: a rewind takes all of this back to where it leads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathState {
    /// The agents, gone ones included.
    pub agents: BTreeMap<AgentId, Arc<Agent>>,
    /// The conversation's title.
    pub title: Option<Arc<str>>,
    /// Its labels, sorted.
    pub labels: Vec<Arc<str>>,
    /// Whether it is out of the way.
    pub archived: bool,
    /// Entries that stay whole.
    pub pins: Arc<BTreeSet<Seq>>,
    /// Timers that will fire, by the entry that set them.
    pub timers: BTreeMap<Seq, Timer>,
    /// Recaps that count, in the order of what they stand for.
    pub recaps: Vec<RecapRange>,
    /// What models counted where we expected something, newest last.
    pub corrections: Vec<Correction>,
    /// The windows that models stated when they refused a request as too long, newest last.
    pub limits: Vec<StatedLimit>,
    /// Inputs and final answers of the transcript.
    pub messages: u64,
    /// The last of them.
    pub last_message: Option<LastMessage>,
    /// The first input of any agent.
    pub first_input: Option<Seq>,
    /// The first input of the newest turn that no agent began by a task; of turns that one
    /// message to all began, the first.
    pub last_turn: Option<Seq>,
    /// The message to all that began it, if one did.
    pub last_broadcast: Option<BroadcastId>,
    /// Answers to agents that did not wait for them, oldest first: each becomes an input when its
    /// addressee rests.
    pub replies: Vec<Reply>,
    /// How many turns in a row began without a person, those not counted that another waits for.
    pub alone: u32,
    /// Where this conversation branched off, if it did.
    pub forked_from: Option<(ConversationId, Seq)>,
    /// The widgets that have changed, by the thread of the change, and when last.
    #[serde(default)]
    pub changed: Arc<BTreeMap<AgentId, BTreeMap<Arc<str>, Seq>>>,
}

/// What is never taken back by a rewind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// What all invocations cost.
    pub cost: Money,
    /// What all invocations took.
    pub usage: Usage,
    /// The rules that were set, newest last.
    pub policies: Vec<PolicySet>,
    /// The entry before which policies and approvals confer nothing; zero if there is none.
    pub authority_reset: Seq,
    /// The folder that the conversation works in, if one was set.
    pub workspace: Option<WorkspaceSet>,
    /// The first entry this version does not understand: such a history is not driven.
    pub unrecognised: Option<Seq>,
}

/// An agent, and where its thread stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    /// Its settings.
    pub joined: Arc<AgentJoined>,
    /// Whether it is still in the conversation.
    pub present: bool,
    /// Its instruction: the entry, and the tokens of it.
    pub instruction: Option<(Seq, u32)>,
    /// The newest outline row of its thread.
    pub row: Option<Seq>,
    /// The running sum of tokens at Recent.
    pub recent_sum: u64,
    /// The running sum of tokens at the level of a current turn.
    pub live_sum: u64,
    /// Where its thread stands.
    pub stage: Stage,
    /// Its newest turn.
    pub turn: Option<Turn>,
    /// The entry that ended its newest turn, if it has ended.
    pub ended: Option<Seq>,
    /// How many exchanges its thread's path has.
    pub exchanges: u32,
    /// Whether the newest of them has its output, or ended without one.
    pub answered: bool,
    /// The invocation of a step that has neither output nor failure.
    pub invoking: Option<Seq>,
    /// Which model it asked last for a step, and the tokens we expected the request to take.
    pub asked: Option<(Invocation, u64)>,
    /// The newest invocation for a recap or a title that has not failed and gave no recap.
    pub invoking_aside: Option<Seq>,
    /// The newest attempt at a recap that gave none, if no recap came after it.
    pub recap_failed: Option<Seq>,
    /// Inputs, outputs and errors on its thread.
    pub interactions: u64,
    /// The last of them.
    pub last_interaction: Option<(Interaction, Timestamp)>,
}

/// Where a thread stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Nothing was said yet, or the newest turn has ended.
    #[default]
    Resting,
    /// An input waits for an answer.
    Asked,
    /// An output's calls are not sealed.
    Calling(OpenOutput),
    /// Sealed results wait for an answer.
    Sealed {
        /// Whether the model already answered them with nothing.
        answered_empty: bool,
    },
}

/// A turn: from the first input taken at rest to a final output or its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// Its first input.
    pub start: Seq,
    /// The inputs that began it, in order.
    pub opening: Vec<Seq>,
    /// Settings that do not change during the turn.
    pub setup: TurnSetup,
    /// The call that began it, if an agent did.
    pub caller: Option<Caller>,
    /// The agents for which it works, nearest first: its caller, that one's caller, and so on, whether
    /// they wait or not.
    pub works_for: Vec<AgentId>,
    /// How contexts are projected until it ends, by the model they are for.
    pub frozen: Vec<Frozen>,
    /// Whether people see it: a person or a timer began it.
    pub transcript: bool,
    /// The running sum at Recent before it.
    pub recent_sum_before: u64,
    /// The running sum at the level of a current turn before it.
    pub live_sum_before: u64,
    /// The counters that limits apply to.
    pub progress: TurnProgress,
    /// Tokens and cost of its invocations.
    pub spent: TurnSpending,
    /// The one-line summary.
    pub line: TurnLine,
}

/// Settings that a turn takes over when it begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnSetup {
    /// The agent's settings.
    pub joined: Arc<AgentJoined>,
    /// The instruction: the entry, and its tokens.
    pub instruction: Option<(Seq, u32)>,
    /// The pins.
    pub pins: Arc<BTreeSet<Seq>>,
    /// The agents that it may call, by name.
    pub peers: Arc<Vec<Peer>>,
    /// The route that the inputs which began it ask for, if one does.
    pub route: Option<Arc<str>>,
    /// The media types of attachments to its inputs, each once.
    pub media: Vec<Arc<str>>,
}

/// The counters of a turn that limits apply to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnProgress {
    /// Outputs so far.
    pub steps: u32,
    /// Calls so far.
    pub calls: u32,
    /// Failed invocations since the last output or seal.
    pub failures: u32,
    /// Those invocations, oldest first; a great many are not all kept.
    pub failed: Vec<Failed>,
    /// Outputs in a row that asked to be invoked again.
    pub pauses: u32,
    /// Its newest call, by the digest of name and arguments.
    pub last_call: Option<Digest>,
    /// How often that call was made in a row.
    pub repeats: u32,
}

/// Tokens and cost of the invocations of a turn, failed ones included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnSpending {
    /// The tokens.
    pub tokens: u64,
    /// Whether any of them is our estimate.
    pub estimated: bool,
    /// The cost, as far as it is known.
    pub cost: Money,
}

/// A turn in one line, for the agent's state description.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnLine {
    /// Its newest input, shortened.
    pub input: String,
    /// The tools it called, and how often, in the order of their first call.
    pub tools: Vec<(Arc<str>, u32)>,
    /// Its newest output's text, shortened.
    pub output: String,
}

/// What an agent knows of another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Peer {
    /// What it is called.
    pub name: Arc<str>,
    /// What it is for.
    pub description: Arc<str>,
}

/// The agent that began a turn by a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caller {
    /// The agent.
    pub agent: AgentId,
    /// Its call.
    pub call: CallId,
    /// Whether it waits.
    pub mode: CallMode,
}

/// An answer to an agent that did not wait for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// The agent that called.
    pub to: AgentId,
    /// Its call.
    pub call: CallId,
    /// The agent that answers.
    pub from: AgentId,
    /// The entry that ended its turn.
    pub ended: Seq,
    /// For whom a turn works that it begins: those for whom its addressee worked when it called.
    pub works_for: Vec<AgentId>,
    /// What its turn took, and what that cost: the turn that hears it takes it over.
    pub spent: (u64, Money),
}

/// An invocation of the current step that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// The model that was asked.
    pub invocation: Invocation,
    /// How it failed.
    pub kind: FailureKind,
    /// Whether asking the model again would fail again.
    pub lasting: bool,
    /// Before when the provider does not want to be asked again, if it said so.
    pub not_before: Option<Timestamp>,
}

/// How contexts are projected for one model until a turn ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frozen {
    /// The model.
    pub invocation: Invocation,
    /// How its first context of the turn was projected; with a smaller window once the model said
    /// that a request was too long, or read only a part of one.
    pub options: ProjectionOptions,
    /// What that request took, by our count: every further one must take less.
    pub refused_tokens: Option<u64>,
}

impl Frozen {
    /// Whether a request of so many tokens may be sent: not if one as large was refused.
    pub fn takes(&self, estimate_tokens: u64) -> bool {
        self.refused_tokens.is_none_or(|refused| estimate_tokens < refused)
    }
}

/// The window that a model stated when it refused a request as too long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatedLimit {
    /// The model.
    pub invocation: Invocation,
    /// The window, in its own tokens.
    pub window_tokens: u64,
}

/// What a model counted where we expected something; what is newer weighs more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Correction {
    /// The model.
    pub invocation: Invocation,
    /// The tokens we expected, in our unit.
    pub ours: u64,
    /// The tokens it counted.
    pub theirs: u64,
}

/// An output whose calls are not sealed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenOutput {
    /// The output.
    pub output: Seq,
    /// Its calls, in order.
    pub calls: Vec<OpenCall>,
}

impl OpenOutput {
    /// The calls with their ids.
    pub fn calls(&self) -> impl Iterator<Item = (CallId, &OpenCall)> {
        (0..).zip(&self.calls).map(|(index, call)| (CallId::new(self.output, index), call))
    }
}

/// A call that is not sealed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenCall {
    /// The tool's name.
    pub name: Arc<str>,
    /// Whether its arguments came to their end.
    pub complete: bool,
    /// Whether a rewind, fork or copy took it back: it must not start any more.
    pub withdrawn: bool,
    /// Its newest start.
    pub started: Option<Started>,
    /// Its end.
    pub finished: Option<Finished>,
    /// The question about it, if one was asked.
    pub approval: Option<Approval>,
    /// The name of the agent it is for, if it is a call to one and says so plainly.
    pub wants: Option<Arc<str>>,
    /// The agent it called, if it did, and whether it waits for the answer.
    pub child: Option<(AgentId, CallMode)>,
    /// The timer it waits for, if it does.
    pub timer: Option<Seq>,
    /// The entries that say which files it is about to change.
    pub changes: Vec<Seq>,
}

impl OpenCall {
    /// Whether an answer to the question about it counts: the first one, and a denial of what was
    /// allowed and has not begun.
    pub fn takes_answer(&self, answer: Answer) -> bool {
        let has_begun = self.started.is_some() || self.finished.is_some();
        match self.approval.map(|approval| approval.answer) {
            Some(None) => true,
            Some(Some(Answer::Allow)) => answer == Answer::Deny && !has_begun,
            Some(Some(Answer::Deny)) | None => false,
        }
    }

    /// The agent whose answer it waits for, if it called one.
    pub fn asks(&self) -> Option<AgentId> {
        self.child.filter(|(_, mode)| *mode == CallMode::Ask).map(|(child, _)| child)
    }
}

/// A call was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// The entry.
    pub seq: Seq,
    /// Which attempt.
    pub attempt: u32,
    /// What running it again would do.
    pub effect: Effect,
}

/// A call has its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finished {
    /// The entry.
    pub seq: Seq,
    /// How it ended.
    pub status: Status,
    /// The tokens of its result.
    pub tokens: Levels<u32>,
    /// Its result in one line.
    pub gist: Arc<str>,
    /// The tokens of that line.
    pub gist_tokens: u32,
}

/// A question about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// The entry that asked.
    pub asked: Seq,
    /// Digest of the arguments it is about.
    pub digest: Digest,
    /// When it expires.
    pub until: Timestamp,
    /// What counts if nobody answers.
    pub default: Answer,
    /// The answer, if there is one.
    pub answer: Option<Answer>,
    /// The entry that gave it.
    pub given: Option<Seq>,
}

/// A timer that will fire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timer {
    /// Whose it is.
    pub agent: AgentId,
    /// What was set, with the next moment it fires.
    pub set: TimerSet,
    /// For whom a turn works that it begins: those for whom the turn that set it worked.
    pub works_for: Vec<AgentId>,
}

impl Timer {
    /// When it fires next after it fired at a time: one that repeats does so in the future,
    /// however many times were missed.
    pub fn next(&self, fired: Timestamp) -> Option<Timestamp> {
        let every = self.set.every_ms.filter(|every| *every > 0)?;
        let missed = fired.millis_since(self.set.when) / every;
        Some(self.set.when.plus_millis(every.saturating_mul(missed.saturating_add(1))))
    }
}

/// A recap and what it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecapRange {
    /// The recap.
    pub seq: Seq,
    /// Whose thread.
    pub agent: AgentId,
    /// The first entry it stands for.
    pub from: Seq,
    /// The last entry it stands for.
    pub to: Seq,
    /// Whether someone asked for it.
    pub asked: bool,
}

impl Agent {
    pub(super) fn new(joined: Arc<AgentJoined>) -> Self {
        Self {
            joined,
            present: true,
            instruction: None,
            row: None,
            recent_sum: 0,
            live_sum: 0,
            stage: Stage::Resting,
            turn: None,
            ended: None,
            exchanges: 0,
            answered: true,
            invoking: None,
            asked: None,
            invoking_aside: None,
            recap_failed: None,
            interactions: 0,
            last_interaction: None,
        }
    }

    /// The agent that waits for its turn to end, if one does.
    pub fn caller(&self) -> Option<Caller> {
        let turn = self.turn.as_ref().filter(|_| self.in_turn())?;
        turn.caller.filter(|caller| caller.mode == CallMode::Ask)
    }

    /// The calls that are not sealed, with their ids.
    pub fn open_calls(&self) -> impl Iterator<Item = (CallId, &OpenCall)> {
        match &self.stage {
            Stage::Calling(open) => Some(open.calls()),
            Stage::Resting | Stage::Asked | Stage::Sealed { .. } => None,
        }
        .into_iter()
        .flatten()
    }

    /// A call that is not sealed.
    pub fn open_call(&self, id: CallId) -> Option<&OpenCall> {
        let Stage::Calling(open) = &self.stage else { return None };
        let index = usize::try_from(id.index).ok().filter(|_| open.output == id.output)?;
        open.calls.get(index)
    }

    /// Whether a turn is under way.
    pub fn in_turn(&self) -> bool {
        match self.stage {
            Stage::Resting => false,
            Stage::Asked | Stage::Calling(_) | Stage::Sealed { .. } => true,
        }
    }

    /// Whether something that is said to it is heard at once: it rests, or lets time pass.
    fn listens(&self) -> bool {
        let waits = self.unfinished().all(|call| call.timer.is_some());
        let calls = self.unfinished().next().is_some();
        self.present && (!self.in_turn() || (calls && waits))
    }

    /// The calls that have no result.
    fn unfinished(&self) -> impl Iterator<Item = &OpenCall> {
        self.open_calls().map(|(_, call)| call).filter(|call| call.finished.is_none())
    }

    /// Its newest turn in a line.
    fn state_description(&self) -> String {
        let Some(turn) = &self.turn else { return String::new() };
        let mut line = format!("input: {}", turn.line.input);
        for (name, times) in &turn.line.tools {
            let _ = match times {
                1 => write!(line, " | tool: {name}"),
                _ => write!(line, " | tool: {name} (×{times})"),
            };
        }
        if !turn.line.output.is_empty() {
            let _ = write!(line, " | output: {}", turn.line.output);
        }
        line
    }

    pub(super) fn sums(&self, agent: AgentId) -> AgentSums {
        AgentSums {
            agent,
            name: (*self.joined.name).to_owned(),
            present: self.present,
            interactions: self.interactions,
            last_interaction: self.last_interaction,
            state_description: self.state_description(),
        }
    }
}

impl PathState {
    /// The agent that gets what is addressed to nobody.
    pub fn primary(&self) -> Option<AgentId> {
        let present = || self.agents.iter().filter(|(_, agent)| agent.present);
        let primary = present().find(|(_, agent)| agent.joined.primary);
        primary.or_else(|| present().next()).map(|(id, _)| *id)
    }

    /// What the agents are doing.
    pub fn state(&self) -> State {
        // An answer that can be delivered begins a turn, or ends a wait.
        if self.replies.iter().any(|reply| self.agents.get(&reply.to).is_some_and(|a| a.listens()))
        {
            return State::Working;
        }
        let mut state = State::Resting;
        for (id, agent) in self.agents.iter().filter(|(_, agent)| agent.present && agent.in_turn())
        {
            if !self.is_blocked(*id, agent) {
                return State::Working;
            }
            state = State::Waiting;
        }
        state
    }

    /// Whether an agent can do nothing before a person, a time or another agent moves.
    fn is_blocked(&self, id: AgentId, agent: &Agent) -> bool {
        let waits = |call: &OpenCall| {
            let asked = call.approval.is_some_and(|approval| approval.answer.is_none());
            // Once whoever was asked has ended its turn, its answer is to be recorded.
            let asks = call.asks().and_then(|child| self.agents.get(&child));
            let asks = asks.is_some_and(|child| child.in_turn());
            asked || asks || call.timer.is_some() || self.is_held_up(id, call)
        };
        let mut unfinished = agent.unfinished().peekable();
        unfinished.peek().is_some() && unfinished.all(waits)
    }

    /// Whether a call cannot be made yet because the agent it is for is in a turn. One that would
    /// wait for itself is refused, and so not held up.
    fn is_held_up(&self, id: AgentId, call: &OpenCall) -> bool {
        let Some(on) = self.wanted(call).filter(|on| *on != id && call.started.is_none()) else {
            return false;
        };
        self.agents.get(&on).is_some_and(|agent| agent.in_turn()) && !self.waits_for(on, id)
    }

    /// The agent that a call which is not made yet is for.
    fn wanted(&self, call: &OpenCall) -> Option<AgentId> {
        let name = call.wants.as_ref().filter(|_| call.child.is_none() && call.complete)?;
        self.agent_named(name)
    }

    /// Whether one agent cannot go on before another's turn has ended.
    fn waits_for(&self, from: AgentId, goal: AgentId) -> bool {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(at) = next.pop() {
            if at == goal {
                return true;
            }
            if let Some(agent) = self.agents.get(&at).filter(|_| seen.insert(at)) {
                let calls = agent.unfinished();
                next.extend(calls.filter_map(|call| call.asks().or_else(|| self.wanted(call))));
            }
        }
        false
    }

    /// When the next timer or question is due. A timer that wakes an agent is not due before the
    /// agent rests.
    pub fn wake_at(&self) -> Option<Timestamp> {
        let in_turn = |agent: &AgentId| self.agents.get(agent).is_some_and(|agent| agent.in_turn());
        let wakes = |timer: &&Timer| timer.set.call.is_some() || !in_turn(&timer.agent);
        let timers = self.timers.values().filter(wakes).map(|timer| timer.set.when);
        timers.chain(self.questions()).min()
    }

    /// When timers and questions are due.
    pub fn moments(&self) -> impl Iterator<Item = Timestamp> {
        self.timers.values().map(|timer| timer.set.when).chain(self.questions())
    }

    /// When questions that nobody answered expire.
    fn questions(&self) -> impl Iterator<Item = Timestamp> {
        let open = self.agents.values().flat_map(|agent| agent.open_calls());
        let open = open.filter_map(|(_, call)| call.approval.filter(|a| a.answer.is_none()));
        open.map(|question| question.until)
    }

    pub(super) fn sums(&self, ledger: &Ledger) -> Sums {
        Sums {
            messages: self.messages,
            last_message: self.last_message.clone(),
            title: self.title.as_deref().map(str::to_owned),
            labels: self.labels.iter().map(|label| (**label).to_owned()).collect(),
            archived: self.archived,
            state: self.state(),
            cost: ledger.cost,
            wake_at: self.wake_at(),
        }
    }
}
