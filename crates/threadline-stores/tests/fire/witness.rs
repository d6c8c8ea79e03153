//! Witnesses: what a store was asked for and what it acknowledged, and whether that is there.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use threadline_core::history::fact::{Digest, Fact};
use threadline_core::history::record::Record;
use threadline_core::id::{ConversationId, Seq};
use threadline_core::inbox::ItemNumber;
use threadline_core::store::verify::{self, Depth};
use threadline_core::store::{Filter, Listing, Page, Sort, Storage, StoreError};
use threadline_core::tokens::Estimator;

/// Something that a store keeps once it has acknowledged it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// A conversation has this head: all of a batch that ends there.
    Head(ConversationId, Seq, Digest),
    /// An item under this key was put into an inbox.
    Item(ConversationId, String),
    /// An attachment is kept.
    Blob(Digest, u64),
}

/// A claim, before and after it was acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// It was asked for.
    Asked(Claim),
    /// It was acknowledged.
    Done(Claim),
}

/// Sees what is asked for and what is acknowledged.
pub(crate) trait Witness: Send + Sync {
    fn see(&self, event: Event);
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mark, claim) = match self {
            Self::Asked(claim) => ('?', claim),
            Self::Done(claim) => ('+', claim),
        };
        match claim {
            Claim::Head(id, seq, hash) => write!(f, "{mark} head {id} {seq} {hash}"),
            Claim::Item(id, key) => write!(f, "{mark} item {id} {key}"),
            Claim::Blob(digest, size) => write!(f, "{mark} blob {digest} {size}"),
        }
    }
}

impl FromStr for Event {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let parts: Vec<&str> = line.split(' ').collect();
        let claim = match parts[..] {
            [_, "head", id, seq, hash] => {
                Claim::Head(id.parse().unwrap(), seq.parse().unwrap(), hash.parse().unwrap())
            }
            [_, "item", id, key] => Claim::Item(id.parse().unwrap(), key.to_owned()),
            [_, "blob", digest, size] => {
                Claim::Blob(digest.parse().unwrap(), size.parse().unwrap())
            }
            _ => return Err(line.to_owned()),
        };
        match parts[0] {
            "?" => Ok(Self::Asked(claim)),
            "+" => Ok(Self::Done(claim)),
            _ => Err(line.to_owned()),
        }
    }
}

/// What must be in a store, and what may be.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expected {
    heads: BTreeMap<ConversationId, Heads>,
    items: BTreeMap<(ConversationId, String), Sure>,
    blobs: BTreeMap<Digest, u64>,
}

#[derive(Clone, Debug, Default)]
struct Heads {
    /// The last acknowledged.
    sure: Option<(Seq, Digest)>,
    /// One that was asked for after it.
    maybe: Option<(Seq, Digest)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sure {
    Yes,
    Perhaps,
}

impl Expected {
    pub(crate) fn see(&mut self, event: &Event) {
        match event.clone() {
            Event::Asked(Claim::Head(id, seq, hash)) => {
                self.heads.entry(id).or_default().maybe = Some((seq, hash));
            }
            Event::Done(Claim::Head(id, seq, hash)) => {
                self.heads.insert(id, Heads { sure: Some((seq, hash)), maybe: None });
            }
            Event::Asked(Claim::Item(id, key)) => {
                self.items.entry((id, key)).or_insert(Sure::Perhaps);
            }
            Event::Done(Claim::Item(id, key)) => drop(self.items.insert((id, key), Sure::Yes)),
            Event::Asked(Claim::Blob(..)) => {}
            Event::Done(Claim::Blob(digest, size)) => drop(self.blobs.insert(digest, size)),
        }
    }

    /// What was seen up to some moment.
    pub(crate) fn after(events: &[Event]) -> Self {
        let mut expected = Self::default();
        for event in events {
            expected.see(event);
        }
        expected
    }

    /// The conversations that are there for sure.
    pub(crate) fn conversations(&self) -> Vec<ConversationId> {
        let sure = self.heads.iter().filter(|(_, heads)| heads.sure.is_some());
        sure.map(|(id, _)| *id).collect()
    }

    /// Takes what is there as what must be there from now on.
    pub(crate) async fn settle(&mut self, store: &dyn Storage) {
        for (id, heads) in &mut self.heads {
            if let Ok(found) = store.conversation(*id).await {
                *heads = Heads { sure: Some((found.head, found.head_hash)), maybe: None };
            }
        }
        self.heads.retain(|_, heads| heads.sure.is_some());
    }

    /// What is wrong with a store, in words; nothing if all is well.
    pub(crate) async fn check(&self, store: &dyn Storage, depth: Depth) -> Vec<String> {
        let mut wrong = Vec::new();
        match list(store).await {
            Err(error) => wrong.push(format!("cannot be listed: {error:?}")),
            Ok(listed) => {
                let strange = listed.iter().filter(|id| !self.heads.contains_key(id));
                wrong.extend(strange.map(|id| format!("{id}: nobody asked for it")));
            }
        }
        for (id, heads) in &self.heads {
            if let Err(error) = self.check_one(store, *id, heads, depth, &mut wrong).await {
                wrong.push(format!("{id}: {error:?}"));
            }
        }
        for (digest, size) in &self.blobs {
            match blob(store, *digest).await {
                Ok(bytes) if Digest::of(&bytes) == *digest && bytes.len() as u64 == *size => {}
                other => wrong.push(format!("attachment {digest}: {:?}", other.map(|b| b.len()))),
            }
        }
        wrong
    }

    async fn check_one(
        &self,
        store: &dyn Storage,
        id: ConversationId,
        heads: &Heads,
        depth: Depth,
        wrong: &mut Vec<String>,
    ) -> Result<(), StoreError> {
        let found = match store.conversation(id).await {
            Ok(found) => (found.head, found.head_hash),
            Err(StoreError::NotFound(_)) if heads.sure.is_none() => return Ok(()),
            Err(error) => return Err(error),
        };
        if Some(found) != heads.sure && Some(found) != heads.maybe {
            wrong.push(format!("{id}: found the head {found:?}, expected {heads:?}"));
        }
        let report = verify::verify(store, id, depth, Arc::new(Estimator), &mut |_| {}).await?;
        if !report.is_sound() || report.entries != found.0.0 {
            wrong.push(format!("{id}: is not sound: {report:?}"));
        }
        if self.items.keys().any(|(of, _)| *of == id) {
            self.check_keys(store, id, wrong).await?;
        }
        Ok(())
    }

    /// Every key was taken at most once, and if it was acknowledged, it waits or was taken.
    async fn check_keys(
        &self,
        store: &dyn Storage,
        id: ConversationId,
        wrong: &mut Vec<String>,
    ) -> Result<(), StoreError> {
        let mut found: BTreeMap<String, u32> = BTreeMap::new();
        for record in records(store, id).await? {
            if let Ok(entry) = record.open()
                && let Fact::Input(input) = entry.fact
                && let Some(key) = input.client_key
            {
                *found.entry(key.to_string()).or_default() += 1;
            }
        }
        for (_, item) in store.waiting(id, ItemNumber(0), 10_000).await? {
            *found.entry(item.client_key.to_string()).or_default() += 1;
        }
        wrong.extend(
            found
                .iter()
                .filter(|(_, count)| **count > 1)
                .map(|(key, count)| format!("{id}: the key {key} is there {count} times")),
        );
        let sure = self.items.iter().filter(|((of, _), sure)| *of == id && **sure == Sure::Yes);
        wrong.extend(
            sure.filter(|((_, key), _)| !found.contains_key(key))
                .map(|((_, key), _)| format!("{id}: the item {key} was lost")),
        );
        Ok(())
    }
}

/// All conversations of a store.
pub(crate) async fn list(store: &dyn Storage) -> Result<BTreeSet<ConversationId>, StoreError> {
    let listing = Listing { filter: Filter::All, sort: Sort::Active, after: None, most: 10_000 };
    Ok(store.list(&listing).await?.into_iter().map(|found| found.id).collect())
}

/// All records of a conversation.
pub(crate) async fn records(
    store: &dyn Storage,
    id: ConversationId,
) -> Result<Vec<Record>, StoreError> {
    let mut records = Vec::new();
    loop {
        let from = Seq(records.len() as u64 + 1);
        let page = store.read(id, &Page::forward(from, 1000)).await?;
        if page.is_empty() {
            return Ok(records);
        }
        records.extend(page);
    }
}

/// All of an attachment.
pub(crate) async fn blob(store: &dyn Storage, digest: Digest) -> Result<Vec<u8>, StoreError> {
    let mut bytes = Vec::new();
    loop {
        let piece = store.blob(digest, bytes.len() as u64, 1 << 20).await?;
        if piece.is_empty() {
            return Ok(bytes);
        }
        bytes.extend(piece);
    }
}
