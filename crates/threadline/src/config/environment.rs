//! The environment: keys and addresses in the usual variables.

use std::sync::Arc;

use threadline_providers::access::KeyRef;
use threadline_providers::endpoint::{Azure, Endpoint, Known, all_known, known};

/// Whose models are asked first where nobody names one.
const ORDER: [&str; 9] =
    ["anthropic", "openai", "gemini", "azure", "openrouter", "deepseek", "mistral", "groq", "xai"];

/// What a variable holds; none if that is nothing.
pub(crate) type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The variables of this process.
#[expect(clippy::disallowed_methods, reason = "this is the config module, which reads them")]
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.trim().is_empty())
}

/// The endpoints that the environment has a key for, in the order in which they are asked.
pub(crate) fn endpoints(variables: Variables<'_>) -> Vec<Endpoint> {
    let of = |provider: &&str| endpoint(known(provider)?, variables);
    ORDER.iter().filter_map(of).collect()
}

/// The servers of one's own, where the environment or custom says that they are.
pub(crate) fn local_endpoints(variables: Variables<'_>) -> Vec<Endpoint> {
    let local = all_known().filter(|known| known.local);
    local.filter_map(|known| usual(known, variables)).collect()
}

/// A known provider's endpoint, if the environment has its key.
fn endpoint(known: &Known, variables: Variables<'_>) -> Option<Endpoint> {
    known.key_env.iter().find(|name| variables(name).is_some())?;
    usual(known, variables)
}

/// A known provider's endpoint, with what the environment says of it.
pub(crate) fn usual(known: &Known, variables: Variables<'_>) -> Option<Endpoint> {
    let said = known.base_url_env.iter().find_map(|name| variables(name));
    let base_url = said.or_else(|| known.base_url.as_deref().map(str::to_owned))?;
    let set = known.key_env.iter().find(|name| variables(name).is_some());
    let name = if known.local { set } else { set.or_else(|| known.key_env.first()) };
    let key = name.map(|name| (known.key_header, KeyRef::Env(Arc::clone(name))));
    let azure = (&*known.provider == "azure").then(|| azure(variables)).flatten();
    let mut dialects = known.dialects.clone();
    if azure.is_some() {
        // The classic paths are those of chats.
        dialects.reverse();
    }
    Some(Endpoint {
        name: Arc::clone(&known.provider),
        provider: Arc::clone(&known.provider),
        account: None,
        base_url: base_url.trim().to_owned(),
        dialects,
        key,
        headers: Vec::new(),
        azure,
        local: known.local,
        relays: known.relays,
        defaults: known.defaults.clone(),
    })
}

/// The version that the classic paths of Azure name, and the deployment if there is but one.
fn azure(variables: Variables<'_>) -> Option<Azure> {
    let api_version = variables("AZURE_OPENAI_API_VERSION")?.trim().into();
    Some(Azure { deployment: None, api_version })
}

/// The model that an endpoint of the environment is asked for unless another is named.
pub(crate) fn model(known: &Known, variables: Variables<'_>) -> Option<Arc<str>> {
    let deployment = || variables("AZURE_OPENAI_DEPLOYMENT").map(|name| name.trim().into());
    known.model.clone().or_else(|| deployment().filter(|_| &*known.provider == "azure"))
}
