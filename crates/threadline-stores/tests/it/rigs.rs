//! The stores, each as the suite needs it.

use std::sync::Arc;

use async_trait::async_trait;
use tempfile::TempDir;
use threadline_core::clock::Clock;
use threadline_core::id::{IdSource, TenantId};
use threadline_core::store::{DEFAULT_TENANT, Storage};
use threadline_stores::memory::MemoryStore;
use threadline_stores::sqlite::{Durability, SqliteOptions, SqliteStore};
use threadline_testing::store_suite::Rig;

/// A runtime for one case.
pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// The model.
pub(crate) fn memory(clock: Arc<dyn Clock>, ids: Arc<dyn IdSource>) -> Box<dyn Rig> {
    Box::new(Memory(MemoryStore::new(DEFAULT_TENANT, "rig".to_owned(), clock, ids)))
}

struct Memory(MemoryStore);

#[async_trait]
impl Rig for Memory {
    async fn open(&self, owner: &str) -> Arc<dyn Storage> {
        Arc::new(self.0.another_owner(owner.to_owned()))
    }

    async fn open_tenant(&self, tenant: TenantId) -> Option<Arc<dyn Storage>> {
        Some(Arc::new(self.0.another_tenant(tenant)))
    }
}

/// SQLite, in a folder of its own.
pub(crate) fn sqlite(clock: Arc<dyn Clock>, ids: Arc<dyn IdSource>) -> Box<dyn Rig> {
    let folder = tempfile::tempdir().unwrap();
    Box::new(Sqlite { folder, clock, ids })
}

struct Sqlite {
    folder: TempDir,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
}

impl Sqlite {
    fn open(&self, tenant: TenantId, owner: &str) -> SqliteStore {
        SqliteStore::open(SqliteOptions {
            path: self.folder.path().join("store.db"),
            tenant,
            owner: owner.to_owned(),
            clock: Arc::clone(&self.clock),
            ids: Arc::clone(&self.ids),
            vfs: None,
            durability: Durability::Full,
        })
        .unwrap()
    }
}

#[async_trait]
impl Rig for Sqlite {
    async fn open(&self, owner: &str) -> Arc<dyn Storage> {
        Arc::new(self.open(DEFAULT_TENANT, owner))
    }

    async fn open_tenant(&self, tenant: TenantId) -> Option<Arc<dyn Storage>> {
        Some(Arc::new(self.open(tenant, "one")))
    }
}
