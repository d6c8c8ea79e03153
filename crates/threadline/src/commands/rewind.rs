//! `threadline rewind`.

use anyhow::Context as _;
use threadline::item;
use threadline_core::history::History;
use threadline_core::history::batch::Taken;
use threadline_core::id::{ConversationId, Seq};
use threadline_core::inbox::{Body, Command, ItemNumber};
use threadline_core::store;

use super::change::done;
use crate::args::Rewind;
use crate::compose::Parts;
use crate::view::{Line, View, counted};

pub(crate) async fn run(parts: &Parts, arguments: &Rewind, view: &mut View) -> anyhow::Result<()> {
    let id = parts.find(&arguments.conversation).await?.id;
    let (_, history) = store::open(&*parts.store, id, &parts.counter).await?;
    let to = destination(parts, arguments, id, &history).await?;
    let item = item(Body::Command(Command::Rewind { to }));
    let alone = async |item: Option<ItemNumber>| {
        let (_, history) = store::open(&*parts.store, id, &parts.counter).await?;
        let (past, aftermath) = store::past(&*parts.store, id, to, &parts.counter).await?;
        let mut proposed = history.propose_rewind(&past, &aftermath, parts.stamp())?;
        let seq = proposed.batch.base.next();
        proposed.batch.taken.extend(item.map(|item| Taken { item, seq }));
        Ok(proposed)
    };
    done(parts, id, &item, alone).await?;
    let (_, history) = store::open(&*parts.store, id, &parts.counter).await?;
    tell(arguments, id, to, &history, view)
}

fn tell(
    arguments: &Rewind,
    id: ConversationId,
    to: Seq,
    history: &History,
    view: &mut View,
) -> anyhow::Result<()> {
    #[derive(serde::Serialize)]
    struct Rewound {
        id: String,
        to: u64,
        entries: u64,
        messages: u64,
    }
    let messages = history.state().messages;
    if view.json {
        view.value(&Rewound { id: id.to_string(), to: to.0, entries: history.head().0, messages })?;
    } else {
        let left = counted(messages, "message counts", "messages count");
        let done = if arguments.undo { "the rewind is undone: back at" } else { "rewound to" };
        view.line(&Line::new().plain(format!("{done} entry {to}; {left} now")))?;
        view.line(&Line::new().dim(format!("to undo: threadline rewind {id} --undo")))?;
    }
    Ok(())
}

/// The entry to go back to.
async fn destination(
    parts: &Parts,
    arguments: &Rewind,
    id: ConversationId,
    history: &History,
) -> anyhow::Result<Seq> {
    if let Some(to) = arguments.to {
        anyhow::ensure!(
            Seq(to) < history.head().next(),
            "there is no entry {to} to go back to; the last is {}",
            history.head()
        );
        return Ok(Seq(to));
    }
    if arguments.reset {
        let first = history.state().first_input.context("nothing has been said yet")?;
        return Ok(first.before());
    }
    if arguments.undo {
        let rewinds = parts.store.rewinds(id, Seq::ZERO).await?;
        let (last, _) = rewinds.last().context("there is no rewind to undo")?;
        return Ok(last.before());
    }
    let wanted = usize::try_from(arguments.turns.unwrap_or(1)).unwrap_or(usize::MAX);
    let turns = store::last_turns(&*parts.store, id, history, wanted).await?;
    let oldest = turns.last().context("there is no turn to go back over")?;
    anyhow::ensure!(
        turns.len() == wanted,
        "only {} can be gone back over; --reset goes back to the beginning",
        counted(u64::try_from(turns.len())?, "turn", "turns")
    );
    Ok(oldest.before())
}
