//! Filling a store with a generated history.

use threadline_core::history::Refused;
use threadline_core::id::{ConversationId, Seq};
use threadline_core::store::{self, Store, StoreError};

use super::Generator;

/// How long the lease is asked for; an append checks that it was not lost, not that it is young.
const LEASE_MS: u64 = 60_000;

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

/// Begins a conversation and appends to it, batch by batch, until it has exactly so many entries
/// and all agents rest; or goes on with one that was begun with this generator.
///
/// Snapshots are kept as when it is driven. `progress` is told the head after every batch.
pub async fn fill(
    store: &dyn Store,
    id: ConversationId,
    generator: &mut Generator,
    entries: u64,
    mut progress: impl FnMut(Seq),
) -> Result<(), FillError> {
    let begun = generator.history().head() > Seq::ZERO;
    let mut lease = if begun { Some(store.acquire(id, LEASE_MS).await?) } else { None };
    while generator.history().head().0 < entries {
        let proposed = generator.next_within(entries - generator.history().head().0)?;
        let head = proposed.batch.head();
        match &lease {
            None => {
                store.create(id, None, &proposed.batch).await?;
                lease = Some(store.acquire(id, LEASE_MS).await?);
            }
            Some(lease) => drop(store::append(store, lease, proposed).await?),
        }
        progress(head);
    }
    if let Some(lease) = lease {
        store.release(&lease).await?;
    }
    Ok(())
}
