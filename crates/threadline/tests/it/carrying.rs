//! Carrying: export and import.

use insta::assert_snapshot;
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::{Digest, Fact, Invocation, Money, Output, Stop, Usage};
use threadline_core::history::record::Record;
use threadline_core::id::AgentId;
use threadline_core::transfer::line::{Line, Part};
use threadline_testing::notation;

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

/// An entry that breaks a rule after it was half taken in: what is salvaged is exactly what an export
/// of the entries before it gives.
#[test]
fn a_refused_entry_leaves_no_trace_in_what_is_salvaged() {
    let records = records_of(WEATHER);
    for kept in [1, 3, 8, 14] {
        let (kept, _) = records.split_at(kept);
        let last = kept.last().unwrap();
        let seq = last.open().unwrap().seq.next();
        let spent = Output {
            blocks: Vec::new(),
            invocation: invocation(),
            stop: Stop::Done,
            usage: Usage { input: 5, output: 6, ..Usage::default() },
            cost: Some(Money(7_000)),
        };
        // There is no such agent; but first its cost is counted.
        let (agent, fact) = (AgentId(9), Fact::Output(spent));
        let refused = Record::seal(&Entry { seq, agent, fact, ..entry() }, [7; 16], last.hash);
        let refused = [kept, &[refused.unwrap()]].concat();
        let (salvaging, plain) = (Home::new(), Home::new());
        salvaging.write("broken", export_of_records(&refused));
        let told = salvaging.run(&["import", "broken", "--salvage"]).ok();
        assert!(told.contains("breaks a rule"), "{told}");
        plain.write("whole", export_of_records(kept));
        plain.run(&["import", "whole"]).ok();
        for arguments in [&["list", "--json"][..], &["show", TALK, "--all", "--json"]] {
            let salvaged = salvaging.run(arguments).json();
            assert_eq!(salvaged, plain.run(arguments).json(), "{seq}");
        }
        salvaging.run(&["verify", TALK, "--deep"]).ok();
    }
}

/// Costs and usage at the limits of integers are summed without overflow, and alike everywhere.
#[test]
fn costs_at_the_limits_are_summed() {
    let invocation = serde_json::to_string(&invocation()).unwrap();
    let most = u64::MAX;
    let output = |cost: u64| {
        format!(
            r#"planner asks scripted/m1
! #1 output {{"blocks":[{{"text":{{"text":"dear"}}}}],"invocation":{invocation},"stop":"done","usage":{{"input":{most},"output":{most},"cached_input":{most},"cache_write":{most},"reasoning":{most}}},"cost":{cost}}}
"#
        )
    };
    let mut story = "@ planner joins primary\n".to_owned();
    for cost in [Money::SUM_CAP.0, Money::SUM_CAP.0, 1] {
        story.push_str("user: what does it cost?\n");
        story.push_str(&output(cost));
    }
    let home = Home::with(&story);
    let cost = |home: &Home| {
        home.run(&["list", "--json"]).json()["conversations"][0]["cost_nano_usd"].clone()
    };
    assert_eq!(cost(&home), i64::MAX);
    home.run(&["verify", TALK, "--deep"]).ok();
    for arguments in [
        &["show", TALK, "--all"][..],
        &["context", TALK],
        &["resume", TALK, "--json"],
        &["run", "add 2 and 3", "--continue", TALK, "--json"],
        &["rewind", TALK],
        &["fork", TALK],
        &["list"],
    ] {
        let ran = home.run(arguments);
        assert!(!ran.err.contains("panicked"), "{arguments:?}: {ran:#?}");
        assert_eq!(ran.code, 0, "{arguments:?}: {ran:#?}");
    }
    assert_eq!(cost(&home), i64::MAX);
    home.run(&["verify", "--all", "--deep"]).ok();
}

#[test]
fn a_cost_that_no_store_can_hold_is_refused() {
    let records = records_of("@ planner joins primary\nuser: hello\nplanner asks scripted/m1");
    let last = records.last().unwrap();
    let seq = last.open().unwrap().seq.next();
    let output = Output {
        blocks: Vec::new(),
        invocation: invocation(),
        stop: Stop::Done,
        usage: Usage::default(),
        cost: Some(Money(1 << 63)),
    };
    let fact = Fact::Output(output);
    let dear = Record::seal(&Entry { seq, agent: AgentId(1), fact, ..entry() }, [7; 16], last.hash);
    let home = Home::new();
    home.write("dear", export_of_records(&[&*records, &[dear.unwrap()]].concat()));
    let told = home.run(&["import", "dear"]).fails(1);
    assert!(told.contains("a cost of 9223372036854775808 billionths of a dollar"), "{told}");
    assert!(told.contains(&format!("entry {seq}")), "{told}");
    assert_eq!(home.run(&["list", "--json"]).json()["conversations"].as_array().unwrap().len(), 0);
}

fn records_of(story: &str) -> Vec<Record> {
    let story = notation::parse(story).unwrap();
    let placed = story.batches().iter().flat_map(|batch| &batch.entries);
    placed.map(|placed| (*placed.record).clone()).collect()
}

fn export_of_records(records: &[Record]) -> Vec<u8> {
    let mut bytes = Vec::new();
    Line::Header(TALK.parse().unwrap()).write(&mut bytes).unwrap();
    for record in records {
        Line::Entry(record.clone()).write(&mut bytes).unwrap();
    }
    let last = records.last().unwrap();
    Line::End(last.open().unwrap().seq, last.hash).write(&mut bytes).unwrap();
    bytes
}

/// The invocation of an output of the story.
fn invocation() -> Invocation {
    let outputs = records_of(WEATHER).into_iter().map(|record| record.open().unwrap().fact);
    let mut invocations = outputs.filter_map(|fact| match fact {
        Fact::Output(output) => Some(output.invocation),
        _ => None,
    });
    invocations.next().unwrap()
}

/// An entry of which the rest is of no importance.
fn entry() -> Entry {
    records_of(WEATHER)[0].open().unwrap()
}
