//! Whether timers fire when they are due, once, and not after they were taken back.

use std::collections::BTreeMap;

use threadline_core::clock::Timestamp;
use threadline_core::history::History;
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::{Fact, Sender};
use threadline_core::history::state::Timer;
use threadline_core::id::{AgentId, Seq};

use super::mark::Mark;
use super::world::World;

/// The timers that are set, worked out once more.
#[derive(Default)]
pub(super) struct Timers(BTreeMap<Seq, Due>);

#[derive(Clone, Copy)]
struct Due {
    agent: AgentId,
    when: Timestamp,
    every_ms: Option<u64>,
}

impl Due {
    fn of(timer: &Timer) -> Self {
        Self { agent: timer.agent, when: timer.set.when, every_ms: timer.set.every_ms }
    }
}

impl World {
    /// An entry that sets, fires or takes back a timer.
    pub(super) fn check_timers(&mut self, entry: &Entry, before: &History) {
        match &entry.fact {
            Fact::TimerSet(set) if set.call.is_none() => {
                let due = Due { agent: entry.agent, when: set.when, every_ms: set.every_ms };
                self.check.timers.0.insert(entry.seq, due);
            }
            Fact::TimerCleared(cleared) => {
                self.check.timers.0.remove(&cleared.timer);
                let text = self.store.at(entry.seq.next()).map(|stored| &stored.entry.fact);
                let alone = matches!(text, Some(Fact::Note(note)) if &*note.category == "alone");
                self.hit(if alone { Mark::TimerGivenUp } else { Mark::TimerCleared });
            }
            Fact::AgentLeft(_) => {
                self.check.timers.0.retain(|_, due| due.agent != entry.agent);
            }
            Fact::Input(input) => {
                if let Sender::Timer { set } = input.from {
                    self.check_fired(entry, set, before);
                }
            }
            Fact::Rewound(_) => {
                let timers = self.store.state_at(entry.seq).map(|(h, _)| h.state().timers.clone());
                let timers = timers.unwrap_or_default();
                let timers = timers.iter().filter(|(_, timer)| timer.set.call.is_none());
                self.check.timers.0 = timers.map(|(set, timer)| (*set, Due::of(timer))).collect();
            }
            _ => {}
        }
    }

    fn check_fired(&mut self, entry: &Entry, set: Seq, before: &History) {
        let Some(due) = self.check.timers.0.get(&set).copied() else {
            // The one that was there from the beginning is not set before our eyes.
            if set > self.person.begins_after {
                self.fail("timers", format!("timer {set} fires and is not set"));
            }
            return;
        };
        if due.when > entry.at {
            return self.fail("timers", format!("timer {set} fires before its time"));
        }
        if before.state().alone >= self.swarm.limits.alone {
            return self.fail("alone", format!("timer {set} fires though nobody took part"));
        }
        let Some(every_ms) = due.every_ms else {
            self.check.timers.0.remove(&set);
            return;
        };
        self.hit(Mark::TimerAgain);
        let late_ms = entry.at.millis_since(due.when);
        if late_ms >= every_ms {
            self.hit(Mark::TimerMissed);
        }
        let next = due.when.plus_millis(late_ms - late_ms % every_ms + every_ms);
        let state = self.store.state_at(entry.seq).map(|(history, _)| history);
        let when = state.and_then(|h| h.state().timers.get(&set)).map(|timer| timer.set.when);
        if when != Some(next) {
            self.fail("timers", format!("timer {set} is due next at {when:?}, not at {next}"));
        }
        self.check.timers.0.insert(set, Due { when: next, ..due });
    }
}
