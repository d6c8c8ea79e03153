//! Moving: a conversation that goes on elsewhere.

use insta::assert_snapshot;

use crate::home::{Home, TALK};
use crate::stories::WEATHER;

const FILE: &str = "moved.threadline.jsonl";

fn moved() -> (Home, Home) {
    let home = Home::with(WEATHER);
    home.run(&["export", TALK, "--move", "-o", FILE]).ok();
    let elsewhere = Home::new();
    elsewhere.write(FILE, home.read(FILE));
    (home, elsewhere)
}

#[test]
fn what_is_moved_is_told() {
    let home = Home::with(WEATHER);
    assert_snapshot!(home.run(&["export", TALK, "--move", "-o", FILE]).shown(), @"
    --- standard error
    wrote 16 entries to moved.threadline.jsonl
    the conversation is closed here and goes on where the file is imported
    ");
}

#[test]
fn a_moved_conversation_goes_on_where_it_is_imported() {
    let (_, elsewhere) = moved();
    assert_snapshot!(elsewhere.run(&["import", FILE, "--trusted"]).shown(), @"
    <talk>  imported 16 entries
    It was moved here and continues where it stopped.
    To read it: threadline show <talk>. Nothing runs before you resume it: threadline resume <talk>
    ");
    let listed = elsewhere.run(&["list", "--json"]).json();
    assert_eq!(listed["conversations"][0]["moved_away"], false);
    assert_eq!(listed["conversations"][0]["copy"], false);
    elsewhere.run(&["rewind", TALK]).ok();
    elsewhere.run(&["verify", TALK, "--deep"]).ok();
}

#[test]
fn a_moved_conversation_is_closed_where_it_was() {
    let (home, _) = moved();
    assert_snapshot!(home.run(&["list"]).shown(), @"
    <talk>  Weather in Oslo
        just now · 16 entries · 4 messages · imported, not resumed yet · moved away · #travel
    ");
    assert_eq!(home.run(&["list", "--json"]).json()["conversations"][0]["moved_away"], true);
    assert_snapshot!(home.run(&["rewind", TALK]).fails(1), @"error: conversation <talk> was moved to another store; import it again to go on here");
    assert_snapshot!(home.run(&["export", TALK, "--move", "-o", "again"]).fails(1), @"error: conversation <talk> was moved to another store; import it again to go on here");
    // It can still be read, and branched off.
    home.run(&["show", TALK]).ok();
    home.run(&["fork", TALK, "--at", "14"]).ok();
}

#[test]
fn a_moved_conversation_can_come_back() {
    let (home, elsewhere) = moved();
    elsewhere.run(&["import", FILE]).ok();
    elsewhere.run(&["rewind", TALK]).ok();
    elsewhere.run(&["export", TALK, "--move", "-o", "back"]).ok();
    home.write("back", elsewhere.read("back"));
    home.run(&["import", "back"]).ok();
    assert_eq!(home.run(&["list", "--json"]).json()["conversations"][0]["moved_away"], false);
    home.run(&["rewind", TALK, "--undo"]).ok();
    home.run(&["verify", TALK, "--deep"]).ok();
}

#[test]
fn a_move_can_be_taken_back_where_it_began() {
    let (home, elsewhere) = moved();
    assert_snapshot!(home.run(&["import", FILE]).shown(), @"
    <talk>  nothing new, but it is open again
    To read it: threadline show <talk>. Nothing runs before you resume it: threadline resume <talk>
    ");
    assert_eq!(home.run(&["list", "--json"]).json()["conversations"][0]["moved_away"], false);
    home.run(&["rewind", TALK]).ok();
    home.run(&["verify", TALK, "--deep"]).ok();
    // Where it is and is open already, nothing happens.
    elsewhere.run(&["import", FILE]).ok();
    assert_snapshot!(elsewhere.run(&["import", FILE]).shown(), @"
    <talk>  nothing new: all of it is here already
    To read it: threadline show <talk>
    ");
}

#[test]
fn a_move_needs_a_file_that_can_be_written() {
    let home = Home::with(WEATHER);
    assert_snapshot!(home.run(&["export", TALK, "--move", "-o", "-"]).fails(1), @"error: a move needs a file: it is closed here only once the file is safe");
    assert_eq!(home.run(&["export", TALK, "--move"]).code, 2);
    assert_eq!(home.run(&["export", TALK, "--move", "-o", "x", "--at", "3"]).code, 2);
    home.run(&["export", TALK, "--move", "-o", "nowhere/x"]).fails(1);
    // Nothing of that has closed it.
    home.run(&["rewind", TALK]).ok();
}
