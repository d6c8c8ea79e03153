//! `threadline resume`: going on with what was interrupted.

use std::collections::BTreeSet;
use std::process::ExitCode;

use threadline::{Ending, busy, ending};
use threadline_core::clock::Clock as _;
use threadline_core::id::{ConversationId, Seq};
use threadline_core::inbox::{Body, Item, ItemNumber};
use threadline_core::store::{self, Conversation, Hold, Origin};
use threadline_runtime::{Runtime, Settled};

use super::run::{finish, print, tell_conversation};
use crate::args::Resume;
use crate::compose::Parts;
use crate::config::Config;
use crate::json::Nothing;
use crate::report::chain;
use crate::talk::{Of, Report, Signals, Talk, TimeUp};
use crate::view::{Line, View, aside};
use crate::words;

/// How many conversations go on at a time.
const AT_ONCE: usize = 16;
/// How many are looked at, at most, to find those that can go on.
const DUE_CAP: usize = 10_000;
/// How many items of an inbox are looked at.
const WAITING: usize = 256;
/// The exit code of someone who left before the end.
const LEFT: u8 = 130;

pub(crate) async fn run(
    parts: &Parts,
    config: &Config,
    arguments: &Resume,
    view: &mut View,
) -> anyhow::Result<ExitCode> {
    let mut signals = Signals::new()?;
    let workspace = arguments.workspace.folder.as_deref();
    if arguments.all {
        let offer = parts.offer_for_all(config).await?;
        let runtime = parts.setup(config, offer, workspace, &arguments.bounds)?.runtime()?;
        return all(&runtime, &mut signals, view).await;
    }
    let meant = arguments.conversation.as_deref().unwrap_or("last");
    let conversation = parts.find(meant).await?;
    let offer = parts.offer_for(config, conversation.id).await?;
    let runtime = parts.setup(config, offer, workspace, &arguments.bounds)?.runtime()?;
    let mut talk = Talk::new(runtime, conversation.id, conversation.head).await?;
    tell_conversation(talk.id(), view);
    if conversation.hold == Some(Hold::Imported) && !view.json {
        let remark = match conversation.origin {
            Origin::Own => "imported and trusted: it continues where it stopped",
            Origin::Copy => "imported: open calls and turns are ended first",
            Origin::Imported => {
                "imported: earlier rules and approvals have no effect, and open calls and turns are ended first"
            }
        };
        aside(Line::new().dim(remark));
    }
    match unfinished(parts, &conversation).await? {
        Where::Inside(turn) => {
            talk.start();
            finish(&mut talk, Of::Turn(turn), &arguments.bounds, &mut signals, view).await
        }
        Where::Before(item) => {
            talk.start();
            finish(&mut talk, Of::Item(&item), &arguments.bounds, &mut signals, view).await
        }
        Where::Due => {
            talk.start();
            finish(&mut talk, Of::All, &arguments.bounds, &mut signals, view).await
        }
        Where::Ended => {
            let item = talk.say_go_on().await?;
            finish(&mut talk, Of::Item(&item), &arguments.bounds, &mut signals, view).await
        }
        Where::Answered(turn) => {
            if !view.json {
                aside(Line::new().dim("nothing is unfinished; this was the answer:"));
            }
            let came = ending(talk.runtime(), talk.id(), turn).await?;
            Ok(print(&talk, &came, Some(turn), TimeUp(false), false, view).await?.code())
        }
        Where::Nothing => {
            anyhow::bail!("nothing was said in conversation {} yet", conversation.id)
        }
    }
}

/// Where a conversation stands.
pub(super) enum Where {
    /// Inside a turn.
    Inside(Seq),
    /// Before a turn, whose input waits in the inbox.
    Before(Box<Item>),
    /// At rest, and a time has come that an agent waited for.
    Due,
    /// After a turn that ended without an answer.
    Ended,
    /// After an answer to the turn of this input.
    Answered(Seq),
    /// Before the first turn.
    Nothing,
}

pub(super) async fn unfinished(
    parts: &Parts,
    conversation: &Conversation,
) -> anyhow::Result<Where> {
    let id = conversation.id;
    let (_, history) = store::open(&*parts.store, id, &parts.counter).await?;
    let state = history.state();
    let primary = state.primary().and_then(|agent| history.agent(agent));
    // Those whom nobody waits for: what works for them ends with them.
    let mut turns = busy(&history).filter_map(|agent| history.agent(agent)?.turn.as_ref());
    let turn = turns.next();
    // The first batch of a copy ends its open turns.
    if let Some(turn) = turn.filter(|_| !history.is_copy()) {
        return Ok(Where::Inside(turn.start));
    }
    let waiting = parts.store.waiting(id, ItemNumber(0), WAITING).await?;
    let is_input = |(_, item): &(ItemNumber, Item)| matches!(item.body, Body::Input(_));
    if let Some((_, item)) = waiting.into_iter().find(is_input) {
        return Ok(Where::Before(Box::new(item)));
    }
    if turn.is_some() {
        return Ok(Where::Ended);
    }
    if state.moments().any(|moment| moment <= parts.clock.now()) {
        return Ok(Where::Due);
    }
    let Some(agent) = primary else { return Ok(Where::Nothing) };
    let (Some(turn), Some(row)) = (&agent.turn, agent.row) else { return Ok(Where::Nothing) };
    let last = store::verified_entry(&*parts.store, id, row).await?;
    let ended = last.fact.as_turn_ended().is_some();
    Ok(if ended { Where::Ended } else { Where::Answered(turn.start) })
}

/// Goes on with every unfinished turn, many at a time.
async fn all(
    runtime: &Runtime,
    signals: &mut Signals,
    view: &mut View,
) -> anyhow::Result<ExitCode> {
    let mut reports = Vec::new();
    let mut seen = BTreeSet::new();
    loop {
        let new = due(runtime, &mut seen).await?;
        if new.is_empty() {
            break;
        }
        for ids in new.chunks(AT_ONCE) {
            for id in ids {
                runtime.start_unattended(*id);
            }
            for id in ids {
                let settled = tokio::select! {
                    settled = runtime.settled(*id) => settled,
                    _ = signals.next() => {
                        // Nothing is lost, and nobody asked to cancel any of them.
                        runtime.stop().await;
                        return Ok(ExitCode::from(LEFT));
                    }
                };
                if let Some(why) = words::settled_elsewhere(*id, &settled) {
                    aside(Line::new().plain(format!("skipped {id}: {why}")));
                    continue;
                }
                let report = match report(runtime, *id, &settled).await {
                    Ok(report) => report,
                    // What is wrong with one must not keep the others from going on.
                    Err(error) => Report::refused(*id, &chain(&error)),
                };
                tell(&report, view)?;
                reports.push(report);
            }
        }
    }
    runtime.stop().await;
    if view.json {
        let mut list = view.list("conversations", &Nothing {})?;
        for report in &reports {
            list.push(report)?;
        }
        list.end(&Nothing {})?;
    } else if reports.is_empty() {
        view.line(&Line::new().plain("nothing is unfinished"))?;
    }
    let failed = reports.iter().find(|report| report.exit_code != 0);
    Ok(failed.map_or(ExitCode::SUCCESS, Report::code))
}

/// The conversations that can go on and that were not seen before.
async fn due(
    runtime: &Runtime,
    seen: &mut BTreeSet<ConversationId>,
) -> anyhow::Result<Vec<ConversationId>> {
    let store = &runtime.world().store;
    let due = store.due(DUE_CAP).await?;
    Ok(due.into_iter().filter(|id| seen.insert(*id)).collect())
}

async fn report(
    runtime: &Runtime,
    id: ConversationId,
    settled: &Settled,
) -> anyhow::Result<Report> {
    let world = runtime.world();
    if let Settled::Failed(error) = settled {
        let why = error.to_string();
        let refused = Ending::Refused(why.as_str().into());
        let report = Report::new(&*world.store, id, None, &refused, TimeUp(false)).await;
        return Ok(report.unwrap_or_else(|_| Report::refused(id, &why)));
    }
    let (_, history) = store::open(&*world.store, id, &*world.setting.counter).await?;
    let agent = history.state().primary().and_then(|agent| history.agent(agent));
    let turn = agent.and_then(|agent| agent.turn.as_ref()).map(|turn| turn.start);
    let came = match turn {
        Some(turn) => ending(runtime, id, turn).await?,
        None => Ending::Open,
    };
    Report::new(&*world.store, id, turn, &came, TimeUp(false)).await
}

fn tell(report: &Report, view: &mut View) -> anyhow::Result<()> {
    if view.json {
        return Ok(());
    }
    let said = report.answer.as_deref().or(report.detail.as_deref()).unwrap_or_default();
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = Line::new().name(&report.id).plain(format!("  {}", report.ending));
    view.row(line.dim(format!("  {said}")))?;
    Ok(())
}
