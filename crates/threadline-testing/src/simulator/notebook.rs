//! The widget of simulated agents: numbers that are noted, a few at most.

use threadline_core::history::fact::Verdict;
use threadline_core::history::metadata::Metadata;
use threadline_core::history::sections::Section;
use threadline_core::tool::{Handling, ToolSpec};
use threadline_core::widget::{
    Change, ChangeRefused, Fragment, Refusal, Reply, Scope, StateUnreadable, View, Widget,
    WidgetCall, WidgetState,
};

use super::gear::SCHEMA;

/// What it is called.
pub(super) const NOTEBOOK: &str = "numbers";
/// What its tool is called.
pub(super) const NOTE: &str = "note";
/// The most numbers it holds.
const CAP: usize = 4;

/// Numbers, in the order in which they were noted.
#[derive(Clone, Debug, Default)]
pub(super) struct Notebook(Vec<String>);

impl Widget for Notebook {
    fn name(&self) -> &str {
        NOTEBOOK
    }

    fn description(&self) -> &str {
        "notes numbers"
    }

    fn scope(&self) -> Scope {
        Scope::Agent
    }

    fn tools(&self) -> Vec<ToolSpec> {
        vec![ToolSpec {
            name: NOTE.into(),
            description: "notes a number".into(),
            schema: SCHEMA.into(),
            strict: false,
            server: None,
            verdict: Verdict::Allow,
            handling: Handling::Recorded,
        }]
    }

    fn call(&self, call: &WidgetCall<'_>) -> Result<Reply, Refusal> {
        if self.0.len() >= CAP {
            let result = vec![Section::text("the notebook is full")];
            return Err(Refusal { result, metadata: Metadata::new() });
        }
        let result = vec![Section::text(format!("noted as number {}", self.0.len() + 1))];
        let changes = vec![format!("{} at {}", call.arguments, self.0.len()).into()];
        Ok(Reply { changes, result, attachments: Vec::new(), metadata: Metadata::new() })
    }

    fn apply(&mut self, change: &Change<'_>) -> Result<(), ChangeRefused> {
        if self.0.len() >= CAP {
            let message = format!("it holds {CAP} numbers");
            return Err(ChangeRefused { widget: NOTEBOOK.into(), message });
        }
        self.0.push(change.text.to_owned());
        Ok(())
    }

    fn render(&self, _view: &View<'_>) -> Option<Fragment> {
        let text = format!("## Numbers\n\n{}", self.0.join("\n"));
        (!self.0.is_empty()).then_some(Fragment { text, rest: None })
    }

    fn encode(&self) -> WidgetState {
        WidgetState { version: 1, bytes: self.0.join("\n").into_bytes() }
    }

    fn decode(&mut self, state: &WidgetState) -> Result<(), StateUnreadable> {
        let text = String::from_utf8(state.bytes.clone()).ok().filter(|_| state.version == 1);
        let unreadable = || StateUnreadable { widget: NOTEBOOK.into(), version: state.version };
        let text = text.ok_or_else(unreadable)?;
        self.0 = text.split('\n').filter(|line| !line.is_empty()).map(str::to_owned).collect();
        Ok(())
    }

    fn copy(&self) -> Box<dyn Widget> {
        Box::new(self.clone())
    }
}
