//! Change notifications within a process.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use threadline_core::id::ConversationId;
use threadline_core::store::{Change, Changes};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// How many changes a slow subscriber may lag behind before it only learns that something changed.
const CAPACITY: usize = 64;

/// Sends changes to all subscribers of a store.
#[derive(Clone, Default)]
pub(crate) struct ChangeSender(Arc<Mutex<Vec<Subscriber>>>);

struct Subscriber {
    only: Option<ConversationId>,
    sender: Sender<Change>,
    lagged: Arc<AtomicBool>,
}

impl ChangeSender {
    /// Sends a change to all subscribers that it concerns.
    pub(crate) fn send(&self, change: Change) {
        self.subscribers().retain(|subscriber| subscriber.send(change));
    }

    pub(crate) fn has_subscribers(&self) -> bool {
        let mut subscribers = self.subscribers();
        subscribers.retain(|subscriber| !subscriber.sender.is_closed());
        !subscribers.is_empty()
    }

    /// Subscribes to the changes of one conversation, or of all.
    pub(crate) fn subscribe(&self, only: Option<ConversationId>) -> Box<dyn Changes> {
        let (sender, receiver) = channel(CAPACITY);
        let lagged = Arc::new(AtomicBool::new(false));
        let subscription = Subscription { receiver, lagged: Arc::clone(&lagged) };
        self.subscribers().push(Subscriber { only, sender, lagged });
        Box::new(subscription)
    }

    fn subscribers(&self) -> MutexGuard<'_, Vec<Subscriber>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Subscriber {
    /// Returns whether it still listens.
    fn send(&self, change: Change) -> bool {
        if self.only.is_some_and(|only| !change.concerns(only)) {
            return true;
        }
        match self.sender.try_send(change) {
            Ok(()) => true,
            Err(TrySendError::Full(_)) => {
                self.lagged.store(true, Ordering::Release);
                true
            }
            Err(TrySendError::Closed(_)) => false,
        }
    }
}

struct Subscription {
    receiver: Receiver<Change>,
    lagged: Arc<AtomicBool>,
}

#[async_trait]
impl Changes for Subscription {
    async fn next(&mut self) -> Change {
        match self.receiver.recv().await {
            // A change was dropped while the channel was full, so this one stands for all of them.
            Some(_) if self.lagged.swap(false, Ordering::AcqRel) => Change::Unknown,
            Some(change) => change,
            // The store is gone: nothing changes any more.
            None => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use threadline_core::id::ConversationId;
    use uuid::Uuid;

    use super::*;

    #[tokio::test]
    async fn a_subscriber_receives_what_concerns_it_and_learns_that_it_lagged() {
        let [one, two] = [1, 2].map(|n| ConversationId(Uuid::from_u128(n)));
        let changes = ChangeSender::default();
        assert!(!changes.has_subscribers());
        let (mut all, mut only) = (changes.subscribe(None), changes.subscribe(Some(two)));
        changes.send(Change::History(one));
        changes.send(Change::Inbox(two));
        assert_eq!(all.next().await, Change::History(one));
        assert_eq!(all.next().await, Change::Inbox(two));
        assert_eq!(only.next().await, Change::Inbox(two));
        for _ in 0..=CAPACITY {
            changes.send(Change::Lease(two));
        }
        assert_eq!(only.next().await, Change::Unknown);
        assert_eq!(only.next().await, Change::Lease(two));
        drop((all, only));
        assert!(!changes.has_subscribers());
    }
}
