//! Tests of the shared resources: calls in, texts, changes and screens out.

use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::json;
use threadline_core::clock::Timestamp;
use threadline_core::history::sections::{Level, render};
use threadline_core::id::{CallId, Seq};
use threadline_core::tool::{Handling, Schema};
use threadline_core::widget::AgentView;

use super::*;
use crate::widgets::testing::{ask, done, take};

const ADA: AgentId = AgentId(1);
const BOB: AgentId = AgentId(2);

fn put(resources: &mut Resources, key: &str, text: &str) -> String {
    done(resources, ADA, PUT, &json!({ "key": key, "text": text }))
}

fn of(texts: &[(&str, &str)]) -> Resources {
    let mut resources = Resources::new();
    for (key, text) in texts {
        put(&mut resources, key, text);
    }
    resources
}

fn screen(resources: &Resources, cap_bytes: usize) -> String {
    let agents = [AgentView { id: ADA, name: "ada", interactions: 0 }];
    let at = Timestamp::default();
    let view = View { at, agent: BOB, agents: &agents, timers: &[], messages: 0, cap_bytes };
    resources.render(&view).map_or_else(String::new, |fragment| fragment.text)
}

#[test]
fn results_have_three_levels() {
    let mut resources = Resources::new();
    let mut call = |by, tool, arguments| done(&mut resources, by, tool, &arguments);
    let plan = "pack\nlock\nleave\n";
    assert_snapshot!(call(ADA, PUT, json!({ "key": "plan/draft", "text": plan, "description": " the\nplan " })), @r"
    put plan/draft; 1 shared resource, 24 of 131072 bytes
    + plan/draft: 3 lines, 16 bytes
    --
    + plan/draft: 3 lines, 16 bytes
    --
    put plan/draft: 3 lines, 16 bytes, the plan
    ");
    assert_snapshot!(call(BOB, PUT, json!({ "key": "plan/draft", "text": plan })), @"nothing changed: plan/draft is so already");
    assert_snapshot!(call(BOB, PUT, json!({ "key": "plan/draft", "text": "pack\nrest\nleave\n" })), @r"
    replaced plan/draft; 1 shared resource, 24 of 131072 bytes
    ~ plan/draft at line 2:
    - lock
    + rest
    --
    ~ plan/draft at line 2:
    - lock
    + rest
    --
    replaced plan/draft: 3 lines, 16 bytes, the plan
    ");
    assert_snapshot!(call(BOB, PUT, json!({ "key": "plan/draft", "text": "pack\nrest\nleave\n", "description": "a better plan" })), @r"
    described plan/draft; 1 shared resource, 29 of 131072 bytes
    ~ plan/draft: a better plan
    --
    ~ plan/draft: a better plan
    --
    described plan/draft: 3 lines, 16 bytes, a better plan
    ");
    call(ADA, PUT, json!({ "key": "a", "text": "x" }));
    assert_snapshot!(call(ADA, LIST, json!({})), @r"
    2 shared resources, 30 of 131072 bytes
    - a (1 line, 1 byte, from you)
    - plan/draft (3 lines, 16 bytes, from another agent): a better plan
    ");
    assert_snapshot!(call(ADA, GET, json!({ "key": "plan/draft", "line": 2 })), @r"
    rest
    leave
    ");
    assert_snapshot!(call(ADA, DROP, json!({ "key": "plan/draft" })), @r"
    dropped plan/draft; 1 shared resource, 1 of 131072 bytes
    - plan/draft: 3 lines, 16 bytes
    --
    - plan/draft: 3 lines, 16 bytes
    --
    dropped plan/draft
    ");
}

#[test]
fn what_was_done_is_told_in_numbers() {
    let resources = of(&[("a", "tea")]);
    let told = |metadata: &Metadata| {
        let told = metadata.iter().map(|(key, value)| match value {
            Value::Text(text) => format!("{key}={text}"),
            Value::Number(number) => format!("{key}={number}"),
            Value::Flag(flag) => format!("{key}={flag}"),
        });
        told.collect::<Vec<_>>().join(" ")
    };
    let reply = ask(&resources, PUT, &json!({ "key": "b", "text": "milk" }), BOB).unwrap();
    assert_eq!(reply.changes, [r#"{"put":{"key":"b","text":"milk"}}"#.into()]);
    assert_snapshot!(told(&reply.metadata), @"key=b new_count=2 new_length=7 operation=put previous_count=1 previous_length=3");
    let reply = ask(&resources, GET, &json!({ "key": "a" }), BOB).unwrap();
    assert_snapshot!(told(&reply.metadata), @"new_count=1 new_length=3 operation=get previous_count=1 previous_length=3");
    assert_eq!(render(&reply.result, Level::Gist), "read a: the one line");
    let refusal = ask(&resources, DROP, &json!({ "key": "c" }), BOB).unwrap_err();
    assert_snapshot!(told(&refusal.metadata), @"error=key_unknown operation=drop");
}

#[test]
fn a_call_that_cannot_be_says_what_to_do_instead() {
    let mut resources = of(&[("plan/draft", "a"), ("plan/final", "b"), ("sums", "c")]);
    let before = resources.clone();
    let long = "x".repeat(TEXT_CAP_BYTES + 1);
    let told = [
        (PUT, json!({ "key": "My Plan: Näch", "text": "x" })),
        (PUT, json!({ "key": "", "text": "x" })),
        (PUT, json!({ "key": "k".repeat(65), "text": "x" })),
        (PUT, json!({ "key": "a", "text": "" })),
        (PUT, json!({ "key": "a", "text": long })),
        (PUT, json!({ "key": "a", "text": "x", "description": "d".repeat(201) })),
        (GET, json!({ "key": "plan/drafts" })),
        (GET, json!({ "key": "zzz" })),
        (GET, json!({ "key": "sums", "line": 2 })),
        (GET, json!({ "key": "sums", "byte": 7 })),
        (DROP, json!({ "key": "sum" })),
    ]
    .map(|(tool, arguments)| done(&mut resources, ADA, tool, &arguments));
    assert_snapshot!(told.join("\n"), @r##"
    key_invalid: a key is 1 to 64 of a-z, 0-9 and . _ / -, such as my-plan-n-ch, not "My Plan: Näch"
    key_invalid: a key is 1 to 64 of a-z, 0-9 and . _ / -, such as plan/draft-2, not ""
    key_invalid: a key is 1 to 64 of a-z, 0-9 and . _ / -, such as kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk, not "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"
    text_empty: there is nothing to put: the text is empty; resource_drop takes one away
    text_too_long: a resource has at most 16384 bytes, not 16385; put it in parts, such as a/1 and a/2
    description_too_long: a description has at most 200 bytes, not 201
    key_unknown: there is nothing under "plan/drafts"; the nearest there is: plan/draft, plan/final
    key_unknown: there is nothing under "zzz"; there is: plan/draft, plan/final, sums
    line_not_found: there is no line 2: the last is 1
    byte_not_found: line 1 has only 1 byte
    key_unknown: there is nothing under "sum"; the nearest there is: sums
    "##);
    assert_eq!(resources, before);
    let none = done(&mut Resources::new(), ADA, GET, &json!({ "key": "a" }));
    assert_snapshot!(none, @r##"key_unknown: there is nothing under "a", and nothing is shared; resource_put puts a text there"##);
    assert_snapshot!(done(&mut Resources::new(), ADA, LIST, &json!({})), @"nothing is shared; resource_put puts a text under a key");
    for (tool, arguments) in
        [(PUT, "{}"), (PUT, "[1"), (GET, r#"{"key":7}"#), (DROP, "{}"), ("resource_burn", "{}")]
    {
        let call = CallId { output: Seq(1), index: 0 };
        let (by, at) = (ADA, Timestamp::default());
        let refusal = resources.call(&WidgetCall { tool, arguments, call, by, at }).unwrap_err();
        assert!(!refusal.result.is_empty(), "{tool} {arguments}");
    }
}

#[test]
fn there_are_limits_and_they_are_said() {
    let mut resources = Resources::new();
    for n in 0..KEYS_CAP {
        put(&mut resources, &format!("key-{n}"), "x");
    }
    assert_snapshot!(put(&mut resources, "one-more", "x"), @"does_not_fit: there are at most 64 shared resources, and this would make 65; drop one that nobody needs first");
    assert!(put(&mut resources, "key-1", "y").starts_with("replaced key-1;"));

    let text = "x".repeat(TEXT_CAP_BYTES);
    let mut resources = Resources::new();
    for n in 0..8 {
        put(&mut resources, &format!("key-{n}"), &text);
    }
    assert_snapshot!(put(&mut resources, "one-more", "x"), @"does_not_fit: shared resources take at most 131072 bytes together, and this would make it 131073; drop or shorten some first");
    assert_eq!(resources.by_key.len(), 8);
    put(&mut resources, "key-0", "short");
    assert!(put(&mut resources, "one-more", "x").starts_with("put one-more;"));
}

#[test]
fn the_screen_shows_what_there_is_and_not_the_texts() {
    let mut resources = of(&[("a", "SECRET\nSECRET"), ("b/c", &"SECRET".repeat(300))]);
    assert_eq!(screen(&Resources::new(), 4096), "");
    done(&mut resources, BOB, PUT, &json!({ "key": "d", "text": "SECRET", "description": "keys" }));
    let shown = screen(&resources, 4096);
    assert!(!shown.contains("SECRET"));
    assert_snapshot!(shown, @r##"
    ## Shared resources

    - a (2 lines, 13 bytes, from ada)
    - b/c (1 line, 1.8 KB, from ada)
    - d (1 line, 6 bytes, from agent 2): keys
    "##);
    assert_snapshot!(screen(&resources, 90), @r##"
    ## Shared resources

    - a (2 lines, 13 bytes, from ada)
    [2 more: resource_list]
    "##);
    for cap in 60..300 {
        assert!(screen(&resources, cap).len() <= cap, "{cap}");
    }
}

#[test]
fn changes_that_do_not_fit_are_refused_and_change_nothing() {
    let mut resources = of(&[("a", "x")]);
    for change in [r#"{"put":{"key":"b","text":"y","description":"z"}}"#, r#"{"drop":"b"}"#] {
        take(&mut resources, change, BOB).unwrap();
    }
    let before = resources.clone();
    let long = format!(r#"{{"put":{{"key":"b","text":"{}"}}}}"#, "x".repeat(TEXT_CAP_BYTES + 1));
    for change in [
        "",
        "{}",
        r#"{"put":"b"}"#,
        r#"{"put":{"key":"b"}}"#,
        r#"{"put":{"key":"B","text":"y"}}"#,
        r#"{"put":{"key":"b","text":""}}"#,
        r#"{"put":{"key":"b","text":"y","description":""}}"#,
        r#"{"put":{"key":"b","text":"y","description":"y\nz"}}"#,
        r#"{"put":{"key":"b","text":"y","by":7}}"#,
        &long,
        r#"{"drop":"b"}"#,
        r#"{"drop":{"key":"a"}}"#,
        r#"{"erase":"a"}"#,
    ] {
        let refused = take(&mut resources, change, ADA).unwrap_err();
        assert_eq!(&*refused.widget, NAME);
        assert_eq!(resources, before, "{change}");
    }
}

#[test]
fn states_of_other_versions_and_damaged_ones_are_not_read() {
    let mut resources = of(&[("a", "x")]);
    let before = resources.clone();
    let other = of(&[("b", "y"), ("c", "z")]);
    let good = other.encode();
    let text = String::from_utf8(good.bytes.clone()).unwrap();
    assert_eq!(
        text,
        r#"[{"by":1,"description":null,"key":"b","text":"y"},{"by":1,"description":null,"key":"c","text":"z"}]"#
    );
    for text in [
        String::new(),
        text.replace("\"c\"", "\"b\""),
        text.replace("\"c\"", "\"a\""),
        text.replace("\"c\"", "\"C\""),
        text.replace("\"z\"", "\"\""),
        text.replace("null", "\"\""),
        text.replace("\"by\"", "\"of\""),
        format!(" {text}"),
    ] {
        let state = WidgetState { version: 1, bytes: text.clone().into() };
        assert!(resources.decode(&state).is_err(), "{text}");
        assert_eq!(resources, before);
    }
    assert!(resources.decode(&WidgetState { version: 2, ..good.clone() }).is_err());
    resources.decode(&good).unwrap();
    assert_eq!(resources, other);
}

#[test]
fn its_tools_have_schemas_that_can_be_checked() {
    for tool in Resources::new().tools() {
        assert_eq!(tool.handling, Handling::Recorded);
        Schema::new(&tool.schema).unwrap_or_else(|refused| panic!("{}: {refused}", tool.name));
    }
}

fn call() -> impl Strategy<Value = (&'static str, String, String, Option<String>)> {
    let key = "[ab/]{0,2}|[A ]|[a-z]{1,70}";
    let text = prop_oneof![
        6 => "[ab\n雨]{0,9}".boxed(),
        1 => (1..20_000usize).prop_map(|bytes| "x".repeat(bytes)).boxed(),
    ];
    let tool = prop_oneof![6 => Just(PUT), 2 => Just(DROP), 1 => Just(GET)];
    (tool, key, text, prop::option::weighted(0.3, "[de]{1,4}"))
}

proptest! {
    #[test]
    fn the_resources_and_a_plain_map_agree(calls in prop::collection::vec(call(), 0..60)) {
        let mut model = BTreeMap::<String, (String, Option<String>, AgentId)>::new();
        let mut resources = Resources::new();
        let mut recorded = Vec::new();
        for (index, (tool, key, text, description)) in calls.into_iter().enumerate() {
            let by = AgentId(u32::try_from(index % 2).unwrap());
            let arguments = match tool {
                PUT => json!({ "key": key, "text": text, "description": description }),
                _ => json!({ "key": key }),
            };
            let before = resources.clone();
            let reply = ask(&resources, tool, &arguments, by);
            prop_assert_eq!(&resources, &before, "a call changes nothing by itself");
            // What the plain map says.
            let valid = (1..=64).contains(&key.len())
                && key.chars().all(|c| c.is_ascii_lowercase() || "./_-".contains(c) || c.is_ascii_digit());
            let can = match tool {
                PUT if valid && !text.is_empty() && text.len() <= TEXT_CAP_BYTES => {
                    let mut after = model.clone();
                    let old = after.get(&key).cloned();
                    let description = description.or(old.as_ref().and_then(|old| old.1.clone()));
                    let same = |old: &(String, Option<String>, AgentId)| {
                        old.0 == text && old.1 == description
                    };
                    if !old.as_ref().is_some_and(same) {
                        after.insert(key.clone(), (text, description, by));
                    }
                    let bytes = |one: &(String, Option<String>, AgentId)| {
                        one.0.len() + one.1.as_ref().map_or(0, String::len)
                    };
                    let fits = after.values().map(bytes).sum::<usize>() <= ALL_CAP_BYTES
                        && after.len() <= KEYS_CAP;
                    if fits {
                        model = after;
                    }
                    fits
                }
                PUT => false,
                DROP => model.remove(&key).is_some(),
                _ => model.contains_key(&key),
            };
            prop_assert_eq!(reply.is_ok(), can, "{} {}: {:?}", tool, key, reply);
            for change in reply.map(|reply| reply.changes).unwrap_or_default() {
                take(&mut resources, &change, by).unwrap();
                recorded.push((change, by));
            }
            let told = resources.by_key.iter().map(|(key, one)| {
                let description = one.description.as_deref().map(str::to_owned);
                (key.to_string(), (one.text.to_string(), description, one.by))
            });
            prop_assert_eq!(&told.collect::<BTreeMap<_, _>>(), &model);
            prop_assert!(screen(&resources, 300).len() <= 300);
        }
        let mut replayed = Resources::new();
        for (change, by) in &recorded {
            take(&mut replayed, change, *by).unwrap();
        }
        prop_assert_eq!(replayed.encode(), resources.encode());
        let mut decoded = of(&[("something", "else")]);
        decoded.decode(&resources.encode()).unwrap();
        prop_assert_eq!(&decoded, &resources);
    }

    #[test]
    fn nothing_makes_it_panic(
        key in "\\PC{0,9}",
        text in "\\PC*",
        change in "\\PC*",
        state in prop::collection::vec(any::<u8>(), 0..60),
        place in (0..9usize, 0..9usize),
    ) {
        let mut resources = of(&[("a", "雨\n\n雨")]);
        done(&mut resources, ADA, PUT, &json!({ "key": key, "text": text }));
        let (line, byte) = place;
        done(&mut resources, ADA, GET, &json!({ "key": "a", "line": line, "byte": byte }));
        drop(take(&mut resources, &change, ADA));
        drop(resources.decode(&WidgetState { version: 1, bytes: state }));
    }
}
