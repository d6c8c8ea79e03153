//! Questions about a fact, each answered for every kind.
//!
//! A match here lists all kinds, so that a new kind does not compile before each of these questions
//! has an answer for it. The `as_…` methods only give access to the content of one kind.

use super::{Attachment, Digest, Fact, Input, Output, ToolFinished, ToolStarted, TurnEnded};
use crate::id::Seq;

impl Fact {
    /// The attachments that the fact names, the catalogue of tools included.
    pub fn attachments(&self) -> Vec<Digest> {
        let digests = |attachments: &[Attachment]| attachments.iter().map(|a| a.digest).collect();
        match self {
            Self::Input(input) => digests(&input.attachments),
            Self::ToolFinished(finished) => digests(&finished.attachments),
            Self::InvocationStarted(started) => started.catalogue.into_iter().collect(),
            Self::FileChanged(changed) => changed.content.iter().map(|a| a.digest).collect(),
            Self::AgentJoined(_)
            | Self::AgentLeft(_)
            | Self::InstructionSet(_)
            | Self::Output(_)
            | Self::ToolResults(_)
            | Self::InvocationFailed(_)
            | Self::ToolStarted(_)
            | Self::ApprovalAsked(_)
            | Self::ApprovalGiven(_)
            | Self::PolicySet(_)
            | Self::WidgetChanged(_)
            | Self::AgentCalled(_)
            | Self::AgentReturned(_)
            | Self::TimerSet(_)
            | Self::TimerCleared(_)
            | Self::TurnEnded(_)
            | Self::Recap(_)
            | Self::Pinned(_)
            | Self::Described(_)
            | Self::Rewound(_)
            | Self::Forked(_)
            | Self::Moved(_)
            | Self::WorkspaceSet(_)
            | Self::AuthorityReset(_)
            | Self::Note(_)
            | Self::Unrecognised(_) => Vec::new(),
        }
    }

    /// The entries of the results that the fact seals, in the order of their calls.
    pub fn sealed(&self) -> &[Seq] {
        match self {
            Self::ToolResults(sealed) => &sealed.results,
            Self::AgentJoined(_)
            | Self::AgentLeft(_)
            | Self::InstructionSet(_)
            | Self::Input(_)
            | Self::Output(_)
            | Self::InvocationStarted(_)
            | Self::InvocationFailed(_)
            | Self::ToolStarted(_)
            | Self::ToolFinished(_)
            | Self::ApprovalAsked(_)
            | Self::ApprovalGiven(_)
            | Self::PolicySet(_)
            | Self::WidgetChanged(_)
            | Self::AgentCalled(_)
            | Self::AgentReturned(_)
            | Self::TimerSet(_)
            | Self::TimerCleared(_)
            | Self::TurnEnded(_)
            | Self::Recap(_)
            | Self::Pinned(_)
            | Self::Described(_)
            | Self::Rewound(_)
            | Self::Forked(_)
            | Self::Moved(_)
            | Self::WorkspaceSet(_)
            | Self::FileChanged(_)
            | Self::AuthorityReset(_)
            | Self::Note(_)
            | Self::Unrecognised(_) => &[],
        }
    }

    /// The entry that the path goes on from, if the fact moves the head of the conversation.
    pub fn rewinds_to(&self) -> Option<Seq> {
        match self {
            Self::Rewound(rewound) => Some(rewound.to),
            Self::AgentJoined(_)
            | Self::AgentLeft(_)
            | Self::InstructionSet(_)
            | Self::Input(_)
            | Self::Output(_)
            | Self::ToolResults(_)
            | Self::InvocationStarted(_)
            | Self::InvocationFailed(_)
            | Self::ToolStarted(_)
            | Self::ToolFinished(_)
            | Self::ApprovalAsked(_)
            | Self::ApprovalGiven(_)
            | Self::PolicySet(_)
            | Self::WidgetChanged(_)
            | Self::AgentCalled(_)
            | Self::AgentReturned(_)
            | Self::TimerSet(_)
            | Self::TimerCleared(_)
            | Self::TurnEnded(_)
            | Self::Recap(_)
            | Self::Pinned(_)
            | Self::Described(_)
            | Self::Forked(_)
            | Self::Moved(_)
            | Self::WorkspaceSet(_)
            | Self::FileChanged(_)
            | Self::AuthorityReset(_)
            | Self::Note(_)
            | Self::Unrecognised(_) => None,
        }
    }

    /// Whether nothing more may be appended to the conversation after the fact.
    pub fn closes_conversation(&self) -> bool {
        match self {
            Self::Moved(_) => true,
            Self::AgentJoined(_)
            | Self::AgentLeft(_)
            | Self::InstructionSet(_)
            | Self::Input(_)
            | Self::Output(_)
            | Self::ToolResults(_)
            | Self::InvocationStarted(_)
            | Self::InvocationFailed(_)
            | Self::ToolStarted(_)
            | Self::ToolFinished(_)
            | Self::ApprovalAsked(_)
            | Self::ApprovalGiven(_)
            | Self::PolicySet(_)
            | Self::WidgetChanged(_)
            | Self::AgentCalled(_)
            | Self::AgentReturned(_)
            | Self::TimerSet(_)
            | Self::TimerCleared(_)
            | Self::TurnEnded(_)
            | Self::Recap(_)
            | Self::Pinned(_)
            | Self::Described(_)
            | Self::Rewound(_)
            | Self::Forked(_)
            | Self::WorkspaceSet(_)
            | Self::FileChanged(_)
            | Self::AuthorityReset(_)
            | Self::Note(_)
            | Self::Unrecognised(_) => false,
        }
    }

    /// Whether a turn can end with the fact: an output without calls, or the end of a turn.
    ///
    /// Only the state of the agent says whether an output without calls does end its turn: after a
    /// pause, or after the first empty answer to results, the model is invoked again.
    pub fn can_end_turn(&self) -> bool {
        match self {
            Self::Output(output) => output.calls().next().is_none(),
            Self::TurnEnded(_) => true,
            Self::AgentJoined(_)
            | Self::AgentLeft(_)
            | Self::InstructionSet(_)
            | Self::Input(_)
            | Self::ToolResults(_)
            | Self::InvocationStarted(_)
            | Self::InvocationFailed(_)
            | Self::ToolStarted(_)
            | Self::ToolFinished(_)
            | Self::ApprovalAsked(_)
            | Self::ApprovalGiven(_)
            | Self::PolicySet(_)
            | Self::WidgetChanged(_)
            | Self::AgentCalled(_)
            | Self::AgentReturned(_)
            | Self::TimerSet(_)
            | Self::TimerCleared(_)
            | Self::Recap(_)
            | Self::Pinned(_)
            | Self::Described(_)
            | Self::Rewound(_)
            | Self::Forked(_)
            | Self::Moved(_)
            | Self::WorkspaceSet(_)
            | Self::FileChanged(_)
            | Self::AuthorityReset(_)
            | Self::Note(_)
            | Self::Unrecognised(_) => false,
        }
    }

    /// The input, if the fact is one.
    pub fn as_input(&self) -> Option<&Input> {
        if let Self::Input(input) = self { Some(input) } else { None }
    }

    /// The output, if the fact is one.
    pub fn as_output(&self) -> Option<&Output> {
        if let Self::Output(output) = self { Some(output) } else { None }
    }

    /// The start of a call, if the fact is one.
    pub fn as_tool_started(&self) -> Option<&ToolStarted> {
        if let Self::ToolStarted(started) = self { Some(started) } else { None }
    }

    /// The result of a call, if the fact is one.
    pub fn as_tool_finished(&self) -> Option<&ToolFinished> {
        if let Self::ToolFinished(finished) = self { Some(finished) } else { None }
    }

    /// The end of a turn without a final answer, if the fact is one.
    pub fn as_turn_ended(&self) -> Option<&TurnEnded> {
        if let Self::TurnEnded(ended) = self { Some(ended) } else { None }
    }
}
