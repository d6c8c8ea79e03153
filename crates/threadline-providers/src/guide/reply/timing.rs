//! Replies about waits and timers.

use serde_json::Value;

use super::{WAIT, Writing};
use crate::guide::told::listed;
use crate::guide::wish::{Alarm, Moment, Timers, TimingWish};

const SET: &str = "set_timer";
const CLEAR: &str = "clear_timer";

impl Writing<'_> {
    /// Does what is wanted of time.
    pub(super) fn act_on_time(&mut self, wish: &TimingWish) {
        match wish {
            TimingWish::Wait(moment) => self.call(WAIT, &[when(moment, "until")]),
            TimingWish::Set(alarm) => self.set_timer(alarm),
            TimingWish::Clear(timers) => self.clear_timers(timers),
            TimingWish::List | TimingWish::Due(_) => {}
        }
    }

    fn set_timer(&mut self, alarm: &Alarm) {
        let first = alarm.first.as_ref().map(|moment| when(moment, "at"));
        let every = alarm.every.map(|seconds| ("every_seconds", seconds.into()));
        let text = ("text", Value::from(alarm.words()));
        self.call(SET, &first.into_iter().chain(every).chain([text]).collect::<Vec<_>>());
    }

    fn clear_timers(&mut self, timers: &Timers) {
        let shown = || self.scene.timers.iter().filter_map(|line| number(line)).collect::<Vec<_>>();
        let numbers = match timers {
            Timers::Numbers(numbers) => numbers.clone(),
            Timers::Only | Timers::All => shown(),
        };
        match (timers, &*numbers) {
            (_, []) => self.say("I see no timer on my screen: say its number.".to_owned()),
            (Timers::Only, [_, _, ..]) => {
                let timers = listed(&self.scene.timers);
                self.say(format!("Which of these timers do you mean?\n\n{timers}"));
            }
            (_, numbers) => {
                for number in numbers {
                    self.call(CLEAR, &[("timer", (*number).into())]);
                }
            }
        }
    }

    /// Tells which timers are set, or that a time has come.
    pub(super) fn tell_time(&mut self, wish: &TimingWish) {
        match wish {
            TimingWish::List => {
                self.say(match (&*self.scene.timers, self.scene.clock) {
                    ([], None) => "I see no clock on my screen, so I cannot tell.".to_owned(),
                    ([], Some(_)) => "No timer is set.".to_owned(),
                    (timers, _) => format!("These timers are set:\n\n{}", listed(timers)),
                });
            }
            TimingWish::Due(what) if what.is_empty() => self.say("It is time.".to_owned()),
            TimingWish::Due(what) => self.say(format!("It is time: {what}")),
            TimingWish::Wait(_) | TimingWish::Set(_) | TimingWish::Clear(_) => {}
        }
    }
}

/// A moment as an argument.
fn when(moment: &Moment, at: &'static str) -> (&'static str, Value) {
    match moment {
        Moment::In(seconds) => ("seconds", (*seconds).into()),
        Moment::At(time) => (at, time.as_str().into()),
    }
}

/// The number in the line of a timer: `timer 12, at …`.
fn number(line: &str) -> Option<u64> {
    line.strip_prefix("timer ")?.split([',', ':', ' ']).next()?.parse().ok()
}
