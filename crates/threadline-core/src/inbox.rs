//! The inbox: durable items that wait for a conversation.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::history::History;
use crate::history::fact::{
    Address, AgentJoined, AgentLeft, Answer, Approver, Described, Digest, Fact, Input,
    InstructionSet, Pinned, PolicySet, Recap, WidgetChanged, WorkspaceSet, is_default,
};
use crate::id::{AgentId, BroadcastId, CallId, Seq};
use crate::policy;

/// The longest client key.
pub const CLIENT_KEY_CAP_BYTES: usize = 256;

/// The place of an item in its store's inbox: items of a conversation are taken in this order.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct ItemNumber(pub u64);

/// Something that waits for a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// The sender's own key: the same key is taken once.
    pub client_key: Arc<str>,
    /// For which agent; none stands for the primary one, or for the conversation.
    #[serde(default, skip_serializing_if = "is_default")]
    pub to: Option<AgentId>,
    /// Whether it waits for its turn.
    #[serde(default, skip_serializing_if = "is_default")]
    pub mode: Mode,
    /// Not before this moment.
    #[serde(default, skip_serializing_if = "is_default")]
    pub due: Option<Timestamp>,
    /// What it is.
    pub body: Body,
}

impl Item {
    /// What makes two items under one key the same: their body.
    pub fn digest(&self) -> Digest {
        match &self.body {
            Body::Input(input) => input_digest(input),
            body @ (Body::Approval { .. } | Body::Cancel | Body::Command(_)) => digest_of(body),
        }
    }

    /// This item for each of several agents, each under a key of its own that follows from this
    /// one's: whatever stops half way, the same again completes it and repeats nothing.
    ///
    /// An input is the same to all of them, and says so by a common id.
    pub fn to_each(&self, agents: impl IntoIterator<Item = AgentId>) -> Vec<Self> {
        let broadcast = BroadcastId::of_key(&self.client_key);
        let body = match &self.body {
            Body::Input(input) => {
                Body::Input(Input { to: Address::All, broadcast: Some(broadcast), ..input.clone() })
            }
            body @ (Body::Approval { .. } | Body::Cancel | Body::Command(_)) => body.clone(),
        };
        // A key that is too long with the longest of numbers is told by the id instead, whoever is
        // there: the same key must give the same keys.
        let is_short = self.client_key.len() + "@4294967295".len() <= CLIENT_KEY_CAP_BYTES;
        let key = if is_short { self.client_key.to_string() } else { broadcast.to_string() };
        let each = agents.into_iter().map(|agent| Self {
            client_key: format!("{key}@{agent}").into(),
            to: Some(agent),
            body: body.clone(),
            ..self.clone()
        });
        each.collect()
    }
}

/// The digest of an input as a body, so that an input that already is in a history can be known
/// again by the key it came with.
pub fn input_digest(input: &Input) -> Digest {
    digest_of(&Body::Input(Input { client_key: None, ..input.clone() }))
}

fn digest_of(body: &Body) -> Digest {
    Digest::of(&serde_json::to_vec(body).unwrap_or_default())
}

/// When an item goes in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// When the agent rests, one for each turn.
    #[default]
    Queue,
    /// Before the next invocation of the turn that runs.
    Steer,
}

/// What waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Body {
    /// Something to say to an agent.
    Input(Input),
    /// The answer to a question about a call.
    Approval {
        /// The call.
        call: CallId,
        /// Digest of the exact arguments that were shown.
        digest: Digest,
        /// The answer.
        answer: Answer,
        /// Who gave it.
        by: Approver,
    },
    /// Stop the turn.
    Cancel,
    /// Change the conversation.
    Command(Command),
}

/// A change to the conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Go on after an earlier entry.
    Rewind {
        /// The entry.
        to: Seq,
    },
    /// Give an agent its instruction.
    Instruct {
        /// The text.
        text: Arc<str>,
    },
    /// Set a rule.
    SetPolicy(PolicySet),
    /// Change a widget's state.
    ChangeWidget {
        /// The widget.
        widget: Arc<str>,
        /// The change, in the widget's own words.
        change: Arc<str>,
    },
    /// Describe the conversation.
    Describe(Described),
    /// Keep an entry whole, or no longer.
    Pin {
        /// The entry.
        seq: Seq,
        /// Whether it stays whole.
        on: bool,
    },
    /// Have a recap written of all but an agent's newest exchange.
    Recap {
        /// What is to be kept or forgotten, in plain words.
        #[serde(default)]
        hints: Vec<String>,
    },
    /// Take an agent's newest recap back.
    UndoRecap,
    /// Set the folder that the conversation works in.
    SetWorkspace(WorkspaceSet),
    /// Let an agent join.
    Join(AgentJoined),
    /// Let an agent leave.
    Leave,
}

impl Command {
    /// Whether the change moves the head of the conversation to an earlier entry.
    pub const fn rewinds(&self) -> bool {
        match self {
            Self::Rewind { .. } => true,
            Self::Instruct { .. }
            | Self::SetPolicy(_)
            | Self::ChangeWidget { .. }
            | Self::Describe(_)
            | Self::Pin { .. }
            | Self::Recap { .. }
            | Self::UndoRecap
            | Self::SetWorkspace(_)
            | Self::Join(_)
            | Self::Leave => false,
        }
    }

    /// The fact that a change amounts to, and whose thread it belongs to; none for what takes more
    /// than one fact. Why not, in words, if it cannot be done.
    pub fn fact(
        self,
        history: &History,
        agent: Option<AgentId>,
    ) -> Result<Option<(AgentId, Fact)>, String> {
        let conversation = AgentId::CONVERSATION;
        let an_agent = || agent.ok_or_else(|| "there is no agent in it".to_owned());
        Ok(Some(match self {
            Self::Instruct { text } => (an_agent()?, InstructionSet { text }.into()),
            Self::SetPolicy(policy) => {
                policy::check(&policy).map_err(|why| why.to_string())?;
                (conversation, policy.into())
            }
            Self::ChangeWidget { widget, change } => {
                (an_agent()?, WidgetChanged { widget, change, call: None }.into())
            }
            Self::SetWorkspace(workspace) => {
                let agents = history.state().agents.values();
                let mut calls = agents.flat_map(|agent| agent.open_calls());
                if calls.any(|(_, call)| call.started.is_some() && call.finished.is_none()) {
                    return Err("a call is running in the present folder: cancel it first".into());
                }
                (conversation, workspace.into())
            }
            Self::Describe(described) => (conversation, described.into()),
            Self::Pin { seq, on } => (conversation, Pinned { seq, on }.into()),
            Self::Join(joined) => {
                let agents = &history.state().agents;
                let next = agents.keys().next_back().map_or(AgentId::FIRST, |id| AgentId(id.0 + 1));
                // One that left and comes back goes on with its thread.
                let known = history.state().agent_once_named(&joined.name);
                (known.unwrap_or(next), joined.into())
            }
            Self::Leave => (an_agent()?, AgentLeft::default().into()),
            Self::UndoRecap => {
                let agent = an_agent()?;
                let recaps = history.state().recaps.iter().filter(|recap| recap.agent == agent);
                let newest = recaps.max_by_key(|recap| recap.seq);
                let newest = newest.ok_or("there is no recap to take back")?;
                (agent, Recap { from: newest.from, to: newest.to, ..Recap::default() }.into())
            }
            Self::Rewind { .. } | Self::Recap { .. } => return Ok(None),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_to_all_is_one_item_each_and_the_same_when_said_again() {
        let said = Item {
            client_key: "k1".into(),
            to: None,
            mode: Mode::Queue,
            due: None,
            body: Body::Input(Input::from_person("hello")),
        };
        let agents = [AgentId(1), AgentId(3)];
        let each = said.to_each(agents);
        assert_eq!(each, said.to_each(agents));
        let keys: Vec<&str> = each.iter().map(|item| &*item.client_key).collect();
        assert_eq!(keys, ["k1@1", "k1@3"]);
        let ids = each.iter().map(|item| match &item.body {
            Body::Input(input) => (item.to, input.to, input.broadcast),
            body => panic!("not an input: {body:?}"),
        });
        let id = Some(BroadcastId::of_key("k1"));
        let expected = agents.map(|agent| (Some(agent), Address::All, id));
        assert_eq!(ids.collect::<Vec<_>>(), expected);
        assert_ne!(id, Some(BroadcastId::of_key("k2")));
    }

    #[test]
    fn a_long_key_stays_within_the_cap_for_each() {
        for (bytes, readable) in [(245, true), (246, false), (CLIENT_KEY_CAP_BYTES, false)] {
            let said = Item {
                client_key: "k".repeat(bytes).into(),
                to: None,
                mode: Mode::Queue,
                due: None,
                body: Body::Cancel,
            };
            for item in said.to_each([AgentId(1), AgentId(u32::MAX)]) {
                assert!(item.client_key.len() <= CLIENT_KEY_CAP_BYTES);
                assert_eq!(item.client_key.starts_with("kkk"), readable);
            }
        }
    }
}
