//! What agents do in the background, and what other terminals do to a turn that is followed.

use std::thread::sleep;
use std::time::Duration;

use insta::assert_snapshot;
use serde_json::Value;

use crate::home::Home;

/// A home with two agents.
fn pair() -> Home {
    let home = Home::new();
    let config = "[agents.planner]\nprimary = true\n[agents.ada]\ndescription = \"knows sums\"\n";
    home.write(".config/threadline/config.toml", config);
    home
}

#[test]
fn an_answer_that_comes_later_is_printed_in_a_pipe() {
    let home = pair();
    let ran = home.feed(b"tell ada to add 2 and 3\nadd 1 and 1\n", &["chat"]);
    assert_snapshot!(ran.out, @"
    ada has the task. I will tell you the answer when it comes.
    planner:
    ada says: 2 + 3 = 5.
    1 + 1 = 2.
    ");
    let ran = home.feed(b"tell ada to add 2 and 3\n", &["chat", "--json"]);
    let told: Vec<Value> =
        ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<(&str, &str)> = told
        .iter()
        .map(|told| (told["agent"].as_str().unwrap(), told["answer"].as_str().unwrap()))
        .collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(told[1], ("planner", "ada says: 2 + 3 = 5."));
}

#[test]
fn a_question_in_the_background_is_told() {
    let home = pair();
    let ran = home.feed(b"tell ada to write hello to a.txt\nhello\n", &["chat"]);
    assert_eq!(ran.code, 4, "{}", ran.err);
    assert!(ran.err.contains("a person must allow"), "{}", ran.err);
    let ran = home.run(&["run", "tell ada to write hello to b.txt"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let mut told = ran.err;
    // What works on when the program ends is gone on with elsewhere.
    if told.contains("agents have not finished") {
        told = home.run(&["resume", "last"]).err;
    }
    assert!(told.contains("threadline approve"), "{told}");
    // What is said to an agent that asks waits for the answer, and says so.
    let ran = home.run(&["run", "--continue", "last", "--to", "ada", "add 1 and 1"]);
    assert_eq!(ran.code, 4, "{}", ran.err);
    assert!(ran.err.contains("a person must allow"), "{}", ran.err);
}

#[test]
fn a_turn_that_another_terminal_takes_back_is_withdrawn() {
    let home = pair();
    let running = home.start(&["run", "wait 600 seconds", "--json"]);
    while home.bodies(&running.id, "timer_set").is_empty() {
        sleep(Duration::from_millis(20));
    }
    home.run(&["rewind", &running.id]).ok();
    let (code, out, _) = running.end();
    let told: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &told["ending"]), (1, &"withdrawn".into()));
}

#[test]
fn a_name_that_nobody_has_begins_nothing() {
    let home = pair();
    assert_snapshot!(home.run(&["run", "--to", "adda", "x"]).fails(1), @r#"error: there is no agent named "adda"; did you mean ada?"#);
    home.feed(b"@adda x\n@ada\n", &["chat"]);
    assert_eq!(home.run(&["list", "--json"]).json()["conversations"], serde_json::json!([]));
}

#[test]
fn what_is_due_is_printed_on_coming_back() {
    let home = pair();
    let ran = home.run(&["run", "wake me in 1 second: add 40 and 2"]);
    assert!(ran.err.contains("something is due at"), "{}", ran.err);
    sleep(Duration::from_millis(1_100));
    let told = home.run(&["resume", "last", "--json"]).json();
    assert_eq!((&told["agent"], &told["answer"]), (&"planner".into(), &"40 + 2 = 42.".into()));
}
