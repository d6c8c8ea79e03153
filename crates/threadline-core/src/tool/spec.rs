//! What a tool is: what models read of it, and how its calls are handled.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::history::fact::{Effect, Verdict};

/// What a tool is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolSpec {
    /// Its name, by which models call it.
    pub name: Arc<str>,
    /// What it does and when to use it, as models read it.
    pub description: Arc<str>,
    /// The JSON schema of its arguments, an object, as raw text.
    pub schema: Arc<str>,
    /// Whether arguments must fit the schema as they are: nothing is coerced, and a model that
    /// can be held to the schema is.
    pub strict: bool,
    /// The server it comes from, if it is not ours; policies may name it.
    pub server: Option<Arc<str>>,
    /// What applies to a call that no rule speaks of.
    pub verdict: Verdict,
    /// How its calls are handled.
    pub handling: Handling,
}

/// How a tool's calls are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handling {
    /// They are derived and recorded in one batch, never run: widgets, calls to agents, waiting.
    Recorded,
    /// A [`Tool`](super::Tool) runs them.
    Run(RunRules),
}

impl Handling {
    /// Whether calls work in the conversation's folder.
    pub fn in_workspace(&self) -> bool {
        match self {
            Self::Run(rules) => rules.in_workspace,
            Self::Recorded => false,
        }
    }
}

/// How a tool's calls are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunRules {
    /// What running a call a second time would do.
    pub effect: Effect,
    /// After how long a call counts as one without an answer.
    pub timeout_ms: u64,
    /// The most of a result that stays in its entry; the whole becomes an attachment.
    pub result_cap_bytes: usize,
    /// Whether calls may run at the same time as other calls of their output.
    pub side_by_side: bool,
    /// Whether calls work in the conversation's folder: they run nowhere else.
    pub in_workspace: bool,
}

impl RunRules {
    /// How long a call may take, unless its tool says otherwise.
    pub const TIMEOUT_MS: u64 = 120_000;
    /// The most of a result that stays in its entry, unless its tool says otherwise.
    pub const RESULT_CAP_BYTES: usize = 64 * 1024;

    /// The usual rules for an effect. What only reads may run beside other calls.
    pub const fn usual(effect: Effect) -> Self {
        Self {
            effect,
            timeout_ms: Self::TIMEOUT_MS,
            result_cap_bytes: Self::RESULT_CAP_BYTES,
            side_by_side: effect.only_reads(),
            in_workspace: false,
        }
    }
}

impl From<Effect> for RunRules {
    fn from(effect: Effect) -> Self {
        Self::usual(effect)
    }
}

/// The tools that a model is shown, in order, each name once. Frozen for a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Catalogue {
    tools: Vec<Arc<ToolSpec>>,
    tokens: u32,
}

impl Catalogue {
    /// Whether it has a tool of this name.
    pub fn has(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| &*tool.name == name)
    }

    /// A catalogue of these tools, which take so many tokens. Refused if two share a name.
    pub fn new(tools: Vec<Arc<ToolSpec>>, tokens: u32) -> Result<Self, NameTaken> {
        let mut names = BTreeSet::new();
        if let Some(second) = tools.iter().find(|tool| !names.insert(&tool.name)) {
            return Err(NameTaken { name: Arc::clone(&second.name) });
        }
        Ok(Self { tools, tokens })
    }

    /// The tools, in order.
    pub fn tools(&self) -> &[Arc<ToolSpec>] {
        &self.tools
    }

    /// The tool of a name.
    pub fn get(&self, name: &str) -> Option<&Arc<ToolSpec>> {
        self.tools.iter().find(|tool| &*tool.name == name)
    }

    /// The tokens it takes in a request, in our unit.
    pub const fn tokens(&self) -> u32 {
        self.tokens
    }
}

/// Two tools want one name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there are two tools named {name:?}; rename or remove one of them")]
pub struct NameTaken {
    /// The name.
    pub name: Arc<str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(name: &str) -> Arc<ToolSpec> {
        Arc::new(ToolSpec {
            name: name.into(),
            description: "".into(),
            schema: r#"{"type":"object"}"#.into(),
            strict: false,
            server: None,
            verdict: Verdict::Allow,
            handling: Handling::Recorded,
        })
    }

    #[test]
    fn a_catalogue_keeps_its_order_and_refuses_a_second_name() {
        let catalogue = Catalogue::new(vec![spec("b"), spec("a")], 7).unwrap();
        let names = catalogue.tools().iter().map(|tool| &*tool.name).collect::<Vec<_>>();
        assert_eq!(names, ["b", "a"]);
        assert_eq!(catalogue.get("a"), Some(&spec("a")));
        assert_eq!(catalogue.get("c"), None);
        let twice = Catalogue::new(vec![spec("b"), spec("a"), spec("b")], 7);
        assert_eq!(twice, Err(NameTaken { name: "b".into() }));
    }
}
