//! Settling: the final status and result text of a call that has no result.

use super::fact::{Effect, Status};
use super::state::OpenCall;

/// Why a call that has no result is settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// A rewind, a fork or a copy took the conversation back to a point before the result.
    TakenBack,
    /// Its turn was ended: cancelled, at a limit, or without an answer.
    TurnEnded,
    /// The process that ran it stopped.
    ProcessStopped,
}

/// How far a call has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// It was not started.
    Unstarted,
    /// It waits for another agent or for a time.
    Waiting,
    /// It was started, and its tool has this effect.
    Started(Effect),
}

impl Progress {
    /// How far a call has come, by the history and by a start that is recorded elsewhere.
    pub(crate) fn of(call: &OpenCall, started: Option<Effect>) -> Self {
        match started.or(call.started.map(|started| started.effect)) {
            Some(effect) => Self::Started(effect),
            None if call.child.is_some() || call.timer.is_some() => Self::Waiting,
            None => Self::Unstarted,
        }
    }
}

/// The final status of a call and the text of its result.
pub(crate) fn settlement(progress: Progress, cause: Cause) -> (Status, &'static str) {
    let status = match progress {
        Progress::Unstarted | Progress::Waiting => Status::Skipped,
        Progress::Started(Effect::Once) => Status::Unknown,
        Progress::Started(Effect::Read | Effect::Idempotent) => Status::Failed,
    };
    let text = match (progress, cause) {
        (Progress::Waiting, Cause::TakenBack) => {
            "not answered: the conversation was taken back while it waited"
        }
        (Progress::Waiting, Cause::TurnEnded) => "not answered: the turn was ended while it waited",
        (Progress::Waiting, Cause::ProcessStopped) => {
            "not answered: the process stopped while it waited"
        }
        (Progress::Unstarted, Cause::TakenBack) => {
            "not started: the conversation was taken back before it ran"
        }
        (Progress::Unstarted, Cause::TurnEnded) => "not started: the turn was ended before it ran",
        (Progress::Unstarted, Cause::ProcessStopped) => {
            "not started: the process stopped before it ran"
        }
        (Progress::Started(Effect::Once), Cause::TakenBack) => {
            "started, outcome unknown: the conversation was taken back before it answered, and it may have taken effect"
        }
        (Progress::Started(Effect::Once), Cause::TurnEnded) => {
            "started, outcome unknown: the turn was ended before it answered, and it may have taken effect; check before doing it again"
        }
        (Progress::Started(Effect::Once), Cause::ProcessStopped) => {
            "started, outcome unknown: the process stopped before it answered, and it may have taken effect; check before doing it again"
        }
        (Progress::Started(Effect::Read | Effect::Idempotent), Cause::TakenBack) => {
            "no answer: the conversation was taken back while it ran"
        }
        (Progress::Started(Effect::Read | Effect::Idempotent), Cause::TurnEnded) => {
            "no answer: the turn was ended while it ran"
        }
        (Progress::Started(Effect::Read | Effect::Idempotent), Cause::ProcessStopped) => {
            "no answer: the process stopped while it ran"
        }
    };
    (status, text)
}
