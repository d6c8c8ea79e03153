//! Arguments that no well-meaning model writes, for any tool.

use serde_json::{Map, Value, json};
use threadline_testing::ids::Choices;

use crate::calls::Call;

/// About the most that a model's answer can have.
const LONG: usize = 900 * 1024;

/// The same hostile arguments for every tool.
pub(crate) fn fixed(schema: &Value) -> Vec<Call> {
    let mut all = vec![
        String::new(),
        "[".repeat(LONG),
        "{\"a\":".repeat(LONG / 5),
        "[".repeat(LONG / 2) + &"]".repeat(LONG / 2),
        "\"".to_owned() + &"\\u0000".repeat(LONG / 6),
        "{".to_owned() + &"\"a\":1,".repeat(LONG / 6) + "}",
        "{".to_owned() + &",".repeat(LONG),
        "{'a': '".to_owned() + &"\\ud800".repeat(LONG / 6) + "'}",
        "```json\n".repeat(LONG / 8),
        "1".repeat(LONG),
        "-".repeat(LONG),
        "\u{feff}".repeat(LONG / 3),
    ];
    let properties = properties(schema);
    for (name, _) in &properties {
        for value in [
            json!("x".repeat(LONG)),
            json!("\n".repeat(LONG)),
            json!("\\".repeat(LONG / 2)),
            json!("雨".repeat(LONG / 3)),
            json!("(".repeat(LONG)),
            json!(i64::MAX),
            json!(u64::MAX),
            json!(-1),
            json!(1e308),
            json!(vec![1; LONG / 2]),
            json!(vec!["x"; LONG / 4]),
            Value::Null,
        ] {
            let mut arguments = usual(&properties);
            arguments.insert(name.clone(), value);
            all.push(Value::Object(arguments).to_string());
        }
    }
    // Most of the bytes are in no parameter.
    let mut arguments = usual(&properties);
    arguments.extend((0..50_000).map(|number| (format!("x{number}"), json!(number))));
    all.push(Value::Object(arguments).to_string());
    all.into_iter().map(Call::new).collect()
}

/// Arguments of this schema with some of it broken.
pub(crate) fn random(schema: &Value, choices: &mut Choices) -> Call {
    let properties = properties(schema);
    let mut arguments = Map::new();
    for (name, _) in &properties {
        if choices.percent(80) {
            arguments.insert(name.clone(), value(choices, 0));
        }
    }
    let mut text = Value::Object(arguments).to_string();
    if choices.percent(30) {
        let at = usize::try_from(choices.below(text.len() as u64 + 1)).unwrap();
        text.truncate(text.floor_char_boundary(at));
    }
    if choices.percent(30) {
        text = text.replace('"', "'");
    }
    Call::new(text)
}

fn value(choices: &mut Choices, depth: usize) -> Value {
    let times = usize::try_from(1 << choices.below(18)).unwrap();
    match choices.below(if depth > 2 { 5 } else { 7 }) {
        0 => json!(["x", "a\n", "雨", "(a*)*", "\u{0}", "\\"][times % 6].repeat(times)),
        1 => json!(i64::MAX >> choices.below(64)),
        2 => json!(choices.percent(50)),
        3 => json!("..".to_owned() + &"/..".repeat(times % 5_000)),
        4 => Value::Null,
        5 => (0..times % 1_000).map(|_| value(choices, depth + 1)).take(50).collect(),
        _ => json!({ "a": value(choices, depth + 1) }),
    }
}

/// The parameters of a tool, by their schemas.
fn properties(schema: &Value) -> Vec<(String, Value)> {
    let properties = schema["properties"].as_object().unwrap();
    properties.iter().map(|(name, schema)| (name.clone(), schema.clone())).collect()
}

/// Arguments that fit, more or less.
fn usual(properties: &[(String, Value)]) -> Map<String, Value> {
    let value = |schema: &Value| match schema["type"].to_string() {
        kind if kind.contains("string") => json!("a"),
        kind if kind.contains("integer") => json!(1),
        kind if kind.contains("array") => json!([1]),
        _ => json!(true),
    };
    properties.iter().map(|(name, schema)| (name.clone(), value(schema))).collect()
}
