//! `threadline show`: a conversation, readable.

mod describe;

use anyhow::Context as _;
use threadline_core::history::batch::AgentSums;
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::Fact;
use threadline_core::history::path::Path;
use threadline_core::history::record::Record;
use threadline_core::id::{AgentId, Seq};
use threadline_core::outline::RowKind;
use threadline_core::store::{Conversation, Direction, Page};

use crate::args::Show;
use crate::compose::Parts;
use crate::json;
use crate::view::{JsonList, Line, View};

/// How many records are read at a time.
const PAGE: usize = 256;

pub(crate) async fn run(parts: &Parts, arguments: &Show, view: &mut View) -> anyhow::Result<()> {
    let conversation = parts.find(&arguments.conversation).await?;
    let agents = parts.store.agents(conversation.id).await?;
    let rewinds = parts.store.rewinds(conversation.id, Seq::ZERO).await?;
    let wanted = Wanted::new(arguments, &conversation, &agents)?;
    let path = Path::new(conversation.head, &rewinds);
    let from = wanted.first(parts, &conversation, &path).await?;
    let printer = if view.json {
        let header = json::Header { conversation: (&conversation).into(), agents: &agents };
        Printer::Json(view.list("entries", &header)?)
    } else {
        print_header(&conversation, &agents, view)?;
        Printer::Text { view, agents: &agents, detailed: wanted.what != What::Transcript }
    };
    print(parts, &conversation, &path, &wanted, from, printer).await
}

/// Which entries are wanted.
struct Wanted {
    what: What,
    from: Seq,
    to: Seq,
    last: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    /// Messages and the final answers to them.
    Transcript,
    /// What happened on one thread, as it counts now.
    Thread(AgentId),
    /// Every entry, of one thread or of all.
    All(Option<AgentId>),
}

impl Wanted {
    fn new(
        arguments: &Show,
        conversation: &Conversation,
        agents: &[AgentSums],
    ) -> anyhow::Result<Self> {
        let agent = match &arguments.agent {
            Some(meant) => Some(find_agent(meant, agents)?),
            None => None,
        };
        let what = match (arguments.all, agent) {
            (true, agent) => What::All(agent),
            (false, Some(agent)) => What::Thread(agent),
            (false, None) => What::Transcript,
        };
        let from = Seq(arguments.from.unwrap_or(1).max(1));
        let to = Seq(arguments.to.unwrap_or(conversation.head.0).min(conversation.head.0));
        if from > to {
            anyhow::bail!(
                "there is nothing from entry {from} to entry {to}; the last entry is {}",
                conversation.head
            );
        }
        Ok(Self { what, from, to, last: arguments.last })
    }

    fn thread(&self) -> Option<AgentId> {
        match self.what {
            What::Transcript => None,
            What::Thread(agent) => Some(agent),
            What::All(agent) => agent,
        }
    }

    /// Whether an entry is wanted, given whether it still counts.
    fn wants(&self, entry: &Entry, counts: bool) -> bool {
        match self.what {
            What::All(_) => true,
            What::Thread(_) => counts && describe::is_worth_reading(&entry.fact),
            What::Transcript => counts,
        }
    }

    /// The entry to begin at: the first of the range, or far enough back for the last few.
    async fn first(
        &self,
        parts: &Parts,
        conversation: &Conversation,
        path: &Path,
    ) -> anyhow::Result<Seq> {
        let Some(last) = self.last else { return Ok(self.from) };
        let mut first = self.to.next();
        let mut found = 0;
        let mut next = self.to;
        while found < last && next >= self.from {
            let page = Page {
                from: next,
                direction: Direction::Backward,
                thread: self.thread(),
                most: PAGE,
            };
            let records = parts.store.read(conversation.id, &page).await?;
            let Some(oldest) = records.last() else { break };
            next = oldest.open().context("an entry cannot be read")?.seq.before();
            for record in &records {
                let entry = record.open().context("an entry cannot be read")?;
                let counts = path.contains(entry.seq);
                let shown = self.wants(&entry, counts)
                    && (self.what != What::Transcript || is_message(&entry));
                if entry.seq >= self.from && found < last && shown {
                    found += 1;
                    first = entry.seq;
                }
            }
            if next == Seq::ZERO {
                break;
            }
        }
        Ok(first)
    }
}

/// Whether an entry may be part of the transcript; the outline knows for sure.
fn is_message(entry: &Entry) -> bool {
    match &entry.fact {
        Fact::Input(input) => describe::is_from_outside(input),
        Fact::Output(output) => output.calls().next().is_none(),
        _ => false,
    }
}

enum Printer<'a> {
    Json(JsonList<'a>),
    Text { view: &'a mut View, agents: &'a [AgentSums], detailed: bool },
}

impl Printer<'_> {
    fn entry(&mut self, entry: &Entry, record: &Record, counts: bool) -> anyhow::Result<()> {
        match self {
            Self::Json(list) => list.push(&json::EntryLine::new(entry, record, !counts))?,
            Self::Text { view, agents, detailed: false } => describe::message(entry, agents, view)?,
            Self::Text { view, agents, detailed: true } => {
                describe::entry(entry, agents, counts, view)?;
            }
        }
        Ok(())
    }

    fn end(self) -> anyhow::Result<()> {
        if let Self::Json(list) = self {
            list.end(&json::Nothing {})?;
        }
        Ok(())
    }
}

async fn print(
    parts: &Parts,
    conversation: &Conversation,
    path: &Path,
    wanted: &Wanted,
    from: Seq,
    mut printer: Printer<'_>,
) -> anyhow::Result<()> {
    if wanted.what == What::Transcript {
        print_transcript(parts, conversation, path, (from, wanted.to), &mut printer).await?;
        return printer.end();
    }
    let mut next = from;
    while next <= wanted.to {
        let page =
            Page { from: next, direction: Direction::Forward, thread: wanted.thread(), most: PAGE };
        let records = parts.store.read(conversation.id, &page).await?;
        if records.is_empty() {
            break;
        }
        for record in &records {
            let entry = record.open().with_context(|| format!("entry {next} cannot be read"))?;
            next = entry.seq.next();
            let counts = path.contains(entry.seq);
            if entry.seq <= wanted.to && wanted.wants(&entry, counts) {
                printer.entry(&entry, record, counts)?;
            }
        }
    }
    printer.end()
}

async fn print_transcript(
    parts: &Parts,
    conversation: &Conversation,
    path: &Path,
    (from, to): (Seq, Seq),
    printer: &mut Printer<'_>,
) -> anyhow::Result<()> {
    let mut after = from.before();
    loop {
        let rows = parts.store.outline_ledger(conversation.id, after, PAGE).await?;
        let Some(last) = rows.last() else { return Ok(()) };
        after = last.seq;
        let message = |kind| matches!(kind, RowKind::Message | RowKind::Answer);
        let shown =
            rows.iter().filter(|row| row.seq <= to && message(row.kind) && path.contains(row.seq));
        let seqs: Vec<Seq> = shown.map(|row| row.seq).collect();
        for record in parts.store.records(conversation.id, &seqs).await? {
            let entry = record.open().context("an entry cannot be read")?;
            printer.entry(&entry, &record, true)?;
        }
        if after >= to {
            return Ok(());
        }
    }
}

fn print_header(
    conversation: &Conversation,
    agents: &[AgentSums],
    view: &mut View,
) -> anyhow::Result<()> {
    let title = conversation.sums.title.as_deref().unwrap_or("(no title)");
    view.line(&Line::new().bold(title).plain("  ").dim(conversation.id.to_string()))?;
    for agent in agents {
        let gone = if agent.present { "" } else { " (left)" };
        let line = Line::new()
            .dim(format!("  {} ", agent.agent))
            .name(&agent.name)
            .dim(format!("{gone}  {}", agent.state_description));
        view.line(&line)?;
    }
    view.line(&Line::new())?;
    Ok(())
}

/// The agent that a person means, by name or number.
pub(crate) fn find_agent(meant: &str, agents: &[AgentSums]) -> anyhow::Result<AgentId> {
    let by_name = agents.iter().find(|agent| agent.name == meant).map(|agent| agent.agent);
    let by_number = || meant.parse().ok().map(AgentId);
    let known = |id: &AgentId| {
        *id == AgentId::CONVERSATION || agents.iter().any(|agent| agent.agent == *id)
    };
    by_name.or_else(|| by_number().filter(known)).with_context(|| {
        let names: Vec<&str> = agents.iter().map(|agent| agent.name.as_str()).collect();
        format!("there is no agent {meant:?}; there are {}", names.join(", "))
    })
}
