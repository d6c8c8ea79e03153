//! The page on the commands and what they print.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::home::{Home, TALK};
use crate::stories::WEATHER;

const PAGE: &str = include_str!("../../../../docs/cli.md");

/// The names of all fields, those of bodies and of metadata left out: they are no business of the
/// commands.
fn fields(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => {
            for item in items {
                fields(item, into);
            }
        }
        Value::Object(object) => {
            for (name, value) in object {
                into.insert(name.clone());
                if name != "body" && name != "metadata" && name != "headers" && name != "schema" {
                    fields(value, into);
                }
            }
        }
        _ => {}
    }
}

/// The part of the page about a command.
fn part(command: &str) -> &'static str {
    let heading = format!("\n## threadline {command}\n");
    let start = PAGE.find(&heading).unwrap() + heading.len();
    let rest = &PAGE[start..];
    &rest[..rest.find("\n## ").unwrap_or(rest.len())]
}

#[test]
fn every_field_that_is_printed_is_in_the_page() {
    let home = Home::with(WEATHER);
    home.run(&["fork", TALK]).ok();
    home.write("threadline.toml", "[limits]\nsteps = 40\n");
    home.write("event", "{}");
    let commands: &[(&str, &[&str])] = &[
        ("run", &["add 2 and 3"]),
        ("resume", &["last"]),
        ("resume", &["--all"]),
        ("send", &["last", "add 1 and 1"]),
        ("cancel", &["last"]),
        ("agents", &[]),
        ("agents", &["last"]),
        ("agents", &["last", "add", "ada"]),
        ("list", &[]),
        ("show", &["last", "--all"]),
        ("context", &["last", "--text"]),
        ("context", &["last", "--at", "10", "--diff"]),
        ("notebook", &["last", "--set", "tea"]),
        ("notebook", &["last", "--blame"]),
        ("search", &["oslo"]),
        ("fork", &["last"]),
        ("rewind", &["last"]),
        ("export", &["last", "-o", "file"]),
        ("import", &["file"]),
        ("workspace", &["last"]),
        ("verify", &["--all"]),
        ("policy", &["last"]),
        ("policy", &["last", "deny", "shell"]),
        ("doctor", &[]),
        ("models", &[]),
        ("tools", &[]),
        ("trust", &["threadline.toml"]),
        ("wire encode", &["--model", "gpt-5", "last"]),
        ("wire decode", &["--dialect", "gemini", "event"]),
        ("dev generate", &["--entries", "20"]),
    ];
    for (command, arguments) in commands {
        let words: Vec<&str> = command.split(' ').collect();
        let printed = home.run(&[&words, *arguments, &["--json"]].concat()).json();
        let mut printed_fields = BTreeSet::new();
        fields(&printed, &mut printed_fields);
        assert!(!printed_fields.is_empty(), "{command} prints nothing");
        // What is told elsewhere is told once.
        let told = [part(command), part("list"), part("show"), part("run")].concat();
        for field in printed_fields {
            assert!(told.contains(&format!("`{field}`")), "{command}: `{field}` is not told");
        }
    }
}

#[test]
fn every_example_in_the_page_is_json_of_that_form() {
    let examples = PAGE.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let examples: Vec<Value> = examples.map(|text| serde_json::from_str(text).unwrap()).collect();
    assert_eq!(examples.len(), 30);
    let mut shown = BTreeSet::new();
    for example in &examples {
        fields(example, &mut shown);
    }
    for field in shown {
        let told = PAGE.contains(&format!("`{field}`"));
        assert!(told || matches!(&*field, "error" | "message"), "{field} is shown but not told");
    }
}
