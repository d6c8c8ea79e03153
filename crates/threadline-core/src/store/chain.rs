//! Checks records that were read against the hash chain.
//!
//! A record's hash covers the hash of its predecessor. Adjacent records are checked against each
//! other; for any other record the predecessor is read as well. The cost of a check therefore depends
//! on how much is read, not on the length of the history.

use std::collections::{BTreeMap, BTreeSet};

use super::{OpenError, Page, Store, StoreError};
use crate::history::entry::Entry;
use crate::history::fact::Digest;
use crate::history::record::{GENESIS, Record};
use crate::id::{ConversationId, Seq};

/// Reads records and refuses the first that is not what was written
/// ([`OpenError::BrokenChain`]).
pub async fn verified_records(
    store: &dyn Store,
    id: ConversationId,
    seqs: &[Seq],
) -> Result<Vec<Record>, OpenError> {
    let records = store.records(id, seqs).await?;
    let numbered: Vec<(Seq, &Record)> = seqs.iter().copied().zip(&records).collect();
    match changed_records(store, id, &numbered).await?.first() {
        Some(seq) => Err(OpenError::BrokenChain { id, seq: *seq }),
        None => Ok(records),
    }
}

/// Reads entries and refuses the first that is not what was written, as [`verified_records`] does.
pub async fn verified_entries(
    store: &dyn Store,
    id: ConversationId,
    seqs: &[Seq],
) -> Result<Vec<Entry>, OpenError> {
    let records = verified_records(store, id, seqs).await?;
    let open = |(seq, record): (&Seq, &Record)| {
        record.open().map_err(|source| OpenError::Unreadable { id, seq: *seq, source })
    };
    seqs.iter().zip(&records).map(open).collect()
}

/// Reads one entry that must be what was written.
pub async fn verified_entry(
    store: &dyn Store,
    id: ConversationId,
    seq: Seq,
) -> Result<Entry, OpenError> {
    let missing = StoreError::NoEntry { id, seq, head: Seq::ZERO };
    verified_entries(store, id, &[seq]).await?.pop().ok_or(OpenError::Store(missing))
}

/// Reads a page of entries and refuses it if one of them is not what was written
/// ([`StoreError::DamagedConversation`]).
pub async fn verified_page(
    store: &dyn Store,
    id: ConversationId,
    page: &Page,
) -> Result<Vec<Entry>, StoreError> {
    let damaged = |why: String| StoreError::DamagedConversation { id, why };
    let records = store.read(id, page).await?;
    let mut entries: Vec<Entry> = Vec::with_capacity(records.len());
    for record in &records {
        let place = || match entries.last() {
            Some(last) => format!("an entry after entry {}", last.seq),
            None => format!("entry {} or one after it", page.from),
        };
        let entry = record.open().map_err(|error| damaged(format!("{}: {error}", place())))?;
        entries.push(entry);
    }
    let numbered: Vec<(Seq, &Record)> =
        entries.iter().map(|entry| entry.seq).zip(&records).collect();
    match changed_records(store, id, &numbered).await?.first() {
        Some(seq) => Err(damaged(format!("entry {seq} was changed after it was written"))),
        None => Ok(entries),
    }
}

/// Which of some records, given with their places, are not what was written.
///
/// A record whose predecessor is missing cannot be checked and counts as changed.
pub async fn changed_records(
    store: &dyn Store,
    id: ConversationId,
    records: &[(Seq, &Record)],
) -> Result<BTreeSet<Seq>, StoreError> {
    let mut hashes: BTreeMap<Seq, Digest> =
        records.iter().map(|(seq, record)| (*seq, record.hash)).collect();
    hashes.insert(Seq::ZERO, GENESIS);
    let predecessors = records.iter().map(|(seq, _)| seq.before());
    let unread: BTreeSet<Seq> = predecessors.filter(|seq| !hashes.contains_key(seq)).collect();
    hashes.extend(read_hashes(store, id, unread.into_iter().collect()).await?);
    let is_sound = |(seq, record): &&(Seq, &Record)| {
        hashes.get(&seq.before()).is_some_and(|previous| record.follows(*previous))
    };
    Ok(records.iter().filter(|record| !is_sound(record)).map(|(seq, _)| *seq).collect())
}

/// Reads the hashes of some records, without those that are missing.
async fn read_hashes(
    store: &dyn Store,
    id: ConversationId,
    seqs: Vec<Seq>,
) -> Result<Vec<(Seq, Digest)>, StoreError> {
    if seqs.is_empty() {
        return Ok(Vec::new());
    }
    match store.records(id, &seqs).await {
        Ok(records) => Ok(seqs.iter().zip(records).map(|(seq, r)| (*seq, r.hash)).collect()),
        // One of them is missing: the others are read one by one.
        Err(error) if is_missing(&error) => {
            let mut hashes = Vec::new();
            for seq in seqs {
                match store.records(id, &[seq]).await {
                    Ok(records) => hashes.extend(records.first().map(|record| (seq, record.hash))),
                    Err(error) if is_missing(&error) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(hashes)
        }
        Err(error) => Err(error),
    }
}

fn is_missing(error: &StoreError) -> bool {
    matches!(error, StoreError::NoEntry { .. }) || error.damage().is_some()
}
