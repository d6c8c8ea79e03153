//! Opening: from a store's snapshot and the entries after it to a history, at the cost of a
//! window, whatever the length.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{
    Conversation, Lease, Origin, Page, Store, StoreError, verified_page, verified_records,
};
use crate::history::batch::Batch;
use crate::history::entry::Entry;
use crate::history::fact::Digest;
use crate::history::path::Path;
use crate::history::record::{GENESIS, Record, UnreadableRecord};
use crate::history::rule::BrokenRule;
use crate::history::snapshot::{SNAPSHOT_EVERY, Snapshot};
use crate::history::{Aftermath, Counts, History, Proposed};
use crate::id::{CallId, ConversationId, Seq};
use crate::tokens::TokenCounter;
use crate::widget::{ChangeRefused, Registry, Widgets};

/// How many records are read at a time.
const PAGE: usize = 512;

/// Why a history could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The store could not give it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A record is not one of ours.
    #[error("entry {seq} of conversation {id} cannot be read")]
    Unreadable {
        /// The conversation.
        id: ConversationId,
        /// The entry.
        seq: Seq,
        /// Why not.
        #[source]
        source: UnreadableRecord,
    },
    /// A record is not what was written.
    #[error(
        "entry {seq} of conversation {id} was changed after it was written; \
         `threadline verify {id}` shows more"
    )]
    BrokenChain {
        /// The conversation.
        id: ConversationId,
        /// The entry.
        seq: Seq,
    },
    /// The outline lacks the row of an entry.
    #[error(
        "conversation {id} is damaged: its outline has no row for entry {seq}; \
         `threadline verify {id} --deep` shows more"
    )]
    NoOutlineRow {
        /// The conversation.
        id: ConversationId,
        /// The entry.
        seq: Seq,
    },
    /// An entry cannot stand where it stands.
    #[error("conversation {id} cannot be opened")]
    Broken {
        /// The conversation.
        id: ConversationId,
        /// The rule that is broken.
        #[source]
        source: BrokenRule,
    },
    /// A widget's change cannot be applied: a newer version of the widget may understand it.
    #[error("entry {seq} of conversation {id} is a change that its widget does not take")]
    Widget {
        /// The conversation.
        id: ConversationId,
        /// The entry.
        seq: Seq,
        /// Why not.
        #[source]
        source: ChangeRefused,
    },
}

/// The history of a conversation.
pub async fn open(
    store: &dyn Store,
    id: ConversationId,
    counter: &dyn TokenCounter,
) -> Result<(Conversation, History), OpenError> {
    let (conversation, history, _) = open_with_widgets(store, id, counter, &no_widgets()).await?;
    Ok((conversation, history))
}

/// The history of a conversation, and its widgets in their states.
pub async fn open_with_widgets(
    store: &dyn Store,
    id: ConversationId,
    counter: &dyn TokenCounter,
    registry: &Arc<Registry>,
) -> Result<(Conversation, History, Widgets), OpenError> {
    let conversation = store.conversation(id).await?;
    if let Some(why) = conversation.damage {
        return Err(StoreError::DamagedConversation { id, why }.into());
    }
    let newest = base(store, id, conversation.head).await?;
    let (history, widgets, folded) =
        folded_to(store, id, conversation.head, counter, registry, newest).await?;
    if history.head_hash() != conversation.head_hash {
        let why = format!("entry {} is not the last entry that was written", conversation.head);
        return Err(StoreError::DamagedConversation { id, why }.into());
    }
    if folded > PAGE && !registry.is_empty() {
        // A cache: the next one to open it does not fold the same entries again.
        let snapshot = Snapshot { widgets: widgets.encode(), ..history.to_snapshot() };
        drop(store.keep_snapshot(id, &snapshot, false).await);
    }
    let history = match conversation.origin {
        Origin::Own => history,
        Origin::Copy => history.into_copy(),
        Origin::Imported => history.into_import(),
    };
    Ok((conversation, history, widgets))
}

/// The history of a conversation as it was at an entry.
pub async fn history_at(
    store: &dyn Store,
    id: ConversationId,
    at: Seq,
    counter: &dyn TokenCounter,
) -> Result<History, OpenError> {
    let (history, _) = history_with_widgets_at(store, id, at, counter, &no_widgets()).await?;
    Ok(history)
}

/// The history of a conversation as it was at an entry, and its widgets in the states they had.
pub async fn history_with_widgets_at(
    store: &dyn Store,
    id: ConversationId,
    at: Seq,
    counter: &dyn TokenCounter,
    registry: &Arc<Registry>,
) -> Result<(History, Widgets), OpenError> {
    let newest = base(store, id, at).await?;
    let (history, widgets, _) = folded_to(store, id, at, counter, registry, newest).await?;
    Ok((history, widgets))
}

/// The same from the entries alone, without any snapshot.
pub async fn replayed_with_widgets_at(
    store: &dyn Store,
    id: ConversationId,
    at: Seq,
    counter: &dyn TokenCounter,
    registry: &Arc<Registry>,
) -> Result<(History, Widgets), OpenError> {
    let nothing = Base::nothing();
    let (history, widgets, _) = folded_to(store, id, at, counter, registry, nothing).await?;
    Ok((history, widgets))
}

/// The same from what a snapshot holds, and how many entries had to be folded.
async fn folded_to(
    store: &dyn Store,
    id: ConversationId,
    at: Seq,
    counter: &dyn TokenCounter,
    registry: &Arc<Registry>,
    newest: Base,
) -> Result<(History, Widgets, usize), OpenError> {
    let mut base = newest.clone();
    let path = loop {
        match path_since(store, id, base.history.head(), at).await? {
            Ok(path) if base.tells_screens(registry) => break path,
            // Whoever kept it did not know what was on the screens of a turn under way.
            Ok(_) => base = self::base(store, id, base.history.head().before()).await?,
            // The path left this snapshot behind: the state is that of an earlier one.
            Err(place) => base = self::base(store, id, place).await?,
        }
    };
    let widgets = widgets_at(store, id, &base, registry).await?;
    let newest = newest.history;
    let (history, folded) = (base.history, 0);
    let mut fold = Fold { store, id, counter, path: &path, history, widgets, folded };
    if fold.history.head() < newest.head() {
        for (from, to) in path.runs() {
            if *from <= newest.head() {
                fold.history.skip_to(from.before());
                let previous = hash_before(store, id, *from).await?;
                fold.entries(*from, (*to).min(newest.head()), previous).await?;
            }
        }
        fold.history = fold.history.with_ledger_of(&newest);
    }
    let previous = fold.history.head_hash();
    fold.entries(fold.history.head().next(), at, previous).await?;
    Ok((fold.history, fold.widgets, fold.folded))
}

/// The history as it was at an entry, and what became later of the calls that were open there:
/// what a rewind or a fork to that entry needs.
pub async fn past(
    store: &dyn Store,
    id: ConversationId,
    to: Seq,
    counter: &dyn TokenCounter,
) -> Result<(History, Aftermath), OpenError> {
    let (history, aftermath, _) = past_with_widgets(store, id, to, counter, &no_widgets()).await?;
    Ok((history, aftermath))
}

/// What a fork at an entry begins with: the history there, and what became later of open calls.
///
/// A fork has no more authority than its parent: if policies and approvals before that entry confer
/// nothing in the parent, the history is that of an import. The newest entries that it shares are
/// verified, a page of them: what lies further back is verified when it is read.
pub async fn fork_base(
    store: &dyn Store,
    id: ConversationId,
    at: Seq,
    counter: &dyn TokenCounter,
) -> Result<(History, Aftermath), OpenError> {
    let (past, aftermath) = past(store, id, at, counter).await?;
    verified_page(store, id, &Page::backward(at, PAGE)).await?;
    let (_, parent) = open(store, id, counter).await?;
    let is_void = parent.is_import() || parent.ledger().authority_reset > at;
    Ok((if is_void { past.into_import() } else { past }, aftermath))
}

/// The same, and the widgets in the states they had there.
pub async fn past_with_widgets(
    store: &dyn Store,
    id: ConversationId,
    to: Seq,
    counter: &dyn TokenCounter,
    registry: &Arc<Registry>,
) -> Result<(History, Aftermath, Widgets), OpenError> {
    let (history, widgets) = history_with_widgets_at(store, id, to, counter, registry).await?;
    if to > Seq::ZERO {
        // What a fork or a rewind goes on from is sound, even if a snapshot spared reading it.
        verified_records(store, id, &[to]).await?;
    }
    let aftermath = aftermath(store, id, &history).await?;
    Ok((history, aftermath, widgets))
}

/// What became later of the calls that are open where a history ends.
async fn aftermath(
    store: &dyn Store,
    id: ConversationId,
    history: &History,
) -> Result<Aftermath, OpenError> {
    let agents = history.state().agents.values();
    let calls = agents.flat_map(|agent| agent.open_calls());
    let mut open: BTreeSet<CallId> =
        calls.filter(|(_, call)| call.finished.is_none()).map(|(id, _)| id).collect();
    let mut aftermath = Aftermath::default();
    let (mut next, mut previous) = (history.head().next(), history.head_hash());
    // Calls go on only in the branch that follows directly: a rewind takes them back.
    'ledger: while !open.is_empty() {
        let records = store.read(id, &Page::forward(next, PAGE)).await?;
        if records.is_empty() {
            break;
        }
        for record in &records {
            let entry = read_next(id, next, &mut previous, record)?;
            next = next.next();
            if entry.fact.rewinds_to().is_some() {
                break 'ledger;
            }
            // Calls that others make in the meantime do not count.
            if let Some(finished) = entry.fact.as_tool_finished() {
                open.remove(&finished.call);
            }
            aftermath.note(&entry);
        }
    }
    Ok(aftermath)
}

/// Appends what was proposed, and keeps a snapshot if one is due.
///
/// The history after it is durable when this returns. A snapshot that could not be kept is no
/// failure: it is a cache.
pub async fn append(
    store: &dyn Store,
    lease: &Lease,
    proposed: Proposed,
) -> Result<History, StoreError> {
    store.append(lease, &proposed.batch).await?;
    let Proposed { batch, history } = proposed;
    if let Some(SnapshotDue { for_good }) = snapshot_due(&batch) {
        let kept = store.keep_snapshot(lease.conversation, &history.to_snapshot(), for_good).await;
        drop(kept);
    }
    Ok(history)
}

/// A snapshot should be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotDue {
    /// Whether it is kept for good; if not, it replaces the last such one.
    pub for_good: bool,
}

/// Whether a snapshot should be kept after a batch: at the end of a turn, after a rewind, and for
/// good after every so many entries.
pub fn snapshot_due(batch: &Batch) -> Option<SnapshotDue> {
    let for_good = batch.base.0 / SNAPSHOT_EVERY != batch.head().0 / SNAPSHOT_EVERY;
    let due =
        for_good || !batch.rewinds.is_empty() || batch.rows.iter().any(|row| row.kind.ends_turn());
    due.then_some(SnapshotDue { for_good })
}

/// A fold over stored entries along a path.
struct Fold<'a> {
    store: &'a dyn Store,
    id: ConversationId,
    counter: &'a dyn TokenCounter,
    path: &'a Path,
    history: History,
    widgets: Widgets,
    /// How many entries it has taken in.
    folded: usize,
}

impl Fold<'_> {
    /// Takes in the entries of a range that follows the hash `previous`.
    async fn entries(&mut self, from: Seq, to: Seq, mut previous: Digest) -> Result<(), OpenError> {
        let mut next = from;
        while next <= to {
            for record in &records(self.store, self.id, next, to).await? {
                let entry = read_next(self.id, next, &mut previous, record)?;
                self.take(&entry, record.hash)?;
                self.folded += 1;
                next = next.next();
            }
        }
        Ok(())
    }

    fn take(&mut self, entry: &Entry, hash: Digest) -> Result<(), OpenError> {
        let on_path = self.path.contains(entry.seq);
        if on_path {
            let refused = |source| OpenError::Widget { id: self.id, seq: entry.seq, source };
            self.widgets.follow(&self.history, entry, self.counter).map_err(refused)?;
        }
        let folded = if !on_path {
            self.history.pass(entry, hash)
        } else if entry.fact.rewinds_to().is_some() {
            self.history.rewind_in_place(entry, hash)
        } else {
            let counts = Counts::of(&entry.fact, self.counter);
            self.history.apply_or_break(entry, hash, counts).map(drop)
        };
        folded.map_err(|source| OpenError::Broken { id: self.id, source })
    }
}

/// Where a fold begins: what a snapshot holds, or nothing.
#[derive(Clone)]
struct Base {
    history: History,
    widgets: BTreeMap<String, Vec<u8>>,
}

impl Base {
    fn nothing() -> Self {
        Self { history: History::new(), widgets: BTreeMap::new() }
    }

    /// Whether it has the screens of agents' newest turns, as far as there can be any. They are shown
    /// until the next turn begins, also after the turn has ended.
    fn tells_screens(&self, registry: &Registry) -> bool {
        let mut agents = self.history.state().agents.values();
        Widgets::has_screens(registry, &self.widgets) || !agents.any(|agent| agent.turn.is_some())
    }
}

/// The newest snapshot at or before a place that can be used.
async fn base(store: &dyn Store, id: ConversationId, at_most: Seq) -> Result<Base, StoreError> {
    let mut at_most = at_most;
    while let Some(snapshot) = store.snapshot(id, at_most).await? {
        if let Some(history) = History::from_snapshot(&snapshot) {
            return Ok(Base { history, widgets: snapshot.widgets });
        }
        // Of another version, or unreadable: an older one may do.
        at_most = snapshot.seq.before();
    }
    Ok(Base::nothing())
}

/// The part of the path to an entry that comes after an earlier one; the error is the last place
/// before the earlier one that the path goes through.
async fn path_since(
    store: &dyn Store,
    id: ConversationId,
    base: Seq,
    at: Seq,
) -> Result<Result<Path, Seq>, StoreError> {
    let mut rewinds = store.rewinds(id, base).await?;
    rewinds.retain(|(stands, _)| *stands <= at);
    Ok(Path::since(base, at, &rewinds))
}

/// The widgets in the states they had at a snapshot: from the snapshot, or, if it does not have
/// them all, from an earlier one or from the start, and the changes since then.
async fn widgets_at(
    store: &dyn Store,
    id: ConversationId,
    base: &Base,
    registry: &Arc<Registry>,
) -> Result<Widgets, OpenError> {
    let at = base.history.head();
    let mut from = base.clone();
    loop {
        let (decoded, unreadable) = Widgets::decode(Arc::clone(registry), &from.widgets);
        let complete = unreadable.is_empty() && decoded.has_all(from.history.state());
        let mut place = from.history.head().before();
        if complete {
            match path_since(store, id, from.history.head(), at).await? {
                Ok(path) => {
                    let widgets = change_along(store, id, decoded, &path).await?;
                    // Screens are not made by changes: those of the place itself count.
                    let (own, _) = Widgets::decode(Arc::clone(registry), &base.widgets);
                    return Ok(widgets.with_screens_of(own));
                }
                Err(earlier) => place = earlier,
            }
        }
        from = self::base(store, id, place).await?;
    }
}

/// Takes the changes on a path into widgets.
async fn change_along(
    store: &dyn Store,
    id: ConversationId,
    mut widgets: Widgets,
    path: &Path,
) -> Result<Widgets, OpenError> {
    for (from, to) in path.runs() {
        let mut next = *from;
        let mut previous = hash_before(store, id, next).await?;
        while next <= *to {
            for record in &records(store, id, next, *to).await? {
                change(id, &mut widgets, &read_next(id, next, &mut previous, record)?)?;
                next = next.next();
            }
        }
    }
    Ok(widgets)
}

fn change(id: ConversationId, widgets: &mut Widgets, entry: &Entry) -> Result<(), OpenError> {
    let refused = |source| OpenError::Widget { id, seq: entry.seq, source };
    widgets.apply(entry).map_err(refused)
}

/// For those who ask for the history alone.
fn no_widgets() -> Arc<Registry> {
    Arc::new(Registry::default())
}

/// Some records of a range, from its first on; never none.
async fn records(
    store: &dyn Store,
    id: ConversationId,
    from: Seq,
    to: Seq,
) -> Result<Vec<Record>, StoreError> {
    let most = usize::try_from(to.0 - from.0 + 1).unwrap_or(PAGE).min(PAGE);
    let records = store.read(id, &Page::forward(from, most)).await?;
    if records.is_empty() {
        return Err(StoreError::NoEntry { id, seq: from, head: from.before() });
    }
    Ok(records)
}

/// The hash of the record before an entry.
async fn hash_before(
    store: &dyn Store,
    id: ConversationId,
    seq: Seq,
) -> Result<Digest, StoreError> {
    if seq <= Seq(1) {
        return Ok(GENESIS);
    }
    let records = store.records(id, &[seq.before()]).await?;
    let missing = StoreError::NoEntry { id, seq: seq.before(), head: Seq::ZERO };
    records.first().map(|record| record.hash).ok_or(missing)
}

/// The entry in a record that must follow the hash `previous`, which becomes its own.
fn read_next(
    id: ConversationId,
    seq: Seq,
    previous: &mut Digest,
    record: &Record,
) -> Result<Entry, OpenError> {
    if !record.follows(*previous) {
        return Err(OpenError::BrokenChain { id, seq });
    }
    *previous = record.hash;
    record.open().map_err(|source| OpenError::Unreadable { id, seq, source })
}
