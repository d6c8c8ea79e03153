//! Hostile text: whatever a conversation holds, a terminal is only written to.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use insta::assert_snapshot;
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::{Fact, Unrecognised};
use threadline_core::history::record::Record;
use threadline_core::id::Seq;
use threadline_core::transfer::line::Line;

use crate::home::{Home, TALK, export_of};

/// Clears the screen, sets the title and the clipboard, turns the reading order around, hides.
const HOSTILE: &str = "a\u{1b}[2J\u{1b}]0;t\u{7}\u{1b}]52;c;eA==\u{7}\u{9b}31m\u{202e}b\u{2066}\u{200b}\u{e0041}\u{feff}\u{7f}\rc\u{8}";

/// A story in which everything that can be text is hostile.
fn story() -> String {
    let text = serde_json::to_string(HOSTILE).unwrap();
    format!(
        r#"
! #0 described {{"title":{text},"labels":[{text}]}}
! #1 agent_joined {{"name":"planner","description":{text},"tools":["weather"],"primary":true}}
! #1 instruction_set {{"text":{text}}}
! #1 input {{"sections":[{{"text":{text}}}],"from":{{"person":{{"name":{text}}}}}}}
planner asks scripted/m1
planner: {text} → weather {{"city":{text}}}
weather c6.0 starts read
weather c6.0 failed: {text}
planner results
planner asks scripted/m1
planner: {text}
! #1 note {{"category":{text},"text":{text}}}
"#
    )
}

fn assert_inert(printed: &str, arguments: &[&str]) {
    let hostile = |c: char| match c {
        '\n' => false,
        c => {
            c.is_control()
                || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
        }
    };
    let found: Vec<char> = printed.chars().filter(|c| hostile(*c)).collect();
    assert!(found.is_empty(), "{arguments:?} prints {found:?}: {printed:?}");
}

#[test]
fn no_command_prints_what_does_something() {
    let home = Home::with(&story());
    let commands: &[&[&str]] = &[
        &["list"],
        &["show", TALK],
        &["show", TALK, "--all"],
        &["show", TALK, "--agent", "planner"],
        &["context", TALK, "--text"],
        &["context", TALK, "--text", "4"],
        &["context", TALK, "--text", "--json"],
        &["context", TALK, "--agent", HOSTILE],
        &["context", TALK, "--model", HOSTILE],
        &["search", "a"],
        &["search", HOSTILE],
        &["verify", TALK, "--deep"],
        &["fork", TALK],
        &["recap", TALK, "--keep", HOSTILE],
        &["rewind", TALK, "--to", "4"],
        &["export", TALK, "-o", HOSTILE],
        &["export", TALK, "-o", HOSTILE],
        &["import", HOSTILE, "--as-new"],
        &["import", "no\u{1b}[2J"],
        &["show", HOSTILE],
        &["show", TALK, "--agent", HOSTILE],
        &["list", "--label", HOSTILE],
        &["list", "--sort", HOSTILE],
        &["list", "--limit", HOSTILE],
        &[HOSTILE],
        &["list", "--\u{1b}[2J\u{202e}"],
        &["--log", HOSTILE, "list"],
        &["--config", HOSTILE, "list"],
        &["--db", "new\u{1b}[2J\u{202e}.db", "doctor"],
        &["--db", "new\u{1b}[2J\u{202e}.db", "show", "last"],
        &["run", HOSTILE],
        &["run", "read \u{1b}[2J\u{202e}", "--instruction", HOSTILE],
        &["run", "help", "--workspace", HOSTILE],
        &["chat", HOSTILE],
        &["resume", TALK],
        &["resume", HOSTILE],
    ];
    let mut shown = String::new();
    for command in commands {
        for json in [&[][..], &["--json"]] {
            let arguments = [json, *command].concat();
            let ran = home.run(&arguments);
            assert_inert(&ran.out, &arguments);
            assert_inert(&ran.err, &arguments);
            assert!(!ran.out.is_empty() || !ran.err.is_empty(), "{arguments:?} says nothing");
            shown.push_str(&ran.out);
        }
    }
    // It is seen, not dropped.
    assert!(shown.contains("␛[2J"), "{shown}");
    assert!(shown.contains("<U+202E>"), "{shown}");
}

#[test]
fn programs_get_the_text_as_it_is() {
    let home = Home::with(&story());
    let shown = home.run(&["show", TALK, "--all", "--json"]).json();
    assert_eq!(shown["conversation"]["title"], HOSTILE);
    assert_eq!(shown["entries"][3]["body"]["sections"][0]["text"], HOSTILE);
}

/// An export whose last entry is of a kind that only a newer version knows, and hostile as it
/// stands: nothing is escaped that need not be.
fn from_the_future() -> Vec<u8> {
    let told = export_of("@ planner joins primary");
    let mut lines: Vec<&[u8]> = told.split_inclusive(|byte| *byte == b'\n').collect();
    lines.pop();
    let Line::Entry(first) = Line::parse(lines[1].trim_ascii_end()).unwrap() else { panic!() };
    let entry = first.open().unwrap();
    let body = "{\"to\" :\t\"\u{9b}2J\u{202e}\u{7f}\u{e0041}\" }".as_bytes().to_vec();
    let fact = Fact::Unrecognised(Unrecognised { kind: "teleported".into(), body });
    let second = Entry { seq: Seq(2), fact, ..entry };
    let record = Record::seal(&second, [0; 16], first.hash).unwrap();
    let mut bytes = lines.concat();
    Line::Entry(record.clone()).write(&mut bytes).unwrap();
    Line::End(Seq(2), record.hash).write(&mut bytes).unwrap();
    bytes
}

#[test]
fn what_a_newer_version_wrote_does_nothing_either() {
    let home = Home::new();
    home.write("talk", from_the_future());
    home.run(&["import", "talk"]).ok();
    for json in [&[][..], &["--json"]] {
        for command in [&["show", TALK, "--all"][..], &["verify", TALK, "--deep"]] {
            let arguments = [json, command].concat();
            assert_inert(&home.run(&arguments).ok(), &arguments);
        }
    }
    let shown = home.run(&["show", TALK, "--all", "--json"]).json();
    assert_eq!(shown["entries"][1]["body"]["to"], "\u{9b}2J\u{202e}\u{7f}\u{e0041}");
    assert!(home.run(&["verify", TALK, "--deep"]).ok().contains("1 entry is of a newer version"));
    assert_eq!(home.run(&["export", TALK]).bytes, from_the_future(), "kept byte by byte");
    assert_snapshot!(home.run(&["rewind", TALK, "--to", "1"]).fails(1), @"error: entry 2 is of a newer version of threadline: this history can be read but not driven");
}

#[test]
fn arguments_need_not_be_text() {
    let home = Home::new();
    let strange = OsStr::from_bytes(b"\xff\xfe");
    for arguments in [
        &[OsStr::new("import"), strange][..],
        &[OsStr::new("show"), strange],
        &[OsStr::new("search"), strange],
        &[strange],
    ] {
        let output = home.command(arguments).output().unwrap();
        assert!(matches!(output.status.code(), Some(1 | 2)), "{arguments:?}");
        assert_inert(&String::from_utf8(output.stderr).unwrap(), &[]);
    }
    let output = home.command(&[OsStr::new("--db"), strange, OsStr::new("list")]).output().unwrap();
    assert!(output.status.success());
}

#[test]
fn a_wrong_command_line_is_told_with_code_2() {
    let home = Home::new();
    let fails = |arguments: &[&str]| home.run(arguments).fails(2);
    assert_snapshot!(fails(&["bogus"]), @r#"
    error: unrecognized subcommand 'bogus'

    Usage: threadline [OPTIONS] [COMMAND]

    For more information, try '--help'.
    "#);
    assert_snapshot!(fails(&["show"]), @r#"
    error: the following required arguments were not provided:
      <ID>

    Usage: threadline show <ID>

    For more information, try '--help'.
    "#);
    assert_snapshot!(fails(&["show", "last", "--from", "0"]), @r#"
    error: invalid value '0' for '--from <SEQ>': entries are numbered from 1 on

    For more information, try '--help'.
    "#);
    assert_snapshot!(fails(&["show", "last", "--to", "-1"]), @r#"
    error: invalid value '-1' for '--to <SEQ>': entries are numbered from 1 on

    For more information, try '--help'.
    "#);
    assert_snapshot!(fails(&["show", "last", "-n", "0"]), @r#"
    error: invalid value '0' for '--last <N>': give a number from 1 on

    For more information, try '--help'.
    "#);
    assert_snapshot!(fails(&["fork", "last", "--at", "99999999999999999999"]), @r#"
    error: invalid value '99999999999999999999' for '--at <SEQ>': entries are numbered from 1 on

    For more information, try '--help'.
    "#);
    assert_snapshot!(fails(&["rewind", "last", "--to", "0"]), @r#"
    error: invalid value '0' for '--to <SEQ>': entries are numbered from 1 on

    For more information, try '--help'.
    "#);
    assert_snapshot!(fails(&["rewind", "last", "--undo", "--reset"]), @r#"
    error: the argument '--undo' cannot be used with '--reset'

    Usage: threadline rewind --undo <ID>

    For more information, try '--help'.
    "#);
    assert_snapshot!(fails(&["dev", "generate", "--agents", "65"]), @r#"
    error: invalid value '65' for '--agents <N>': 65 is not in 1..=64

    For more information, try '--help'.
    "#);
    assert_snapshot!(fails(&["--json", "bogus"]), @r#"{"error":{"message":"unrecognized subcommand 'bogus'"}}"#);
    assert_snapshot!(fails(&["search", "--json"]), @r#"{"error":{"message":"the following required arguments were not provided: <WORDS>..."}}"#);
}

#[test]
fn an_error_for_programs_is_an_object() {
    let home = Home::new();
    for arguments in [
        &["show", "ffff", "--json"][..],
        &["import", "missing", "--json"],
        &["export", "last", "--json"],
        &["--log", "x", "list", "--json"],
        &["--config", "missing", "list", "--json"],
    ] {
        let told = home.run(arguments).fails(1);
        let value: serde_json::Value = serde_json::from_str(&told).unwrap();
        assert!(value["error"]["message"].as_str().is_some_and(|m| !m.is_empty()), "{told}");
    }
}
