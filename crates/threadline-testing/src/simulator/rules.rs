//! Rules for calls: those of the operator, those that the person sets, and what they come to,
//! worked out here once more and in a plainer way.

use std::sync::Arc;

use threadline_core::history::History;
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::{
    Answer, ApprovalGiven, Authority, Digest, Fact, PolicySet, ToolStarted, Verdict,
};
use threadline_core::id::CallId;
use threadline_core::policy::{Patterns, Rule};

use super::gear;
use super::mark::Mark;
use super::world::World;
use crate::ids::Choices;

/// What rules say of tools.
const TOOLS: [&str; 8] =
    ["*", "send*", "set*", "*_asked", "send_asked", "look", "note_*", "*_alone"];
/// What rules say of the number that all tools take; mostly nothing.
const NUMBERS: [Option<&str>; 6] = [None, None, Some("*0"), Some("*1"), Some("*0*"), Some("1*2")];

/// The operator's rules of a run: mostly none.
pub(super) fn operator(choices: &mut Choices) -> Vec<Rule> {
    if choices.percent(65) {
        return Vec::new();
    }
    let verdicts = [Verdict::Allow, Verdict::Allow, Verdict::Ask, Verdict::Ask, Verdict::Deny];
    let rule = |n| {
        let (tool, number) = about(choices);
        let verdict = choices.pick(&verdicts).copied().unwrap_or(Verdict::Ask);
        Rule {
            name: format!("rule {n}").into(),
            tool: tool.into(),
            server: None,
            arguments: patterns(number),
            verdict,
            tightens: verdict == Verdict::Ask && choices.percent(30),
        }
    };
    (0..3).map(rule).collect()
}

/// A rule that the person sets; now and then one that cannot be.
pub(super) fn set(choices: &mut Choices) -> PolicySet {
    let verdicts = [Verdict::Allow, Verdict::Allow, Verdict::Ask, Verdict::Deny];
    let verdict = choices.pick(&verdicts).copied().unwrap_or(Verdict::Ask);
    let (tool, number) = about(choices);
    let arguments = match number {
        _ if choices.percent(10) => Some("n=1".into()),
        None => None,
        number => Some(patterns(number).text().into()),
    };
    PolicySet { tool: tool.into(), arguments, verdict }
}

fn about(choices: &mut Choices) -> (&'static str, Option<&'static str>) {
    let tool = choices.pick(&TOOLS).copied().unwrap_or("*");
    (tool, choices.pick(&NUMBERS).copied().flatten())
}

fn patterns(number: Option<&str>) -> Patterns {
    let named = number.map(|number| (Arc::from("n"), Arc::from(number)));
    Patterns::new(named).unwrap_or_default()
}

/// Whether a text fits a pattern: tried in every way, from the front.
fn fits(pattern: &str, text: &str) -> bool {
    match pattern.strip_prefix('*') {
        Some(rest) => {
            text.char_indices().any(|(at, _)| text.get(at..).is_some_and(|text| fits(rest, text)))
                || fits(rest, "")
        }
        None => match (pattern.chars().next(), text.chars().next()) {
            (None, None) => true,
            (Some(p), Some(t)) if p == t => fits(
                pattern.get(p.len_utf8()..).unwrap_or(""),
                text.get(t.len_utf8()..).unwrap_or(""),
            ),
            _ => false,
        },
    }
}

/// Whether a rule about a tool and, if one is given, a number is about a call.
fn is_about(tool: &str, number: Option<&str>, call: (&str, Option<u64>)) -> bool {
    let of_number = match (number, call.1) {
        (None, _) => true,
        (Some(pattern), Some(n)) => fits(pattern, &n.to_string()),
        (Some(_), None) => false,
    };
    of_number && fits(tool, call.0)
}

/// What counts for a call, and whether a rule of the operator, of the conversation, or its tool
/// says so.
fn verdict(call: (&str, Option<u64>), operator: &[Rule], set: &[PolicySet]) -> (Verdict, Who) {
    let number = |rule: &Rule| rule.arguments.iter().next().map(|(_, pattern)| pattern.to_owned());
    let speaks: Vec<&Rule> = operator
        .iter()
        .filter(|rule| is_about(&rule.tool, number(rule).as_deref(), call))
        .collect();
    if speaks.iter().any(|rule| rule.verdict == Verdict::Deny) {
        return (Verdict::Deny, Who::Operator);
    }
    for policy in set.iter().rev() {
        let number: Option<String> = policy.arguments.as_ref().and_then(|text| {
            serde_json::from_str::<serde_json::Value>(text).ok()?.get("n")?.as_str().map(Into::into)
        });
        if is_about(&policy.tool, number.as_deref(), call) {
            return (policy.verdict, Who::Conversation);
        }
    }
    let own = gear::TOOLS.iter().find(|(name, ..)| *name == call.0);
    let own = own.map_or(Verdict::Allow, |(.., verdict)| *verdict);
    let last = speaks.iter().rev().find(|rule| !rule.tightens);
    let after = speaks.iter().rev().take_while(|rule| rule.tightens).count();
    let (said, who) = last.map_or((own, Who::Tool), |rule| (rule.verdict, Who::Operator));
    match (after, said) {
        (1.., Verdict::Allow) => (Verdict::Ask, Who::Operator),
        _ => (said, who),
    }
}

/// Who says what counts for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Operator,
    Conversation,
    Tool,
}

impl World {
    /// What a model wrote of a call: its tool and its arguments.
    pub(super) fn written(&self, call: CallId) -> Option<(Arc<str>, Arc<str>)> {
        let output = self.store.at(call.output)?.entry.fact.as_output()?;
        let call = output.calls().nth(usize::try_from(call.index).ok()?)?;
        Some((Arc::clone(&call.name), Arc::clone(&call.arguments)))
    }

    /// A call is started by whoever may: no deny speaks of it, and there is a rule that allows it
    /// or an approval of this very call with these very arguments.
    pub(super) fn check_authority(
        &mut self,
        entry: &Entry,
        started: &ToolStarted,
        before: &History,
    ) {
        let Some((name, raw)) = self.written(started.call) else { return };
        let raw = if raw.trim().is_empty() { "{}".into() } else { raw };
        let arguments = started.arguments.clone().unwrap_or(raw);
        let number = serde_json::from_str::<serde_json::Value>(&arguments).ok();
        let number = number.and_then(|value| value.get("n")?.as_u64());
        let operator = self.setting.as_ref().map(|setting| setting.policy.clone());
        let operator = operator.unwrap_or_default();
        let (verdict, who) = verdict((&name, number), &operator, &before.ledger().policies);
        let allowed = match &started.authority {
            _ if verdict == Verdict::Deny => false,
            Authority::Approval(by) => self.approves(*by, started.call, &arguments),
            Authority::Rule(_) => verdict == Verdict::Allow || started.attempt > 1,
        };
        if !allowed {
            let text = format!(
                "{} of {name} is started as {:?} where {verdict:?} counts, by {who:?}",
                started.call, started.authority
            );
            return self.fail("I-33", format!("{text} (entry {})", entry.seq));
        }
        if let (Authority::Rule(_), Verdict::Allow) = (&started.authority, verdict) {
            match who {
                Who::Operator => self.hit(Mark::OperatorAllowed),
                Who::Conversation => self.hit(Mark::AlwaysAllowed),
                Who::Tool => {}
            }
        }
    }

    /// Whether an entry allows a call with these arguments.
    fn approves(&self, by: threadline_core::id::Seq, call: CallId, arguments: &str) -> bool {
        match self.store.at(by).map(|stored| &stored.entry.fact) {
            Some(Fact::ApprovalGiven(ApprovalGiven { call: of, digest, answer, .. })) => {
                *of == call
                    && *answer == Answer::Allow
                    && *digest == Digest::of(arguments.as_bytes())
            }
            _ => false,
        }
    }

    /// No question stays open after its time once something is recorded.
    pub(super) fn check_expiry(&mut self, at: threadline_core::clock::Timestamp) {
        let agents = self.store.history().state().agents.values();
        let late = agents.flat_map(|agent| agent.open_calls()).find(|(_, call)| {
            let asked = call.approval.filter(|asked| asked.answer.is_none());
            call.finished.is_none() && asked.is_some_and(|asked| asked.until <= at)
        });
        if let Some(call) = late.map(|(call, _)| call) {
            self.fail("I-33", format!("nobody answered about {call}, and it still waits"));
        }
    }
}
