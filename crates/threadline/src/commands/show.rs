//! `threadline show`: a conversation, readable.

mod describe;
mod read;

use anyhow::Context as _;
use threadline_core::clock::Clock as _;
use threadline_core::history::batch::AgentSums;
use threadline_core::history::one_line;
use threadline_core::history::path::Path;
use threadline_core::id::{AgentId, ConversationId, Seq};
use threadline_core::store::Conversation;

use self::read::{PAGE, Pages};
pub(crate) use self::read::{Read, read_at};
use super::list;
use crate::args::Show;
use crate::compose::Parts;
use crate::json;
use crate::view::{JsonList, Line, View, remark};

/// How many entries are looked at at a time for messages.
const WINDOW: u64 = 4096;
/// How much of what an agent did last is shown, in characters.
const DOING_CAP: usize = 100;

pub(crate) async fn run(parts: &Parts, arguments: &Show, view: &mut View) -> anyhow::Result<()> {
    let conversation = parts.find(&arguments.conversation).await?;
    let agents = agents(parts, conversation.id).await?;
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
    let agents = agents(parts, id).await?;
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

/// The agents of a conversation; none, with a remark, if what is known of them cannot be read.
async fn agents(parts: &Parts, id: ConversationId) -> anyhow::Result<Vec<AgentSums>> {
    match parts.store.agents(id).await {
        Err(error) if error.damage().is_some() => {
            remark(&error.to_string());
            Ok(Vec::new())
        }
        agents => Ok(agents?),
    }
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

    /// Whether an entry is wanted. What cannot be read always is.
    fn wants(&self, read: &Read, path: &Path) -> bool {
        let Read::Entry { entry, .. } = read else { return true };
        let counts = path.contains(entry.seq);
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
        let mut pages = Pages::new(&*parts.store, conversation.id, self.thread(), from);
        while let Some(page) = pages.next().await? {
            let wanted = page.iter().filter(|read| read.seq() <= to && self.wants(read, path));
            shown.extend(wanted.map(Read::seq));
            if page.last().is_some_and(|last| last.seq() >= to) {
                break;
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
        let rows = match parts.store.outline_ledger(conversation.id, after, PAGE).await {
            Err(error) if error.damage().is_some() => {
                return messages_in_entries(parts, conversation, path, (from, to)).await;
            }
            rows => rows?,
        };
        let Some(last) = rows.last() else { break };
        after = last.seq;
        let rows = rows.iter().filter(|row| row.seq <= to && path.contains(row.seq));
        messages.extend(rows.filter(|row| row.kind.is_in_transcript()).map(|row| row.seq));
    }
    Ok(messages)
}

/// What is said of an entry that is not what was written.
pub(crate) fn changed_mark(seq: Seq) -> String {
    format!("! entry {seq} was changed after it was written; this is not what it said")
}

/// The same, found in the entries themselves, where their outline cannot be read.
async fn messages_in_entries(
    parts: &Parts,
    conversation: &Conversation,
    path: &Path,
    (from, to): (Seq, Seq),
) -> anyhow::Result<Vec<Seq>> {
    let mut messages = Vec::new();
    let mut pages = Pages::new(&*parts.store, conversation.id, None, from);
    while let Some(page) = pages.next().await? {
        let is_message = |read: &&Read| match read {
            Read::Entry { entry, .. } => {
                path.contains(entry.seq) && describe::is_message(&entry.fact)
            }
            Read::Damaged { .. } => true,
        };
        let within = page.iter().filter(|read| read.seq() <= to);
        messages.extend(within.filter(is_message).map(Read::seq));
        if page.last().is_some_and(|last| last.seq() >= to) {
            break;
        }
    }
    Ok(messages)
}

enum Printer<'a> {
    Json(JsonList<'a>),
    Text { view: &'a mut View, agents: &'a [AgentSums], detailed: bool, nothing: bool },
}

impl Printer<'_> {
    fn read(&mut self, read: &Read, path: &Path) -> anyhow::Result<()> {
        let (entry, record, changed) = match read {
            Read::Entry { entry, record, changed } => (entry, record, *changed),
            Read::Damaged { seq, why } => return self.damaged(*seq, why),
        };
        let counts = path.contains(entry.seq);
        match self {
            Self::Json(list) => {
                list.push(&json::EntryLine::new(entry, record, !counts, changed))?;
            }
            Self::Text { view, agents, detailed, nothing } => {
                *nothing = false;
                if changed {
                    view.line(&Line::new().bad(changed_mark(entry.seq)))?;
                }
                if *detailed {
                    describe::entry(entry, agents, counts, view)?;
                } else {
                    describe::message(entry, agents, view)?;
                }
            }
        }
        Ok(())
    }

    /// Prints that an entry cannot be read.
    fn damaged(&mut self, seq: Seq, why: &str) -> anyhow::Result<()> {
        match self {
            Self::Json(list) => {
                let error = why.to_owned();
                list.push(&json::Unreadable { seq: seq.0, changed: true, error })?;
            }
            Self::Text { view, nothing, .. } => {
                *nothing = false;
                view.line(&Line::new().bad(format!("! entry {seq} cannot be read: {why}")))?;
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
    let mut pages = Pages::new(&*parts.store, conversation.id, wanted.thread(), from);
    while let Some(page) = pages.next().await? {
        for read in page.iter().filter(|read| read.seq() <= wanted.to && wanted.wants(read, path)) {
            printer.read(read, path)?;
        }
        if page.last().is_some_and(|last| last.seq() >= wanted.to) {
            break;
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
            for read in read_at(&*parts.store, conversation.id, seqs).await? {
                printer.read(&read, path)?;
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
