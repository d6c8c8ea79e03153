//! `threadline show`: a conversation, readable.

mod describe;

use anyhow::Context as _;
use threadline_core::clock::Clock as _;
use threadline_core::history::batch::AgentSums;
use threadline_core::history::entry::Entry;
use threadline_core::history::one_line;
use threadline_core::history::path::Path;
use threadline_core::history::record::Record;
use threadline_core::id::{AgentId, ConversationId, Seq};
use threadline_core::outline::RowKind;
use threadline_core::store::{Conversation, Page};

use super::list;
use crate::args::Show;
use crate::compose::Parts;
use crate::json;
use crate::view::{JsonList, Line, View};

/// How many records are read at a time.
const PAGE: usize = 256;
/// How many entries are looked at at a time for messages.
const WINDOW: u64 = 4096;
/// How much of what an agent did last is shown, in characters.
const DOING_CAP: usize = 100;

pub(crate) async fn run(parts: &Parts, arguments: &Show, view: &mut View) -> anyhow::Result<()> {
    let conversation = parts.find(&arguments.conversation).await?;
    let agents = parts.store.agents(conversation.id).await?;
    let rewinds = parts.store.rewinds(conversation.id, Seq::ZERO).await?;
    let wanted = Wanted::new(arguments, &conversation, &agents)?;
    let path = Path::new(conversation.head, &rewinds);
    let from = wanted.first(parts, &conversation, &path).await?;
    let printer = if view.json {
        let header = json::Header {
            conversation: (&conversation).into(),
            agents: agents.iter().map(Into::into).collect(),
        };
        Printer::Json(view.list("entries", &header)?)
    } else {
        print_header(parts, &conversation, &agents, view)?;
        let detailed = wanted.what != What::Transcript;
        Printer::Text { view, agents: &agents, detailed, nothing: true }
    };
    print(parts, &conversation, &path, &wanted, from, printer).await
}

/// Prints the last messages of a conversation, without what is known of it otherwise.
pub(crate) async fn messages_of(
    parts: &Parts,
    id: ConversationId,
    last: usize,
    view: &mut View,
) -> anyhow::Result<()> {
    let conversation = parts.store.conversation(id).await?;
    let agents = parts.store.agents(id).await?;
    let rewinds = parts.store.rewinds(id, Seq::ZERO).await?;
    let path = Path::new(conversation.head, &rewinds);
    let (what, from, to) = (What::Transcript, Seq(1), conversation.head);
    let wanted = Wanted { what, from, to, last: Some(last) };
    let from = wanted.first(parts, &conversation, &path).await?;
    let printer = if view.json {
        Printer::Json(view.list("entries", &json::Nothing {})?)
    } else {
        Printer::Text { view, agents: &agents, detailed: false, nothing: true }
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
        let from = Seq(arguments.from.unwrap_or(1));
        let to = Seq(arguments.to.unwrap_or(u64::MAX)).min(conversation.head);
        anyhow::ensure!(
            from <= conversation.head,
            "there is no entry {from}; the last is {}",
            conversation.head
        );
        anyhow::ensure!(from <= to, "--from {from} comes after --to {to}");
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
        let mut missing = last;
        let mut end = self.to;
        while end >= self.from {
            let start = Seq(end.0.saturating_sub(WINDOW - 1)).max(self.from);
            let shown = match self.what {
                What::Transcript => messages(parts, conversation, path, (start, end)).await?,
                What::Thread(_) | What::All(_) => {
                    self.shown(parts, conversation, path, (start, end)).await?
                }
            };
            if let Some(first) = shown.iter().rev().nth(missing - 1) {
                return Ok(*first);
            }
            missing -= shown.len();
            end = start.before();
        }
        Ok(self.from)
    }

    /// The wanted entries of a range of a thread or of the ledger.
    async fn shown(
        &self,
        parts: &Parts,
        conversation: &Conversation,
        path: &Path,
        (from, to): (Seq, Seq),
    ) -> anyhow::Result<Vec<Seq>> {
        let mut shown = Vec::new();
        let mut next = from;
        while next <= to {
            let page = Page { thread: self.thread(), ..Page::forward(next, PAGE) };
            let records = parts.store.read(conversation.id, &page).await?;
            if records.is_empty() {
                break;
            }
            for record in &records {
                let entry = record.open().context("an entry cannot be read")?;
                next = entry.seq.next();
                if entry.seq <= to && self.wants(&entry, path.contains(entry.seq)) {
                    shown.push(entry.seq);
                }
            }
        }
        Ok(shown)
    }
}

/// The entries of a range that are part of the transcript.
async fn messages(
    parts: &Parts,
    conversation: &Conversation,
    path: &Path,
    (from, to): (Seq, Seq),
) -> anyhow::Result<Vec<Seq>> {
    let mut messages = Vec::new();
    let mut after = from.before();
    while after < to {
        let rows = parts.store.outline_ledger(conversation.id, after, PAGE).await?;
        let Some(last) = rows.last() else { break };
        after = last.seq;
        let is_message = |kind| matches!(kind, RowKind::Message | RowKind::Answer);
        let rows = rows.iter().filter(|row| row.seq <= to && path.contains(row.seq));
        messages.extend(rows.filter(|row| is_message(row.kind)).map(|row| row.seq));
    }
    Ok(messages)
}

enum Printer<'a> {
    Json(JsonList<'a>),
    Text { view: &'a mut View, agents: &'a [AgentSums], detailed: bool, nothing: bool },
}

impl Printer<'_> {
    fn entry(&mut self, entry: &Entry, record: &Record, counts: bool) -> anyhow::Result<()> {
        match self {
            Self::Json(list) => list.push(&json::EntryLine::new(entry, record, !counts))?,
            Self::Text { view, agents, detailed, nothing } => {
                *nothing = false;
                if *detailed {
                    describe::entry(entry, agents, counts, view)?;
                } else {
                    describe::message(entry, agents, view)?;
                }
            }
        }
        Ok(())
    }

    fn end(self) -> anyhow::Result<()> {
        match self {
            Self::Json(list) => list.end(&json::Nothing {})?,
            Self::Text { view, detailed: false, nothing: true, .. } => {
                view.line(&Line::new().dim("nothing was said here; --all prints every entry"))?;
            }
            Self::Text { view, nothing: true, .. } => {
                view.line(&Line::new().dim("there is nothing to print here"))?;
            }
            Self::Text { .. } => {}
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
        let page = Page { thread: wanted.thread(), ..Page::forward(next, PAGE) };
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
    let mut start = from;
    while start <= to {
        let end = Seq(start.0.saturating_add(WINDOW - 1)).min(to);
        let seqs = messages(parts, conversation, path, (start, end)).await?;
        for seqs in seqs.chunks(PAGE) {
            for record in parts.store.records(conversation.id, seqs).await? {
                let entry = record.open().context("an entry cannot be read")?;
                printer.entry(&entry, &record, true)?;
            }
        }
        start = end.next();
    }
    Ok(())
}

fn print_header(
    parts: &Parts,
    conversation: &Conversation,
    agents: &[AgentSums],
    view: &mut View,
) -> anyhow::Result<()> {
    let title = conversation.sums.title.as_deref().unwrap_or("(no title)");
    view.line(&Line::new().bold(title).plain("  ").dim(conversation.id.to_string()))?;
    view.remarks(&list::remarks(conversation, parts.clock.now()), "  ")?;
    let widest = agents.iter().map(|agent| agent.name.chars().count()).max().unwrap_or(0);
    for agent in agents {
        let gone = if agent.present { "" } else { "(left) " };
        let doing = one_line(&agent.state_description, DOING_CAP);
        let name = format!("{:<widest$}", agent.name);
        let line = Line::new().dim(format!("  {} ", agent.agent)).name(name);
        view.row(line.dim(format!("  {gone}{doing}")))?;
    }
    view.line(&Line::new())?;
    Ok(())
}

/// The agent that a person means, by name or number: of several of a name the one that is there, or
/// else the one that left last.
pub(crate) fn find_agent(meant: &str, agents: &[AgentSums]) -> anyhow::Result<AgentId> {
    let named = agents.iter().filter(|agent| agent.name == meant);
    let by_name = named.max_by_key(|agent| (agent.present, agent.agent)).map(|agent| agent.agent);
    let by_number = || meant.parse().ok().map(AgentId);
    let known = |id: &AgentId| {
        *id == AgentId::CONVERSATION || agents.iter().any(|agent| agent.agent == *id)
    };
    by_name.or_else(|| by_number().filter(known)).with_context(|| {
        let names: Vec<&str> = agents.iter().map(|agent| agent.name.as_str()).collect();
        match names.as_slice() {
            [] => format!("there is no agent {meant:?}; the conversation has none"),
            [one] => format!("there is no agent {meant:?}; there is only {one}"),
            many => format!("there is no agent {meant:?}; there are {}", many.join(", ")),
        }
    })
}
