//! Filling a store with a generated history.

use threadline_core::history::batch::Batch;
use threadline_core::history::snapshot::SNAPSHOT_EVERY;
use threadline_core::history::{History, Refused};
use threadline_core::id::ConversationId;
use threadline_core::store::{Origin, StageId, Storage, StoreError};

use super::Generator;

/// How many bytes of records are written at a time.
const SLICE_BYTES: usize = 256 * 1024;

/// Why a store could not be filled.
#[derive(Debug, thiserror::Error)]
pub enum FillError {
    /// The store could not take it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The rules refuse what was generated, which is a mistake in the generator.
    #[error(transparent)]
    Generated(#[from] Refused),
}

/// Writes a conversation that has exactly so many entries and in which all agents rest; or goes
/// on with one that was begun with this generator.
///
/// It is taken in as a whole, which needs no sync for every batch. Snapshots are kept as when it
/// is driven. `progress` is shown every batch.
pub async fn fill(
    storage: &dyn Storage,
    id: ConversationId,
    generator: &mut Generator,
    entries: u64,
    mut progress: impl FnMut(&Batch),
) -> Result<(), FillError> {
    let stage = storage.begin_intake(id, generator.history().head()).await?;
    let (mut slice, mut bytes): (Option<Batch>, usize) = (None, 0);
    while generator.history().head().0 < entries {
        let batch = generator.next_within(entries - generator.history().head().0)?.batch;
        progress(&batch);
        bytes += batch.entries.iter().map(|placed| placed.record.size()).sum::<usize>();
        let joined = match slice.take() {
            None => batch,
            Some(before) => join(before, batch),
        };
        if bytes < SLICE_BYTES {
            slice = Some(joined);
        } else {
            bytes = 0;
            write(storage, stage, joined, generator.history()).await?;
        }
    }
    if let Some(rest) = slice {
        write(storage, stage, rest, generator.history()).await?;
    }
    storage.adopt(stage, Origin::Own, false, &[]).await?;
    storage.keep_snapshot(id, &generator.history().to_snapshot(), false).await?;
    Ok(())
}

async fn write(
    storage: &dyn Storage,
    stage: StageId,
    slice: Batch,
    history: &History,
) -> Result<(), StoreError> {
    let slice = Batch { agents: history.agent_sums(), ..slice };
    let due = slice.base.0 / SNAPSHOT_EVERY != slice.head().0 / SNAPSHOT_EVERY;
    let snapshot = due.then(|| history.to_snapshot());
    storage.stage(stage, &slice, snapshot.as_ref()).await
}

/// Two batches, one after the other, as one.
fn join(first: Batch, second: Batch) -> Batch {
    let base = (first.base, first.base_hash);
    let entries = first.entries.into_iter().chain(second.entries).collect();
    let rows = first.rows.into_iter().chain(second.rows).collect();
    Batch::new(base, entries, rows, second.sums, first.agents)
}
