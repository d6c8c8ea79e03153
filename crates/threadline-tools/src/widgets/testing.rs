//! What the tests of the widgets share: calls in, changes and texts out.

use threadline_core::clock::Timestamp;
use threadline_core::history::metadata::Value;
use threadline_core::history::sections::{Level, render};
use threadline_core::id::{AgentId, CallId, Seq};
use threadline_core::widget::{Change, ChangeRefused, Refusal, Reply, Widget, WidgetCall};

/// Takes a change into a widget.
pub(super) fn take(
    widget: &mut dyn Widget,
    change: &str,
    by: AgentId,
) -> Result<(), ChangeRefused> {
    widget.apply(&Change { text: change, seq: Seq(1), by, at: Timestamp::default() })
}

/// What a widget makes of a call.
pub(super) fn ask(
    widget: &dyn Widget,
    tool: &str,
    arguments: &serde_json::Value,
    by: AgentId,
) -> Result<Reply, Refusal> {
    let arguments = &*arguments.to_string();
    let call = CallId { output: Seq(1), index: 0 };
    widget.call(&WidgetCall { tool, arguments, call, by, at: Timestamp::default() })
}

/// Asks, and applies what comes of it; all levels if something changed.
pub(super) fn done(
    widget: &mut dyn Widget,
    by: AgentId,
    tool: &str,
    arguments: &serde_json::Value,
) -> String {
    match ask(widget, tool, arguments, by) {
        Ok(reply) => {
            for change in &reply.changes {
                take(widget, change, by).unwrap();
            }
            let at = |level| render(&reply.result, level).into_owned();
            if reply.changes.is_empty() {
                return at(Level::Live);
            }
            format!("{}\n--\n{}\n--\n{}", at(Level::Live), at(Level::Recent), at(Level::Gist))
        }
        Err(refusal) => {
            let Some(Value::Text(code)) = refusal.metadata.get("error") else {
                panic!("{refusal:?} has no code")
            };
            format!("{code}: {}", render(&refusal.result, Level::Live))
        }
    }
}
