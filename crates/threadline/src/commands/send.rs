//! `threadline send`: saying something to a conversation that goes on elsewhere.

use serde::Serialize;
use threadline_core::id::ConversationId;
use threadline_core::inbox::{Item, Mode};

use super::change::{Became, became};
use crate::args::Send;
use crate::compose::Parts;
use crate::talk::{Cast, To, said};
use crate::view::{Line, View};

pub(crate) async fn run(parts: &Parts, arguments: &Send, view: &mut View) -> anyhow::Result<()> {
    let id = parts.find(&arguments.conversation).await?.id;
    let cast = Cast::new(&parts.store.agents(id).await?);
    let to = arguments.to.as_deref().map_or(To::Primary, To::named);
    let mode = if arguments.steer { Mode::Steer } else { Mode::Queue };
    let key = arguments.key.as_deref().map(Into::into);
    let items = said(&*parts.store, &cast, &to, &arguments.text, None).await?;
    let items = items.into_iter().map(|item| Item {
        mode,
        client_key: match (&key, item.to, &to) {
            (None, ..) => item.client_key,
            (Some(key), Some(agent), To::All) => format!("{key}@{agent}").into(),
            (Some(key), ..) => std::sync::Arc::clone(key),
        },
        ..item
    });
    let items: Vec<Item> = items.collect();
    for item in &items {
        parts.store.enqueue(id, item).await?;
    }
    let all = became(parts, id, &items).await?;
    tell(id, &all, view)
}

/// Says what became of what was put into an inbox.
pub(super) fn tell(id: ConversationId, all: &[Became], view: &mut View) -> anyhow::Result<()> {
    #[derive(Serialize)]
    struct Told {
        id: String,
        seqs: Vec<u64>,
        waits: bool,
        driven: bool,
    }
    let taken = all.iter().filter_map(|became| match became {
        Became::Taken(seq) => Some(seq.0),
        Became::Waits | Became::Nobody => None,
    });
    let seqs: Vec<u64> = taken.collect();
    let nobody = all.iter().any(|became| matches!(became, Became::Nobody));
    let waits = seqs.len() < all.len();
    if view.json {
        let told = Told { id: id.to_string(), seqs, waits, driven: !nobody };
        return Ok(view.value(&told)?);
    }
    let told = if nobody {
        format!("it is kept; nobody goes on with the conversation now: threadline resume {id}")
    } else if waits {
        "it is kept, and taken in as soon as it can go in".to_owned()
    } else {
        let seqs: Vec<String> = seqs.iter().map(ToString::to_string).collect();
        format!("taken in at entry {}", seqs.join(", "))
    };
    Ok(view.line(&Line::new().dim(told))?)
}
