//! What comes through the inbox, and what falls due: inputs, answers, cancels, commands, timers.

use std::sync::Arc;

use super::Driver;
use super::appending::Move;
use super::asking::{Asking, What};
use super::command::{Command, Notice, Stopped};
use super::event::{Alarm, Past, Setback, Ticket};
use super::peers::stop_later;
use super::pending_batch::{BuiltBatch, Contents};
use super::place::{Beside, Ending, Landed, NotPlaced, Sheet};
use super::planted::planted;
use super::step::{CallStep, RunState, Step, next_step, run_state};
use crate::clock::Timestamp;
use crate::history::batch::Taken;
use crate::history::fact::{Answer, ApprovalGiven, Approver, EndReason, Input, Note};
use crate::history::state::{Agent, Stage};
use crate::history::{History, Stamp};
use crate::id::{AgentId, CallId, Seq};
use crate::inbox::{self, Body, Item, ItemNumber, Mode};
use crate::provider::Partial;

/// How long to wait before the state that a rewind leads to is read again.
const READ_AGAIN_MS: u64 = 1_000;

/// A turn that is being stopped.
pub(super) struct Cancelling {
    /// The item that asked for it; none if it stops because its caller's turn does.
    item: Option<ItemNumber>,
    /// The pause in which its calls have to stop.
    grace: Ticket,
    /// What had come of an answer.
    partial: Partial,
}

/// A rewind under way.
pub(super) struct Rewinding {
    item: ItemNumber,
    to: Seq,
}

impl Driver {
    /// Takes in what waits, in order, as far as it can go in now.
    pub(super) fn place_items(&mut self, sheet: &mut Sheet<'_>) {
        for (number, item) in self.inbox.due(sheet.at) {
            if sheet.full || self.rewinding.is_some() {
                return;
            }
            // What stops a turn is taken once that has ended, whoever it would mean by then.
            let stops = self.cancelling.values().any(|cancelling| cancelling.item == Some(number));
            if stops || sheet.draft.takes(number) {
                continue;
            }
            let agent = item.to.or_else(|| sheet.draft.history().state().primary());
            let is_message = matches!(item.body, Body::Input(_));
            let placed = match (&item.body, agent) {
                (Body::Command(inbox::Command::Rewind { to }), _) => {
                    if !sheet.draft.is_empty() {
                        // What came before it is recorded first, and nothing follows from that.
                        sheet.urgent = true;
                        return;
                    }
                    self.begin_rewind(number, *to)
                }
                (Body::Command(inbox::Command::Recap { hints }), agent) => {
                    self.want_recap(sheet.draft.history(), number, agent, hints.clone())
                }
                (Body::Command(command), agent) => self
                    .check_join(sheet.draft.history(), command)
                    .and_then(|()| Self::place_command(sheet, number, agent, command.clone())),
                (_, None) => Err(NotPlaced::Refused("there is no agent here".to_owned())),
                (Body::Input(input), Some(agent)) => {
                    self.place_input(sheet, (number, &item), agent, input)
                }
                (Body::Approval { call, digest, answer, by }, Some(agent)) => {
                    let (call, digest, answer, by) = (*call, *digest, *answer, by.clone());
                    let given = ApprovalGiven { call, digest, answer, by };
                    Self::place_answer(sheet, number, agent, given)
                }
                (Body::Cancel, Some(agent)) => self.begin_cancel(sheet, number, agent),
            };
            let Err(NotPlaced::Refused(why)) = placed else { continue };
            if !is_message {
                Self::refuse(sheet, number, &why);
            } else if sheet.admits_messages() {
                Self::refuse(sheet, number, &why);
                sheet.contents = Contents::Messages;
            }
        }
    }

    /// Takes an item that cannot be done, and says why.
    fn refuse(sheet: &mut Sheet<'_>, number: ItemNumber, why: &str) {
        let note = Note::refused(why);
        drop(sheet.place(AgentId::CONVERSATION, note, Beside::takes(number)));
    }

    /// An input goes in when its agent rests; a steering one also before the next invocation.
    fn place_input(
        &mut self,
        sheet: &mut Sheet<'_>,
        (number, item): (ItemNumber, &Item),
        agent: AgentId,
        input: &Input,
    ) -> Result<(), NotPlaced> {
        let Some(state) = sheet.draft.history().agent(agent).filter(|agent| agent.present) else {
            return Err(NotPlaced::Refused(format!("agent {agent} is not in the conversation")));
        };
        let waits =
            state.open_calls().any(|(_, call)| call.timer.is_some() && call.finished.is_none());
        if waits {
            self.end_waits(sheet, agent);
            return Ok(());
        }
        let free = match (&state.stage, item.mode) {
            (Stage::Resting, _) => self.is_free(sheet.draft.history(), agent),
            (Stage::Asked | Stage::Sealed { .. }, Mode::Steer) => {
                // A request that is still being prepared is made again.
                self.invocations.active.get(&agent).is_none_or(Asking::can_begin_again)
                    && state.invoking.is_none()
            }
            (Stage::Calling(_), Mode::Steer) => {
                if run_state(sheet.draft.history(), agent) == RunState::AwaitingApproval {
                    Self::answer_all(sheet, agent);
                }
                false
            }
            (Stage::Asked | Stage::Sealed { .. } | Stage::Calling(_), Mode::Queue) => false,
        };
        if free && !self.cancelling.contains_key(&agent) {
            if sheet.admits_messages() {
                let client_key = Some(Arc::clone(&item.client_key));
                let input = Input { client_key, ..input.clone() };
                sheet.place(agent, input, Beside::takes(number))?;
                sheet.contents = Contents::Messages;
            }
            if self.invocations.can_begin_again(agent) {
                self.give_up(agent);
            }
        }
        Ok(())
    }

    /// A message that steers takes over: what a person was asked about is declined.
    fn answer_all(sheet: &mut Sheet<'_>, agent: AgentId) {
        let Step::Calls(calls) = next_step(sheet.draft.history(), agent) else { return };
        for (id, step) in calls {
            if step == CallStep::Asked {
                Self::answer(sheet, agent, id, Answer::Deny, Approver::NewMessage);
            }
        }
    }

    pub(super) fn answer(
        sheet: &mut Sheet<'_>,
        agent: AgentId,
        id: CallId,
        answer: Answer,
        by: Approver,
    ) {
        let asked = sheet.draft.history().agent(agent).and_then(|agent| {
            agent.open_calls().find(|(open, _)| *open == id).and_then(|(_, call)| call.approval)
        });
        if let Some(asked) = asked {
            let given = ApprovalGiven { call: id, digest: asked.digest, answer, by };
            drop(sheet.place(agent, given, Beside::cause(asked.asked)));
        }
    }

    /// An answer counts if the question is open and was about these very arguments.
    fn place_answer(
        sheet: &mut Sheet<'_>,
        number: ItemNumber,
        to: AgentId,
        given: ApprovalGiven,
    ) -> Result<(), NotPlaced> {
        let agents = &sheet.draft.history().state().agents;
        let asked = agents.iter().find_map(|(agent, state)| {
            let call = state.open_calls().find(|(open, _)| *open == given.call)?.1;
            Some((*agent, call, call.approval?))
        });
        let Some((agent, call, asked)) = asked else {
            let text = format!("call {} of agent {to} is not waiting for an answer", given.call);
            return Err(NotPlaced::Refused(text));
        };
        if !call.takes_answer(given.answer) {
            let text = match (call.started.is_some(), asked.answer) {
                (true, _) => "too late: the call was allowed before and has started",
                (false, Some(Answer::Allow)) => "the call was allowed before",
                (false, Some(Answer::Deny) | None) => "the call was denied before",
            };
            return Err(NotPlaced::Refused(text.to_owned()));
        }
        if asked.until <= sheet.at {
            let text = format!("too late: the question expired at {}", asked.until);
            return Err(NotPlaced::Refused(text));
        }
        if asked.digest != given.digest {
            let text = "the answer is about other arguments than those that are asked about";
            return Err(NotPlaced::Refused(text.to_owned()));
        }
        let beside = Beside { cause: Some(asked.asked), ..Beside::takes(number) };
        sheet.place(agent, given, beside).map(drop)
    }

    /// Refuses an agent that joins with a tool or widget that nothing provides.
    fn check_join(&self, history: &History, command: &inbox::Command) -> Result<(), NotPlaced> {
        let inbox::Command::Join(joined) = command else { return Ok(()) };
        let known = history.state().agent_once_named(&joined.name);
        let now = known.and_then(|known| history.agent(known)).map(|agent| &*agent.joined);
        let checked = self.setting.check_names(joined, now);
        checked.map_err(|unknown| NotPlaced::Refused(unknown.to_string()))
    }

    fn place_command(
        sheet: &mut Sheet<'_>,
        number: ItemNumber,
        agent: Option<AgentId>,
        command: inbox::Command,
    ) -> Result<(), NotPlaced> {
        let fact = command.fact(sheet.draft.history(), agent).map_err(NotPlaced::Refused)?;
        match fact {
            Some((of, fact)) => sheet.place(of, fact, Beside::takes(number)).map(drop),
            None => Ok(()),
        }
    }

    /// Begins to stop a turn: no more answers, no more starts; what runs is told to end.
    fn begin_cancel(
        &mut self,
        sheet: &Sheet<'_>,
        item: ItemNumber,
        agent: AgentId,
    ) -> Result<(), NotPlaced> {
        if let Some(cancelling) = self.cancelling.get_mut(&agent) {
            // One that stops with its caller takes the first cancel of its own along. Any further
            // one is for this turn too, and must not wait for the next.
            return match cancelling.item.get_or_insert(item) {
                first if *first == item => Ok(()),
                _ => Err(NotPlaced::Refused("it is being stopped already".to_owned())),
            };
        }
        if !sheet.draft.history().agent(agent).is_some_and(Agent::in_turn) {
            return Err(NotPlaced::Refused("nothing to cancel: no turn was under way".to_owned()));
        }
        self.cancel_turn(agent, Some(item));
        // Those who work for it stop with it.
        for child in Self::workers(sheet.draft.history(), agent) {
            if !planted!(LeaveChildren) && !self.cancelling.contains_key(&child) {
                self.cancel_turn(child, None);
            }
        }
        Ok(())
    }

    fn cancel_turn(&mut self, agent: AgentId, item: Option<ItemNumber>) {
        let mut partial = Partial::default();
        if let Some(asking) = self.give_up(agent) {
            partial = asking.partial();
            if let What::Recap(recapping) = &asking.what
                && let Some(item) = recapping.item
            {
                let why = "the turn was cancelled".to_owned();
                self.landed.push_back(Landed::NoRecap { agent, item, why });
            }
        }
        self.invocations.cancel_pause(agent);
        let running = self.calls.running_of(agent);
        let grace = self.invocations.next_ticket();
        if !running.is_empty() {
            self.commands.extend(running.into_iter().map(Command::StopCall));
            let ms = self.setting.limits.grace_ms;
            self.commands.push(Command::Sleep { alarm: Alarm::Grace(agent, grace), ms });
        }
        self.cancelling.insert(agent, Cancelling { item, grace, partial });
    }

    /// Calls that did not stop in their time are given up.
    pub(super) fn grace_is_over(&mut self, agent: AgentId, grace: Ticket) {
        if self.cancelling.get(&agent).is_some_and(|cancelling| cancelling.grace == grace) {
            self.calls.abandon(agent);
        }
    }

    /// Ends the turns that are being stopped, once nothing of them runs any more.
    pub(super) fn place_cancels(&mut self, sheet: &mut Sheet<'_>) {
        if self.cancelling.is_empty() || !sheet.admits_completions() {
            return;
        }
        // A turn ends after those that were begun for it, so that none of them is left, and once
        // it was told how they ended.
        let later = stop_later(sheet.draft.history(), self.cancelling.keys().copied());
        for (agent, cancelling) in std::mem::take(&mut self.cancelling) {
            let runs = !self.calls.running_of(agent).is_empty();
            let waits = later.contains(&agent) && !planted!(LeaveChildren);
            let ended = !runs && !waits && {
                let ending = Ending {
                    takes: cancelling.item.filter(|item| !sheet.draft.takes(*item)),
                    partial: cancelling.partial.clone(),
                    ..Ending::new(EndReason::Cancelled, String::new())
                };
                self.end_turn(sheet, agent, &ending)
            };
            if ended {
                sheet.contents = Contents::Completions;
            } else {
                self.cancelling.insert(agent, cancelling);
            }
        }
    }

    /// Fires timers, and answers questions that nobody answered.
    pub(super) fn place_due(&mut self, sheet: &mut Sheet<'_>) {
        self.place_timers(sheet);
        let at = sheet.at;
        let agents = sheet.draft.history().state().agents.iter();
        let expired = agents.flat_map(|(agent, state)| {
            let asked = state.open_calls().filter_map(|(id, call)| Some((id, call.approval?)));
            let expired =
                asked.filter(|(_, q)| q.answer.is_none() && q.until <= at && !planted!(AskForEver));
            expired.map(|(id, question)| (*agent, id, question.default))
        });
        for (agent, id, default) in expired.collect::<Vec<_>>() {
            Self::answer(sheet, agent, id, default, Approver::Timer);
        }
    }

    /// A rewind needs the state that it leads to, and that nothing is under way.
    fn begin_rewind(&mut self, item: ItemNumber, to: Seq) -> Result<(), NotPlaced> {
        let busy = !self.invocations.is_idle()
            || !self.calls.is_idle()
            || !self.cancelling.is_empty()
            || !self.landed.is_empty();
        if busy {
            let text = "a step is under way: cancel it first, then rewind";
            return Err(NotPlaced::Refused(text.to_owned()));
        }
        if to >= self.history.head() {
            let text = format!("there is no entry {to} to go back to");
            return Err(NotPlaced::Refused(text));
        }
        self.rewinding = Some(Rewinding { item, to });
        self.commands.push(Command::FetchPast { item, to });
        Ok(())
    }

    pub(super) fn fetch_past_again(&mut self) {
        if let Some(Rewinding { item, to }) = self.rewinding {
            self.commands.push(Command::FetchPast { item, to });
        }
    }

    /// The state that a rewind leads to is known: the head moves there.
    pub(super) fn past(
        &mut self,
        item: ItemNumber,
        past: Result<Box<Past>, Setback>,
        at: Timestamp,
    ) {
        if self.rewinding.as_ref().is_none_or(|rewinding| rewinding.item != item) {
            return;
        }
        let past = match past {
            Ok(past) => past,
            Err(Setback::AnswerLost(why) | Setback::Later(why)) => {
                self.commands.push(Command::Publish(Notice::Stalled(why.into())));
                return self
                    .commands
                    .push(Command::Sleep { alarm: Alarm::Rewind, ms: READ_AGAIN_MS });
            }
            Err(Setback::Fenced) => return self.stop(Stopped::LeaseLost),
            Err(Setback::Never(why)) => return self.stop(Stopped::Store(why)),
            Err(Setback::ItemGone(gone)) => return self.stop(unexpected(gone)),
        };
        self.rewinding = None;
        let setting = Arc::clone(&self.setting);
        let stamp = Stamp { at, ids: &*setting.ids, counter: &*setting.counter };
        match self.history.propose_rewind(&past.history, &past.aftermath, stamp) {
            Ok(mut proposed) => {
                let seq = proposed.batch.base.next();
                proposed.batch.taken.push(Taken { item, seq });
                let moves = Move::between(&self.history, &proposed.history).collect();
                self.append(BuiltBatch::urgent(proposed, past.widgets, moves));
            }
            Err(refused) => self.stop(Stopped::Store(refused.to_string())),
        }
    }
}

/// Why a driver stops if the store refuses something that takes no message.
pub(super) fn unexpected(gone: ItemNumber) -> Stopped {
    Stopped::Store(format!("inbox item {} does not wait any more", gone.0))
}
