//! `threadline policy`: which rules count for the calls of a conversation, and setting one.

use std::sync::Arc;

use anyhow::{Context as _, bail};
use threadline_core::history::fact::{PolicySet, Verdict};
use threadline_core::id::{ConversationId, Seq};
use threadline_core::inbox::Command;
use threadline_core::policy::{self, Patterns, Rule};
use threadline_core::store;

use super::change::change;
use crate::args::Policy;
use crate::compose::Parts;
use crate::config::Config;
use crate::view::{Line, View};
use crate::words;

/// How a rule is set, in words.
pub(super) const USAGE: &str = "a rule is allow, ask or deny, then a tool, then PARAMETER=PATTERN if need be: allow edit_file path=docs/*";

pub(crate) async fn run(
    parts: &Parts,
    config: &Config,
    arguments: &Policy,
    view: &mut View,
) -> anyhow::Result<()> {
    let operator: Vec<Rule> = config.file.policy.iter().map(|entry| entry.0.clone()).collect();
    let (meant, words) = match arguments.words.split_first() {
        Some((first, _)) if verdict(first).is_some() => (None, &*arguments.words),
        Some((first, words)) => (Some(first), words),
        None => (None, &[][..]),
    };
    let Some(meant) = meant else {
        if !words.is_empty() {
            bail!(
                "name the conversation that the rule is for: threadline policy last {}",
                words.join(" ")
            );
        }
        return show(&operator, &[], None, view);
    };
    let id = parts.find(meant).await?.id;
    if words.is_empty() {
        let (_, history) = store::open(&*parts.store, id, &parts.counter).await?;
        return show(&operator, &history.ledger().policies, Some(id), view);
    }
    let policy = read(words).map_err(anyhow::Error::msg)?;
    let command = Command::SetPolicy(policy.clone());
    let seq = change(parts, id, None, command).await?;
    tell(id, seq, &policy, view)
}

/// A rule in the words of a command.
pub(super) fn read<S: AsRef<str>>(words: &[S]) -> Result<PolicySet, String> {
    let mut words = words.iter().map(AsRef::as_ref);
    let verdict = words.next().and_then(verdict).ok_or(USAGE)?;
    let tool: Arc<str> = words.next().filter(|tool| !tool.contains('=')).ok_or(USAGE)?.into();
    let patterns: Option<Vec<(Arc<str>, Arc<str>)>> = words
        .map(|word| word.split_once('=').filter(|(parameter, _)| !parameter.is_empty()))
        .map(|pair| pair.map(|(parameter, pattern)| (parameter.into(), pattern.into())))
        .collect();
    let patterns = Patterns::new(patterns.ok_or(USAGE)?).map_err(|wrong| wrong.to_string())?;
    let arguments = (!patterns.is_empty()).then(|| patterns.text().into());
    let policy = PolicySet { tool, arguments, verdict };
    policy::check(&policy).map_err(|wrong| wrong.to_string())?;
    Ok(policy)
}

fn verdict(word: &str) -> Option<Verdict> {
    match word {
        "allow" => Some(Verdict::Allow),
        "ask" => Some(Verdict::Ask),
        "deny" => Some(Verdict::Deny),
        _ => None,
    }
}

/// What a rule says, in a word.
pub(crate) const fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allow",
        Verdict::Ask => "ask",
        Verdict::Deny => "deny",
    }
}

/// Shows the rules, the one that counts first first.
pub(super) fn show(
    operator: &[Rule],
    conversation: &[PolicySet],
    id: Option<ConversationId>,
    view: &mut View,
) -> anyhow::Result<()> {
    let rows = rows(operator, conversation);
    if view.json {
        #[derive(serde::Serialize)]
        struct Shown<'a> {
            id: Option<String>,
            rules: &'a [Row],
        }
        let id = id.map(|id| id.to_string());
        return view.value(&Shown { id, rules: &rows }).context("could not print the rules");
    }
    for row in &rows {
        let line = Line::new().plain(format!("  {:<6}", row.verdict)).name(&row.about);
        view.line(&line.dim(format!("  {}", row.whose())))?;
    }
    let rest = if rows.is_empty() { "there are no rules: " } else { "else " };
    let told = format!("{rest}what a tool says of itself counts");
    view.line(&Line::new().dim(told))?;
    Ok(())
}

/// A rule as it is shown.
#[derive(serde::Serialize)]
struct Row {
    verdict: &'static str,
    tool: Arc<str>,
    server: Option<Arc<str>>,
    arguments: Option<serde_json::Value>,
    by: &'static str,
    name: Option<Arc<str>>,
    #[serde(skip)]
    about: String,
}

impl Row {
    fn whose(&self) -> String {
        match &self.name {
            Some(name) if **name != *self.about => format!("{}, {name}", self.by),
            Some(_) | None => self.by.to_owned(),
        }
    }
}

/// The rules in the order in which they count.
fn rows(operator: &[Rule], conversation: &[PolicySet]) -> Vec<Row> {
    let of_operator = |rule: &Rule| Row {
        verdict: word(rule.verdict),
        tool: Arc::clone(&rule.tool),
        server: rule.server.clone(),
        arguments: value(&rule.arguments.text()).filter(|_| !rule.arguments.is_empty()),
        by: "operator",
        name: Some(Arc::clone(&rule.name)),
        about: rule.to_string(),
    };
    let of_conversation = |policy: &PolicySet| Row {
        verdict: word(policy.verdict),
        tool: Arc::clone(&policy.tool),
        server: None,
        arguments: policy.arguments.as_deref().and_then(value),
        by: "conversation",
        name: None,
        about: policy::line_of(policy),
    };
    let denies = |rule: &&Rule| rule.verdict == Verdict::Deny;
    let first = operator.iter().rev().filter(denies).map(of_operator);
    let set = conversation.iter().rev().map(of_conversation);
    let others = operator.iter().rev().filter(|rule| !denies(rule)).map(of_operator);
    first.chain(set).chain(others).collect()
}

/// Patterns as JSON; a text that is none stays one.
fn value(text: &str) -> Option<serde_json::Value> {
    serde_json::from_str(text).ok().or_else(|| Some(text.into()))
}

fn tell(id: ConversationId, seq: Seq, policy: &PolicySet, view: &mut View) -> anyhow::Result<()> {
    #[derive(serde::Serialize)]
    struct Told {
        id: String,
        seq: u64,
    }
    if view.json {
        return Ok(view.value(&Told { id: id.to_string(), seq: seq.0 })?);
    }
    Ok(view.line(&Line::new().dim(words::policy(policy)))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_from_words() {
        let read = |line: &str| read(&line.split_whitespace().collect::<Vec<_>>());
        let rule = read("allow edit_file path=docs/* new=a=b").unwrap();
        assert_eq!(&*rule.tool, "edit_file");
        assert_eq!(rule.arguments.as_deref(), Some(r#"{"new":"a=b","path":"docs/*"}"#));
        assert_eq!(
            words::policy(&read("deny *").unwrap()),
            "* is denied in this conversation from now on"
        );
        for wrong in ["", "allow", "perhaps x", "deny path=x", "ask shell what", "ask shell =x"] {
            assert_eq!(read(wrong), Err(USAGE.to_owned()), "{wrong}");
        }
    }

    #[test]
    fn rules_are_shown_in_the_order_in_which_they_count() {
        let rule = |tool: &str, verdict| Rule {
            name: tool.into(),
            tool: tool.into(),
            server: None,
            arguments: Patterns::default(),
            verdict,
            tightens: false,
        };
        let operator =
            [rule("one", Verdict::Allow), rule("two", Verdict::Deny), rule("three", Verdict::Ask)];
        let set = [read(&["ask", "four"]).unwrap(), read(&["allow", "five"]).unwrap()];
        let order: Vec<String> = rows(&operator, &set).into_iter().map(|row| row.about).collect();
        assert_eq!(order, ["two", "five", "four", "three", "one"]);
    }
}
