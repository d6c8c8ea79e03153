//! Runs that are killed, stopped or moved half way, and go on.

use std::fs;

use serde_json::Value;

use crate::home::Home;

const HANGS: &str = "turn\n say half an answ\n hang\n";
const ANSWERS: &str = "turn\n say a whole answer\nturn else\n say and on\n";

#[test]
fn a_killed_run_goes_on() {
    let home = Home::new();
    home.follows(HANGS);
    let run = home.start(&["run", "go"]);
    home.await_entry(&run.id, "invocation_started");
    let id = run.kill();
    home.follows(ANSWERS);
    assert_eq!(home.run(&["resume", &id]).ok(), "a whole answer\n");
    assert_eq!(home.bodies(&id, "input").len(), 1);
    // Once more, it tells what was answered and does nothing.
    let entries = home.entries(&id).len();
    assert_eq!(home.run(&["resume"]).ok(), "a whole answer\n");
    assert_eq!(home.entries(&id).len(), entries);
    home.run(&["verify", "--all", "--deep"]).ok();
}

#[test]
fn a_chat_goes_on_with_what_was_under_way() {
    let home = Home::new();
    home.follows(HANGS);
    let run = home.start(&["run", "go"]);
    home.await_entry(&run.id, "invocation_started");
    let id = run.kill();
    home.follows(ANSWERS);
    assert_eq!(home.feed(b"more", &["chat", &id]).ok(), "a whole answer\nand on\n");
}

/// The statuses of calls to a tool that was killed while it ran, and what it left behind.
fn killed_within(tool: &str) -> (Vec<Value>, Vec<String>) {
    let home = Home::new();
    let call =
        |ms: u64| format!("turn\n call {tool} {{\"line\":\"x\",\"ms\":{ms}}}\nthen\n say ok\n");
    home.follows(&call(600_000));
    let run = home.start(&["run", "go"]);
    home.await_entry(&run.id, "tool_started");
    while home.ledger().is_empty() {
        std::thread::yield_now();
    }
    let id = run.kill();
    // A call is what it was; what takes its time is the tool.
    assert_eq!(
        home.run(&["resume", &id, "--timeout", "1"]).code,
        if tool == "dev_once" { 0 } else { 3 }
    );
    let finished = home.bodies(&id, "tool_finished");
    (finished.iter().map(|body| body["status"].clone()).collect(), home.ledger())
}

#[test]
fn an_effect_happens_once_although_it_was_killed() {
    let (statuses, ledger) = killed_within("dev_once");
    assert_eq!(statuses, ["unknown"]);
    assert_eq!(ledger, ["dev_once x"]);
    // What may run again does.
    let (statuses, ledger) = killed_within("dev_read");
    assert_eq!(statuses, ["failed"]);
    assert_eq!(ledger, ["dev_read x", "dev_read x"]);
}

#[test]
fn a_stopped_run_is_cancelled_on_record() {
    for signal in ["-INT", "-TERM", "-HUP"] {
        let home = Home::new();
        home.follows(HANGS);
        let run = home.start(&["run", "go"]);
        let id = run.id.clone();
        home.await_entry(&id, "invocation_started");
        run.signal(signal);
        let (code, out, err) = run.end();
        assert_eq!((code, &*out), (130, ""), "{err}");
        assert!(err.contains("· cancelled"), "{err}");
        assert_eq!(home.bodies(&id, "turn_ended")[0]["reason"], "cancelled");
        // Nothing is unfinished, but it can be asked to go on.
        assert_eq!(home.run(&["resume", "--all"]).ok(), "nothing is unfinished\n");
        home.follows("turn\n say never\nturn when \"go on\"\n say on it\n");
        assert_eq!(home.run(&["resume", &id]).ok(), "on it\n");
        assert_eq!(home.bodies(&id, "input")[1]["from"], "system");
        home.run(&["verify", "--all", "--deep"]).ok();
    }
}

#[test]
fn all_that_is_unfinished_goes_on() {
    let home = Home::new();
    assert_eq!(home.run(&["resume", "--all"]).ok(), "nothing is unfinished\n");
    home.follows(HANGS);
    let mut ids: Vec<String> = (0..3)
        .map(|_| {
            let run = home.start(&["run", "go"]);
            home.await_entry(&run.id, "invocation_started");
            run.kill()
        })
        .collect();
    home.follows(ANSWERS);
    let resumed = home.run(&["resume", "--all", "--json"]).json();
    let resumed = resumed["conversations"].as_array().unwrap();
    assert!(resumed.iter().all(|one| one["answer"] == "a whole answer"), "{resumed:#?}");
    let mut seen: Vec<&str> = resumed.iter().map(|one| one["id"].as_str().unwrap()).collect();
    ids.sort();
    seen.sort_unstable();
    assert_eq!(seen, ids);
    assert_eq!(home.run(&["resume", "--all"]).ok(), "nothing is unfinished\n");
}

#[test]
fn what_another_process_drives_is_left_to_it() {
    let home = Home::new();
    home.follows(HANGS);
    let run = home.start(&["run", "go"]);
    let id = run.id.clone();
    home.await_entry(&id, "invocation_started");
    // A change goes through the inbox; this one cannot be while a step is under way.
    let told = home.run(&["rewind", &id, "--to", "2"]).fails(1);
    assert_eq!(told, "error: a step is under way: cancel it first, then rewind\n");
    assert_eq!(home.bodies(&id, "note").len(), 1);
    let told = home.run(&["export", &id, "--move", "-o", "moved"]).fails(1);
    assert!(told.contains("threadline, process"), "{told}");
    assert_eq!(home.run(&["resume", "--all"]).ok(), "nothing is unfinished\n");
    // What is copied of it stays a copy.
    home.run(&["export", &id, "-o", "copy"]).ok();
    home.run(&["fork", &id]).ok();
    run.kill();
    home.run(&["export", &id, "--move", "-o", "moved"]).ok();
    home.run(&["verify", "--all", "--deep"]).ok();
}

/// The digests of the requests of a conversation.
fn digests(home: &Home, id: &str) -> Vec<(Value, Value)> {
    let started = home.bodies(id, "invocation_started");
    started.iter().map(|s| (s["context_digest"].clone(), s["body_digest"].clone())).collect()
}

#[test]
fn a_conversation_that_was_killed_is_moved_and_goes_on_exactly() {
    let home = Home::new();
    home.write("note.txt", "a note\n");
    home.follows("turn\n call dev_once {\"line\":\"x\"}\n call notebook_append {\"text\":\"y\"}\nthen\n say half\n hang\n");
    let run = home.start(&["run", "go"]);
    let id = run.id.clone();
    home.await_entry(&id, "tool_results");
    while digests(&home, &id).len() < 2 {
        std::thread::yield_now();
    }
    run.kill();
    // Two ways on from the same moment: where it was, and elsewhere.
    let stays = Home::new();
    let folder = ".local/share/threadline";
    fs::create_dir_all(stays.path(folder)).unwrap();
    for file in fs::read_dir(home.path(folder)).unwrap() {
        let file = file.unwrap();
        if file.file_type().unwrap().is_file() {
            fs::copy(file.path(), stays.path(folder).join(file.file_name())).unwrap();
        }
    }
    home.run(&["export", &id, "--move", "-o", "moved"]).ok();
    let goes = Home::new();
    goes.write("moved", home.read("moved"));
    goes.run(&["import", "moved", "--trusted"]).ok();
    for home in [&stays, &goes] {
        // The folder is another one than it was.
        home.run(&["workspace", &id, "--set", "."]).ok();
    }
    let script = "turn\n call nothing {}\nthen\n say whole\n";
    let mut requests = Vec::new();
    for home in [&stays, &goes] {
        home.follows(script);
        assert_eq!(home.run(&["resume", &id]).ok(), "whole\n");
        requests.push(digests(home, &id));
        assert_eq!(home.ledger(), [""; 0], "an effect does not happen again");
        home.run(&["verify", "--all", "--deep"]).ok();
    }
    assert_eq!(requests[0], requests[1]);
    assert_eq!(requests[0].len(), 3);
    // Where it was moved from it does not go on.
    assert_eq!(home.run(&["resume", &id]).code, 1);
    assert_eq!(home.run(&["resume", "--all"]).ok(), "nothing is unfinished\n");
}
