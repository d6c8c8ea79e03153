//! What lines may leave out because earlier lines said it.

use std::collections::BTreeMap;
use std::sync::Arc;

use threadline_core::clock::Timestamp;
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::{Digest, Fact, Invocation};
use threadline_core::id::{AgentId, CallId, Seq};

/// What was said so far, rewound or not: reading and writing take the same defaults from it.
#[derive(Clone, Debug, Default)]
pub(super) struct Tracker {
    /// The moment it is.
    pub(super) now: Timestamp,
    /// The last entry.
    pub(super) head: Seq,
    names: BTreeMap<AgentId, Arc<str>>,
    ids: BTreeMap<Arc<str>, AgentId>,
    primary: Option<AgentId>,
    asked: BTreeMap<AgentId, (Seq, Invocation)>,
    outputs: BTreeMap<Seq, (AgentId, Vec<Arc<str>>)>,
    last_output: BTreeMap<AgentId, Seq>,
    ended: BTreeMap<AgentId, Seq>,
    starts: BTreeMap<CallId, u32>,
    finishes: BTreeMap<CallId, Seq>,
    questions: BTreeMap<CallId, (Seq, Digest)>,
}

/// Words that begin lines and are therefore not used as names.
const RESERVED: &[&str] = &[
    "user",
    "system",
    "timer",
    "rewind",
    "fork",
    "pin",
    "unpin",
    "note",
    "policy",
    "described",
    "moved",
    "workspace",
    "authority",
    "copy",
];

impl Tracker {
    /// Nothing was said, and it is a moment.
    pub(super) fn at(now: Timestamp) -> Self {
        Self { now, ..Self::default() }
    }

    /// Takes note of an entry.
    pub(super) fn note(&mut self, entry: &Entry) {
        let (seq, agent) = (entry.seq, entry.agent);
        (self.head, self.now) = (seq, entry.at);
        match &entry.fact {
            Fact::AgentJoined(joined) => {
                // A name that was given up is free.
                self.ids.retain(|_, id| *id != agent);
                self.ids.insert(Arc::clone(&joined.name), agent);
                self.names.insert(agent, Arc::clone(&joined.name));
                if joined.primary || self.primary.is_none() {
                    self.primary = Some(agent);
                }
            }
            Fact::InvocationStarted(started) => {
                self.asked.insert(agent, (seq, started.invocation.clone()));
            }
            Fact::Output(output) => {
                let calls = output.calls().map(|call| Arc::clone(&call.name)).collect();
                self.outputs.insert(seq, (agent, calls));
                self.last_output.insert(agent, seq);
                self.ended.insert(agent, seq);
            }
            Fact::TurnEnded(_) => {
                self.ended.insert(agent, seq);
            }
            Fact::ToolStarted(started) => {
                self.starts.insert(started.call, started.attempt);
            }
            Fact::ToolFinished(finished) => {
                self.finishes.insert(finished.call, seq);
            }
            Fact::ApprovalAsked(asked) => {
                self.questions.insert(asked.call, (seq, asked.digest));
            }
            Fact::AgentLeft(_)
            | Fact::InstructionSet(_)
            | Fact::Input(_)
            | Fact::ToolResults(_)
            | Fact::InvocationFailed(_)
            | Fact::ApprovalGiven(_)
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
            | Fact::Note(_)
            | Fact::Unrecognised(_) => {}
        }
    }

    /// How an agent is written.
    pub(super) fn name(&self, id: AgentId) -> String {
        match self.names.get(&id) {
            Some(name) if is_name(name) && self.ids.get(name) == Some(&id) => (**name).to_owned(),
            Some(_) | None => format!("#{id}"),
        }
    }

    /// The agent that is written so.
    pub(super) fn agent(&self, written: &str) -> Result<AgentId, String> {
        if let Some(id) = written.strip_prefix('#') {
            return id.parse().map(AgentId).map_err(|_| format!("{written} is no agent's id"));
        }
        let known = self.ids.get(written).copied();
        known
            .ok_or_else(|| format!("no agent {written} has joined; write #ID for one that has not"))
    }

    /// The agent that joins under a name: the one that has it, or the next.
    pub(super) fn joining(&self, name: &str) -> AgentId {
        let next = || AgentId(self.names.keys().last().map_or(1, |last| last.0.saturating_add(1)));
        self.ids.get(name).copied().unwrap_or_else(next)
    }

    /// The agent that a person speaks to.
    pub(super) fn primary(&self) -> AgentId {
        self.primary.unwrap_or(AgentId::FIRST)
    }

    /// The model that an agent's invocation asked last, and the entry.
    pub(super) fn asked(&self, agent: AgentId) -> Option<&(Seq, Invocation)> {
        self.asked.get(&agent)
    }

    /// The thread of a call.
    pub(super) fn thread(&self, call: CallId) -> AgentId {
        self.outputs.get(&call.output).map_or_else(|| self.primary(), |(agent, _)| *agent)
    }

    /// The tool of a call.
    pub(super) fn tool(&self, call: CallId) -> Option<&Arc<str>> {
        let index = usize::try_from(call.index).ok()?;
        self.outputs.get(&call.output)?.1.get(index)
    }

    /// An agent's newest output, and the entries that finish its calls as far as they are.
    pub(super) fn results(&self, agent: AgentId) -> (Seq, Vec<Seq>) {
        let output = self.last_output.get(&agent).copied().unwrap_or_default();
        let calls = self.outputs.get(&output).map_or(0, |(_, calls)| calls.len());
        let calls = (0..u32::try_from(calls).unwrap_or(0)).map(|nth| CallId::new(output, nth));
        (output, calls.filter_map(|call| self.finishes.get(&call).copied()).collect())
    }

    /// Which attempt the next start of a call is.
    pub(super) fn attempt(&self, call: CallId) -> u32 {
        self.starts.get(&call).map_or(1, |last| last.saturating_add(1))
    }

    /// The entry that ended an agent's newest turn, if it has ended.
    pub(super) fn ended(&self, agent: AgentId) -> Seq {
        self.ended.get(&agent).copied().unwrap_or_default()
    }

    /// The question about a call: the entry, and the digest of what was shown.
    pub(super) fn question(&self, call: CallId) -> Option<(Seq, Digest)> {
        self.questions.get(&call).copied()
    }
}

/// Whether a word can stand for an agent.
pub(super) fn is_name(word: &str) -> bool {
    let usual = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    word.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && word.chars().all(usual)
        && !RESERVED.contains(&word)
}
