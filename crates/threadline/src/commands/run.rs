//! `threadline run`: one task.

use std::io::{self, IsTerminal as _, Read as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use threadline::{Ending, asked};
use threadline_core::history::batch::State;
use threadline_core::id::{ConversationId, Seq};
use threadline_core::inbox::{Body, Command};
use threadline_core::store;
use tokio::time::Instant;

use super::agent;
use crate::args::{Bounds, Run};
use crate::compose::Parts;
use crate::config::Config;
use crate::report;
use crate::talk::{Came, LINE_CAP_BYTES, Of, Report, Screen, Signals, Talk, TimeUp, To};
use crate::view::{Line, View, aside, remark};

/// The exit code of someone who left before the end.
const LEFT: u8 = 130;
/// The exit code of a turn that waits for a person, or was declined something.
const ASKED: u8 = 4;

pub(crate) async fn run(
    parts: &Parts,
    config: &Config,
    arguments: &Run,
    view: &mut View,
) -> anyhow::Result<ExitCode> {
    let Some(task) = task(arguments.task.as_deref())? else {
        let told = "there is no task: give one, or pipe one in; `threadline run --help` shows how";
        return Ok(report::wrong_usage(told, view.json));
    };
    let mut signals = Signals::new()?;
    let options = &arguments.agent;
    let plan = agent::Plan::new(config, options)?;
    let workspace = options.workspace.folder.as_deref();
    let to = arguments.to.as_deref().map_or(To::Primary, To::named);
    let mut talk = match &arguments.conversation {
        None => {
            if let To::One(name) = &to {
                plan.check_agent(name)?;
            }
            let mut offer = Parts::offer(config)?;
            plan.offer(&mut offer).await?;
            agent::begin(parts.setup(config, offer, workspace, &arguments.bounds)?, &plan).await?
        }
        Some(meant) => {
            let conversation = parts.find(meant).await?;
            let mut offer = parts.offer_for(config, conversation.id).await?;
            plan.offer(&mut offer).await?;
            let setup = parts.setup(config, offer, workspace, &arguments.bounds)?;
            let mut talk = Talk::new(setup.runtime()?, conversation.id, conversation.head).await?;
            if let (Some(text), Some(_)) = (&plan.instruction, &options.instruction) {
                let body = Body::Command(Command::Instruct { text: text.as_str().into() });
                talk.change(body).await.context("could not set the instruction")?;
            }
            talk
        }
    };
    tell_conversation(talk.id(), view);
    let items = talk.say(&to, &task, plan.named.clone()).await?;
    let mut worst = 0;
    for item in &items {
        let whose = talk.name_of(item).filter(|_| items.len() > 1);
        let of = Of::Item(item);
        let came = follow(&mut talk, of, whose, &arguments.bounds, &mut signals, view).await?;
        let Some(code) = came else { return Ok(ExitCode::from(LEFT)) };
        worst = if worst == 0 { code } else { worst };
    }
    talk.runtime().stop().await;
    // Who is told of a question needs not be told twice.
    if !view.json && worst != ASKED {
        tell_waking(parts, talk.id()).await?;
    }
    Ok(ExitCode::from(worst))
}

/// Says so if agents still work, or will want to be woken, when nobody is here any more.
pub(super) async fn tell_waking(parts: &Parts, id: ConversationId) -> anyhow::Result<()> {
    let sums = parts.store.conversation(id).await?.sums;
    let (_, history) = store::open(&*parts.store, id, &parts.counter).await?;
    let told = match (sums.state, sums.wake_at) {
        (State::Working, _) => "agents have not finished: threadline watch goes on".to_owned(),
        (State::Waiting, _) if asked(&history).next().is_some() => {
            format!("agents ask to be allowed something: threadline approve {id}")
        }
        (State::Resting | State::Waiting, Some(at)) => {
            format!("something is due at {at}: threadline watch sees to it")
        }
        (State::Resting | State::Waiting, None) => return Ok(()),
    };
    aside(Line::new().dim(format!("· {told}")));
    Ok(())
}

/// Follows a turn to its end, prints what came of it, and ends all driving.
pub(super) async fn finish(
    talk: &mut Talk,
    of: Of<'_>,
    bounds: &Bounds,
    signals: &mut Signals,
    view: &mut View,
) -> anyhow::Result<ExitCode> {
    let Some(code) = follow(talk, of, None, bounds, signals, view).await? else {
        return Ok(ExitCode::from(LEFT));
    };
    talk.runtime().stop().await;
    Ok(ExitCode::from(code))
}

/// Follows a turn to its end, and prints what came of it, in the name of an agent if one is named.
/// None if whoever sits there left it as it is.
async fn follow(
    talk: &mut Talk,
    of: Of<'_>,
    whose: Option<Arc<str>>,
    bounds: &Bounds,
    signals: &mut Signals,
    view: &mut View,
) -> anyhow::Result<Option<u8>> {
    let until = bounds.timeout.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let mut screen = Screen::new(view);
    let live = screen.is_live();
    let came = talk.follow(of, &mut screen, signals, until).await;
    screen.end_line()?;
    let id = talk.id();
    let (ending, input, time_up) = match came? {
        Came::To(ending, input, time_up) => (ending, input, time_up),
        Came::Rest => {
            print_others(talk, live, view).await?;
            return Ok(Some(0));
        }
        Came::Quit => {
            remark(&format!("left as it is; to go on: threadline resume {id}"));
            return Ok(None);
        }
    };
    if !live {
        print_name(whose.as_deref(), view)?;
    }
    Ok(Some(print(talk, &ending, input, time_up, live, view).await?.exit_code))
}

/// Prints what came of turns that nobody here asked for, unless it was shown as it came.
pub(super) async fn print_others(
    talk: &mut Talk,
    live: bool,
    view: &mut View,
) -> anyhow::Result<()> {
    for (name, input, ending) in talk.others().await? {
        if !live {
            print_name(name.as_deref(), view)?;
            print(talk, &ending, Some(input), TimeUp(false), live, view).await?;
        }
    }
    Ok(())
}

/// Says whose answer comes next, if someone is named.
pub(super) fn print_name(whose: Option<&str>, view: &mut View) -> anyhow::Result<()> {
    if let Some(name) = whose.filter(|_| !view.json) {
        view.line(&Line::new().bold(name).plain(":"))?;
    }
    Ok(())
}

/// Prints what came of a turn.
pub(super) async fn print(
    talk: &Talk,
    ending: &Ending,
    input: Option<Seq>,
    time_up: TimeUp,
    live: bool,
    view: &mut View,
) -> anyhow::Result<Report> {
    let store = &*talk.runtime().world().store;
    let report = Report::new(store, talk.id(), input, ending, time_up).await?;
    if view.json {
        view.value(&report)?;
    } else if let (Some(answer), false) = (&report.answer, live) {
        view.text(answer, "")?;
    }
    view.finish()?;
    if let (Ending::Approval(_), false) = (ending, view.json) {
        let id = talk.id();
        let detail = report.detail.as_deref().unwrap_or_default();
        aside(Line::new().bad("· ").plain(detail));
        let answer = format!("to answer: threadline chat {id}, or threadline approve {id}");
        aside(Line::new().dim(answer));
        let rule = format!("threadline policy {id} allow TOOL");
        aside(Line::new().dim(format!("not to be asked: {rule}; then threadline resume {id}")));
    }
    Ok(report)
}

/// Says which conversation it is, so that one that is killed can be gone on with.
pub(super) fn tell_conversation(id: ConversationId, view: &View) {
    if view.json {
        remark(&serde_json::json!({ "id": id.to_string() }).to_string());
    } else {
        aside(Line::new().dim(format!("conversation {id}")));
    }
}

/// The task; none if there is nothing in it.
fn task(given: Option<&str>) -> anyhow::Result<Option<String>> {
    let task = match given {
        Some(task) if task != "-" => task.to_owned(),
        None if io::stdin().is_terminal() => return Ok(None),
        Some(_) | None => {
            let mut bytes = Vec::new();
            let cap = u64::try_from(LINE_CAP_BYTES).unwrap_or(u64::MAX);
            let mut input = io::stdin().lock().take(cap.saturating_add(1));
            input.read_to_end(&mut bytes).context("could not read the task")?;
            if bytes.len() > LINE_CAP_BYTES {
                bail!("the task is longer than 16 MiB: put it into a file of the workspace");
            }
            String::from_utf8_lossy(&bytes).trim_end_matches(['\r', '\n']).to_owned()
        }
    };
    Ok(Some(task).filter(|task| !task.trim().is_empty()))
}
