//! What conversations are driven with: the parts that a program puts together.

use std::sync::Arc;

use threadline_core::clock::Clock;
use threadline_core::drive::{Limits, Setting, Toolset, ToolsetRefused};
use threadline_core::id::IdSource;
use threadline_core::provider::{Models, Provider};
use threadline_core::store::Storage;
use threadline_core::tokens::TokenCounter;
use threadline_core::tool::Tool;
use threadline_core::widget::{NamesClash, Registry, Widget};

use crate::health::{Observed, Observer};
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
    /// How often the inbox is looked into for what other processes put there.
    pub inbox_ms: u64,
    /// How long a call has to stop once it is told to.
    pub stop_ms: u64,
}

impl Default for Pace {
    fn default() -> Self {
        Self { lease_ms: 30_000, linger_ms: 1_000, inbox_ms: 500, stop_ms: 5_000 }
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
        let models = Arc::new(Observed { models, observer: Arc::clone(&observer) });
        let setting = Setting { ids, counter, models, tools: toolset, widgets, limits };
        let (toolbox, setting) = (Toolbox::new(tools), Arc::new(setting));
        Ok(Self { store, provider, toolbox, clock, setting, pace: Pace::default(), observer })
    }

    /// The same world with other limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        let old = &self.setting;
        let setting = Setting {
            ids: Arc::clone(&old.ids),
            counter: Arc::clone(&old.counter),
            models: Arc::clone(&old.models),
            tools: old.tools.clone(),
            widgets: Arc::clone(&old.widgets),
            limits,
        };
        Self { setting: Arc::new(setting), ..self }
    }

    /// The same world at another pace.
    #[must_use]
    pub fn with_pace(self, pace: Pace) -> Self {
        Self { pace, ..self }
    }
}
