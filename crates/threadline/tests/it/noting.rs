//! The notebook from outside: shown, traced to its entries, and changed by a person.

use crate::home::{Home, TALK};

/// An agent that notes something twice, and one that has no notebook.
const NOTES: &str = "
@ planner joins primary widgets=notebook
@ writer joins
";

fn noted() -> (Home, String) {
    let home = Home::new();
    let ran = home.run(&["run", "remember that I like tea", "--json"]).json();
    (home, ran["id"].as_str().unwrap().to_owned())
}

#[test]
fn it_is_shown_and_changed_and_every_line_is_traced() {
    let (home, id) = noted();
    assert_eq!(home.run(&["notebook"]).ok(), "I like tea\n");
    let told = home.run(&["notebook", &id, "--set", "- milk\r\nI like tea \n\n"]).ok();
    assert!(told.ends_with("has 2 lines, 17 bytes since entry 12\n"), "{told}");
    assert_eq!(home.run(&["notebook", &id]).ok(), "- milk\nI like tea\n");

    let blamed = home.run(&["notebook", &id, "--blame"]).ok();
    let lines: Vec<&str> = blamed.lines().collect();
    assert!(lines[0].starts_with("12  20") && lines[0].ends_with("  a person        - milk"));
    assert!(lines[1].starts_with(" 7  20") && lines[1].ends_with("  assistant c6.0  I like tea"));
    assert!(lines[2].contains(&format!("threadline show {id} --all")), "{blamed}");
    let json = home.run(&["notebook", &id, "--blame", "--json"]).json();
    let [first, second] = [&json["blame"][0], &json["blame"][1]];
    assert_eq!((&first["seq"], &first["call"]), (&12.into(), &serde_json::Value::Null));
    assert_eq!((&second["seq"], &second["call"]), (&7.into(), &"c6.0".into()));
    assert_eq!(home.entries(&id)[6]["kind"], "widget_changed", "it is the entry that wrote it");

    let again = home.run(&["notebook", &id, "--set", "- milk\nI like tea", "--json"]).json();
    assert_eq!((&again["seq"], home.entries(&id).len()), (&serde_json::Value::Null, 12));
    let chat = home.feed(b"/notebook blame\n", &["chat", &id]);
    assert!(chat.out.contains("assistant c6.0  I like tea"), "{chat:?}");

    home.run(&["rewind", &id, "--to", "11"]).ok();
    let before = home.run(&["notebook", &id, "--blame"]).ok();
    assert!(before.starts_with("7  20") && before.contains("I like tea"), "{before}");
    home.run(&["notebook", &id, "--clear"]).ok();
    let empty = home.run(&["notebook", &id, "--blame"]);
    assert_eq!(
        (&*empty.out, empty.told()),
        ("", "the notebook of assistant is empty\n".to_owned())
    );
}

#[test]
fn what_is_in_a_file_or_a_pipe_can_be_set() {
    let (home, _) = noted();
    home.write("notes.txt", "from a file\n");
    home.run(&["notebook", "last", "--set-file", "notes.txt"]).ok();
    assert_eq!(home.run(&["notebook"]).ok(), "from a file\n");
    assert_eq!(home.feed(b"from a pipe\n", &["notebook", "--set-file", "-"]).code, 0);
    assert_eq!(home.run(&["notebook"]).ok(), "from a pipe\n");
}

#[test]
fn what_cannot_be_is_told() {
    let home = Home::new();
    assert!(home.run(&["notebook"]).fails(1).contains("there are no conversations"));
    let (home, id) = noted();
    let fails = |arguments: &[&str]| home.run(&[&["notebook", &*id], arguments].concat()).fails(1);
    assert!(fails(&["--agent", "nobody"]).contains("there is no agent \"nobody\""));
    assert!(fails(&["--agent", "0"]).contains("0 is the conversation"));
    assert!(fails(&["--set", " \n"]).contains("--clear empties the notebook"));
    assert!(fails(&["--set", &"x".repeat(40_000)]).contains("at most 32768 bytes, not 40000"));
    assert!(fails(&["--set-file", "nothing.txt"]).contains("could not read nothing.txt"));
    let garbage = home.feed(b"tea\xff", &["notebook", &id, "--set-file", "-"]).fails(1);
    assert!(garbage.contains("standard input is not UTF-8 text: byte 3"), "{garbage}");
    let flood = vec![b'x'; 2 * 1024 * 1024];
    let flooded = home.feed(&flood, &["notebook", &id, "--set-file", "-"]).fails(1);
    assert!(flooded.contains("far too long"), "{flooded}");
    home.run(&["notebook", &id, "--blame", "--clear"]).fails(2);
    home.run(&["notebook", &id, "--set", "x", "--clear"]).fails(2);
    assert_eq!(home.run(&["notebook", &id]).ok(), "I like tea\n", "nothing has changed");
}

#[test]
fn an_agent_may_have_none() {
    let home = Home::with(NOTES);
    let told = home.run(&["notebook", TALK, "--agent", "writer"]).fails(1);
    assert!(told.contains("writer has no notebook; of planner"), "{told}");
    let told = home.run(&["notebook", TALK, "--agent", "planner", "--set", "x"]).ok();
    assert!(told.contains("the notebook of planner has 1 line, 1 byte"), "{told}");
    let home = Home::with("@ planner joins primary");
    let told = home.run(&["notebook", TALK]).fails(1);
    assert!(told.contains("planner has no notebook, nor has any other"), "{told}");
}

#[test]
fn a_conversation_that_another_process_drives_is_changed_by_it() {
    let home = Home::new();
    home.follows("turn\n say half\n hang\n");
    let started = home.start(&["run", "wait"]);
    home.await_entry(&started.id, "invocation_started");
    let told = home.run(&["notebook", &started.id, "--set", "tea"]).ok();
    assert!(told.contains("has 1 line, 3 bytes since entry"), "{told}");
    assert_eq!(home.bodies(&started.id, "widget_changed").len(), 1);
    let id = started.kill();
    assert_eq!(home.run(&["notebook", &id]).ok(), "tea\n");
}
