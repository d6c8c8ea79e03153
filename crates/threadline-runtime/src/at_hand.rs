//! What an agent's context is made of, gathered with what is at hand from the last time.

use std::sync::Arc;

use threadline_core::drive::{Gather, Gathered};
use threadline_core::history::batch::Batch;
use threadline_core::history::fact::{Digest, Fact};
use threadline_core::id::{AgentId, ConversationId, Seq};
use threadline_core::store::{OpenError, Recall, window_with};

use crate::toolbox::keep_bytes;
use crate::world::World;

/// What is at hand of one agent's context.
#[derive(Default)]
pub(crate) struct AtHand {
    recall: Recall,
    instruction: Option<(Seq, Arc<str>)>,
    /// The catalogue that the store has.
    catalogue: Option<Digest>,
}

impl AtHand {
    /// Takes in what a durable batch adds.
    pub(crate) fn note(&mut self, agent: AgentId, batch: &Batch) {
        self.recall.note(agent, batch);
    }

    /// Gathers what a context is made of: only what is new is read.
    pub(crate) async fn gather(
        &mut self,
        world: &World,
        id: ConversationId,
        agent: AgentId,
        gather: &Gather,
    ) -> Result<Gathered, OpenError> {
        if let Some((digest, bytes)) = &gather.catalogue
            && self.catalogue != Some(*digest)
        {
            keep_bytes(&*world.store, bytes).await?;
            self.catalogue = Some(*digest);
        }
        let (store, recall) = (&*world.store, &mut self.recall);
        let window = window_with(store, id, &gather.history, agent, gather.tokens, recall).await?;
        if self.instruction.as_ref().map(|(seq, _)| *seq) != gather.instruction {
            self.instruction = match gather.instruction {
                Some(seq) => instruction(world, id, seq).await?,
                None => None,
            };
        }
        Ok(Gathered { instruction: self.instruction.clone(), window })
    }
}

async fn instruction(
    world: &World,
    id: ConversationId,
    seq: Seq,
) -> Result<Option<(Seq, Arc<str>)>, OpenError> {
    let unreadable = |source| OpenError::Unreadable { id, seq, source };
    for record in &world.store.records(id, &[seq]).await? {
        if let Fact::InstructionSet(set) = record.open().map_err(unreadable)?.fact {
            return Ok(Some((seq, set.text)));
        }
    }
    Ok(None)
}
