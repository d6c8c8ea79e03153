//! Exports of earlier builds: they import, verify and are exported again byte for byte.

use std::collections::BTreeSet;

use serde_json::Value;
use threadline_core::history::fact::Fact;

use crate::home::Home;

/// A conversation with every kind of fact, an attachment and a rewind, exported before the first
/// release.
const EVERY_KIND: &str = include_str!("../exports/every-kind.threadline.jsonl");

#[test]
fn an_earlier_export_is_exported_again_byte_for_byte() {
    let home = Home::new();
    home.write("talk", EVERY_KIND);
    home.run(&["import", "talk", "--trusted"]).ok();
    home.run(&["verify", "last", "--deep"]).ok();
    assert_eq!(home.run(&["export", "last"]).ok(), EVERY_KIND);
    home.run(&["show", "last", "--all"]).ok();
    home.run(&["context", "last"]).ok();
}

#[test]
fn it_has_every_kind_of_fact() {
    let lines = EVERY_KIND.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let kinds: BTreeSet<String> = lines
        .filter_map(|line| line["entry"]["envelope"]["kind"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(kinds, Fact::KINDS.iter().map(|kind| (*kind).to_owned()).collect());
}
