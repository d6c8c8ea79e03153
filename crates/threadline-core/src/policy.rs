//! Policy: whether a call may run, is asked about, or may not.
//!
//! Rules come from two sides. Those of the **operator** come with the setting and are the same
//! for all conversations; those of the **conversation** were set in it and are facts
//! ([`PolicySet`]). What counts for a call, in this order:
//!
//! 1. an operator's deny that speaks of it;
//! 2. the newest rule of the conversation that speaks of it;
//! 3. the last of the operator's rules that speaks of it;
//! 4. what its tool says.
//!
//! A rule speaks of a call by the tool, the server it comes from and its arguments, each by a
//! [pattern](Patterns). Arguments are those that the call would run with, read as JSON: how they
//! are spelled makes no difference. A value that can be read in two ways, such as a path with
//! `..` in it, is allowed by a rule only if the rule fits each of them, and asked about or denied
//! if it fits one.

mod parameters;
mod pattern;

use std::fmt;
use std::sync::Arc;

use self::parameters::Given;
pub use self::parameters::{PARAMETERS_CAP, PATTERNS_CAP_BYTES, Patterns, PatternsRefused};
use self::pattern::fits;
use crate::history::fact::{PolicySet, Verdict};
use crate::tool::ToolSpec;

/// A rule of the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its name, under which it is told who allowed a call.
    pub name: Arc<str>,
    /// The tool it is about; `*` stands for any run of characters.
    pub tool: Arc<str>,
    /// The server whose tools it is about, as a pattern. None stands for all tools, ours included.
    pub server: Option<Arc<str>>,
    /// The arguments it is about.
    pub arguments: Patterns,
    /// What it says.
    pub verdict: Verdict,
    /// Whether it can only tighten: what would apply without it counts where that is stricter.
    pub tightens: bool,
}

impl Rule {
    /// Whether it speaks of a call: for sure, or, unless it allows, by one way to read it.
    pub fn speaks_of(&self, call: &Call<'_>) -> bool {
        counts(self.fit(call), self.verdict)
    }

    /// Whether it speaks of a call with these arguments, if the tool is one that it speaks of.
    pub fn is_about(&self, arguments: &str) -> bool {
        counts(self.arguments.fit(&Given::new(arguments)), self.verdict)
    }

    fn fit(&self, call: &Call<'_>) -> Fit {
        let of_server = match (&self.server, &call.tool.server) {
            (None, _) => true,
            (Some(pattern), Some(server)) => fits(pattern, server),
            (Some(_), None) => false,
        };
        if !of_server || !fits(&self.tool, &call.tool.name) {
            return Fit::No;
        }
        self.arguments.fit(&call.given)
    }
}

/// A rule in one line: what it is about.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.tool)?;
        if let Some(server) = &self.server {
            write!(f, " of {server}")?;
        }
        write!(f, "{}", self.arguments)
    }
}

/// A call that is to be decided about.
pub struct Call<'a> {
    tool: &'a ToolSpec,
    given: Given<'a>,
}

impl<'a> Call<'a> {
    /// A call of a tool with the arguments that it would run with.
    pub fn new(tool: &'a ToolSpec, arguments: &'a str) -> Self {
        Self { tool, given: Given::new(arguments) }
    }
}

/// What counts for a call, and who says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What counts.
    pub verdict: Verdict,
    /// Who says so.
    pub by: By,
}

/// Who decides about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum By {
    /// A rule of the operator, by its name.
    Operator(Arc<str>),
    /// A rule of the conversation, in one line.
    Conversation(Arc<str>),
    /// The tool itself: no rule speaks of the call.
    Tool,
}

/// As it is recorded with a call that it allowed.
impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operator(name) => write!(f, "operator: {name}"),
            Self::Conversation(rule) => write!(f, "conversation: {rule}"),
            Self::Tool => f.write_str("tool"),
        }
    }
}

/// What counts for a call: see the [module](self) for the order. The rules of the conversation
/// come as they were set, newest last.
///
/// ```
/// use std::sync::Arc;
/// use threadline_core::history::fact::{Effect, PolicySet, Verdict};
/// use threadline_core::policy::{Call, Patterns, Rule, decide};
/// use threadline_core::tool::{Handling, RunRules, ToolSpec};
///
/// let tool = ToolSpec {
///     name: "edit_file".into(),
///     description: "".into(),
///     schema: r#"{"type":"object"}"#.into(),
///     strict: false,
///     server: None,
///     verdict: Verdict::Ask,
///     handling: Handling::Run(RunRules::usual(Effect::Once)),
/// };
/// let secrets = Rule {
///     name: "no secrets".into(),
///     tool: "*_file".into(),
///     server: None,
///     arguments: Patterns::read(r#"{"path":"secret/*"}"#)?,
///     verdict: Verdict::Deny,
///     tightens: false,
/// };
/// let docs = PolicySet {
///     tool: "edit_file".into(),
///     arguments: Some(r#"{"path":"docs/*"}"#.into()),
///     verdict: Verdict::Allow,
/// };
/// let (operator, conversation) = ([secrets], [docs]);
/// let verdict = |path| decide(&Call::new(&tool, path), &operator, &conversation).verdict;
/// assert_eq!(verdict(r#"{"path":"docs/a.md"}"#), Verdict::Allow);
/// assert_eq!(verdict(r#"{"path":"src/a.rs"}"#), Verdict::Ask);
/// assert_eq!(verdict(r#"{"path":"docs/../secret/key"}"#), Verdict::Deny);
/// # Ok::<(), threadline_core::policy::PatternsRefused>(())
/// ```
pub fn decide(call: &Call<'_>, operator: &[Rule], conversation: &[PolicySet]) -> Decision {
    let by_operator =
        |rule: &Rule| Decision { verdict: rule.verdict, by: By::Operator(Arc::clone(&rule.name)) };
    let denies = |rule: &&Rule| rule.verdict == Verdict::Deny && rule.speaks_of(call);
    if let Some(rule) = operator.iter().rev().find(denies) {
        return by_operator(rule);
    }
    let mut floor = None;
    let set = conversation.iter().rev().filter(|policy| fits(&policy.tool, &call.tool.name));
    let set = set.map(|policy| Said {
        fit: fit_of(policy, &call.given),
        tightens: false,
        decision: Decision {
            verdict: policy.verdict,
            by: By::Conversation(line_of(policy).into()),
        },
    });
    let rules = operator.iter().rev().map(|rule| Said {
        fit: rule.fit(call),
        tightens: rule.tightens,
        decision: by_operator(rule),
    });
    let decided = newest(set, &mut floor).or_else(|| newest(rules, &mut floor));
    let decided = decided.unwrap_or(Decision { verdict: call.tool.verdict, by: By::Tool });
    stricter(floor, decided)
}

/// Whether a rule can be set in a conversation: it names a tool, and its arguments are patterns.
pub fn check(policy: &PolicySet) -> Result<(), PatternsRefused> {
    if policy.tool.trim().is_empty() {
        return Err(PatternsRefused::NoTool);
    }
    policy.arguments.as_deref().map_or(Ok(()), |text| Patterns::read(text).map(drop))
}

/// A rule of a conversation in one line: what it is about.
pub fn line_of(policy: &PolicySet) -> String {
    match policy.arguments.as_deref().map(|text| (text, Patterns::read(text))) {
        None => policy.tool.to_string(),
        Some((_, Ok(patterns))) => format!("{}{patterns}", policy.tool),
        Some((text, Err(_))) => format!("{} {text}", policy.tool),
    }
}

/// How a rule fits a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fit {
    /// Not at all.
    No,
    /// By some of the ways in which the call can be read.
    Partly,
    /// By all of them.
    Wholly,
}

impl Fit {
    /// How well all of these fit together.
    fn all(fits: impl IntoIterator<Item = Self>) -> Self {
        let mut all = Self::Wholly;
        for fit in fits {
            match fit {
                Self::No => return Self::No,
                Self::Partly => all = Self::Partly,
                Self::Wholly => {}
            }
        }
        all
    }

    /// How well something fits that can be read in these ways, of which there is one at least.
    fn ways(ways: impl IntoIterator<Item = bool>) -> Self {
        let (mut some, mut all) = (false, true);
        for fits in ways {
            some |= fits;
            all &= fits;
        }
        match (some, all) {
            (true, true) => Self::Wholly,
            (true, false) => Self::Partly,
            (false, _) => Self::No,
        }
    }
}

/// Whether a rule that fits like this speaks of a call.
fn counts(fit: Fit, verdict: Verdict) -> bool {
    match fit {
        Fit::No => false,
        Fit::Partly => verdict != Verdict::Allow,
        Fit::Wholly => true,
    }
}

/// How a rule of a conversation fits arguments. One whose arguments are no patterns can no longer
/// be set; in a history that has it, it means the arguments as a whole, as they are written.
fn fit_of(policy: &PolicySet, given: &Given<'_>) -> Fit {
    match policy.arguments.as_deref().map(|text| (text, Patterns::read(text))) {
        None => Fit::Wholly,
        Some((_, Ok(patterns))) => patterns.fit(given),
        Some((pattern, Err(_))) => given.fit_as_text(pattern),
    }
}

/// What a rule says of a call.
struct Said {
    fit: Fit,
    tightens: bool,
    decision: Decision,
}

/// What the first rule says that fits for sure. One before it that may fit, or that can only
/// tighten, sets the floor: it loosens nothing.
fn newest(said: impl Iterator<Item = Said>, floor: &mut Option<Decision>) -> Option<Decision> {
    for Said { fit, tightens, decision } in said.filter(|said| said.fit != Fit::No) {
        if fit == Fit::Wholly && !tightens {
            return Some(decision);
        }
        if decision.verdict != Verdict::Allow {
            *floor = Some(stricter(floor.take(), decision));
        }
    }
    None
}

/// The stricter of two, the first of two that are equal.
fn stricter(one: Option<Decision>, two: Decision) -> Decision {
    one.filter(|one| strictness(one.verdict) >= strictness(two.verdict)).unwrap_or(two)
}

const fn strictness(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Allow => 0,
        Verdict::Ask => 1,
        Verdict::Deny => 2,
    }
}

#[cfg(test)]
mod tests;
