//! The clock: what time it was when the screen was made.
//!
//! It has no state and no tools. The time is that of the entry to which the screen is attached,
//! so the same history shows the same screens, whenever it is read.

use threadline_core::clock::Timestamp;
use threadline_core::tool::ToolSpec;
use threadline_core::widget::{
    Change, ChangeRefused, Fragment, Refusal, Reply, Scope, StateUnreadable, View, Widget,
    WidgetCall, WidgetState,
};

use super::answer::Unfit;

/// The widget's name, in records and snapshots.
pub const NAME: &str = "clock";
/// The version of its encoded state, which is empty.
const STATE_VERSION: u32 = 1;

/// The clock: the time in UTC, to the minute, and the day of the week.
///
/// ```
/// use threadline_core::id::AgentId;
/// use threadline_core::widget::{View, Widget as _};
/// use threadline_tools::widgets::clock::Clock;
///
/// let at = "2026-11-16T10:20:59Z".parse().unwrap();
/// let view = View { at, agent: AgentId::FIRST, agents: &[], messages: 0, cap_bytes: 4096 };
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
        "the time, to the minute"
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
        Some(Fragment { text: format!("## Clock\n\n{}", minute(view.at)?), rest: None })
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
        let view = View { at, agent: AgentId(1), agents: &[], messages: 0, cap_bytes: 4096 };
        Clock::new().render(&view).unwrap().text
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
