//! Servers of one's own: what they serve is asked of them, and only when it matters.

use std::time::Duration;

use futures_util::future::join_all;
use threadline_providers::endpoint::Endpoint;
use threadline_providers::failed::Failed;
use threadline_providers::served::served;

use super::Offer;

/// How long a server of one's own has to take a connection: it is on this machine, or near.
pub(crate) const CONNECT: Duration = Duration::from_millis(500);

impl Offer {
    /// Takes in what the servers of one's own serve; gives those that do not answer.
    pub(crate) async fn take_local(&mut self) -> Vec<(Endpoint, Failed)> {
        let configured = self.endpoints.iter().filter(|endpoint| endpoint.local);
        let locals: Vec<Endpoint> = configured.chain(&self.locals).cloned().collect();
        let answers = join_all(locals.iter().map(|endpoint| served(endpoint, CONNECT))).await;
        let mut silent = Vec::new();
        for (endpoint, answer) in locals.into_iter().zip(answers) {
            match answer {
                Ok(models) => self.take_served(&endpoint, &models),
                Err(failed) => silent.push((endpoint, failed)),
            }
        }
        silent
    }

    /// Makes a name one that can be asked, and looks for it on the servers of one's own if
    /// nothing else has it.
    pub(crate) async fn want_anywhere(&mut self, name: &str) -> anyhow::Result<()> {
        let Err(unknown) = self.want(name) else { return Ok(()) };
        self.take_local().await;
        if self.has(name) { Ok(()) } else { Err(unknown) }
    }
}
