//! Changing: fork and rewind.

use insta::assert_snapshot;

use crate::home::{Home, TALK};
use crate::stories::WEATHER;

/// The messages of a conversation, by their entries.
fn messages(home: &Home, id: &str) -> Vec<u64> {
    let shown = home.run(&["show", id, "--json"]).json();
    let entries = shown["entries"].as_array().unwrap().iter();
    entries.map(|entry| entry["seq"].as_u64().unwrap()).collect()
}

#[test]
fn a_rewind_goes_back_over_the_last_turn_and_is_undone() {
    let home = Home::with(WEATHER);
    assert_eq!(messages(&home, TALK), [4, 11, 12, 14]);
    assert_snapshot!(home.run(&["rewind", TALK]).shown(), @r#"
    rewound to entry 11; 2 messages count now
    to undo: threadline rewind <talk> --undo
    "#);
    assert_eq!(messages(&home, TALK), [4, 11]);
    assert_snapshot!(home.run(&["rewind", TALK, "--undo"]).shown(), @"
    the rewind is undone: back at entry 15; 4 messages count now
    to undo: threadline rewind <talk> --undo
    ");
    assert_eq!(messages(&home, TALK), [4, 11, 12, 14]);
    // Undoing what was undone does it again.
    home.run(&["rewind", TALK, "--undo"]).ok();
    assert_eq!(messages(&home, TALK), [4, 11]);
    home.run(&["verify", TALK, "--deep"]).ok();
}

#[test]
fn a_rewind_goes_where_it_is_told() {
    let home = Home::with(WEATHER);
    assert_snapshot!(home.run(&["rewind", TALK, "--to", "4", "--json"]).shown(), @r#"{"id":"<talk>","to":4,"entries":17,"messages":1}"#);
    assert_eq!(messages(&home, TALK), [4]);
    home.run(&["rewind", TALK, "--to", "14"]).ok();
    assert_eq!(messages(&home, TALK), [4, 11, 12, 14]);
    home.run(&["rewind", TALK, "--turns", "2"]).ok();
    assert_eq!(messages(&home, TALK), [0; 0]);
    home.run(&["rewind", TALK, "--undo"]).ok();
    home.run(&["rewind", TALK, "--reset"]).ok();
    assert_eq!(messages(&home, TALK), [0; 0]);
    home.run(&["verify", TALK, "--deep"]).ok();
}

#[test]
fn a_rewind_that_cannot_be_says_why() {
    let home = Home::with(WEATHER);
    let fails = |arguments: &[&str]| home.run(arguments).fails(1);
    assert_snapshot!(fails(&["rewind", TALK, "--to", "18446744073709551615"]), @"error: there is no entry 18446744073709551615 to go back to; the last is 14");
    assert_snapshot!(fails(&["rewind", TALK, "--turns", "3"]), @"error: only 2 turns can be gone back over; --reset goes back to the beginning");
    assert_snapshot!(fails(&["rewind", TALK, "--undo"]), @"error: there is no rewind to undo");
    home.run(&["rewind", TALK, "--reset"]).ok();
    assert_snapshot!(fails(&["rewind", TALK]), @"error: there is no turn to go back over");
    assert_snapshot!(fails(&["rewind", TALK, "--reset"]), @"error: nothing has been said yet");
}

#[test]
fn a_fork_shares_what_came_before() {
    let home = Home::with(WEATHER);
    assert_snapshot!(home.run(&["fork", TALK, "--at", "11"]).shown(), @"forked at entry 11: <id 1>");
    let forked = home.run(&["fork", TALK, "--json"]).json();
    assert_eq!((&forked["from"], forked["at"].as_u64()), (&TALK.into(), Some(14)));
    let id = forked["id"].as_str().unwrap();
    assert_eq!(messages(&home, id), [4, 11, 12, 14]);
    assert_eq!(messages(&home, TALK), [4, 11, 12, 14]);
    let fails = |at: &str| home.run(&["fork", TALK, "--at", at]).fails(1);
    assert_snapshot!(fails("15"), @"error: there is no entry 15 to fork at; the entries are 1 to 14");
}

#[test]
fn a_fork_can_be_forked() {
    let home = Home::with(WEATHER);
    let fork = |id: &str, at: &str| {
        let forked = home.run(&["fork", id, "--at", at, "--json"]).json();
        forked["id"].as_str().unwrap().to_owned()
    };
    let child = fork(TALK, "11");
    let grandchild = fork(&child, "4");
    assert_eq!(messages(&home, &child), [4, 11]);
    assert_eq!(messages(&home, &grandchild), [4]);
    let listed = home.run(&["list", "--json"]).json();
    let found = listed["conversations"].as_array().unwrap().iter().find(|c| c["id"] == *grandchild);
    assert_eq!(found.unwrap()["forked_from"]["id"], *child);
    assert_eq!(found.unwrap()["forked_from"]["seq"], 4);
    // Each goes its own way.
    home.run(&["rewind", &child, "--reset"]).ok();
    assert_eq!(messages(&home, &child), [0; 0]);
    assert_eq!(messages(&home, &grandchild), [4]);
    assert_eq!(messages(&home, TALK), [4, 11, 12, 14]);
    home.run(&["verify", "--all", "--deep"]).ok();
}
