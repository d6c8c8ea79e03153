//! What an agent's context is made of, gathered with what is at hand from the last time.

use threadline_core::context::Material;
use threadline_core::context::plan::DoesNotFit;
use threadline_core::drive::Gather;
use threadline_core::history::batch::Batch;
use threadline_core::history::fact::Digest;
use threadline_core::id::{AgentId, ConversationId};
use threadline_core::store::{OpenError, Recall, gather_with};

use crate::toolbox::keep_bytes;
use crate::world::World;

/// What is at hand of one agent's context.
pub(crate) struct AtHand {
    /// After how often all was forgotten.
    since: u64,
    recall: Recall,
    /// The catalogue that the store has.
    catalogue: Option<Digest>,
}

impl AtHand {
    /// Nothing yet.
    pub(crate) fn new(since: u64) -> Self {
        Self { since, recall: Recall::default(), catalogue: None }
    }

    /// After how often all was forgotten it was begun.
    pub(crate) fn since(&self) -> u64 {
        self.since
    }

    /// Takes in what a durable batch adds.
    pub(crate) fn note(&mut self, agent: AgentId, batch: &Batch) {
        self.recall.note(agent, batch);
    }

    /// Gathers what a context is made of: only what is new is read.
    pub(crate) async fn gather(
        &mut self,
        world: &World,
        id: ConversationId,
        gather: &Gather,
    ) -> Result<Result<Material, DoesNotFit>, OpenError> {
        if let Some((digest, bytes)) = &gather.catalogue
            && self.catalogue != Some(*digest)
        {
            keep_bytes(&*world.store, bytes).await?;
            self.catalogue = Some(*digest);
        }
        let (store, recall) = (&*world.store, &mut self.recall);
        if let Some(batch) = &gather.unstored {
            recall.note_unstored(gather.ask.agent, batch);
        }
        gather_with(store, id, &gather.history, &gather.ask, recall).await
    }
}
