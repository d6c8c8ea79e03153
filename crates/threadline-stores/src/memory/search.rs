//! Search in memory: every entry is looked at.

use async_trait::async_trait;
use threadline_core::history::entry::Entry;
use threadline_core::id::{ConversationId, Seq};
use threadline_core::search::{Phrase, checksum, matches, phrases, terms, text_of};
use threadline_core::store::{Audit, Hit, Query, Search, StoreError};

use super::MemoryStore;
use super::kept::{Kept, is_of_thread};

#[async_trait]
impl Search for MemoryStore {
    async fn search(&self, query: &Query) -> Result<Vec<Hit>, StoreError> {
        let content = self.content();
        let phrases = phrases(&query.text);
        let place = |id: ConversationId| Ok(content.kept(self.tenant, id)?.number);
        let one = query.conversation.map(place).transpose()?;
        let after = query.after.map(|(id, seq)| Ok((place(id)?, seq))).transpose()?;
        let mut all: Vec<&Kept> = content
            .of(self.tenant)
            .filter(|kept| one.is_none_or(|one| kept.number == one))
            .collect();
        all.sort_by_key(|kept| std::cmp::Reverse(kept.number));
        let hits = all.into_iter().flat_map(|kept| {
            let hits = hits(kept, query, &phrases).into_iter();
            hits.map(|hit| ((kept.number, hit.seq), hit))
        });
        let hits = hits.filter(|(place, _)| after.is_none_or(|after| *place < after));
        Ok(hits.take(query.most).map(|(_, hit)| hit).collect())
    }
}

#[async_trait]
impl Audit for MemoryStore {
    async fn index_lag(&self) -> Result<u64, StoreError> {
        Ok(0)
    }

    async fn index_checksums(
        &self,
        id: ConversationId,
        after: Seq,
        most: usize,
    ) -> Result<Vec<(Seq, u64)>, StoreError> {
        let content = self.content();
        let entries = content.kept(self.tenant, id)?.entries.iter().map(|placed| &placed.entry);
        let entries = entries.filter(|entry| entry.seq > after);
        let words = entries.map(|entry| (entry.seq, terms_of(entry)));
        let words = words.filter(|(_, terms)| !terms.is_empty()).take(most);
        Ok(words.map(|(seq, terms)| (seq, checksum(&terms))).collect())
    }
}

/// The hits of one conversation, newest first.
fn hits(kept: &Kept, query: &Query, phrases: &[Phrase]) -> Vec<Hit> {
    if phrases.is_empty() {
        return Vec::new();
    }
    let shared = match (query.conversation, kept.base) {
        // The conversation that wrote them has them.
        (None, Some((_, shared))) => shared,
        (Some(_), _) | (None, None) => Seq::ZERO,
    };
    let path = kept.path();
    let entries = kept.entries.iter().rev().filter(|placed| is_of_thread(placed, query.agent));
    entries
        .map(|placed| &placed.entry)
        .filter(|entry| entry.seq > shared && matches(&terms_of(entry), phrases))
        .map(|entry| Hit {
            conversation: kept.conversation.id,
            seq: entry.seq,
            agent: entry.agent,
            rewound: !path.contains(entry.seq),
        })
        .collect()
}

fn terms_of(entry: &Entry) -> Vec<String> {
    text_of(entry).map(|text| terms(&text)).unwrap_or_default()
}
