//! One append at a time: what becomes of it, and what follows once it is durable.

use std::sync::Arc;

use super::Driver;
use super::ahead::{Contents, Filled};
use super::command::{Command, Notice, Standing, Stopped};
use super::event::{Alarm, Setback};
use super::items::unexpected;
use super::planted::planted;
use super::step::{RunState, run_state};
use crate::history::History;
use crate::history::entry::Entry;
use crate::history::fact::{Fact, ToolStarted};
use crate::id::AgentId;
use crate::inbox::ItemNumber;
use crate::store::snapshot_due;

/// How long to wait before a batch is appended again, at first and at most.
const AGAIN_MS: u64 = 50;
const AGAIN_CAP_MS: u64 = 10_000;

/// An append under way.
pub(super) struct Appending {
    pub(super) filled: Filled,
    /// How often it was tried in vain.
    setbacks: u32,
}

/// An agent moves from one state to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Move {
    pub(super) agent: AgentId,
    pub(super) from: RunState,
    pub(super) to: RunState,
}

impl Move {
    /// How agents move from one history to another.
    pub(super) fn between<'a>(
        before: &'a History,
        after: &'a History,
    ) -> impl Iterator<Item = Self> + 'a {
        let moves = after.state().agents.keys().map(|agent| Self {
            agent: *agent,
            from: run_state(before, *agent),
            to: run_state(after, *agent),
        });
        moves.filter(|moved| moved.from != moved.to)
    }
}

impl Driver {
    pub(super) fn append(&mut self, filled: Filled, out: &mut Vec<Command>) {
        out.push(Command::Append(Arc::clone(&filled.batch)));
        for placed in &filled.batch.entries {
            if planted!(TellBeforeDurable) {
                out.push(Command::Publish(Notice::Entry(Arc::clone(&placed.entry))));
            }
            if planted!(RunBeforeDurable) {
                self.note_texts(&placed.entry);
                if let Fact::ToolStarted(started) = &placed.entry.fact {
                    self.run(&placed.entry, started, out);
                }
            }
            if planted!(SendBeforeDurable) {
                self.proceed(&placed.entry, out);
            }
        }
        self.appending = Some(Appending { filled, setbacks: 0 });
    }

    /// The append under way is durable: now it counts, and what it allows may begin.
    pub(super) fn appended(&mut self, out: &mut Vec<Command>) {
        let Some(Appending { filled, .. }) = self.appending.take() else { return };
        let Filled { batch, history, widgets, moves, .. } = filled;
        self.history = history;
        self.widgets = widgets;
        for taken in &batch.taken {
            if planted!(TakeTwice) {
                continue;
            }
            self.inbox.remove(&taken.item);
            self.taken.note(taken.item);
        }
        if batch.entries.iter().any(|placed| matches!(placed.entry.fact, Fact::Rewound(_))) {
            // What was open is settled in the same batch.
            self.texts.clear();
        }
        for placed in &batch.entries {
            self.note_texts(&placed.entry);
            out.push(Command::Publish(Notice::Entry(Arc::clone(&placed.entry))));
        }
        self.note_endings(batch.entries.iter().map(|placed| &*placed.entry));
        for Move { agent, from, to } in moves {
            out.push(Command::Publish(Notice::State { agent, from, to }));
        }
        for placed in &batch.entries {
            self.follow_up(&placed.entry, out);
        }
        if let Some(due) = snapshot_due(&batch) {
            let (history, widgets) = (self.history.clone(), self.widgets.clone());
            let standing = Box::new(Standing { history, widgets });
            out.push(Command::KeepSnapshot { standing, for_good: due.for_good });
        }
    }

    /// What may begin now that its beginning is on record.
    fn follow_up(&mut self, entry: &Entry, out: &mut Vec<Command>) {
        match &entry.fact {
            Fact::InvocationStarted(_) => self.proceed(entry, out),
            Fact::ToolStarted(started) => self.run(entry, started, out),
            Fact::FileChanged(changed) => out.push(Command::ChangeRecorded(changed.call)),
            _ => {}
        }
    }

    fn run(&mut self, entry: &Entry, started: &ToolStarted, out: &mut Vec<Command>) {
        // The call and its tool were there when the start was placed; they cannot have gone.
        if let Some((run, running)) = self.run_of(entry, started) {
            self.running.insert(started.call, running);
            out.push(Command::Run(run));
        }
    }

    /// The append under way did not answer, or was refused.
    pub(super) fn not_appended(&mut self, setback: Setback, out: &mut Vec<Command>) {
        let Some(appending) = &mut self.appending else { return };
        match setback {
            Setback::Fenced if planted!(IgnoreFence) => self.appended(out),
            Setback::AnswerLost(_) if planted!(BlindRetry) => self.appending = None,
            Setback::Fenced => self.stop(Stopped::LeaseLost, out),
            Setback::ItemGone(gone) => match appending.filled.contents {
                Contents::Messages => self.drop_batch(gone, out),
                Contents::Derived | Contents::Completions => self.stop(unexpected(gone), out),
            },
            Setback::Never(why) => self.stop(Stopped::Store(why), out),
            // The same batch again: a store that has it says so.
            Setback::AnswerLost(why) | Setback::Later(why) => {
                if planted!(KeepChange) {
                    self.widgets = appending.filled.widgets.clone();
                }
                appending.setbacks = appending.setbacks.saturating_add(1);
                let ms = doubled(AGAIN_MS, appending.setbacks - 1, AGAIN_CAP_MS);
                out.push(Command::Publish(Notice::Stalled(why.into())));
                out.push(Command::Sleep { alarm: Alarm::Append, ms });
            }
        }
    }

    /// The sender edited or withdrew a message that the batch takes: the driver derives another batch
    /// without it. Requests that were prepared on the batch are given up; none was sent.
    fn drop_batch(&mut self, gone: ItemNumber, out: &mut Vec<Command>) {
        self.appending = None;
        self.inbox.remove(&gone);
        self.taken.note(gone);
        let unsent = self.asking.iter().filter(|(_, asking)| !asking.is_sent());
        for agent in unsent.map(|(agent, _)| *agent).collect::<Vec<_>>() {
            self.give_up(agent, out);
        }
        out.push(Command::DropContexts);
    }

    pub(super) fn append_again(&mut self, out: &mut Vec<Command>) {
        if let Some(appending) = &self.appending {
            out.push(Command::Append(Arc::clone(&appending.filled.batch)));
        }
    }
}

/// A pause that doubles with every time, up to a cap.
pub(super) fn doubled(first_ms: u64, times: u32, cap_ms: u64) -> u64 {
    first_ms.saturating_mul(1_u64.checked_shl(times).unwrap_or(u64::MAX)).min(cap_ms)
}
