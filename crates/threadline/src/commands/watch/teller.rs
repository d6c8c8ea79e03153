//! Telling what happens in a conversation for as long as it is looked after.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use threadline_core::drive::Notice;
use threadline_core::history::entry::Entry;
use threadline_core::id::{ConversationId, Seq};
use threadline_core::inbox::ItemNumber;
use threadline_core::store::{StoreError, verified_entry};
use threadline_runtime::{News, Runtime, Settled, WatchError, Watcher};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use super::told::Told;
use super::{ITEMS, LET_BE, LET_BE_CAP};
use crate::outage::passes;
use crate::talk::Cast;

/// How long nothing happens before it is looked at whether all is told: longer than a driver stays
/// at hand after its conversation came to rest.
const QUIET: Duration = Duration::from_secs(2);

/// The conversations that are told of, and how often each was taken up.
#[derive(Clone, Default)]
pub(super) struct Followed(Arc<Mutex<BTreeMap<ConversationId, u64>>>);

impl Followed {
    pub(super) fn lock(&self) -> MutexGuard<'_, BTreeMap<ConversationId, u64>> {
        // Nothing panics in between, so that a poisoned lock still guards whole data.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn rounds(&self, id: ConversationId) -> u64 {
        self.lock().get(&id).copied().unwrap_or_default()
    }

    /// Ends telling of a conversation, unless it was taken up again.
    fn leave(&self, id: ConversationId, rounds: u64) -> bool {
        let mut followed = self.lock();
        let over = followed.get(&id) == Some(&rounds);
        if over {
            followed.remove(&id);
        }
        over
    }
}

/// Whose entries are told of, and for how long.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// Those of this process, until it has done with the conversation.
    Own,
    /// Those of all processes, for good.
    All,
}

/// Tells what happens in a conversation.
pub(super) struct Teller {
    pub(super) id: ConversationId,
    pub(super) whose: Whose,
    pub(super) cast: Cast,
    pub(super) runtime: Runtime,
    pub(super) sender: mpsc::Sender<Told>,
    pub(super) followed: Followed,
}

impl Teller {
    pub(super) fn watch(&self, after: Seq) -> Watcher {
        let watcher = self.runtime.watch(self.id, after);
        match self.whose {
            Whose::Own => watcher.here(),
            Whose::All => watcher.looking(),
        }
    }

    pub(super) async fn run(mut self, mut watcher: Watcher) {
        let (mut pause, mut failure) = (LET_BE, None);
        loop {
            let rounds = self.followed.rounds(self.id);
            let (told, failed) = match timeout(QUIET, watcher.next()).await {
                Ok(Ok(News::Notice(Notice::Entry(entry)))) => (self.entry(&entry).await, false),
                Ok(Ok(_)) => (None, false),
                Ok(Err(WatchError::CutOff(cut))) => {
                    watcher = self.watch(cut.0);
                    (None, false)
                }
                Ok(Err(WatchError::Store(error))) => {
                    // A repeated failure is printed once, and the main loop reports outages.
                    let text = error.to_string();
                    let is_new = failure.as_ref() != Some(&text) && !passes(&error.into());
                    failure = Some(text.clone());
                    (is_new.then(|| Told::failed(self.id, text)), true)
                }
                Ok(Err(WatchError::Stopped)) => return,
                Err(_quiet) => {
                    if self.is_over().await && self.followed.leave(self.id, rounds) {
                        return;
                    }
                    (None, false)
                }
            };
            if let Some(told) = told
                && self.sender.send(told).await.is_err()
            {
                return;
            }
            if !failed {
                (pause, failure) = (LET_BE, None);
                continue;
            }
            if self.is_over().await && self.followed.leave(self.id, rounds) {
                return;
            }
            sleep(pause).await;
            pause = (pause * 2).min(LET_BE_CAP);
        }
    }

    async fn entry(&mut self, entry: &Entry) -> Option<Told> {
        if let Some(call) = entry.fact.as_input().and_then(|input| input.from.call()) {
            // Who made the call tells a task from the answer to one; it may have been long ago.
            let store = &self.runtime.world().store;
            if let Ok(made) = verified_entry(&**store, self.id, call.output).await {
                self.cast.see(&made);
            }
        }
        self.cast.see(entry);
        Told::of(self.id, &self.cast, entry)
    }

    /// Whether nothing more happens here before the conversation is taken up again.
    async fn is_over(&self) -> bool {
        if self.whose == Whose::All {
            return false;
        }
        match timeout(Duration::ZERO, self.runtime.settled(self.id)).await {
            Err(_under_way) => false,
            Ok(Settled::Failed(_)) => true,
            // What waits for a time goes on by itself.
            Ok(Settled::Resting(_)) => !self.waits_for_a_time().await.unwrap_or(true),
        }
    }

    async fn waits_for_a_time(&self) -> Result<bool, StoreError> {
        let store = &self.runtime.world().store;
        if store.conversation(self.id).await?.sums.wake_at.is_some() {
            return Ok(true);
        }
        let waiting = store.waiting(self.id, ItemNumber(0), ITEMS).await?;
        Ok(waiting.iter().any(|(_, item)| item.due.is_some()))
    }
}
