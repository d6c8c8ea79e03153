//! What an endpoint serves: its own list of models, as it tells it.

use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, Response};
use serde::Deserialize;
use threadline_core::history::fact::FailureKind;

use crate::access::{KeyHeader, Secret};
use crate::dialect::Dialect;
use crate::endpoint::Endpoint;
use crate::failed::Failed;
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
/// It shows whether the endpoint can be reached, and whether it takes the key. A redirect is not
/// followed: it would carry the key elsewhere.
pub async fn served(endpoint: &Endpoint, connect: Duration) -> Result<Vec<Served>, Failed> {
    let Some(url) = endpoint.list_url() else {
        return Err(Failed::new(FailureKind::Refused, "the endpoint speaks no dialect"));
    };
    let key = match &endpoint.key {
        Some((header, key)) => Some((*header, key.resolve().await?)),
        None => None,
    };
    let client = client(connect)?;
    let body = get(&client, endpoint, &url, key.as_ref()).await?;
    let mut models = read(&body)?;
    if &*endpoint.provider == "llama.cpp" {
        let window = window_of(&client, endpoint, key.as_ref()).await;
        models.iter_mut().for_each(|one| one.window_tokens = window);
    }
    Ok(models)
}

/// How much a llama.cpp server was started with: its list tells only what its model was made for.
async fn window_of(
    client: &Client,
    endpoint: &Endpoint,
    key: Option<&(KeyHeader, Secret)>,
) -> Option<u64> {
    let base = endpoint.base_url.trim_end_matches('/');
    let url = format!("{}/props", base.strip_suffix("/v1").unwrap_or(base));
    let body = get(client, endpoint, &url, key).await.ok()?;
    let props: serde_json::Value = serde_json::from_slice(&body).ok()?;
    props.pointer("/default_generation_settings/n_ctx")?.as_u64().filter(|tokens| *tokens > 0)
}

fn client(connect: Duration) -> Result<Client, Failed> {
    // Another part of the process may have chosen one already, which is as good.
    drop(rustls::crypto::ring::default_provider().install_default());
    let client = Client::builder()
        .connect_timeout(connect)
        .timeout(TIMEOUT)
        .redirect(Policy::none())
        .user_agent(concat!("threadline/", env!("CARGO_PKG_VERSION")))
        .build();
    client.map_err(|error| Failed::new(FailureKind::Unreachable, causes(&error)))
}

async fn get(
    client: &Client,
    endpoint: &Endpoint,
    url: &str,
    key: Option<&(KeyHeader, Secret)>,
) -> Result<Vec<u8>, Failed> {
    let mut request = client.get(url).header("accept", "application/json");
    if endpoint.dialect() == Some(Dialect::Anthropic) {
        request = request.header("anthropic-version", "2023-06-01");
    }
    for (name, value) in &endpoint.headers {
        request = request.header(name, value);
    }
    request = match key {
        Some((KeyHeader::Bearer, secret)) => request.bearer_auth(secret.reveal()),
        Some((KeyHeader::Named(name), secret)) => request.header(*name, secret.reveal()),
        None => request,
    };
    let unreachable =
        |error: reqwest::Error| Failed::new(FailureKind::Unreachable, causes(&error.without_url()));
    let response = request.send().await.map_err(unreachable)?;
    let status = response.status();
    let headers: Vec<(String, String)> = response
        .headers()
        .iter()
        .filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())))
        .collect();
    let body = body(response).await?;
    if !status.is_success() {
        return Err(reply::told(Some(status.as_u16()), &headers, &body));
    }
    Ok(body)
}

async fn body(mut response: Response) -> Result<Vec<u8>, Failed> {
    let mut body = Vec::new();
    loop {
        let chunk = response.chunk().await;
        let chunk = chunk
            .map_err(|error| Failed::new(FailureKind::Unreachable, causes(&error.without_url())))?;
        let Some(chunk) = chunk else { return Ok(body) };
        if body.len() + chunk.len() > CAP_BYTES {
            return Err(Failed::protocol("the list of models is longer than 8 MiB"));
        }
        body.extend_from_slice(&chunk);
    }
}

/// An error and its causes, without those that only repeat what was said.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
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
