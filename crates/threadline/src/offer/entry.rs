//! An endpoint of the config file becomes one that can be asked.

use std::sync::Arc;

use anyhow::{anyhow, bail};
use threadline_providers::endpoint::{self, Azure, Endpoint, Known, key_header, usual_key_header};

use crate::config::environment::{self, Variables};
use crate::config::file::EndpointEntry;
use crate::near::nearest;

/// Headers that a request has from us, or that would carry a secret.
const OURS: [&str; 8] = [
    "authorization",
    "x-api-key",
    "x-goog-api-key",
    "api-key",
    "cookie",
    "host",
    "content-length",
    "content-type",
];

/// The endpoint of an entry.
pub(super) fn endpoint(
    name: &str,
    entry: &EndpointEntry,
    variables: Variables<'_>,
) -> anyhow::Result<Endpoint> {
    read(name, entry, variables).map_err(|why| anyhow!("endpoints.{name}: {why}"))
}

fn read(name: &str, entry: &EndpointEntry, variables: Variables<'_>) -> anyhow::Result<Endpoint> {
    let mut endpoint = match known(name, entry)? {
        Some(known) => of_provider(name, known, entry, variables)?,
        None => of_address(name, entry)?,
    };
    if let Some(dialect) = entry.dialect {
        endpoint.dialects.retain(|known| *known != dialect);
        endpoint.dialects.insert(0, dialect);
    }
    let header = entry.key_header.as_deref().and_then(key_header);
    let usual = endpoint.key.as_ref().map(|(header, _)| *header);
    let of_dialect = endpoint.dialect().map(usual_key_header);
    if let (Some(key), Some(header)) = (&entry.key, header.or(usual).or(of_dialect)) {
        endpoint.key = Some((header, key.clone()));
    }
    if let (Some(header), Some((own, _))) = (header, &mut endpoint.key) {
        *own = header;
    }
    let account = (endpoint.provider != endpoint.name).then(|| Arc::clone(&endpoint.name));
    endpoint.account = entry.account.clone().or(account);
    for (header, value) in &entry.headers {
        endpoint.headers.push(checked_header(header, value)?);
    }
    check_url(&endpoint.base_url)?;
    Ok(endpoint)
}

/// The provider that an entry means: the one it names, or the one it is named after.
fn known(name: &str, entry: &EndpointEntry) -> anyhow::Result<Option<&'static Known>> {
    let Some(provider) = &entry.provider else { return Ok(endpoint::known(name)) };
    let known = endpoint::known(provider);
    if known.is_none() && entry.base_url.is_none() {
        let names = endpoint::all_known().map(|known| &*known.provider);
        let near = nearest(provider, names);
        let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        bail!("provider: {provider:?} is not known{hint}; any other needs base_url and dialect");
    }
    Ok(known)
}

fn of_provider(
    name: &str,
    known: &Known,
    entry: &EndpointEntry,
    variables: Variables<'_>,
) -> anyhow::Result<Endpoint> {
    let usual = environment::usual(known, variables);
    let base_url = entry.base_url.clone().or_else(|| usual.as_ref().map(|u| u.base_url.clone()));
    let Some(base_url) = base_url else {
        bail!("base_url: say where it is, such as \"https://NAME.openai.azure.com\"");
    };
    let azure = azure(known, entry)?;
    let mut dialects = known.dialects.clone();
    if azure.is_some() {
        dialects.reverse();
    }
    let key_env = known.key_env.iter().find(|name| variables(name).is_some());
    let key_env = if known.local { key_env } else { key_env.or_else(|| known.key_env.first()) };
    let key = key_env.map(|name| {
        (known.key_header, threadline_providers::access::KeyRef::Env(Arc::clone(name)))
    });
    Ok(Endpoint {
        name: name.into(),
        provider: Arc::clone(&known.provider),
        account: None,
        base_url,
        dialects,
        key,
        headers: Vec::new(),
        azure: azure.or_else(|| usual.and_then(|usual| usual.azure)),
        local: known.local,
        relays: known.relays,
        defaults: known.defaults.clone(),
    })
}

/// Any server that speaks one of the dialects.
fn of_address(name: &str, entry: &EndpointEntry) -> anyhow::Result<Endpoint> {
    let Some(base_url) = &entry.base_url else {
        bail!("name its provider, or its base_url and dialect");
    };
    let Some(dialect) = entry.dialect else {
        bail!("dialect: say which one it speaks, such as \"openai-chat\"");
    };
    let provider = entry.provider.as_deref().unwrap_or(name);
    Ok(Endpoint {
        name: name.into(),
        provider: provider.into(),
        account: None,
        base_url: base_url.clone(),
        dialects: vec![dialect],
        key: None,
        headers: Vec::new(),
        azure: None,
        local: false,
        relays: false,
        defaults: threadline_providers::profile::Description::default(),
    })
}

fn azure(known: &Known, entry: &EndpointEntry) -> anyhow::Result<Option<Azure>> {
    let said = entry.deployment.is_some() || entry.api_version.is_some();
    if said && &*known.provider != "azure" {
        bail!("deployment and api_version are only for azure");
    }
    match (&entry.deployment, &entry.api_version) {
        (deployment, Some(version)) => {
            Ok(Some(Azure { deployment: deployment.clone(), api_version: Arc::clone(version) }))
        }
        (Some(_), None) => bail!("api_version: a deployment's path needs one"),
        (None, None) => Ok(None),
    }
}

/// A header that may be sent along.
fn checked_header(name: &str, value: &str) -> anyhow::Result<(String, String)> {
    let lower = name.to_ascii_lowercase();
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if OURS.contains(&&*lower) {
        bail!("headers.{name}: this header cannot be set; keys are named with key = …");
    }
    if name.is_empty() || !name.bytes().all(is_name) {
        bail!("headers: {name:?} is no name of a header");
    }
    if !value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
        bail!("headers.{name}: its value must be plain text in one line");
    }
    Ok((lower, value.to_owned()))
}

fn check_url(url: &str) -> anyhow::Result<()> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let host = rest.and_then(|rest| rest.split(['/', '?']).next()).unwrap_or_default();
    if host.is_empty() || url.chars().any(|c| c.is_whitespace() || c.is_control()) {
        bail!("base_url: give a whole address, such as \"http://localhost:8080/v1\"");
    }
    if host.contains('@') {
        bail!("base_url: an address holds no password; name where the key is with key = …");
    }
    Ok(())
}
