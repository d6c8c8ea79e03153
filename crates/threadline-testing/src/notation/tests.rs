//! Stories read and written, and generated histories back and forth.

use super::*;
use crate::generator::{GeneratorOptions, generate};

const STORY: &str = r#"
@ planner joins primary tools=weather,notes
@ planner instruction: be brief
user: what is the weather in Oslo?
planner asks scripted/m1
planner: let me look → weather {"city":"Oslo"} | notes {}
weather c5.0 starts read
weather c5.0 ok: 4 °C, rain
notes c5.1 ok:
    first line

      indented line
planner results
planner asks scripted/m1
planner: It rains.
"#;

#[test]
fn a_story_reads_as_it_is_written() {
    let story = parse(STORY).unwrap();
    insta::assert_snapshot!(print(story.entries()), @r#"
    @ planner joins primary tools=weather,notes
    @ planner instruction: be brief
    user: what is the weather in Oslo?
    planner asks scripted/m1
    planner: let me look → weather {"city":"Oslo"} | notes {}
    weather c5.0 starts read
    weather c5.0 ok: 4 °C, rain
    notes c5.1 ok: first line

          indented line
    planner results
    planner asks scripted/m1
    planner: It rains.
    "#);
}

#[test]
fn what_the_words_leave_out_stands_in_braces() {
    let story = parse(
        r#"
@ planner joins primary route=plan: plans things
@ coder joins {"options":{"max_output_tokens":100}}
user to coder {"client_key":"k1","from":{"person":{"name":"ada"}}}: "two lines\r\n"
coder asks anthropic/large {"estimate_tokens":12}
coder failed busy {"retry":true}: try later
coder asks openai/small
coder (length) {"usage":{"input":10}}: → shell#id_1 {"a":1} | shell! {"b
shell c7.0 asked until +10m
shell c7.0 denied {"by":"timer"}
shell c7.0 skipped {"error":"denied"}
shell c7.1 failed: cut off
coder results
coder ends limit:steps: too many
planner timer +1h every 30m: look again
+ 2h
timer 14 to planner: look again
planner ends cancelled {"by":"ada"}
coder recap 3..13: coder tried
pin 3
policy shell ask: rm *
note driver: all well
described {"labels":["a"]}: A title
"#,
    )
    .unwrap();
    insta::assert_snapshot!(print(story.entries()), @r#"
    @ planner joins primary route=plan: plans things
    @ coder joins {"options":{"max_output_tokens":100}}
    user to coder {"client_key":"k1","from":{"person":{"name":"ada"}}}: "two lines\r\n"
    coder asks anthropic/large {"estimate_tokens":12}
    coder failed busy {"retry":true}: try later
    coder asks openai/small
    coder (length) {"usage":{"input":10}}: → shell#id_1 {"a":1} | shell! {"b
    shell c7.0 asked until 2026-01-01T00:10:07.000000Z
    shell c7.0 denied {"by":"timer"}
    shell c7.0 skipped {"error":"denied"}
    shell c7.1 failed: cut off
    coder results
    coder ends limit:steps: too many
    planner timer 2026-01-01T01:00:13.000000Z every 1800000ms: look again
    timer 14 to planner: look again
    planner ends cancelled {"by":"ada"}
    coder recap 3..13: coder tried
    pin 3
    policy shell ask: rm *
    note driver: all well
    described {"labels":["a"]}: A title
    "#);
}

#[test]
fn a_rewind_shows_what_it_settled() {
    let text = "\
@ planner joins primary
user: delete it
planner: → shell {} | shell {}
shell c3.0 starts once
rewind 3
user: are you sure?
rewind 4
~ shell c3.0 unknown: started, outcome unknown: the conversation was taken back before it answered, and it may have taken effect
~ shell c3.1 skipped: not started: the conversation was taken back before it ran
~ planner results
~ planner ends withdrawn
";
    let story = parse(text).unwrap();
    insta::assert_snapshot!(print(story.entries()), @"
    @ planner joins primary
    user: delete it
    planner: → shell {} | shell {}
    shell c3.0 starts once
    rewind 3
    ~ shell c3.0 unknown: started, outcome unknown: the conversation was taken back before it answered, and it may have taken effect
    ~ shell c3.1 skipped: not started: the conversation was taken back before it ran
    ~ planner results
    ~ planner ends withdrawn
    user: are you sure?
    rewind 4
    ~ shell c3.0 unknown: started, outcome unknown: the conversation was taken back before it answered, and it may have taken effect
    ~ shell c3.1 skipped: not started: the conversation was taken back before it ran
    ~ planner results
    ~ planner ends withdrawn
    ");
    let wrong = text.replace("c3.0 unknown", "c3.0 failed");
    insta::assert_snapshot!(parse(&wrong).unwrap_err(), @"line 8: what was settled is: ~ shell c3.0 unknown: started, outcome unknown: the conversation was taken back before it answered, and it may have taken effect");
}

#[test]
fn agents_call_each_other() {
    let story = parse(
        r#"
@ planner joins primary
@ coder joins
user: do it
planner: → call_agent {"task":"it"}
planner c4.0 calls coder
planner c4.0 to coder: it
coder: done
coder returns to c4.0
call_agent c4.0 ok: done
planner results
planner: done
"#,
    )
    .unwrap();
    assert_eq!(print(story.entries()), print(parse(&print(story.entries())).unwrap().entries()));
    insta::assert_snapshot!(print(story.entries()), @r#"
    @ planner joins primary
    @ coder joins
    user: do it
    planner: → call_agent {"task":"it"}
    planner c4.0 calls coder
    planner c4.0 to coder: it
    coder: done
    coder returns to c4.0
    call_agent c4.0 ok: done
    planner results
    planner: done
    "#);
}

#[test]
fn errors_name_the_line() {
    let error = |text: &str| parse(text).unwrap_err().to_string();
    insta::assert_snapshot!(error("@ a joins\nuser: hello\n\nwhatever it is"), @r#"line 4: no fact is written as "whatever it is""#);
    insta::assert_snapshot!(error("@ a joins\n\nb: hello"), @"line 3: no agent b has joined; write #ID for one that has not");
    insta::assert_snapshot!(error("@ a joins\na: hello"), @"line 2: entry 2 (output): an output answers an input or sealed results; nothing waits for one");
    insta::assert_snapshot!(error("@ a joins\nuser {\"no\":1}: hello"), @"line 2: what is in the braces does not fit a fact of the kind input");
    insta::assert_snapshot!(error("@ a joins {\"no\""), @"line 1: what is in the braces is no JSON object: EOF while parsing an object at line 1 column 5");
    insta::assert_snapshot!(error("@ a joins\nuser: \"hello"), @"line 2: the text is no JSON string: EOF while parsing a string at line 1 column 6");
    insta::assert_snapshot!(error("@ a joins\nrewind 7"), @"line 2: there is no entry 7 to rewind to");
    insta::assert_snapshot!(error("+ soon"), @r#"line 1: "soon" is no span of time such as 500ms, 10s, 5m or 2h"#);
}

#[test]
fn generated_histories_read_back_exactly() {
    for (seed, agents) in [(1, 1), (2, 4), (3, 2)] {
        let options =
            GeneratorOptions { rewinds_percent: 25, ..GeneratorOptions::mixed(seed, agents) };
        let batches = generate(options, 1200).unwrap();
        let entries = batches.iter().flat_map(|batch| &batch.entries).map(|placed| &*placed.entry);
        let text = print(entries.clone());
        let story = parse(&text).unwrap_or_else(|error| {
            let line = text.lines().nth(error.line - 1).unwrap_or_default();
            panic!("{error}\n{line}")
        });
        assert_eq!(print(story.entries()), text);
        for (read, written) in story.entries().zip(entries.clone()) {
            assert_eq!((read.seq, read.agent), (written.seq, written.agent));
            assert_eq!(read.fact, written.fact);
        }
        assert_eq!(story.entries().count(), 1200);
        let raw = text.lines().filter(|line| line.starts_with('!')).count();
        assert!(raw * 20 < 1200, "{raw} lines are raw");
    }
}
