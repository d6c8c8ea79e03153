//! Recaps: when one is written, and what becomes of what the model wrote.

use std::sync::Arc;

use super::Driver;
use super::asking::{Asking, ENDED, What};
use super::command::{Command, GatherRecap};
use super::event::Ticket;
use super::place::{Beside, Failure, Landed, NotPlaced, Sheet, failed};
use super::setting::Shown;
use crate::choose::Chosen;
use crate::context::plan::{Ask, Plan, budget};
use crate::context::recap::{self, RecapAsk, RecapSource};
use crate::history::History;
use crate::history::fact::{AgentJoined, Block, FailureKind, InvocationFailed, Note, Recap};
use crate::history::metadata::Metadata;
use crate::history::state::{Agent, Stage};
use crate::id::AgentId;
use crate::inbox::ItemNumber;
use crate::provider::{Assembled, Partial, Request};
use crate::tool::Catalogue;

/// A recap that someone asked for.
pub(super) struct RecapItem {
    item: ItemNumber,
    hints: Vec<String>,
}

/// A recap that is being written.
pub(super) struct Recapping {
    ask: RecapAsk,
    source: Option<RecapSource>,
    /// The item that asked for it.
    pub(super) item: Option<ItemNumber>,
}

impl Driver {
    /// Takes note that someone asks for a recap. The item is taken with what comes of it.
    pub(super) fn want_recap(
        &mut self,
        history: &History,
        item: ItemNumber,
        agent: Option<AgentId>,
        hints: Vec<String>,
    ) -> Result<(), NotPlaced> {
        // It is heard of again as long as it waits. Whoever it was for when it began, it is being
        // written; before that it is for whom it would mean now.
        let is_its = |asking: &Asking| match &asking.what {
            What::Step { .. } => false,
            What::Recap(recapping) => recapping.item == Some(item),
        };
        let has_ended = self.landed.iter().any(|landed| landed.item() == Some(item));
        if has_ended || self.invocations.active.values().any(is_its) {
            return Ok(());
        }
        self.invocations.recaps.retain(|_, wanted| wanted.item != item);
        let agent = agent.filter(|agent| history.agent(*agent).is_some_and(|agent| agent.present));
        let Some(agent) = agent else {
            return Err(NotPlaced::Refused("there is no such agent here".to_owned()));
        };
        if self.history.is_copy() && self.history.agent(agent).is_some_and(Agent::in_turn) {
            let why = "a turn of this copy was cut off; ask again now that it is settled";
            return Err(NotPlaced::Refused(why.to_owned()));
        }
        if let Err(none) = self.choose(history, agent) {
            return Err(NotPlaced::Refused(none.to_string()));
        }
        // One at a time: the next one is heard of again once this one is taken.
        let waits = self
            .invocations
            .recaps
            .get(&agent)
            .is_some_and(|wanted| self.inbox.contains(wanted.item));
        let is_written =
            self.invocations.active.get(&agent).is_some_and(|asking| match &asking.what {
                What::Step { .. } => false,
                What::Recap(recapping) => recapping.item.is_some(),
            });
        if !waits && !is_written {
            self.invocations.recaps.insert(agent, RecapItem { item, hints });
        }
        Ok(())
    }

    /// Whether a recap that someone asked for can begin: not between calls and their seal.
    pub(super) fn wants_recap(&self, agent: AgentId) -> bool {
        let Some(state) = self.ahead().agent(agent).filter(|agent| agent.present) else {
            return false;
        };
        self.invocations.recaps.get(&agent).is_some_and(|wanted| self.inbox.contains(wanted.item))
            && state.invoking.is_none()
            && !matches!(state.stage, Stage::Calling(_))
    }

    pub(super) fn gather_asked_recap(&mut self, agent: AgentId) {
        let Some(RecapItem { item, hints }) = self.invocations.recaps.remove(&agent) else {
            return;
        };
        let (Some(state), Ok(chosen)) =
            (self.ahead().agent(agent), self.choose(self.ahead(), agent))
        else {
            let why = "no model can be asked for a recap".to_owned();
            return self.landed.push_back(Landed::NoRecap { agent, item, why });
        };
        let joined = Arc::clone(&state.joined);
        let room = self.room(agent, &chosen, &joined);
        let ask = RecapAsk::asked(self.ahead(), agent, room, hints);
        self.gather_recap(chosen, joined, ask, Some(item));
    }

    /// Whether a plan's wish for a recap is to be met: not again before the border has moved on
    /// past an attempt that gave none.
    pub(super) fn recap_is_due(&self, agent: AgentId, plan: &Plan) -> bool {
        let failed = self.ahead().agent(agent).and_then(|agent| agent.recap_failed);
        let moved_on = failed.is_none_or(|failed| plan.border.is_some_and(|at| at > failed));
        plan.wish.is_some() && moved_on && self.setting.limits.recaps
    }

    /// Begins to write the recap that a plan wishes for, in place of the step it was made for.
    pub(super) fn gather_wished_recap(&mut self, agent: AgentId, plan: &Plan) {
        let (Some(wish), Some(asking)) = (plan.wish, self.invocations.active.remove(&agent)) else {
            return;
        };
        let Asking { chosen, joined, .. } = asking;
        let ask = RecapAsk::wished(agent, &wish, budget(&plan.options));
        self.gather_recap(chosen, joined, ask, None);
    }

    /// What a request to a model may take.
    fn room(&self, agent: AgentId, chosen: &Chosen, joined: &AgentJoined) -> u64 {
        let model = (&chosen.target.invocation, &chosen.target.profile);
        let none = Catalogue::default();
        let ask = Ask::new(self.ahead(), agent, model, &joined.options, &none, &[]);
        budget(&ask.options)
    }

    fn gather_recap(
        &mut self,
        chosen: Chosen,
        joined: Arc<AgentJoined>,
        ask: RecapAsk,
        item: Option<ItemNumber>,
    ) {
        let (agent, ticket) = (ask.agent, self.invocations.next_ticket());
        let (history, unstored) = (self.ahead().clone(), self.unstored());
        let gather = Box::new(GatherRecap { history, unstored, ask: ask.clone() });
        self.commands.push(Command::GatherRecap { agent, ticket, gather });
        let what = What::Recap(Box::new(Recapping { ask, source: None, item }));
        let shown = Shown { catalogue: Arc::default(), kept: None };
        let counter = Arc::clone(&self.setting.counter);
        self.invocations
            .active
            .insert(agent, Asking::new(ticket, chosen, joined, shown, what, counter));
    }

    pub(super) fn recap_gathered(
        &mut self,
        agent: AgentId,
        ticket: Ticket,
        source: Option<Box<RecapSource>>,
    ) {
        let setting = Arc::clone(&self.setting);
        let asking = self.invocations.get_mut(agent, ticket);
        let Some(asking) = asking else { return };
        let What::Recap(recapping) = &mut asking.what else { return };
        let Some(source) = source else {
            let item = recapping.item;
            self.invocations.active.remove(&agent);
            match item {
                Some(item) => {
                    let why = "there is nothing to be recapped yet".to_owned();
                    self.landed.push_back(Landed::NoRecap { agent, item, why });
                }
                // Nothing of the range fits the window: the step goes on without a recap.
                None => self.gather(agent, false),
            }
            return;
        };
        let context = Arc::new(recap::request(&recapping.ask, &source, &*setting.counter));
        recapping.source = Some(*source);
        let model = (&asking.chosen.target.invocation, &asking.chosen.target.profile);
        let none = Catalogue::default();
        let ask = Ask::new(&self.history, agent, model, &asking.joined.options, &none, &[]);
        asking.prepare(ask.options, context.digest(), context.tokens());
        let (target, options) = (Arc::clone(&asking.chosen.target), asking.joined.options.clone());
        let request = Request::recap(target, context, options);
        self.commands.push(Command::Invoke { agent, ticket, request: Box::new(request) });
    }

    /// A model wrote a recap: it is recorded, or why not.
    pub(super) fn recap_answered(
        &mut self,
        agent: AgentId,
        recapping: Recapping,
        finished: Result<Assembled, Partial>,
    ) {
        let Recapping { ask, source, item } = recapping;
        let answer = match finished {
            Ok(answer) => answer,
            Err(partial) => {
                let (kind, message) = (FailureKind::Protocol, ENDED.to_owned());
                let failure = Failure::new(kind, message, partial);
                return self.landed.push_back(Landed::RecapFailed { agent, failure, item });
            }
        };
        let said = answer.blocks.iter().filter_map(|block| match block {
            Block::Text(text) => Some(&*text.text),
            Block::Thinking(_) | Block::ToolCall(_) | Block::Foreign(_) => None,
        });
        let text = said.collect::<Vec<_>>().join("\n");
        let Some(source) = source else { return };
        let (usage, cost) = (Some(answer.usage), answer.cost);
        match recap::judge(&text, &source) {
            Ok(written) => {
                let recap = Recap {
                    from: source.from,
                    to: source.to,
                    text: Some(written.text),
                    hints: ask.hints,
                    asked: ask.asked,
                    dropped: written.dropped,
                    usage,
                    cost,
                };
                let metadata = answer.metadata;
                self.landed.push_back(Landed::Recap { agent, recap, metadata, item });
            }
            Err(refused) => {
                let partial =
                    Partial { streamed: answer.blocks, usage, cost, metadata: answer.metadata };
                let (kind, message) = (FailureKind::Refused, refused.to_string());
                let failure = Failure::new(kind, message, partial);
                self.landed.push_back(Landed::RecapFailed { agent, failure, item });
            }
        }
    }

    /// Records a recap.
    pub(super) fn place_recap(
        &mut self,
        sheet: &mut Sheet<'_>,
        agent: AgentId,
        recap: Recap,
        metadata: Metadata,
        item: Option<ItemNumber>,
    ) {
        let Some(cause) = aside(sheet, agent) else { return };
        let beside = Beside { cause: Some(cause), metadata: metadata.clone(), takes: item };
        match sheet.place(agent, recap.clone(), beside) {
            Ok(_) => {}
            Err(NotPlaced::Full) => {
                self.landed.push_front(Landed::Recap { agent, recap, metadata, item });
            }
            Err(NotPlaced::Refused(message)) => {
                let partial =
                    Partial { usage: recap.usage, cost: recap.cost, ..Partial::default() };
                let kind = FailureKind::Refused;
                let failure = Failure::new(kind, message, partial);
                self.place_recap_failure(sheet, agent, failure, item);
            }
        }
    }

    /// Records that no recap came of an attempt.
    pub(super) fn place_recap_failure(
        &mut self,
        sheet: &mut Sheet<'_>,
        agent: AgentId,
        failure: Failure,
        item: Option<ItemNumber>,
    ) {
        if let Some(started) = aside(sheet, agent) {
            let bare = InvocationFailed {
                usage: failure.partial.usage,
                cost: failure.partial.cost,
                ..failed(started, failure.kind, &failure.message)
            };
            let streamed = failure.partial.streamed.clone();
            let whole = InvocationFailed { streamed, ..bare.clone() };
            let metadata = failure.partial.metadata.clone();
            if !sheet.place_or(agent, whole, bare, metadata, started) {
                if sheet.full {
                    self.landed.push_front(Landed::RecapFailed { agent, failure, item });
                }
                return;
            }
        }
        if let Some(item) = item {
            self.place_no_recap(sheet, agent, item, failure.message);
        }
    }

    /// Takes the item of a recap that did not come about, and says why.
    pub(super) fn place_no_recap(
        &mut self,
        sheet: &mut Sheet<'_>,
        agent: AgentId,
        item: ItemNumber,
        why: String,
    ) {
        if sheet.draft.takes(item) || !self.inbox.contains(item) {
            return;
        }
        let note = Note::refused(format!("no recap: {why}"));
        let placed = sheet.place(AgentId::CONVERSATION, note, Beside::takes(item));
        if matches!(placed, Err(NotPlaced::Full)) {
            self.landed.push_front(Landed::NoRecap { agent, item, why });
        }
    }
}

/// The invocation for a recap that is under way.
fn aside(sheet: &Sheet<'_>, agent: AgentId) -> Option<crate::id::Seq> {
    sheet.draft.history().agent(agent).and_then(|agent| agent.invoking_aside)
}
