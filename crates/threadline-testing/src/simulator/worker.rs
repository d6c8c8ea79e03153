//! Workers: they take the lease, drive, crash, stand still, come back and are told that it is over.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use threadline_core::clock::Timestamp;
use threadline_core::drive::{
    Circumstances, Command, Driver, Event, Gather, GatherRecap, Opening, Outcome, Ticket,
};
use threadline_core::id::{AgentId, CallId, Seq};
use threadline_core::inbox::ItemNumber;

use super::answer::Beat;
use super::mark::Mark;
use super::store::{Fence, TTL_MS};
use super::world::{Happening, World};

/// How often a worker asks what waits.
const POLL_MS: u64 = 2_000;

/// A worker, and what it has under way. All of it is gone when it crashes.
#[derive(Default)]
pub(super) struct Worker {
    /// Which life it has: what was meant for an earlier one is lost.
    pub(super) life: u64,
    pub(super) driver: Option<Driver>,
    pub(super) fence: Option<Fence>,
    /// Until when it may believe that it holds the lease.
    pub(super) deadline_ms: u64,
    pub(super) streams: BTreeMap<AgentId, Stream>,
    pub(super) calls: BTreeMap<CallId, Going>,
    pub(super) wake: Option<Timestamp>,
    pub(super) resting: bool,
    /// What reached it while it stood still; none if it does not.
    parked: Option<Vec<To>>,
    /// The outputs whose calls were told to stop.
    pub(super) stopping: BTreeSet<Seq>,
    /// Until when an agent's model is not to be asked again, in the turn that began there.
    pub(super) pauses: BTreeMap<AgentId, (u64, Option<Seq>)>,
}

/// A model's answer under way.
pub(super) struct Stream {
    pub(super) ticket: Ticket,
    /// The number that is in its texts.
    pub(super) number: u64,
    pub(super) beats: VecDeque<Beat>,
}

/// A call that is run.
#[derive(Clone)]
pub(super) struct Going {
    pub(super) run: u64,
    pub(super) key: Arc<str>,
    pub(super) alone: bool,
}

/// Something that reaches a worker.
pub(super) enum To {
    Event(Event),
    /// Commands that it was about to execute when it stood still.
    Commands(VecDeque<Command>),
    /// Read what a context is made of.
    Gather {
        agent: AgentId,
        ticket: Ticket,
        gather: Box<Gather>,
    },
    /// Read what a recap is written from.
    GatherRecap {
        agent: AgentId,
        ticket: Ticket,
        gather: Box<GatherRecap>,
    },
    /// Read where a rewind leads.
    Past {
        item: ItemNumber,
        to: Seq,
    },
    /// The next step of a stream.
    Beat {
        agent: AgentId,
        ticket: Ticket,
    },
    /// A run has its outcome.
    Ran {
        call: CallId,
        run: u64,
        outcome: Outcome,
    },
    Wake,
    Renew,
    Poll,
    Release,
}

impl Worker {
    pub(super) fn rests(&self) -> bool {
        self.driver.is_none() || self.resting
    }
}

impl World {
    pub(super) fn worker(&mut self, worker: usize) -> Option<&mut Worker> {
        self.workers.get_mut(worker)
    }

    fn lives(&self, worker: usize, life: u64) -> bool {
        self.workers.get(worker).is_some_and(|worker| worker.life == life)
    }

    fn stands_still(&self, worker: usize) -> bool {
        self.workers.get(worker).is_some_and(|worker| worker.parked.is_some())
    }

    /// Lets something reach a worker after a while, if it still lives then.
    pub(super) fn send(&mut self, worker: usize, ms: u64, what: To) {
        let life = self.workers.get(worker).map_or(0, |worker| worker.life);
        self.later(ms, Happening::To { worker, life, what });
    }

    /// Something reaches a worker.
    pub(super) fn reach(&mut self, worker: usize, life: u64, what: To) {
        if !self.lives(worker, life) {
            return;
        }
        if let Some(parked) = self.worker(worker).and_then(|worker| worker.parked.as_mut()) {
            return parked.push(what);
        }
        match what {
            To::Event(event) => self.feed(worker, event),
            To::Commands(commands) => self.execute_all(worker, commands),
            To::Gather { agent, ticket, gather } => self.read(worker, agent, ticket, &gather),
            To::GatherRecap { agent, ticket, gather } => {
                self.read_recap(worker, agent, ticket, &gather);
            }
            To::Past { item, to } => self.read_past(worker, item, to),
            To::Beat { agent, ticket } => self.beat(worker, agent, ticket),
            To::Ran { call, run, outcome } => self.ran(worker, call, run, outcome),
            To::Wake => self.wake(worker),
            To::Renew => self.renew(worker),
            To::Poll => {
                self.tell_waiting(worker);
                self.send(worker, POLL_MS, To::Poll);
            }
            To::Release => self.give_back(worker),
        }
    }

    /// A driver is told what happened, and what it says is done.
    pub(super) fn feed(&mut self, worker: usize, event: Event) {
        let life = self.workers.get(worker).map_or(0, |worker| worker.life);
        self.boundary(worker);
        if !self.lives(worker, life) {
            return;
        }
        if let Some(parked) = self.worker(worker).and_then(|worker| worker.parked.as_mut()) {
            return parked.push(To::Event(event));
        }
        let at = self.wall();
        let settles = matches!(event, Event::Appended | Event::NotAppended(_));
        self.note("event", life, || format!("w{worker} <- {}", brief(&event)));
        let Some(to) = self.worker(worker) else { return };
        let Some(driver) = to.driver.as_mut() else { return };
        let commands = driver.on(event, at);
        to.resting &= commands.is_empty();
        if settles {
            self.check_belief(worker);
        }
        if commands.iter().any(|command| matches!(command, Command::Rest(_))) {
            self.check_rest(worker, at);
        }
        self.execute_all(worker, commands.into());
    }

    fn execute_all(&mut self, worker: usize, mut commands: VecDeque<Command>) {
        let life = self.workers.get(worker).map_or(0, |worker| worker.life);
        while let Some(command) = commands.pop_front() {
            self.boundary(worker);
            if !self.lives(worker, life) || self.has_failed() {
                return;
            }
            if self.stands_still(worker) {
                commands.push_front(command);
                if let Some(parked) = self.worker(worker).and_then(|to| to.parked.as_mut()) {
                    parked.push(To::Commands(commands));
                }
                return;
            }
            self.execute(worker, command);
        }
    }

    /// A worker without a driver looks whether there is something to drive.
    pub(super) fn look(&mut self, worker: usize) {
        if self.stands_still(worker) || self.workers.get(worker).is_none_or(|w| w.driver.is_some())
        {
            return;
        }
        let held = self.store.lease.filter(|(_, until)| *until > self.now_ms);
        if !self.store.needs_driver(self.wall()) || held.is_some() {
            let ms = if self.calm { 1_000 } else { 300 } + self.draws.net.below(50);
            return self.later(ms, Happening::Look(worker));
        }
        if self.draws.store.percent(self.swarm.store) {
            return self.later(400, Happening::Look(worker));
        }
        let claim = self.next_number();
        if self.store.lease.is_some() {
            self.hit(Mark::LeaseTakenOver);
        }
        match self.store.claim(self.now_ms, claim) {
            Some(fence) => self.open(worker, fence),
            None => self.later(300, Happening::Look(worker)),
        }
    }

    fn open(&mut self, worker: usize, fence: Fence) {
        let head = self.store.head();
        let Some(full) = self.store.state_at(head).cloned() else { return };
        let (history, widgets) = match self.store.opened_from_snapshot() {
            Some((history, widgets)) => {
                self.hit(Mark::FromSnapshot);
                if history != full.0 || widgets.encode() != full.1.encode() {
                    let text = format!("the snapshot and its tail are not the history at {head}");
                    return self.fail("I-17", text);
                }
                (history, widgets)
            }
            None => full,
        };
        if history.state().agents.values().any(|agent| agent.caller().is_some()) {
            self.hit(Mark::TakenOverInTree);
        }
        let needs = Opening::needs(&history);
        let entries = needs.iter().filter_map(|seq| Some((*self.store.at(*seq)?.entry).clone()));
        let (entries, circumstances) = (entries.collect(), Circumstances::ATTENDED);
        let opening = Opening { entries, history, widgets, circumstances };
        let Some(setting) = self.setting.clone() else { return };
        let driver = Driver::new(self.conversation, setting, opening);
        let life = self.next_number();
        let deadline_ms = self.now_ms + TTL_MS;
        self.note("open", life, || format!("w{worker} opens at {head} as {fence:?}"));
        if let Some(to) = self.worker(worker) {
            *to = Worker {
                life,
                driver: Some(driver),
                fence: Some(fence),
                deadline_ms,
                ..Worker::default()
            };
        }
        self.send(worker, TTL_MS / 3, To::Renew);
        self.send(worker, POLL_MS, To::Poll);
        let waiting = Event::Arrived(self.store.waiting());
        let first = self.draws.net.percent(50);
        let (one, two) = if first { (waiting, Event::Begin) } else { (Event::Begin, waiting) };
        self.send(worker, 0, To::Event(one));
        self.send(worker, 0, To::Event(two));
    }

    /// Tells a driver what waits: as it is now, though it learns of it later.
    pub(super) fn tell_waiting(&mut self, worker: usize) {
        let waiting = self.store.waiting();
        if !waiting.is_empty() {
            let ms = self.latency();
            self.send(worker, ms, To::Event(Event::Arrived(waiting)));
        }
    }

    fn renew(&mut self, worker: usize) {
        let Some(fence) = self.workers.get(worker).and_then(|worker| worker.fence) else { return };
        let now_ms = self.now_ms;
        if !self.draws.store.percent(self.swarm.store) {
            if !self.store.renew(fence, now_ms) {
                return self.feed(worker, Event::LeaseLost);
            }
            if let Some(to) = self.worker(worker) {
                to.deadline_ms = now_ms + TTL_MS;
            }
        }
        self.send(worker, TTL_MS / 3, To::Renew);
    }

    pub(super) fn set_wake(&mut self, worker: usize) {
        let Some(due) = self.workers.get(worker).and_then(|worker| worker.wake) else { return };
        let ms = due.millis_since(self.wall());
        self.send(worker, ms, To::Wake);
    }

    fn wake(&mut self, worker: usize) {
        let wall = self.wall();
        let Some(to) = self.worker(worker) else { return };
        match to.wake {
            Some(due) if due <= wall => {
                to.wake = None;
                self.feed(worker, Event::Due);
            }
            Some(_) => self.set_wake(worker),
            None => {}
        }
    }

    /// A driver that rests gives the lease back, unless something has come in the meantime.
    fn give_back(&mut self, worker: usize) {
        let wall = self.wall();
        let Some(to) = self.workers.get(worker).filter(|to| to.resting) else { return };
        let Some(fence) = to.fence else { return };
        if self.store.needs_driver(wall) {
            return;
        }
        self.hit(Mark::GivenBack);
        self.store.release(fence);
        self.end_life(worker, 20);
    }

    /// A worker has no driver any more, and looks around again after a while.
    pub(super) fn end_life(&mut self, worker: usize, ms: u64) {
        let life = self.next_number();
        self.note("end", life, || format!("w{worker} has no driver any more"));
        if let Some(to) = self.worker(worker) {
            let parked = to.parked.take().map(|_| Vec::new());
            *to = Worker { life, parked, ..Worker::default() };
        }
        self.later(ms, Happening::Look(worker));
    }

    /// The process ends. What it had sent may still arrive, unless the machine ends with it.
    pub(super) fn crash(&mut self, worker: usize, power: bool) {
        self.hit(if power { Mark::PowerLost } else { Mark::Crashed });
        let Some(to) = self.worker(worker) else { return };
        let life = to.life;
        to.parked = None;
        let dropped = power || self.draws.chaos.percent(50);
        self.queue.retain(|what| match what {
            Happening::Commit { life: of, .. } => *of != life || !dropped,
            _ => true,
        });
        self.leave_calls(worker);
        let ms = 50 + self.draws.chaos.below(3_000);
        self.end_life(worker, ms);
    }

    /// What was run is left to itself: it may take effect or not.
    fn leave_calls(&mut self, worker: usize) {
        let calls = self.worker(worker).map(|to| std::mem::take(&mut to.calls));
        for going in calls.unwrap_or_default().into_values() {
            if self.draws.chaos.percent(50) {
                self.effects.stop(&going.key, going.run);
            }
        }
    }

    /// The driver is dropped where it stands; the process goes on.
    pub(super) fn drop_driver(&mut self, worker: usize) {
        self.hit(Mark::Dropped);
        let fence = self.workers.get(worker).and_then(|to| to.fence);
        self.leave_calls(worker);
        if let Some(fence) = fence.filter(|_| self.draws.chaos.percent(50)) {
            self.store.release(fence);
        }
        self.end_life(worker, 100);
    }

    /// The process is asked to end: it lets go of everything and gives the lease back.
    pub(super) fn stop_gently(&mut self, worker: usize) {
        self.hit(Mark::StoppedGently);
        let fence = self.workers.get(worker).and_then(|to| to.fence);
        if let Some(to) = self.worker(worker) {
            to.parked = None;
        }
        self.leave_calls(worker);
        if let Some(fence) = fence {
            self.store.release(fence);
        }
        self.end_life(worker, 200);
    }

    /// The process stands still for a while.
    pub(super) fn freeze(&mut self, worker: usize, ms: u64) {
        self.hit(Mark::Frozen);
        if let Some(to) = self.worker(worker)
            && to.parked.is_none()
        {
            to.parked = Some(Vec::new());
            self.later(ms, Happening::Thaw(worker));
        }
    }

    /// It goes on, with all that had reached it.
    pub(super) fn thaw(&mut self, worker: usize) {
        let Some(to) = self.worker(worker) else { return };
        let (life, parked, idle) = (to.life, to.parked.take(), to.driver.is_none());
        let Some(parked) = parked else { return };
        self.note("thaw", life, || format!("w{worker} goes on"));
        for what in parked {
            self.later(0, Happening::To { worker, life, what });
        }
        if idle {
            self.later(10, Happening::Look(worker));
        }
    }
}

/// An event in a few words.
fn brief(event: &Event) -> String {
    let text = format!("{event:?}");
    text.chars().take(160).collect()
}
