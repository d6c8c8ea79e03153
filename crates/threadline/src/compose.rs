//! Putting the parts together: the one place that knows every adapter.

mod dev;
mod either;

use std::collections::BTreeSet;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use anyhow::Context as _;
use threadline::{RandomIds, Setup, SystemClock, sqlite, sqlite_read_only};
use threadline_core::clock::Clock as _;
use threadline_core::history::Stamp;
use threadline_core::history::state::Agent;
use threadline_core::id::ConversationId;
use threadline_core::provider::{Models, Provider};
use threadline_core::redact::Secrets;
use threadline_core::store::{self, Conversation, Filter, Listing, Sort, Storage, StoreError};
use threadline_core::tokens::O200k;
use threadline_providers::capture::Capture;
use threadline_providers::guide::Guide;
use threadline_providers::scripted::{Script, Scripted};

use crate::args::Bounds;
use crate::config::Config;
use crate::config::environment::variable;
use crate::offer::Offer;
use crate::offer::market::Market;
use crate::view::remark;

use self::either::Either;

/// The parts that commands work with.
pub(crate) struct Parts {
    pub(crate) store: Arc<dyn Storage>,
    pub(crate) ids: RandomIds,
    pub(crate) clock: SystemClock,
    pub(crate) counter: O200k,
    /// The database file.
    pub(crate) db: PathBuf,
    /// Why the database is open only to be read, if it is.
    pub(crate) only_to_read: Option<String>,
}

/// How many conversations a short id is looked for among.
const SHORT_ID_CAP: usize = 10_000;
/// How many conversations are looked at a time for the last.
const LAST_PAGE: usize = 8;
/// The shortest beginning of an id that is taken for one.
const SHORT_ID_MIN: usize = 4;
/// How many conversations that are due are looked at for the models they ask.
const DUE_CAP: usize = 10_000;
/// How long the built-in model takes over each word when a person reads along.
const READING_PAUSE_MS: u64 = 15;

impl Parts {
    /// Opens the database, and makes it if it is not there.
    pub(crate) fn open(config: &Config) -> anyhow::Result<Self> {
        Ok(Self::of(config, sqlite(&config.db).with_context(|| unopened(config))?, None))
    }

    /// Opens the database for a command that only reads. One that cannot be written, because of its
    /// permissions, a full disk or another process, is opened only to be read.
    pub(crate) fn open_to_read(config: &Config) -> anyhow::Result<Self> {
        let error = match sqlite(&config.db) {
            Ok(store) => return Ok(Self::of(config, store, None)),
            Err(error) => error,
        };
        match sqlite_read_only(&config.db) {
            Ok(store) => Ok(Self::of(config, store, Some(error.to_string()))),
            Err(_) => Err(error).with_context(|| unopened(config)),
        }
    }

    fn of(config: &Config, store: Arc<dyn Storage>, only_to_read: Option<String>) -> Self {
        let (ids, clock, counter) = (RandomIds, SystemClock, O200k);
        Self { store, ids, clock, counter, db: config.db.clone(), only_to_read }
    }

    /// The models that can be asked.
    pub(crate) fn offer(config: &Config) -> anyhow::Result<Offer> {
        match &config.dev.script {
            Some(_) => Ok(Offer::only(Scripted::target())),
            None => Offer::new(&config.file, &variable),
        }
    }

    /// The models that can be asked, and those that a conversation has asked for by name.
    pub(crate) async fn offer_for(
        &self,
        config: &Config,
        id: ConversationId,
    ) -> anyhow::Result<Offer> {
        let mut offer = Self::offer(config)?;
        self.want_all(&mut offer, self.routes(id).await).await;
        Ok(offer)
    }

    /// The models that can be asked, and those that conversations have asked for that are due.
    pub(crate) async fn offer_for_all(&self, config: &Config) -> anyhow::Result<Offer> {
        let mut offer = Self::offer(config)?;
        for id in self.store.due(DUE_CAP).await? {
            self.want_all(&mut offer, self.routes(id).await).await;
        }
        Ok(offer)
    }

    async fn want_all(&self, offer: &mut Offer, names: BTreeSet<Arc<str>>) {
        for name in names {
            // A name that nothing has any more is told when it is asked.
            drop(offer.want_anywhere(&name).await);
        }
    }

    /// The routes that the agents of a conversation take. One that cannot be opened has none: what
    /// is wrong with it is told by whoever drives it.
    pub(crate) async fn routes(&self, id: ConversationId) -> BTreeSet<Arc<str>> {
        let Ok((_, history)) = store::open(&*self.store, id, &self.counter).await else {
            return BTreeSet::new();
        };
        let of = |agent: &Arc<Agent>| {
            let turn = agent.turn.as_ref();
            let of_turn =
                turn.map(|turn| [turn.setup.route.clone(), turn.setup.joined.route.clone()]);
            of_turn.into_iter().flatten().chain([agent.joined.route.clone()]).flatten()
        };
        history.state().agents.values().flat_map(of).collect()
    }

    /// What conversations are driven with: the models, the tools, the limits.
    pub(crate) fn setup(
        &self,
        config: &Config,
        offer: Offer,
        workspace: Option<&Path>,
        bounds: &Bounds,
    ) -> anyhow::Result<Setup> {
        self.setup_with(config, &Market::new(offer), workspace, bounds)
    }

    /// The same, with models that may come while they are used.
    pub(crate) fn setup_with(
        &self,
        config: &Config,
        market: &Arc<Market>,
        workspace: Option<&Path>,
        bounds: &Bounds,
    ) -> anyhow::Result<Setup> {
        let mut setup = Setup::offline(Arc::clone(&self.store));
        // People read along; programs do not.
        let pause_ms = if io::stdout().is_terminal() { READING_PAUSE_MS } else { 0 };
        let pause_ms = config.dev.pause_ms.unwrap_or(pause_ms);
        let own: Arc<dyn Provider> = match &config.dev.script {
            Some(path) => Arc::new(Scripted::new(script(path)?)),
            None => Arc::new(Guide { pause_ms, ..Guide::default() }),
        };
        setup.provider = provider(own, market, &setup.secrets)?;
        setup.models = Arc::clone(market) as Arc<dyn Models>;
        add_files(&mut setup, workspace.unwrap_or(Path::new(".")))?;
        if let Some(ledger) = &config.dev.ledger {
            setup.tools.extend(dev::tools(ledger));
        }
        let said = config.file.limits;
        let limits = &mut setup.limits;
        limits.steps = bounds.max_steps.or(said.steps).unwrap_or(limits.steps);
        limits.calls = said.calls.unwrap_or(limits.calls);
        limits.depth = said.depth.unwrap_or(limits.depth);
        limits.alone = said.alone.unwrap_or(limits.alone);
        limits.turn_tokens = bounds.max_tokens.or(said.tokens);
        limits.conversation_tokens = said.conversation_tokens;
        (limits.turn_cost, limits.conversation_cost) = (said.turn_cost, said.conversation_cost);
        if let Some(minutes) = said.approval_minutes {
            limits.approval_ms = u64::from(minutes.get()) * 60_000;
        }
        setup.policy = config.file.policy.iter().map(|entry| entry.0.clone()).collect();
        Ok(setup)
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
            return self.find_last().await;
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

    /// The conversation that was active last, passing over those that cannot be read.
    async fn find_last(&self) -> anyhow::Result<Conversation> {
        let mut after = None;
        loop {
            let page = self.page(after, LAST_PAGE).await?;
            after = page.last().map(|last| last.cursor(Sort::Active));
            anyhow::ensure!(
                after.is_some(),
                "there are no conversations in {} yet; `threadline` begins one",
                self.db.display()
            );
            for conversation in page {
                let Some(damage) = &conversation.damage else { return Ok(conversation) };
                remark(&format!("passing over conversation {}: {damage}", conversation.id));
            }
        }
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

fn unopened(config: &Config) -> String {
    format!("could not open the database {}", config.db.display())
}

/// Who asks the models of a market: those of the network over HTTP, the others here.
fn provider(
    own: Arc<dyn Provider>,
    market: &Arc<Market>,
    secrets: &Arc<Secrets>,
) -> anyhow::Result<Arc<dyn Provider>> {
    // Their placeholders are known before the keys are.
    market.key_labels().iter().for_each(|label| secrets.declare(label));
    let capture = variable("THREADLINE_CAPTURE").map(|folder| {
        Capture::new(Path::new(&folder))
            .with_context(|| format!("could not capture to the folder {folder}"))
    });
    let capture = capture.transpose()?.map(Arc::new);
    let (market, secrets, http) = (Arc::clone(market), Arc::clone(secrets), OnceLock::new());
    Ok(Arc::new(Either { own, market, capture, secrets, http }))
}

fn script(path: &Path) -> anyhow::Result<Script> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("could not read the script {}", path.display()))?;
    text.parse().with_context(|| format!("could not understand the script {}", path.display()))
}

/// Lets agents work with the files of a folder.
#[cfg(unix)]
fn add_files(setup: &mut Setup, workspace: &Path) -> anyhow::Result<()> {
    use threadline_tools::files::{Workspace, tools};
    let folder = Workspace::open(workspace)
        .with_context(|| format!("could not open the workspace {}", workspace.display()))?;
    setup.workspace = Some(folder.identity().clone());
    setup.tools.extend(tools(&Arc::new(folder)));
    Ok(())
}

/// Files of one folder can be worked with only where the system can keep a path within it.
#[cfg(not(unix))]
fn add_files(_: &mut Setup, _: &Path) -> anyhow::Result<()> {
    Ok(())
}
