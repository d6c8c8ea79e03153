//! Tests of the notebook: calls in, texts, changes and screens out.

use proptest::prelude::*;
use threadline_core::clock::Timestamp;
use threadline_core::history::sections::{Level, render};
use threadline_core::id::{AgentId, CallId, Seq};
use threadline_core::tool::{Handling, Schema};

use super::*;

mod model;
mod span;

fn of(text: &str) -> Notebook {
    let mut notebook = Notebook::new();
    take(&mut notebook, &Notebook::set(text).unwrap()).unwrap();
    notebook
}

fn take(notebook: &mut Notebook, change: &str) -> Result<(), ChangeRefused> {
    let change = Change { text: change, seq: Seq(1), by: AgentId(0), at: Timestamp::default() };
    notebook.apply(&change)
}

fn ask(notebook: &Notebook, tool: &str, arguments: &serde_json::Value) -> Result<Reply, Refusal> {
    let arguments = &*arguments.to_string();
    let call = CallId { output: Seq(1), index: 0 };
    let (by, at) = (AgentId(0), Timestamp::default());
    notebook.call(&WidgetCall { tool, arguments, call, by, at })
}

/// Asks, and applies what comes of it.
fn done(notebook: &mut Notebook, tool: &str, arguments: &serde_json::Value) -> String {
    match ask(notebook, tool, arguments) {
        Ok(reply) => {
            for change in &reply.changes {
                take(notebook, change).unwrap();
            }
            render(&reply.result, Level::Live).into_owned()
        }
        Err(refusal) => {
            let Some(Value::Text(code)) = refusal.metadata.get("error") else {
                panic!("{refusal:?} has no code")
            };
            format!("{code}: {}", render(&refusal.result, Level::Live))
        }
    }
}

fn append(notebook: &mut Notebook, text: &str) -> String {
    done(notebook, APPEND, &serde_json::json!({ "text": text }))
}

fn replace(notebook: &mut Notebook, find: &str, with: &str, anchor: Option<&str>) -> String {
    let mut arguments = serde_json::json!({ "find": find, "with": with });
    if let Some(anchor) = anchor {
        arguments["anchor"] = anchor.into();
    }
    done(notebook, REPLACE, &arguments)
}

fn screen(notebook: &Notebook, cap_bytes: usize) -> String {
    let view = View {
        at: Timestamp::default(),
        agent: AgentId(0),
        agents: &[],
        timers: &[],
        messages: 0,
        cap_bytes,
    };
    notebook.render(&view).unwrap().text
}

#[test]
fn texts_are_added_on_lines_of_their_own() {
    let table = [
        ("", "tea", "tea"),
        ("", "\n\n tea\r\n", " tea"),
        ("tea", "milk", "tea\nmilk"),
        ("tea", "\nmilk", "tea\nmilk"),
        ("tea", "\n\nmilk", "tea\n\nmilk"),
        ("tea", "milk\r\nand\rsugar \n\n", "tea\nmilk\nand\nsugar"),
        ("tea", " milk", "tea\n milk"),
        ("tea", "milk\u{3000}", "tea\nmilk\u{3000}"),
    ];
    for (before, text, after) in table {
        let mut notebook = of(before);
        append(&mut notebook, text);
        assert_eq!(notebook.text(), after, "{before:?} + {text:?}");
    }
}

#[test]
fn texts_are_replaced_and_emptied_lines_go() {
    let table = [
        ("a b c", "b", "x", None, "a x c"),
        ("a\nb\nc", "b", "", None, "a\nc"),
        ("a\nb\nc", "a", "", None, "b\nc"),
        ("a\nb\nc", "c", "", None, "a\nb"),
        ("a", "a", "", None, ""),
        ("a\n  b \nc", "b", "", None, "a\nc"),
        ("a\n- b\nc", "b", "", None, "a\n- \nc"),
        ("a\n- b", "b", "", None, "a\n-"),
        ("a\nb\nc\nd", "b\nc", "", None, "a\nd"),
        ("a\nb\nc", "b\n", "", None, "a\nc"),
        ("a\nb\nc", "\nb", "", None, "a\nc"),
        ("a\n\nb\nc", "\nb", "", None, "a\n\nc"),
        ("a\n\nb", "\n\n", "", None, "ab"),
        ("a\nb", "b", "c \n\n", None, "a\nc"),
        ("a\nb", "b", " \n", None, "a"),
        ("a\r\nb", "a\r\nb", "c", None, "c"),
        ("x 1\nx 2\nx 3", "x", "y", Some("1"), "x 1\ny 2\nx 3"),
        ("x 1\nx 2\nx 3", "x", "y", Some("2\n"), "x 1\nx 2\ny 3"),
        ("x 1\nx 2", "x", "y", Some(""), "y 1\nx 2"),
        ("雨雪", "雪", "風", None, "雨風"),
    ];
    for (before, find, with, anchor, after) in table {
        let mut notebook = of(before);
        replace(&mut notebook, find, with, anchor);
        assert_eq!(notebook.text(), after, "{before:?}: {find:?} by {with:?} after {anchor:?}");
    }
}

#[test]
fn a_call_that_cannot_be_says_what_to_do_instead() {
    let list = "- green tea\n- black tea\n- coffee";
    let table = [
        (
            list,
            "tee",
            None,
            "find_not_found: the notebook does not have this find, exactly as it is written",
        ),
        (
            list,
            "- Coffee ",
            None,
            "find_not_found: the notebook does not have this find, exactly as it is written; the \
             nearest there is:\nline 3: - coffee",
        ),
        (
            list,
            "tea",
            None,
            "find_not_unique: the text is in the notebook 2 times; give more of what is around \
             the one that is meant, or an anchor before it:\n\
             line 1: …- green tea - black tea - coffee…\n\
             line 2: …- green tea - black tea - coffee…",
        ),
        (
            list,
            "green",
            Some("black"),
            "find_not_found: the text is in the notebook, but not after the anchor, which ends in \
             line 2; give another anchor or none",
        ),
        (
            list,
            "tea",
            Some("cofee"),
            "anchor_not_found: the notebook does not have this anchor, exactly as it is written; \
             the nearest there is:\nline 3: - coffee",
        ),
        (
            "",
            "tea",
            None,
            "find_not_found: the notebook is empty; use notebook_append to write into it",
        ),
        (
            list,
            "",
            None,
            "find_empty: there is nothing to find: give the text to replace, or use notebook_append",
        ),
        (
            "aaa",
            "aa",
            None,
            "find_not_unique: the text is in the notebook 2 times; give more of what is around the one that is meant, or an anchor before it:\nline 1: …aaa…\nline 1: …aaa…",
        ),
    ];
    for (before, find, anchor, expected) in table {
        let mut notebook = of(before);
        assert_eq!(replace(&mut notebook, find, "x", anchor), expected, "{find:?}");
        assert_eq!(notebook.text(), before);
    }
    assert_eq!(
        append(&mut of("a"), " \n\u{3000}"),
        "text_empty: there is nothing to add: the text is blank"
    );
    let many = replace(&mut of(&"a b ".repeat(100)), "b", "c", None);
    assert!(many.contains("100 times") && many.ends_with("and 95 more"), "{many}");
}

#[test]
fn garbage_is_refused_and_changes_nothing() {
    let notebook = of("tea");
    for (tool, arguments) in [
        (APPEND, "{}"),
        (APPEND, "[1"),
        (APPEND, r#"{"text":7}"#),
        (REPLACE, r#"{"find":"tea"}"#),
        (REPLACE_SPAN, r#"{"start":"tea","with":""}"#),
        (READ, r#"{"line":-1}"#),
        ("notebook_burn", "{}"),
        ("", ""),
    ] {
        let call = CallId { output: Seq(1), index: 0 };
        let (by, at) = (AgentId(0), Timestamp::default());
        let refusal = notebook.call(&WidgetCall { tool, arguments, call, by, at }).unwrap_err();
        assert!(!refusal.result.is_empty(), "{tool} {arguments}");
    }
}

#[test]
fn the_notebook_has_a_limit_and_says_so() {
    let mut notebook = of(&"x".repeat(TEXT_CAP_BYTES - 4));
    let told = append(&mut notebook, "milk");
    let expected = "does_not_fit: the notebook holds at most 32768 bytes and this would make it \
                    32769; shorten something in it first";
    assert_eq!(told, expected);
    append(&mut notebook, "tea");
    assert_eq!(notebook.text().len(), TEXT_CAP_BYTES);
    let bytes = TEXT_CAP_BYTES + 1;
    assert_eq!(Notebook::set(&"x".repeat(bytes)), Err(TooLong { bytes }));
    let over = format!(r#"{{"set":"{}"}}"#, "x".repeat(bytes));
    assert!(take(&mut notebook, &over).is_err());
    assert_eq!(notebook.text().len(), TEXT_CAP_BYTES);
}

#[test]
fn a_result_has_three_levels_and_numbers() {
    let mut notebook = of("tea\nmilk");
    let arguments = serde_json::json!({ "find": "milk", "with": "oat milk\nsugar" });
    let reply = ask(&notebook, REPLACE, &arguments).unwrap();
    let change = r#"{"replace":{"at":4,"len":4,"with":"oat milk\nsugar"}}"#;
    assert_eq!(reply.changes, [change.into()]);
    let at = |level| render(&reply.result, level).into_owned();
    let diff = "at line 2:\n- milk\n+ oat milk\n+ sugar";
    let told = "replaced text in line 2; the notebook has 3 lines, 18 of 32768 bytes";
    assert_eq!(at(Level::Live), format!("{told}\n{diff}"));
    assert_eq!(at(Level::Recent), diff);
    assert_eq!(at(Level::Gist), r#"notebook: "milk" became "oat milk sugar""#);
    let metadata = reply.metadata.iter().map(|(key, value)| format!("{key}={value:?}"));
    assert_eq!(
        metadata.collect::<Vec<_>>().join(" "),
        "anchor=Text(\"none\") delta=Number(10) new_length=Number(18) operation=Text(\"replace\") \
         previous_length=Number(8)"
    );

    let reply = ask(&notebook, APPEND, &serde_json::json!({ "text": "honey" })).unwrap();
    assert_eq!(reply.changes, [r#"{"append":"\nhoney"}"#.into()]);
    assert_eq!(render(&reply.result, Level::Gist), "noted: honey");
    assert_eq!(render(&reply.result, Level::Recent), "at line 3:\n+ honey");

    let same = replace(&mut notebook, "milk", "milk", None);
    assert_eq!(same, "nothing changed: line 2 reads so already");
    let gone = replace(&mut notebook, "tea\nmilk", "", None);
    let expected =
        "deleted text in lines 1 to 2; the notebook is empty now\nat line 1:\n- tea\n- milk";
    assert_eq!(gone, expected);

    let long = (0..40).map(|n| n.to_string()).collect::<Vec<_>>().join("\n");
    let told = append(&mut notebook, &long);
    assert!(told.ends_with("\n+ 11\n+ … 28 more added"), "{told}");
}

#[test]
fn the_screen_shows_all_or_a_head_and_how_to_read_on() {
    assert_eq!(screen(&Notebook::new(), 4096), "## Notebook\n\n(empty)");
    assert_eq!(screen(&of("tea"), 4096), "## Notebook\n\n```\ntea\n```");
    let fenced = "````rust\nlet a;\n````";
    assert_eq!(screen(&of(fenced), 4096), format!("## Notebook\n\n`````\n{fenced}\n`````"));

    let long = of(&(1..=100).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n"));
    let shown = screen(&long, 200);
    let expected = "## Notebook\n\n```\nline 1\nline 2\nline 3\nline 4\nline 5\nline 6\nline 7\n\
                    line 8\nline 9\nline 10\nline 11\n```\n[89 more lines: notebook_read with line 12]";
    assert_eq!(shown, expected);
    let wide = of(&"雨".repeat(1000));
    assert!(screen(&wide, 300).ends_with("雨\n```\n[1 more line: notebook_read with line 1]"));
    assert_eq!(screen(&long, 10), "## Notebook\n\n(100 lines, 791 bytes: notebook_read)");
    for cap in 130..1200 {
        assert!(screen(&long, cap).len() <= cap && screen(&wide, cap).len() <= cap, "{cap}");
    }
}

#[test]
fn it_can_be_read_page_by_page() {
    let text = (1..=3000).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n");
    let text = format!("{}\n\n\nend", &text[..20_000].trim_end());
    let mut notebook = of(&text);
    let (mut line, mut read) = (1, Vec::new());
    loop {
        let page = done(&mut notebook, READ, &serde_json::json!({ "line": line }));
        let Some((shown, note)) = page.rsplit_once("\n[lines ") else {
            read.push(page);
            break;
        };
        read.push(shown.to_owned());
        line = note.rsplit_once("line ").unwrap().1.trim_end_matches(']').parse().unwrap();
    }
    assert_eq!(read.len(), 3);
    assert_eq!(read.join("\n"), text);
    let past = done(&mut notebook, READ, &serde_json::json!({ "line": 9999 }));
    assert!(past.starts_with("line_not_found: there is no line 9999: the notebook has "), "{past}");
    let empty = done(&mut Notebook::new(), READ, &serde_json::json!({}));
    assert_eq!(empty, "the notebook is empty");
    let wide = done(&mut of(&"x".repeat(9000)), READ, &serde_json::json!({}));
    assert!(wide.ends_with("x\n[line 1 is cut here; break it up with notebook_replace]"));
}

#[test]
fn recorded_changes_of_every_kind_can_be_applied() {
    let mut notebook = Notebook::new();
    for (change, after) in [
        (r#"{"set":"tea"}"#, "tea"),
        (r#"{"append":"\nmilk"}"#, "tea\nmilk"),
        (r#"{"replace":{"at":0,"len":3,"with":"雨"}}"#, "雨\nmilk"),
        (r#"{"set":""}"#, ""),
    ] {
        take(&mut notebook, change).unwrap();
        assert_eq!(notebook.text(), after, "{change}");
    }
}

#[test]
fn changes_that_do_not_fit_are_refused_and_change_nothing() {
    let mut notebook = of("雨 tea");
    for change in [
        "",
        "tea",
        "{}",
        r#"{"set":7}"#,
        r#"{"erase":"tea"}"#,
        r#"{"set":"a","append":"b"}"#,
        r#"{"replace":{"at":0,"len":1,"with":"x"}}"#,
        r#"{"replace":{"at":1,"len":2,"with":"x"}}"#,
        r#"{"replace":{"at":4,"len":9,"with":"x"}}"#,
        r#"{"replace":{"at":99,"len":0,"with":"x"}}"#,
        r#"{"replace":{"at":0,"len":18446744073709551615,"with":"x"}}"#,
        r#"{"replace":{"at":0,"len":0,"with":"x","why":1}}"#,
        r#"{"append":" "}"#,
        r#"{"set":"a\r\nb"}"#,
    ] {
        let refused = take(&mut notebook, change).unwrap_err();
        assert_eq!(&*refused.widget, NAME);
        assert_eq!(notebook.text(), "雨 tea", "{change}");
    }
}

#[test]
fn states_of_other_versions_and_damaged_ones_are_not_read() {
    let mut notebook = of("tea");
    let good = of("milk").encode();
    assert_eq!((good.version, &*good.bytes), (2, b"1*1\nmilk".as_slice()));
    let of_bytes = |bytes: &[u8]| WidgetState { bytes: bytes.to_vec(), ..good.clone() };
    let bad = [
        WidgetState { version: 1, bytes: b"milk".to_vec() },
        WidgetState { version: 1, ..good.clone() },
        WidgetState { version: 3, ..good.clone() },
        of_bytes(b""),
        of_bytes(b"milk"),
        of_bytes(b"1*1\n"),
        of_bytes(b"\nmilk"),
        of_bytes(b"1*2\nmilk"),
        of_bytes(b"1*1\nmilk "),
        of_bytes(b"1*1\nm\rk"),
        of_bytes(b"1*1\n\xFF"),
        of_bytes(&[b"1*1\n".as_slice(), &vec![b'x'; TEXT_CAP_BYTES + 1]].concat()),
    ];
    for state in bad {
        assert!(notebook.decode(&state).is_err());
        assert_eq!(notebook.text(), "tea");
    }
    notebook.decode(&good).unwrap();
    assert_eq!(notebook.text(), "milk");
}

#[test]
fn its_tools_have_schemas_that_can_be_checked() {
    for tool in Notebook::new().tools() {
        assert_eq!(tool.handling, Handling::Recorded);
        Schema::new(&tool.schema).unwrap_or_else(|refused| panic!("{}: {refused}", tool.name));
    }
}

/// A call that often has something to do with the text.
fn call() -> impl Strategy<Value = (&'static str, serde_json::Value)> {
    let text = "[ab \n\r`雨]{0,12}";
    let anchor = prop::option::of("[ab\n]{0,2}");
    prop_oneof![
        3 => text.prop_map(|text| (APPEND, serde_json::json!({ "text": text }))),
        4 => ("[ab \n雨]{0,3}", text, anchor).prop_map(|(find, with, anchor)| {
            (REPLACE, serde_json::json!({ "find": find, "with": with, "anchor": anchor }))
        }),
        2 => ("[ab\n]{1,3}", Just("")).prop_map(|(find, with)| {
            (REPLACE, serde_json::json!({ "find": find, "with": with, "anchor": "" }))
        }),
        1 => (0..9usize).prop_map(|line| (READ, serde_json::json!({ "line": line }))),
    ]
}

proptest! {
    #[test]
    fn replaying_what_was_recorded_gives_the_same_state(
        calls in prop::collection::vec(call(), 0..30),
        cap in 0..200usize,
    ) {
        let mut live = Notebook::new();
        let mut recorded = Vec::new();
        for (tool, arguments) in &calls {
            let before = live.clone();
            let reply = ask(&live, tool, arguments);
            prop_assert_eq!(&live, &before, "a call changes nothing by itself");
            prop_assert_eq!(&reply, &ask(&live, tool, arguments), "the same call, the same reply");
            for change in reply.map(|reply| reply.changes).unwrap_or_default() {
                prop_assert!(take(&mut live, &change).is_ok(), "{change} was just replied");
                recorded.push(change);
            }
            prop_assert!(change::may_be(live.text()));
            screen(&live, cap);
        }
        let mut replayed = Notebook::new();
        for change in &recorded {
            take(&mut replayed, change).unwrap();
        }
        prop_assert_eq!(&replayed, &live);

        let mut decoded = of("something else");
        decoded.decode(&live.encode()).unwrap();
        prop_assert_eq!(&decoded, &live);
        prop_assert_eq!(live.copy().encode(), live.encode());
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC*", change in "\\PC*", cap in 0..300usize) {
        let mut notebook = of(&text);
        drop(take(&mut notebook, &change));
        screen(&notebook, cap);
        append(&mut notebook, &change);
        replace(&mut notebook, &text, &change, None);
    }

    #[test]
    fn the_fence_holds_whatever_is_written(text in "[`a\n]{0,40}") {
        let shown = screen(&of(&text), 10_000);
        if let Some(body) = shown.strip_prefix("## Notebook\n\n").filter(|body| body.starts_with('`')) {
            let fence = body.lines().next().unwrap();
            let inside = &body[fence.len()..body.len() - fence.len()];
            prop_assert!(!inside.contains(fence));
        }
    }
}
