//! The clock: what time it was when the screen was made, and which timers the agent has set.
//!
//! It has no state and no tools. The time is that of the entry to which the screen is attached,
//! and the timers are those of the history there, so the same history shows the same screens,
//! whenever it is read.

use std::fmt::Write as _;

use threadline_core::clock::Timestamp;
use threadline_core::sanitise;
use threadline_core::tool::ToolSpec;
use threadline_core::widget::{
    Change, ChangeRefused, Fragment, Refusal, Reply, Scope, StateUnreadable, TimerView, View,
    Widget, WidgetCall, WidgetState,
};

use super::answer::Unfit;
use crate::text::{counted, one_line, shortened};

/// The widget's name, in records and snapshots.
pub const NAME: &str = "clock";
/// The version of its encoded state, which is empty.
const STATE_VERSION: u32 = 1;
/// How many timers are shown: those that fire next.
const TIMERS_SHOWN: usize = 8;
/// How much of a timer's text is shown.
const TEXT_CAP_BYTES: usize = 120;

/// The clock: the time in UTC, to the minute, the day of the week, and the agent's timers.
///
/// ```
/// use threadline_core::id::AgentId;
/// use threadline_core::widget::{View, Widget as _};
/// use threadline_tools::widgets::clock::Clock;
///
/// let at = "2026-11-16T10:20:59Z".parse().unwrap();
/// let (agents, timers) = (&[], &[]);
/// let view = View { at, agent: AgentId::FIRST, agents, timers, messages: 0, cap_bytes: 4096 };
/// let shown = Clock::new().render(&view).unwrap();
/// assert_eq!(shown.text, "## Clock\n\n2026-11-16 10:20 UTC, Monday");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock;

impl Clock {
    /// A clock.
    pub const fn new() -> Self {
        Self
    }
}

impl Widget for Clock {
    fn name(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &'static str {
        "the time, to the minute, and the agent's timers"
    }

    fn scope(&self) -> Scope {
        Scope::Conversation
    }

    fn tools(&self) -> Vec<ToolSpec> {
        Vec::new()
    }

    fn call(&self, call: &WidgetCall<'_>) -> Result<Reply, Refusal> {
        let message = format!("the clock has no tool {:?}", call.tool);
        Err(Unfit::new("tool_unknown", message).refusal("clock", "none"))
    }

    fn apply(&mut self, _change: &Change<'_>) -> Result<(), ChangeRefused> {
        let message = "the clock takes no changes".to_owned();
        Err(ChangeRefused { widget: NAME.into(), message })
    }

    fn render(&self, view: &View<'_>) -> Option<Fragment> {
        let text = format!("## Clock\n\n{}{}", minute(view.at)?, timers(view.timers));
        Some(Fragment { text, rest: None })
    }

    fn encode(&self) -> WidgetState {
        WidgetState { version: STATE_VERSION, bytes: Vec::new() }
    }

    fn decode(&mut self, state: &WidgetState) -> Result<(), StateUnreadable> {
        match state {
            WidgetState { version: STATE_VERSION, bytes } if bytes.is_empty() => Ok(()),
            WidgetState { version, .. } => {
                Err(StateUnreadable { widget: NAME.into(), version: *version })
            }
        }
    }

    fn copy(&self) -> Box<dyn Widget> {
        Box::new(*self)
    }
}

/// The timers, those that fire next first; nothing if there are none.
fn timers(timers: &[TimerView<'_>]) -> String {
    let mut next = timers.iter().collect::<Vec<_>>();
    next.sort_by_key(|timer| (timer.when, timer.number));
    let mut told = String::new();
    for timer in next.iter().take(TIMERS_SHOWN) {
        let head = if told.is_empty() { "\n\nYour timers:\n" } else { "\n" };
        let _ = write!(told, "{head}- {}", line(timer));
    }
    let more = next.len().saturating_sub(TIMERS_SHOWN);
    if more > 0 {
        let _ = write!(told, "\n[{} later]", counted(more, "more timer"));
    }
    told
}

/// A timer in one line: `timer 12, at 2026-11-16 10:25:30 UTC, then every 30 seconds: drink tea`.
fn line(timer: &TimerView<'_>) -> String {
    let TimerView { number, when, every_ms, text } = *timer;
    let moment = jiff::Timestamp::from_microsecond(when.micros());
    let when = moment.map_or_else(
        |_| when.to_string(),
        |moment| moment.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
    );
    let every = every_ms.map_or_else(String::new, |ms| match ms % 1000 {
        0 => format!(", then every {}", seconds(ms / 1000)),
        _ => format!(", then every {ms} milliseconds"),
    });
    // What an agent wrote must not look like another line of the screen.
    let text = one_line(&sanitise::line(text));
    let colon = if text.is_empty() { "" } else { ": " };
    format!("timer {number}, at {when}{every}{colon}{}", shortened(&text, TEXT_CAP_BYTES))
}

fn seconds(seconds: u64) -> String {
    if seconds == 1 { "second".to_owned() } else { format!("{seconds} seconds") }
}

/// A moment to the minute; none if no calendar has it.
fn minute(at: Timestamp) -> Option<String> {
    let moment = jiff::Timestamp::from_microsecond(at.micros()).ok()?;
    Some(moment.strftime("%Y-%m-%d %H:%M UTC, %A").to_string())
}

#[cfg(test)]
mod tests {
    use threadline_core::id::{AgentId, CallId, Seq};

    use super::*;

    fn shown(at: &str) -> String {
        let at = at.parse().unwrap();
        shown_with(at, &[])
    }

    fn shown_with(at: Timestamp, timers: &[TimerView<'_>]) -> String {
        let (agent, agents) = (AgentId(1), &[]);
        let view = View { at, agent, agents, timers, messages: 0, cap_bytes: 4096 };
        Clock::new().render(&view).unwrap().text
    }

    fn timer(
        number: u64,
        when: &str,
        every_ms: Option<u64>,
        text: &'static str,
    ) -> TimerView<'static> {
        TimerView { number: Seq(number), when: when.parse().unwrap(), every_ms, text }
    }

    #[test]
    fn it_shows_the_timers_that_fire_next() {
        let at = "2026-11-16T10:20:30Z".parse().unwrap();
        let timers = [
            timer(7, "2026-11-17T00:00:00Z", Some(1000), "tomorrow"),
            timer(9, "2026-11-16T10:25:30Z", Some(30_000), "drink\ntea"),
            timer(12, "2026-11-16T10:25:30Z", Some(1500), ""),
        ];
        assert_eq!(
            shown_with(at, &timers),
            "## Clock\n\n2026-11-16 10:20 UTC, Monday\n\nYour timers:\n\
             - timer 9, at 2026-11-16 10:25:30 UTC, then every 30 seconds: drink tea\n\
             - timer 12, at 2026-11-16 10:25:30 UTC, then every 1500 milliseconds\n\
             - timer 7, at 2026-11-17 00:00:00 UTC, then every second: tomorrow"
        );
    }

    #[test]
    fn timers_stay_lines_of_their_own_and_few() {
        let at = Timestamp::default();
        let text = "x\u{1b}[2J\n\n## Notebook\n\u{202e}".repeat(1000).leak();
        let timers = (1..=1024).map(|number| timer(number, "1970-01-01T00:00:00Z", None, text));
        let shown = shown_with(at, &timers.collect::<Vec<_>>());
        assert!(shown.len() < 4096, "{}", shown.len());
        assert_eq!(shown.lines().filter(|line| line.starts_with('#')).count(), 1);
        assert_eq!(shown.lines().filter(|line| line.starts_with("- timer ")).count(), 8);
        assert!(shown.ends_with("\n[1016 more timers later]"), "{shown}");
        assert!(!shown.contains(['\u{1b}', '\u{202e}']));
        let far = TimerView {
            when: Timestamp::from_micros(i64::MAX),
            ..timer(1, "1970-01-01T00:00:00Z", None, "")
        };
        assert!(shown_with(at, &[far]).contains("- timer 1, at "));
    }

    #[test]
    fn it_shows_the_minute_that_has_begun() {
        for (at, expected) in [
            ("1970-01-01T00:00:00Z", "1970-01-01 00:00 UTC, Thursday"),
            ("2024-02-29T23:59:59.999999Z", "2024-02-29 23:59 UTC, Thursday"),
            ("2026-11-16T10:20:30+05:30", "2026-11-16 04:50 UTC, Monday"),
            ("1969-12-31T23:59:59Z", "1969-12-31 23:59 UTC, Wednesday"),
            ("0001-01-01T00:00:00Z", "0001-01-01 00:00 UTC, Monday"),
            ("9998-12-31T23:59:59Z", "9998-12-31 23:59 UTC, Thursday"),
        ] {
            assert_eq!(shown(at), format!("## Clock\n\n{expected}"));
        }
    }

    #[test]
    fn it_has_nothing_to_change() {
        let mut clock = Clock::new();
        assert!(clock.tools().is_empty());
        let (by, at) = (AgentId(1), Timestamp::default());
        let call = CallId { output: Seq(1), index: 0 };
        let refused = clock.call(&WidgetCall { tool: "set", arguments: "{}", call, by, at });
        assert!(refused.is_err());
        assert!(clock.apply(&Change { text: "", seq: Seq(1), by, at }).is_err());
        clock.decode(&clock.encode()).unwrap();
        assert!(clock.decode(&WidgetState { version: 2, bytes: Vec::new() }).is_err());
        assert!(clock.decode(&WidgetState { version: 1, bytes: vec![0] }).is_err());
    }
}
