//! The market: an offer that grows while a conversation goes on.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError, RwLock};

use threadline_core::choose::Route;
use threadline_core::provider::{Models, Target};
use threadline_providers::access::Access;

use super::Offer;

/// An offer to which models come while it is used.
#[derive(Debug)]
pub(crate) struct Market(RwLock<Arc<Offer>>);

impl Market {
    pub(crate) fn new(offer: Offer) -> Arc<Self> {
        Arc::new(Self(RwLock::new(Arc::new(offer))))
    }

    /// Makes a name one that can be asked, wherever it has to be looked for.
    pub(crate) async fn want(&self, name: &str) -> anyhow::Result<()> {
        let mut offer = Offer::clone(&self.now());
        offer.want_anywhere(name).await?;
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(offer);
        Ok(())
    }

    /// How a model is reached; none for one in this process.
    pub(crate) fn access(&self, name: &str) -> Option<Arc<Access>> {
        let offer = self.now();
        offer.model(name)?.access.clone().map(Arc::new)
    }

    /// The names under which the keys of all models are redacted.
    pub(crate) fn key_labels(&self) -> BTreeSet<String> {
        let offer = self.now();
        let keys = offer.models.iter().filter_map(|model| model.access.as_ref()?.key.as_ref());
        keys.map(|(_, key)| key.label()).collect()
    }

    fn now(&self) -> Arc<Offer> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Models for Market {
    fn targets(&self) -> Vec<Arc<Target>> {
        self.now().targets()
    }

    fn routes(&self) -> Vec<Arc<Route>> {
        self.now().routes()
    }
}
