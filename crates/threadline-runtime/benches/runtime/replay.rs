//! The batches that a runtime writes, written again by nothing but the store.

use std::sync::Arc;

use threadline_core::clock::Clock as _;
use threadline_core::history::entry::Entry;
use threadline_core::history::{History, Proposal, Stamp};
use threadline_core::store::{Attendance, Lease, Store as _, open};
use threadline_core::tokens::Estimator;
use threadline_runtime::Stepped;
use threadline_testing::clock::ManualClock;
use threadline_testing::ids::SeededIds;

use crate::Outcome;
use crate::house::{House, item};

/// How long leases are taken for: longer than any run.
const LEASE_MS: u64 = 24 * 3_600_000;

/// What a conversation is after its beginning: batch by batch, turn by turn.
pub(crate) struct Recorded(Vec<Vec<Vec<Arc<Entry>>>>);

impl Recorded {
    /// Drives a conversation through some turns and keeps what it appends.
    pub(crate) async fn of(house: &House, turns: usize) -> Outcome<Self> {
        let id = house.begin().await?;
        let mut drive = house.runtime.drive(id).await?;
        let mut all = Vec::new();
        for number in 1..=turns {
            house.store.enqueue(id, &item(number)).await?;
            drive.look();
            let mut batches = Vec::new();
            while let Stepped::Moved(entries) = drive.step().await? {
                batches.push(entries);
            }
            all.push(batches);
        }
        drive.release().await?;
        house.has_answered(id).await?;
        Ok(Self(all))
    }

    /// How many batches the turns after the first one take.
    pub(crate) fn batches(&self) -> usize {
        self.0.iter().skip(1).map(Vec::len).sum()
    }
}

/// A conversation that is written again.
pub(crate) struct Replay {
    lease: Lease,
    history: Option<History>,
    ids: SeededIds,
}

impl Replay {
    /// Begins a conversation as all begin, and writes its first turn.
    pub(crate) async fn begin(house: &House, recorded: &Recorded, seed: u64) -> Outcome<Self> {
        let id = house.begin().await?;
        let lease = house.store.claim(id, LEASE_MS, Attendance::Attended).await?;
        let (_, history) = open(&*house.store, id, &Estimator).await?;
        let mut replay = Self { lease, history: Some(history), ids: SeededIds::new(seed) };
        for batch in recorded.0.iter().take(1).flatten() {
            replay.write(house, batch).await?;
        }
        Ok(replay)
    }

    /// Writes the turns after the first one.
    pub(crate) async fn go_on(&mut self, house: &House, recorded: &Recorded) -> Outcome<()> {
        for batch in recorded.0.iter().skip(1).flatten() {
            self.write(house, batch).await?;
        }
        Ok(())
    }

    async fn write(&mut self, house: &House, batch: &[Arc<Entry>]) -> Outcome<()> {
        let history = self.history.take().ok_or("an append failed before")?;
        let proposals = batch.iter().map(|entry| {
            let mut proposal = Proposal::new(entry.agent, entry.fact.clone(), &Estimator);
            proposal.cause = entry.cause;
            proposal.metadata = entry.metadata.clone();
            proposal
        });
        let stamp = Stamp { at: ManualClock::new().now(), ids: &self.ids, counter: &Estimator };
        let proposed = history.propose(proposals, stamp)?;
        house.store.append(&self.lease, &proposed.batch).await?;
        self.history = Some(proposed.history);
        Ok(())
    }
}
