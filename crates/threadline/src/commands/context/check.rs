//! Whether a past invocation, projected again, is what was sent.

use std::future::poll_fn;
use std::sync::Arc;

use serde::Serialize;
use threadline_core::context::{PROJECTION_VERSION, wanted_media};
use threadline_core::id::Seq;
use threadline_core::provider::{Delta, Prepared, Request, Target};
use threadline_core::store::read_media;

use super::sight::{Eye, Sight, Started};
use crate::view::{Line, View};

/// What came of comparing.
#[derive(Serialize)]
pub(super) struct Check {
    context: Compared,
    body: Compared,
}

/// Whether a digest is the one that was recorded.
#[derive(Serialize)]
struct Compared {
    outcome: Outcome,
    /// Why it was not compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Matches,
    Differs,
    NotCompared,
}

impl Compared {
    fn new(same: bool) -> Self {
        let outcome = if same { Outcome::Matches } else { Outcome::Differs };
        Self { outcome, why: None }
    }

    fn not(why: impl Into<String>) -> Self {
        Self { outcome: Outcome::NotCompared, why: Some(why.into()) }
    }
}

impl Eye<'_> {
    /// Compares what an invocation sees now with what it was recorded to have seen.
    pub(super) async fn check(&self, started: &Started, sight: &Sight) -> Check {
        if let Some(version) = started.other_version() {
            let made =
                format!("made by projection version {version}, this is {PROJECTION_VERSION}");
            let body = Compared::not("the context was not compared");
            return Check { context: Compared::not(made), body };
        }
        let context = Compared::new(sight.context.digest() == started.fact.context_digest);
        Check { context, body: self.check_body(started, sight).await }
    }

    async fn check_body(&self, started: &Started, sight: &Sight) -> Compared {
        if started.fact.encoder_version == 0 {
            return Compared::not("it failed before there was a request");
        }
        let Some(target) = self.target_of(started) else {
            return Compared::not("the model that was asked is not known here");
        };
        let Some(prepared) = self.prepared(target, sight).await else {
            return Compared::not("the request could not be made");
        };
        if prepared.encoder_version != started.fact.encoder_version {
            let (made, this) = (started.fact.encoder_version, prepared.encoder_version);
            return Compared::not(format!("made by encoder version {made}, this is {this}"));
        }
        let same = prepared.body_digest == started.fact.body_digest;
        let (_, today) = self.setting.catalogue_of(&sight.joined, &sight.peers);
        if !same && today != started.fact.catalogue {
            // What was kept of the tools is what models read, not all that an encoder goes by.
            return Compared::not("the tools have changed since then");
        }
        Compared::new(same)
    }

    /// The request that would be made. It comes before anything is sent, and nothing is.
    async fn prepared(&self, target: Arc<Target>, sight: &Sight) -> Option<Prepared> {
        let (context, catalogue) = (Arc::clone(&sight.context), Arc::clone(&sight.catalogue));
        let (of, options) = ((self.id, sight.agent), sight.joined.options.clone());
        let wanted = wanted_media(&context, &target.profile);
        let media = read_media(self.store, &wanted).await.ok()?;
        let request = Request { media, ..Request::step(target, of, context, catalogue, options) };
        let mut stream = self.provider.invoke(request);
        match poll_fn(|task| stream.as_mut().poll_next(task)).await {
            Some(Ok(Delta::Prepared(prepared))) => Some(prepared),
            Some(_) | None => None,
        }
    }
}

impl Check {
    /// Tells people what came of it.
    pub(super) fn print(&self, at: Seq, view: &mut View) -> anyhow::Result<()> {
        let line = Line::new().plain(format!("  asked at entry {at}: "));
        let line = match (self.context.outcome, self.body.outcome) {
            (Outcome::Matches, Outcome::Matches) => {
                line.good("as it was sent: the digests of context and request match")
            }
            (Outcome::Matches, Outcome::Differs) => {
                line.good("the digest of the context matches").bad(", that of the request differs")
            }
            (Outcome::Matches, Outcome::NotCompared) => line
                .good("as it was sent: the digest of the context matches")
                .plain(format!("; the request is not compared: {}", why(&self.body))),
            (Outcome::Differs, _) => line.bad("the digest differs: this is not what was sent"),
            (Outcome::NotCompared, _) => {
                line.plain(format!("{}: not compared", why(&self.context)))
            }
        };
        view.line(&line)?;
        Ok(())
    }
}

fn why(compared: &Compared) -> &str {
    compared.why.as_deref().unwrap_or_default()
}
