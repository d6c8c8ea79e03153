//! Whether a call may run: what the newest rule that speaks of it says, else what its tool says.

use std::sync::Arc;

use crate::history::fact::{PolicySet, Verdict};
use crate::tool::ToolSpec;

/// What applies to a call, and the name of the rule that says so.
pub(super) fn verdict(
    spec: &ToolSpec,
    arguments: &str,
    policies: &[PolicySet],
) -> (Verdict, Arc<str>) {
    let speaks = |policy: &&PolicySet| {
        matches(&policy.tool, &spec.name)
            && policy.arguments.as_ref().is_none_or(|pattern| matches(pattern, arguments))
    };
    match policies.iter().rev().find(speaks) {
        Some(policy) => (policy.verdict, format!("conversation: {}", policy.tool).into()),
        None => (spec.verdict, "tool".into()),
    }
}

/// Whether a text fits a pattern, in which `*` stands for any run of characters.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_stands_for_any_run() {
        for (pattern, text, fits) in [
            ("shell", "shell", true),
            ("shell", "shells", false),
            ("*", "anything", true),
            ("file_*", "file_read", true),
            ("file_*", "read_file", false),
            ("*_file", "read_file", true),
            ("a*b*c", "a--b--c", true),
            ("a*b*c", "a--c--b", false),
            ("ab*ba", "aba", false),
            ("", "", true),
            ("", "x", false),
        ] {
            assert_eq!(matches(pattern, text), fits, "{pattern:?} on {text:?}");
        }
    }
}
