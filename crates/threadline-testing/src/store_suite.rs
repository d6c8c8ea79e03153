//! What every store must do: one suite that all of them pass unchanged.
//!
//! A store is put under test by filling [`Rig`]; each of [`CASES`] then gets a [`World`] of its
//! own and panics if the store breaks a promise of [`threadline_core::store`].
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a case is a test: it fails by panicking"
)]

/// Expects a refusal of a kind.
macro_rules! refused {
    ($result:expr, $kind:pat $(if $guard:expr)?) => {{
        let result = $result;
        let is_kind = matches!(&result, Err($kind) $(if $guard)?);
        assert!(is_kind, "expected {}: {result:?}", stringify!($kind));
    }};
}

/// More than any page of the suite leads to: a store that repeats itself is not read for ever.
const ENDLESS: usize = 10_000;

/// The cases of a module, by name.
macro_rules! cases {
    ($($case:ident),* $(,)?) => {
        /// The cases about this.
        pub(super) const CASES: &[Case] =
            &[$(Case { name: stringify!($case), run: |world| Box::pin($case(world)) }),*];
    };
}

mod append;
mod blob;
mod claim;
mod delete;
mod edit;
pub mod facts;
mod fork;
mod gather;
mod inbox;
mod intake;
mod lease;
mod listing;
mod moved;
mod open;
mod outline;
mod reading;
mod search;
mod snapshot;
mod story;
mod tenant;
mod widgets;

use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use threadline_core::clock::Clock;
use threadline_core::history::Stamp;
use threadline_core::id::{ConversationId, IdSource, TenantId};
use threadline_core::store::Storage;

use self::facts::Words;
use crate::clock::ManualClock;
use crate::ids::SeededIds;

/// A store under test: one content, empty at first, that can be opened any number of times.
#[async_trait]
pub trait Rig: Send + Sync {
    /// Opens the content as an owner. Two that are open at a time are two processes, and one
    /// that is dropped is a process that died.
    async fn open(&self, owner: &str) -> Arc<dyn Storage>;

    /// Opens the content for another tenant than [`Rig::open`] does, if the store has tenants.
    async fn open_tenant(&self, tenant: TenantId) -> Option<Arc<dyn Storage>>;
}

/// Makes a rig with a clock and ids of the suite's.
pub type MakeRig = fn(Arc<dyn Clock>, Arc<dyn IdSource>) -> Box<dyn Rig>;

/// What one case is given.
pub struct World {
    rig: Box<dyn Rig>,
    clock: Arc<ManualClock>,
    ids: Arc<SeededIds>,
}

impl World {
    /// A world with an empty store.
    pub fn new(make: MakeRig) -> Self {
        let (clock, ids) = (Arc::new(ManualClock::new()), Arc::new(SeededIds::new(1)));
        let rig = make(Arc::clone(&clock) as Arc<dyn Clock>, Arc::new(SeededIds::new(2)));
        Self { rig, clock, ids }
    }

    /// The store, opened by the usual owner.
    async fn open(&self) -> Arc<dyn Storage> {
        self.rig.open("one").await
    }

    /// The store after the process that had it open died.
    async fn reopen(&self, store: Arc<dyn Storage>) -> Arc<dyn Storage> {
        drop(store);
        self.open().await
    }

    fn id(&self) -> ConversationId {
        ConversationId::new(self.clock.now(), &*self.ids)
    }

    fn stamp(&self) -> Stamp<'_> {
        Stamp { at: self.clock.now(), ids: &*self.ids, counter: &Words }
    }
}

/// One promise, put to the test.
pub struct Case {
    /// What is promised.
    pub name: &'static str,
    /// Panics if the promise is broken.
    pub run: for<'a> fn(&'a World) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>>,
}

/// All cases, by what they are about.
pub const CASES: &[(&str, &[Case])] = &[
    ("append", append::CASES),
    ("reading", reading::CASES),
    ("outline", outline::CASES),
    ("listing", listing::CASES),
    ("lease", lease::CASES),
    ("inbox", inbox::CASES),
    ("edit", edit::CASES),
    ("delete", delete::CASES),
    ("claim", claim::CASES),
    ("fork", fork::CASES),
    ("snapshot", snapshot::CASES),
    ("open", open::CASES),
    ("gather", gather::CASES),
    ("widgets", widgets::CASES),
    ("blob", blob::CASES),
    ("search", search::CASES),
    ("intake", intake::CASES),
    ("moved", moved::CASES),
    ("tenant", tenant::CASES),
];
