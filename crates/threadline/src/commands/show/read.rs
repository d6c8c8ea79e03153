//! Reading entries to print them: each with whether it is what was written.

use threadline_core::history::entry::Entry;
use threadline_core::history::record::Record;
use threadline_core::id::{AgentId, ConversationId, Seq};
use threadline_core::store::{Page, Store, StoreError, changed_records};

/// How many records are read at a time.
pub(crate) const PAGE: usize = 256;

/// An entry that was read.
pub(crate) enum Read {
    /// It can be read; it may not be what was written.
    Entry { entry: Box<Entry>, record: Record, changed: bool },
    /// It cannot be read, or is missing.
    Damaged { seq: Seq, why: String },
}

impl Read {
    pub(crate) fn seq(&self) -> Seq {
        match self {
            Self::Entry { entry, .. } => entry.seq,
            Self::Damaged { seq, .. } => *seq,
        }
    }
}

/// Pages of a conversation, of one thread or of all of it.
pub(super) struct Pages<'a> {
    store: &'a dyn Store,
    id: ConversationId,
    thread: Option<AgentId>,
    /// Whether the pages are those of the whole ledger, which the wanted thread is looked for in.
    whole: bool,
    next: Seq,
}

impl<'a> Pages<'a> {
    /// Reads from an entry on.
    pub(super) fn new(
        store: &'a dyn Store,
        id: ConversationId,
        thread: Option<AgentId>,
        from: Seq,
    ) -> Self {
        Self { store, id, thread, whole: thread.is_none(), next: from.max(Seq(1)) }
    }

    /// The next page; none at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<Read>>, StoreError> {
        let page = Page::forward(self.next, PAGE);
        if !self.whole {
            let page = Page { thread: self.thread, ..page };
            let records = self.store.read(self.id, &page).await?;
            if let Some(found) = self.in_order(records) {
                return self.checked(found).await;
            }
            // The place of an unreadable record follows from its neighbours in the whole ledger.
            self.whole = true;
        }
        let records = self.store.read(self.id, &page).await?;
        let found = self.by_place(records);
        self.checked(found).await
    }

    /// Records of a thread with their entries; none if one cannot be read, or is out of order.
    fn in_order(&mut self, records: Vec<Record>) -> Option<Vec<Found>> {
        let (mut found, mut next) = (Vec::with_capacity(records.len()), self.next);
        for record in records {
            let entry = record.open().ok().filter(|entry| entry.seq >= next)?;
            next = entry.seq.next();
            found.push(Found { seq: entry.seq, entry: Ok(Box::new(entry)), record: Some(record) });
        }
        self.next = next;
        Some(found)
    }

    /// Records of the ledger with their entries, numbered by place. An entry with a higher number than
    /// expected follows a gap; one with a lower number was changed.
    fn by_place(&mut self, records: Vec<Record>) -> Vec<Found> {
        let mut found = Vec::with_capacity(records.len());
        for record in records {
            let entry = record.open().map_err(|error| error.to_string());
            let said = entry.as_ref().map_or(self.next, |entry| entry.seq);
            if said > self.next {
                let (seq, until) = (self.next, said.before());
                let why = if seq == until {
                    "it is missing".to_owned()
                } else {
                    format!("it is missing, and so are those up to entry {until}")
                };
                found.push(Found { seq, entry: Err(why), record: None });
            }
            let seq = said.max(self.next);
            let entry = entry.map(|entry| Box::new(Entry { seq, ..entry }));
            found.push(Found { seq, entry, record: Some(record) });
            self.next = seq.next();
        }
        found
    }

    async fn checked(&self, found: Vec<Found>) -> Result<Option<Vec<Read>>, StoreError> {
        if found.is_empty() {
            return Ok(None);
        }
        let mut read = check(self.store, self.id, found).await?;
        let wanted = |entry: &Entry| self.thread.is_none_or(|thread| entry.agent == thread);
        read.retain(|read| match read {
            Read::Entry { entry, .. } => wanted(entry),
            Read::Damaged { .. } => true,
        });
        Ok(Some(read))
    }
}

/// Reads entries at some places.
pub(crate) async fn read_at(
    store: &dyn Store,
    id: ConversationId,
    seqs: &[Seq],
) -> Result<Vec<Read>, StoreError> {
    let mut found = Vec::with_capacity(seqs.len());
    match store.records(id, seqs).await {
        Ok(records) => found.extend(seqs.iter().zip(records).map(|(seq, r)| Found::new(*seq, r))),
        // One of them is missing: the others are read one by one.
        Err(StoreError::NoEntry { .. } | StoreError::DamagedConversation { .. }) => {
            for &seq in seqs {
                match store.records(id, &[seq]).await {
                    Ok(records) => found.extend(records.into_iter().map(|r| Found::new(seq, r))),
                    Err(error) => found.push(Found::missing(seq, error)?),
                }
            }
        }
        Err(error) => return Err(error),
    }
    check(store, id, found).await
}

/// A record with its place, and the entry in it.
struct Found {
    seq: Seq,
    entry: Result<Box<Entry>, String>,
    /// None if it is missing.
    record: Option<Record>,
}

impl Found {
    /// An entry that is not where it should be, if that is what an error says.
    fn missing(seq: Seq, error: StoreError) -> Result<Self, StoreError> {
        let why = match &error {
            StoreError::NoEntry { .. } => "it is missing".to_owned(),
            other => match other.damage() {
                Some(why) => why.to_owned(),
                None => return Err(error),
            },
        };
        Ok(Self { seq, entry: Err(why), record: None })
    }

    fn new(seq: Seq, record: Record) -> Self {
        let entry = record.open().map_err(|error| error.to_string());
        Self {
            seq,
            entry: entry.map(|entry| Box::new(Entry { seq, ..entry })),
            record: Some(record),
        }
    }
}

async fn check(
    store: &dyn Store,
    id: ConversationId,
    found: Vec<Found>,
) -> Result<Vec<Read>, StoreError> {
    let numbered: Vec<(Seq, &Record)> =
        found.iter().filter_map(|found| Some((found.seq, found.record.as_ref()?))).collect();
    let changed = changed_records(store, id, &numbered).await?;
    let read = |Found { seq, entry, record }: Found| match (entry, record) {
        (Ok(entry), Some(record)) => Read::Entry { entry, record, changed: changed.contains(&seq) },
        (Ok(_), None) => Read::Damaged { seq, why: "it is missing".to_owned() },
        (Err(why), _) => Read::Damaged { seq, why },
    };
    Ok(found.into_iter().map(read).collect())
}
