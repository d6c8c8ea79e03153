//! Rules for calls, as a config file has them: `[[policy]]`.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use threadline_core::history::fact::Verdict;
use threadline_core::policy::{Patterns, Rule};
use toml::Table;

/// A rule that fits its own examples.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Written")]
pub(crate) struct PolicyEntry(pub(crate) Rule);

/// A rule as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: Option<Arc<str>>,
    tool: Arc<str>,
    server: Option<Arc<str>>,
    #[serde(default)]
    arguments: BTreeMap<Arc<str>, Arc<str>>,
    verdict: Verdict,
    /// Arguments of calls that it speaks of.
    #[serde(default)]
    matches: Vec<Table>,
    /// Arguments of calls that it does not speak of.
    #[serde(default)]
    not_matches: Vec<Table>,
}

impl TryFrom<Written> for PolicyEntry {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        if written.tool.trim().is_empty() {
            return Err("`tool`: name a tool; * stands for any run of characters".to_owned());
        }
        let arguments =
            Patterns::new(written.arguments).map_err(|wrong| format!("`arguments`: {wrong}"))?;
        let mut rule = Rule {
            name: "".into(),
            tool: written.tool,
            server: written.server,
            arguments,
            verdict: written.verdict,
            tightens: false,
        };
        rule.name = written.name.unwrap_or_else(|| rule.to_string().into());
        for (key, examples, wanted) in
            [("matches", &written.matches, true), ("not_matches", &written.not_matches, false)]
        {
            for (number, example) in (1..).zip(examples) {
                let arguments = serde_json::to_string(example).map_err(|e| e.to_string())?;
                if rule.is_about(&arguments) != wanted {
                    let does = if wanted { "does not speak" } else { "speaks" };
                    return Err(format!(
                        "`{key}`: the rule {does} of its example {number}; mend one of them"
                    ));
                }
            }
        }
        Ok(Self(rule))
    }
}

impl PolicyEntry {
    /// The rule as one that can only tighten.
    pub(super) fn tightening(self) -> Self {
        Self(Rule { tightens: true, ..self.0 })
    }
}
