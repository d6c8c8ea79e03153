//! What a tool may read: the thread of the agent that called it, along its path.

use std::sync::Arc;

use async_trait::async_trait;
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::Digest;
use threadline_core::history::path::Path;
use threadline_core::id::{AgentId, ConversationId, Seq};
use threadline_core::store::{Direction, Page, Query, Storage, StoreError, verified_page};
use threadline_core::tool::ThreadReader;

/// How many records are read at a time.
const PAGE: usize = 128;

/// Reads one agent's thread up to an entry.
pub(crate) struct StoredThread {
    pub(crate) store: Arc<dyn Storage>,
    pub(crate) conversation: ConversationId,
    pub(crate) agent: AgentId,
    /// The last entry that can be read.
    pub(crate) until: Seq,
}

impl StoredThread {
    async fn path(&self) -> Result<Path, StoreError> {
        let mut rewinds = self.store.rewinds(self.conversation, Seq::ZERO).await?;
        rewinds.retain(|(at, _)| *at <= self.until);
        Ok(Path::new(self.until, &rewinds))
    }

    /// The last entry of a page and those of its entries that count; none if the page is empty.
    async fn read(&self, path: &Path, page: Page) -> Result<Option<(Seq, Vec<Entry>)>, StoreError> {
        let mut entries = verified_page(&*self.store, self.conversation, &page).await?;
        let Some(last) = entries.last().map(|entry| entry.seq) else { return Ok(None) };
        entries.retain(|entry| entry.seq <= self.until && path.contains(entry.seq));
        Ok(Some((last, entries)))
    }
}

#[async_trait]
impl ThreadReader for StoredThread {
    async fn entry(&self, seq: Seq) -> Result<Option<Entry>, StoreError> {
        let path = self.path().await?;
        if seq > self.until || !path.contains(seq) {
            return Ok(None);
        }
        let page = Page::forward(seq, 1).of(self.agent);
        let entry = self.read(&path, page).await?.and_then(|(_, mut entries)| entries.pop());
        Ok(entry.filter(|entry| entry.seq == seq))
    }

    async fn page(
        &self,
        from: Seq,
        direction: Direction,
        most: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        let path = self.path().await?;
        let mut from = match direction {
            Direction::Forward => from,
            Direction::Backward => from.min(self.until),
        };
        loop {
            let page = Page { from, direction, thread: Some(self.agent), most: most.min(PAGE) };
            let Some((last, entries)) = self.read(&path, page).await? else {
                return Ok(Vec::new());
            };
            let over = match direction {
                Direction::Forward => last >= self.until,
                Direction::Backward => last <= Seq(1),
            };
            if !entries.is_empty() || over {
                return Ok(entries);
            }
            from = match direction {
                Direction::Forward => last.next(),
                Direction::Backward => last.before(),
            };
        }
    }

    async fn search(
        &self,
        text: &str,
        before: Option<Seq>,
        most: usize,
    ) -> Result<Vec<Seq>, StoreError> {
        let mut found = Vec::new();
        let before = before.unwrap_or(self.until.next()).min(self.until.next());
        let mut after = Some((self.conversation, before));
        while found.len() < most {
            let query = Query {
                text: text.to_owned(),
                conversation: Some(self.conversation),
                agent: Some(self.agent),
                after,
                most: PAGE,
            };
            let hits = self.store.search(&query).await?;
            let Some(last) = hits.last() else { break };
            after = Some((last.conversation, last.seq));
            let own = hits.iter().filter(|hit| !hit.rewound && hit.seq < before);
            found.extend(own.map(|hit| hit.seq));
        }
        found.truncate(most);
        Ok(found)
    }

    async fn attachment(
        &self,
        of: Seq,
        digest: Digest,
        offset: u64,
        most: usize,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let entry = self.entry(of).await?;
        if !entry.is_some_and(|entry| entry.attachments().contains(&digest)) {
            return Ok(None);
        }
        self.store.blob(digest, offset, most).await.map(Some)
    }
}
