//! What is shown while an agent works: the answer on standard output, all else beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use threadline_core::drive::Notice;
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::{
    Block, Fact, FailureKind, Input, InvocationFailed, Output, Sender, Status, ToolFinished,
};
use threadline_core::history::one_line;
use threadline_core::history::sections::{self, Level};
use threadline_core::id::{AgentId, CallId, Seq};
use threadline_core::provider::{BlockIndex, BlockKind, Delta};
use threadline_core::sanitise;
use threadline_runtime::News;

use super::{Asked, Cast};
use crate::view::{Line, View, Wrapping, aside, aside_piece};
use crate::words;

/// How much of a remark stands on a line.
const LINE_CAP: usize = 300;

/// Shows what happens in a conversation.
pub(crate) struct Screen<'a> {
    view: &'a mut View,
    how: How,
    /// The agent whose answer is shown as it comes: one at a time.
    speaking: Option<AgentId>,
    /// Agents whose answer began while another spoke: it is shown when it is whole.
    late: BTreeSet<AgentId>,
    /// What was to be shown of others while one spoke.
    held: Vec<Held>,
    /// Calls whose answers were shown as those of the agents that were called.
    returned: BTreeSet<CallId>,
    /// The newest entry of each agent that ended an invocation: what still comes of it was shown.
    done: BTreeMap<AgentId, Seq>,
    streamed: Streamed,
    /// Where the cursor stands.
    at: At,
    /// How lines are broken.
    wrapping: Wrapping,
    /// Whether the turn is being stopped: what is still said on the way is not shown.
    stopping: bool,
}

/// Something that waits for an answer to end.
enum Held {
    /// An answer that became whole.
    Answer(AgentId, String),
    /// A line beside the answers.
    Line(Line),
}

/// How things are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// To a person: answers as they come, thoughts too.
    Live,
    /// To a program that reads text: answers are printed when they are whole.
    Plain,
    /// Not at all: what came of it is printed as JSON.
    Silent,
}

/// What an invocation has said so far.
#[derive(Default)]
struct Streamed {
    kinds: BTreeMap<BlockIndex, Kind>,
    /// The block that is being said.
    last: Option<BlockIndex>,
    text: String,
    thought: bool,
    clean: sanitise::Stream,
    /// Who says it, as long as that is still to be told.
    speaker: Option<Arc<str>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Thought,
    Other,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    Start,
    Text,
    Thought,
}

impl<'a> Screen<'a> {
    pub(crate) fn new(view: &'a mut View) -> Self {
        let how = match (view.json, view.width()) {
            (true, _) => How::Silent,
            (false, Some(_)) => How::Live,
            (false, None) => How::Plain,
        };
        let wrapping = Wrapping::new(view.width().unwrap_or(usize::MAX));
        Self {
            view,
            how,
            speaking: None,
            late: BTreeSet::new(),
            held: Vec::new(),
            returned: BTreeSet::new(),
            done: BTreeMap::new(),
            streamed: Streamed::default(),
            at: At::Start,
            wrapping,
            stopping: false,
        }
    }

    /// Shows what waited for another's answer to end: nothing more comes.
    pub(crate) fn settle(&mut self, cast: &Cast) -> io::Result<()> {
        self.end_line()?;
        self.speaking = None;
        self.say_held(cast)
    }

    /// Whether answers are shown as they come.
    pub(crate) fn is_live(&self) -> bool {
        self.how == How::Live
    }

    /// Whether some news are worth interrupting someone for.
    pub(crate) fn tells(news: &News) -> bool {
        match news {
            News::Notice(Notice::Entry(entry)) => match &entry.fact {
                Fact::Input(_)
                | Fact::Output(_)
                | Fact::TurnEnded(_)
                | Fact::ToolFinished(_)
                | Fact::ApprovalAsked(_)
                | Fact::ApprovalGiven(_) => true,
                Fact::Note(note) => &*note.category == "alone",
                Fact::AgentJoined(_)
                | Fact::AgentLeft(_)
                | Fact::InstructionSet(_)
                | Fact::ToolResults(_)
                | Fact::InvocationStarted(_)
                | Fact::InvocationFailed(_)
                | Fact::ToolStarted(_)
                | Fact::PolicySet(_)
                | Fact::WidgetChanged(_)
                | Fact::AgentCalled(_)
                | Fact::AgentReturned(_)
                | Fact::TimerSet(_)
                | Fact::TimerCleared(_)
                | Fact::Recap(_)
                | Fact::Pinned(_)
                | Fact::Described(_)
                | Fact::Rewound(_)
                | Fact::Forked(_)
                | Fact::Moved(_)
                | Fact::WorkspaceSet(_)
                | Fact::FileChanged(_)
                | Fact::AuthorityReset(_)
                | Fact::Unrecognised(_) => {
                    elsewhere(&Cast::default(), entry.agent, &entry.fact).is_some()
                }
            },
            News::Notice(Notice::Delta { .. }) => true,
            News::Notice(Notice::State { .. } | Notice::Stalled(_)) | News::Progress { .. } => {
                false
            }
        }
    }

    /// Shows some news.
    pub(crate) fn draw(&mut self, cast: &mut Cast, news: &News) -> io::Result<()> {
        if let News::Notice(Notice::Entry(entry)) = news {
            cast.see(entry);
        }
        if self.how == How::Silent {
            return Ok(());
        }
        match news {
            News::Notice(Notice::Delta { agent, started, delta })
                if self.is_live() && !self.stopping =>
            {
                // Entries may come by way of the store, and overtake what led to them.
                if self.done.get(agent).is_some_and(|done| done > started) {
                    return Ok(());
                }
                self.delta(cast, *agent, delta)
            }
            News::Notice(Notice::Entry(entry)) => self.entry(cast, entry),
            News::Notice(Notice::Stalled(why)) => {
                self.tell(Line::new().dim(format!("· waiting: {}", one_line(why, LINE_CAP))))
            }
            News::Notice(Notice::Delta { .. } | Notice::State { .. }) | News::Progress { .. } => {
                Ok(())
            }
        }
    }

    /// Says that a turn is being stopped.
    pub(crate) fn stopping(&mut self, asked: Asked) -> io::Result<()> {
        self.stopping = true;
        match (self.how, asked) {
            (How::Silent, _) => Ok(()),
            (How::Live, Asked::Interrupt) => {
                self.tell(Line::new().dim("· stopping; Ctrl-C again leaves at once"))
            }
            (How::Live | How::Plain, _) => self.tell(Line::new().dim("· stopping")),
        }
    }

    /// Tells a line beside the answer.
    pub(crate) fn tell(&mut self, line: Line) -> io::Result<()> {
        self.end_line()?;
        if self.how != How::Silent {
            aside(line);
        }
        Ok(())
    }

    /// Tells a line of an agent, once nobody else is in the middle of saying something.
    fn tell_of(&mut self, agent: AgentId, line: Line) -> io::Result<()> {
        if self.at == At::Text && self.speaking.is_some_and(|speaking| speaking != agent) {
            self.held.push(Held::Line(line));
            return Ok(());
        }
        self.tell(line)
    }

    fn delta(&mut self, cast: &Cast, agent: AgentId, delta: &Delta) -> io::Result<()> {
        if cast.helps(agent) || self.late.contains(&agent) {
            return Ok(());
        }
        let begins = match delta {
            Delta::Prepared(_) | Delta::Started(_) => true,
            Delta::Begin { block, .. } => *block == BlockIndex(0),
            Delta::Fragment { .. }
            | Delta::State { .. }
            | Delta::End { .. }
            | Delta::Usage(_)
            | Delta::Cost(_)
            | Delta::Finished { .. } => false,
        };
        match self.speaking {
            Some(speaking) if speaking == agent => {}
            None if begins => self.speaking = Some(agent),
            None | Some(_) => {
                self.late.insert(agent);
                return Ok(());
            }
        }
        self.streamed.speaker = cast.name(agent);
        match delta {
            Delta::Begin { block, kind } => {
                let kind = match kind {
                    BlockKind::Text => Kind::Text,
                    BlockKind::Thinking => Kind::Thought,
                    BlockKind::ToolCall { .. } | BlockKind::Foreign { .. } => Kind::Other,
                };
                self.streamed.kinds.insert(*block, kind);
                Ok(())
            }
            Delta::Fragment { block, text } => self.fragment(*block, text),
            Delta::Prepared(_)
            | Delta::Started(_)
            | Delta::State { .. }
            | Delta::End { .. }
            | Delta::Usage(_)
            | Delta::Cost(_)
            | Delta::Finished { .. } => Ok(()),
        }
    }

    fn fragment(&mut self, block: BlockIndex, text: &str) -> io::Result<()> {
        let kind = self.streamed.kinds.get(&block).copied().unwrap_or(Kind::Other);
        let is_next = self.streamed.last.replace(block).is_some_and(|last| last != block);
        match kind {
            Kind::Text => {
                // As the whole answer has it.
                if is_next && !self.streamed.text.is_empty() {
                    self.say("\n\n")?;
                }
                self.say(text)
            }
            Kind::Thought => {
                self.streamed.thought = true;
                self.think(text)
            }
            Kind::Other => Ok(()),
        }
    }

    /// Prints a piece of the answer.
    fn say(&mut self, piece: &str) -> io::Result<()> {
        if self.at == At::Thought {
            self.end_line()?;
        }
        if let Some(name) = self.streamed.speaker.take().filter(|_| self.streamed.text.is_empty()) {
            let name = format!("{name}: ");
            self.at = At::Text;
            let lines = self.wrapping.push(&sanitise::line(&name));
            self.view.piece(&lines)?;
        }
        self.streamed.text.push_str(piece);
        let inert = self.streamed.clean.push(piece);
        self.at = At::Text;
        let lines = self.wrapping.push(&inert);
        self.view.piece(&lines)
    }

    fn think(&mut self, piece: &str) -> io::Result<()> {
        if self.at == At::Text {
            self.end_line()?;
        }
        self.at = At::Thought;
        aside_piece(&self.wrapping.push(&sanitise::text(piece)));
        Ok(())
    }

    fn entry(&mut self, cast: &Cast, entry: &Entry) -> io::Result<()> {
        let agent = entry.agent;
        match &entry.fact {
            Fact::Input(input) => self.input(cast, agent, input),
            Fact::Output(output) => {
                self.done.insert(agent, entry.seq);
                self.output(cast, agent, output)
            }
            Fact::InvocationFailed(failed) => {
                self.done.insert(agent, entry.seq);
                self.failed(cast, agent, failed)
            }
            Fact::ToolFinished(finished) => self.finished(cast, agent, finished),
            Fact::AgentReturned(returned) => {
                self.returned.insert(returned.call);
                Ok(())
            }
            Fact::TurnEnded(ended) => {
                self.silence(agent);
                let words = words::ended(ended.reason, &ended.detail);
                let line = Line::new().bad("·").plain(of(cast, agent));
                self.tell_of(agent, line.plain(format!(" {words}")))?;
                self.say_held(cast)
            }
            Fact::Note(note) if matches!(&*note.category, "refused" | "alone" | "folder") => {
                self.tell(Line::new().dim(format!("· {}", one_line(&note.text, LINE_CAP))))
            }
            fact @ (Fact::AgentJoined(_)
            | Fact::AgentLeft(_)
            | Fact::InstructionSet(_)
            | Fact::ToolResults(_)
            | Fact::InvocationStarted(_)
            | Fact::ToolStarted(_)
            | Fact::ApprovalAsked(_)
            | Fact::ApprovalGiven(_)
            | Fact::PolicySet(_)
            | Fact::WidgetChanged(_)
            | Fact::AgentCalled(_)
            | Fact::TimerSet(_)
            | Fact::TimerCleared(_)
            | Fact::Recap(_)
            | Fact::Pinned(_)
            | Fact::Described(_)
            | Fact::Rewound(_)
            | Fact::Forked(_)
            | Fact::Moved(_)
            | Fact::WorkspaceSet(_)
            | Fact::FileChanged(_)
            | Fact::AuthorityReset(_)
            | Fact::Note(_)
            | Fact::Unrecognised(_)) => match elsewhere(cast, agent, fact) {
                Some(told) => self.tell(Line::new().dim(format!("· {told}"))),
                None => Ok(()),
            },
        }
    }

    /// What is said to an agent, if it was not said here.
    fn input(&mut self, cast: &Cast, agent: AgentId, input: &Input) -> io::Result<()> {
        let name = cast.name(agent).map(|name| format!("@{name} "));
        let (to, whom) = (name.as_deref().unwrap_or(""), name.as_deref().unwrap_or("the agent "));
        let text = one_line(&sections::render(&input.sections, Level::Live), LINE_CAP);
        let line = match &input.from {
            Sender::Agent { .. } if cast.is_task(agent, &input.from) => return Ok(()),
            Sender::Agent { .. } => Line::new().dim(format!("← {to}{text}")),
            Sender::Timer { .. } => Line::new().dim(format!("· {whom}is woken: {text}")),
            Sender::Person { .. } | Sender::System => Line::new().dim(format!("› {to}{text}")),
        };
        self.tell_of(agent, line)
    }

    /// An answer is whole: what of it was not shown yet is, then the calls it makes.
    fn output(&mut self, cast: &Cast, agent: AgentId, output: &Output) -> io::Result<()> {
        self.late.remove(&agent);
        if cast.helps(agent) {
            let text = output.text();
            if !text.trim().is_empty() {
                let name = cast.name(agent).unwrap_or_default();
                let line = Line::new().dim("· ").name(&*name);
                self.tell_of(agent, line.dim(format!(": {}", one_line(&text, LINE_CAP))))?;
            }
        } else if self.is_live() {
            if self.speaking.is_some_and(|speaking| speaking != agent) {
                self.held.push(Held::Answer(agent, output.text()));
            } else {
                self.speaking = Some(agent);
                if self.streamed.text.is_empty() {
                    self.streamed.speaker = cast.name(agent);
                }
                self.rest_of(output)?;
                self.silence(agent);
            }
        }
        for call in output.calls() {
            let line = Line::new().dim("·").plain(of(cast, agent)).plain(" ").name(&call.name);
            self.tell_of(agent, line.plain(format!(" {}", words::arguments(&call.arguments))))?;
        }
        if self.speaking.is_none() {
            self.end_line()?;
        }
        self.say_held(cast)
    }

    /// What an agent was saying is over.
    fn silence(&mut self, agent: AgentId) {
        self.late.remove(&agent);
        if self.speaking == Some(agent) {
            self.speaking = None;
            self.streamed = Streamed::default();
        }
    }

    /// Shows what waited for another's answer to end.
    fn say_held(&mut self, cast: &Cast) -> io::Result<()> {
        if self.speaking.is_some() {
            return Ok(());
        }
        for held in std::mem::take(&mut self.held) {
            match held {
                Held::Line(line) => self.tell(line)?,
                Held::Answer(_, text) if text.is_empty() => {}
                Held::Answer(agent, text) => {
                    self.end_line()?;
                    self.streamed = Streamed { speaker: cast.name(agent), ..Streamed::default() };
                    self.say(&text)?;
                    self.end_line()?;
                }
            }
        }
        self.streamed = Streamed::default();
        Ok(())
    }

    fn rest_of(&mut self, output: &Output) -> io::Result<()> {
        if !self.streamed.thought {
            for block in &output.blocks {
                if let Block::Thinking(thinking) = block {
                    self.think(&thinking.text)?;
                    self.end_line()?;
                }
            }
        }
        let whole = output.text();
        match whole.strip_prefix(&*self.streamed.text) {
            Some("") => Ok(()),
            Some(rest) => self.say(rest),
            None => {
                self.end_line()?;
                self.streamed = Streamed::default();
                self.say(&whole)
            }
        }
    }

    fn failed(&mut self, cast: &Cast, agent: AgentId, failed: &InvocationFailed) -> io::Result<()> {
        self.silence(agent);
        if failed.kind == FailureKind::Cancelled {
            // The end of the turn says so.
            if self.speaking.is_none() {
                self.end_line()?;
            }
            return self.say_held(cast);
        }
        let again = if failed.retry { "; it is asked again" } else { "" };
        let why = one_line(&failed.message, LINE_CAP);
        let line = Line::new().bad("✗").plain(of(cast, agent));
        self.tell_of(agent, line.plain(format!(" the model gave no answer: {why}{again}")))?;
        self.say_held(cast)
    }

    fn finished(&mut self, cast: &Cast, agent: AgentId, finished: &ToolFinished) -> io::Result<()> {
        let returned = self.returned.remove(&finished.call);
        if returned && finished.status == Status::Success {
            return Ok(());
        }
        let (mark, said) = words::finished(finished);
        let line = match mark {
            "✓" => Line::new().good(mark),
            _ => Line::new().bad(mark),
        };
        self.tell_of(agent, line.plain(of(cast, agent)).plain(format!(" {said}")))
    }

    /// Ends the line that the cursor is in.
    pub(crate) fn end_line(&mut self) -> io::Result<()> {
        match std::mem::replace(&mut self.at, At::Start) {
            At::Start => self.view.finish(),
            At::Text => {
                let rest = self.wrapping.finish();
                self.view.piece(&(rest + "\n"))
            }
            At::Thought => {
                aside_piece(&(self.wrapping.finish() + "\n"));
                Ok(())
            }
        }
    }
}

/// Whose it is, if there is more than one agent.
fn of(cast: &Cast, agent: AgentId) -> String {
    cast.name(agent).map(|name| format!(" {name}:")).unwrap_or_default()
}

/// What was changed beside what agents do: by a command, here or in another terminal.
fn elsewhere(cast: &Cast, agent: AgentId, fact: &Fact) -> Option<String> {
    let name = cast.name(agent);
    let name = name.as_deref().unwrap_or("the agent");
    Some(match fact {
        Fact::AgentJoined(joined) => format!("{} joined", one_line(&joined.name, LINE_CAP)),
        Fact::AgentLeft(_) => format!("{name} left"),
        Fact::InstructionSet(_) => format!("{name} was instructed anew"),
        Fact::WidgetChanged(changed) if changed.call.is_none() => {
            format!("the {} was changed by hand", changed.widget)
        }
        Fact::PolicySet(set) => words::policy(set),
        Fact::Rewound(rewound) => format!("back at entry {}", rewound.to),
        Fact::Input(_)
        | Fact::Output(_)
        | Fact::ToolResults(_)
        | Fact::InvocationStarted(_)
        | Fact::InvocationFailed(_)
        | Fact::ToolStarted(_)
        | Fact::ToolFinished(_)
        | Fact::ApprovalAsked(_)
        | Fact::ApprovalGiven(_)
        | Fact::WidgetChanged(_)
        | Fact::AgentCalled(_)
        | Fact::AgentReturned(_)
        | Fact::TimerSet(_)
        | Fact::TimerCleared(_)
        | Fact::TurnEnded(_)
        | Fact::Recap(_)
        | Fact::Pinned(_)
        | Fact::Described(_)
        | Fact::Forked(_)
        | Fact::Moved(_)
        | Fact::WorkspaceSet(_)
        | Fact::FileChanged(_)
        | Fact::AuthorityReset(_)
        | Fact::Note(_)
        | Fact::Unrecognised(_) => return None,
    })
}
