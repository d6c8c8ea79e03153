//! Every kind of parameter and every kind of value: what comes of each, as a table.

use std::fmt::Write as _;

use super::*;

/// What parameters can be.
const KINDS: &[(&str, &str)] = &[
    ("string", r#"{"type":"string"}"#),
    ("integer", r#"{"type":"integer"}"#),
    ("number", r#"{"type":"number"}"#),
    ("boolean", r#"{"type":"boolean"}"#),
    ("object", r#"{"type":"object","properties":{"a":{"type":"integer"}}}"#),
    ("list", r#"{"type":"array","items":{"type":"integer"}}"#),
    ("enum", r#"{"enum":["red","Green",7,true]}"#),
    ("date-time", r#"{"type":"string","format":"date-time"}"#),
    ("uri", r#"{"type":"string","format":"uri"}"#),
    ("nullable", r#"{"type":["integer","null"]}"#),
    ("any of", r#"{"anyOf":[{"type":"integer"},{"type":"array","items":{"type":"string"}}]}"#),
];

/// What models write.
const INPUTS: &[&str] = &[
    r#""some text""#,
    r#""""#,
    r#"" ""#,
    "7",
    "7.0",
    "7.5",
    "1e30",
    "123456789012345678901",
    "0",
    "true",
    "null",
    "[7]",
    r#"["7"]"#,
    "[]",
    r#"{"a":7}"#,
    r#"{"A":"7"}"#,
    r#""7""#,
    r#"" 7.0 ""#,
    r#""7.5""#,
    r#""True""#,
    r#""null""#,
    r#""[7]""#,
    r#""[7""#,
    r#""{'a':7,}""#,
    r#""GREEN""#,
    r#""2025-01-31T09:00:00Z""#,
    r#""https://example.org/""#,
];

/// The whole table, as `kinds.txt` has it: a block for each kind, a line for each value.
fn table() -> String {
    let mut table = String::new();
    for (kind, schema) in KINDS {
        writeln!(table, "{kind}: {schema}").unwrap();
        let schema = format!(r#"{{"properties":{{"p":{schema}}},"required":["p"]}}"#);
        for input in INPUTS {
            let came = lines(&schema, &format!(r#"{{"p":{input}}}"#));
            writeln!(table, "    {input:<24} {}", came.join(" | ")).unwrap();
        }
        table.push('\n');
    }
    table
}

#[test]
fn every_kind_of_parameter_takes_what_can_mean_only_one_thing() {
    let (found, expected) = (table(), include_str!("kinds.txt"));
    assert!(found == expected, "another table came of it; if it is right, keep it:\n{found}");
}
