//! A widget that writes down whatever it is told: the plainest one that can be tested with.

use threadline_core::history::fact::Verdict;
use threadline_core::history::metadata::Metadata;
use threadline_core::history::sections::Section;
use threadline_core::tool::{Handling, ToolSpec};
use threadline_core::widget::{
    Change, ChangeRefused, Fragment, Refusal, Reply, Scope, StateUnreadable, View, Widget,
    WidgetCall, WidgetState,
};

/// The change that a scribe refuses, and the call that it declines.
pub const UNSPEAKABLE: &str = "unspeakable";

/// A widget that writes down whatever it is told, and by whom and where.
#[derive(Clone, Debug)]
pub struct Scribe {
    name: String,
    scope: Scope,
    lines: Vec<String>,
}

impl Scribe {
    /// A scribe that has written nothing. Its tool is called as it is, with `_write` behind it.
    pub fn new(name: &str, scope: Scope) -> Self {
        Self { name: name.to_owned(), scope, lines: Vec::new() }
    }
}

impl Widget for Scribe {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &'static str {
        "writes down whatever it is told"
    }

    fn scope(&self) -> Scope {
        self.scope
    }

    fn tools(&self) -> Vec<ToolSpec> {
        vec![ToolSpec {
            name: format!("{}_write", self.name).into(),
            description: "writes down its arguments".into(),
            schema: r#"{"type":"object"}"#.into(),
            strict: false,
            server: None,
            verdict: Verdict::Allow,
            handling: Handling::Recorded,
        }]
    }

    fn call(&self, call: &WidgetCall<'_>) -> Result<Reply, Refusal> {
        if call.arguments.contains(UNSPEAKABLE) {
            let result = vec![Section::text("this is not written down")];
            return Err(Refusal { result, metadata: Metadata::new() });
        }
        let result = vec![Section::text(format!("written as line {}", self.lines.len() + 1))];
        Ok(Reply { changes: vec![call.arguments.into()], result, ..Reply::default() })
    }

    fn apply(&mut self, change: &Change<'_>) -> Result<(), ChangeRefused> {
        if change.text == UNSPEAKABLE {
            let message = "this is not written down".to_owned();
            return Err(ChangeRefused { widget: self.name.as_str().into(), message });
        }
        let Change { text, seq, by, at } = change;
        self.lines.push(format!("{seq} {} {at} {text:?}", by.0));
        Ok(())
    }

    fn render(&self, _view: &View<'_>) -> Option<Fragment> {
        let text = format!("## {}\n\n{}", self.name, self.lines.join("\n"));
        (!self.lines.is_empty()).then_some(Fragment { text, rest: None })
    }

    fn encode(&self) -> WidgetState {
        WidgetState { version: 1, bytes: self.lines.join("\n").into_bytes() }
    }

    fn decode(&mut self, state: &WidgetState) -> Result<(), StateUnreadable> {
        let text = std::str::from_utf8(&state.bytes).ok().filter(|_| state.version == 1);
        let unreadable =
            || StateUnreadable { widget: self.name.as_str().into(), version: state.version };
        self.lines = text.ok_or_else(unreadable)?.lines().map(str::to_owned).collect();
        Ok(())
    }

    fn copy(&self) -> Box<dyn Widget> {
        Box::new(self.clone())
    }
}
