//! `threadline models`: what can be asked, and why something cannot.

use serde::Serialize;
use threadline_core::history::fact::Money;
use threadline_core::provider::{Target, ToolSupport};
use threadline_providers::endpoint;
use threadline_providers::profile;

use crate::args::Models;
use crate::config::Config;
use crate::config::environment::{usual, variable};
use crate::offer::{Offer, Offered};
use crate::view::{Line, View, grouped};

pub(crate) async fn run(
    config: &Config,
    arguments: &Models,
    view: &mut View,
) -> anyhow::Result<()> {
    let mut offer = Offer::new(&config.file, &variable)?;
    let silent = offer.take_local().await;
    let mut asides: Vec<Aside> = silent
        .into_iter()
        .map(|(endpoint, failed)| Aside {
            endpoint: endpoint.name.to_string(),
            why: format!("{}: {}", endpoint.base_url, failed.message),
        })
        .collect();
    if arguments.all {
        take_known(&mut offer);
    }
    asides.extend(without_keys(&offer));
    let listed: Vec<Listed> = offer.models.iter().map(|one| Listed::new(one, &offer)).collect();
    if view.json {
        let mut list = view.list("models", &crate::json::Nothing {})?;
        for model in &listed {
            list.push(model)?;
        }
        list.end(&Rest { endpoints: &asides })?;
        return Ok(());
    }
    for model in &listed {
        model.print(view)?;
    }
    if !asides.is_empty() {
        view.line(&Line::new())?;
        view.line(&Line::new().dim("Not usable as things are:"))?;
        for aside in &asides {
            view.line(&Line::new().plain(format!("  {:<12}", aside.endpoint)).dim(&aside.why))?;
        }
    }
    Ok(())
}

/// What is told after the models.
#[derive(Serialize)]
struct Rest<'a> {
    endpoints: &'a [Aside],
}

/// An endpoint that cannot be used as things are.
#[derive(Serialize)]
struct Aside {
    endpoint: String,
    why: String,
}

/// A model as it is listed.
#[derive(Serialize)]
struct Listed {
    name: String,
    usable: bool,
    why_not: Option<String>,
    provider: String,
    endpoint: String,
    dialect: String,
    model: String,
    known: bool,
    window_tokens: u64,
    output_cap_tokens: u32,
    tools: bool,
    media: Vec<String>,
    price: Option<PriceTold>,
    routes: Vec<String>,
}

/// US dollars for a million tokens.
#[derive(Serialize)]
struct PriceTold {
    input: String,
    output: String,
}

impl Listed {
    fn new(offered: &Offered, offer: &Offer) -> Self {
        let Target { name, invocation, profile, unusable } = &*offered.target;
        let routes = offer.routes.iter().filter(|route| route.models.contains(name));
        let price = profile
            .prices
            .first()
            .map(|price| PriceTold { input: dollars(price.input), output: dollars(price.output) });
        Self {
            name: name.to_string(),
            usable: unusable.is_none(),
            why_not: unusable.as_ref().map(ToString::to_string),
            provider: invocation.provider.to_string(),
            endpoint: invocation.endpoint.to_string(),
            dialect: invocation.dialect.to_string(),
            model: invocation.model.to_string(),
            known: offered.known,
            window_tokens: profile.window_tokens,
            output_cap_tokens: profile.output_cap_tokens,
            tools: profile.tools != ToolSupport::None,
            media: profile.media.iter().map(|media| media.media_type.to_string()).collect(),
            price,
            routes: routes.map(|route| route.name.to_string()).collect(),
        }
    }

    fn print(&self, view: &mut View) -> anyhow::Result<()> {
        let mark = if self.usable { Line::new().good("ok  ") } else { Line::new().bad("no  ") };
        let mut told = vec![
            self.endpoint.clone(),
            self.dialect.clone(),
            format!("{} tokens", grouped(self.window_tokens)),
        ];
        told.extend(
            self.price.as_ref().map(|price| format!("${} / ${}", price.input, price.output)),
        );
        told.extend(
            (!self.known).then(|| "not described: what is not told holds safe defaults".to_owned()),
        );
        told.extend((!self.routes.is_empty()).then(|| format!("in {}", self.routes.join(", "))));
        let line = mark.name(format!("{:<28} ", self.name)).plain(told.join(" · "));
        view.line(&match &self.why_not {
            Some(why) => line.bad(format!("  {why}")),
            None => line,
        })?;
        Ok(())
    }
}

/// Takes in every model that is known by name.
fn take_known(offer: &mut Offer) {
    for known in endpoint::all_known().filter(|known| usual(known, &variable).is_some()) {
        let names = profile::names(&known.provider).into_iter().chain(known.model.as_deref());
        for name in names.collect::<std::collections::BTreeSet<_>>() {
            // A name that says nothing by itself is asked for where it is known to be.
            if offer.want(name).is_err() {
                drop(offer.want(&format!("{}/{name}", known.provider)));
            }
        }
    }
}

/// The providers that could be asked if there were a key.
fn without_keys(offer: &Offer) -> Vec<Aside> {
    let missing = endpoint::all_known()
        .filter(|known| !known.local && offer.endpoint(&known.provider).is_none());
    let told = missing.map(|known| {
        let needs: Vec<&str> = match &*known.provider {
            "azure" => {
                known.key_env.iter().chain(&known.base_url_env).map(|name| &**name).collect()
            }
            _ => known.key_env.first().map(|name| &**name).into_iter().collect(),
        };
        Aside { endpoint: known.provider.to_string(), why: format!("set {}", needs.join(" and ")) }
    });
    told.collect()
}

/// An amount in dollars, without needless zeros.
fn dollars(Money(billionths): Money) -> String {
    let (whole, part) = (billionths / 1_000_000_000, billionths % 1_000_000_000);
    let part = format!("{part:09}");
    let part = part.trim_end_matches('0');
    if part.is_empty() { whole.to_string() } else { format!("{whole}.{part:0<2}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_are_told_as_people_write_them() {
        let told = [0, 2_000_000_000, 2_500_000_000, 25_000_000, 1].map(|n| dollars(Money(n)));
        assert_eq!(told, ["0", "2", "2.50", "0.025", "0.000000001"]);
    }
}
