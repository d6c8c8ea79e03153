//! A chat through pipes: every line is a message.

use insta::assert_snapshot;
use serde_json::Value;

use crate::home::{Home, Ran};

fn chat(home: &Home, lines: &[&str], arguments: &[&str]) -> Ran {
    home.feed(lines.join("\n").as_bytes(), &[&["chat"], arguments].concat())
}

/// The messages of the last conversation.
fn messages(home: &Home) -> Vec<String> {
    let shown = home.run(&["show", "last", "--json"]).json();
    let text = |entry: &Value| match entry["kind"].as_str().unwrap() {
        "input" => entry["body"]["sections"][0]["text"].as_str().unwrap().to_owned(),
        _ => entry["body"]["blocks"][0]["text"]["text"].as_str().unwrap().to_owned(),
    };
    shown["entries"].as_array().unwrap().iter().map(text).collect()
}

#[test]
fn every_line_is_a_message() {
    let home = Home::new();
    let lines = ["add 2 and 3", "", "remember that I like tea", "what do you remember?"];
    assert_snapshot!(chat(&home, &lines, &[]).shown(), @r#"
    2 + 3 = 5.
    I will remember: I like tea
    I remember:

    - I like tea
    --- standard error
    · calculator 2 + 3
    ✓ 2 + 3 = 5
    · notebook_append I like tea
    ✓ noted: I like tea
    to come back: threadline chat <id 1>
    "#);
    // Bare, it is the same.
    assert_eq!(home.feed(b"add 2 and 3\r\n", &[]).ok(), "2 + 3 = 5.\n");
    assert_eq!(home.run(&["list", "--json"]).json()["conversations"].as_array().unwrap().len(), 2);
}

#[test]
fn nothing_said_leaves_nothing() {
    let home = Home::new();
    assert_eq!(home.run(&[]).ok(), "");
    assert_eq!(chat(&home, &["", "  ", "/help", "/notebook", "/exit", "not read"], &[]).code, 0);
    assert_eq!(home.run(&["list", "--json"]).json()["conversations"].as_array().unwrap().len(), 0);
}

#[test]
fn a_conversation_is_gone_on_with() {
    let home = Home::new();
    chat(&home, &["remember that the sea is cold"], &[]).ok();
    let id = home.run(&["list", "--json"]).json()["conversations"][0]["id"].clone();
    let id = id.as_str().unwrap();
    for arguments in [&["--continue"][..], &[id], &[&id[..13]], &["last"]] {
        let said = chat(&home, &["what do you remember?"], arguments).ok();
        assert_eq!(said, "I remember:\n\n- the sea is cold\n", "{arguments:?}");
    }
    assert_eq!(messages(&home).len(), 10);
    home.run(&["chat", "last", "--continue"]).fails(2);
    assert_snapshot!(home.run(&["chat", "ffff"]).fails(1), @"error: no conversation begins with ffff; `threadline list --all` shows what there is");
}

#[test]
fn undo_and_reset_go_back() {
    let home = Home::new();
    chat(&home, &["add 1 and 1", "remember that I like tea", "/undo"], &[]).ok();
    assert_eq!(messages(&home), ["add 1 and 1", "1 + 1 = 2."]);
    // What was remembered in that turn is no longer.
    let said = chat(&home, &["what do you remember?"], &["--continue"]).ok();
    assert!(said.starts_with("The notebook is empty."), "{said}");
    chat(&home, &["/reset"], &["--continue"]).ok();
    assert_eq!(messages(&home), [""; 0]);
    let nothing = chat(&home, &["/undo", "/reset"], &["--continue"]);
    assert_snapshot!(nothing.shown(), @r#"
    --- standard error
    error: there is no turn to go back over
    error: nothing has been said yet
    to come back: threadline chat <id 1>
    --- exit code 1
    "#);
    chat(&home, &["add 3 and 4"], &["--continue"]).ok();
    assert_eq!(messages(&home), ["add 3 and 4", "3 + 4 = 7."]);
    home.run(&["verify", "--all", "--deep"]).ok();
}

#[test]
fn the_notebook_is_shown_and_changed() {
    let home = Home::new();
    let lines = [
        "/notebook",
        "/notebook set  the key is under the mat",
        "/notebook",
        "what do you remember?",
        "/notebook clear",
        "/notebook",
    ];
    assert_snapshot!(chat(&home, &lines, &[]).shown(), @r#"
    the notebook is empty
    noted
    the key is under the mat
    I remember:

    - the key is under the mat
    the notebook is cleared
    the notebook is empty
    --- standard error
    to come back: threadline chat <id 1>
    "#);
    let changes = home.bodies("last", "widget_changed");
    let changes: Vec<&str> = changes.iter().map(|body| body["change"].as_str().unwrap()).collect();
    assert_eq!(changes, [r#"{"set":"the key is under the mat"}"#, r#"{"set":""}"#]);
}

#[test]
fn the_tasks_are_shown() {
    let home = Home::new();
    home.follows(
        "turn\n call task_add {\"titles\":[\"pack\",\"leave\"]}\nthen\n call task_start \
         {\"tasks\":[2],\"note\":\"soon\"}\nthen\n say planned\n",
    );
    let ran = chat(&home, &["/tasks", "plan", "/tasks", "/undo", "/tasks"], &[]);
    assert_snapshot!(ran.shown(), @r#"
    there are no tasks
    planned
    1 open, 1 doing
    - 1 [open] pack
    - 2 [doing: assistant] leave (soon)
    back at entry 3; 0 messages count now; to undo: threadline rewind <id 1> --undo
    there are no tasks
    --- standard error
    · task_add ["pack","leave"]
    ✓ added tasks 1, 2: pack and 1 more
    · task_start note: soon, tasks: [2]
    ✓ started task 2: leave
    to come back: threadline chat <id 1>
    "#);
}

#[test]
fn the_instruction_is_shown_and_changed() {
    let home = Home::new();
    let lines = ["/instruction Be brief.", "/instruction", "help"];
    assert!(chat(&home, &lines, &[]).ok().contains("\nBe brief.\n"));
    let set = home.bodies("last", "instruction_set");
    assert_eq!(set.last().unwrap()["text"], "Be brief.");
    let said = chat(&home, &["/instruction"], &["--instruction", "Be kind."]).ok();
    assert_eq!(said, "Be kind.\n");
}

#[test]
fn what_is_no_command_is_told() {
    let home = Home::new();
    home.follows("turn\n say yes\n");
    let ran = chat(&home, &["/hist", "/undo", "/notebook add x", "//hello"], &[]);
    assert_snapshot!(ran.shown(), @r#"
    yes
    --- standard error
    error: there is no command /hist; did you mean /history?
    error: nothing was said yet
    error: /notebook shows it, /notebook blame who wrote it; /notebook set TEXT and /notebook clear change it
    to come back: threadline chat <id 1>
    --- exit code 1
    "#);
    assert_eq!(messages(&home), ["/hello", "yes"]);
}

#[test]
fn the_last_messages_are_shown() {
    let home = Home::new();
    let shown = chat(&home, &["add 1 and 1", "add 2 and 2", "/history 1"], &[]).ok();
    let shown = shown.split_once("assistant  ").unwrap();
    assert_eq!(shown.0, "1 + 1 = 2.\n2 + 2 = 4.\n");
    assert!(shown.1.ends_with("\n  2 + 2 = 4.\n\n"), "{shown:?}");
}

#[test]
fn programs_get_a_line_for_each_message() {
    let home = Home::new();
    let ran = chat(&home, &["add 2 and 3", "/notebook set x", "/undo", "/history"], &["--json"]);
    let lines = ran.ok();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["answer"], &lines[0]["exit_code"]), (&"2 + 3 = 5.".into(), &0.into()));
    assert_eq!((&lines[1]["command"], &lines[1]["told"]), (&"/notebook".into(), &"noted".into()));
    assert_eq!(lines[2]["command"], "/undo");
    assert_eq!(lines[3]["entries"].as_array().unwrap().len(), 0);
    assert_eq!(lines.len(), 4);
}

#[test]
fn whatever_is_piped_in_is_a_message() {
    let home = Home::new();
    let mut bytes = b"\xff\xfe\0\n\x1b[2J\n".to_vec();
    bytes.extend(b"understanding ".repeat(1024 * 1024));
    bytes.extend(b"\n");
    bytes.extend(vec![b'z'; 17 * 1024 * 1024]);
    bytes.extend(b"\nadd 2 and 3");
    let ran = home.feed(&bytes, &["chat"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("error: this line is longer than 16 MiB"), "{}", ran.err);
    assert_eq!(ran.out.matches("I do not understand that.").count(), 3);
    assert!(ran.out.ends_with("\n2 + 3 = 5.\n"));
    assert!(!ran.out.contains('\u{1b}'));
    home.run(&["verify", "--all", "--deep"]).ok();
}

#[test]
fn a_question_that_nobody_can_answer_stays_open() {
    let home = Home::new();
    home.follows("turn\n call dev_ask {\"line\":\"x\"}\nthen\n say done\n");
    let ran = chat(&home, &["go", "y"], &[]);
    assert_snapshot!(ran.shown(), @"
    --- standard error
    · dev_ask x
    · a person must allow c6.0
    to answer: threadline chat <id 1>, or threadline approve <id 1>
    not to be asked: threadline policy <id 1> allow TOOL; then threadline resume <id 1>
    to come back: threadline chat <id 1>
    --- exit code 4
    ");
    assert_eq!(home.ledger(), [""; 0]);
    assert_eq!(home.run(&["list", "--json"]).json()["conversations"][0]["state"], "waiting");
}
