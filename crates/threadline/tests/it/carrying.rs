//! Carrying: export and import.

use insta::assert_snapshot;
use threadline_core::history::fact::Digest;
use threadline_core::transfer::line::{Line, Part};

use crate::home::{Home, TALK, export_of};
use crate::stories::WEATHER;

const FILE: &str = "talk.threadline.jsonl";

#[test]
fn an_export_is_imported_and_exported_again_byte_by_byte() {
    let home = Home::new();
    home.run(&["dev", "generate", "--entries", "400", "--agents", "3", "--seed", "5"]).ok();
    home.run(&["rewind", "last"]).ok();
    home.run(&["export", "last", "-o", FILE]).ok();
    let elsewhere = Home::new();
    elsewhere.write(FILE, home.read(FILE));
    elsewhere.run(&["import", FILE]).ok();
    elsewhere.run(&["verify", "last", "--deep"]).ok();
    elsewhere.run(&["export", "last", "-o", "again"]).ok();
    assert_eq!(elsewhere.read("again"), home.read(FILE));
    assert_eq!(elsewhere.run(&["export", "last"]).bytes, home.read(FILE));
    assert_eq!(elsewhere.run(&["export", "last", "-o", "-"]).bytes, home.read(FILE));
}

#[test]
fn what_is_written_and_taken_in_is_told() {
    let home = Home::with(WEATHER);
    assert_snapshot!(home.run(&["export", TALK, "-o", "copy"]).shown(), @r#"
    --- standard error
    wrote 14 entries to copy
    "#);
    assert_snapshot!(home.run(&["export", TALK, "-o", "json", "--json"]).shown(), @r#"{"id":"<talk>","file":"json","entries":14,"attachments":0,"waiting":0,"moved":false}"#);
    assert_snapshot!(home.run(&["import", "copy"]).shown(), @"
    <talk>  nothing new: all of it is here already
    To read it: threadline show <talk>
    ");
    assert_snapshot!(home.run(&["import", "copy", "--as-new"]).shown(), @"
    <id 1>  imported 14 entries
    To read it: threadline show <id 1>. Nothing runs before you resume it: threadline resume <id 1>
    ");
    assert_snapshot!(home.run(&["import", "copy", "--as-new", "--json"]).shown(), @r#"{"id":"<id 1>","entries":14,"new":14,"attachments":0,"waiting":0,"moved":false,"trusted":false,"voided":{"rules":[],"approvals":0,"workspace":null,"items":0},"salvaged":null}"#);
}

#[test]
fn an_export_comes_through_a_pipe() {
    let home = Home::new();
    let export = export_of(WEATHER);
    assert_eq!(home.feed(&export, &["import", "-", "--json"]).json()["entries"], 14);
    assert_eq!(home.run(&["export", TALK]).bytes, export);
}

#[test]
fn more_of_the_same_is_added() {
    let home = Home::with(WEATHER);
    home.run(&["export", TALK, "-o", "part", "--at", "11"]).ok();
    let elsewhere = Home::new();
    elsewhere.write("part", home.read("part"));
    elsewhere.write("whole", home.read(FILE));
    elsewhere.run(&["import", "part"]).ok();
    assert_snapshot!(elsewhere.run(&["import", "whole"]).shown(), @"
    <talk>  added 3 entries, 14 in all
    To read it: threadline show <talk>. Nothing runs before you resume it: threadline resume <talk>
    ");
    // And less of it changes nothing.
    assert!(elsewhere.run(&["import", "part"]).ok().contains("nothing new"));
    assert_eq!(elsewhere.run(&["export", TALK]).bytes, home.read(FILE));
}

#[test]
fn what_went_another_way_is_refused() {
    let home = Home::with(WEATHER);
    home.run(&["rewind", TALK]).ok();
    let elsewhere = Home::with(WEATHER);
    elsewhere.run(&["rewind", TALK, "--to", "4"]).ok();
    elsewhere.run(&["export", TALK, "-o", "other"]).ok();
    home.write("other", elsewhere.read("other"));
    assert_snapshot!(home.run(&["import", "other"]).fails(1), @"error: could not import other, nothing of it was kept: line 16: conversation <talk> is already here and differs from entry 15 on; import it as a conversation of its own with --as-new");
    home.run(&["import", "other", "--as-new"]).ok();
}

#[test]
fn a_file_is_not_written_over_unless_asked() {
    let home = Home::with(WEATHER);
    let fails = |arguments: &[&str]| home.run(arguments).fails(1);
    home.write("there", "precious");
    assert_snapshot!(fails(&["export", TALK, "-o", "there"]), @"error: there is there already; give --force to write over it");
    assert_eq!(home.read("there"), b"precious");
    home.run(&["export", TALK, "-o", "there", "--force"]).ok();
    assert_eq!(home.read("there"), home.read(FILE));
    assert_snapshot!(fails(&["export", TALK, "-o", "."]), @"error: . is a folder; name a file in it");
    assert_snapshot!(fails(&["export", TALK, "-o", "nowhere/file"]), @"error: there is no folder nowhere; make it first");
    assert_snapshot!(fails(&["export", TALK, "--at", "15"]), @"error: there is no entry 15; the last is 14");
    assert_eq!(std::fs::read_dir(home.path(".")).unwrap().count(), 3, "nothing is left beside it");
}

#[test]
fn what_is_no_export_is_refused() {
    let home = Home::new();
    home.write("empty", "");
    home.write("text", "hello\n");
    home.write(
        "newer",
        "{\"threadline\":2,\"conversation\":\"019b76da-a800-7000-8000-000000000001\"}\n",
    );
    let fails = |arguments: &[&str]| home.run(arguments).fails(1);
    assert_snapshot!(fails(&["import", "missing"]), @"error: could not open missing: No such file or directory (os error 2)");
    assert_snapshot!(fails(&["import", "."]), @"error: . is a folder; name a file in it");
    assert_snapshot!(fails(&["import", "empty"]), @"error: empty is not an export: it does not begin as one");
    assert_snapshot!(fails(&["import", "text"]), @"error: text is not an export: it does not begin as one");
    assert_snapshot!(fails(&["import", "newer"]), @"error: could not import newer, nothing of it was kept: line 1: the export is of version 2, this program reads up to 1; use a newer threadline");
    assert_snapshot!(fails(&["import", "-"]), @"error: standard input is not an export: it does not begin as one");
    assert_snapshot!(home.run(&["list"]).shown(), @"no conversations yet; `threadline` begins one");
}

#[test]
fn what_is_sound_of_a_broken_export_is_salvaged() {
    let home = Home::new();
    let export = String::from_utf8(export_of(WEATHER)).unwrap();
    home.write("broken", export.replace("4 °C", "5 °C"));
    assert_snapshot!(home.run(&["import", "broken"]).fails(1), @"error: could not import broken, nothing of it was kept: line 9: entry 8 is not what was written: the chain breaks here; --salvage keeps what is sound");
    assert_snapshot!(home.run(&["import", "broken", "--salvage"]).shown(), @"
    <talk>  imported 7 entries
    salvaged: the file is broken at line 9: entry 8 is not what was written: the chain breaks here
    kept are entries 1 to 7
    To read it: threadline show <talk>. Nothing runs before you resume it: threadline resume <talk>
    ");
    home.run(&["verify", TALK, "--deep"]).ok();
    // The rest is added once the whole file is there.
    home.write("whole", &export);
    assert!(home.run(&["import", "whole"]).ok().contains("added 7 entries, 14 in all"));

    home.write("cut off", &export.as_bytes()[..export.len() - 20]);
    assert_snapshot!(home.run(&["import", "cut off", "--as-new", "--salvage", "--json"]).shown(), @r#"{"id":"<id 1>","entries":14,"new":14,"attachments":0,"waiting":0,"moved":false,"trusted":false,"voided":{"rules":[],"approvals":0,"workspace":null,"items":0},"salvaged":"line 16: the export breaks off here; it has no end"}"#);
}

#[test]
fn attachments_come_along() {
    let bytes = b"the map of Oslo".to_vec();
    let digest = Digest::of(&bytes);
    let size = bytes.len();
    let story = format!(
        r#"
@ planner joins primary
! #1 input {{"sections":[{{"text":"look at this"}}],"from":{{"person":{{}}}},"attachments":[{{"digest":"{digest}","size":{size},"media_type":"text/plain","name":"map.txt"}}]}}
"#
    );
    let export = String::from_utf8(export_of(&story)).unwrap();
    let mut part = Vec::new();
    let size = u64::try_from(size).unwrap();
    Line::Attachment(Part { digest, size, offset: 0, bytes }).write(&mut part).unwrap();
    let part = String::from_utf8(part).unwrap();
    let mut lines: Vec<&str> = export.split_inclusive('\n').collect();
    lines.insert(2, &part);
    let export = lines.concat();

    let home = Home::new();
    home.write("talk", &export);
    assert_eq!(home.run(&["import", "talk", "--json"]).json()["attachments"], 1);
    assert!(home.run(&["show", "last"]).ok().contains("[map.txt: text/plain, 15 bytes]"));
    home.run(&["verify", "last", "--deep"]).ok();
    assert_eq!(home.run(&["export", "last"]).ok(), export);

    let elsewhere = Home::new();
    elsewhere.write("without", export.replace(&part, ""));
    let told = elsewhere.run(&["import", "without"]).fails(1);
    assert!(told.contains("which did not come before it"), "{told}");
}
