//! Passages between two markers, and what is told of calls at every level.

use super::*;

const LIST: &str = "# Plan\n- tea\n- milk\n\n# Done\n- coffee\n- sugar\n\n# Later\n- honey";

fn span(
    notebook: &mut Notebook,
    start: &str,
    end: &str,
    with: &str,
    anchor: Option<&str>,
) -> String {
    let mut arguments = serde_json::json!({ "start": start, "end": end, "with": with });
    if let Some(anchor) = anchor {
        arguments["anchor"] = anchor.into();
    }
    done(notebook, REPLACE_SPAN, &arguments)
}

#[test]
fn passages_are_replaced_with_both_their_ends() {
    let table = [
        ("a b c d", "b", "c", "x", None, "a x d"),
        ("a b c d", "b", "c", "", None, "a  d"),
        ("a\nb\nc\nd", "b", "c", "", None, "a\nd"),
        ("a\nb\nc", "a", "c", "", None, ""),
        ("a\nb\nc", "a", "c", "x \n", None, "x"),
        ("a\nb\nc", "a\n", "c", "", None, ""),
        ("a\nb\nc", "b", "c", "", None, "a"),
        // The end is the first one after the start, and does not overlap it.
        ("a b a c a", "b", "a", "x", None, "a x c a"),
        ("(a) (b)", "(b", ")", "x", None, "(a) x"),
        ("aa a", "aa", "a", "x", None, "x"),
        ("x 1 y\nx 2 y", "x", "y", "z", Some("1"), "x 1 y\nz"),
        ("x 1 y\nx 2 y", "x", "y", "z", Some(""), "z\nx 2 y"),
        ("a\r\nb", "a\r", "b", "c\rd", None, "c\nd"),
        ("雨雪風", "雨", "雪", "風", None, "風風"),
    ];
    for (before, start, end, with, anchor, after) in table {
        let mut notebook = of(before);
        let told = span(&mut notebook, start, end, with, anchor);
        assert_eq!(notebook.text(), after, "{start:?} to {end:?} of {before:?}: {told}");
    }
}

#[test]
fn a_passage_that_is_not_there_is_answered_with_what_is() {
    let wrong = |start, end, anchor| span(&mut of(LIST), start, end, "x", anchor);
    insta::assert_snapshot!(wrong("- cofee", "- sugar", None), @"
    start_not_found: the notebook does not have this start, exactly as it is written; the nearest there is:
    line 6: - coffee
    ");
    insta::assert_snapshot!(wrong("- ", "#", None), @"
    start_not_unique: the start is in the notebook 5 times; give more of what is around the one that is meant, or an anchor before it:
    line 2: …# Plan - tea - milk # Done - coffee - sugar # L…
    line 3: …# Plan - tea - milk # Done - coffee - sugar # Later -…
    line 6: …# Plan - tea - milk # Done - coffee - sugar # Later - honey…
    line 7: …# Plan - tea - milk # Done - coffee - sugar # Later - honey…
    line 10: …milk # Done - coffee - sugar # Later - honey…
    ");
    insta::assert_snapshot!(wrong("# Done", "# latr", None), @"
    end_not_found: the notebook does not have this end after the start, which ends in line 5; the nearest there is:
    line 9: # Later
    ");
    insta::assert_snapshot!(wrong("# Done", "- tea", None), @"end_not_found: the notebook does not have this end after the start, which ends in line 5; the first one is in line 2, before it");
    insta::assert_snapshot!(wrong("# Plan", "- tea", Some("# Done")), @"start_not_found: the start is in the notebook, but not after the anchor, which ends in line 5; give another anchor or none");
    insta::assert_snapshot!(wrong("# Plan", "- tea", Some("# Doen")), @"
    anchor_not_found: the notebook does not have this anchor, exactly as it is written; the nearest there is:
    line 5: # Done
    line 1: # Plan
    ");
    insta::assert_snapshot!(wrong("", "- tea", None), @"start_empty: the start is empty: give a text of the notebook");
    insta::assert_snapshot!(wrong("- tea", "", None), @"end_empty: the end is empty: give a text of the notebook");
    insta::assert_snapshot!(span(&mut Notebook::new(), "a", "b", "", None), @"start_not_found: the notebook is empty; use notebook_append to write into it");
}

/// A call, told at every level, with what is kept beside it.
fn told(tool: &str, arguments: &serde_json::Value) -> String {
    let (result, metadata) = match ask(&of(LIST), tool, arguments) {
        Ok(reply) => (reply.result, reply.metadata),
        Err(refusal) => (refusal.result, refusal.metadata),
    };
    let at = |level| render(&result, level).into_owned();
    let value = |value: &Value| match value {
        Value::Text(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Flag(flag) => flag.to_string(),
    };
    let metadata: Vec<_> = metadata.iter().map(|(k, v)| format!("{k}={}", value(v))).collect();
    let (live, recent, gist) = (at(Level::Live), at(Level::Recent), at(Level::Gist));
    format!("{live}\n--- recent\n{recent}\n--- gist\n{gist}\n--- beside\n{}", metadata.join(" "))
}

#[test]
fn a_call_is_told_at_three_levels_and_in_numbers() {
    insta::assert_snapshot!(told(APPEND, &serde_json::json!({ "text": "- bread" })), @"
    added 1 line; the notebook has 11 lines, 69 of 32768 bytes
    at line 11:
    + - bread
    --- recent
    at line 11:
    + - bread
    --- gist
    noted: - bread
    --- beside
    anchor=none delta=8 new_length=69 operation=append previous_length=61
    ");
    let replace = serde_json::json!({ "find": "- ", "with": "* ", "anchor": "# Done" });
    insta::assert_snapshot!(told(REPLACE, &replace), @r#"
    replaced text in line 6; the notebook has 10 lines, 61 of 32768 bytes
    at line 6:
    - - coffee
    + * coffee
    --- recent
    at line 6:
    - - coffee
    + * coffee
    --- gist
    notebook: "-" became "*"
    --- beside
    anchor=hit delta=0 new_length=61 operation=replace previous_length=61
    "#);
    let arguments =
        serde_json::json!({ "start": "# Done", "end": "- sugar", "with": "# Bought\n- all" });
    insta::assert_snapshot!(told(REPLACE_SPAN, &arguments), @r##"
    replaced text in lines 5 to 7; the notebook has 9 lines, 52 of 32768 bytes
    at line 5:
    - # Done
    - - coffee
    - - sugar
    + # Bought
    + - all
    --- recent
    at line 5:
    - # Done
    - - coffee
    - - sugar
    + # Bought
    + - all
    --- gist
    notebook: "# Done … - sugar" became "# Bought - all"
    --- beside
    anchor=none delta=-9 new_length=52 operation=replace_span previous_length=61
    "##);
    let arguments = serde_json::json!({ "start": "- tea", "end": "- milk", "with": "" });
    insta::assert_snapshot!(told(REPLACE_SPAN, &arguments), @"
    deleted text in lines 2 to 3; the notebook has 8 lines, 48 of 32768 bytes
    at line 2:
    - - tea
    - - milk
    --- recent
    at line 2:
    - - tea
    - - milk
    --- gist
    forgot: - tea … - milk
    --- beside
    anchor=none delta=-13 new_length=48 operation=replace_span previous_length=61
    ");
    let arguments =
        serde_json::json!({ "start": "- tea", "end": "- milk", "with": "- tea\n- milk" });
    insta::assert_snapshot!(told(REPLACE_SPAN, &arguments), @"
    nothing changed: lines 2 to 3 read so already
    --- recent
    nothing changed: lines 2 to 3 read so already
    --- gist
    nothing changed: lines 2 to 3 read so already
    --- beside
    anchor=none delta=0 new_length=61 operation=replace_span previous_length=61
    ");
    let arguments =
        serde_json::json!({ "start": "- t", "end": "- milk", "with": "x", "anchor": "# Dane" });
    insta::assert_snapshot!(told(REPLACE_SPAN, &arguments), @"
    the notebook does not have this anchor, exactly as it is written; the nearest there is:
    line 5: # Done
    line 1: # Plan
    --- recent
    the notebook does not have this anchor, exactly as it is written; the nearest there is:
    line 5: # Done
    line 1: # Plan
    --- gist
    notebook unchanged: the notebook does not have this anchor, exactly as it is written
    --- beside
    anchor=missed delta=0 error=anchor_not_found new_length=61 operation=replace_span previous_length=61
    ");
    insta::assert_snapshot!(told(READ, &serde_json::json!({ "line": 9 })), @"
    # Later
    - honey
    --- recent
    # Later
    - honey
    --- gist
    read lines 9 to 10 of 10 of the notebook
    --- beside
    anchor=none delta=0 new_length=61 operation=read previous_length=61
    ");
    insta::assert_snapshot!(told(READ, &serde_json::json!({ "line": 99 })), @"
    there is no line 99: the notebook has 10 lines
    --- recent
    there is no line 99: the notebook has 10 lines
    --- gist
    notebook unchanged: there is no line 99: the notebook has 10 lines
    --- beside
    anchor=none delta=0 error=line_not_found new_length=61 operation=read previous_length=61
    ");
}

#[test]
fn every_line_is_traced_to_the_entry_that_wrote_it() {
    let mut notebook = Notebook::new();
    let mut seq = 10;
    let mut then = |tool: &str, arguments: serde_json::Value| {
        let reply = ask(&notebook, tool, &arguments).unwrap();
        for change in &reply.changes {
            let (by, at) = (AgentId(1), Timestamp::default());
            notebook.apply(&Change { text: change, seq: Seq(seq), by, at }).unwrap();
        }
        seq += 10;
        let lines = notebook.blame().map(|(seq, line)| format!("{seq} {line}"));
        lines.collect::<Vec<_>>().join(" | ")
    };
    let text = |text: &str| serde_json::json!({ "text": text });
    assert_eq!(then(APPEND, text("tea\nmilk")), "10 tea | 10 milk");
    assert_eq!(then(APPEND, text("honey")), "10 tea | 10 milk | 20 honey");
    let replace = serde_json::json!({ "find": "milk", "with": "oat milk\nsugar" });
    assert_eq!(then(REPLACE, replace), "10 tea | 30 oat milk | 30 sugar | 20 honey");
    let delete = serde_json::json!({ "find": "tea", "with": "" });
    assert_eq!(then(REPLACE, delete), "30 oat milk | 30 sugar | 20 honey");
    let span = serde_json::json!({ "start": "oat", "end": "sugar", "with": "bread\nsugar" });
    assert_eq!(then(REPLACE_SPAN, span), "50 bread | 30 sugar | 20 honey");
}
