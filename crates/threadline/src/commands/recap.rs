//! `threadline recap`: a model writes what stands for the older part of a conversation.

use threadline_core::history::fact::{Fact, Recap as Written};
use threadline_core::id::{ConversationId, Seq};
use threadline_core::inbox::{Body, Command};
use threadline_core::store::verified_entry;

use crate::args::{Bounds, Recap};
use crate::compose::Parts;
use crate::config::Config;
use crate::talk::Talk;
use crate::view::{Line, View, counted};

pub(crate) async fn run(
    parts: &Parts,
    config: &Config,
    arguments: &Recap,
    view: &mut View,
) -> anyhow::Result<()> {
    let conversation = parts.find(&arguments.conversation).await?;
    let offer = parts.offer_for(config, conversation.id).await?;
    let setup = parts.setup(config, offer, None, &Bounds::default())?;
    let mut talk = Talk::new(setup.runtime()?, conversation.id, conversation.head).await?;
    let command = if arguments.undo {
        Command::UndoRecap
    } else {
        Command::Recap { hints: hints(&arguments.keep, &arguments.forget) }
    };
    let seq = talk.change(Body::Command(command)).await?;
    talk.runtime().stop().await;
    let recap = read(parts, conversation.id, seq).await?;
    tell(seq, &recap, view)
}

/// What is to be kept and forgotten, in the words the model reads.
pub(super) fn hints(keep: &[String], forget: &[String]) -> Vec<String> {
    let keep = keep.iter().map(|what| format!("Keep: {what}"));
    keep.chain(forget.iter().map(|what| format!("Leave out: {what}"))).collect()
}

/// The recap at an entry.
pub(super) async fn read(parts: &Parts, id: ConversationId, seq: Seq) -> anyhow::Result<Written> {
    let Fact::Recap(recap) = verified_entry(&*parts.store, id, seq).await?.fact else {
        anyhow::bail!("entry {seq} is no recap");
    };
    Ok(recap)
}

/// What a recap amounts to, in one line.
pub(super) fn line(seq: Seq, recap: &Written) -> String {
    let Written { from, to, text, dropped, .. } = recap;
    match (text, dropped.len()) {
        (None, _) => format!("the recap of entries {from} to {to} is taken back"),
        (Some(_), 0) => format!("entry {seq} now stands for entries {from} to {to}"),
        (Some(_), n) => {
            let left_out = u64::try_from(n).unwrap_or(u64::MAX);
            let names =
                counted(left_out, "name that it left out was", "names that it left out were");
            format!("entry {seq} now stands for entries {from} to {to}; {names} added")
        }
    }
}

fn tell(seq: Seq, recap: &Written, view: &mut View) -> anyhow::Result<()> {
    #[derive(serde::Serialize)]
    struct Told<'a> {
        seq: u64,
        from: u64,
        to: u64,
        text: Option<&'a str>,
        dropped: &'a [String],
    }
    let Written { from, to, text, dropped, .. } = recap;
    if view.json {
        let (from, to, text) = (from.0, to.0, text.as_deref());
        return Ok(view.value(&Told { seq: seq.0, from, to, text, dropped })?);
    }
    if let Some(text) = text {
        view.text(text, "")?;
    }
    Ok(view.line(&Line::new().dim(line(seq, recap)))?)
}
