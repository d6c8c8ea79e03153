//! One provider of two: some models are asked over the network, the others are in this process.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use futures_util::stream;
use threadline_core::provider::{DeltaStream, Provider, Request};
use threadline_core::redact::Secrets;
use threadline_providers::capture::Capture;
use threadline_providers::failed::Failed;
use threadline_providers::http::{Http, Timeouts};
use threadline_providers::wired::Wired;

use crate::offer::market::Market;

/// Asks each model where it is.
pub(super) struct Either {
    /// Who answers in this process.
    pub(super) own: Arc<dyn Provider>,
    /// How the others are reached.
    pub(super) market: Arc<Market>,
    /// What is said to them is captured there.
    pub(super) capture: Option<Arc<Capture>>,
    /// Where their keys become known.
    pub(super) secrets: Arc<Secrets>,
    /// One client for all of them, made when the first is asked.
    pub(super) http: OnceLock<Http>,
}

impl Either {
    fn http(&self) -> Result<Http, Failed> {
        match self.http.get() {
            Some(http) => Ok(http.clone()),
            None => {
                let http = Http::new(Timeouts::default())?;
                Ok(self.http.get_or_init(|| http).clone())
            }
        }
    }
}

impl Provider for Either {
    fn invoke(&self, request: Request) -> DeltaStream {
        let name = Arc::clone(&request.target.name);
        let Some(access) = self.market.access(&name) else { return self.own.invoke(request) };
        match self.http() {
            Ok(http) => {
                let accesses = BTreeMap::from([(name, access)]);
                let wired = Wired::new(http, accesses, self.capture.clone());
                wired.with_secrets(Arc::clone(&self.secrets)).invoke(request)
            }
            Err(failed) => {
                let provider = Arc::clone(&request.target.invocation.provider);
                Box::pin(stream::iter([Err(failed.of(provider))]))
            }
        }
    }
}
