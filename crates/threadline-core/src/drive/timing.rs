//! Waiting and waking: timers that agents set, and what becomes of them.
//!
//! All of it is recorded, not run. A `wait` ends when its time has come or something is said to
//! the agent; a timer that is nobody's wait becomes an input when its agent rests, once however
//! often it was missed.

use std::sync::Arc;

use serde::Deserialize;

use super::Driver;
use super::place::{Beside, Sheet};
use super::planted::planted;
use crate::clock::Timestamp;
use crate::history::fact::{
    Input, Note, Sender, Status, TimerCleared, TimerSet, ToolFinished, Verdict,
};
use crate::history::state::Timer;
use crate::id::{AgentId, CallId, Seq};
use crate::tool::{Handling, ToolSpec, Validated};

/// Waits within a turn.
pub const WAIT: &str = "wait";
/// Has the agent woken later, once or again and again.
pub const SET_TIMER: &str = "set_timer";
/// Takes a timer back.
pub const CLEAR_TIMER: &str = "clear_timer";

/// What the tools are.
pub(super) fn specs() -> [ToolSpec; 3] {
    let spec = |name: &str, description: &str, schema: &str| ToolSpec {
        name: name.into(),
        description: description.into(),
        schema: schema.into(),
        strict: false,
        server: None,
        verdict: Verdict::Allow,
        handling: Handling::Recorded,
    };
    [
        spec(
            WAIT,
            "Waits until a time, or for some seconds, and then goes on with this turn. A message \
             ends it early. Give either until or seconds.",
            r#"{"type":"object","properties":{"until":{"description":"the time to wait for, such as 2026-11-16T09:30:00Z","type":"string","format":"date-time"},"seconds":{"description":"how long to wait","type":"integer","minimum":1}}}"#,
        ),
        spec(
            SET_TIMER,
            "Has you woken later with a text of your own, once or again and again, also when \
             nobody says anything. Give either at or seconds; every_seconds repeats it until \
             clear_timer.",
            r#"{"type":"object","properties":{"text":{"description":"what you will be told then","type":"string","minLength":1},"at":{"description":"when, such as 2026-11-16T09:30:00Z","type":"string","format":"date-time"},"seconds":{"description":"in how many seconds","type":"integer","minimum":1},"every_seconds":{"description":"after how many seconds again, and again","type":"integer","minimum":1}},"required":["text"]}"#,
        ),
        spec(
            CLEAR_TIMER,
            "Takes back a timer that you set.",
            r#"{"type":"object","properties":{"timer":{"description":"its number, as set_timer told it","type":"integer","minimum":1}},"required":["timer"]}"#,
        ),
    ]
}

#[derive(Deserialize)]
struct Wait {
    until: Option<Timestamp>,
    seconds: Option<u64>,
}

#[derive(Deserialize)]
struct Set {
    text: Arc<str>,
    at: Option<Timestamp>,
    seconds: Option<u64>,
    every_seconds: Option<u64>,
}

#[derive(Deserialize)]
struct Clear {
    timer: Seq,
}

/// The moment that is meant by a time or by a number of seconds from now.
fn moment(
    now: Timestamp,
    at: Option<Timestamp>,
    seconds: Option<u64>,
    names: &str,
) -> Result<Timestamp, String> {
    match (at, seconds) {
        (Some(at), None) => Ok(at),
        (None, Some(seconds)) => Ok(now.plus_millis(seconds.saturating_mul(1000))),
        (Some(_), Some(_)) => Err(format!("give either {names}, not both")),
        (None, None) => Err(format!("give {names}")),
    }
}

fn read<'a, T: Deserialize<'a>>(arguments: &'a Validated) -> Result<T, String> {
    serde_json::from_str(&arguments.text)
        .map_err(|error| format!("the arguments do not fit: {error}"))
}

impl Driver {
    /// Records a call to one of the tools for time.
    pub(super) fn call_for_time(
        &self,
        sheet: &mut Sheet<'_>,
        agent: AgentId,
        id: CallId,
        tool: &str,
        arguments: &Validated,
    ) {
        let done = match tool {
            WAIT => self.wait(sheet, agent, id, arguments),
            SET_TIMER => self.set_timer(sheet, agent, id, arguments),
            _ => self.clear_timer(sheet, agent, id, arguments),
        };
        if let Err(why) = done {
            self.finish(sheet, agent, id, Status::Failed, &why);
        }
    }

    fn wait(
        &self,
        sheet: &mut Sheet<'_>,
        agent: AgentId,
        id: CallId,
        arguments: &Validated,
    ) -> Result<(), String> {
        let Wait { until, seconds } = read(arguments)?;
        let when = moment(sheet.at, until, seconds, "until or seconds")?;
        if when <= sheet.at {
            self.finish(sheet, agent, id, Status::Success, "that time has passed");
            return Ok(());
        }
        let before = sheet.mark();
        let set = TimerSet { when, every_ms: None, call: Some(id), text: Arc::default() };
        if !sheet.place_for(agent, set, id) {
            self.not_whole(sheet, before, agent, id, "not waited: there are too many timers");
        }
        Ok(())
    }

    fn set_timer(
        &self,
        sheet: &mut Sheet<'_>,
        agent: AgentId,
        id: CallId,
        arguments: &Validated,
    ) -> Result<(), String> {
        let Set { text, at, seconds, every_seconds } = read(arguments)?;
        let (seconds, every) = (seconds.or(every_seconds.filter(|_| at.is_none())), every_seconds);
        let when = moment(sheet.at, at, seconds, "at or seconds")?;
        let every_ms = every.map(|seconds| seconds.saturating_mul(1000));
        let before = sheet.mark();
        let set = TimerSet { when, every_ms, call: None, text };
        let again = every.map_or_else(String::new, |s| format!(", then every {s} seconds"));
        let placed = sheet.place(agent, set, Beside::cause(id.output)).is_ok_and(|timer| {
            let told = format!("timer {timer} wakes you at {when}{again}");
            self.place_told(sheet, agent, id, &told, arguments)
        });
        if !placed {
            self.not_whole(sheet, before, agent, id, "not set: there are too many timers");
        }
        Ok(())
    }

    fn clear_timer(
        &self,
        sheet: &mut Sheet<'_>,
        agent: AgentId,
        id: CallId,
        arguments: &Validated,
    ) -> Result<(), String> {
        let Clear { timer } = read(arguments)?;
        let timers = &sheet.draft.history().state().timers;
        // A wait is ended, not taken back: its call would never end.
        let is_own = |known: &Timer| known.agent == agent && known.set.call.is_none();
        if !timers.get(&timer).is_some_and(is_own) {
            let own = timers.iter().filter(|(_, known)| is_own(known));
            let own: Vec<String> = own.map(|(seq, _)| seq.to_string()).collect();
            let own = if own.is_empty() { "none".to_owned() } else { own.join(", ") };
            return Err(format!("you have no timer {timer}; there are: {own}"));
        }
        let before = sheet.mark();
        let placed = (planted!(ClearNothing) || sheet.place_for(agent, TimerCleared { timer }, id))
            && self.place_told(sheet, agent, id, "the timer is taken back", arguments);
        if !placed {
            self.not_whole(sheet, before, agent, id, "the timer could not be taken back");
        }
        Ok(())
    }

    /// Ends a call well, in our own words.
    pub(super) fn place_told(
        &self,
        sheet: &mut Sheet<'_>,
        agent: AgentId,
        id: CallId,
        told: &str,
        arguments: &Validated,
    ) -> bool {
        let Some(written) = self.texts_in(sheet, id) else { return false };
        let finished = ToolFinished {
            warnings: arguments.warnings.clone(),
            ..written.finished(id, Status::Success, told)
        };
        Self::place_finished(sheet, agent, finished, None)
    }

    /// Fires timers whose time has come.
    pub(super) fn place_timers(&self, sheet: &mut Sheet<'_>) {
        let timers = sheet.draft.history().state().timers.iter();
        let timers = timers.filter(|(_, timer)| timer.set.when <= sheet.at);
        let timers: Vec<(Seq, Timer)> = timers.map(|(seq, timer)| (*seq, timer.clone())).collect();
        for (set, timer) in timers {
            if let Some(call) = timer.set.call {
                self.finish(sheet, timer.agent, call, Status::Success, "the time has come");
                continue;
            }
            if sheet.draft.history().state().alone >= self.setting.limits.alone {
                self.give_timer_up(sheet, set, timer.agent);
                continue;
            }
            let text = if timer.set.text.trim().is_empty() {
                "the time has come".into()
            } else {
                Arc::clone(&timer.set.text)
            };
            if self.is_free(sheet.draft.history(), timer.agent) {
                let input = Input { from: Sender::Timer { set }, ..Input::from_person(text) };
                let every = timer.set.every_ms.filter(|_| planted!(FireEachMissed));
                let missed = every.map_or(0, |ms| sheet.at.millis_since(timer.set.when) / ms);
                for _ in 0..missed.min(3) {
                    drop(sheet.place(timer.agent, input.clone(), Beside::cause(set)));
                }
                drop(sheet.place(timer.agent, input, Beside::cause(set)));
            }
        }
    }

    /// An agent that has gone on by itself for long enough is not woken any more.
    fn give_timer_up(&self, sheet: &mut Sheet<'_>, timer: Seq, agent: AgentId) {
        let before = sheet.mark();
        let text = format!(
            "timer {timer} is taken back: {} turns went by without a person; say something, and \
             the agent can set it again",
            self.setting.limits.alone
        );
        let note = Note { category: "alone".into(), text: text.into() };
        let placed = sheet.place(agent, TimerCleared { timer }, Beside::cause(timer)).is_ok()
            && sheet.place(agent, note, Beside::cause(timer)).is_ok();
        if !placed {
            sheet.back_to(before);
        }
    }

    /// Ends an agent's waits: something was said to it.
    pub(super) fn end_waits(&self, sheet: &mut Sheet<'_>, agent: AgentId) {
        let Some(state) = sheet.draft.history().agent(agent) else { return };
        let waits = state.open_calls().filter(|(_, call)| call.finished.is_none());
        let waits = waits.filter(|(_, call)| call.timer.is_some());
        for id in waits.map(|(id, _)| id).collect::<Vec<_>>() {
            self.finish(sheet, agent, id, Status::Success, "ended early: a message came");
        }
    }
}
