//! What conversations are driven with: the parts that a program puts together.

use std::sync::Arc;

use threadline_core::choose::HealthSource;
use threadline_core::clock::Clock;
use threadline_core::drive::{Limits, Setting, Toolset, ToolsetRefused};
use threadline_core::history::fact::WorkspaceSet;
use threadline_core::id::IdSource;
use threadline_core::policy::Rule;
use threadline_core::provider::{Models, Provider};
use threadline_core::redact::Secrets;
use threadline_core::store::Storage;
use threadline_core::tokens::TokenCounter;
use threadline_core::tool::Tool;
use threadline_core::widget::{NamesClash, Registry, Widget};

use crate::health::Observer;
use crate::toolbox::Toolbox;

/// The parts that conversations are driven with.
pub struct World {
    /// Where histories live.
    pub store: Arc<dyn Storage>,
    /// Who asks models.
    pub provider: Arc<dyn Provider>,
    /// Who runs calls.
    pub toolbox: Toolbox,
    /// Where time comes from.
    pub clock: Arc<dyn Clock>,
    /// What drivers work with.
    pub setting: Arc<Setting>,
    /// How fast things go.
    pub pace: Pace,
    /// The secrets that are redacted in answers and results.
    pub secrets: Arc<Secrets>,
    /// How models are doing.
    pub(crate) observer: Arc<Observer>,
}

/// How fast things go that nobody sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// How long a lease lasts; it is renewed after a third of it.
    pub lease_ms: u64,
    /// How long a conversation that rests is kept at hand.
    pub linger_ms: u64,
    /// How long a call has to stop once it is told to.
    pub stop_ms: u64,
}

impl Default for Pace {
    fn default() -> Self {
        Self { lease_ms: 30_000, linger_ms: 1_000, stop_ms: 5_000 }
    }
}

/// Parts that cannot be put together.
#[derive(Debug, thiserror::Error)]
pub enum WorldRefused {
    /// Tools clash, or have schemas that are none.
    #[error(transparent)]
    Tools(#[from] ToolsetRefused),
    /// Widgets clash.
    #[error(transparent)]
    Widgets(#[from] NamesClash),
}

impl World {
    /// A world of these parts, with the usual limits and pace.
    #[expect(clippy::too_many_arguments, reason = "a world is its parts")]
    pub fn new(
        store: Arc<dyn Storage>,
        provider: Arc<dyn Provider>,
        models: Arc<dyn Models>,
        tools: Vec<Arc<dyn Tool>>,
        widgets: Vec<Box<dyn Widget>>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdSource>,
        counter: Arc<dyn TokenCounter>,
    ) -> Result<Self, WorldRefused> {
        let widgets = Arc::new(Registry::new(widgets)?);
        let specs = tools.iter().map(|tool| Arc::new(tool.spec().clone()));
        let toolset = Toolset::new(specs, &widgets)?;
        let limits = Limits::default();
        let observer = Arc::new(Observer::new(Arc::clone(&clock)));
        let health = Arc::clone(&observer) as Arc<dyn HealthSource>;
        let policy = Vec::new();
        let workspace = None;
        let setting = Setting {
            ids,
            counter,
            models,
            health,
            tools: toolset,
            widgets,
            limits,
            policy,
            workspace,
        };
        let (toolbox, setting) = (Toolbox::new(tools), Arc::new(setting));
        let (pace, secrets) = (Pace::default(), Arc::default());
        Ok(Self { store, provider, toolbox, clock, setting, pace, secrets, observer })
    }

    /// The same world with other limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        let setting = Arc::new(Setting { limits, ..again(&self.setting) });
        Self { setting, ..self }
    }

    /// The same world with these rules of its operator for calls.
    #[must_use]
    pub fn with_policy(self, policy: Vec<Rule>) -> Self {
        let setting = Arc::new(Setting { policy, ..again(&self.setting) });
        Self { setting, ..self }
    }

    /// The same world with a folder that its tools work in.
    #[must_use]
    pub fn with_workspace(self, workspace: Option<WorkspaceSet>) -> Self {
        let setting = Arc::new(Setting { workspace, ..again(&self.setting) });
        Self { setting, ..self }
    }

    /// The same world with these secrets, which may still become known.
    #[must_use]
    pub fn with_secrets(self, secrets: Arc<Secrets>) -> Self {
        Self { secrets, ..self }
    }

    /// The same world at another pace.
    #[must_use]
    pub fn with_pace(self, pace: Pace) -> Self {
        Self { pace, ..self }
    }
}

/// The same setting once more.
fn again(setting: &Setting) -> Setting {
    Setting {
        ids: Arc::clone(&setting.ids),
        counter: Arc::clone(&setting.counter),
        models: Arc::clone(&setting.models),
        health: Arc::clone(&setting.health),
        tools: setting.tools.clone(),
        widgets: Arc::clone(&setting.widgets),
        limits: setting.limits,
        policy: setting.policy.clone(),
        workspace: setting.workspace.clone(),
    }
}
