//! The door of a conversation: how whoever drives it here is told that something came.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use threadline_core::id::Seq;
use threadline_core::inbox::Item;
use tokio::sync::{Notify, oneshot};

/// Where a driver is knocked for.
#[derive(Default)]
pub(crate) struct Door {
    knocked: Notify,
    before: Mutex<Before>,
}

/// What is before the door.
#[derive(Default)]
pub(crate) struct Before {
    /// Whether there may be something new in the inbox.
    pub(crate) inbox: bool,
    /// What is offered past it.
    pub(crate) offers: VecDeque<Offer>,
}

/// Something that is said past the inbox. Whoever lets go of it declines it.
pub(crate) struct Offer {
    pub(crate) item: Item,
    /// The entry that it becomes, once it is placed.
    pub(crate) accepted: Option<Seq>,
    answer: oneshot::Sender<Seq>,
}

/// Where the answer to an offer comes: the entry it became, once that is durable. If it was declined
/// nothing comes.
pub(crate) type Answer = oneshot::Receiver<Seq>;

impl Offer {
    pub(crate) fn new(item: &Item) -> (Self, Answer) {
        let (answer, comes) = oneshot::channel();
        (Self { item: item.clone(), accepted: None, answer }, comes)
    }

    /// Tells that it is durable. Nobody may be waiting for that any more.
    pub(crate) fn tell_durable(self, seq: Seq) {
        let _ = self.answer.send(seq);
    }
}

impl Door {
    /// Has the inbox looked into.
    pub(crate) fn poke(&self) {
        self.lock().inbox = true;
        self.knocked.notify_one();
    }

    /// Offers something.
    pub(crate) fn offer(&self, offer: Offer) {
        self.lock().offers.push_back(offer);
        self.knocked.notify_one();
    }

    /// Waits for a knock, unless there was one that nobody heard.
    pub(crate) async fn knocked(&self) {
        self.knocked.notified().await;
    }

    /// Lets in all that is before it.
    pub(crate) fn open(&self) -> Before {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Before> {
        self.before.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
