//! Endpoints: where models are asked, as whom, and in which protocols.
//!
//! Those of the usual providers are rows of data. Any other server that speaks one of the dialects
//! is an endpoint with a base URL of its own.

mod url;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde::Deserialize;
use threadline_core::history::fact::Invocation;

use crate::access::{KeyHeader, KeyRef};
use crate::dialect::Dialect;
use crate::profile::Description;

/// The rows of the usual providers.
const ROWS: &str = include_str!("../data/endpoints.toml");

/// Where models are asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Endpoint {
    /// What people call it.
    pub name: Arc<str>,
    /// Whose it is: what is known of its models goes by this.
    pub provider: Arc<str>,
    /// The account there, if there are several.
    pub account: Option<Arc<str>>,
    /// Where its paths begin.
    pub base_url: String,
    /// The protocols it speaks, the preferred one first.
    pub dialects: Vec<Dialect>,
    /// The key and the header that carries it, if one is needed.
    pub key: Option<(KeyHeader, KeyRef)>,
    /// Further headers, without secrets.
    pub headers: Vec<(String, String)>,
    /// The deployment and the API version in the path of a classic Azure resource.
    pub azure: Option<Azure>,
    /// Whether it is a server of one's own, which may not be running.
    pub local: bool,
    /// Whether its models are those of others, named `vendor/model`.
    pub relays: bool,
    /// What holds for a model here that nobody has described better.
    pub defaults: Description,
}

/// What the path of a classic Azure resource names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Azure {
    /// The deployment; the model's name if there is none.
    pub deployment: Option<Arc<str>>,
    /// The version of the API.
    pub api_version: Arc<str>,
}

impl Endpoint {
    /// The endpoint of a provider, with a key from where it usually is and the usual base URL.
    ///
    /// None if the provider is unknown or has no base URL of its own.
    pub fn usual(provider: &str) -> Option<Self> {
        let row = known(provider)?;
        let key = row.key_env.first().map(|name| (row.key_header, KeyRef::Env(Arc::clone(name))));
        Some(Self {
            name: Arc::clone(&row.provider),
            provider: Arc::clone(&row.provider),
            account: None,
            base_url: row.base_url.as_deref()?.to_owned(),
            dialects: row.dialects.clone(),
            key: key.filter(|_| !row.local),
            headers: Vec::new(),
            azure: None,
            local: row.local,
            relays: row.relays,
            defaults: row.defaults.clone(),
        })
    }

    /// The protocol that is spoken unless another is wanted; none if it speaks none.
    pub fn dialect(&self) -> Option<Dialect> {
        self.dialects.first().copied()
    }

    /// How a model is asked here.
    pub fn invocation(&self, dialect: Dialect, model: &str) -> Invocation {
        Invocation {
            provider: Arc::clone(&self.provider),
            endpoint: Arc::clone(&self.name),
            account: self.account.clone(),
            dialect: dialect.name().into(),
            model: model.into(),
        }
    }

    /// Where requests for a model go.
    pub fn url(&self, dialect: Dialect, model: &str) -> String {
        let azure = self.azure.as_ref();
        let is_azure = &*self.provider == "azure";
        match dialect {
            Dialect::OpenAiChat | Dialect::OpenAiResponses if is_azure => {
                url::azure(&self.base_url, azure, dialect, model)
            }
            Dialect::OpenAiChat => url::join(&self.base_url, "chat/completions"),
            Dialect::OpenAiResponses => url::join(&self.base_url, "responses"),
            Dialect::Anthropic => url::anthropic(&self.base_url, "messages"),
            Dialect::Gemini => url::gemini(&self.base_url, model),
        }
    }

    /// Where the endpoint lists its models; none if it does not.
    pub fn list_url(&self) -> Option<String> {
        let is_azure = &*self.provider == "azure";
        Some(match self.dialect()? {
            Dialect::OpenAiChat | Dialect::OpenAiResponses if is_azure => {
                url::azure_list(&self.base_url, self.azure.as_ref())
            }
            Dialect::OpenAiChat | Dialect::OpenAiResponses | Dialect::Gemini => {
                url::join(&self.base_url, "models")
            }
            Dialect::Anthropic => url::anthropic(&self.base_url, "models"),
        })
    }
}

/// What is known of a provider.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// Its name.
    pub provider: Arc<str>,
    /// Where its paths begin, if that is the same for everyone.
    pub base_url: Option<Arc<str>>,
    /// The protocols it speaks, the preferred one first.
    pub dialects: Vec<Dialect>,
    /// The header that carries the key.
    pub key_header: KeyHeader,
    /// The environment variables where its key usually is.
    pub key_env: Vec<Arc<str>>,
    /// The environment variables that name another base URL.
    pub base_url_env: Vec<Arc<str>>,
    /// The model that is asked unless another is named.
    pub model: Option<Arc<str>>,
    /// Whether it is a server of one's own.
    pub local: bool,
    /// Whether its models are those of others, named `vendor/model`.
    pub relays: bool,
    /// What those who relay its models call it, beside its own name.
    pub relayed_as: Vec<Arc<str>>,
    /// What holds for a model there that nobody has described better.
    pub defaults: Description,
}

/// Every provider that is known, by name.
pub fn all_known() -> impl Iterator<Item = &'static Known> {
    KNOWN.values()
}

/// What is known of a provider.
pub fn known(provider: &str) -> Option<&'static Known> {
    KNOWN.get(provider)
}

/// The header of a name; a bearer token unless another is named.
pub fn key_header(name: &str) -> Option<KeyHeader> {
    match name.to_ascii_lowercase().as_str() {
        "bearer" | "authorization" => Some(KeyHeader::Bearer),
        "x-api-key" => Some(KeyHeader::Named("x-api-key")),
        "x-goog-api-key" => Some(KeyHeader::Named("x-goog-api-key")),
        "api-key" => Some(KeyHeader::Named("api-key")),
        _ => None,
    }
}

/// The header that carries a key where nothing but the protocol is known.
pub const fn usual_key_header(dialect: Dialect) -> KeyHeader {
    match dialect {
        Dialect::OpenAiChat | Dialect::OpenAiResponses => KeyHeader::Bearer,
        Dialect::Anthropic => KeyHeader::Named("x-api-key"),
        Dialect::Gemini => KeyHeader::Named("x-goog-api-key"),
    }
}

#[expect(clippy::expect_used, reason = "the rows are part of the program, and a test reads them")]
static KNOWN: LazyLock<BTreeMap<Arc<str>, Known>> =
    LazyLock::new(|| read(ROWS).expect("the rows of the endpoints can be read"));

/// A row as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    base_url: Option<Arc<str>>,
    dialects: Vec<String>,
    #[serde(default = "bearer")]
    key_header: String,
    #[serde(default)]
    key_env: Vec<Arc<str>>,
    #[serde(default)]
    base_url_env: Vec<Arc<str>>,
    model: Option<Arc<str>>,
    #[serde(default)]
    local: bool,
    #[serde(default)]
    relays: bool,
    #[serde(default)]
    relayed_as: Vec<Arc<str>>,
    #[serde(default)]
    defaults: Description,
}

fn bearer() -> String {
    "bearer".to_owned()
}

fn read(rows: &str) -> Result<BTreeMap<Arc<str>, Known>, String> {
    let rows: BTreeMap<Arc<str>, Row> = toml::from_str(rows).map_err(|error| error.to_string())?;
    let known = |(provider, row): (Arc<str>, Row)| {
        let named = |name: &String| {
            Dialect::named(name).ok_or_else(|| format!("{provider}: no dialect is named {name}"))
        };
        row.defaults.check().map_err(|error| format!("{provider}: {error}"))?;
        let header = key_header(&row.key_header);
        let row = Known {
            provider: Arc::clone(&provider),
            base_url: row.base_url,
            dialects: row.dialects.iter().map(named).collect::<Result<_, _>>()?,
            key_header: header
                .ok_or_else(|| format!("{provider}: {} is no header", row.key_header))?,
            key_env: row.key_env,
            base_url_env: row.base_url_env,
            model: row.model,
            local: row.local,
            relays: row.relays,
            relayed_as: row.relayed_as,
            defaults: row.defaults,
        };
        Ok((provider, row))
    };
    rows.into_iter().map(known).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_can_be_read() {
        let rows = read(ROWS).unwrap();
        for (name, row) in &rows {
            assert!(!row.dialects.is_empty(), "{name} speaks nothing");
            assert!(row.local || !row.key_env.is_empty(), "{name} has no key");
            assert_eq!(
                row.local,
                row.base_url.as_deref().is_some_and(|url| url.contains("localhost"))
            );
        }
        for name in [
            "openai",
            "azure",
            "anthropic",
            "gemini",
            "openrouter",
            "deepseek",
            "mistral",
            "groq",
            "xai",
            "vllm",
            "ollama",
            "llama.cpp",
        ] {
            assert!(rows.contains_key(name), "{name} is not there");
        }
        assert!(read("[x]\ndialects = [\"basic\"]").unwrap_err().contains("basic"));
        assert!(read("[x]\ndialects = []\nkey_header = \"x-key\"").is_err());
    }

    #[test]
    fn requests_go_to_the_path_of_the_protocol() {
        let url =
            |provider: &str, dialect, model| Endpoint::usual(provider).unwrap().url(dialect, model);
        for (provider, dialect, wanted) in [
            ("openai", Dialect::OpenAiChat, "https://api.openai.com/v1/chat/completions"),
            ("openai", Dialect::OpenAiResponses, "https://api.openai.com/v1/responses"),
            ("anthropic", Dialect::Anthropic, "https://api.anthropic.com/v1/messages"),
            ("vllm", Dialect::Anthropic, "http://localhost:8000/v1/messages"),
            (
                "gemini",
                Dialect::Gemini,
                "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse",
            ),
        ] {
            assert_eq!(url(provider, dialect, "m"), wanted);
        }
    }

    #[test]
    fn models_are_listed_where_the_protocol_lists_them() {
        let list = |provider: &str| Endpoint::usual(provider).unwrap().list_url().unwrap();
        assert_eq!(list("ollama"), "http://localhost:11434/v1/models");
        assert_eq!(list("anthropic"), "https://api.anthropic.com/v1/models");
    }
}
