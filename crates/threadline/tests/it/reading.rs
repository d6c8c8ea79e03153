//! Reading: list, show and search.

use insta::assert_snapshot;

use crate::home::{Home, TALK};
use crate::stories::WEATHER;

#[test]
fn who_begins_is_told_how() {
    let home = Home::new();
    assert_snapshot!(home.run(&["list"]).shown(), @"no conversations yet; `threadline` begins one");
    assert_snapshot!(home.run(&["list", "--json"]).shown(), @r#"{"conversations":[],"more":false}"#);
    assert_snapshot!(home.run(&["show", "last"]).fails(1), @"error: there are no conversations in ~/.local/share/threadline/threadline.db yet; `threadline` begins one");
    assert_snapshot!(home.run(&["verify", "--all"]).shown(), @"there is nothing to verify");
    assert_snapshot!(home.run(&["search", "anything"]).shown(), @"nothing found for anything");
}

#[test]
fn the_version_is_told() {
    assert_eq!(Home::new().run(&["--version"]).ok(), "threadline 0.1.0\n");
}

#[test]
fn conversations_are_listed() {
    let home = Home::with(WEATHER);
    assert_snapshot!(home.run(&["list"]).shown(), @"
    <talk>  Weather in Oslo
        2026-01-01 · 14 entries · 4 messages · not trusted · imported, not resumed yet · #travel
    ");
    assert_snapshot!(home.run(&["list", "--json"]).shown(), @r#"{"conversations":[{"id":"<talk>","title":"Weather in Oslo","state":"resting","entries":14,"messages":4,"last_message":{"text":"Sun.","kind":"answer","at":"2026-01-01T00:00:14.000000Z"},"created_at":"2026-01-01T00:00:01.000000Z","active_at":"2026-01-01T00:00:14.000000Z","labels":["travel"],"archived":false,"copy":true,"origin":"imported","hold":"it was imported and not resumed yet","moved_away":false,"forked_from":null,"cost_nano_usd":0,"wake_at":null,"hash":"da406394ff55b1e13f333b795df96bc8fa81674142e6acf409a2bb7562c54bc0"}],"more":false}"#);
    assert_snapshot!(home.run(&["list", "--archived"]).shown(), @"no such conversations; --all shows what there is");
    for found in [
        &["list", "--label", "travel"][..],
        &["list", "--state", "resting"],
        &["list", "--all"],
        &["list", "--sort", "created"],
        &["ls"],
    ] {
        assert!(home.run(found).ok().contains("Weather in Oslo"), "{found:?}");
    }
    for not_found in [
        &["list", "--label", "work"][..],
        &["list", "--label", ""],
        &["list", "--state", "waiting"],
        &["list", "--after", "last"],
    ] {
        assert!(!home.run(not_found).ok().contains("Weather in Oslo"), "{not_found:?}");
    }
}

#[test]
fn a_list_goes_on_where_it_ended() {
    let home = Home::with(WEATHER);
    home.run(&["fork", TALK, "--at", "4"]).ok();
    let first = home.run(&["list", "-n", "1", "--json"]).json();
    assert_eq!(first["more"], true);
    let id = first["conversations"][0]["id"].as_str().unwrap();
    assert!(home.run(&["list", "-n", "1"]).ok().ends_with(&format!("add --after {id}\n")));
    let second = home.run(&["list", "--after", id, "--json"]).json();
    assert_eq!(second["more"], false);
    assert_eq!(second["conversations"][0]["id"], TALK);
    assert_eq!(second["conversations"].as_array().unwrap().len(), 1);
}

#[test]
fn a_transcript_is_printed() {
    let home = Home::with(WEATHER);
    assert_snapshot!(home.run(&["show", "last"]).shown(), @"
    Weather in Oslo  <talk>
      2026-01-01 · 14 entries · 4 messages · not trusted · imported, not resumed yet · #travel
      1 planner  input: 明天天气怎么样？ | output: Sun.

    user  2026-01-01 00:00 · 4
      what is the weather in Oslo?

    planner  2026-01-01 00:00 · 11
      It rains in Oslo.

    user  2026-01-01 00:00 · 12
      明天天气怎么样？

    planner  2026-01-01 00:00 · 14
      Sun.
    ");
}

#[test]
fn a_thread_is_printed() {
    let home = Home::with(WEATHER);
    assert_snapshot!(home.run(&["show", "last", "--agent", "planner"]).shown(), @r#"
    Weather in Oslo  <talk>
      2026-01-01 · 14 entries · 4 messages · not trusted · imported, not resumed yet · #travel
      1 planner  input: 明天天气怎么样？ | output: Sun.

          2  2026-01-01 00:00  planner  agent_joined  planner, primary
          3  2026-01-01 00:00  planner  instruction_set
               be brief
          4  2026-01-01 00:00  planner  input  from user
               what is the weather in Oslo?
          6  2026-01-01 00:00  planner  output  m1 (0 in, 0 out)
               let me look
               → weather {"city":"Oslo"}
          8  2026-01-01 00:00  planner  tool_finished  c6.0 weather ok
               4 °C, rain
         11  2026-01-01 00:00  planner  output  m1 (0 in, 0 out)
               It rains in Oslo.
         12  2026-01-01 00:00  planner  input  from user
               明天天气怎么样？
         14  2026-01-01 00:00  planner  output  m1 (0 in, 0 out)
               Sun.
    "#);
    let by_number = home.run(&["show", "last", "--agent", "1"]);
    assert_eq!(by_number.ok(), home.run(&["show", "last", "--agent", "planner"]).ok());
}

#[test]
fn every_entry_is_printed_and_rewound_ones_are_marked() {
    let home = Home::with(WEATHER);
    home.run(&["rewind", "last"]).ok();
    assert_snapshot!(home.run(&["show", "last", "--all", "--from", "11", "--to", "14"]).shown(), @"
    Weather in Oslo  <talk>
      just now · 16 entries · 2 messages · imported, not resumed yet · #travel
      1 planner  input: what is the weather in Oslo? | tool: weather | output: It rains in Oslo.

         11  2026-01-01 00:00  planner  output  m1 (0 in, 0 out)
               It rains in Oslo.
    ~    12  2026-01-01 00:00  planner  input  from user
               明天天气怎么样？
    ~    13  2026-01-01 00:00  planner  invocation_started  m1, about 0 tokens
    ~    14  2026-01-01 00:00  planner  output  m1 (0 in, 0 out)
               Sun.
    ");
    let shown = home.run(&["show", "last", "--all", "--json"]).json();
    let rewound = |entry: &serde_json::Value| entry["rewound"].as_bool().unwrap();
    let marks: Vec<bool> = shown["entries"].as_array().unwrap().iter().map(rewound).collect();
    assert_eq!(marks[..11], [false; 11]);
    assert_eq!(marks[11..14], [true; 3]);
    // The authority of the import was reset before the rewind.
    assert!(marks[14]);
    assert!(marks[15..].iter().all(|rewound| !rewound));
}

#[test]
fn an_entry_is_printed_for_programs_with_its_body() {
    let home = Home::with(WEATHER);
    let shown = home.run(&["show", "last", "--all", "--from", "4", "--to", "4", "--json"]);
    assert_snapshot!(shown.shown(), @r#"{"conversation":{"id":"<talk>","title":"Weather in Oslo","state":"resting","entries":14,"messages":4,"last_message":{"text":"Sun.","kind":"answer","at":"2026-01-01T00:00:14.000000Z"},"created_at":"2026-01-01T00:00:01.000000Z","active_at":"2026-01-01T00:00:14.000000Z","labels":["travel"],"archived":false,"copy":true,"origin":"imported","hold":"it was imported and not resumed yet","moved_away":false,"forked_from":null,"cost_nano_usd":0,"wake_at":null,"hash":"da406394ff55b1e13f333b795df96bc8fa81674142e6acf409a2bb7562c54bc0"},"agents":[{"agent":1,"name":"planner","present":true,"interactions":5,"last_interaction":{"kind":"output","at":"2026-01-01T00:00:14.000000Z"},"state_description":"input: 明天天气怎么样？ | output: Sun."}],"entries":[{"seq":4,"id":"<id 1>","at":"2026-01-01T00:00:04.000000Z","agent":1,"kind":"input","rewound":false,"body":{"sections":[{"text":"what is the weather in Oslo?"}],"from":{"person":{}}}}]}"#);
}

#[test]
fn the_last_so_many_are_exactly_so_many() {
    let home = Home::new();
    let generated = ["dev", "generate", "--entries", "300", "--agents", "2", "--json"];
    assert_eq!(home.run(&generated).json()["entries"], 300);
    for which in [&["--json"][..], &["--json", "--all"], &["--json", "--agent", "1"]] {
        let shown = |more: &[&str]| {
            let shown = home.run(&[&["show", "last"], which, more].concat()).json();
            shown["entries"].as_array().unwrap().clone()
        };
        let all = shown(&[]);
        assert!(all.len() > 20, "{which:?}");
        for last in [1, 2, 7, all.len(), all.len() + 5] {
            let expected = &all[all.len().saturating_sub(last)..];
            assert_eq!(shown(&["-n", &last.to_string()]), expected, "{which:?} -n {last}");
        }
    }
}

#[test]
fn a_part_without_messages_says_so() {
    let home = Home::with(WEATHER);
    let shown = home.run(&["show", "last", "--from", "5", "--to", "10"]).ok();
    assert!(shown.ends_with("nothing was said here; --all prints every entry\n"), "{shown}");
}

#[test]
fn a_conversation_is_named_by_the_beginning_of_its_id() {
    let home = Home::with(WEATHER);
    for name in [TALK, "019b76da", "019B76DA-A8", "last"] {
        assert!(home.run(&["show", name]).ok().contains("Weather in Oslo"), "{name}");
    }
    let other = String::from_utf8(home.read("talk.threadline.jsonl")).unwrap();
    home.write("other", other.replacen(TALK, "019b76da-a800-7000-8000-000000000002", 1));
    home.run(&["import", "other"]).ok();
    assert_snapshot!(home.run(&["show", "019b76da"]).fails(1), @"error: 019b76da is the beginning of <id 1> and of <talk>: give more of it");
}

#[test]
fn what_is_not_there_is_told() {
    let home = Home::with(WEATHER);
    let fails = |arguments: &[&str]| home.run(arguments).fails(1);
    assert_snapshot!(fails(&["show", "ffff"]), @"error: no conversation begins with ffff; `threadline list --all` shows what there is");
    assert_snapshot!(fails(&["show", "fff"]), @r#"error: "fff" is not a conversation: give its id, at least 4 characters of its beginning, or `last`"#);
    assert_snapshot!(fails(&["show", ""]), @r#"error: "" is not a conversation: give its id, at least 4 characters of its beginning, or `last`"#);
    assert_snapshot!(fails(&["show", "00000000-0000-0000-0000-000000000000"]), @"error: there is no conversation <id 1> in this store; `threadline list --all` shows what there is");
    assert_snapshot!(fails(&["show", "last", "--agent", "ghost"]), @r#"error: there is no agent "ghost"; there is only planner"#);
    assert_snapshot!(fails(&["show", "last", "--from", "99"]), @"error: there is no entry 99; the last is 14");
    assert_snapshot!(fails(&["show", "last", "--from", "9", "--to", "3"]), @"error: --from 9 comes after --to 3");
    assert_snapshot!(fails(&["search", "a", "--agent", "ghost"]), @"error: without --in, give the agent's number: names belong to a conversation");
    assert_snapshot!(fails(&["search", "!!"]), @r#"error: there is no word to look for in "!!": words are made of letters and digits"#);
}

#[test]
fn entries_are_found() {
    let home = Home::with(WEATHER);
    assert_snapshot!(home.run(&["search", "oslo"]).shown(), @r#"
    <talk>  Weather in Oslo
         11  output         It rains in Oslo.
          6  output         let me look weather {"city":"Oslo"}
          4  input          what is the weather in Oslo?
          1  described      Weather in Oslo
    "#);
    assert_snapshot!(home.run(&["search", "tomorrow"]).shown(), @"nothing found for tomorrow");
    assert_snapshot!(home.run(&["search", "tomorrow", "--json"]).shown(), @r#"{"hits":[],"more":false}"#);
    let seqs = |arguments: &[&str]| {
        let hits = home.run(&[&["search", "--json"], arguments].concat()).json()["hits"].take();
        let hits = hits.as_array().unwrap().clone();
        hits.iter().map(|hit| hit["entry"]["seq"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(seqs(&["oslo"]), [11, 6, 4, 1]);
    assert_eq!(seqs(&["oslo", "-n", "2"]), [11, 6]);
    assert_eq!(seqs(&["天气"]), [12]);
    assert_eq!(seqs(&["weather", "oslo"]), [6, 4, 1]);
    // The shell takes quotation marks away; several words in one argument had them.
    assert_eq!(seqs(&["weather in oslo"]), [4, 1]);
    assert_eq!(seqs(&["oslo", "--agent", "1"]), [11, 6, 4]);
    assert_eq!(seqs(&["oslo", "--in", TALK, "--agent", "planner"]), [11, 6, 4]);
    let some = home.run(&["search", "oslo", "-n", "2"]).ok();
    assert!(some.ends_with("there are more; to see them raise --limit\n"), "{some}");
}

#[test]
fn what_was_rewound_is_found_and_marked() {
    let home = Home::with(WEATHER);
    home.run(&["rewind", "last"]).ok();
    let found = home.run(&["search", "天气"]).ok();
    assert!(found.contains("\n~    12  input"), "{found}");
    assert_eq!(home.run(&["search", "天气", "--json"]).json()["hits"][0]["entry"]["rewound"], true);
}
