//! The cue: what a request says about where in the script it is, and what placeholders stand for.

use threadline_core::context::{Body, Context, Part};

use super::script::{Answer, Script, Turn, When};

/// Where a conversation is, as its context tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cue<'a> {
    /// The newest input, or nothing.
    pub(super) input: &'a str,
    /// How many inputs are visible; 1 if none is.
    pub(super) turn: usize,
    /// How many of them no `when` speaks of; 1 if none is visible.
    unspoken: usize,
    /// Which answer since the newest input it is, from 1.
    pub(super) step: usize,
    /// The results after the last output.
    pub(super) results: Vec<&'a str>,
    /// The newest live screen, or nothing.
    pub(super) screen: &'a str,
}

impl<'a> Cue<'a> {
    pub(super) fn of(script: &Script, context: &'a Context) -> Self {
        let parts = &context.parts;
        let inputs = parts.iter().filter_map(said).collect::<Vec<_>>();
        let unspoken = inputs.iter().filter(|text| spoken(script, text).is_none()).count();
        let newest = parts.iter().rposition(|part| said(part).is_some()).map_or(0, |at| at + 1);
        let after = parts.get(newest..).unwrap_or_default();
        Self {
            input: inputs.last().copied().unwrap_or_default(),
            turn: inputs.len().max(1),
            unspoken: if inputs.is_empty() { 1 } else { unspoken },
            step: after.iter().filter(|part| is_output(part)).count() + 1,
            results: results(parts),
            screen: parts.iter().rev().find_map(screen).unwrap_or_default(),
        }
    }

    /// The answer that the script has here.
    pub(super) fn answer<'s>(&self, script: &'s Script) -> Option<&'s Answer> {
        let turn = spoken(script, self.input)
            .or_else(|| {
                let mut numbered = script.turns.iter().filter(|turn| turn.when == When::Next);
                numbered.nth(self.unspoken.checked_sub(1)?)
            })
            .or_else(|| script.turns.iter().find(|turn| turn.when == When::Else))?;
        turn.answers.get(self.step - 1)
    }
}

/// The turn whose text an input contains.
fn spoken<'s>(script: &'s Script, input: &str) -> Option<&'s Turn> {
    script.turns.iter().find(|turn| match &turn.when {
        When::Says(text) => input.contains(&**text),
        When::Next | When::Else => false,
    })
}

/// What an input says. The folded past is none, nor is the line on how a turn ended.
fn said(part: &Part) -> Option<&str> {
    match &part.body {
        Body::Input(input) if part.is_message() => Some(&input.text),
        Body::Input(_) | Body::Output(_) | Body::Results(_) => None,
    }
}

fn is_output(part: &Part) -> bool {
    match part.body {
        Body::Output(_) => true,
        Body::Input(_) | Body::Results(_) => false,
    }
}

fn results(parts: &[Part]) -> Vec<&str> {
    let newest = parts.iter().rposition(is_output).map_or(0, |at| at + 1);
    let after = parts.get(newest..).unwrap_or_default().iter();
    let results = after.flat_map(|part| match &part.body {
        Body::Results(results) => results.results.as_slice(),
        Body::Input(_) | Body::Output(_) => &[],
    });
    results.map(|result| &*result.text).collect()
}

fn screen(part: &Part) -> Option<&str> {
    let screen = match &part.body {
        Body::Input(input) => input.screen.as_ref(),
        Body::Results(results) => results.screen.as_ref(),
        Body::Output(_) => None,
    };
    screen.map(|screen| &*screen.text)
}
