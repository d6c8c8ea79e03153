//! A snapshot is a cache: what a model sees is the same with any snapshot and with none.

use rusqlite::Connection;
use threadline_core::id::{ConversationId, Seq};

use crate::home::Home;

/// A conversation with two turns, the notebook with what it was told, and its id.
fn noted(text: &str) -> (Home, String) {
    let home = Home::new();
    let ran = home.run(&["run", &format!("remember that {text}"), "--json"]).json();
    let id = ran["id"].as_str().unwrap().to_owned();
    home.run(&["run", "add 2 and 3", "--continue", &id]).ok();
    (home, id)
}

/// Asserts that the context shows the notebook, and is the same once all snapshots are gone.
fn assert_same_without_snapshots(home: &Home, id: &str) {
    let seen = home.run(&["context", id, "--text"]).ok();
    assert!(seen.contains("I like tea"), "the live screen is missing: {seen}");
    home.run(&["verify", id, "--deep"]).ok();
    Connection::open(home.database()).unwrap().execute("DELETE FROM snapshot", []).unwrap();
    assert_eq!(home.run(&["context", id, "--text"]).ok(), seen);
    home.run(&["verify", id, "--deep"]).ok();
}

#[test]
fn a_rewind_that_is_undone_leaves_the_screens_as_they_were() {
    let (home, id) = noted("I like tea");
    let before = home.run(&["context", &id, "--text"]).ok();
    home.run(&["rewind", &id, "--turns", "1"]).ok();
    home.run(&["rewind", &id, "--undo"]).ok();
    assert_eq!(home.run(&["context", &id, "--text"]).ok(), before);
    assert_same_without_snapshots(&home, &id);
}

#[test]
fn a_fork_inside_a_turn_has_the_screens_of_that_turn() {
    let (home, id) = noted("I like tea");
    let entries = home.entries(&id);
    let is_start = |entry: &&serde_json::Value| entry["kind"] == "invocation_started";
    let inside = entries.iter().rfind(is_start).unwrap()["seq"].to_string();
    let fork = home.run(&["fork", &id, "--at", &inside, "--json"]).json();
    assert_same_without_snapshots(&home, fork["id"].as_str().unwrap());
}

#[test]
fn a_snapshot_that_shows_something_else_is_found() {
    let ((home, id), (other, other_id)) = (noted("I like tea"), noted("I like rum"));
    home.run(&["verify", &id, "--deep"]).ok();
    let meant: ConversationId = id.parse().unwrap();
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let theirs = threadline::sqlite(&other.database()).unwrap();
        let theirs = theirs.snapshot(other_id.parse().unwrap(), Seq(u64::MAX)).await.unwrap();
        let store = threadline::sqlite(&home.database()).unwrap();
        let mut ours = store.snapshot(meant, Seq(u64::MAX)).await.unwrap().unwrap();
        ours.widgets = theirs.unwrap().widgets;
        store.keep_snapshot(meant, &ours, false).await.unwrap();
    });
    let found = home.run(&["verify", &id, "--deep"]);
    let told = "the context of agent 1 is another with a snapshot than without";
    assert!(found.code == 1 && found.out.contains(told), "{found:?}");
}
