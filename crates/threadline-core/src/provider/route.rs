//! Routes: named choices among models.

use std::sync::Arc;

/// A named choice of models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// What agents, inputs and people call it.
    pub name: Arc<str>,
    /// The names of its models, in order.
    pub models: Vec<Arc<str>>,
    /// How one of them is chosen.
    pub strategy: Strategy,
}

/// How a route chooses among its models. Within a turn the chosen one is kept unless it fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// The first one and no other.
    #[default]
    Fixed,
    /// The first one; the next at once when it fails.
    Fallback,
    /// The one whose price for the request is the lowest; those of unknown price come last.
    Cheapest,
    /// The one that began to answer soonest of late; those never measured come first.
    Fastest,
    /// The first one whose window holds the request with nothing folded.
    FirstThatFits,
}

impl Strategy {
    /// Its name, as configurations and reasons have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Fallback => "fallback",
            Self::Cheapest => "cheapest",
            Self::Fastest => "fastest",
            Self::FirstThatFits => "first that fits",
        }
    }
}
