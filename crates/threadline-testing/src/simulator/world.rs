//! The world: its time, its queue, and all that is in it.

use std::sync::Arc;

use threadline_core::clock::Timestamp;
use threadline_core::drive::Setting;
use threadline_core::history::batch::{Batch, State};
use threadline_core::history::fact::{InstructionSet, TimerSet};
use threadline_core::history::{Proposal, Stamp};
use threadline_core::id::{AgentId, ConversationId};

use super::chaos::{Fault, Swarm};
use super::check::Check;
use super::effects::Effects;
use super::mark::{Coverage, Mark};
use super::person::{Act, Person};
use super::queue::Queue;
use super::store::{Fence, Store, TTL_MS};
use super::trace::Trace;
use super::worker::{To, Worker};
use super::{Course, Failure, Options, Report, gear, team};
use crate::ids::{Choices, SeededIds};

/// When faults stop.
const CALM_MS: u64 = 20_000;
/// How long after that a conversation has to come to rest, and by how much more if the clock went
/// back: then questions expire late.
const REST_MS: u64 = 15 * 60_000;
const BACK_MS: u64 = 2 * 3_600_000;
/// The most that happens in a run: more is a loop without a pause.
const HAPPENINGS_CAP: u64 = 60_000;
/// When runs begin, as their clocks have it.
const BEGIN_MICROS: i64 = 1_767_225_600_000_000;

/// Something that happens at its time.
pub(super) enum Happening {
    /// A worker looks whether there is something to drive.
    Look(usize),
    /// Something reaches a worker, if it still lives.
    To { worker: usize, life: u64, what: To },
    /// A worker that stood still goes on.
    Thaw(usize),
    /// An append reaches the store.
    Commit { worker: usize, life: u64, fence: Fence, batch: Arc<Batch>, answer: Answer },
    /// A run takes effect.
    Effect { key: Arc<str>, run: u64 },
    /// The person does something.
    Person(Act),
    /// The clock jumps by so many milliseconds.
    Jump(i64),
    /// Faults stop.
    Calm,
}

/// What is told of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// What became of it.
    Told,
    /// That nobody knows.
    Lost,
    /// Nothing: whoever asked has given up waiting.
    Silent,
}

/// Choices, by what they are about: one more here changes nothing there.
pub(super) struct Draws {
    pub(super) net: Choices,
    pub(super) store: Choices,
    pub(super) model: Choices,
    pub(super) tools: Choices,
    pub(super) person: Choices,
    pub(super) chaos: Choices,
}

/// All there is.
pub(super) struct World {
    seed: u64,
    pub(super) course: Course,
    pub(super) now_ms: u64,
    pub(super) ahead_ms: i64,
    pub(super) queue: Queue<Happening>,
    pub(super) store: Store,
    pub(super) effects: Effects,
    pub(super) workers: Vec<Worker>,
    pub(super) person: Person,
    pub(super) swarm: Swarm,
    /// What goes wrong with the next append.
    pub(super) armed: Option<Fault>,
    pub(super) draws: Draws,
    pub(super) setting: Option<Arc<Setting>>,
    pub(super) conversation: ConversationId,
    pub(super) check: Check,
    pub(super) calm: bool,
    /// The last number given to a life, a run, an invocation.
    pub(super) numbers: u64,
    pub(super) boundaries: u64,
    happened: u64,
    coverage: Coverage,
    pub(super) trace: Trace,
    failure: Option<Failure>,
}

impl World {
    pub(super) fn new(seed: u64, options: &Options) -> Self {
        let mut choices = Choices::new(seed);
        let swarm = match options.course {
            Course::Drawn => Swarm::drawn(&mut choices),
            Course::Directed(directed) => Swarm::directed(directed),
        };
        let mut split = || Choices::new(choices.any());
        let draws = Draws {
            net: split(),
            store: split(),
            model: split(),
            tools: split(),
            person: split(),
            chaos: split(),
        };
        let ids = SeededIds::new(seed ^ 0x5eed);
        Self {
            seed,
            course: options.course.clone(),
            now_ms: 0,
            ahead_ms: 0,
            queue: Queue::new(),
            store: Store::new(),
            effects: Effects::default(),
            workers: (0..swarm.workers).map(|_| Worker::default()).collect(),
            person: Person::default(),
            setting: gear::setting(seed, &swarm),
            swarm,
            armed: None,
            draws,
            conversation: ConversationId::new(Timestamp::from_micros(BEGIN_MICROS), &ids),
            check: Check::default(),
            calm: false,
            numbers: 0,
            boundaries: 0,
            happened: 0,
            coverage: Coverage::default(),
            trace: Trace::new(options.traced),
            failure: None,
        }
    }

    /// Runs it to its end.
    pub(super) fn run(mut self) -> Report {
        self.begin();
        while self.failure.is_none() {
            let Some((at_ms, what)) = self.queue.pop() else {
                self.fail("I-23", "nothing is left to happen".to_owned());
                break;
            };
            self.now_ms = self.now_ms.max(at_ms);
            self.happened += 1;
            self.happen(what);
            if self.calm && self.at_rest() {
                break;
            }
            let back_ms = if self.coverage.of(Mark::ClockBack) > 0 { BACK_MS } else { 0 };
            if self.happened > HAPPENINGS_CAP || self.now_ms > CALM_MS + REST_MS + back_ms {
                let text = format!("no rest after {} happenings", self.happened);
                self.fail("I-23", text);
            }
        }
        if self.failure.is_none() {
            self.check_end();
        }
        Report {
            seed: self.seed,
            trace_digest: self.trace.digest(),
            coverage: self.coverage,
            boundaries: self.boundaries,
            entries: self.store.head().0,
            virtual_ms: self.now_ms,
            failure: self.failure,
            trace: self.trace.into_lines(),
        }
    }

    fn begin(&mut self) {
        let Some(setting) = self.setting.clone() else {
            return self.fail("gear", "the tools cannot be used together".to_owned());
        };
        let stamp = Stamp { at: self.wall(), ids: &*setting.ids, counter: &*setting.counter };
        let first = AgentId::FIRST;
        let instruction = InstructionSet { text: "do what you are asked".into() };
        let joins =
            |index| if self.swarm.team { team::member(index) } else { gear::agent_at(index) };
        let mut facts: Vec<Proposal> = (1..)
            .zip(0..self.swarm.agents)
            .map(|(id, index)| Proposal::new(AgentId(id), joins(index), &*setting.counter))
            .collect();
        facts.insert(1, Proposal::new(first, instruction, &*setting.counter));
        if let Some(ms) = self.swarm.timer_ms {
            let (when, text) = (self.wall().plus_millis(ms), "it is time".into());
            let set = TimerSet { when, every_ms: None, call: None, text };
            facts.push(Proposal::new(first, set, &*setting.counter));
        }
        match self.store.history().propose(facts, stamp) {
            Ok(proposed) => {
                if let Err(refused) = self.store.append(None, &proposed.batch) {
                    self.fail("gear", format!("{refused:?}"));
                }
            }
            Err(refused) => self.fail("gear", refused.to_string()),
        }
        self.person.begins_after = self.store.head();
        for worker in 0..self.workers.len() {
            let at_ms = self.latency();
            self.queue.push(at_ms, Happening::Look(worker));
        }
        for (at_ms, by) in std::mem::take(&mut self.swarm.jumps) {
            self.queue.push(at_ms, Happening::Jump(by));
        }
        self.queue.push(CALM_MS, Happening::Calm);
        self.plan_person();
    }

    fn happen(&mut self, what: Happening) {
        match what {
            Happening::Look(worker) => self.look(worker),
            Happening::To { worker, life, what } => self.reach(worker, life, what),
            Happening::Thaw(worker) => self.thaw(worker),
            Happening::Commit { worker, life, fence, batch, answer } => {
                self.commit(worker, life, fence, &batch, answer);
            }
            Happening::Effect { key, run } => self.effects.take_effect(&key, run),
            Happening::Person(act) => self.act(&act),
            Happening::Jump(by) => self.jump(by),
            Happening::Calm => {
                self.calm = true;
                self.armed = None;
                self.store.full_until_ms = 0;
                self.swarm.calm_down();
                self.note("calm", 0, || "calm".to_owned());
            }
        }
    }

    fn jump(&mut self, by: i64) {
        self.hit(if by < 0 { Mark::ClockBack } else { Mark::ClockAhead });
        self.ahead_ms += by;
        self.note("jump", self.boundaries, || format!("the clock jumps by {by} ms"));
        for worker in 0..self.workers.len() {
            self.set_wake(worker);
        }
    }

    /// Whether all that was asked for is done.
    fn at_rest(&self) -> bool {
        self.person.is_done()
            && !self.store.has_waiting()
            && self.store.history().state().state() == State::Resting
            && self.store.history().state().timers.is_empty()
            && self.workers.iter().all(Worker::rests)
    }

    /// A place at which something can go wrong with a worker.
    pub(super) fn boundary(&mut self, worker: usize) {
        let here = self.boundaries;
        self.boundaries += 1;
        while let Some((_, fault)) = self.swarm.plan.first().copied().filter(|(at, _)| *at <= here)
        {
            self.swarm.plan.remove(0);
            self.strike(worker, fault);
        }
    }

    fn strike(&mut self, worker: usize, fault: Fault) {
        self.note("fault", self.boundaries, || format!("w{worker} {fault:?}"));
        match fault {
            Fault::Crash => self.crash(worker, false),
            Fault::PowerLoss => self.crash(worker, true),
            Fault::Freeze => {
                let ms = match self.course {
                    Course::Drawn => TTL_MS / 2 + self.draws.chaos.below(3 * TTL_MS),
                    Course::Directed(_) => TTL_MS + 2_000,
                };
                self.freeze(worker, ms);
            }
            Fault::Busy | Fault::Unavailable | Fault::LostCommitted | Fault::LostNotCommitted => {
                self.armed = Some(fault);
            }
            Fault::Full => {
                self.hit(Mark::StoreFull);
                self.store.full_until_ms = self.now_ms + 6_000;
            }
            Fault::Panic => self.drop_driver(worker),
            Fault::Stop => self.stop_gently(worker),
        }
    }

    /// The time that clocks show.
    pub(super) fn wall(&self) -> Timestamp {
        let ms = i64::try_from(self.now_ms).unwrap_or(i64::MAX).saturating_add(self.ahead_ms);
        Timestamp::from_micros(BEGIN_MICROS.saturating_add(ms.saturating_mul(1000)))
    }

    /// How long something takes: mostly little.
    pub(super) fn latency(&mut self) -> u64 {
        match self.draws.net.below(20) {
            0 => self.draws.net.below(400),
            1 | 2 => self.draws.net.below(60),
            _ => 1 + self.draws.net.below(6),
        }
    }

    pub(super) fn next_number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Lets something happen after a while.
    pub(super) fn later(&mut self, ms: u64, what: Happening) {
        self.queue.push(self.now_ms + ms, what);
    }

    pub(super) fn hit(&mut self, mark: Mark) {
        self.coverage.hit(mark);
    }

    /// Takes note of what happened.
    pub(super) fn note(&mut self, what: &str, number: u64, words: impl FnOnce() -> String) {
        self.trace.note(self.now_ms, &[Trace::word(what), number], words);
    }

    /// A promise is broken: the first one counts.
    pub(super) fn fail(&mut self, promise: &'static str, seen: String) {
        if self.failure.is_none() {
            self.note("broken", 0, || format!("BROKEN {promise}: {seen}"));
            self.failure = Some(Failure { promise, seen, at_ms: self.now_ms });
        }
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }
}
