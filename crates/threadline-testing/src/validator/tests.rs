//! Every rule takes a valid body and refuses its mutants.

mod anthropic;
mod gemini;
mod openai_chat;
mod openai_responses;
mod recordings;

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::json;

use super::*;

/// A change that breaks exactly one rule.
type Mutant = (&'static str, fn(&mut Value, &mut Server));

/// The valid body of a dialect and its mutants.
fn cases(dialect: WireDialect) -> (Value, &'static [Mutant]) {
    match dialect {
        WireDialect::OpenAiChat => (openai_chat::valid(), openai_chat::MUTANTS),
        WireDialect::OpenAiResponses => (openai_responses::valid(), openai_responses::MUTANTS),
        WireDialect::Anthropic => (anthropic::valid(), anthropic::MUTANTS),
        WireDialect::Gemini => (gemini::valid(), gemini::MUTANTS),
    }
}

/// The beginning of an image.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB";
/// The beginning of another image.
const JPEG: &str = "/9j/4AAQSkZJRgABAQAA";
/// The beginning of a document.
const PDF: &str = "JVBERi0xLjcK";

/// The rules that a body breaks.
fn broken(dialect: WireDialect, server: &Server, body: &Value) -> BTreeSet<&'static str> {
    let violations = check(dialect, server, body.to_string().as_bytes());
    violations.iter().map(|violation| violation.rule).collect()
}

/// Puts something at the end of a list.
fn push(body: &mut Value, pointer: &str, value: Value) {
    body.pointer_mut(pointer).unwrap().as_array_mut().unwrap().push(value);
}

/// Puts something into a list.
fn insert(body: &mut Value, pointer: &str, place: usize, value: Value) {
    body.pointer_mut(pointer).unwrap().as_array_mut().unwrap().insert(place, value);
}

/// Takes something out of a list.
fn remove(body: &mut Value, pointer: &str, place: usize) -> Value {
    body.pointer_mut(pointer).unwrap().as_array_mut().unwrap().remove(place)
}

/// Takes a field out of an object; the empty pointer is the body.
fn drop_field(body: &mut Value, pointer: &str, key: &str) {
    let object = body.pointer_mut(pointer).unwrap().as_object_mut().unwrap();
    assert!(object.remove(key).is_some(), "{key} was not there");
}

/// Sets what a pointer leads to, or a new field of what is before it.
fn set(body: &mut Value, pointer: &str, value: Value) {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match body.pointer_mut(parent).unwrap() {
        Value::Array(items) => items[key.parse::<usize>().unwrap()] = value,
        object => object[key] = value,
    }
}

#[test]
fn a_valid_body_is_taken() {
    for dialect in WireDialect::ALL {
        let (valid, _) = cases(dialect);
        for server in [Server::default(), Server::lenient()] {
            let violations = check(dialect, &server, valid.to_string().as_bytes());
            assert_eq!(violations, [], "{}", dialect.name());
        }
    }
}

#[test]
fn a_mutant_is_refused_by_the_rule_that_it_breaks_and_by_no_other() {
    for dialect in WireDialect::ALL {
        let (valid, mutants) = cases(dialect);
        for (place, (rule, mutate)) in mutants.iter().enumerate() {
            let (mut body, mut server) = (valid.clone(), Server::default());
            mutate(&mut body, &mut server);
            let name = dialect.name();
            assert_eq!(broken(dialect, &server, &body), BTreeSet::from([*rule]), "{name} {place}");
        }
    }
}

#[test]
fn every_rule_has_a_mutant() {
    for dialect in WireDialect::ALL {
        let (_, mutants) = cases(dialect);
        let with: BTreeSet<_> = mutants.iter().map(|(rule, _)| *rule).collect();
        let rules: BTreeSet<_> = rules(dialect).iter().map(|rule| rule.name).collect();
        let without: Vec<_> = rules.difference(&with).collect();
        assert_eq!(without, [&""; 0], "{}", dialect.name());
        let unknown: Vec<_> = with.difference(&rules).collect();
        assert_eq!(unknown, [&""; 0], "{}", dialect.name());
    }
}

#[test]
fn a_rule_has_a_name_of_its_own_and_says_one_line() {
    for dialect in WireDialect::ALL {
        let mut seen = BTreeSet::new();
        for rule in rules(dialect) {
            assert!(seen.insert(rule.name), "{} is there twice", rule.name);
            let plain =
                |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
            let kebab = rule.name.bytes().all(plain);
            assert!(kebab && !rule.says.is_empty() && !rule.says.contains('\n'), "{}", rule.name);
        }
    }
}

#[test]
fn what_is_not_an_object_breaks_the_first_rule_only() {
    for dialect in WireDialect::ALL {
        for body in ["", "{", "[]", "7", "null", "\"{}\"", "{\"a\": 1e999}", "{} {}"] {
            let violations = check(dialect, &Server::default(), body.as_bytes());
            assert_eq!(violations.len(), 1, "{body}");
            assert_eq!(violations[0].rule, "is-a-json-object", "{body}");
        }
    }
}

#[test]
fn a_violation_says_where_it_is() {
    let (mut body, _) = cases(WireDialect::OpenAiChat);
    set(&mut body, "/messages/1/content/0/text", json!(""));
    let violations =
        check(WireDialect::OpenAiChat, &Server::default(), body.to_string().as_bytes());
    assert_eq!(violations[0].path, "messages[1].content[0]");
    assert_eq!(violations[0].to_string(), "messages[1].content[0]: an empty text (no-empty-text)");
}

#[test]
fn a_dialect_is_known_by_its_name() {
    for dialect in WireDialect::ALL {
        assert_eq!(WireDialect::named(dialect.name()), Some(dialect));
    }
    assert_eq!(WireDialect::named("OpenAI"), None);
}

/// Any JSON of a few levels, with the words of the dialects in it.
fn any_json() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "role",
        "user",
        "assistant",
        "model",
        "tool",
        "system",
        "content",
        "parts",
        "text",
        "type",
        "tool_use",
        "tool_result",
        "thinking",
        "function",
        "function_call",
        "functionCall",
        "name",
        "reasoning",
        "id",
        "call_id",
        "$ref",
        "#",
        "properties",
        "image",
        "source",
        "data",
        "",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        word.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((word.clone(), inner), 0..5).prop_map(|fields| {
                fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
            }),
        ]
    })
}

/// Every place in a value, as a pointer.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                pointers(item, &format!("{at}/{place}"), found);
            }
        }
        Value::Object(fields) => {
            for (key, field) in fields {
                let key = key.replace('~', "~0").replace('/', "~1");
                pointers(field, &format!("{at}/{key}"), found);
            }
        }
        _ => {}
    }
}

proptest! {
    #[test]
    fn bytes_never_stop_it(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for dialect in WireDialect::ALL {
            prop_assert!(!check(dialect, &Server::default(), &bytes).is_empty());
        }
    }

    #[test]
    fn whatever_stands_anywhere_never_stops_it(odd in any_json(), place in any::<prop::sample::Index>()) {
        for dialect in WireDialect::ALL {
            let (mut body, _) = cases(dialect);
            let mut places = Vec::new();
            pointers(&body, "", &mut places);
            let pointer = &places[place.index(places.len())];
            *body.pointer_mut(pointer).unwrap() = odd.clone();
            for server in [Server::default(), Server::lenient()] {
                check(dialect, &server, body.to_string().as_bytes());
            }
        }
    }
}
