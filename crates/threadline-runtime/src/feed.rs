//! The feed: what watchers receive, resumable by seq. A slow watcher is cut off, and harms nobody.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use threadline_core::drive::Notice;
use threadline_core::history::entry::Entry;
use threadline_core::id::{CallId, ConversationId, Seq};
use threadline_core::store::{Page, Storage, StoreError, verified_page};
use threadline_core::tool::ProgressReport;
use tokio::sync::mpsc;
use tokio::time::{Duration, Instant, sleep_until};

/// How much a watcher may lag behind before it is cut off.
const LAG_CAP: usize = 1024;
/// How many records are read at a time.
const PAGE: usize = 256;

/// What a watcher is told.
#[derive(Clone, Debug)]
pub enum News {
    /// An entry is durable, a model answers, an agent moves on.
    Notice(Notice),
    /// A call tells how far it is.
    Progress {
        /// The call.
        call: CallId,
        /// How far it is.
        report: ProgressReport,
    },
}

/// A watcher was too slow: it can watch again from this entry on, and misses no entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this watcher was too slow and was cut off; watch again after entry {0}")]
pub struct CutOff(pub Seq);

/// Tells everyone who watches a conversation.
#[derive(Default)]
pub(crate) struct Feed {
    watchers: Mutex<Vec<mpsc::Sender<Arc<News>>>>,
}

impl Feed {
    pub(crate) fn tell(&self, news: News) {
        let mut watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        if watchers.is_empty() {
            return;
        }
        let news = Arc::new(news);
        // One that is full is dropped: its receiver sees the end and says where to go on.
        watchers.retain(|watcher| watcher.try_send(Arc::clone(&news)).is_ok());
        if watchers.is_empty() {
            watchers.shrink_to_fit();
        }
    }

    pub(crate) fn is_watched(&self) -> bool {
        let mut watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        watchers.retain(|watcher| !watcher.is_closed());
        !watchers.is_empty()
    }

    pub(crate) fn watch(
        self: &Arc<Self>,
        store: Arc<dyn Storage>,
        conversation: ConversationId,
        after: Seq,
    ) -> Watcher {
        let (sender, receiver) = mpsc::channel(LAG_CAP);
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner).push(sender);
        let feed = Arc::clone(self);
        Watcher {
            _feed: feed,
            store,
            conversation,
            receiver,
            last: after,
            stored: Some(VecDeque::new()),
            look: None,
            fills_gaps: true,
        }
    }
}

/// Receives what happens in a conversation: first what is stored, then what is new.
///
/// Every entry comes once, in order, without a gap (but see [`Watcher::here`]). Deltas and states
/// come as they happen and are not repeated.
pub struct Watcher {
    /// The feed lives as long as someone watches.
    _feed: Arc<Feed>,
    store: Arc<dyn Storage>,
    conversation: ConversationId,
    receiver: mpsc::Receiver<Arc<News>>,
    last: Seq,
    /// Stored entries that were read and not yet given; none once all are given.
    stored: Option<VecDeque<Entry>>,
    /// How often to look for what other processes have stored, and when next.
    look: Option<(Duration, Instant)>,
    /// Whether what other processes stored in between is given too.
    fills_gaps: bool,
}

/// What a watcher meets instead of news.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// It was too slow.
    #[error(transparent)]
    CutOff(#[from] CutOff),
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Watcher {
    /// The same watcher, which also looks into the store every so often: other processes append
    /// there, and tell nobody here.
    #[must_use]
    pub fn looking(self, every: Duration) -> Self {
        Self { look: Some((every, Instant::now() + every)), ..self }
    }

    /// The same watcher, which from now on leaves out what other processes append between what is
    /// new in this one.
    #[must_use]
    pub fn here(self) -> Self {
        Self { fills_gaps: false, ..self }
    }

    /// The last entry that was given.
    pub fn last(&self) -> Seq {
        self.last
    }

    /// The next news; waits for it.
    pub async fn next(&mut self) -> Result<News, WatchError> {
        loop {
            if let Some(entry) = self.next_stored().await? {
                self.last = entry.seq;
                return Ok(News::Notice(Notice::Entry(Arc::new(entry))));
            }
            let look_at = self.look.map(|(_, at)| at);
            let news = tokio::select! {
                biased;
                news = self.receiver.recv() => news,
                () = sleep_until(look_at.unwrap_or_else(Instant::now)), if look_at.is_some() => {
                    self.look = self.look.map(|(every, _)| (every, Instant::now() + every));
                    self.stored = Some(VecDeque::new());
                    continue;
                }
            };
            let Some(news) = news else { return Err(CutOff(self.last).into()) };
            if let News::Notice(Notice::Entry(entry)) = &*news {
                if entry.seq <= self.last {
                    continue;
                }
                if entry.seq > self.last.next() && self.fills_gaps {
                    // Another process wrote what lies between: all of it is stored by now.
                    self.stored = Some(VecDeque::new());
                    continue;
                }
                self.last = entry.seq;
            }
            return Ok(Arc::unwrap_or_clone(news));
        }
    }

    /// The next entry that is stored, as long as not all of them are given.
    async fn next_stored(&mut self) -> Result<Option<Entry>, StoreError> {
        let Some(stored) = &mut self.stored else { return Ok(None) };
        if let Some(entry) = stored.pop_front() {
            return Ok(Some(entry));
        }
        let page = Page::forward(self.last.next(), PAGE);
        let entries = verified_page(&*self.store, self.conversation, &page).await?;
        if entries.is_empty() {
            self.stored = None;
            return Ok(None);
        }
        let mut entries = VecDeque::from(entries);
        let first = entries.pop_front();
        self.stored = Some(entries);
        Ok(first)
    }
}
