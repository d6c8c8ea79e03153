//! Whether timers fire when they are due, once, and not after they were taken back.

use std::collections::{BTreeMap, BTreeSet};

use threadline_core::clock::Timestamp;
use threadline_core::drive::CLEAR_TIMER;
use threadline_core::history::History;
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::{Fact, Status};
use threadline_core::history::state::Timer;
use threadline_core::id::{AgentId, Seq};

use super::mark::Mark;
use super::world::World;

/// The timers, worked out once more.
#[derive(Default)]
pub(super) struct Timers {
    /// Those that are set.
    set: BTreeMap<Seq, Due>,
    /// Those of which an agent was told that they are taken back.
    cleared: BTreeSet<Seq>,
}

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
                self.check.timers.set.insert(entry.seq, due);
            }
            Fact::TimerCleared(cleared) => {
                self.check.timers.set.remove(&cleared.timer);
                let text = self.store.at(entry.seq.next()).map(|stored| &stored.entry.fact);
                let alone = matches!(text, Some(Fact::Note(note)) if &*note.category == "alone");
                self.hit(if alone { Mark::TimerGivenUp } else { Mark::TimerCleared });
            }
            Fact::ToolFinished(finished)
                if &*finished.name == CLEAR_TIMER && finished.status == Status::Success =>
            {
                #[derive(serde::Deserialize)]
                struct Clear {
                    timer: Seq,
                }
                let raw = self.written(finished.call).map(|(_, raw)| raw).unwrap_or_default();
                let timer = serde_json::from_str(&raw).ok().map(|Clear { timer }| timer);
                self.check.timers.cleared.extend(timer);
            }
            Fact::AgentLeft(_) => {
                self.check.timers.set.retain(|_, due| due.agent != entry.agent);
            }
            Fact::Input(input) => {
                if let Some(set) = input.from.timer() {
                    self.check_fired(entry, set, before);
                }
            }
            Fact::Rewound(_) => {
                let timers = self.store.state_at(entry.seq).map(|(h, _)| h.state().timers.clone());
                let timers = timers.unwrap_or_default();
                let timers = timers.iter().filter(|(_, timer)| timer.set.call.is_none());
                self.check.timers.cleared.clear();
                self.check.timers.set = timers.map(|(set, timer)| (*set, Due::of(timer))).collect();
                let past = self.check.timers.set.iter().find(|(_, due)| due.when <= entry.at);
                if let Some(set) = past.map(|(set, _)| *set) {
                    self.fail("timers", format!("timer {set} comes back after its time"));
                }
            }
            Fact::AgentJoined(_)
            | Fact::InstructionSet(_)
            | Fact::Output(_)
            | Fact::ToolResults(_)
            | Fact::InvocationStarted(_)
            | Fact::InvocationFailed(_)
            | Fact::ToolStarted(_)
            | Fact::ToolFinished(_)
            | Fact::ApprovalAsked(_)
            | Fact::ApprovalGiven(_)
            | Fact::PolicySet(_)
            | Fact::WidgetChanged(_)
            | Fact::AgentCalled(_)
            | Fact::AgentReturned(_)
            | Fact::TimerSet(_)
            | Fact::TurnEnded(_)
            | Fact::Recap(_)
            | Fact::Pinned(_)
            | Fact::Described(_)
            | Fact::Forked(_)
            | Fact::Moved(_)
            | Fact::WorkspaceSet(_)
            | Fact::FileChanged(_)
            | Fact::AuthorityReset(_)
            | Fact::Note(_)
            | Fact::Unrecognised(_) => {}
        }
    }

    fn check_fired(&mut self, entry: &Entry, set: Seq, before: &History) {
        let Some(due) = self.check.timers.set.get(&set).copied() else {
            // The one that was there from the beginning is not set before our eyes.
            if set > self.person.begins_after {
                self.fail("timers", format!("timer {set} fires and is not set"));
            }
            return;
        };
        if self.check.timers.cleared.contains(&set) {
            return self.fail("timers", format!("timer {set} fires and was taken back"));
        }
        if due.when > entry.at {
            return self.fail("timers", format!("timer {set} fires before its time"));
        }
        if before.state().alone >= self.swarm.limits.alone {
            return self.fail("alone", format!("timer {set} fires though nobody took part"));
        }
        let Some(every_ms) = due.every_ms else {
            self.check.timers.set.remove(&set);
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
        self.check.timers.set.insert(set, Due { when: next, ..due });
    }
}
