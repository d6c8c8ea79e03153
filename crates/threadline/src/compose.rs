//! Putting the parts together: the one place that knows every adapter.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use threadline::{RandomIds, SystemClock};
use threadline_core::clock::Clock as _;
use threadline_core::history::Stamp;
use threadline_core::id::{ConversationId, TenantId};
use threadline_core::store::{Conversation, Filter, Listing, Sort, Storage, StoreError};
use threadline_core::tokens::Estimator;
use threadline_stores::sqlite::{Durability, SqliteOptions, SqliteStore};

use crate::config::Config;

/// The parts that commands work with.
pub(crate) struct Parts {
    pub(crate) store: Arc<dyn Storage>,
    pub(crate) ids: RandomIds,
    pub(crate) clock: SystemClock,
    pub(crate) counter: Estimator,
    /// The database file.
    pub(crate) db: PathBuf,
}

/// How many conversations a short id is looked for among.
const SHORT_ID_CAP: usize = 10_000;
/// The shortest beginning of an id that is taken for one.
const SHORT_ID_MIN: usize = 4;

impl Parts {
    /// Opens the database, and makes it if it is not there.
    pub(crate) fn open(config: &Config) -> anyhow::Result<Self> {
        let options = SqliteOptions {
            path: config.db.clone(),
            tenant: TenantId::NIL,
            owner: format!("threadline, process {}", std::process::id()),
            clock: Arc::new(SystemClock),
            ids: Arc::new(RandomIds),
            vfs: None,
            durability: Durability::Full,
        };
        let store = SqliteStore::open(options)
            .with_context(|| format!("could not open the database {}", config.db.display()))?;
        Ok(Self {
            store: Arc::new(store),
            ids: RandomIds,
            clock: SystemClock,
            counter: Estimator,
            db: config.db.clone(),
        })
    }

    /// When and under which ids entries are placed now.
    pub(crate) fn stamp(&self) -> Stamp<'_> {
        Stamp { at: self.clock.now(), ids: &self.ids, counter: &self.counter }
    }

    /// A new conversation's id.
    pub(crate) fn new_id(&self) -> ConversationId {
        ConversationId::new(self.clock.now(), &self.ids)
    }

    /// The conversation that a person means.
    pub(crate) async fn find(&self, meant: &str) -> anyhow::Result<Conversation> {
        if meant == "last" {
            let newest = self.page(None, 1).await?.pop();
            return newest.with_context(|| {
                let db = self.db.display();
                format!(
                    "there are no conversations in {db} yet; `threadline dev generate` makes one up"
                )
            });
        }
        if let Ok(id) = meant.parse::<ConversationId>() {
            return Ok(self.store.conversation(id).await?);
        }
        let short = meant.to_ascii_lowercase();
        if short.len() < SHORT_ID_MIN || !short.chars().all(|c| c.is_ascii_hexdigit() || c == '-') {
            anyhow::bail!(
                "{meant:?} is not a conversation: give its id, at least {SHORT_ID_MIN} characters of its beginning, or `last`"
            );
        }
        self.find_short(&short).await
    }

    async fn find_short(&self, short: &str) -> anyhow::Result<Conversation> {
        let mut found: Option<Conversation> = None;
        let mut after = None;
        let mut seen = 0;
        loop {
            let page = self.page(after, 200).await?;
            let Some(last) = page.last() else { break };
            after = Some(last.cursor(Sort::Active));
            seen += page.len();
            for conversation in page.into_iter().filter(|c| c.id.to_string().starts_with(short)) {
                if let Some(other) = &found {
                    anyhow::bail!(
                        "{short} is the beginning of {} and of {}: give more of it",
                        other.id,
                        conversation.id
                    );
                }
                found = Some(conversation);
            }
            if seen >= SHORT_ID_CAP {
                break;
            }
        }
        found.with_context(|| {
            format!(
                "no conversation begins with {short}; `threadline list --all` shows what there is"
            )
        })
    }

    async fn page(
        &self,
        after: Option<threadline_core::store::Cursor>,
        most: usize,
    ) -> Result<Vec<Conversation>, StoreError> {
        self.store.list(&Listing { filter: Filter::All, sort: Sort::Active, after, most }).await
    }
}
