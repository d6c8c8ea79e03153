//! The fold: how each fact changes the state, and which facts may follow which.

mod agent;
mod calls;
mod peers;

use std::sync::Arc;

use self::peers::Begun;
use super::batch::{Interaction, LastMessage, MessageKind};
use super::counts::{Counts, one_line};
use super::entry::Entry;
use super::fact::{
    AgentJoined, CallMode, Described, EndReason, Fact, Input, Invocation, InvocationFailed, Money,
    Output, Purpose, Recap, TimerSet, ToolResults, Usage,
};
use super::rule::Rule;
use super::sections::{Level, Levels, render};
use super::state::{
    Agent, Correction, Finished, Ledger, OpenCall, OpenOutput, PathState, RecapRange, Stage, Timer,
    Turn,
};
use crate::clock::Timestamp;
use crate::id::{AgentId, Seq};
use crate::outline::{OutlineRow, RowKind};
use crate::tokens::CounterId;

/// The most agents of a conversation.
pub const AGENTS_CAP: usize = 1024;
/// The most pinned entries.
pub const PINS_CAP: usize = 256;
/// The most timers at a time.
pub const TIMERS_CAP: usize = 1024;
/// The most recaps that count at a time.
pub const RECAPS_CAP: usize = 1024;
/// The most widgets of an agent.
pub const WIDGETS_CAP: usize = 256;
/// The most rules.
pub const POLICIES_CAP: usize = 1024;
/// The most different tools that a turn's line names; the rest are not listed.
const TURN_TOOLS_CAP: usize = 64;
/// The most inputs that stay whole because they began a turn.
const TURN_INPUTS_CAP: usize = 256;
/// The most models whose projection is kept for a turn, or whose counting is kept.
const MODELS_CAP: usize = 32;
/// Below this a request says little about how a model counts: what every request has weighs most.
const TELLING_TOKENS: u64 = 500;
/// The longest line on sealed results, in characters and in tokens.
const RESULTS_CAP_CHARS: usize = 240;
const RESULTS_CAP_TOKENS: u32 = 480;
/// How much of an input or output the state description keeps, in characters.
const DESCRIPTION_CAP: usize = 50;
/// A result of the current turn is shown whole up to this; a longer one is shown at Recent.
pub const LIVE_RESULT_CAP_TOKENS: u32 = 4096;

impl Ledger {
    /// Takes an entry into what is never taken back.
    pub(super) fn apply(&mut self, entry: &Entry) -> Result<(), Rule> {
        match &entry.fact {
            Fact::Output(output) => self.spend(output.usage, output.cost)?,
            Fact::InvocationFailed(failed) => {
                self.spend(failed.usage.unwrap_or_default(), failed.cost)?;
            }
            Fact::Recap(recap) => self.spend(recap.usage.unwrap_or_default(), recap.cost)?,
            Fact::Described(described) => {
                self.spend(described.usage.unwrap_or_default(), described.cost)?;
            }
            Fact::PolicySet(policy) => {
                if self.policies.len() >= POLICIES_CAP {
                    return Err(Rule::TooMany { what: "rules", cap: POLICIES_CAP });
                }
                self.policies.push(policy.clone());
            }
            Fact::WorkspaceSet(workspace) => self.workspace = Some(workspace.clone()),
            Fact::AuthorityReset(_) => {
                self.authority_reset = entry.seq;
                self.policies.clear();
                self.workspace = None;
            }
            Fact::Unrecognised(_) => {
                self.unrecognised.get_or_insert(entry.seq);
            }
            Fact::AgentJoined(_)
            | Fact::AgentLeft(_)
            | Fact::InstructionSet(_)
            | Fact::Input(_)
            | Fact::ToolResults(_)
            | Fact::InvocationStarted(_)
            | Fact::ToolStarted(_)
            | Fact::ToolFinished(_)
            | Fact::ApprovalAsked(_)
            | Fact::ApprovalGiven(_)
            | Fact::WidgetChanged(_)
            | Fact::AgentCalled(_)
            | Fact::AgentReturned(_)
            | Fact::TimerSet(_)
            | Fact::TimerCleared(_)
            | Fact::TurnEnded(_)
            | Fact::Pinned(_)
            | Fact::Rewound(_)
            | Fact::Forked(_)
            | Fact::Moved(_)
            | Fact::FileChanged(_)
            | Fact::Note(_) => {}
        }
        Ok(())
    }

    fn spend(&mut self, usage: Usage, cost: Option<Money>) -> Result<(), Rule> {
        if let Some(cost) = cost.filter(|cost| *cost > Money::SUM_CAP) {
            return Err(Rule::Cost(cost));
        }
        let add = |to: &mut Option<u64>, more: Option<u64>| {
            if let Some(more) = more {
                *to = Some(to.unwrap_or(0).saturating_add(more));
            }
        };
        self.usage.estimated |= usage.estimated;
        self.usage.input = self.usage.input.saturating_add(usage.input);
        self.usage.output = self.usage.output.saturating_add(usage.output);
        add(&mut self.usage.cached_input, usage.cached_input);
        add(&mut self.usage.cache_write, usage.cache_write);
        add(&mut self.usage.reasoning, usage.reasoning);
        self.cost = self.cost.plus(cost.unwrap_or_default());
        Ok(())
    }
}

impl PathState {
    /// Takes an entry on the path into the state; gives its outline row if models see it.
    ///
    /// A rewind is not folded here: it is a change of state, not to one. On an error the state
    /// may be half changed and must be dropped.
    pub(super) fn apply(
        &mut self,
        entry: &Entry,
        counts: Counts,
    ) -> Result<Option<OutlineRow>, Rule> {
        match &entry.fact {
            Fact::AgentJoined(joined) => self.join(entry.agent, joined)?,
            Fact::AgentLeft(_) => {
                let agent = self.agent_mut(entry.agent)?;
                if agent.in_turn() {
                    return Err(Rule::NotResting(entry.agent));
                }
                agent.present = false;
                // Nobody is there any more whom an answer could reach or a timer could wake.
                self.replies.retain(|reply| reply.to != entry.agent);
                self.timers.retain(|_, timer| timer.agent != entry.agent);
            }
            Fact::InstructionSet(_) => {
                self.agent_mut(entry.agent)?.instruction = Some((entry.seq, counts.tokens.live));
            }
            Fact::Input(input) => return self.input(entry, input, counts).map(Some),
            Fact::Output(output) => return self.output(entry, output, counts).map(Some),
            Fact::ToolResults(results) => {
                return self.seal(entry, results, counts.counter).map(Some);
            }
            Fact::InvocationStarted(started) => {
                let agent = self.agent_mut(entry.agent)?;
                match started.purpose {
                    Purpose::Step => agent.asks(entry.seq, started)?,
                    Purpose::Recap | Purpose::Title => agent.invoking_aside = Some(entry.seq),
                }
            }
            Fact::InvocationFailed(failed) => self.invocation_failed(entry, failed)?,
            Fact::ToolStarted(started) => self.tool_started(entry, started)?,
            Fact::ToolFinished(finished) => self.tool_finished(entry, finished, counts)?,
            Fact::ApprovalAsked(asked) => self.approval_asked(entry, asked)?,
            Fact::ApprovalGiven(given) => self.approval_given(entry, given)?,
            Fact::PolicySet(_) | Fact::Moved(_) => of_conversation(entry)?,
            Fact::WorkspaceSet(_) | Fact::AuthorityReset(_) => {
                of_conversation(entry)?;
                self.void_approvals();
            }
            Fact::FileChanged(changed) => self.file_changed(entry, changed)?,
            Fact::Note(_) => self.known(entry.agent)?,
            Fact::Unrecognised(_) => {}
            Fact::WidgetChanged(changed) => self.widget_changed(entry, &changed.widget)?,
            Fact::AgentCalled(called) => self.agent_called(entry, called)?,
            Fact::AgentReturned(returned) => self.agent_returned(entry, returned)?,
            Fact::TimerSet(set) => self.timer_set(entry, set)?,
            Fact::TimerCleared(cleared) => {
                self.known(entry.agent)?;
                // What a call waits for goes with the call.
                let known = self.timers.get(&cleared.timer);
                known
                    .filter(|timer| timer.set.call.is_none())
                    .ok_or(Rule::NoTimer(cleared.timer))?;
                self.timers.remove(&cleared.timer);
            }
            Fact::TurnEnded(ended) => {
                return self.turn_ended(entry, ended.reason, counts).map(Some);
            }
            Fact::Recap(recap) => return self.recap(entry, recap, counts),
            Fact::Pinned(pinned) => {
                self.known(entry.agent)?;
                if pinned.seq == Seq::ZERO || pinned.seq >= entry.seq {
                    return Err(Rule::NoEntry(pinned.seq));
                }
                if !pinned.on {
                    Arc::make_mut(&mut self.pins).remove(&pinned.seq);
                } else if self.pins.len() >= PINS_CAP {
                    return Err(Rule::TooMany { what: "pins", cap: PINS_CAP });
                } else {
                    Arc::make_mut(&mut self.pins).insert(pinned.seq);
                }
            }
            Fact::Described(described) => {
                of_conversation(entry)?;
                self.describe(described);
            }
            Fact::Rewound(rewound) => return Err(Rule::NeedsPast(rewound.to)),
            Fact::Forked(forked) => {
                of_conversation(entry)?;
                if forked.seq != entry.seq.before() {
                    return Err(Rule::Fork);
                }
                self.forked_from = Some((forked.from, forked.seq));
                self.withdraw(entry.at);
                // Pending timers stay with the parent, which fires them.
                self.timers.retain(|_, timer| timer.set.call.is_some());
            }
        }
        Ok(None)
    }

    /// Takes back what is open: no answer is waited for or delivered any more, and calls that are
    /// not finished must not start. Timers that were due before do not come back with the past.
    pub(super) fn withdraw(&mut self, at: Timestamp) {
        self.replies.clear();
        self.timers.retain(|_, timer| {
            if timer.set.call.is_some() || timer.set.when > at {
                return true;
            }
            let next = timer.next(at);
            timer.set.when = next.unwrap_or(timer.set.when);
            next.is_some()
        });
        let is_open = |agent: &Arc<Agent>| {
            agent.in_turn() || agent.invoking.is_some() || agent.invoking_aside.is_some()
        };
        for agent in self.agents.values_mut().filter(|agent| is_open(agent)) {
            let agent = Arc::make_mut(agent);
            (agent.invoking, agent.invoking_aside) = (None, None);
            if let Stage::Calling(open) = &mut agent.stage {
                for call in &mut open.calls {
                    call.withdrawn = true;
                }
            }
        }
    }

    /// Whether an agent that is in the conversation, or the conversation itself.
    fn known(&self, agent: AgentId) -> Result<(), Rule> {
        if agent == AgentId::CONVERSATION {
            return Ok(());
        }
        self.agents.get(&agent).filter(|a| a.present).map(|_| ()).ok_or(Rule::Present(agent))
    }

    fn agent_mut(&mut self, agent: AgentId) -> Result<&mut Agent, Rule> {
        let found = self.agents.get_mut(&agent).map(Arc::make_mut);
        found.filter(|agent| agent.present).ok_or(Rule::Present(agent))
    }

    fn join(&mut self, id: AgentId, joined: &AgentJoined) -> Result<(), Rule> {
        if id == AgentId::CONVERSATION {
            return Err(Rule::Reserved);
        }
        let mut others = self.agents.iter().filter(|(other, agent)| **other != id && agent.present);
        if joined.name.trim().is_empty()
            || others.any(|(_, other)| other.joined.name == joined.name)
        {
            return Err(Rule::Name(Arc::clone(&joined.name)));
        }
        if joined.primary {
            let was_primary = |(other, agent): &(&AgentId, &mut Arc<Agent>)| {
                **other != id && agent.joined.primary
            };
            for (_, other) in self.agents.iter_mut().filter(was_primary) {
                let other = Arc::make_mut(other);
                other.joined = Arc::new(AgentJoined { primary: false, ..(*other.joined).clone() });
            }
        }
        let joined = Arc::new(joined.clone());
        if let Some(agent) = self.agents.get_mut(&id) {
            let agent = Arc::make_mut(agent);
            agent.joined = joined;
            agent.present = true;
        } else if self.agents.len() < AGENTS_CAP {
            self.agents.insert(id, Arc::new(Agent::new(joined)));
        } else {
            return Err(Rule::TooMany { what: "agents", cap: AGENTS_CAP });
        }
        Ok(())
    }

    fn input(&mut self, entry: &Entry, input: &Input, counts: Counts) -> Result<OutlineRow, Rule> {
        let says_something = input.sections.iter().any(|section| !section.is_blank());
        if !says_something && input.attachments.is_empty() {
            return Err(Rule::EmptyInput);
        }
        let transcript = input.from.is_in_transcript();
        let Begun { caller, works_for, spent } = self.begun_by(entry, &input.from)?;
        let by_person = input.from.is_on_behalf_of_person();
        if by_person {
            self.alone = 0;
        }
        // What is asked for is a part of the turn that asks, which is counted.
        let asked = caller.is_some_and(|caller| caller.mode == CallMode::Ask);
        let agent = self.agent_mut(entry.agent)?;
        match &agent.stage {
            Stage::Calling(open) => return Err(Rule::Unsealed(open.output)),
            Stage::Resting => {
                let (pins, peers) = (Arc::clone(&self.pins), self.peers(entry.agent));
                let agent = self.agent_mut(entry.agent)?;
                agent.stage = Stage::Asked;
                let turn = Turn::new(entry.seq, transcript, agent, pins, peers);
                agent.turn = Some(Turn { caller, works_for, ..turn });
                agent.ended = None;
                // What is done for a turn is taken back with it.
                let again = input.broadcast.is_some() && input.broadcast == self.last_broadcast;
                if caller.is_none() && !again {
                    (self.last_turn, self.last_broadcast) = (Some(entry.seq), input.broadcast);
                }
                self.alone = self.alone.saturating_add(u32::from(!by_person && !asked));
            }
            Stage::Asked | Stage::Sealed { .. } => {
                agent.stage = Stage::Asked;
                // Once people have a part in a turn, they see how it ends.
                if let Some(turn) = &mut agent.turn {
                    turn.transcript |= transcript;
                }
            }
        }
        let agent = self.agent_mut(entry.agent)?;
        if let Some(turn) = &mut agent.turn {
            turn.take_over(spent);
            turn.line.input = one_line(&counts.line, DESCRIPTION_CAP);
            turn.line.output.clear();
            turn.note_media(input);
            // What comes once a model was asked has no part in what was fixed by that.
            if turn.frozen.is_empty() && turn.progress.steps == 0 {
                turn.open_with(entry.seq, input);
            }
        }
        agent.interact(Interaction::Input, entry);
        let kind = if transcript { RowKind::Message } else { RowKind::Input };
        let row = agent.row(entry, kind, counts.tokens.live, counts);
        self.first_input.get_or_insert(entry.seq);
        if transcript {
            self.message(entry, MessageKind::Input, &render(&input.sections, Level::Live));
        }
        Ok(row)
    }

    fn output(
        &mut self,
        entry: &Entry,
        output: &Output,
        counts: Counts,
    ) -> Result<OutlineRow, Rule> {
        let agent = self.agent_mut(entry.agent)?;
        if !agent.awaits_output() {
            return Err(Rule::Unasked);
        }
        agent.invoking = None;
        let expected = agent.asked.clone();
        agent.interact(Interaction::Output, entry);
        let text = output.text();
        if let Some(turn) = &mut agent.turn {
            turn.took_output(output, &text);
        }
        let calls: Vec<OpenCall> = output.calls().map(OpenCall::new).collect();
        let rests = if calls.is_empty() { agent.rests_after(output) } else { false };
        if !calls.is_empty() {
            agent.stage = Stage::Calling(OpenOutput { output: entry.seq, calls });
        } else if rests {
            agent.stage = Stage::Resting;
        } else if let Stage::Sealed { answered_empty } = &mut agent.stage {
            *answered_empty = *answered_empty || !output.stop.is_pause();
        }
        let answers = rests && agent.turn.as_ref().is_some_and(|turn| turn.transcript);
        let kind = if answers { RowKind::Answer } else { RowKind::Output };
        let row = agent.row(entry, kind, counts.tokens.live, counts);
        if answers {
            self.message(entry, MessageKind::Answer, &text);
        }
        if rests {
            self.ended(entry.agent, entry.seq, false);
        }
        // Our own estimate says nothing about how a model counts.
        if let Some((invocation, ours)) = expected.filter(|_| !output.usage.estimated) {
            self.forget_limit(&invocation, output.usage.input);
            self.correct(invocation, ours, output.usage.input);
        }
        Ok(row)
    }

    fn seal(
        &mut self,
        entry: &Entry,
        results: &ToolResults,
        counter: CounterId,
    ) -> Result<OutlineRow, Rule> {
        let agent = self.agent_mut(entry.agent)?;
        let Stage::Calling(open) = &agent.stage else {
            return Err(Rule::WrongResults { expected: None });
        };
        let finished: Option<Vec<&Finished>> =
            open.calls.iter().map(|call| call.finished.as_ref()).collect();
        let wrong = Rule::WrongResults { expected: Some(open.output) };
        let finished = finished.filter(|_| results.output == open.output).ok_or(wrong.clone())?;
        if !finished.iter().map(|f| f.seq).eq(results.results.iter().copied()) {
            return Err(wrong);
        }
        let mut tokens = Levels::all(0_u32);
        let mut live = 0_u32;
        let each: Vec<Levels<u32>> = finished.iter().map(|result| result.tokens).collect();
        for result in &finished {
            tokens.live = tokens.live.saturating_add(result.tokens.live);
            tokens.recent = tokens.recent.saturating_add(result.tokens.recent);
            // A line of the results' own lines, with what joins them.
            tokens.gist = tokens.gist.saturating_add(result.gist_tokens).saturating_add(1);
            let shown_whole = result.tokens.live <= LIVE_RESULT_CAP_TOKENS;
            live = live.saturating_add(if shown_whole {
                result.tokens.live
            } else {
                result.tokens.recent
            });
        }
        let text = finished.iter().map(|f| &*f.gist).collect::<Vec<_>>().join("; ");
        let line = one_line(&text, RESULTS_CAP_CHARS).into();
        tokens.gist = tokens.gist.min(RESULTS_CAP_TOKENS);
        agent.stage = Stage::Sealed { answered_empty: false };
        if let Some(turn) = &mut agent.turn {
            turn.forget_failures();
        }
        let counts = Counts { tokens, line, line_tokens: 0, counter };
        let row = agent.row(entry, RowKind::Results, live, counts);
        Ok(OutlineRow { results: each, ..row })
    }

    fn invocation_failed(&mut self, entry: &Entry, failed: &InvocationFailed) -> Result<(), Rule> {
        let agent = self.agent_mut(entry.agent)?;
        if agent.invoking_aside == Some(failed.started) {
            agent.invoking_aside = None;
            agent.recap_failed = Some(entry.seq);
            if let Some(turn) = &mut agent.turn {
                turn.spend(failed.usage.unwrap_or_default(), failed.cost);
            }
            return Ok(());
        }
        if agent.invoking != Some(failed.started) {
            return Err(Rule::NotInvoking(failed.started));
        }
        agent.invoking = None;
        agent.interact(Interaction::Error, entry);
        if let Some(turn) = &mut agent.turn {
            turn.spend(failed.usage.unwrap_or_default(), failed.cost);
            if let Some((invocation, estimate_tokens)) = agent.asked.clone() {
                turn.failed(entry.at, (&invocation, estimate_tokens), failed);
                self.learn_limit(invocation, failed);
            }
        }
        Ok(())
    }

    fn widget_changed(&mut self, entry: &Entry, widget: &Arc<str>) -> Result<(), Rule> {
        self.known(entry.agent)?;
        let changed = Arc::make_mut(&mut self.changed).entry(entry.agent).or_default();
        if changed.len() >= WIDGETS_CAP && !changed.contains_key(widget) {
            return Err(Rule::TooMany { what: "widgets of an agent", cap: WIDGETS_CAP });
        }
        changed.insert(Arc::clone(widget), entry.seq);
        Ok(())
    }

    fn timer_set(&mut self, entry: &Entry, set: &TimerSet) -> Result<(), Rule> {
        self.known(entry.agent)?;
        if self.timers.len() >= TIMERS_CAP {
            return Err(Rule::TooMany { what: "timers", cap: TIMERS_CAP });
        }
        if let Some(id) = set.call {
            let call = self.open_call(entry.agent, id)?;
            if call.finished.is_some() || call.timer.is_some() {
                return Err(Rule::Finished(id));
            }
            call.timer = Some(entry.seq);
        }
        let works_for = self.works_for(entry.agent).to_vec();
        let timer = Timer { agent: entry.agent, set: set.clone(), works_for };
        self.timers.insert(entry.seq, timer);
        Ok(())
    }

    /// A timer fired: one that repeats fires next in the future, however many times were missed.
    /// Gives for whom it was set.
    fn timer_fired(&mut self, set: Seq, entry: &Entry) -> Result<Vec<AgentId>, Rule> {
        let timer = self.timers.get_mut(&set).ok_or(Rule::NoTimer(set))?;
        let works_for = timer.works_for.clone();
        match timer.next(entry.at) {
            None => {
                self.timers.remove(&set);
            }
            Some(next) => timer.set.when = next,
        }
        Ok(works_for)
    }

    fn turn_ended(
        &mut self,
        entry: &Entry,
        reason: EndReason,
        counts: Counts,
    ) -> Result<OutlineRow, Rule> {
        let agent = self.agent_mut(entry.agent)?;
        match &agent.stage {
            Stage::Resting => return Err(Rule::NoTurn),
            Stage::Calling(open) => return Err(Rule::Unsealed(open.output)),
            Stage::Asked | Stage::Sealed { .. } => agent.stage = Stage::Resting,
        }
        agent.invoking = None;
        // A person who stops a turn wants no other to begin by that.
        let (withdrawn, stopped) = match reason {
            EndReason::Withdrawn => (true, true),
            EndReason::Cancelled => (false, true),
            EndReason::Limit(_) | EndReason::Failed | EndReason::DoesNotFit => (false, false),
        };
        if withdrawn {
            agent.invoking_aside = None;
        }
        let row = agent.row(entry, RowKind::Ended, counts.tokens.live, counts);
        self.ended(entry.agent, entry.seq, stopped);
        if withdrawn {
            self.replies.retain(|reply| reply.to != entry.agent);
        }
        Ok(row)
    }

    fn recap(
        &mut self,
        entry: &Entry,
        recap: &Recap,
        counts: Counts,
    ) -> Result<Option<OutlineRow>, Rule> {
        if recap.from == Seq::ZERO || recap.from > recap.to {
            return Err(Rule::NoEntry(recap.from));
        }
        if recap.to >= entry.seq {
            return Err(Rule::NoEntry(recap.to));
        }
        self.agent_mut(entry.agent)?;
        // A recap takes the place of those whose range lies within its own. What someone wanted
        // folded stays so.
        let replaces = |old: &RecapRange| {
            old.agent == entry.agent && old.from >= recap.from && old.to <= recap.to
        };
        let asked = recap.asked || self.recaps.iter().any(|old| replaces(old) && old.asked);
        self.recaps.retain(|old| !replaces(old));
        if recap.text.is_none() {
            return Ok(None);
        }
        if self.recaps.len() >= RECAPS_CAP {
            return Err(Rule::TooMany { what: "recaps", cap: RECAPS_CAP });
        }
        let range = RecapRange {
            seq: entry.seq,
            agent: entry.agent,
            from: recap.from,
            to: recap.to,
            asked,
        };
        let agent = self.agent_mut(entry.agent)?;
        (agent.invoking_aside, agent.recap_failed) = (None, None);
        if let Some(turn) = &mut agent.turn {
            turn.spend(recap.usage.unwrap_or_default(), recap.cost);
        }
        let place = self.recaps.partition_point(|other| other.from < range.from);
        self.recaps.insert(place, range);
        let agent = self.agent_mut(entry.agent)?;
        Ok(Some(agent.row(entry, RowKind::Recap, 0, counts)))
    }

    /// Takes note of what a model counted where we expected something.
    fn correct(&mut self, invocation: Invocation, ours: u64, theirs: u64) {
        if ours < TELLING_TOKENS || theirs == 0 {
            return;
        }
        let known = self.corrections.iter().position(|known| known.invocation == invocation);
        let known = known.map(|place| self.corrections.remove(place));
        let (before, counted) = known.map_or((0, 0), |known| (known.ours, known.theirs));
        if self.corrections.len() >= MODELS_CAP {
            self.corrections.remove(0);
        }
        let (ours, theirs) =
            ((before / 2).saturating_add(ours), (counted / 2).saturating_add(theirs));
        self.corrections.push(Correction { invocation, ours, theirs });
    }

    fn describe(&mut self, described: &Described) {
        if let Some(title) = &described.title {
            self.title = Some(Arc::clone(title));
        }
        if let Some(labels) = &described.labels {
            self.labels.clone_from(labels);
            self.labels.sort_unstable();
            self.labels.dedup();
        }
        if let Some(archived) = described.archived {
            self.archived = archived;
        }
    }

    fn message(&mut self, entry: &Entry, kind: MessageKind, text: &str) {
        self.messages = self.messages.saturating_add(1);
        self.last_message = Some(LastMessage::new(entry, kind, text));
    }
}

/// Whether an entry is on the thread of the conversation itself.
pub(super) fn of_conversation(entry: &Entry) -> Result<(), Rule> {
    if entry.agent == AgentId::CONVERSATION { Ok(()) } else { Err(Rule::Conversation(entry.agent)) }
}
