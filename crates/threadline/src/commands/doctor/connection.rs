//! Whether the models can be reached: their keys, their servers, and what to do if not.

use std::time::Duration;

use anyhow::anyhow;
use threadline_core::history::fact::FailureKind;
use threadline_providers::endpoint::Endpoint;
use threadline_providers::failed::Failed;
use threadline_providers::served::{Served, served};

use super::{Check, check, fine};
use crate::config::Config;
use crate::config::environment::variable;
use crate::offer::{Offer, local};
use crate::view::counted;

/// How long an endpoint has to take a connection.
const CONNECT: Duration = Duration::from_secs(5);

/// Checks every endpoint there is, or the one of a model.
pub(super) async fn checks(config: &Config, model: Option<&str>) -> Vec<Check> {
    let mut offer = match Offer::new(&config.file, &variable) {
        Ok(offer) => offer,
        Err(error) => return vec![check("models", Err(error))],
    };
    match model {
        Some(name) => vec![check(format!("model {name}"), of_model(&mut offer, name).await)],
        None => of_endpoints(&offer).await,
    }
}

async fn of_endpoints(offer: &Offer) -> Vec<Check> {
    let asked = offer.endpoints.iter().map(|endpoint| served(endpoint, CONNECT));
    let local = offer.locals.iter().map(|endpoint| served(endpoint, local::CONNECT));
    let (asked, local) = futures_util::future::join(
        futures_util::future::join_all(asked),
        futures_util::future::join_all(local),
    )
    .await;
    let mut checks: Vec<Check> = offer
        .endpoints
        .iter()
        .zip(asked)
        .map(|(endpoint, answer)| check(endpoint.name.to_string(), told(endpoint, answer)))
        .collect();
    // A server that nobody has configured need not be there.
    for (endpoint, answer) in offer.locals.iter().zip(local) {
        if answer.is_ok() {
            checks.push(check(endpoint.name.to_string(), told(endpoint, answer)));
        }
    }
    if checks.is_empty() {
        let none = "only the built-in one; `threadline models` tells how to connect others";
        checks.push(fine("models", none.to_owned()));
    }
    checks
}

/// Whether a model's endpoint can be reached, and has it.
async fn of_model(offer: &mut Offer, name: &str) -> anyhow::Result<String> {
    offer.want_anywhere(name).await?;
    let offered = offer.model(name).ok_or_else(|| anyhow!("it is a route; name a model"))?;
    let invocation = &offered.target.invocation;
    let endpoint = offer.endpoint(&invocation.endpoint).cloned();
    let endpoint = endpoint.or_else(|| Endpoint::usual(&invocation.provider));
    let Some(endpoint) = endpoint.filter(|_| offered.access.is_some()) else {
        return Ok("it is built in, and always answers".to_owned());
    };
    let answer = served(&endpoint, CONNECT).await;
    if let Ok(models) = &answer
        && !models.is_empty()
        && !models.iter().any(|one| *one.model == *invocation.model)
    {
        let near =
            crate::near::nearest(&invocation.model, models.iter().map(|one| one.model.as_str()));
        let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        anyhow::bail!("{} answers, but does not list {:?}{hint}", endpoint.name, invocation.model);
    }
    told(&endpoint, answer)
}

/// What an endpoint's answer means.
fn told(endpoint: &Endpoint, answer: Result<Vec<Served>, Failed>) -> anyhow::Result<String> {
    let models = answer.map_err(|failed| anyhow!("{}", explained(endpoint, &failed)))?;
    let count = u64::try_from(models.len()).unwrap_or(u64::MAX);
    let mut detail =
        format!("{} answers with {}", endpoint.base_url, counted(count, "model", "models"));
    if let Some(warning) = endpoint.key.as_ref().and_then(|(_, key)| key.warning()) {
        detail = format!("{detail}; but {warning}");
    }
    Ok(detail)
}

/// What went wrong, and what to do about it.
fn explained(endpoint: &Endpoint, failed: &Failed) -> String {
    let Failed { kind, message, .. } = failed;
    let key = endpoint.key.as_ref().map(|(_, key)| key.to_string());
    let todo = match kind {
        // The message names the place of a key that could not be had.
        FailureKind::Unauthorised if key.as_ref().is_some_and(|key| message.starts_with(key)) => {
            return message.clone();
        }
        FailureKind::Unauthorised => match key {
            Some(key) => format!("the key was not taken: check {key}"),
            None => "it wants a key: name one with key = … in the config".to_owned(),
        },
        FailureKind::Unreachable if endpoint.local => {
            "start the server, or mend base_url".to_owned()
        }
        FailureKind::Unreachable => "check the network, the proxy and base_url".to_owned(),
        FailureKind::QuotaSpent => "pay, or raise the limit of the account".to_owned(),
        FailureKind::Busy => "it is busy: try again later".to_owned(),
        FailureKind::Protocol
        | FailureKind::Refused
        | FailureKind::ContextTooLong
        | FailureKind::Cancelled => "check base_url and the dialect".to_owned(),
    };
    format!("{}: {message}; {todo}", endpoint.base_url)
}
