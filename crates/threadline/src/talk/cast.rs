//! Who takes part in a conversation: what agents are called, and for whom they work.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use threadline_core::history::History;
use threadline_core::history::batch::AgentSums;
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::{Fact, Sender};
use threadline_core::id::{AgentId, Seq};

use crate::near::nearest;

/// The agents of a conversation, as far as is seen of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cast {
    names: BTreeMap<AgentId, Arc<str>>,
    gone: BTreeSet<AgentId>,
    /// Who made the calls of an output.
    callers: BTreeMap<Seq, AgentId>,
    /// Agents whose turn was begun by another.
    helping: BTreeSet<AgentId>,
}

impl Cast {
    /// The agents that a store knows of.
    pub(crate) fn new(agents: &[AgentSums]) -> Self {
        let names = agents.iter().map(|agent| (agent.agent, agent.name.as_str().into()));
        let gone = agents.iter().filter(|agent| !agent.present).map(|agent| agent.agent);
        Self { names: names.collect(), gone: gone.collect(), ..Self::default() }
    }

    /// The agents of a history, and who works for whom there.
    pub(crate) fn of(history: &History) -> Self {
        let mut cast = Self::default();
        for (id, agent) in &history.state().agents {
            cast.names.insert(*id, Arc::clone(&agent.joined.name));
            if !agent.present {
                cast.gone.insert(*id);
            }
            if let Some(caller) = agent.turn.as_ref().and_then(|turn| turn.caller) {
                cast.callers.insert(caller.call.output, caller.agent);
                if agent.in_turn() {
                    cast.helping.insert(*id);
                }
            }
        }
        let replies = history.state().replies.iter();
        cast.callers.extend(replies.map(|reply| (reply.call.output, reply.to)));
        cast
    }

    /// Takes in who is there now.
    pub(crate) fn meet(&mut self, history: &History) {
        let Self { names, gone, .. } = Self::of(history);
        (self.names, self.gone) = (names, gone);
    }

    /// An agent is not there any more.
    pub(crate) fn miss(&mut self, agent: AgentId) {
        self.gone.insert(agent);
    }

    /// Takes in what an entry says of them.
    pub(crate) fn see(&mut self, entry: &Entry) {
        match &entry.fact {
            Fact::AgentJoined(joined) => {
                self.names.insert(entry.agent, Arc::clone(&joined.name));
                self.gone.remove(&entry.agent);
            }
            Fact::AgentLeft(_) => {
                self.gone.insert(entry.agent);
            }
            Fact::Output(output) if output.calls().next().is_some() => {
                self.callers.insert(entry.seq, entry.agent);
            }
            Fact::Input(input) => {
                if self.is_task(entry.agent, &input.from) {
                    self.helping.insert(entry.agent);
                } else {
                    self.helping.remove(&entry.agent);
                }
            }
            Fact::InstructionSet(_)
            | Fact::Output(_)
            | Fact::ToolResults(_)
            | Fact::InvocationStarted(_)
            | Fact::InvocationFailed(_)
            | Fact::ToolStarted(_)
            | Fact::ToolFinished(_)
            | Fact::ApprovalAsked(_)
            | Fact::ApprovalGiven(_)
            | Fact::PolicySet(_)
            | Fact::WidgetChanged(_)
            | Fact::AgentCalled(_)
            | Fact::AgentReturned(_)
            | Fact::TimerSet(_)
            | Fact::TimerCleared(_)
            | Fact::TurnEnded(_)
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
            | Fact::Unrecognised(_) => {}
        }
    }

    /// Whether what is said to an agent is a task of another's, and not the answer to its own.
    pub(crate) fn is_task(&self, to: AgentId, from: &Sender) -> bool {
        match from {
            Sender::Agent { agent, call } => {
                let caller = call.and_then(|call| self.callers.get(&call.output));
                caller.copied().unwrap_or(*agent) != to
            }
            Sender::Person { .. } | Sender::System | Sender::Timer { .. } => false,
        }
    }

    /// Whether an agent works for another.
    pub(crate) fn helps(&self, agent: AgentId) -> bool {
        self.helping.contains(&agent)
    }

    /// Whether there is more than one of them.
    pub(crate) fn is_many(&self) -> bool {
        self.names.len() > 1
    }

    /// What an agent is called, if there is more than one.
    pub(crate) fn name(&self, agent: AgentId) -> Option<Arc<str>> {
        self.names.get(&agent).filter(|_| self.is_many()).cloned()
    }

    /// The agent of a name.
    pub(crate) fn find(&self, name: &str) -> Result<AgentId, Unheard> {
        if let Some((agent, _)) = self.present().find(|(_, known)| &***known == name) {
            return Ok(agent);
        }
        let there: Vec<&str> = self.present().map(|(_, name)| &**name).collect();
        Err(Unheard::nobody(name, &there))
    }

    /// The agents that are there, with their names.
    pub(crate) fn present(&self) -> impl Iterator<Item = (AgentId, &Arc<str>)> {
        let here = self.names.iter().filter(|(agent, _)| !self.gone.contains(agent));
        here.map(|(agent, name)| (*agent, name))
    }
}

/// To whom something is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum To {
    /// To the primary agent.
    Primary,
    /// To one agent, by name.
    One(String),
    /// To all of them.
    All,
}

impl To {
    /// Reads whom a name stands for.
    pub(crate) fn named(name: &str) -> Self {
        match name {
            EVERYONE => Self::All,
            name => Self::One(name.to_owned()),
        }
    }

    /// Reads whom a message is for, and what it says: `@name …`, `@all …`. `@@` stands for `@`.
    pub(crate) fn read(line: &str) -> (Self, &str) {
        let Some(rest) = line.trim_start().strip_prefix('@') else { return (Self::Primary, line) };
        if rest.starts_with('@') {
            return (Self::Primary, rest);
        }
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let (name, text) = rest.split_at(end);
        let name = name.trim_end_matches([':', ',']);
        if name.is_empty() { (Self::Primary, line) } else { (Self::named(name), text.trim()) }
    }
}

/// Why a message could not be said.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unheard {
    /// Nobody has this name.
    #[error("there is no agent named {name:?}; {hint}")]
    Nobody { name: String, hint: String },
    /// It says nothing.
    #[error("there is nothing in the message")]
    Blank,
}

impl Unheard {
    /// Nobody has this name; these are there.
    pub(crate) fn nobody(name: &str, there: &[&str]) -> Self {
        let hint = match nearest(name, there.iter().copied()) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("there are: {}", there.join(", ")),
        };
        Self::Nobody { name: name.to_owned(), hint }
    }
}

/// Who is meant by a message to all agents.
pub(crate) const EVERYONE: &str = "all";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_says_whom_it_is_for() {
        let one = |name: &str| To::One(name.to_owned());
        for (line, to, text) in [
            ("hello", To::Primary, "hello"),
            ("@ada add 2 and 3", one("ada"), "add 2 and 3"),
            ("  @ada:  hello ", one("ada"), "hello"),
            ("@all hello", To::All, "hello"),
            ("@@home", To::Primary, "@home"),
            ("@ada", one("ada"), ""),
            ("@ home", To::Primary, "@ home"),
            ("mail me @ home", To::Primary, "mail me @ home"),
        ] {
            assert_eq!(To::read(line), (to, text), "{line}");
        }
    }
}
