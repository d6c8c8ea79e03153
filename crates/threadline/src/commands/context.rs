//! `threadline context`: what an agent's model sees, part by part.

mod bar;
mod check;
mod diff;
mod parts;
pub(super) mod sight;
mod table;

use anyhow::Context as _;
use serde::Serialize;
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::{Fact, Purpose};
use threadline_core::id::{AgentId, ConversationId, Seq};
use threadline_core::store::{Conversation, verified_entry};
use threadline_runtime::World;

use self::bar::Shares;
use self::check::Check;
use self::diff::Diff;
use self::parts::{PartLine, lines};
use self::sight::{Eye, Sight, Started, Wanted};
use self::table::Found;
use super::show::find_agent;
use crate::args::{self, Bounds, TextOf};
use crate::compose::Parts;
use crate::config::Config;
use crate::view::{Line, View, counted, remark};

/// How many parts the short form shows.
const LARGEST: usize = 10;

pub(crate) async fn run(
    parts: &Parts,
    config: &Config,
    arguments: &args::Context,
    view: &mut View,
) -> anyhow::Result<()> {
    let meant = arguments.conversation.as_deref().unwrap_or("last");
    let conversation = parts.find(meant).await?;
    let mut offer = parts.offer_for(config, conversation.id).await?;
    if let Some(model) = &arguments.model {
        offer.want_anywhere(model).await?;
    }
    let runtime = parts.setup(config, offer, None, &Bounds::default())?.runtime()?;
    let eye = Eye::new(runtime.world(), conversation.id);
    let (started, sight) = look(&eye, parts, &conversation, arguments).await?;
    let check = match &started {
        Some(started) => Some(eye.check(started, &sight).await),
        None => None,
    };
    let diff = if arguments.diff {
        let before = match &started {
            Some(started) => started.seq.before(),
            None => conversation.head,
        };
        Some(compare(&eye, &sight, before).await?)
    } else {
        None
    };
    let found = match arguments.text {
        Some(TextOf::Entry(seq)) => Some(Found::new(&sight, Seq(seq))?),
        Some(TextOf::All) | None => None,
    };
    let report = Report { conversation: &conversation, at: started.as_ref(), sight: &sight };
    if view.json {
        let texts = arguments.text.is_some();
        return report.json(check.as_ref(), diff.as_ref(), texts, view);
    }
    report.head(check.as_ref(), view)?;
    match (&diff, &found) {
        (Some(diff), _) => diff.print(view),
        (None, Some(found)) => found.print(view),
        (None, None) => {
            bar::print(&sight, view)?;
            view.line(&Line::new())?;
            table::whole(&sight, arguments.text.is_some(), view)
        }
    }
}

/// Shows the short form of what a conversation's primary agent sees now.
pub(crate) async fn short(
    world: &World,
    id: ConversationId,
    view: &mut View,
) -> anyhow::Result<()> {
    let conversation = world.store.conversation(id).await?;
    let eye = Eye::new(world, id);
    let sight = eye.now(None, &Wanted::Route).await?;
    let report = Report { conversation: &conversation, at: None, sight: &sight };
    if view.json {
        return report.json(None, None, false, view);
    }
    report.head(None, view)?;
    bar::print(&sight, view)?;
    view.line(&Line::new())?;
    let left_out = table::largest(&sight, LARGEST, view)?;
    if left_out > 0 {
        let more = counted(left_out, "smaller part", "smaller parts");
        view.line(&Line::new().dim(format!("and {more}: threadline context {id}")))?;
    }
    Ok(())
}

/// What is seen now, or was seen when a model was asked.
async fn look(
    eye: &Eye<'_>,
    parts: &Parts,
    conversation: &Conversation,
    arguments: &args::Context,
) -> anyhow::Result<(Option<Started>, Sight)> {
    let agents = parts.store.agents(conversation.id).await?;
    let agent = match &arguments.agent {
        Some(meant) => Some(find_agent(meant, &agents)?),
        None => None,
    };
    anyhow::ensure!(agent != Some(AgentId::CONVERSATION), "0 is the conversation, not an agent");
    let Some(at) = arguments.at.map(Seq) else {
        let wanted = match (&arguments.model, arguments.window) {
            (Some(name), _) => Wanted::Model(name),
            (None, Some(tokens)) => Wanted::Window(tokens),
            (None, None) => Wanted::Route,
        };
        return Ok((None, eye.now(agent, &wanted).await?));
    };
    let head = conversation.head;
    anyhow::ensure!(at <= head, "there is no entry {at}; the last is {head}");
    let entry = verified_entry(&*parts.store, conversation.id, at).await?;
    let agent = match (agent, entry.agent) {
        (Some(agent), of) if of != agent && of != AgentId::CONVERSATION => {
            let named = agents.iter().find(|sums| sums.agent == of);
            let name = named.map_or("another agent", |sums| &*sums.name);
            anyhow::bail!("entry {at} is of {name}; add --agent {name}, or choose another entry");
        }
        (Some(agent), _) => agent,
        (None, AgentId::CONVERSATION) => eye.primary().await?,
        (None, of) => of,
    };
    refuse_aside(&entry)?;
    let started = eye.invocation(agent, at).await?.with_context(|| {
        let named = agents.iter().find(|sums| sums.agent == agent);
        let name = named.map_or("the agent", |sums| &*sums.name);
        format!("no model was asked for {name} at entry {at} or before it")
    })?;
    let sight = eye.at(&started).await?;
    Ok((Some(started), sight))
}

/// What was asked beside the steps was not projected from the thread like a step.
fn refuse_aside(entry: &Entry) -> anyhow::Result<()> {
    let Fact::InvocationStarted(started) = &entry.fact else { return Ok(()) };
    let what = match started.purpose {
        Purpose::Step => return Ok(()),
        Purpose::Recap => "a recap",
        Purpose::Title => "a title",
    };
    let seq = entry.seq;
    anyhow::bail!("entry {seq} asked for {what}; only what was asked for a step is projected again")
}

/// Compares what is seen with what was seen at the newest invocation up to an entry.
async fn compare(eye: &Eye<'_>, sight: &Sight, up_to: Seq) -> anyhow::Result<Diff> {
    let before = eye.invocation(sight.agent, up_to).await?;
    let before = before.context("no model was asked before: there is nothing to compare with")?;
    let seen = eye.at(&before).await?;
    if let Some(version) = before.other_version() {
        remark(&format!(
            "entry {} was made by projection version {version}; it is shown as this one makes it",
            before.seq
        ));
    }
    Ok(Diff::new(before.seq, &seen, sight))
}

/// What is told of what is seen.
struct Report<'a> {
    conversation: &'a Conversation,
    at: Option<&'a Started>,
    sight: &'a Sight,
}

impl Report<'_> {
    fn head(&self, check: Option<&Check>, view: &mut View) -> anyhow::Result<()> {
        let title = self.conversation.sums.title.as_deref().unwrap_or("(no title)");
        let id = self.conversation.id.to_string();
        view.line(&Line::new().bold(title).plain("  ").dim(id))?;
        view.remarks(&self.sight.remarks(), "  ")?;
        if let (Some(started), Some(check)) = (self.at, check) {
            check.print(started.seq, view)?;
        }
        view.line(&Line::new())?;
        Ok(())
    }

    fn json(
        &self,
        check: Option<&Check>,
        diff: Option<&Diff>,
        texts: bool,
        view: &mut View,
    ) -> anyhow::Result<()> {
        let Sight { options, .. } = &self.sight;
        view.value(&Json {
            conversation: self.conversation.id.to_string(),
            agent: self.sight.agent.0,
            name: &self.sight.name,
            at: self.at.map(|started| started.seq.0),
            model: self.sight.model.as_deref(),
            window_tokens: options.window_tokens,
            reserve_tokens: options.reserve_tokens,
            capacity_tokens: options.capacity_tokens,
            factor_percent: options.factor_percent,
            recall: self.sight.recall,
            border: self.sight.border.map(|seq| seq.0),
            block_moved: self.sight.moved,
            tokens: self.sight.shown().tokens(),
            shares: Shares::of(self.sight),
            parts: lines(self.sight, texts),
            sent: check,
            diff,
        })?;
        Ok(())
    }
}

/// What `--json` prints.
#[derive(Serialize)]
struct Json<'a> {
    conversation: String,
    agent: u32,
    name: &'a str,
    at: Option<u64>,
    model: Option<&'a str>,
    window_tokens: u64,
    reserve_tokens: u64,
    capacity_tokens: u64,
    factor_percent: u32,
    recall: bool,
    border: Option<u64>,
    block_moved: bool,
    tokens: u64,
    shares: Shares,
    parts: Vec<PartLine>,
    sent: Option<&'a Check>,
    diff: Option<&'a Diff>,
}
