//! The contents, and the parts they are made of.

use crate::validator::Body;
use crate::validator::common::{is_blank, not_objects};
use crate::validator::media::{Media, Source};
use crate::validator::node::{Found, Node};
use crate::validator::pairing::Call;

/// What a part can be.
const THINGS: [&str; 9] = [
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
];
/// What can be said of a part.
const REMARKS: [&str; 5] =
    ["thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata"];

/// The contents.
pub(super) fn contents<'a>(body: &Body<'a>) -> Vec<Node<'a>> {
    let contents = body.root.list("contents").into_iter();
    contents.filter(|content| content.value.is_object()).collect()
}

/// The parts of all contents, with their contents.
fn parts<'a>(body: &Body<'a>) -> Vec<(Node<'a>, Node<'a>)> {
    let mut parts = Vec::new();
    for content in contents(body) {
        let of_content = content.list("parts").into_iter();
        parts.extend(of_content.map(|part| (content.clone(), part)));
    }
    parts
}

fn of_parts<'a>(content: &Node<'a>, key: &str) -> Vec<Node<'a>> {
    content.list("parts").iter().filter_map(|part| part.get(key)).collect()
}

/// The calls that have an id.
pub(super) fn calls<'a>(body: &Body<'a>) -> Vec<Call<'a>> {
    let calls = contents(body).into_iter().flat_map(|content| of_parts(&content, "functionCall"));
    calls
        .filter_map(|at| Some(Call { id: at.text_of("id")?, name: at.text_of("name")?, at }))
        .collect()
}

/// What is called and what answers, with names.
pub(super) fn called_names<'a>(body: &Body<'a>) -> Vec<(Node<'a>, &'a str)> {
    let keys = ["functionCall", "functionResponse"];
    let parts = parts(body).into_iter();
    let named =
        parts.flat_map(|(_, part)| keys.iter().filter_map(|key| part.get(key)).collect::<Vec<_>>());
    named.filter_map(|at| Some((at.clone(), at.text_of("name")?))).collect()
}

/// The images and documents, those of results too.
pub(super) fn media<'a>(body: &Body<'a>) -> Vec<Media<'a>> {
    let mut all: Vec<Node<'a>> = parts(body).into_iter().map(|(_, part)| part).collect();
    let inner = all.iter().filter_map(|part| part.get("functionResponse"));
    let inner: Vec<_> = inner.flat_map(|response| response.list("parts")).collect();
    all.extend(inner);
    all.into_iter().filter_map(|at| Some(Media { source: source(&at)?, at })).collect()
}

fn source<'a>(part: &Node<'a>) -> Option<Source<'a>> {
    if let Some(inline) = part.get("inlineData") {
        return Some(Source::inline(inline.text_of("mimeType"), inline.text_of("data")));
    }
    let file = part.get("fileData")?;
    Some(match file.text_of("fileUri") {
        Some(address) if address.contains("generativelanguage.googleapis.com") => Source::Elsewhere,
        Some(address) if address.starts_with("gs://") => Source::Elsewhere,
        Some(address) => Source::Remote(address),
        None => Source::Broken("no fileUri"),
    })
}

pub(super) fn unknown_roles(body: &Body<'_>) -> Vec<Found> {
    let others = contents(body).into_iter().filter(|at| !at.is_one_of("role", &["user", "model"]));
    others.map(|content| content.found_in("role", "no role that is known")).collect()
}

pub(super) fn out_of_turn(body: &Body<'_>) -> Vec<Found> {
    let contents = contents(body);
    let mut found = Vec::new();
    if let Some(first) = contents.first().filter(|first| first.is("role", "model")) {
        found.push(first.found("the model speaks first"));
    }
    for (before, content) in contents.iter().zip(contents.iter().skip(1)) {
        let role = content.text_of("role").filter(|role| before.is("role", role));
        let results = !of_parts(before, "functionResponse").is_empty();
        let again = match role {
            Some("model") => true,
            Some("user") => !results && body.server.alternation,
            _ => false,
        };
        if again {
            found.push(content.found("speaks twice"));
        }
    }
    found
}

pub(super) fn trailing_model(body: &Body<'_>) -> Vec<Found> {
    let may = body.server.prefill || body.root.has("continuationToken");
    let contents = contents(body);
    let last = contents.last().filter(|last| last.is("role", "model") && !may);
    // Calls are unanswered, for which there is another rule.
    let last = last.filter(|last| of_parts(last, "functionCall").is_empty());
    last.map(|last| last.found("the last content")).into_iter().collect()
}

pub(super) fn without_parts(body: &Body<'_>) -> Vec<Found> {
    contents(body).iter().flat_map(|content| not_objects(content, "parts", usize::MAX)).collect()
}

pub(super) fn odd_parts(body: &Body<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    for (_, part) in parts(body).into_iter().filter(|(_, part)| part.value.is_object()) {
        let fields = part.fields();
        let things = fields.iter().filter(|(key, _)| THINGS.contains(key)).count();
        let known = |key: &str| THINGS.contains(&key) || REMARKS.contains(&key);
        if things != 1 || !fields.iter().all(|(key, _)| known(key)) {
            found.push(part.found("not exactly one thing that is known"));
        } else if part.has("text") && part.text_of("text").is_none() {
            found.push(part.found("not a text"));
        }
    }
    found
}

pub(super) fn empty_texts(body: &Body<'_>) -> Vec<Found> {
    let unsigned = parts(body).into_iter().filter(|(_, part)| !part.has("thoughtSignature"));
    unsigned
        .filter(|(_, part)| part.text_of("text").is_some_and(is_blank))
        .map(|(_, part)| part.found("an empty text"))
        .collect()
}

pub(super) fn misplaced_parts(body: &Body<'_>) -> Vec<Found> {
    let models = ["functionCall", "executableCode", "codeExecutionResult", "thoughtSignature"];
    let misplaced = parts(body).into_iter().filter(|(content, part)| {
        let thought = part.value.get("thought").is_some_and(|flag| flag == true);
        let model = thought || models.iter().any(|key| part.has(key));
        let user = part.has("functionResponse");
        model && content.is("role", "user") || user && content.is("role", "model")
    });
    misplaced.map(|(_, part)| part.found("not in a content of this role")).collect()
}

pub(super) fn broken_calls(body: &Body<'_>) -> Vec<Found> {
    let keys = ["functionCall", "functionResponse"];
    let parts = parts(body).into_iter();
    let both =
        parts.flat_map(|(_, part)| keys.iter().filter_map(|key| part.get(key)).collect::<Vec<_>>());
    both.filter(|at| at.text_of("name").is_none()).map(|at| at.found("no name")).collect()
}

pub(super) fn odd_args(body: &Body<'_>) -> Vec<Found> {
    let calls = parts(body).into_iter().filter_map(|(_, part)| part.get("functionCall"));
    let args = calls.filter_map(|call| call.get("args"));
    args.filter(|args| !args.value.is_object()).map(|args| args.found("not an object")).collect()
}

pub(super) fn odd_responses(body: &Body<'_>) -> Vec<Found> {
    let results = parts(body).into_iter().filter_map(|(_, part)| part.get("functionResponse"));
    results
        .filter(|result| !result.get("response").is_some_and(|at| at.value.is_object()))
        .map(|result| result.found_in("response", "not an object"))
        .collect()
}

pub(super) fn mixed_results(body: &Body<'_>) -> Vec<Found> {
    let parts = parts(body).into_iter().filter(|(content, part)| {
        !part.has("functionResponse") && !of_parts(content, "functionResponse").is_empty()
    });
    parts.map(|(_, part)| part.found("beside functionResponses")).collect()
}

/// Every content with the one after it.
fn pairs<'a>(body: &Body<'a>) -> Vec<(Node<'a>, Option<Node<'a>>)> {
    let contents = contents(body);
    let next: Vec<_> = contents.iter().skip(1).cloned().map(Some).chain([None]).collect();
    contents.into_iter().zip(next).collect()
}

pub(super) fn unanswered(body: &Body<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    for (content, next) in pairs(body) {
        let calls = of_parts(&content, "functionCall").len();
        let results = next.map_or(0, |next| of_parts(&next, "functionResponse").len());
        if calls > 0 && calls != results {
            found.push(content.found(format_args!("{calls} calls, but {results} results")));
        }
    }
    found
}

pub(super) fn orphans(body: &Body<'_>) -> Vec<Found> {
    let contents = contents(body);
    let before = [None].into_iter().chain(contents.iter().map(Some));
    let mut found = Vec::new();
    for (before, content) in before.zip(&contents) {
        let called = before.is_some_and(|before| !of_parts(before, "functionCall").is_empty());
        if let Some(result) = of_parts(content, "functionResponse").first().filter(|_| !called) {
            found.push(result.found("no calls stand right before it"));
        }
    }
    found
}

pub(super) fn mismatched(body: &Body<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    for (content, next) in pairs(body) {
        let calls = of_parts(&content, "functionCall");
        let results = next.map(|next| of_parts(&next, "functionResponse")).unwrap_or_default();
        if calls.len() != results.len() {
            continue;
        }
        for (call, result) in calls.iter().zip(&results) {
            let same = |key| call.text_of(key) == result.text_of(key);
            // One without a name is not whole, for which there is another rule.
            let nameless = !call.has("name") || !result.has("name");
            if !nameless && !same("name") || !same("id") {
                found.push(result.found(format_args!("not the result of {}", call.path())));
            }
        }
    }
    found
}

pub(super) fn unsigned(body: &Body<'_>) -> Vec<Found> {
    if !body.server.signatures_required {
        return Vec::new();
    }
    let contents = contents(body);
    let said = |content: &Node<'_>| {
        content.is("role", "user") && of_parts(content, "functionResponse").is_empty()
    };
    let turn = contents.iter().rposition(said).map_or(0, |place| place + 1);
    let steps = contents.iter().skip(turn).filter(|content| content.is("role", "model"));
    let mut found = Vec::new();
    for step in steps {
        let parts = step.list("parts");
        let first = parts.iter().find(|part| part.has("functionCall"));
        let unsigned = first.filter(|part| !part.has("thoughtSignature"));
        found.extend(unsigned.map(|part| part.found("the first call of a step has no signature")));
    }
    found
}

pub(super) fn odd_signatures(body: &Body<'_>) -> Vec<Found> {
    let signatures = parts(body).into_iter().filter_map(|(_, part)| part.get("thoughtSignature"));
    signatures
        .filter(|signature| signature.text().is_none_or(is_blank))
        .map(|signature| signature.found("not a text with something in it"))
        .collect()
}

pub(super) fn result_parts(body: &Body<'_>) -> Vec<Found> {
    let results = parts(body).into_iter().filter_map(|(_, part)| part.get("functionResponse"));
    let parts = results.filter_map(|result| result.get("parts"));
    parts.filter(|_| !body.server.result_parts).map(|at| at.found("not with this model")).collect()
}
