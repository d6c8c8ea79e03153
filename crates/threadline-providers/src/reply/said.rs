//! What a body says, out of whichever shape it has.

use serde_json::{Map, Value};

use super::{times, words};

/// More than this of a body is not looked at: no error is told at such length.
const BODY_CAP_BYTES: usize = 1024 * 1024;
/// How often an error may be wrapped in another's text.
const NESTING_CAP: u32 = 3;

/// What a body says.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// The provider's own words, not yet shortened; empty if there are none.
    pub(super) message: String,
    /// Its type: `rate_limit_error`, `RESOURCE_EXHAUSTED`.
    pub(super) kind: Option<String>,
    /// Its code: `insufficient_quota`, `429`.
    pub(super) code: Option<String>,
    /// Further reasons it gives, such as the quota that is spent.
    pub(super) reasons: Vec<String>,
    /// The status it names, which a stream's errors have only here.
    pub(super) status: Option<u16>,
    /// When asking again may help.
    pub(super) retry_after_ms: Option<u64>,
    /// The window of the model, where the body has it as a number of its own.
    pub(super) window_tokens: Option<u64>,
    /// The request's id, where the body has it.
    pub(super) request_id: Option<String>,
    /// What else the body is, if it is no error of a provider.
    pub(super) odd: Option<Odd>,
}

/// A body that is no error of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Odd {
    /// There is none.
    Empty,
    /// A web page; its title is the message.
    Page,
    /// Some text, which is the message.
    Text,
    /// Nothing that can be read.
    Binary,
}

impl Said {
    /// Reads a body.
    pub(super) fn read(body: &[u8]) -> Self {
        let body = body.get(..BODY_CAP_BYTES).unwrap_or(body);
        let text = String::from_utf8_lossy(body);
        let text = text.trim_start_matches('\u{feff}').trim();
        let mut said = Self::default();
        match serde_json::from_str::<Value>(framed(text)) {
            Ok(json) => said.take(&json, 0),
            Err(_) => said.take_plain(text, body),
        }
        said.retry_after_ms =
            said.retry_after_ms.or_else(|| times::in_words(&said.message.to_ascii_lowercase()));
        said
    }

    fn take_plain(&mut self, text: &str, body: &[u8]) {
        let (odd, message) = match text {
            "" => (Odd::Empty, String::new()),
            _ if words::is_page(text) => (Odd::Page, words::title(text)),
            _ if body.contains(&0) || text.contains('\u{fffd}') => (Odd::Binary, String::new()),
            _ => (Odd::Text, text.to_owned()),
        };
        (self.odd, self.message) = (Some(odd), message);
    }

    fn take(&mut self, json: &Value, depth: u32) {
        match json {
            Value::Object(all) => self.take_object(all, depth),
            Value::Array(list) => list.first().into_iter().for_each(|one| self.take(one, depth)),
            Value::String(text) => self.take_text(text, depth),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// A text, which may be an error of somebody further away.
    fn take_text(&mut self, text: &str, depth: u32) {
        if text.trim_start().starts_with(['{', '['])
            && depth < NESTING_CAP
            && let Ok(json) = serde_json::from_str::<Value>(framed(text.trim()))
        {
            let before = std::mem::take(&mut self.message);
            self.take(&json, depth + 1);
            if self.message.is_empty() {
                self.message = before;
            }
        } else if !text.is_empty() {
            text.clone_into(&mut self.message);
        }
    }

    fn take_object(&mut self, all: &Map<String, Value>, depth: u32) {
        for id in ["request_id", "responseId"] {
            self.request_id = text(all, id).or_else(|| self.request_id.take());
        }
        // A failed response holds the error that it failed with.
        if let Some(inner @ Value::Object(_)) = all.get("response") {
            self.take(inner, depth);
        }
        match all.get("error") {
            Some(Value::Object(error)) => self.take_error(error, depth),
            Some(error @ (Value::String(_) | Value::Array(_))) => {
                self.take_error(all, depth);
                self.take(error, depth);
            }
            Some(Value::Null | Value::Bool(_) | Value::Number(_)) | None => {
                self.take_error(all, depth);
            }
        }
    }

    fn take_error(&mut self, error: &Map<String, Value>, depth: u32) {
        for field in ["message", "detail", "msg", "error_description"] {
            match error.get(field) {
                Some(Value::String(message)) => self.take_text(message, depth),
                Some(Value::Array(list)) => self.message = complaints(list),
                Some(Value::Object(inner)) if depth < NESTING_CAP => {
                    self.take_error(inner, depth + 1);
                }
                Some(_) | None => {}
            }
        }
        self.kind = text(error, "type")
            .filter(|kind| kind != "error")
            .or_else(|| text(error, "status"))
            .or_else(|| self.kind.take());
        // llama.cpp tells its window so.
        self.window_tokens = error.get("n_ctx").and_then(Value::as_u64).or(self.window_tokens);
        self.code = text(error, "code").or_else(|| self.code.take());
        for field in ["code", "status", "raw_status_code", "status_code"] {
            let number = error.get(field).and_then(number).filter(|code| (300..600).contains(code));
            self.status = self.status.or(number);
        }
        self.take_reasons(error, depth);
    }

    fn take_reasons(&mut self, error: &Map<String, Value>, depth: u32) {
        match error.get("details") {
            Some(Value::Array(details)) => {
                details.iter().filter_map(Value::as_object).for_each(|one| self.take_detail(one));
            }
            Some(Value::Object(detail)) => self.take_detail(detail),
            Some(_) | None => {}
        }
        if let Some(Value::Object(inner)) = error.get("innererror") {
            self.reasons.extend(text(inner, "code"));
        }
        if let Some(Value::Array(errors)) = error.get("errors") {
            self.take(errors.first().unwrap_or(&Value::Null), depth);
        }
        let Some(Value::Object(routed)) = error.get("metadata") else { return };
        self.reasons.extend(text(routed, "error_type"));
        if routed.contains_key("flagged_input") {
            self.reasons.push("flagged_input".to_owned());
        }
        match routed.get("raw") {
            Some(raw @ Value::Object(_)) if depth < NESTING_CAP => self.take(raw, depth + 1),
            Some(Value::String(raw)) => self.take_text(raw, depth),
            Some(_) | None => {}
        }
    }

    fn take_detail(&mut self, detail: &Map<String, Value>) {
        for field in ["reason", "error_code"] {
            self.reasons.extend(text(detail, field));
        }
        if let Some(delay) = text(detail, "retryDelay") {
            self.retry_after_ms = times::span_ms(&delay).or(self.retry_after_ms);
        }
        let violations = detail.get("violations").and_then(Value::as_array);
        let quotas = violations.into_iter().flatten().filter_map(Value::as_object);
        self.reasons.extend(quotas.filter_map(|quota| text(quota, "quotaId")));
    }
}

/// A body as JSON: that of an event without its framing, if it comes as one.
fn framed(text: &str) -> &str {
    if !text.starts_with("data:") && !text.starts_with("event:") {
        return text;
    }
    let data = text.lines().find_map(|line| line.strip_prefix("data:"));
    data.map_or(text, str::trim)
}

/// A field as a text, whether it is one or a number.
fn text(all: &Map<String, Value>, field: &str) -> Option<String> {
    match all.get(field)? {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
            None
        }
    }
}

fn number(value: &Value) -> Option<u16> {
    match value {
        Value::Number(number) => number.as_u64().and_then(|code| code.try_into().ok()),
        Value::String(text) => text.parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A list of complaints about fields, as some servers make it, in words.
fn complaints(list: &[Value]) -> String {
    let one = |complaint: &Value| {
        let complaint = complaint.as_object()?;
        let what = text(complaint, "msg").or_else(|| text(complaint, "message"))?;
        let place = complaint.get("loc").and_then(Value::as_array).map(|place| {
            let steps =
                place.iter().map(|step| step.as_str().map_or(step.to_string(), str::to_owned));
            steps.collect::<Vec<_>>().join(".")
        });
        Some(place.map_or_else(|| what.clone(), |place| format!("{place}: {what}")))
    };
    list.iter().filter_map(one).take(3).collect::<Vec<_>>().join("; ")
}
