//! Setting up: the parts that conversations are driven with, as plain fields.

use std::path::Path;
use std::sync::Arc;
use std::thread;

use threadline_core::drive::{Limits, own_tools};
use threadline_core::history::fact::{AgentJoined, WorkspaceSet};
use threadline_core::id::TenantId;
use threadline_core::policy::Rule;
use threadline_core::provider::{Models, Provider};
use threadline_core::redact::Secrets;
use threadline_core::store::{Storage, StoreError};
use threadline_core::tokens::O200k;
use threadline_core::tool::Tool;
use threadline_core::widget::Widget;
use threadline_providers::guide::Guide;
use threadline_providers::models::StaticModels;
use threadline_runtime::{NewAgent, Pace, Runtime, World, WorldRefused};
use threadline_stores::sqlite::{Durability, SqliteOptions, SqliteStore};
use threadline_tools::calculator::Calculator;
use threadline_tools::recall::Recall;
use threadline_tools::widgets::board::Board;
use threadline_tools::widgets::clock::Clock;
use threadline_tools::widgets::notebook::Notebook;
use threadline_tools::widgets::resources::Resources;

use crate::{RandomIds, SystemClock};

/// The parts that conversations are driven with. Whoever wants other parts puts them in.
pub struct Setup {
    /// Where histories live.
    pub store: Arc<dyn Storage>,
    /// Who asks models.
    pub provider: Arc<dyn Provider>,
    /// The models there are; the first that can be asked answers.
    pub models: Arc<dyn Models>,
    /// What agents can have done.
    pub tools: Vec<Arc<dyn Tool>>,
    /// What agents see on their screens.
    pub widgets: Vec<Box<dyn Widget>>,
    /// When turns end without an answer.
    pub limits: Limits,
    /// The rules for calls, in order: the last that speaks of a call counts, and a deny always.
    pub policy: Vec<Rule>,
    /// The folder that tools work in, if any does. A conversation with such tools is bound to it.
    pub workspace: Option<WorkspaceSet>,
    /// How fast things go that nobody sees.
    pub pace: Pace,
    /// The secrets that are redacted in answers and results. Whoever fetches a key adds it here.
    pub secrets: Arc<Secrets>,
}

/// The widgets that come with Threadline.
///
/// Short and common ones first, the agent's own and longest last. Screens are sent once and then
/// stay as they are, so the order costs no prefix.
pub fn built_in_widgets() -> Vec<Box<dyn Widget>> {
    vec![
        Box::new(Clock::new()),
        Box::new(Board::new()),
        Box::new(Resources::new()),
        Box::new(Notebook::new()),
    ]
}

impl Setup {
    /// What needs no key and no network: the built-in model, a calculator, reading one's own thread
    /// again, and on the screen a clock, the task board, what is shared, the memory notebook.
    pub fn offline(store: Arc<dyn Storage>) -> Self {
        Self {
            store,
            provider: Arc::new(Guide::default()),
            models: Arc::new(StaticModels::new([Guide::target()])),
            tools: vec![Arc::new(Calculator::new()), Arc::new(Recall::new())],
            widgets: built_in_widgets(),
            limits: Limits::default(),
            policy: Vec::new(),
            workspace: None,
            pace: Pace::default(),
            secrets: Arc::default(),
        }
    }

    /// The primary agent of a new conversation, with all tools and widgets there are. Where there
    /// are tools, those by which agents call each other and wait are among them.
    pub fn assistant(&self, instruction: &str) -> NewAgent {
        let tools = self.tools.iter().map(|tool| Arc::clone(&tool.spec().name));
        let own = own_tools().map(|spec| spec.name).into_iter().filter(|_| !self.tools.is_empty());
        NewAgent {
            joined: AgentJoined {
                name: "assistant".into(),
                tools: tools.chain(own).collect(),
                widgets: self.widgets.iter().map(|widget| widget.name().into()).collect(),
                primary: true,
                ..AgentJoined::default()
            },
            instruction: Some(instruction)
                .filter(|instruction| !instruction.trim().is_empty())
                .map(Into::into),
        }
    }

    /// A runtime over these parts. Refused if two tools or widgets share a name.
    pub fn runtime(self) -> Result<Runtime, WorldRefused> {
        warm();
        let world = World::new(
            self.store,
            self.provider,
            self.models,
            self.tools,
            self.widgets,
            Arc::new(SystemClock),
            Arc::new(RandomIds),
            Arc::new(O200k),
        )?;
        let world = world.with_limits(self.limits).with_policy(self.policy);
        let world = world.with_workspace(self.workspace).with_secrets(self.secrets);
        Ok(Runtime::new(world.with_pace(self.pace)))
    }
}

/// Loads the counter's vocabulary aside, so that the first entry does not wait for it.
fn warm() {
    // Without a thread of its own it is loaded by whoever counts first.
    drop(thread::Builder::new().name("vocabulary".into()).spawn(O200k::load));
}

/// Opens a database file, and makes it if it is not there.
pub fn sqlite(path: &Path) -> Result<Arc<dyn Storage>, StoreError> {
    Ok(Arc::new(SqliteStore::open(options(path))?))
}

/// Opens a database file that is there, only to be read. See [`SqliteStore::open_read_only`].
pub fn sqlite_read_only(path: &Path) -> Result<Arc<dyn Storage>, StoreError> {
    Ok(Arc::new(SqliteStore::open_read_only(options(path))?))
}

fn options(path: &Path) -> SqliteOptions {
    SqliteOptions {
        path: path.to_path_buf(),
        tenant: TenantId::NIL,
        owner: format!("threadline, process {}", std::process::id()),
        clock: Arc::new(SystemClock),
        ids: Arc::new(RandomIds),
        vfs: None,
        durability: Durability::Full,
    }
}
