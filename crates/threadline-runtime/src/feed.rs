//! The feed: what watchers receive, resumable by seq. A slow watcher is cut off, and harms nobody.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use threadline_core::drive::Notice;
use threadline_core::history::entry::Entry;
use threadline_core::id::{AgentId, CallId, ConversationId, Seq};
use threadline_core::store::{Change, Changes, Page, Storage, StoreError, verified_page};
use threadline_core::tool::ProgressReport;
use tokio::sync::mpsc;

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
    /// Whether the runtime has stopped.
    closed: AtomicBool,
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

    /// Ends all watchers, those that come later included.
    pub(crate) fn close(&self) {
        let mut watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        self.closed.store(true, Ordering::Release);
        watchers.clear();
    }

    pub(crate) fn watch(
        self: &Arc<Self>,
        store: Arc<dyn Storage>,
        conversation: ConversationId,
        after: Seq,
    ) -> Watcher {
        let (sender, receiver) = mpsc::channel(LAG_CAP);
        let mut watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.closed.load(Ordering::Acquire) {
            watchers.push(sender);
        }
        drop(watchers);
        let feed = Arc::clone(self);
        Watcher {
            feed,
            store,
            conversation,
            receiver,
            published: None,
            last: after,
            answered: BTreeMap::new(),
            stored: Some(VecDeque::new()),
            changes: None,
            fills_gaps: true,
        }
    }
}

/// Receives what happens in a conversation: first what is stored, then what is new.
///
/// Every entry comes once, in order, without a gap (but see [`Watcher::here`]). Deltas come after the
/// entry that began their invocation and before the one that ends it, and are not repeated.
pub struct Watcher {
    feed: Arc<Feed>,
    store: Arc<dyn Storage>,
    conversation: ConversationId,
    receiver: mpsc::Receiver<Arc<News>>,
    /// The oldest received notice that was not returned yet.
    published: Option<Arc<News>>,
    last: Seq,
    /// The newest invocation of each agent whose end was given.
    answered: BTreeMap<AgentId, Seq>,
    /// Stored entries that were read and not yet given; none once all are given.
    stored: Option<VecDeque<Entry>>,
    /// Changes that others make in the store, if they are given too.
    changes: Option<Box<dyn Changes>>,
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
    /// The runtime has stopped: nothing happens here any more.
    #[error("the runtime has stopped; watch the conversation with another one")]
    Stopped,
}

impl Watcher {
    /// The same watcher, which also gives what other processes append.
    #[must_use]
    pub fn looking(self) -> Self {
        // Other processes may have appended before: the store is read once more.
        let changes = Some(self.store.subscribe(Some(self.conversation)));
        Self { changes, stored: Some(VecDeque::new()), ..self }
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

    /// The next news; waits for it. A future that is dropped loses nothing.
    pub async fn next(&mut self) -> Result<News, WatchError> {
        loop {
            self.read_stored().await?;
            // The feed publishes the deltas of an answer before the driver appends its entry. So
            // everything that precedes a stored entry is in the channel by now.
            if self.published.is_none() {
                self.published = self.receiver.try_recv().ok();
            }
            if let Some(news) = self.next_published() {
                return Ok(news);
            }
            if self.published.is_some() && self.stored.is_none() {
                // Another process wrote what lies between: all of it is stored by now.
                self.stored = Some(VecDeque::new());
                continue;
            }
            if let Some(entry) = self.stored.as_mut().and_then(VecDeque::pop_front) {
                if entry.seq > self.last {
                    return Ok(self.give(Arc::new(entry)));
                }
                continue;
            }
            if self.published.is_some() || self.stored.is_some() {
                continue;
            }
            tokio::select! {
                biased;
                published = self.receiver.recv() => match published {
                    Some(news) => self.published = Some(news),
                    None if self.feed.closed.load(Ordering::Acquire) => {
                        return Err(WatchError::Stopped);
                    }
                    None => return Err(CutOff(self.last).into()),
                },
                change = next_change(&mut self.changes) => match change {
                    Change::History(_) | Change::Unknown => self.stored = Some(VecDeque::new()),
                    Change::Inbox(_) | Change::Lease(_) => {}
                },
            }
        }
    }

    /// Returns the oldest published notice if it can be returned now, and drops a known one.
    fn next_published(&mut self) -> Option<News> {
        let turn = match &**self.published.as_ref()? {
            News::Notice(Notice::Entry(entry)) if entry.seq <= self.last => Turn::Over,
            News::Notice(Notice::Entry(entry)) => {
                Turn::now_if(entry.seq == self.last.next() || !self.fills_gaps)
            }
            News::Notice(Notice::Delta { agent, started, .. }) => {
                if self.answered.get(agent).is_some_and(|answered| started <= answered) {
                    Turn::Over
                } else {
                    Turn::now_if(*started <= self.last || !self.fills_gaps)
                }
            }
            News::Notice(Notice::State { .. } | Notice::Stalled(_)) | News::Progress { .. } => {
                Turn::Now
            }
        };
        match turn {
            Turn::Later => None,
            Turn::Over => {
                self.published = None;
                None
            }
            Turn::Now => Some(match Arc::unwrap_or_clone(self.published.take()?) {
                News::Notice(Notice::Entry(entry)) => self.give(entry),
                news => news,
            }),
        }
    }

    /// Marks an entry as returned, so that no delta of its invocation follows it.
    fn give(&mut self, entry: Arc<Entry>) -> News {
        self.last = entry.seq;
        if let Some(started) = entry.ends_invocation() {
            self.answered.insert(entry.agent, started);
        }
        News::Notice(Notice::Entry(entry))
    }

    /// Reads the next page of what is stored, unless all of it was given.
    async fn read_stored(&mut self) -> Result<(), StoreError> {
        if self.stored.as_ref().is_none_or(|stored| !stored.is_empty()) {
            return Ok(());
        }
        let page = Page::forward(self.last.next(), PAGE);
        let entries = verified_page(&*self.store, self.conversation, &page).await?;
        self.stored = Some(VecDeque::from(entries)).filter(|entries| !entries.is_empty());
        Ok(())
    }
}

/// When a published notice can be returned.
enum Turn {
    Now,
    Later,
    /// Never: the watcher has returned it, or what replaces it, before.
    Over,
}

impl Turn {
    fn now_if(now: bool) -> Self {
        if now { Self::Now } else { Self::Later }
    }
}

/// Waits for the next change, for ever if none is wanted.
async fn next_change(changes: &mut Option<Box<dyn Changes>>) -> Change {
    match changes {
        Some(changes) => changes.next().await,
        None => std::future::pending().await,
    }
}
