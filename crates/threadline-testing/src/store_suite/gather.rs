//! Gathering: what a store is asked for is what all rows and entries would give.

use std::collections::BTreeMap;
use std::sync::Arc;

use threadline_core::context::plan::{Ask, DoesNotFit};
use threadline_core::context::{Material, render};
use threadline_core::history::batch::Batch;
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::{Fact, Input, Pinned, Recap};
use threadline_core::history::{Aftermath, History, Proposal, Stamp};
use threadline_core::id::{AgentId, ConversationId, Seq};
use threadline_core::outline::OutlineRow;
use threadline_core::store::{self, Origin, Recall, Storage};
use threadline_core::tokens::Estimator;

use super::{Case, World};
use crate::generator::{Generator, GeneratorOptions};
use crate::ids::Choices;

cases![what_is_gathered_is_what_all_rows_give];

/// Enough for several pages of an agent's outline.
const ENTRIES: u64 = 1800;
const AGENTS: u32 = 2;

/// What was told to a store, by place.
#[derive(Clone, Default)]
struct Told {
    rows: BTreeMap<Seq, Arc<OutlineRow>>,
    entries: BTreeMap<Seq, Arc<Entry>>,
}

impl Told {
    fn take(&mut self, batch: &Batch) {
        self.rows.extend(batch.rows.iter().map(|row| (row.seq, Arc::clone(row))));
        let entries = batch.entries.iter().map(|placed| &placed.entry);
        self.entries.extend(entries.map(|entry| (entry.seq, Arc::clone(entry))));
    }

    /// What an agent's model is shown, with everything at hand.
    fn material(&self, history: &History, ask: &Ask) -> Result<Material, DoesNotFit> {
        let row = |seq| self.rows.get(&seq).cloned();
        Material::at_hand(history, ask, row, |seq| self.entries.get(&seq).cloned())
    }
}

/// A generated conversation with rewinds that ends with pins, a recap and a question, and what it
/// amounted to now and then.
async fn told(
    world: &World,
    store: &dyn Storage,
    seed: u64,
) -> (ConversationId, Told, Vec<History>) {
    let options = GeneratorOptions { rewinds_percent: 25, ..GeneratorOptions::mixed(seed, AGENTS) };
    let mut choices = Choices::new(seed);
    let mut generator = Generator::new(options);
    let (mut told, mut histories) = (Told::default(), Vec::new());
    let id = world.id();
    // Taken in as a whole, which needs no sync for every batch.
    let stage = store.begin_intake(id, Seq::ZERO).await.unwrap();
    while generator.history().head().0 < ENTRIES {
        let proposed = generator.next_batch().unwrap();
        store.stage(stage, &proposed.batch, None).await.unwrap();
        told.take(&proposed.batch);
        if choices.percent(4) || generator.history().head().0 >= ENTRIES {
            histories.push(proposed.history);
        }
    }
    let history = generator.history();
    let resting =
        history.state().agents.iter().find(|(_, agent)| agent.present && !agent.in_turn());
    if let Some((agent, _)) = resting {
        let stamp = Stamp { counter: &Estimator, ..world.stamp() };
        let pins = (0..5).map(|_| Seq(1 + choices.below(history.head().0)));
        let pins = pins.map(|seq| (AgentId::CONVERSATION, Fact::from(Pinned { seq, on: true })));
        let to = Seq(history.head().0 / 2);
        let recap = Recap { from: Seq(1), to, text: Some("so it was".into()), ..no_recap() };
        let facts = pins
            .collect::<Vec<_>>()
            .into_iter()
            .chain([(*agent, recap.into()), (*agent, Input::from_person("what was it?").into())]);
        let proposals = facts.map(|(agent, fact)| Proposal::new(agent, fact, &Estimator));
        let proposed = history.propose(proposals, stamp).unwrap();
        store.stage(stage, &proposed.batch, None).await.unwrap();
        told.take(&proposed.batch);
        histories.push(proposed.history);
    }
    store.adopt(stage, Origin::Own, false, &[]).await.unwrap();
    (id, told, histories)
}

fn no_recap() -> Recap {
    Recap {
        from: Seq(1),
        to: Seq(1),
        text: None,
        hints: Vec::new(),
        asked: false,
        dropped: Vec::new(),
        usage: None,
        cost: None,
    }
}

async fn what_is_gathered_is_what_all_rows_give(world: &World) {
    let store = world.open().await;
    let (mut fitted, mut folded) = (0, 0);
    for seed in 1..=2 {
        let mut choices = Choices::new(seed);
        let (id, told, histories) = told(world, &*store, seed).await;
        let mut recalls: BTreeMap<AgentId, Recall> = BTreeMap::new();
        for history in &histories {
            let agent = AgentId(1 + u32::try_from(choices.below(u64::from(AGENTS))).unwrap());
            let recall = recalls.entry(agent).or_default();
            for _ in 0..3 {
                let mut ask = Ask::bare(agent, 64_u64 << choices.below(12));
                ask.recall = choices.percent(50);
                let expected = told.material(history, &ask);
                let gathered = store::gather(&*store, id, history, &ask).await.unwrap();
                let recalled = store::gather_with(&*store, id, history, &ask, recall).await;
                for found in [gathered, recalled.unwrap()] {
                    check(&found, &expected, history.head());
                }
                fitted += u32::from(expected.is_ok());
                folded += u32::from(expected.is_ok_and(|material| material.plan.border.is_some()));
            }
        }
        let last = histories.last().unwrap();
        fork(world, &*store, id, &told, last).await;
    }
    assert!(fitted > 100 && folded > 50, "{fitted} fitted, {folded} folded");
}

/// A fork is gathered from what it shares and from what is its own.
async fn fork(
    world: &World,
    store: &dyn Storage,
    from: ConversationId,
    told: &Told,
    history: &History,
) {
    let stamp = Stamp { counter: &Estimator, ..world.stamp() };
    let proposed = history.propose_fork(from, &Aftermath::default(), stamp).unwrap();
    let id = world.id();
    store.create(id, Some((from, history.head())), &proposed.batch).await.unwrap();
    let mut told = told.clone();
    told.take(&proposed.batch);
    for agent in (1..=AGENTS).map(AgentId) {
        for tokens in [500, 5000, 1_000_000] {
            let ask = Ask::bare(agent, tokens);
            let gathered = store::gather(store, id, &proposed.history, &ask).await.unwrap();
            check(&gathered, &told.material(&proposed.history, &ask), proposed.history.head());
        }
    }
}

fn check(found: &Result<Material, DoesNotFit>, expected: &Result<Material, DoesNotFit>, at: Seq) {
    match (found, expected) {
        (Ok(found), Ok(expected)) => {
            assert_eq!(found.plan, expected.plan, "at {at}");
            assert_eq!(render(found, &[]), render(expected, &[]), "at {at}");
        }
        (found, expected) => {
            assert_eq!(found.as_ref().err(), expected.as_ref().err(), "at {at}");
        }
    }
}
