//! The rules of a history, by the names that errors give them.

use std::sync::Arc;

use super::fact::{Money, Status};
use super::metadata::MetadataRefused;
use crate::id::{AgentId, CallId, Seq};

/// An entry that cannot stand where it stands.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("entry {seq} ({kind}): {rule}")]
pub struct BrokenRule {
    /// The entry.
    pub seq: Seq,
    /// The kind of its fact.
    pub kind: String,
    /// The rule it breaks.
    pub rule: Rule,
}

/// A rule, and how it was broken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rule {
    /// Entries are numbered without gaps.
    #[error("entries are dense: expected {expected}")]
    Dense {
        /// The seq that should be here.
        expected: Seq,
    },
    /// A fact belongs to an agent that has joined and not left.
    #[error("agent {0} is not in the conversation")]
    Present(AgentId),
    /// The thread of the conversation has no agent.
    #[error("agent 0 is the conversation itself and cannot join")]
    Reserved,
    /// Some facts concern the conversation, some an agent.
    #[error("this kind of fact belongs to the conversation, agent 0, not to agent {0}")]
    Conversation(AgentId),
    /// An agent has a name of its own.
    #[error("the name {0:?} is empty or taken by another agent")]
    Name(Arc<str>),
    /// There are so many agents, pins, timers, rules and no more.
    #[error("no more than {cap} {what} in one conversation")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// The cap.
        cap: usize,
    },
    /// An input says something.
    #[error("an input has a section that is not blank, or an attachment")]
    EmptyInput,
    /// No input lands between calls and their seal.
    #[error("the calls of output {0} are not sealed: no input lands before they are")]
    Unsealed(Seq),
    /// An output answers something.
    #[error("an output answers an input or sealed results; nothing waits for one")]
    Unasked,
    /// An invocation is asked for something.
    #[error("invocation {0} is not under way")]
    NotInvoking(Seq),
    /// A cost is one that a store can hold.
    #[error("a cost of {} billionths of a dollar cannot be right", .0.0)]
    Cost(Money),
    /// A call is open.
    #[error("call {0} is not open")]
    NotOpen(CallId),
    /// A call is named as its output named it.
    #[error("call {call} is of the tool {expected:?}, not of {found:?}")]
    CallName {
        /// The call.
        call: CallId,
        /// The name the output gave.
        expected: Arc<str>,
        /// The name given here.
        found: Arc<str>,
    },
    /// A call finishes once.
    #[error("call {0} is finished already")]
    Finished(CallId),
    /// A call whose arguments were cut off does not start.
    #[error("call {0} was cut off and cannot start")]
    CutOff(CallId),
    /// What a rewind, fork or copy took back does not start.
    #[error("call {0} was withdrawn by a rewind, fork or copy and cannot start")]
    Withdrawn(CallId),
    /// Attempts are counted.
    #[error("call {call}: expected attempt {expected}")]
    Attempt {
        /// The call.
        call: CallId,
        /// The attempt that should be next.
        expected: u32,
    },
    /// What must run at most once is not started twice.
    #[error("call {0} has an effect that must happen once, and was started already")]
    StartedOnce(CallId),
    /// Files are changed by calls that run.
    #[error("call {0} was not started")]
    NotStarted(CallId),
    /// A status says what happened.
    #[error("call {call} cannot be {status:?}: {why}")]
    WrongStatus {
        /// The call.
        call: CallId,
        /// The status.
        status: Status,
        /// Why not.
        why: &'static str,
    },
    /// Results answer exactly the open calls, in their order.
    #[error("{}", wrong_results(*expected))]
    WrongResults {
        /// The output whose calls are open, if one's are.
        expected: Option<Seq>,
    },
    /// A question is asked once, and answered once, before the call starts.
    #[error("call {0} has no open question, or has one already")]
    Question(CallId),
    /// An agent that is called rests.
    #[error("agent {0} is in the middle of a turn, or is the caller itself")]
    NotResting(AgentId),
    /// A child returns to the call that called it.
    #[error("call {0} did not call that agent")]
    NotCalled(CallId),
    /// A turn ends when it is under way.
    #[error("no turn is under way")]
    NoTurn,
    /// A timer is cleared once.
    #[error("there is no timer {0}")]
    NoTimer(Seq),
    /// What an entry speaks of has happened.
    #[error("there is no entry {0} to speak of")]
    NoEntry(Seq),
    /// A rewind is folded with the state it leads to.
    #[error("a rewind to entry {0} needs the state the history had there")]
    NeedsPast(Seq),
    /// A fork is its child's first own entry.
    #[error("a fork names the entry it follows")]
    Fork,
    /// Metadata keeps its rules.
    #[error(transparent)]
    Metadata(#[from] MetadataRefused),
}

fn wrong_results(expected: Option<Seq>) -> String {
    match expected {
        None => "no output's calls are open to be sealed".to_owned(),
        Some(output) => {
            format!("results answer the calls of output {output}, in their order, each finished")
        }
    }
}
