//! What a model sees: `context`, and `/context` in a chat.

use std::fmt::Write as _;

use insta::assert_snapshot;
use serde_json::Value;

use crate::home::{Home, TALK};
use crate::stories::WEATHER;

/// A home with a conversation that outgrew the window of the built-in model.
fn driven(turns: usize) -> Home {
    let home = Home::new();
    let mut lines = String::from("add 2 and 3\nremember that I like tea\n");
    for turn in 0..turns {
        let mut text = String::new();
        for number in 0..250 {
            writeln!(text, "{turn}-{number} is {}", (turn * 7919 + number * 104_729) % 9973)
                .unwrap();
        }
        home.write(&format!("notes{turn}.txt"), &text);
        writeln!(lines, "read notes{turn}.txt").unwrap();
    }
    lines.push_str("what do you remember?\n");
    home.feed(lines.as_bytes(), &["chat"]).ok();
    home
}

/// The places where a model was asked.
fn asked(home: &Home) -> Vec<u64> {
    let entries = home.entries("last").into_iter();
    let asked = entries.filter(|entry| entry["kind"] == "invocation_started");
    asked.map(|entry| entry["seq"].as_u64().unwrap()).collect()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

/// All that is taken is told, part by part and by groups.
fn adds_up(seen: &Value) {
    let parts = seen["parts"].as_array().unwrap();
    let sum: u64 = parts
        .iter()
        .map(|part| {
            let results = part["results"].as_array();
            if let Some(results) = results {
                let each: u64 = results.iter().map(|result| number(&result["tokens"])).sum();
                assert_eq!(each, number(&part["tokens"]), "{part}");
            }
            number(&part["tokens"]) + part["screen"]["tokens"].as_u64().unwrap_or(0)
        })
        .sum();
    assert_eq!(sum, number(&seen["tokens"]));
    let shares = seen["shares"].as_array().unwrap();
    let of = |group: &str| {
        let share = shares.iter().find(|share| share["group"] == group).unwrap();
        number(&share["tokens"])
    };
    let all: u64 = shares.iter().map(|share| number(&share["tokens"])).sum();
    let factor = number(&seen["factor_percent"]);
    assert_eq!(all, number(&seen["window_tokens"]) * 100 / factor);
    assert_eq!(sum, all - of("free") - of("reserve"));
}

/// A home whose agent has no clock: a minute may pass at any time, and brings another screen.
fn timeless() -> Home {
    let home = Home::new();
    let config = "[agents.assistant]\nwidgets = [\"notebook\"]\n";
    home.write(".config/threadline/config.toml", config);
    home
}

#[test]
fn what_the_model_sees_is_told_part_by_part() {
    let home = timeless();
    home.run(&["run", "add 2 and 3"]).ok();
    assert_snapshot!(home.run(&["context"]).shown(), @r#"
    (no title)  <id 1>
      assistant · guide · window 32,000 · reserve 4,096 · capacity 21,846 · factor 100 % · recall on

      [STTT#~...............................................-------]
      S system 31 (0.1 %) · T tools 2,021 (6.3 %) · # current turn 30 (0.1 %) · ~ screens 10 (0.0 %) · . free 25,812 (80.7 %) · - reserve 4,096 (12.8 %)

      entry  what          level     tokens    share  first words
          2  system                      31    0.1 %  You are an assistant in a terminal. Answer briefly and in plain text. Us…
             tools                    2,021    6.3 %  calculator, recall, read_file, list_files, search_files, write_file, edi…
          4  user          live           6    0.0 %  add 2 and 3
               screen                    10    0.0 %
          6  output        live           9    0.0 %  → calculator {"expression":"2 + 3"}
          9  results       live           7    0.0 %
          8    calculator  live           7    0.0 %  2 + 3 = 5
         11  output        live           8    0.0 %  2 + 3 = 5.
             sum                      2,092    6.5 %
    "#);
    let seen = home.run(&["context", "--json"]).json();
    adds_up(&seen);
    assert_eq!(seen["at"], Value::Null);
    assert_eq!(seen["border"], Value::Null);
    assert_eq!(seen["parts"][2]["what"], "user");
    assert_eq!(seen["parts"][2]["text"], Value::Null);
    let texts = home.run(&["context", "--json", "--text"]).json();
    assert_eq!(texts["parts"][2]["text"], "add 2 and 3");
    assert_eq!(texts["parts"][4]["results"][0]["text"], "2 + 3 = 5");
}

#[test]
fn the_text_of_a_part_is_printed() {
    let home = Home::with(WEATHER);
    assert_snapshot!(home.run(&["context", TALK, "--text"]).shown(), @r##"
    Weather in Oslo  <talk>
      planner · guide · window 32,000 · reserve 4,096 · capacity 23,897 · factor 100 % · recall off

      [S=#..................................................-------]
      S system 2 (0.0 %) · = earlier turns 27 (0.1 %) · # current turn 7 (0.0 %) · . free 27,868 (87.1 %) · - reserve 4,096 (12.8 %)

      entry  what       level     tokens    share  first words
          3  system                    2    0.0 %  be brief
               be brief
          4  user       recent         7    0.0 %  what is the weather in Oslo?
               what is the weather in Oslo?
          6  output     live          10    0.0 %  let me look → weather {"city":"Oslo"}
               let me look
               → weather {"city":"Oslo"}
          9  results    recent         5    0.0 %
          8    weather  recent         5    0.0 %  4 °C, rain
               4 °C, rain
         11  output     live           5    0.0 %  It rains in Oslo.
               It rains in Oslo.
         12  user       live           5    0.0 %  明天天气怎么样？
               明天天气怎么样？
         14  output     live           2    0.0 %  Sun.
               Sun.
             sum                      36    0.1 %
    "##);
    assert_snapshot!(home.run(&["context", TALK, "--text", "8"]).shown(), @r##"
    Weather in Oslo  <talk>
      planner · guide · window 32,000 · reserve 4,096 · capacity 23,897 · factor 100 % · recall off

          8    weather  recent         5    0.0 %  4 °C, rain
               4 °C, rain
    "##);
    assert_snapshot!(home.run(&["context", TALK, "--text", "7"]).told(), @"error: entry 7 is not shown to the model");
}

#[test]
fn a_small_window_folds_the_past() {
    let home = Home::new();
    home.run(&["dev", "generate", "--entries", "600", "--seed", "4"]).ok();
    let whole = home.run(&["context", "--window", "1000000", "--json"]).json();
    assert_eq!(whole["border"], Value::Null);
    adds_up(&whole);
    for window in ["4000", "8000", "16000"] {
        let seen = home.run(&["context", "--window", window, "--json"]).json();
        adds_up(&seen);
        let earlier =
            seen["parts"].as_array().unwrap().iter().filter(|part| part["what"] == "Earlier");
        assert_eq!(earlier.count(), 1, "{window}");
        assert!(number(&seen["border"]) > 1);
        assert_eq!(number(&seen["reserve_tokens"]) * 4, number(&seen["window_tokens"]));
        assert!(number(&seen["tokens"]) <= number(&seen["window_tokens"]) * 3 / 4);
    }
    let text = home.run(&["context", "--window", "4000"]).ok();
    let bar = text.lines().find(|line| line.starts_with("  [")).unwrap();
    assert_eq!(bar.chars().count(), 64, "{bar}");
    assert!(bar.contains('E') && bar.contains('-'), "{bar}");
    home.run(&["context", "--window", "10"]).fails(1);
}

#[test]
fn every_past_invocation_is_seen_again_as_it_was_sent() {
    let home = driven(20);
    let asked = asked(&home);
    assert!(asked.len() > 40);
    let mut moved = 0;
    for seq in &asked {
        let seen = home.run(&["context", "--at", &seq.to_string(), "--json"]).json();
        assert_eq!(seen["at"], *seq);
        assert_eq!(seen["sent"]["context"]["outcome"], "matches", "entry {seq}");
        assert_eq!(seen["sent"]["body"]["outcome"], "matches", "entry {seq}");
        adds_up(&seen);
        moved += u32::from(seen["border"] != Value::Null);
    }
    assert!(moved > 3, "nothing was folded");
    // An entry after it stands for the newest before.
    let (first, second) = (asked[0], asked[1]);
    let between = home.run(&["context", "--at", &(second - 1).to_string(), "--json"]).json();
    assert_eq!(between["at"], first);
    let text = home.run(&["context", "--at", &first.to_string()]).ok();
    assert!(text.contains("as it was sent: the digests of context and request match"), "{text}");
}

#[test]
fn what_differs_from_the_time_before_is_told() {
    let home = driven(20);
    let asked = asked(&home);
    let mut breaches = std::collections::BTreeSet::new();
    for seq in &asked[1..] {
        let diff = home.run(&["context", "--at", &seq.to_string(), "--diff", "--json"]).json();
        let diff = &diff["diff"];
        let whole = diff["broken"] == Value::Null;
        assert_eq!(whole, diff["share_permille"] == 1000, "{diff}");
        assert_eq!(whole, diff["same_tokens"] == diff["of_tokens"], "{diff}");
        if !whole {
            breaches.insert(diff["broken"]["by"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(breaches.into_iter().collect::<Vec<_>>(), ["border", "turn"]);
    // Within a turn it only grows.
    let text = home.run(&["context", "--at", &asked[1].to_string(), "--diff"]).ok();
    assert!(text.contains("100.0 % is an identical prefix"), "{text}");
    // What would be sent now, against what was sent last.
    let now = home.run(&["context", "--diff", "--json"]).json();
    assert_eq!(now["diff"]["against"], *asked.last().unwrap());
    assert_eq!(now["diff"]["changes"][0]["change"], "new");
    let before = asked[0].to_string();
    assert_snapshot!(home.run(&["context", "--at", &before, "--diff"]).fails(1), @"error: no model was asked before: there is nothing to compare with");
}

#[test]
fn what_cannot_be_shown_is_told() {
    let home = Home::with(WEATHER);
    assert_snapshot!(home.run(&["context", TALK, "--at", "99"]).fails(1), @"error: there is no entry 99; the last is 14");
    assert_snapshot!(home.run(&["context", TALK, "--at", "4"]).fails(1), @"error: no model was asked for planner at entry 4 or before it");
    assert_snapshot!(home.run(&["context", TALK, "--agent", "nobody"]).fails(1), @r#"error: there is no agent "nobody"; there is only planner"#);
    assert_snapshot!(home.run(&["context", TALK, "--agent", "0"]).fails(1), @"error: 0 is the conversation, not an agent");
    assert_snapshot!(home.run(&["context", TALK, "--model", "nobody"]).fails(1), @r#"error: there is no model or route named "nobody"; `threadline models` lists what there is"#);
    home.run(&["context", TALK, "--at", "5", "--window", "100"]).fails(2);
    home.run(&["context", TALK, "--window", "0"]).fails(2);
}

#[test]
fn an_entry_of_another_agent_is_told_of() {
    let home = Home::new();
    home.run(&["dev", "generate", "--entries", "300", "--agents", "3"]).ok();
    let shown = home.run(&["show", "last", "--all", "--json"]).json();
    let names: Vec<&str> = shown["agents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|agent| agent["name"].as_str().unwrap())
        .collect();
    let entries = shown["entries"].as_array().unwrap();
    let asked = entries.iter().find(|entry| {
        entry["kind"] == "invocation_started"
            && entry["agent"] == 2
            && entry["body"]["purpose"] == "step"
    });
    let seq = asked.unwrap()["seq"].to_string();
    let told = home.run(&["context", "--agent", names[0], "--at", &seq]).fails(1);
    assert!(told.contains(&format!("entry {seq} is of {}; add --agent", names[1])), "{told}");
    let seen = home.run(&["context", "--at", &seq]).ok();
    assert!(seen.contains("made by projection version 1, this is 2: not compared"), "{seen}");
    assert!(seen.contains(names[1]), "{seen}");
}

#[test]
fn forks_copies_and_empty_ones_are_seen_too() {
    let home = Home::new();
    home.run(&["run", "add 2 and 3"]).ok();
    let parts = |home: &Home| {
        let seen = home.run(&["context", "--json"]).json();
        seen["parts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|part| part["what"].clone())
            .collect::<Vec<_>>()
    };
    let before = parts(&home);
    home.run(&["fork", "last"]).ok();
    assert_eq!(parts(&home), before);
    home.run(&["export", "last", "-o", "talk"]).ok();
    let other = Home::new();
    other.write("talk", home.read("talk"));
    other.run(&["import", "talk"]).ok();
    assert_eq!(parts(&other), before);
    let seq = asked(&other)[0].to_string();
    let seen = other.run(&["context", "--at", &seq, "--json"]).json();
    assert_eq!(seen["sent"]["context"]["outcome"], "matches");
    home.run(&["rewind", "last", "--reset"]).ok();
    assert_eq!(parts(&home), ["system", "tools"]);
    // What a rewind has left behind can still be looked at, and does not count before it.
    let seen = home.run(&["context", "--at", &seq, "--json"]).json();
    assert_eq!(seen["sent"]["context"]["outcome"], "matches");
    home.run(&["context", "--diff"]).fails(1);
}

#[test]
fn what_another_process_drives_is_seen_too() {
    let home = Home::new();
    home.follows("turn else\n  hang");
    let started = home.start(&["run", "wait for me"]);
    home.await_entry(&started.id, "invocation_started");
    let seen = home.run(&["context", "--json"]).json();
    assert_eq!(seen["model"], "scripted");
    let at = asked(&home)[0].to_string();
    let sent = home.run(&["context", "--at", &at, "--json"]).json();
    assert_eq!(sent["sent"]["context"]["outcome"], "matches");
    assert_eq!(sent["sent"]["body"]["outcome"], "matches");
    assert_eq!(sent["parts"], seen["parts"]);
    // Without the script nobody knows the model that was asked.
    home.write(".config/threadline/config.toml", "");
    let text = home.run(&["context", "--at", &at]).ok();
    assert!(
        text.contains("request is not compared: the model that was asked is not known"),
        "{text}"
    );
    started.kill();
}

#[test]
fn a_chat_shows_its_context() {
    let home = timeless();
    let said = home.feed(b"/context\n", &["chat"]);
    assert_snapshot!(said.told(), @"error: nothing was said yet");
    let said = home.feed(b"add 2 and 3\n/context\n", &["chat"]);
    assert_snapshot!(said.shown(), @r#"
    2 + 3 = 5.
    (no title)  <id 1>
      assistant · guide · window 32,000 · reserve 4,096 · capacity 21,846 · factor 100 % · recall on

      [STTT#~...............................................-------]
      S system 31 (0.1 %) · T tools 2,021 (6.3 %) · # current turn 30 (0.1 %) · ~ screens 10 (0.0 %) · . free 25,812 (80.7 %) · - reserve 4,096 (12.8 %)

      entry  what          level     tokens    share  first words
          2  system                      31    0.1 %  You are an assistant in a terminal. Answer briefly and in plain text. Us…
             tools                    2,021    6.3 %  calculator, recall, read_file, list_files, search_files, write_file, edi…
          4  user          live           6    0.0 %  add 2 and 3
               screen                    10    0.0 %
          6  output        live           9    0.0 %  → calculator {"expression":"2 + 3"}
          9  results       live           7    0.0 %
          8    calculator  live           7    0.0 %  2 + 3 = 5
         11  output        live           8    0.0 %  2 + 3 = 5.
             sum                      2,092    6.5 %
    --- standard error
    · calculator 2 + 3
    ✓ 2 + 3 = 5
    to come back: threadline chat <id 1>
    "#);
    let said = home.feed(b"add 2 and 3\n/context\n", &["chat", "--json"]).ok();
    let seen: Value = serde_json::from_str(said.lines().nth(1).unwrap()).unwrap();
    adds_up(&seen);
    let many = "add 2 and 3\n".repeat(5) + "/context\n";
    let said = home.feed(many.as_bytes(), &["chat"]).ok();
    assert!(said.contains("smaller parts: threadline context "), "{said}");
}
