//! `threadline wire encode`: the request that a model would be sent.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Context as _;
use serde::Serialize;
use serde_json::value::RawValue;
use threadline_core::context::wanted_media;
use threadline_core::id::Seq;
use threadline_core::provider::Request;
use threadline_core::store::read_media;
use threadline_providers::access::{Access, KeyHeader};
use threadline_providers::dialect;

use crate::args::{Bounds, WireEncode};
use crate::commands::context::sight::{Eye, Wanted};
use crate::compose::Parts;
use crate::config::Config;
use crate::view::{Line, View, remark};

/// What `--json` prints.
#[derive(Serialize)]
struct Told {
    model: String,
    dialect: &'static str,
    method: &'static str,
    url: String,
    headers: BTreeMap<String, String>,
    key: Option<KeyTold>,
    body: Box<RawValue>,
    repairs: Vec<String>,
}

/// Which header carries the key, and where it is taken from.
#[derive(Serialize)]
struct KeyTold {
    header: &'static str,
    from: String,
}

pub(crate) async fn run(
    parts: &Parts,
    config: &Config,
    arguments: &WireEncode,
    view: &mut View,
) -> anyhow::Result<()> {
    let conversation = parts.find(arguments.conversation.as_deref().unwrap_or("last")).await?;
    let mut offer = parts.offer_for(config, conversation.id).await?;
    offer.want_anywhere(&arguments.model).await?;
    let offered = offer.model(&arguments.model).context("it is a route; name a model")?;
    let access = offered
        .access
        .clone()
        .with_context(|| format!("{} is built in: nothing is sent over a wire", arguments.model))?;
    let target = Arc::clone(&offered.target);
    let runtime = parts.setup(config, offer, None, &Bounds::default())?.runtime()?;
    let eye = Eye::new(runtime.world(), conversation.id);
    let at = arguments.at.map(Seq);
    if let Some(at) = at {
        let head = conversation.head;
        anyhow::ensure!(at <= head, "there is no entry {at}; the last is {head}");
    }
    let sight = eye.then(at, None, &Wanted::Model(&target.name)).await?;
    let wanted = wanted_media(&sight.context, &target.profile);
    let media = read_media(&*parts.store, &wanted).await?;
    let (of, options) = ((conversation.id, sight.agent), sight.joined.options.clone());
    let (context, catalogue) = (Arc::clone(&sight.context), Arc::clone(&sight.catalogue));
    let request =
        Request { media, ..Request::step(Arc::clone(&target), of, context, catalogue, options) };
    tell(&told(&access, &request)?, view)
}

fn told(access: &Access, request: &Request) -> anyhow::Result<Told> {
    let encoded = dialect::encode(access.dialect, request, &access.quirks);
    let mut headers = BTreeMap::from([
        ("accept".to_owned(), "text/event-stream".to_owned()),
        ("content-type".to_owned(), "application/json".to_owned()),
    ]);
    headers.extend(access.headers.iter().cloned());
    headers.extend(encoded.headers.into_iter().map(|(name, value)| (name.to_owned(), value)));
    let key = access.key.as_ref().map(|(header, key)| KeyTold {
        header: match header {
            KeyHeader::Bearer => "authorization",
            KeyHeader::Named(name) => name,
        },
        from: key.to_string(),
    });
    let body = String::from_utf8(encoded.body).context("the body is not text")?;
    Ok(Told {
        model: request.target.name.to_string(),
        dialect: access.dialect.name(),
        method: "POST",
        url: access.url.clone(),
        headers,
        key,
        body: RawValue::from_string(body).context("the body is not JSON")?,
        repairs: encoded.repairs.iter().map(|repair| repair.what.to_string()).collect(),
    })
}

fn tell(told: &Told, view: &mut View) -> anyhow::Result<()> {
    if view.json {
        view.value(told)?;
        return Ok(());
    }
    view.line(&Line::new().bold(told.method).plain(" ").plain(&told.url))?;
    for (name, value) in &told.headers {
        view.line(&Line::new().name(name).plain(": ").plain(value))?;
    }
    if let Some(KeyTold { header, from }) = &told.key {
        view.line(&Line::new().name(header).plain(": ").dim(format!("<from {from}>")))?;
    }
    view.line(&Line::new())?;
    view.line(&Line::new().plain(told.body.get()))?;
    for repair in &told.repairs {
        remark(&format!("mended: {repair}"));
    }
    Ok(())
}
