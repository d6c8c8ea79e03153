//! The offer: every model that can be asked, how each is reached, and why one cannot.

mod entry;
pub(crate) mod local;
pub(crate) mod market;

use std::sync::Arc;

use anyhow::{anyhow, bail};
use threadline_core::choose::Route;
use threadline_core::provider::{Models, Target};
use threadline_providers::access::{Access, KeyRef};
use threadline_providers::dialect::Dialect;
use threadline_providers::endpoint::{self, Endpoint};
use threadline_providers::guide::Guide;
use threadline_providers::profile::{self, Description, describe};
use threadline_providers::served::Served;

use crate::config::environment::{self, Variables};
use crate::config::file::{File, ModelEntry};
use crate::near::nearest;

/// Every model that can be asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Offer {
    /// The endpoints there are: the user's own, then those that the environment has keys for.
    pub(crate) endpoints: Vec<Endpoint>,
    /// The servers of one's own, which may not be running.
    pub(crate) locals: Vec<Endpoint>,
    /// The models, in the order in which people should see them; the built-in one comes last.
    pub(crate) models: Vec<Offered>,
    /// Named choices among them.
    pub(crate) routes: Vec<Arc<Route>>,
}

/// A model that can be asked.
#[derive(Clone, Debug)]
pub(crate) struct Offered {
    /// What choosing goes by.
    pub(crate) target: Arc<Target>,
    /// How it is reached; none for the built-in one.
    pub(crate) access: Option<Access>,
    /// Whether its name is one that is known.
    pub(crate) known: bool,
}

impl Offer {
    /// What the configuration and the environment offer. Nothing is asked of any server.
    pub(crate) fn new(file: &File, variables: Variables<'_>) -> anyhow::Result<Self> {
        let mut offer = Self::default();
        let mut entries: Vec<_> = file.endpoints.iter().collect();
        entries.sort_by_key(|(name, _)| name.span().start);
        for (name, entry) in entries {
            offer.endpoints.push(entry::endpoint(name.get_ref(), entry, variables)?);
        }
        let own = |endpoints: &[Endpoint], found: &Endpoint| {
            endpoints.iter().any(|own| own.name == found.name)
        };
        for found in environment::endpoints(variables) {
            if !own(&offer.endpoints, &found) {
                offer.endpoints.push(found);
            }
        }
        offer.locals = environment::local_endpoints(variables);
        offer.locals.retain(|local| !own(&offer.endpoints, local));
        offer.take_models(file)?;
        offer.take_defaults(variables)?;
        offer.take_routes(file)?;
        offer.models.push(Offered { target: Arc::new(Guide::target()), access: None, known: true });
        Ok(offer)
    }

    /// Only the built-in model, or the one of a test.
    pub(crate) fn only(target: Target) -> Self {
        let models = vec![Offered { target: Arc::new(target), access: None, known: true }];
        Self { models, ..Self::default() }
    }

    /// The model of a name.
    pub(crate) fn model(&self, name: &str) -> Option<&Offered> {
        self.models.iter().find(|offered| &*offered.target.name == name)
    }

    /// Whether a name is that of a model or of a route.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.model(name).is_some() || self.routes.iter().any(|route| &*route.name == name)
    }

    /// Makes a name one that can be asked, if it says enough: `endpoint/model`, or a model that a
    /// provider is known to have. Else says what could be meant.
    pub(crate) fn want(&mut self, name: &str) -> anyhow::Result<()> {
        if self.has(name) {
            return Ok(());
        }
        let (endpoint, model) = self.meant(name)?;
        let offered = offered(name, &endpoint, None, model, model, &Description::default())?;
        // The built-in model stays the last.
        let place = self.models.len().saturating_sub(1);
        self.models.insert(place, offered);
        Ok(())
    }

    /// Takes in the models that a server of one's own says that it has.
    fn take_served(&mut self, endpoint: &Endpoint, served: &[Served]) {
        for Served { model, window_tokens } in served {
            let says = Description { window_tokens: *window_tokens, ..Description::default() };
            // A server that was given a file calls its model by the file's whole path.
            let short = if model.starts_with('/') { last_part(model) } else { model };
            let longer = format!("{}/{short}", endpoint.name);
            let name = if self.has(short) { &longer } else { short };
            if self.has(name) {
                continue;
            }
            if let Ok(offered) = offered(name, endpoint, None, model, model, &says) {
                let place = self.models.len().saturating_sub(1);
                self.models.insert(place, offered);
            }
        }
    }

    /// The endpoint of a name, by what people call it.
    pub(crate) fn endpoint(&self, name: &str) -> Option<&Endpoint> {
        self.endpoints.iter().chain(&self.locals).find(|endpoint| &*endpoint.name == name)
    }

    /// Where a model is asked that nobody has configured, and under which name.
    fn meant<'n>(&self, name: &'n str) -> anyhow::Result<(Endpoint, &'n str)> {
        if let Some((at, model)) = name.split_once('/').filter(|(_, model)| !model.is_empty()) {
            if let Some(endpoint) = self.endpoint(at) {
                return Ok((endpoint.clone(), model));
            }
            // Whoever relays models of others names them by their vendors.
            if let Some(relay) = self.endpoints.iter().find(|endpoint| endpoint.relays) {
                return Ok((relay.clone(), name));
            }
            if let Some(endpoint) = Endpoint::usual(at) {
                return Ok((endpoint, model));
            }
        }
        if let Some(endpoint) = self.by_model(name) {
            return Ok((endpoint, name));
        }
        let names = self.models.iter().map(|offered| &*offered.target.name);
        let routes = self.routes.iter().map(|route| &*route.name);
        let near = nearest(name, names.chain(routes));
        let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        Err(anyhow!(
            "there is no model or route named {name:?}{hint}; `threadline models` lists what there is"
        ))
    }

    /// The endpoint whose provider is known to have models of such a name.
    fn by_model(&self, model: &str) -> Option<Endpoint> {
        let own = self.endpoints.iter().find(|endpoint| profile::has(&endpoint.provider, model));
        own.cloned().or_else(|| {
            let mut having =
                endpoint::all_known().filter(|known| profile::has(&known.provider, model));
            having.find_map(|known| Endpoint::usual(&known.provider))
        })
    }

    fn take_models(&mut self, file: &File) -> anyhow::Result<()> {
        let mut entries: Vec<_> = file.models.iter().collect();
        entries.sort_by_key(|(name, _)| name.span().start);
        for (name, entry) in entries {
            let name = name.get_ref();
            let wrong = |why: String| anyhow!("models.{name}: {why}");
            let endpoint = self.endpoint_of(name, entry).map_err(wrong)?;
            let model = entry.model.as_deref().unwrap_or(name);
            let like = entry.like.as_deref().unwrap_or(model);
            let offered = offered(name, &endpoint, entry.dialect, model, like, &entry.says)?;
            self.models.push(offered);
        }
        Ok(())
    }

    /// Where a configured model is asked.
    fn endpoint_of(&self, name: &str, entry: &ModelEntry) -> Result<Endpoint, String> {
        if let Some(wanted) = &entry.endpoint {
            let usual = || Endpoint::usual(wanted);
            return self.endpoint(wanted).cloned().or_else(usual).ok_or_else(|| {
                let near = nearest(wanted, self.endpoints.iter().map(|endpoint| &*endpoint.name));
                let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
                format!("there is no endpoint named {wanted:?}{hint}")
            });
        }
        let model = entry.model.as_deref().unwrap_or(name);
        if let Some(endpoint) = self.by_model(model) {
            return Ok(endpoint);
        }
        match &*self.endpoints {
            [only] => Ok(only.clone()),
            _ => Err("name its endpoint: endpoint = \"NAME\"".to_owned()),
        }
    }

    /// A model for every endpoint that has a usual one and none of its own.
    fn take_defaults(&mut self, variables: Variables<'_>) -> anyhow::Result<()> {
        for endpoint in self.endpoints.clone() {
            let used = self
                .models
                .iter()
                .any(|offered| offered.target.invocation.endpoint == endpoint.name);
            let known = endpoint::known(&endpoint.provider);
            let Some(model) = known.and_then(|known| environment::model(known, variables)) else {
                continue;
            };
            if !used && !self.has(&model) {
                let says = Description::default();
                self.models.push(offered(&model, &endpoint, None, &model, &model, &says)?);
            }
        }
        Ok(())
    }

    fn take_routes(&mut self, file: &File) -> anyhow::Result<()> {
        let mut entries: Vec<_> = file.routes.iter().collect();
        entries.sort_by_key(|(name, _)| name.span().start);
        for (name, entry) in entries {
            if entry.models.is_empty() {
                bail!("routes.{}.models: name at least one model", name.get_ref());
            }
            self.routes.push(Arc::new(Route {
                name: name.get_ref().as_str().into(),
                models: entry.models.clone(),
                strategy: entry.strategy,
            }));
        }
        for route in self.routes.clone() {
            let name = &route.name;
            for model in route.models.iter().filter(|model| &***model != "guide") {
                if self.routes.iter().any(|other| other.name == *model) {
                    bail!("routes.{name}.models: {model:?} is a route; name models");
                }
                self.want(model).map_err(|why| anyhow!("routes.{name}.models: {why}"))?;
            }
        }
        Ok(())
    }
}

/// A model at an endpoint.
fn offered(
    name: &str,
    endpoint: &Endpoint,
    dialect: Option<Dialect>,
    model: &str,
    like: &str,
    says: &Description,
) -> anyhow::Result<Offered> {
    let wrong = |why: String| anyhow!("{name}: {why}");
    let speaks_none = || wrong(format!("the endpoint {} speaks no dialect", endpoint.name));
    let dialect = dialect.or_else(|| endpoint.dialect()).ok_or_else(speaks_none)?;
    let described = describe(endpoint, dialect, like, says).map_err(wrong)?;
    let unusable = endpoint.key.as_ref().and_then(|(_, key)| missing(key));
    let target = Target {
        name: name.into(),
        invocation: endpoint.invocation(dialect, model),
        profile: described.profile,
        unusable: unusable.map(Into::into),
    };
    let access = Access {
        dialect,
        url: endpoint.url(dialect, model),
        headers: endpoint.headers.clone(),
        key: endpoint.key.clone(),
        quirks: described.quirks,
    };
    Ok(Offered { target: Arc::new(target), access: Some(access), known: described.known })
}

/// Why a key cannot be had, as far as that is known without asking for it.
pub(crate) fn missing(key: &KeyRef) -> Option<String> {
    if !key.is_missing() {
        return None;
    }
    Some(match key {
        KeyRef::Env(name) => format!("{name} is not set"),
        KeyRef::File(path) => format!("there is no key file {}", path.display()),
        KeyRef::Command(_) => "there is no key command".to_owned(),
    })
}

impl Models for Offer {
    fn targets(&self) -> Vec<Arc<Target>> {
        self.models.iter().map(|offered| Arc::clone(&offered.target)).collect()
    }

    fn routes(&self) -> Vec<Arc<Route>> {
        self.routes.clone()
    }
}

/// The last part of a path.
fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests;
