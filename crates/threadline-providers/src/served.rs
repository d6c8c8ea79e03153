//! What an endpoint serves: its own list of models, as it tells it.

use std::time::Duration;

use serde::Deserialize;
use threadline_core::history::fact::FailureKind;
use tokio::time::timeout;

use crate::access::{KeyHeader, Secret};
use crate::dialect::Dialect;
use crate::endpoint::Endpoint;
use crate::failed::Failed;
use crate::http::{Call, Http, Timeouts};
use crate::quirks::AnthropicVersion;
use crate::reply;

/// How long a list may take as a whole.
const TIMEOUT: Duration = Duration::from_secs(15);
/// The longest list that is read.
const CAP_BYTES: usize = 8 * 1024 * 1024;
/// The most models that are taken in.
const MODELS_CAP: usize = 1_000;

/// A model that an endpoint says it serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// Its name there.
    pub model: String,
    /// What request and answer may take together, if it says so.
    pub window_tokens: Option<u64>,
}

/// Asks an endpoint for its list of models.
///
/// It shows whether the endpoint can be reached, and whether it takes the key.
pub async fn served(endpoint: &Endpoint, connect: Duration) -> Result<Vec<Served>, Failed> {
    let Some(url) = endpoint.list_url() else {
        return Err(Failed::new(FailureKind::Refused, "the endpoint speaks no dialect"));
    };
    let key = match &endpoint.key {
        Some((header, key)) => Some((*header, key.resolve().await?)),
        None => None,
    };
    let http = Http::new(Timeouts { connect, idle: TIMEOUT, event: TIMEOUT })?;
    let asked = Asked { http: &http, endpoint, key };
    let mut models = read(&asked.get(&url).await?)?;
    if &*endpoint.provider == "llama.cpp" {
        let window = asked.window().await;
        for one in &mut models {
            one.window_tokens = window;
        }
    }
    Ok(models)
}

/// An endpoint that is asked about itself.
struct Asked<'a> {
    http: &'a Http,
    endpoint: &'a Endpoint,
    key: Option<(KeyHeader, Secret)>,
}

impl Asked<'_> {
    async fn get(&self, url: &str) -> Result<Vec<u8>, Failed> {
        let mut headers = self.endpoint.headers.clone();
        if self.endpoint.dialect() == Some(Dialect::Anthropic) {
            headers.push((
                "anthropic-version".to_owned(),
                AnthropicVersion::default().name().to_owned(),
            ));
        }
        let key = self.key.as_ref().map(|(header, secret)| (*header, secret));
        let call = Call { url, headers: &headers, key };
        let answered = self.http.get(&call);
        let too_slow = || Failed::new(FailureKind::Unreachable, "it did not answer in time");
        let mut answer = timeout(TIMEOUT, answered).await.map_err(|_| too_slow())??;
        let body = answer.body.beginning(CAP_BYTES);
        let body = timeout(TIMEOUT, body).await.map_err(|_| too_slow())?;
        if !(200..300).contains(&answer.status) {
            return Err(reply::told(Some(answer.status), &answer.headers, &body));
        }
        Ok(body)
    }

    /// How much a llama.cpp server was started with: its list tells only what its model was made
    /// for.
    async fn window(&self) -> Option<u64> {
        let base = self.endpoint.base_url.trim_end_matches('/');
        let url = format!("{}/props", base.strip_suffix("/v1").unwrap_or(base));
        let props: serde_json::Value = serde_json::from_slice(&self.get(&url).await.ok()?).ok()?;
        props.pointer("/default_generation_settings/n_ctx")?.as_u64().filter(|tokens| *tokens > 0)
    }
}

/// The lists of all protocols: each has one of the two.
#[derive(Deserialize)]
struct Lists {
    #[serde(default)]
    data: Vec<Row>,
    #[serde(default)]
    models: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    id: Option<String>,
    name: Option<String>,
    #[serde(
        alias = "max_input_tokens",
        alias = "inputTokenLimit",
        alias = "context_window",
        alias = "context_length"
    )]
    max_model_len: Option<serde_json::Value>,
}

fn read(body: &[u8]) -> Result<Vec<Served>, Failed> {
    let lists: Lists = serde_json::from_slice(body)
        .map_err(|_| Failed::protocol("what came is no list of models; is the address right?"))?;
    let rows = if lists.data.is_empty() { lists.models } else { lists.data };
    let served = rows.into_iter().take(MODELS_CAP).filter_map(|row| {
        let model = row.id.or(row.name)?;
        let model = model.strip_prefix("models/").unwrap_or(&model).to_owned();
        let window = row.max_model_len.and_then(|window| window.as_u64());
        Some(Served { model, window_tokens: window.filter(|tokens| *tokens > 0) })
    });
    Ok(served.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_protocols_list_is_read() {
        for (body, model, window) in [
            (r#"{"object":"list","data":[{"id":"m","max_model_len":4096}]}"#, "m", Some(4_096)),
            (r#"{"data":[{"id":"m","created":1}],"has_more":false}"#, "m", None),
            (r#"{"models":[{"name":"models/m","inputTokenLimit":8}]}"#, "m", Some(8)),
            // llama.cpp sends both lists.
            (r#"{"models":[{"name":"x"}],"data":[{"id":"m"}]}"#, "m", None),
            (r#"{"data":[{"id":"m","context_length":null}]}"#, "m", None),
        ] {
            let wanted = Served { model: model.to_owned(), window_tokens: window };
            assert_eq!(read(body.as_bytes()), Ok(vec![wanted]), "{body}");
        }
        assert_eq!(read(b"{}"), Ok(Vec::new()));
        assert_eq!(read(b"<html>").unwrap_err().kind, FailureKind::Protocol);
    }

    #[tokio::test]
    async fn a_server_that_is_not_there_is_told() {
        let endpoint = Endpoint {
            base_url: "http://127.0.0.1:1/v1".into(),
            ..Endpoint::usual("vllm").unwrap()
        };
        let failed = served(&endpoint, Duration::from_secs(1)).await.unwrap_err();
        assert_eq!(failed.kind, FailureKind::Unreachable);
        assert!(failed.message.contains("refused"), "{}", failed.message);
    }
}
