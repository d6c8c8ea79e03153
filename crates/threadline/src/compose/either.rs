//! One provider of two: some models are asked over the network, the others are in this process.

use std::collections::BTreeSet;
use std::sync::Arc;

use threadline_core::provider::{DeltaStream, Provider, Request};
use threadline_providers::wired::Wired;

/// Asks each model where it is.
pub(super) struct Either {
    /// Who answers in this process.
    pub(super) own: Arc<dyn Provider>,
    /// Who asks over the network.
    pub(super) wired: Wired,
    /// The models that are asked over the network.
    pub(super) names: BTreeSet<Arc<str>>,
}

impl Provider for Either {
    fn invoke(&self, request: Request) -> DeltaStream {
        if self.names.contains(&request.target.name) {
            self.wired.invoke(request)
        } else {
            self.own.invoke(request)
        }
    }
}
