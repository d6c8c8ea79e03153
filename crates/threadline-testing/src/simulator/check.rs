//! The checkers: each promise by its name, with every append, every run, every request.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use threadline_core::drive::{Run, RunState, run_state};
use threadline_core::history::History;
use threadline_core::history::batch::{BATCH_CAP_BYTES, Batch, Placed};
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::{
    Answer, Approver, Block, Effect, EndReason, Fact, FailureKind, Invocation, Limit, Output,
    Purpose, Sender, Status, Stop, ToolFinished,
};
use threadline_core::history::snapshot::Snapshot;
use threadline_core::history::state::{Agent, OpenCall, Stage};
use threadline_core::id::{AgentId, CallId, Seq};

use super::answer::tags;
use super::chaos::Mood;
use super::execute::must_not_repeat;
use super::mark::Mark;
use super::peers::Peers;
use super::store::Letter;
use super::timers::Timers;
use super::world::World;

/// What the checkers remember.
#[derive(Default)]
pub(super) struct Check {
    /// The keys of inputs in the history, rewound ones included.
    keys: BTreeSet<Arc<str>>,
    /// The attempts on record for each effect key.
    started: BTreeMap<Arc<str>, Vec<u32>>,
    /// The invocations whose answers came to their end.
    pub(super) finished: BTreeSet<u64>,
    /// The invocations that failed with something streamed.
    pub(super) partial: BTreeSet<u64>,
    /// Failed invocations of each agent since its last output, seal or turn.
    failures: BTreeMap<AgentId, u32>,
    /// Which they were.
    pub(super) tried: BTreeMap<AgentId, Vec<(Invocation, FailureKind)>>,
    /// What agents ask of one another, and what they owe.
    pub(super) peers: Peers,
    /// The timers that are set.
    pub(super) timers: Timers,
}

impl Check {
    /// A step of an agent is over, or another one begins.
    fn forget_failures(&mut self, agent: AgentId) {
        self.failures.remove(&agent);
        self.tried.remove(&agent);
    }
}

impl World {
    /// A batch is durable.
    pub(super) fn committed(&mut self, batch: &Batch) {
        let mut numbers = Vec::with_capacity(batch.entries.len());
        for placed in &batch.entries {
            let hash = placed.record.hash.0.first_chunk::<8>().copied().unwrap_or_default();
            numbers.push(u64::from_le_bytes(hash));
        }
        self.trace.note(self.now_ms, &numbers, || format!("durable up to {}", batch.head()));
        self.check_epochs(batch);
        if batch.entries.len() >= 60 {
            self.hit(Mark::BatchCap);
        }
        let bytes: usize = batch.entries.iter().map(|placed| placed.record.size()).sum();
        if bytes > BATCH_CAP_BYTES / 2 {
            self.hit(Mark::BatchBytes);
        }
        let agents: BTreeSet<AgentId> = batch.rows.iter().map(|row| row.agent).collect();
        let bulky = self.swarm.mood == Mood::Bulky;
        for agent in agents.into_iter().filter(|_| !bulky) {
            self.check_prefix(agent);
        }
        self.check_recorded(batch);
        self.check_taken(batch);
        let rewinds = batch.entries.iter().any(|p| p.entry.fact.rewinds_to().is_some());
        if rewinds {
            let calls = |p: &Placed| p.entry.fact.as_tool_finished().is_some();
            let open = batch.entries.iter().any(calls);
            self.hit(if open { Mark::RewoundOpen } else { Mark::Rewound });
        }
        // What is full leaves the rest to the next batch, and a rewind is made by itself.
        if !rewinds && batch.entries.len() < 60 && bytes < BATCH_CAP_BYTES / 2 {
            self.check_expiry(batch.at());
        }
        for placed in &batch.entries {
            let before = self.store.state_at(placed.entry.seq.before()).map(|(h, _)| h.clone());
            let before = before.unwrap_or_default();
            self.check_entry(&placed.entry, &before, rewinds);
            self.check_peers(&placed.entry, &before);
            self.check_timers(&placed.entry, &before);
        }
        self.check_tree();
    }

    /// What a widget makes of a call is in one batch with the call's end.
    fn check_recorded(&mut self, batch: &Batch) {
        let ends = |call: CallId| {
            let finished = |placed: &Placed| Some(placed.entry.fact.as_tool_finished()?.call);
            batch.entries.iter().filter_map(finished).any(|ended| ended == call)
        };
        for placed in &batch.entries {
            if let Fact::WidgetChanged(changed) = &placed.entry.fact
                && let Some(call) = changed.call.filter(|call| !ends(*call))
            {
                return self.fail("recorded", format!("a change of {call} without its end"));
            }
        }
    }

    /// Nothing is taken before it is due.
    fn check_taken(&mut self, batch: &Batch) {
        for taken in &batch.taken {
            let due = self.store.inbox.get(&taken.item).and_then(|letter| letter.item.due);
            // A batch may have been filled for a while, and the clock may have been set.
            let mut placed = batch.entries.iter().map(|placed| &placed.entry);
            let at = placed.find(|entry| entry.seq == taken.seq).map(|entry| entry.at);
            if due > at {
                return self.fail("due", format!("item {} was taken too early", taken.item.0));
            }
        }
    }

    fn check_epochs(&mut self, batch: &Batch) {
        let epoch = |seq| self.store.at(seq).map_or(0, |stored| stored.epoch);
        if epoch(batch.base) > epoch(batch.head()) {
            let text = format!("entry {} is of an earlier epoch", batch.head());
            self.fail("I-5", text);
        }
    }

    fn check_entry(&mut self, entry: &Entry, before: &History, rewinds: bool) {
        let agent = before.agent(entry.agent);
        match &entry.fact {
            Fact::Input(input) => {
                match agent.map(|agent| &agent.stage) {
                    Some(Stage::Resting) => self.check.forget_failures(entry.agent),
                    _ => self.hit(Mark::Steered),
                }
                if let Sender::Timer { .. } = input.from {
                    self.hit(Mark::TimerFired);
                }
                let mut agents = before.state().agents.iter();
                if agents.any(|(id, agent)| *id != entry.agent && agent.in_turn()) {
                    self.hit(Mark::SideAgents);
                }
                if let Some(key) = &input.client_key
                    && !self.check.keys.insert(Arc::clone(key))
                {
                    self.fail("I-10", format!("the input {key} is in the history twice"));
                }
            }
            Fact::InvocationStarted(started) if started.purpose != Purpose::Step => {
                self.hit(Mark::RecapBegun);
            }
            Fact::Recap(recap) => self.hit(match (&recap.text, recap.asked) {
                (None, _) => Mark::RecapUndone,
                (Some(_), true) => Mark::RecapAsked,
                (Some(_), false) => Mark::RecapWritten,
            }),
            Fact::InvocationFailed(failed)
                if agent.is_some_and(|agent| agent.invoking_aside == Some(failed.started)) =>
            {
                self.hit(Mark::RecapFailed);
            }
            Fact::InvocationStarted(started) => {
                self.check_choice(entry.agent, started);
                let failures = self.check.failures.get(&entry.agent).copied().unwrap_or(0);
                if failures >= self.swarm.limits.attempts {
                    self.fail("I-20", format!("asked again after {failures} failures"));
                }
                if failures > 0 {
                    self.hit(Mark::Retried);
                }
                let input =
                    agent.and_then(|a| a.turn.as_ref()).map(|turn| turn.line.input.as_str());
                let endless = if self.swarm.team { "endless" } else { "third" };
                if input == Some(endless) {
                    self.sees_endless_answer();
                }
            }
            Fact::InvocationFailed(failed) => {
                *self.check.failures.entry(entry.agent).or_default() += 1;
                if let Some((asked, _)) = agent.and_then(|agent| agent.asked.clone()) {
                    let tried = self.check.tried.entry(entry.agent).or_default();
                    tried.push((asked, failed.kind));
                }
                let streamed = failed.streamed.iter().map(text_of);
                self.check.partial.extend(streamed.flat_map(tags));
                if failed.kind == FailureKind::Cancelled && !failed.streamed.is_empty() {
                    self.hit(Mark::CancelStreaming);
                }
                if failed.retry_after_ms.is_some() && failed.retry {
                    self.hit(Mark::RetryAfter);
                }
                if !failed.retry && failed.kind != FailureKind::Cancelled {
                    self.hit(Mark::FailedForGood);
                }
                if failed.message.starts_with("the process stopped") {
                    self.hit(Mark::OrphanInvocation);
                }
            }
            Fact::Output(output) => self.check_output(entry, output, before),
            Fact::ToolResults(results) => {
                self.check.forget_failures(entry.agent);
                let order: Vec<Option<CallId>> = results
                    .results
                    .iter()
                    .map(|seq| Some(self.store.at(*seq)?.entry.fact.as_tool_finished()?.call))
                    .collect();
                let wanted = (0..).map(|index| Some(CallId::new(results.output, index)));
                if order.is_empty() || !order.into_iter().eq(wanted.take(results.results.len())) {
                    self.fail("I-15", format!("results of {} out of order", results.output));
                }
            }
            Fact::ToolStarted(started) => {
                self.check_authority(entry, started, before);
                let attempts =
                    self.check.started.entry(Arc::clone(&started.effect_key)).or_default();
                attempts.push(started.attempt);
                let (count, rises) = (attempts.len(), attempts.is_sorted());
                if must_not_repeat(started.effect) && count > 1 {
                    self.fail("I-11", format!("{} is started twice on record", started.call));
                }
                if !rises || started.attempt > self.swarm.limits.call_attempts {
                    self.fail("I-12", format!("attempt {} of {}", started.attempt, started.call));
                }
                self.sees_run(entry.agent, started.call);
                if started.arguments.is_some() {
                    self.hit(Mark::Mended);
                }
            }
            Fact::ToolFinished(finished) => self.check_finished(finished, rewinds),
            Fact::ApprovalAsked(asked) => self.is_asked(asked.call, asked.digest),
            Fact::ApprovalGiven(given) => self.hit(match (&given.by, given.answer) {
                (Approver::Timer, _) => Mark::ApprovalExpired,
                (Approver::NewMessage, _) => Mark::ApprovalOverruled,
                (Approver::Person { .. }, _) if !self.took(entry.seq) => Mark::AnsweredByRule,
                (Approver::Person { .. }, Answer::Allow) => Mark::ApprovalAllowed,
                (Approver::Person { .. }, Answer::Deny) => Mark::ApprovalDenied,
            }),
            Fact::WidgetChanged(changed) => self.hit(match changed.call {
                Some(_) => Mark::WidgetChanged,
                None => Mark::WidgetByPerson,
            }),
            Fact::TurnEnded(ended) => {
                let failures =
                    agent.and_then(|a| a.turn.as_ref()).map_or(0, |turn| turn.progress.failures);
                match ended.reason {
                    EndReason::Limit(Limit::Steps) => self.hit(Mark::LimitSteps),
                    EndReason::Limit(Limit::Calls) => self.hit(Mark::LimitCalls),
                    EndReason::Limit(Limit::SameCall) => self.hit(Mark::SameCall),
                    EndReason::Failed if failures >= 5 => self.hit(Mark::GaveUp),
                    EndReason::Failed if self.tried_models(entry.agent) > 1 => {
                        self.hit(Mark::NoneLeft);
                    }
                    EndReason::Cancelled => {
                        let awaits = run_state(before, entry.agent) == RunState::PendingToolResults;
                        let asked = awaits && self.was_asked(entry);
                        if asked {
                            self.hit(Mark::CancelAsked);
                        }
                    }
                    EndReason::Limit(_)
                    | EndReason::Failed
                    | EndReason::DoesNotFit
                    | EndReason::Withdrawn => {}
                }
            }
            Fact::Note(note) => self.mark_refusal(&note.text),
            Fact::InstructionSet(_) => self.hit(Mark::Instructed),
            Fact::AgentJoined(_) if agent.is_some() => self.hit(Mark::JoinedAgain),
            Fact::AgentJoined(_) => self.hit(Mark::Joined),
            Fact::AgentLeft(_) => self.hit(Mark::Left),
            Fact::PolicySet(_)
            | Fact::AgentCalled(_)
            | Fact::AgentReturned(_)
            | Fact::TimerSet(_)
            | Fact::TimerCleared(_)
            | Fact::Pinned(_)
            | Fact::Described(_)
            | Fact::Rewound(_)
            | Fact::Forked(_)
            | Fact::Moved(_)
            | Fact::WorkspaceSet(_)
            | Fact::FileChanged(_)
            | Fact::AuthorityReset(_)
            | Fact::Unrecognised(_) => {}
        }
    }

    /// Whether something that waited is this entry.
    fn took(&self, seq: Seq) -> bool {
        self.store.inbox.values().any(|letter| letter.taken == Some(seq))
    }

    /// Whether the calls that were just sealed were skipped though a person was asked.
    fn was_asked(&self, ended: &Entry) -> bool {
        let sealed = self.store.at(ended.seq.before()).map(|stored| stored.entry.sealed());
        let finished = sealed.unwrap_or_default().iter().filter_map(|seq| self.store.at(*seq));
        let calls = finished.filter_map(|stored| {
            let finished = stored.entry.fact.as_tool_finished()?;
            let skipped = finished.status == Status::Skipped;
            skipped.then_some((finished.call, stored.entry.seq))
        });
        calls.into_iter().any(|(call, seq)| {
            let state = self.store.state_at(seq.before()).map(|(history, _)| history);
            let open = state.and_then(|history| history.agent(ended.agent)).and_then(|agent| {
                agent.open_calls().find(|(id, _)| *id == call).and_then(|(_, open)| open.approval)
            });
            open.is_some_and(|question| question.answer.is_none())
        })
    }

    fn mark_refusal(&mut self, text: &str) {
        let marks = [
            ("a step is under way", Mark::RewindRefused),
            ("nothing to cancel", Mark::CancelNothing),
            ("is not waiting for an answer", Mark::ApprovalTooLate),
            ("is not in the conversation", Mark::NobodyThere),
            ("the arguments of a rule", Mark::RuleRefused),
        ];
        for (words, mark) in marks {
            if text.contains(words) {
                self.hit(mark);
            }
        }
    }

    fn check_output(&mut self, entry: &Entry, output: &Output, before: &History) {
        self.check.forget_failures(entry.agent);
        let unfinished: Vec<u64> = output
            .blocks
            .iter()
            .flat_map(|block| tags(text_of(block)))
            .filter(|number| !self.check.finished.contains(number))
            .collect();
        if let Some(number) = unfinished.first() {
            let text = format!("output {} has the text of broken answer {number}", entry.seq);
            self.fail("I-19", text);
        }
        match output.stop {
            Stop::Paused => self.hit(Mark::Paused),
            Stop::Refusal => self.hit(Mark::Refusal),
            Stop::Length if output.calls().any(|call| !call.complete) => {
                self.hit(Mark::LengthMidCall);
            }
            Stop::Length | Stop::Done | Stop::Blocked => {}
        }
        let stage = before.agent(entry.agent).map(|agent| &agent.stage);
        if output.is_empty() && matches!(stage, Some(Stage::Sealed { answered_empty: false })) {
            self.hit(Mark::EmptyAgain);
        }
    }

    /// What is recorded of a call is what is known of it in the world outside.
    fn check_finished(&mut self, finished: &ToolFinished, rewinds: bool) {
        let key = format!("{}/{}", self.conversation, finished.call);
        let text = finished.result.first().map(|s| Arc::clone(&s.text)).unwrap_or_default();
        for (words, mark) in [
            ("there is no tool", Mark::UnknownTool),
            ("a rule does not allow", Mark::RuleDenied),
            ("a rule does not allow it (operator", Mark::OperatorDenied),
            ("a rule does not allow it (conversation", Mark::ConversationDenied),
            ("does not allow it to run again", Mark::NotAgain),
            ("notebook is full", Mark::WidgetRefused),
            ("times while it ran", Mark::RunTooOften),
            ("too large to be recorded", Mark::TooLarge),
        ] {
            if text.contains(words) {
                self.hit(mark);
            }
        }
        let Some(done) = self.effects.of(&key) else {
            if finished.status == Status::Failed && text.contains("arguments") {
                self.hit(Mark::BadArguments);
            }
            if rewinds && finished.status == Status::Success {
                let text = format!("{} was recorded, and what it did is taken back", finished.call);
                self.fail("I-13 (rewind)", text);
            }
            if finished.status == Status::Unknown && !self.check.started.contains_key(&*key) {
                self.fail("I-13", format!("{} was never started", finished.call));
            }
            return;
        };
        let once = must_not_repeat(done.class);
        let honest = match finished.status {
            Status::Success => done.times > 0,
            Status::Failed => !once || (done.times == 0 && done.pending.is_empty()),
            Status::Skipped => done.starts.is_empty(),
            Status::Unknown => once,
        };
        if !honest {
            let text = format!("{} is {:?}, but {done:?}", finished.call, finished.status);
            self.fail(if rewinds { "I-13 (rewind)" } else { "I-13" }, text);
        }
    }

    /// A call is about to be run.
    pub(super) fn check_run(&mut self, run: &Run, effect: Effect) {
        let on_record = self.check.started.get(&run.effect_key);
        if !on_record.is_some_and(|attempts| attempts.contains(&run.attempt)) {
            let text = format!("{} runs before its start is durable", run.call);
            return self.fail("I-9", text);
        }
        let starts = self.effects.of(&run.effect_key).map(|done| done.starts.clone());
        if let Some(last) = starts.and_then(|starts| starts.last().copied()) {
            if must_not_repeat(effect) {
                return self.fail("I-11", format!("{} is run a second time", run.call));
            }
            if run.attempt <= last {
                let text = format!("{}: attempt {} after {last}", run.call, run.attempt);
                return self.fail("I-12", text);
            }
            self.hit(Mark::RunAgain);
        }
        let open: Option<OpenCall> = self.store.history().agent(run.agent).and_then(|agent| {
            agent.open_calls().find(|(id, _)| *id == run.call).map(|(_, call)| call.clone())
        });
        let Some(open) = open.filter(|open| open.finished.is_none() && !open.withdrawn) else {
            return self.fail("I-22", format!("{} runs after its end is durable", run.call));
        };
        if !open.complete {
            self.fail("I-19", format!("{} was cut off and runs", run.call));
        }
    }

    /// A driver's beliefs are what is durable.
    pub(super) fn check_belief(&mut self, worker: usize) {
        let Some(driver) = self.workers.get(worker).and_then(|worker| worker.driver.as_ref())
        else {
            return;
        };
        let head = driver.history().head();
        let same = self.store.state_at(head).is_some_and(|(history, widgets)| {
            history == driver.history() && widgets.encode() == driver.widgets().encode()
        });
        if !same {
            self.fail("I-17", format!("worker {worker} believes in another history at {head}"));
        }
    }

    /// A snapshot is the state that was folded.
    pub(super) fn check_snapshot(&mut self, snapshot: &Snapshot) {
        let state = self.store.state_at(snapshot.seq);
        let same = state.is_some_and(|(history, widgets)| {
            snapshot.hash == history.head_hash() && snapshot.widgets == widgets.encode()
        });
        if !same {
            self.fail("I-17", format!("the snapshot at {} is another state", snapshot.seq));
        }
    }

    /// A request is about to be sent.
    pub(super) fn check_send(&mut self, worker: usize, agent: AgentId) {
        let driver = self.workers.get(worker).and_then(|worker| worker.driver.as_ref());
        let state = driver.and_then(|driver| driver.history().agent(agent));
        let started = state.and_then(|agent| agent.invoking.or(agent.invoking_aside));
        let on_record = started.and_then(|seq| self.store.at(seq)).map(|stored| &stored.entry.fact);
        if !matches!(on_record, Some(Fact::InvocationStarted(_))) {
            let text = format!("agent {agent} sends a request before its beginning is durable");
            self.fail("I-9", text);
        }
    }

    /// The turn that an agent's model is not asked again in: the one that is on record, or else
    /// the one that is about to be.
    pub(super) fn turn_of(&self, worker: usize, agent: AgentId) -> Option<Seq> {
        let driver = self.workers.get(worker)?.driver.as_ref()?;
        let durable = driver.history().agent(agent).filter(|agent| agent.in_turn());
        turn_start(durable.or_else(|| driver.ahead().agent(agent)))
    }

    /// A model is not asked again before its pause is over.
    pub(super) fn check_pause(&mut self, worker: usize, agent: AgentId, history: &History) {
        let turn = turn_start(history.agent(agent));
        let pause = self.worker(worker).and_then(|to| to.pauses.remove(&agent));
        if let Some((until_ms, of)) = pause
            && of == turn
            && self.now_ms < until_ms
        {
            let text =
                format!("asked again {} ms before the pause is over", until_ms - self.now_ms);
            self.fail("I-20", text);
        }
    }

    /// All is at rest: what must hold then.
    pub(super) fn check_end(&mut self) {
        match self.store.folded_anew() {
            Err(why) => self.fail("I-3", why),
            Ok((history, widgets)) => {
                let state = self.store.state_at(self.store.head());
                let same =
                    state.is_some_and(|(h, w)| *h == history && w.encode() == widgets.encode());
                if !same {
                    self.fail("I-17", "folding anew gives another history".to_owned());
                }
            }
        }
        let lost: Vec<String> = self
            .person
            .acknowledged()
            .filter(|item| !self.store.has(&item.client_key))
            .map(|item| item.client_key.to_string())
            .collect();
        if let Some(key) = lost.first() {
            self.fail("I-1", format!("{key} was acknowledged and is gone"));
        }
        self.check_inputs();
        self.check_effects();
        self.check_nothing_owed();
    }

    fn check_inputs(&mut self) {
        use threadline_core::inbox::Body;
        let inputs = self.store.inbox.values().filter(|l| matches!(l.item.body, Body::Input(_)));
        let inputs = inputs.filter(|letter| !letter.withdrawn);
        let refused = |letter: &&Letter| {
            let entry = letter.taken.and_then(|seq| self.store.at(seq)).map(|s| &s.entry.fact);
            matches!(entry, Some(Fact::Note(_)))
        };
        let missing: Vec<Arc<str>> = inputs
            .filter(|letter| !refused(letter))
            .map(|letter| Arc::clone(&letter.item.client_key))
            .filter(|key| !self.check.keys.contains(key))
            .collect();
        if let Some(key) = missing.first() {
            self.fail("I-10", format!("the input {key} was taken and is not in the history"));
        }
    }

    /// What must not happen twice happened at most once, whatever was recorded.
    fn check_effects(&mut self) {
        let twice: Vec<String> = self
            .effects
            .iter()
            .filter(|(_, done)| {
                must_not_repeat(done.class) && (done.starts.len() > 1 || done.times > 1)
            })
            .map(|(key, _)| key.to_string())
            .collect();
        if let Some(key) = twice.first() {
            self.fail("I-11", format!("{key} was done twice"));
        }
    }
}

fn turn_start(agent: Option<&Agent>) -> Option<Seq> {
    agent?.turn.as_ref().map(|turn| turn.start)
}

pub(super) fn text_of(block: &Block) -> &str {
    match block {
        Block::Thinking(thinking) => &thinking.text,
        Block::Text(text) => &text.text,
        Block::Foreign(foreign) => &foreign.text,
        Block::ToolCall(_) => "",
    }
}
