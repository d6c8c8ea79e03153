//! One append at a time: what becomes of it, and what follows once it is durable.

use std::sync::Arc;

use super::Driver;
use super::command::{Command, Notice, Standing, Stopped};
use super::event::{Alarm, Setback};
use super::items::unexpected;
use super::pending_batch::{BuiltBatch, Contents, PendingBatch};
use super::planted::planted;
use super::step::{RunState, run_state};
use crate::history::History;
use crate::history::batch::Batch;
use crate::history::entry::Entry;
use crate::history::fact::{Fact, ToolStarted};
use crate::id::AgentId;
use crate::inbox::ItemNumber;
use crate::store::snapshot_due;
use crate::widget::Widgets;

/// How long to wait before a batch is appended again, at first and at most.
const AGAIN_MS: u64 = 50;
const AGAIN_CAP_MS: u64 = 10_000;

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
    /// The history as it is once the pending batch is durable. It becomes durable, or the driver stops,
    /// unless it takes a message that its sender withdraws.
    pub fn ahead(&self) -> &History {
        self.pending.built().map_or(&self.history, |built| &built.history)
    }

    /// The widgets as they are once the pending batch is durable.
    pub(super) fn widgets_ahead(&self) -> &Widgets {
        self.pending.built().map_or(&self.widgets, |built| &built.widgets)
    }

    /// The batch that may not be in the store yet.
    pub(super) fn unstored(&self) -> Option<Arc<Batch>> {
        self.pending.built().map(|built| Arc::clone(&built.batch))
    }

    /// Appends the pending batch, unless a request that follows from it is being prepared.
    pub(super) fn flush_if_ready(&mut self) {
        let (invocations, history) = (&self.invocations, &self.history);
        let awaits =
            |built: &BuiltBatch| invocations.preparing().any(|agent| built.changes(agent, history));
        if let Some(built) = self.pending.take_if_ready(awaits) {
            self.append(built);
        }
    }

    pub(super) fn append(&mut self, built: BuiltBatch) {
        self.commands.push(Command::Append(Arc::clone(&built.batch)));
        for placed in &built.batch.entries {
            if planted!(TellBeforeDurable) {
                self.commands.push(Command::Publish(Notice::Entry(Arc::clone(&placed.entry))));
            }
            if planted!(RunBeforeDurable) {
                self.calls.note(&placed.entry);
                if let Fact::ToolStarted(started) = &placed.entry.fact {
                    self.run(&placed.entry, started);
                }
            }
            if planted!(SendBeforeDurable) {
                self.proceed(&placed.entry);
            }
        }
        self.pending = PendingBatch::Appending { built, failures: 0 };
    }

    /// The append under way is durable: now it counts, and what it allows may begin.
    pub(super) fn appended(&mut self) {
        let Some(built) = self.pending.take_appending() else { return };
        let BuiltBatch { batch, history, widgets, moves, .. } = built;
        self.history = history;
        self.widgets = widgets;
        for taken in &batch.taken {
            if planted!(TakeTwice) {
                continue;
            }
            self.inbox.remove(taken.item);
        }
        if batch.entries.iter().any(|placed| matches!(placed.entry.fact, Fact::Rewound(_))) {
            // What was open is settled in the same batch.
            self.calls.settle_all();
        }
        for placed in &batch.entries {
            self.calls.note(&placed.entry);
            self.commands.push(Command::Publish(Notice::Entry(Arc::clone(&placed.entry))));
        }
        self.note_endings(batch.entries.iter().map(|placed| &*placed.entry));
        for Move { agent, from, to } in moves {
            self.commands.push(Command::Publish(Notice::State { agent, from, to }));
        }
        for placed in &batch.entries {
            self.follow_up(&placed.entry);
        }
        if let Some(due) = snapshot_due(&batch) {
            let (history, widgets) = (self.history.clone(), self.widgets.clone());
            let standing = Box::new(Standing { history, widgets });
            self.commands.push(Command::KeepSnapshot { standing, for_good: due.for_good });
        }
    }

    /// What may begin now that its beginning is on record.
    fn follow_up(&mut self, entry: &Entry) {
        match &entry.fact {
            Fact::InvocationStarted(_) => self.proceed(entry),
            Fact::ToolStarted(started) => self.run(entry, started),
            Fact::FileChanged(changed) => self.commands.push(Command::ChangeRecorded(changed.call)),
            Fact::Rewound(_)
            | Fact::AgentJoined(_)
            | Fact::AgentLeft(_)
            | Fact::InstructionSet(_)
            | Fact::Input(_)
            | Fact::Output(_)
            | Fact::ToolResults(_)
            | Fact::InvocationFailed(_)
            | Fact::ToolFinished(_)
            | Fact::ApprovalAsked(_)
            | Fact::ApprovalGiven(_)
            | Fact::PolicySet(_)
            | Fact::WidgetChanged(_)
            | Fact::AgentCalled(_)
            | Fact::AgentReturned(_)
            | Fact::TimerSet(_)
            | Fact::TimerCleared(_)
            | Fact::TurnEnded(_)
            | Fact::Recap(_)
            | Fact::Pinned(_)
            | Fact::Described(_)
            | Fact::Forked(_)
            | Fact::Moved(_)
            | Fact::WorkspaceSet(_)
            | Fact::AuthorityReset(_)
            | Fact::Note(_)
            | Fact::Unrecognised(_) => {}
        }
    }

    fn run(&mut self, entry: &Entry, started: &ToolStarted) {
        // The call and its tool were there when the start was placed; they cannot have gone.
        if let Some((run, running)) = self.run_of(entry, started) {
            self.calls.run(started.call, running);
            self.commands.push(Command::Run(run));
        }
    }

    /// The append under way did not answer, or was refused.
    pub(super) fn not_appended(&mut self, setback: Setback) {
        let PendingBatch::Appending { built, .. } = &self.pending else { return };
        match setback {
            Setback::Fenced if planted!(IgnoreFence) => self.appended(),
            Setback::AnswerLost(_) if planted!(BlindRetry) => self.pending = PendingBatch::None,
            Setback::Fenced => self.stop(Stopped::LeaseLost),
            Setback::ItemGone(gone) => match built.contents {
                Contents::Messages => self.drop_batch(gone),
                Contents::Derived | Contents::Completions => self.stop(unexpected(gone)),
            },
            Setback::Never(why) => self.stop(Stopped::Store(why)),
            // The same batch again: a store that has it says so.
            Setback::AnswerLost(why) | Setback::Later(why) => {
                if planted!(KeepChange) {
                    self.widgets = built.widgets.clone();
                }
                let failures = self.pending.note_failure();
                let ms = doubled(AGAIN_MS, failures.saturating_sub(1), AGAIN_CAP_MS);
                self.commands.push(Command::Publish(Notice::Stalled(why.into())));
                self.commands.push(Command::Sleep { alarm: Alarm::Append, ms });
            }
        }
    }

    /// The sender edited or withdrew a message that the batch takes: the driver derives another batch
    /// without it. Requests that were prepared on the batch are given up; none was sent.
    fn drop_batch(&mut self, gone: ItemNumber) {
        self.pending = PendingBatch::None;
        self.inbox.remove(gone);
        for agent in self.invocations.unsent() {
            self.give_up(agent);
        }
        self.commands.push(Command::DropContexts);
    }

    pub(super) fn append_again(&mut self) {
        self.commands.extend(self.pending.append_command());
    }
}

/// A pause that doubles with every time, up to a cap.
pub(super) fn doubled(first_ms: u64, times: u32, cap_ms: u64) -> u64 {
    first_ms.saturating_mul(1_u64.checked_shl(times).unwrap_or(u64::MAX)).min(cap_ms)
}
