//! Executing: what a driver wants done is done, or goes wrong, in the simulated world.

use std::sync::Arc;

use threadline_core::context::Body;
use threadline_core::drive::{
    Alarm, Command, Event, Gather, GatherRecap, Notice, Outcome, Rest, Run, Setback, Stopped,
    Ticket,
};
use threadline_core::history::batch::{Batch, State};
use threadline_core::history::fact::{Effect, FailureKind, Purpose};
use threadline_core::history::metadata::Metadata;
use threadline_core::id::{AgentId, CallId, Seq};
use threadline_core::inbox::ItemNumber;
use threadline_core::provider::{Delta, Request};
use threadline_core::tool::{Handling, ToolOutcome, ToolResult};

use super::Course;
use super::answer::{self, Asked, Beat};
use super::chaos::{Fault, Mood};
use super::gear::KNOWS;
use super::mark::Mark;
use super::store::{Appended, Fence, NotAppended};
use super::worker::{Going, Stream, To};
use super::world::{Answer, Happening, World};

/// After how long a model that says nothing is given up.
const HANG_MS: u64 = 30_000;

impl World {
    /// Does what a driver wants done.
    pub(super) fn execute(&mut self, worker: usize, command: Command) {
        match command {
            Command::Append(batch) => self.append(worker, &batch),
            // Contexts are not cached here.
            Command::DropContexts => {}
            Command::KeepSnapshot { standing, .. } => {
                let snapshot = standing.snapshot();
                self.check_snapshot(&snapshot);
                if !self.draws.store.percent(self.swarm.store) {
                    self.store.snapshot = Some(snapshot);
                }
            }
            Command::Gather { agent, ticket, gather } => {
                self.check_pause(worker, agent, &gather.history);
                let ms = self.latency();
                self.send(worker, ms, To::Gather { agent, ticket, gather });
            }
            Command::GatherRecap { agent, ticket, gather } => {
                let ms = self.latency();
                self.send(worker, ms, To::GatherRecap { agent, ticket, gather });
            }
            Command::Invoke { agent, ticket, request } => {
                self.invoke(worker, agent, ticket, &request);
            }
            Command::Proceed { agent, ticket } => {
                self.check_send(worker, agent);
                let ms = self.latency();
                self.send(worker, ms, To::Beat { agent, ticket });
            }
            Command::Abandon { agent, ticket } => {
                if let Some(to) = self.worker(worker)
                    && to.streams.get(&agent).is_some_and(|stream| stream.ticket == ticket)
                {
                    to.streams.remove(&agent);
                }
            }
            Command::Run(run) => self.run_call(worker, &run),
            Command::Reconcile(run) => self.reconcile(worker, &run),
            // No tool here announces changes of files.
            Command::ChangeRecorded(_) | Command::ChangeRefused(_) => {}
            Command::StopCall(call) => self.stop_call(worker, call),
            Command::FetchPast { item, to } => {
                let ms = self.latency();
                self.send(worker, ms, To::Past { item, to });
            }
            Command::Sleep { alarm, ms } => self.sleep(worker, alarm, ms),
            Command::WakeAt(due) => {
                if let Some(to) = self.worker(worker) {
                    to.wake = due;
                }
                self.set_wake(worker);
            }
            Command::Publish(notice) => self.publish(&notice),
            Command::Rest(rest) => self.rest(worker, rest),
            Command::Stop(why) => self.stopped(worker, &why),
        }
    }

    fn append(&mut self, worker: usize, batch: &Arc<Batch>) {
        let Some((fence, life)) = self.workers.get(worker).and_then(|w| Some((w.fence?, w.life)))
        else {
            return;
        };
        let (ms, back) = (self.latency(), self.latency());
        let fault = self.armed.take().or_else(|| self.drawn_fault());
        let full = self.now_ms < self.store.full_until_ms;
        let text = "the store cannot do that now".to_owned();
        let lost = "the answer was lost".to_owned();
        self.note("append", batch.head().0, || {
            let kinds: Vec<&str> =
                batch.entries.iter().map(|placed| placed.entry.fact.kind()).collect();
            format!("w{worker} appends after {}: {} {fault:?}", batch.base, kinds.join(" "))
        });
        let commit = |world: &mut Self, ms, answer| {
            let batch = Arc::clone(batch);
            world.later(ms, Happening::Commit { worker, life, fence, batch, answer });
        };
        let setback = match fault {
            _ if full => Some(Setback::Later("the disk is full".to_owned())),
            None => {
                commit(self, ms, Answer::Told);
                None
            }
            Some(Fault::LostCommitted) => {
                // Now and then it is done only after whoever asked has asked again.
                let late = self.draws.store.percent(30);
                if !late {
                    commit(self, ms, Answer::Lost);
                    return;
                }
                let more = self.draws.store.below(600);
                commit(self, ms + back + more, Answer::Silent);
                Some(Setback::AnswerLost(lost))
            }
            Some(Fault::LostNotCommitted) => {
                self.hit(Mark::LostNotCommitted);
                Some(Setback::AnswerLost(lost))
            }
            Some(_) => {
                self.hit(Mark::StoreBusy);
                Some(Setback::Later(text))
            }
        };
        if let Some(setback) = setback {
            self.send(worker, ms + back, To::Event(Event::NotAppended(setback)));
        }
    }

    fn drawn_fault(&mut self) -> Option<Fault> {
        if self.draws.store.percent(self.swarm.lost) {
            let committed = self.draws.store.percent(50);
            return Some(if committed { Fault::LostCommitted } else { Fault::LostNotCommitted });
        }
        if self.draws.store.percent(self.swarm.store) {
            return Some(Fault::Busy);
        }
        None
    }

    /// An append reaches the store.
    pub(super) fn commit(
        &mut self,
        worker: usize,
        life: u64,
        fence: Fence,
        batch: &Arc<Batch>,
        answer: Answer,
    ) {
        let appended = self.store.append(Some(fence), batch);
        let told = match appended {
            Ok(Appended::New) => {
                self.committed(batch);
                Event::Appended
            }
            Ok(Appended::Before) => {
                self.hit(match answer {
                    Answer::Silent => Mark::LateCommit,
                    Answer::Told | Answer::Lost => Mark::LostCommitted,
                });
                Event::Appended
            }
            Err(NotAppended::Fenced) => {
                self.hit(Mark::FencedAppend);
                let finished = |placed: &threadline_core::history::batch::Placed| {
                    placed.entry.fact.as_tool_finished().is_some()
                };
                if batch.entries.iter().any(finished) {
                    self.hit(Mark::ZombieResult);
                }
                self.note("fenced", batch.head().0, || format!("fenced: {fence:?}"));
                Event::NotAppended(Setback::Fenced)
            }
            Err(NotAppended::KeyTaken(key)) => {
                Event::NotAppended(Setback::Never(format!("the key {key} was used before")))
            }
            Err(NotAppended::Gone(item)) => {
                self.hit(Mark::ItemGone);
                Event::NotAppended(Setback::ItemGone(item))
            }
            Err(NotAppended::Never(why)) => match answer {
                Answer::Told | Answer::Lost => return self.fail("I-8", why),
                Answer::Silent => return,
            },
            Err(NotAppended::Broken(promise, seen)) => return self.fail(promise, seen),
        };
        let event = match answer {
            Answer::Told => told,
            Answer::Lost => Event::NotAppended(Setback::AnswerLost("no answer".to_owned())),
            Answer::Silent => return,
        };
        let ms = self.latency();
        self.later(ms, Happening::To { worker, life, what: To::Event(event) });
    }

    /// Reads what a context is made of.
    pub(super) fn read(&mut self, worker: usize, agent: AgentId, ticket: Ticket, gather: &Gather) {
        let event = if self.draws.store.percent(self.swarm.reads) {
            self.hit(Mark::ReadFailed);
            let setback = Setback::Later("it could not be read".to_owned());
            Event::NotGathered { agent, ticket, setback }
        } else {
            Event::Gathered { agent, ticket, gathered: Box::new(self.store.gather(gather)) }
        };
        let ms = self.latency();
        self.send(worker, ms, To::Event(event));
    }

    /// Reads what a recap is written from.
    pub(super) fn read_recap(
        &mut self,
        worker: usize,
        agent: AgentId,
        ticket: Ticket,
        gather: &GatherRecap,
    ) {
        let event = if self.draws.store.percent(self.swarm.reads) {
            let setback = Setback::Later("it could not be read".to_owned());
            Event::NotGathered { agent, ticket, setback }
        } else {
            let source = self.store.gather_recap(gather).map(Box::new);
            Event::RecapGathered { agent, ticket, source }
        };
        let ms = self.latency();
        self.send(worker, ms, To::Event(event));
    }

    /// Reads where a rewind leads.
    pub(super) fn read_past(&mut self, worker: usize, item: ItemNumber, to: Seq) {
        let past = if self.draws.store.percent(self.swarm.reads) {
            self.hit(Mark::ReadFailed);
            Err(Setback::Later("it could not be read".to_owned()))
        } else {
            let none = || Setback::Never(format!("there is no entry {to}"));
            self.store.past(to).map(Box::new).ok_or_else(none)
        };
        let ms = self.latency();
        self.send(worker, ms, To::Event(Event::Past { item, past }));
    }

    fn invoke(&mut self, worker: usize, agent: AgentId, ticket: Ticket, request: &Request) {
        self.check_context(&request.context);
        let number = self.next_number();
        let state = self.workers.get(worker).and_then(|w| w.driver.as_ref()?.ahead().agent(agent));
        let turn = state.and_then(|agent| agent.turn.as_ref());
        let input = turn.map(|turn| turn.line.input.clone()).unwrap_or_default();
        let steps = turn.map_or(0, |turn| turn.progress.steps);
        let source = request.context.parts.first().and_then(|part| match &part.body {
            Body::Input(input) => Some(&*input.text),
            Body::Output(_) | Body::Results(_) => None,
        });
        let recap = source.filter(|_| request.purpose == Purpose::Recap);
        let model = &*request.target.name;
        let factor = u64::from(request.target.profile.factor_percent);
        let tokens = request.context.tokens() * factor / 100;
        let timers = self.store.history().state().timers.iter();
        let timers = timers.filter(|(_, timer)| timer.agent == agent && timer.set.call.is_none());
        let timers: Vec<Seq> = timers.map(|(set, _)| *set).collect();
        let others = self.store.history().state().agents.iter();
        let others = others.filter(|(id, other)| **id != agent && other.present);
        let others: Vec<Arc<str>> =
            others.map(|(_, other)| Arc::clone(&other.joined.name)).collect();
        let (timers, others) = (&timers, &others);
        let asked = Asked { number, input: &input, steps, model, tokens, recap, timers, others };
        let script = answer::script(&mut self.draws.model, &self.swarm, &self.course, &asked);
        for mark in script.marks {
            self.hit(mark);
        }
        self.note("invoke", number, || format!("w{worker} invokes number {number}"));
        let stream = Stream { ticket, number, beats: script.beats };
        if let Some(to) = self.worker(worker) {
            to.streams.insert(agent, stream);
        }
        let ms = self.latency();
        self.send(worker, ms, To::Beat { agent, ticket });
    }

    /// The next step of a stream. After the request is prepared it waits to be let on.
    pub(super) fn beat(&mut self, worker: usize, agent: AgentId, ticket: Ticket) {
        let Some(to) = self.worker(worker) else { return };
        let Some(stream) = to.streams.get_mut(&agent).filter(|s| s.ticket == ticket) else {
            return;
        };
        let number = stream.number;
        match stream.beats.pop_front() {
            Some(Beat::Delta(delta)) => {
                match delta {
                    Delta::Prepared(_) => {}
                    Delta::Finished { .. } => {
                        to.streams.remove(&agent);
                        self.check.finished.insert(number);
                    }
                    Delta::Started(_)
                    | Delta::Begin { .. }
                    | Delta::Fragment { .. }
                    | Delta::State { .. }
                    | Delta::End { .. }
                    | Delta::Usage(_)
                    | Delta::Cost(_) => {
                        let ms = self.latency();
                        self.send(worker, ms, To::Beat { agent, ticket });
                    }
                }
                self.feed(worker, Event::Delta { agent, ticket, delta });
            }
            Some(Beat::Break(error)) => {
                to.streams.remove(&agent);
                self.feed(worker, Event::Broke { agent, ticket, error });
            }
            Some(Beat::Hang) => {
                let error = answer::error(FailureKind::Unreachable, None);
                stream.beats.push_back(Beat::Break(Some(error)));
                self.send(worker, HANG_MS, To::Beat { agent, ticket });
            }
            None => {
                to.streams.remove(&agent);
                self.feed(worker, Event::Broke { agent, ticket, error: None });
            }
        }
    }

    fn run_call(&mut self, worker: usize, run: &Run) {
        let Some(to) = self.workers.get(worker) else { return };
        if self.now_ms >= to.deadline_ms {
            self.hit(Mark::LeaseRunOut);
            return self.send(worker, 0, To::Event(Event::LeaseLost));
        }
        if to.stopping.contains(&run.call.output) {
            return self.fail("I-22", format!("{} is started while its turn is stopped", run.call));
        }
        let Handling::Run(rules) = run.tool.handling else {
            return self.fail("I-9", format!("{} is not to be run", run.tool.name));
        };
        // Calls of an earlier output were given up, though they may not know it.
        let beside = to.calls.iter().filter(|(call, _)| call.output == run.call.output);
        let beside: Vec<bool> = beside.map(|(_, going)| going.alone).collect();
        if beside.contains(&true) || (!rules.side_by_side && !beside.is_empty()) {
            return self.fail("side by side", format!("{} does not run alone", run.call));
        }
        if beside.len() >= self.swarm.limits.side_by_side {
            return self.fail("side by side", format!("{} runs beside too many", run.call));
        }
        if !beside.is_empty() {
            self.hit(Mark::SideBySide);
        }
        self.check_run(run, rules.effect);
        self.effects.start(&run.effect_key, rules.effect, run.attempt);
        let number = self.next_number();
        let call = run.call;
        self.note("run", number, || format!("w{worker} runs {call} ({})", run.tool.name));
        let alone = !rules.side_by_side;
        let going = Going { run: number, key: Arc::clone(&run.effect_key), alone };
        if let Some(to) = self.worker(worker) {
            to.calls.insert(call, going);
        }
        self.plan_outcome(worker, run, number, rules.timeout_ms);
        if self.draws.chaos.percent(self.swarm.harm) {
            self.swarm.harm_soon(self.boundaries, &mut self.draws.chaos);
        }
    }

    /// How a run goes: it takes effect or not, and says so, or does not.
    fn plan_outcome(&mut self, worker: usize, run: &Run, number: u64, timeout_ms: u64) {
        let size = match (self.swarm.mood == Mood::Bulky, self.draws.tools.below(4)) {
            (false, _) => 0,
            (true, 0) => 1_100_000,
            (true, _) => 1_000_000,
        };
        let result = || {
            let text = format!("result of {}{}", run.call, " ".repeat(size));
            ToolResult::text(text)
        };
        let (mut ms, back) = (self.latency(), self.latency());
        let faulty = self.draws.tools.percent(self.swarm.tools);
        let odd = self.draws.tools.below(100);
        let directed = matches!(self.course, Course::Directed(_));
        let (takes_effect, outcome) = match odd {
            0..=14 if !directed => (false, ToolOutcome::Failed(result())),
            15..=39 if faulty => (odd.is_multiple_of(2), ToolOutcome::NoAnswer(result())),
            40..=64 if faulty => {
                ms += 1_000 + self.draws.tools.below(4_000);
                (true, ToolOutcome::Success(result()))
            }
            65..=99 if faulty => {
                let takes_effect = odd.is_multiple_of(2);
                self.expect_effect(run, number, ms, takes_effect);
                let outcome = outcome_of(ToolOutcome::NoAnswer(result()));
                return self.send(
                    worker,
                    timeout_ms,
                    To::Ran { call: run.call, run: number, outcome },
                );
            }
            _ => {
                let slow = if self.swarm.mood == Mood::Eager { 15 } else { 65 };
                if odd >= slow && !directed {
                    ms += 100 + self.draws.tools.below(1_500);
                }
                (true, ToolOutcome::Success(result()))
            }
        };
        self.expect_effect(run, number, ms, takes_effect);
        let (call, outcome) = (run.call, outcome_of(outcome));
        self.send(worker, ms + back, To::Ran { call, run: number, outcome });
    }

    fn expect_effect(&mut self, run: &Run, number: u64, ms: u64, takes_effect: bool) {
        if takes_effect {
            self.effects.expect(&run.effect_key, number);
            let key = Arc::clone(&run.effect_key);
            self.later(ms, Happening::Effect { key, run: number });
        }
    }

    /// A run has its outcome, which is told once.
    pub(super) fn ran(&mut self, worker: usize, call: CallId, run: u64, outcome: Outcome) {
        let Some(to) = self.worker(worker) else { return };
        if to.calls.get(&call).is_some_and(|going| going.run == run) {
            to.calls.remove(&call);
            if let ToolOutcome::NoAnswer(_) = outcome.outcome {
                self.hit(Mark::NoAnswer);
            }
            self.feed(worker, Event::Ran { call, outcome });
        }
    }

    /// Some calls stop when they are told to, others go on as they were.
    fn stop_call(&mut self, worker: usize, call: CallId) {
        let Some(to) = self.worker(worker) else { return };
        let Some(going) = to.calls.get(&call).cloned() else { return };
        to.stopping.insert(call.output);
        if to.driver.is_some() {
            self.hit(Mark::CancelRunning);
        }
        if self.draws.tools.percent(30) {
            return self.hit(Mark::GraceOver);
        }
        if self.draws.tools.percent(50) {
            self.effects.stop(&going.key, going.run);
        }
        // From now on it is this outcome that counts.
        let run = self.next_number();
        if let Some(going) = self.worker(worker).and_then(|to| to.calls.get_mut(&call)) {
            going.run = run;
        }
        let outcome = outcome_of(ToolOutcome::NoAnswer(ToolResult::text("stopped")));
        let ms = self.latency();
        self.send(worker, ms, To::Ran { call, run, outcome });
    }

    /// Finds out what became of a call, where there is a way to know.
    fn reconcile(&mut self, worker: usize, run: &Run) {
        let done = self.effects.of(&run.effect_key);
        let (times, pending) = done.map_or((0, 0), |done| (done.times, done.pending.len()));
        let knows = &*run.tool.name == KNOWS;
        let outcome = match (knows, times, pending) {
            (true, 1.., _) => Some(ToolOutcome::Success(ToolResult::text("it had been done"))),
            (true, 0, 0) => Some(ToolOutcome::Failed(ToolResult::text("it was not done"))),
            _ => None,
        };
        self.hit(if outcome.is_some() { Mark::OnceReconciled } else { Mark::OnceUnknown });
        let (call, outcome) = (run.call, outcome.map(outcome_of));
        let ms = self.latency();
        self.send(worker, ms, To::Event(Event::Reconciled { call, outcome }));
    }

    fn sleep(&mut self, worker: usize, alarm: Alarm, ms: u64) {
        if let Alarm::Backoff(agent, _) = alarm {
            let until_ms = self.now_ms + ms;
            let turn = self.turn_of(worker, agent);
            if let Some(to) = self.worker(worker) {
                to.pauses.insert(agent, (until_ms, turn));
            }
        }
        self.send(worker, ms, To::Event(Event::Alarm(alarm)));
    }

    fn publish(&mut self, notice: &Notice) {
        if let Notice::Entry(entry) = notice {
            let durable = self.store.at(entry.seq).is_some_and(|known| known.entry == *entry);
            if !durable {
                let text = format!("entry {} was told and is not durable", entry.seq);
                self.fail("I-1", text);
            }
        }
    }

    fn rest(&mut self, worker: usize, rest: Rest) {
        let Some(to) = self.worker(worker) else { return };
        to.resting = true;
        let state = to.driver.as_ref().map(|driver| driver.history().state().state());
        let wrong = match rest {
            Rest::Idle => state != Some(State::Resting),
            Rest::Approval | Rest::Time => state != Some(State::Waiting),
        };
        if wrong {
            return self.fail("I-23", format!("a driver rests ({rest:?}) while {state:?}"));
        }
        self.note("rest", 0, || format!("w{worker} rests: {rest:?}"));
        // One that only waits for a person or a time holds no lease.
        if self.calm || !self.swarm.lingers || rest != Rest::Idle {
            let ms = 10 + self.draws.net.below(800);
            self.send(worker, ms, To::Release);
        }
    }

    fn stopped(&mut self, worker: usize, why: &Stopped) {
        match why {
            Stopped::LeaseLost => {
                // Whatever it had running is left to itself.
                self.end_life(worker, 50);
            }
            Stopped::NotUnderstood(_)
            | Stopped::OtherWorkspace { .. }
            | Stopped::NoWorkspace
            | Stopped::Store(_) => {
                self.fail("I-23", format!("a driver stopped: {why}"));
            }
        }
    }
}

fn outcome_of(outcome: ToolOutcome) -> Outcome {
    Outcome { outcome, attachments: Vec::new(), elapsed_ms: 1, metadata: Metadata::new() }
}

/// Whether running an effect twice would do it twice.
pub(super) const fn must_not_repeat(effect: Effect) -> bool {
    matches!(effect, Effect::Once)
}
