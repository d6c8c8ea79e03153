//! Where an agent stands, and what it does next: derived from its thread, never stored.

use std::fmt;

use crate::clock::Timestamp;
use crate::history::History;
use crate::history::fact::{Answer, Digest, Effect, ToolResults};
use crate::history::state::{Agent, OpenCall, OpenOutput, Stage};
use crate::id::{AgentId, CallId, Seq};

/// Where an agent stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunState {
    /// Nothing was said yet, or its newest turn has ended.
    WaitingInput,
    /// An input waits for an answer.
    PendingInput,
    /// Calls are not finished.
    WaitingToolResults,
    /// All calls are finished and not sealed.
    ToolResultsReady,
    /// Sealed results wait for an answer.
    PendingToolResults,
    /// Every call that is not finished waits for a person.
    AwaitingApproval,
}

impl RunState {
    /// All states.
    pub const ALL: [Self; 6] = [
        Self::WaitingInput,
        Self::PendingInput,
        Self::WaitingToolResults,
        Self::ToolResultsReady,
        Self::PendingToolResults,
        Self::AwaitingApproval,
    ];

    /// Its name, as logs and documents have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WaitingInput => "WaitingInput",
            Self::PendingInput => "PendingInput",
            Self::WaitingToolResults => "WaitingToolResults",
            Self::ToolResultsReady => "ToolResultsReady",
            Self::PendingToolResults => "PendingToolResults",
            Self::AwaitingApproval => "AwaitingApproval",
        }
    }
}

impl fmt::Display for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What an agent does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// It takes the next input.
    Rest,
    /// A model is asked.
    Invoke,
    /// Its calls go on, each by its own next move.
    Calls(Vec<(CallId, CallStep)>),
    /// Its finished calls are sealed.
    Seal(ToolResults),
}

/// What becomes next of a call that is not finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallStep {
    /// It was cut off and cannot run.
    CutOff,
    /// It begins, if it may.
    Begin,
    /// A person is asked about it.
    Asked,
    /// It was allowed: by which entry, with which arguments.
    Allowed {
        /// The entry that gave the answer.
        by: Seq,
        /// Digest of the arguments that were shown.
        digest: Digest,
        /// Until when the answer is good.
        until: Timestamp,
    },
    /// It was declined.
    Denied,
    /// It was started and has no end. Whoever started it may still run it; nobody else may know.
    Started {
        /// Which attempt.
        attempt: u32,
        /// What running it again would do.
        effect: Effect,
    },
    /// It waits for another agent or for a time.
    Waits,
}

/// Where an agent stands. One that is not in the conversation waits for input.
pub fn run_state(history: &History, agent: AgentId) -> RunState {
    let Some(agent) = present(history, agent) else { return RunState::WaitingInput };
    match &agent.stage {
        Stage::Resting => RunState::WaitingInput,
        Stage::Asked => RunState::PendingInput,
        Stage::Sealed { .. } => RunState::PendingToolResults,
        Stage::Calling(open) => {
            let mut unfinished = unfinished(open).peekable();
            if unfinished.peek().is_none() {
                RunState::ToolResultsReady
            } else if unfinished.all(|(_, call)| call_step(call) == CallStep::Asked) {
                RunState::AwaitingApproval
            } else {
                RunState::WaitingToolResults
            }
        }
    }
}

/// What an agent does next, by its history alone.
pub fn next_step(history: &History, agent: AgentId) -> Step {
    match run_state(history, agent) {
        RunState::WaitingInput => Step::Rest,
        RunState::PendingInput | RunState::PendingToolResults => Step::Invoke,
        RunState::WaitingToolResults | RunState::AwaitingApproval | RunState::ToolResultsReady => {
            let Some(agent) = present(history, agent) else { return Step::Rest };
            let Stage::Calling(open) = &agent.stage else { return Step::Rest };
            let results = open.calls.iter().map(|call| call.finished.as_ref().map(|f| f.seq));
            match results.collect() {
                Some(results) => {
                    Step::Seal(ToolResults { output: open.output, results, execute_error: None })
                }
                None => {
                    Step::Calls(unfinished(open).map(|(id, call)| (id, call_step(call))).collect())
                }
            }
        }
    }
}

fn present(history: &History, agent: AgentId) -> Option<&Agent> {
    history.agent(agent).filter(|agent| agent.present)
}

fn unfinished(open: &OpenOutput) -> impl Iterator<Item = (CallId, &OpenCall)> {
    open.calls().filter(|(_, call)| call.finished.is_none())
}

fn call_step(call: &OpenCall) -> CallStep {
    if let Some(started) = call.started {
        return CallStep::Started { attempt: started.attempt, effect: started.effect };
    }
    if call.asks().is_some() || call.timer.is_some() {
        return CallStep::Waits;
    }
    if !call.complete {
        return CallStep::CutOff;
    }
    match call.approval {
        None => CallStep::Begin,
        Some(approval) => match (approval.answer, approval.given) {
            (Some(Answer::Allow), Some(by)) => {
                CallStep::Allowed { by, digest: approval.digest, until: approval.until }
            }
            (Some(_), _) => CallStep::Denied,
            (None, _) => CallStep::Asked,
        },
    }
}
