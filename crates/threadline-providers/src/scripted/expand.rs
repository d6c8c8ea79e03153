//! Placeholders in a script's texts, filled from the request.

use std::borrow::Cow;

use super::cue::Cue;

/// A text with its placeholders filled. Other braces stay as they are.
pub(super) fn in_text(text: &str, cue: &Cue<'_>) -> String {
    filled(text, cue, str::to_owned)
}

/// Arguments with their placeholders filled, escaped as within a JSON string.
pub(super) fn in_arguments(text: &str, cue: &Cue<'_>) -> String {
    filled(text, cue, |value| {
        let json = serde_json::Value::from(value).to_string();
        json.get(1..json.len().saturating_sub(1)).unwrap_or_default().to_owned()
    })
}

fn filled(text: &str, cue: &Cue<'_>, write: impl Fn(&str) -> String) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let named =
            after.split_once('}').and_then(|(name, after)| Some((value(name, cue)?, after)));
        match named {
            Some((value, after)) => {
                filled.push_str(&write(&value));
                rest = after;
            }
            None => {
                filled.push('{');
                rest = after;
            }
        }
    }
    filled.push_str(rest);
    filled
}

/// What a placeholder stands for: nothing if the request does not have it.
fn value<'a>(name: &str, cue: &Cue<'a>) -> Option<Cow<'a, str>> {
    let nth = |number: usize| {
        let place = number.checked_sub(1);
        place.and_then(|place| cue.results.get(place)).copied().unwrap_or_default().into()
    };
    match name {
        "input" => Some(cue.input.into()),
        "result" => Some(nth(1)),
        "results" => Some(cue.results.join("\n").into()),
        "screen" => Some(cue.screen.into()),
        "turn" => Some(cue.turn.to_string().into()),
        "step" => Some(cue.step.to_string().into()),
        _ => name.strip_prefix("result:").and_then(|number| number.parse().ok()).map(nth),
    }
}
