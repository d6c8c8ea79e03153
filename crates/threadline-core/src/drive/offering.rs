//! What is said while nothing is under way goes in at once: it need not be written into the inbox
//! before it is written into the history.
//!
//! It goes into one batch with the beginning of the invocation that follows from it, under its key,
//! and whoever said it is answered once that is durable. If the store refuses that batch, because
//! the key was used before or an attachment is not there, only what followed from it goes with it:
//! the inbox has the words for whoever said it.

use std::sync::Arc;

use super::Driver;
use super::command::Command;
use super::place::{Beside, Sheet};
use crate::clock::Timestamp;
use crate::history::fact::Input;
use crate::id::AgentId;
use crate::inbox::{Body, CLIENT_KEY_CAP_BYTES, Item};

/// Something that goes in at once.
pub(super) struct Offer {
    agent: AgentId,
    input: Input,
}

impl Driver {
    /// Takes what was offered, or declines it.
    pub(super) fn offered(&mut self, item: Item, at: Timestamp, out: &mut Vec<Command>) {
        match self.fitting(item, at) {
            Some(offer) => self.offer = Some(offer),
            None => out.push(Command::Decline),
        }
    }

    /// What is offered, if it can go in at once: it is an input, its agent is free, and nothing is
    /// under way or waits before it.
    fn fitting(&self, item: Item, at: Timestamp) -> Option<Offer> {
        let Item { client_key, to, mode: _, due: None, body: Body::Input(input) } = item else {
            return None;
        };
        let agent = to.or_else(|| self.history.state().primary())?;
        let in_turn = self.history.state().agents.values().any(|agent| agent.in_turn());
        let fits = self.resting
            && !in_turn
            && !self.history.is_copy()
            && client_key.len() <= CLIENT_KEY_CAP_BYTES
            && !self.has_due_items(at)
            && self.is_free(&self.history, agent);
        fits.then_some(Offer { agent, input: Input { client_key: Some(client_key), ..input } })
    }

    /// Places what goes in at once.
    pub(super) fn place_offer(&mut self, sheet: &mut Sheet<'_>, out: &mut Vec<Command>) {
        let Some(Offer { agent, input }) = self.offer.take() else { return };
        let key = input.client_key.clone();
        match sheet.place(agent, input, Beside::default()) {
            Ok(seq) => {
                sheet.offered = key;
                out.push(Command::Accept(seq));
            }
            // From the inbox it is taken and refused in words.
            Err(_) => out.push(Command::Decline),
        }
    }

    /// What went in at once is durable: it does not come through the inbox any more, even if a list
    /// that was read before has it.
    pub(super) fn offer_is_durable(&mut self, key: Arc<str>) {
        self.inbox.retain(|_, item| item.client_key != key);
        self.said.note(key);
    }

    /// The store refuses what was to go in at once: all that was placed with it goes. Nothing else
    /// was under way, so that all of it is known from elsewhere or follows from it.
    pub(super) fn withdraw_offer(&mut self, out: &mut Vec<Command>) {
        self.appending = None;
        let asking: Vec<AgentId> = self.asking.keys().copied().collect();
        for agent in asking {
            self.give_up(agent, out);
        }
        self.landed.clear();
        self.cancelling.clear();
        out.push(Command::Withdraw);
    }
}
