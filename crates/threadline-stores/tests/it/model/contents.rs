//! What two stores hold in the end.

use std::sync::Arc;

use threadline_core::history::batch::{AgentSums, State};
use threadline_core::history::record::Record;
use threadline_core::history::snapshot::Snapshot;
use threadline_core::id::{ConversationId, Seq};
use threadline_core::inbox::{Item, ItemNumber};
use threadline_core::outline::OutlineRow;
use threadline_core::store::{
    Conversation, Filter, Listing, Page, Query, Sort, Storage, open, verify,
};
use threadline_testing::store_suite::facts::Words;

use super::twins::Twins;

/// All that a store tells of a conversation.
#[derive(Debug, PartialEq)]
struct Contents {
    conversation: Conversation,
    agents: Vec<AgentSums>,
    records: Vec<Record>,
    rows: Vec<OutlineRow>,
    rewinds: Vec<(Seq, Seq)>,
    waiting: Vec<Item>,
    snapshots: Vec<Option<Snapshot>>,
    checksums: Vec<(Seq, u64)>,
}

impl Contents {
    async fn of(store: &dyn Storage, id: ConversationId) -> Self {
        let conversation = store.conversation(id).await.unwrap();
        let waiting = store.waiting(id, ItemNumber(0), 1000).await.unwrap();
        let mut snapshots = Vec::new();
        for part in 0..4 {
            let at_most = Seq(conversation.head.0 - conversation.head.0 * part / 4);
            snapshots.push(store.snapshot(id, at_most).await.unwrap());
        }
        Self {
            agents: store.agents(id).await.unwrap(),
            records: store.read(id, &Page::forward(Seq(1), 100_000)).await.unwrap(),
            rows: store.outline_ledger(id, Seq::ZERO, 100_000).await.unwrap(),
            rewinds: store.rewinds(id, Seq::ZERO).await.unwrap(),
            waiting: waiting.into_iter().map(|(_, item)| item).collect(),
            snapshots,
            checksums: store
                .audit()
                .unwrap()
                .index_checksums(id, Seq::ZERO, 100_000)
                .await
                .unwrap(),
            conversation,
        }
    }
}

impl Twins {
    /// Compares all that the stores hold, with each other and with what was told.
    pub(crate) async fn compare(&self) {
        let (left, right) = &self.owners[0];
        for told in &self.told {
            let (model, tested) =
                (Contents::of(&**left, told.id).await, Contents::of(&**right, told.id).await);
            assert_eq!(model, tested);
            let history = told.history();
            assert_eq!(model.conversation.sums, history.sums());
            assert_eq!(model.conversation.head_hash, history.head_hash());
            assert_eq!(model.agents, history.agent_sums());
            for store in [left, right] {
                let (_, opened) = open(&**store, told.id, &Words).await.unwrap();
                assert_eq!(opened, history);
            }
            let depth = verify::Depth::Deep;
            let report =
                verify::verify(&**right, told.id, depth, Arc::new(Words), &mut |_| {}).await;
            let findings = report.unwrap().findings;
            assert!(findings.is_empty(), "{findings:?}");
        }
        for filter in filters() {
            for sort in [Sort::Active, Sort::Created] {
                let listing = Listing { filter: filter.clone(), sort, after: None, most: 1000 };
                let lists = (left.list(&listing).await, right.list(&listing).await);
                assert_eq!(lists.0.unwrap(), lists.1.unwrap(), "{listing:?}");
            }
        }
        for text in ["needle0", "天气", "so it is"] {
            let (text, most) = (text.to_owned(), 1000);
            let all = Query { text, conversation: None, agent: None, after: None, most };
            for told in &self.told {
                self.search(Query { conversation: Some(told.id), ..all.clone() }).await;
            }
            self.search(all).await;
        }
    }
}

fn filters() -> Vec<Filter> {
    let states = [State::Resting, State::Working, State::Waiting].map(Filter::State);
    let labels = ["label0", "label1", "any"].map(|label| Filter::Label(label.to_owned()));
    let rest = [Filter::Current, Filter::Archived, Filter::All];
    rest.into_iter().chain(states).chain(labels).collect()
}
