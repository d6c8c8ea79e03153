//! Tests of the task board: calls in, boards, changes and screens out.

mod model;

use insta::assert_snapshot;
use serde_json::json;
use threadline_core::clock::Timestamp;
use threadline_core::history::sections::{Level, render};
use threadline_core::id::{CallId, Seq};
use threadline_core::tool::{Handling, Schema};

use super::*;
use crate::widgets::testing::{ask, done, take};

const ADA: AgentId = AgentId(1);
const BOB: AgentId = AgentId(2);

fn of(titles: &[&str]) -> Board {
    let mut board = Board::new();
    done(&mut board, ADA, ADD, &json!({ "titles": titles }));
    board
}

fn screen(board: &Board, agent: AgentId, cap_bytes: usize) -> String {
    let view = |id, name| AgentView { id, name, interactions: 0 };
    let agents = [view(ADA, "ada"), view(BOB, "bob")];
    let view = View {
        at: Timestamp::default(),
        agent,
        agents: &agents,
        timers: &[],
        messages: 0,
        cap_bytes,
    };
    board.render(&view).map_or_else(String::new, |fragment| fragment.text)
}

fn metadata(metadata: &Metadata) -> String {
    let told = metadata.iter().map(|(key, value)| match value {
        Value::Text(text) => format!("{key}={text}"),
        Value::Number(number) => format!("{key}={number}"),
        Value::Flag(flag) => format!("{key}={flag}"),
    });
    told.collect::<Vec<_>>().join(" ")
}

#[test]
fn results_have_three_levels() {
    let mut board = Board::new();
    let mut call = |by, tool, arguments| done(&mut board, by, tool, &arguments);
    assert_snapshot!(call(ADA, ADD, json!({ "titles": [" pack\n the bags ", "leave", "pack the bags"] })), @r"
    added tasks 1, 2; now 2 open
    + 1 [open] pack the bags
    + 2 [open] leave
    --
    + 1 [open] pack the bags
    + 2 [open] leave
    --
    added tasks 1, 2: pack the bags and 1 more
    ");
    assert_snapshot!(call(BOB, ADD, json!({ "titles": ["lock the door", "leave"], "before": 2 })), @r"
    added task 3 before 2 (2 has this title already); now 3 open
    + 3 [open] lock the door
    --
    + 3 [open] lock the door
    --
    added task 3: lock the door
    ");
    assert_snapshot!(call(ADA, START, json!({ "tasks": [1, 3, 1], "note": "in the hall" })), @r"
    started tasks 1, 3; now 1 open, 2 doing
    ~ 1 open → doing (in the hall)
    ~ 3 open → doing (in the hall)
    --
    ~ 1 open → doing (in the hall)
    ~ 3 open → doing (in the hall)
    --
    started tasks 1, 3
    ");
    assert_snapshot!(call(ADA, START, json!({ "tasks": [1] })), @"nothing changed: 1 is being done by you already");
    assert_snapshot!(call(ADA, START, json!({ "tasks": [1, 2], "note": "now" })), @r"
    started tasks 1, 2; now 3 doing
    ~ 1 doing (now)
    ~ 2 open → doing (now)
    --
    ~ 1 doing (now)
    ~ 2 open → doing (now)
    --
    started tasks 1, 2
    ");
    assert_snapshot!(call(BOB, START, json!({ "tasks": [3] })), @r"
    started task 3; now 3 doing
    ~ 3 doing, taken over
    --
    ~ 3 doing, taken over
    --
    started task 3: lock the door
    ");
    assert_snapshot!(call(ADA, FINISH, json!({ "tasks": [1] })), @r"
    finished task 1; now 2 doing, 1 done
    ~ 1 doing → done
    --
    ~ 1 doing → done
    --
    finished task 1: pack the bags
    ");
    assert_snapshot!(call(BOB, FINISH, json!({ "tasks": [1] })), @"nothing changed: 1 is done already");
    assert_snapshot!(call(ADA, MOVE, json!({ "task": 2, "to": "top" })), @r"
    moved 2 to the top; now 2 doing, 1 done
    ~ 2 moved to the top
    --
    ~ 2 moved to the top
    --
    moved 2 to the top: leave
    ");
    assert_snapshot!(call(ADA, MOVE, json!({ "task": 2, "before": 3 })), @"nothing changed: 2 is there already");
    assert_snapshot!(call(BOB, DROP, json!({ "tasks": [3, 1], "note": "no key" })), @r"
    task_ended: task 1 is done and stays so; to do it again, add it with task_add
    nothing was changed: ask for the others without it
    ");
    assert_snapshot!(call(BOB, DROP, json!({ "tasks": [3], "note": "no key" })), @r"
    dropped task 3; now 1 doing, 1 done, 1 dropped
    ~ 3 doing → dropped (no key)
    --
    ~ 3 doing → dropped (no key)
    --
    dropped task 3: lock the door
    ");
    assert_snapshot!(call(ADA, LIST, json!({})), @r"
    1 doing, 1 done, 1 dropped
    - 2 [doing: you] leave (now)
    - 3 [dropped] lock the door (no key)
    - 1 [done] pack the bags (now)
    ");
}

#[test]
fn what_was_done_is_told_in_numbers() {
    let mut board = of(&["a", "b", "c"]);
    let reply = ask(&board, START, &json!({ "tasks": [2, 3] }), BOB).unwrap();
    assert_eq!(reply.changes, [r#"{"start":{"tasks":[2,3]}}"#.into()]);
    assert_snapshot!(metadata(&reply.metadata), @"done=0 dropped=0 new_doing=2 new_open=1 operation=start previous_doing=0 previous_open=3 tasks=2,3");
    take(&mut board, &reply.changes[0], BOB).unwrap();
    let reply = ask(&board, ADD, &json!({ "titles": ["d", "e"], "before": 2 }), ADA).unwrap();
    assert_eq!(reply.changes, [r#"{"add":{"before":2,"titles":["d","e"]}}"#.into()]);
    assert_snapshot!(metadata(&reply.metadata), @"done=0 dropped=0 new_doing=2 new_open=3 operation=add previous_doing=2 previous_open=1 tasks=4,5");
    let reply = ask(&board, START, &json!({ "tasks": [2] }), BOB).unwrap();
    assert_snapshot!(metadata(&reply.metadata), @"done=0 dropped=0 new_doing=2 new_open=1 operation=start previous_doing=2 previous_open=1");
    let refusal = ask(&board, FINISH, &json!({ "tasks": [9] }), BOB).unwrap_err();
    assert_snapshot!(metadata(&refusal.metadata), @"error=task_unknown operation=finish");
    assert_snapshot!(render(&refusal.result, Level::Gist), @"board unchanged: there is no task 9; open or being done: 1 to 3");
}

#[test]
fn a_call_that_cannot_be_says_what_to_do_instead() {
    let mut board = of(&["a", "b", "c", "d", "e", "f"]);
    done(&mut board, ADA, FINISH, &json!({ "tasks": [2] }));
    done(&mut board, ADA, DROP, &json!({ "tasks": [4] }));
    let before = board.clone();
    let long = "x".repeat(TITLE_CAP_BYTES + 1);
    let told = [
        (ADD, json!({ "titles": [] })),
        (ADD, json!({ "titles": ["g", " \n"] })),
        (ADD, json!({ "titles": [long] })),
        (ADD, json!({ "titles": ["g"], "before": 9 })),
        (ADD, json!({ "titles": ["g"], "before": 2 })),
        (ADD, json!({ "titles": ["a", "c"] })),
        (START, json!({ "tasks": [] })),
        (START, json!({ "tasks": [2] })),
        (START, json!({ "tasks": [4, 0, 7] })),
        (START, json!({ "tasks": [1], "note": long })),
        (FINISH, json!({ "tasks": [4] })),
        (FINISH, json!({ "tasks": [2] })),
        (MOVE, json!({ "task": 2, "to": "top" })),
        (MOVE, json!({ "task": 1 })),
        (MOVE, json!({ "task": 1, "to": "top", "after": 3 })),
        (MOVE, json!({ "task": 1, "after": 8 })),
        (MOVE, json!({ "task": 1, "after": 1 })),
        (LIST, json!({ "line": 99 })),
    ]
    .map(|(tool, arguments)| done(&mut board, ADA, tool, &arguments));
    assert_snapshot!(told.join("\n"), @r#"
    titles_empty: there is nothing to add: give titles
    title_empty: a title is blank; say what is to be done
    title_too_long: a title has at most 200 bytes, and "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…" has 201; say it in fewer words, or make several tasks of it
    task_unknown: there is no task 9; open or being done: 1, 3, 5, 6
    task_ended: task 2 is done and stays so; to do it again, add it with task_add
    nothing changed: 1 has this title already, 3 has this title already
    tasks_empty: no task is named: give numbers of tasks
    task_ended: task 2 is done and stays so; to do it again, add it with task_add
    task_ended: task 4 is dropped and stays so; to do it again, add it with task_add
    there is no task 0; open or being done: 1, 3, 5, 6
    there is no task 7; open or being done: 1, 3, 5, 6
    note_too_long: a note has at most 120 bytes, not 201; shorten it
    task_ended: task 4 is dropped and stays so; to do it again, add it with task_add
    nothing changed: 2 is done already
    task_ended: task 2 is done and stays so; to do it again, add it with task_add
    place_unclear: give one of to ("top" or "bottom"), before and after (the number of a task)
    place_unclear: give one of to ("top" or "bottom"), before and after (the number of a task)
    task_unknown: there is no task 8; open or being done: 1, 3, 5, 6
    nothing changed: 1 is there already
    line_not_found: there is no line 99: the last is 7
    "#);
    assert_eq!(board, before);
    let none = done(&mut Board::new(), ADA, START, &json!({ "tasks": [1] }));
    assert_snapshot!(none, @"task_unknown: there is no task 1: none is open or being done; task_add adds some");
    assert_snapshot!(done(&mut Board::new(), ADA, LIST, &json!({})), @"there are no tasks; task_add adds some");
}

#[test]
fn garbage_is_refused() {
    let board = of(&["a"]);
    for (tool, arguments) in [
        (ADD, "{}"),
        (ADD, "[1"),
        (ADD, r#"{"titles":[7]}"#),
        (START, r#"{"tasks":[-1]}"#),
        (MOVE, r#"{"task":1,"to":"left"}"#),
        (LIST, r#"{"line":"x"}"#),
        ("task_burn", "{}"),
        ("", ""),
    ] {
        let call = CallId { output: Seq(1), index: 0 };
        let (by, at) = (ADA, Timestamp::default());
        let refusal = board.call(&WidgetCall { tool, arguments, call, by, at }).unwrap_err();
        assert!(!refusal.result.is_empty(), "{tool} {arguments}");
    }
}

#[test]
fn the_board_has_limits_and_says_so() {
    let titles = |count: usize| (0..count).map(|n| n.to_string()).collect::<Vec<_>>();
    let mut board = Board::new();
    assert_snapshot!(done(&mut board, ADA, ADD, &json!({ "titles": titles(TASKS_CAP + 1) })), @"does_not_fit: the board holds at most 500 tasks that are open or being done, and this would make it 501; finish or drop some first");
    let told = done(&mut board, ADA, ADD, &json!({ "titles": titles(TASKS_CAP) }));
    assert!(told.contains("\n+ 20 [open] 19\n… 480 more\n--\n"), "{told}");
    assert!(told.ends_with("\nadded tasks 1 to 500: 0 and 499 more"), "{told}");
    assert!(done(&mut board, ADA, ADD, &json!({ "titles": ["x"] })).starts_with("does_not_fit"));

    let wide = |n: usize| format!("{n:0>TITLE_CAP_BYTES$}");
    let most = TEXT_CAP_BYTES / TITLE_CAP_BYTES;
    let mut board = Board::new();
    done(&mut board, ADA, ADD, &json!({ "titles": (0..most).map(wide).collect::<Vec<_>>() }));
    assert_snapshot!(done(&mut board, ADA, ADD, &json!({ "titles": [wide(most)] })), @"does_not_fit: the titles and notes of tasks that are open or being done take at most 24576 bytes together, and this would make it 24600; finish or drop some first, or use fewer words");
    done(&mut board, ADA, DROP, &json!({ "tasks": [1] }));
    done(&mut board, ADA, ADD, &json!({ "titles": [wide(most)] }));
    assert_eq!(board.live.len(), most);
}

#[test]
fn the_largest_board_is_within_64_kib() {
    let most = AgentId(u32::MAX);
    let mut board = Board::new();
    let mut fill = |titles: Vec<String>, ends: bool| {
        let recorded = Recorded::Add(change::Added { titles, before: None });
        let tasks = recorded.tasks(&board);
        board = recorded.apply(&board, most).unwrap();
        let note = ends.then(|| "n".repeat(NOTE_CAP_BYTES));
        let shifted = change::Shifted { tasks, note };
        let next = if ends { Recorded::Drop(shifted) } else { Recorded::Start(shifted) };
        board = next.apply(&board, most).unwrap();
    };
    fill(vec!["t".repeat(TITLE_CAP_BYTES); ENDED_CAP], true);
    fill(vec!["t".repeat(TEXT_CAP_BYTES / TASKS_CAP); TASKS_CAP], false);
    // Numbers have at most as many digits as the largest of them.
    let digits = (TASKS_CAP + ENDED_CAP) * u32::MAX.to_string().len();
    let bytes = board.encode().bytes.len() + digits;
    assert!(bytes <= 64 * 1024, "{bytes}");
}

#[test]
fn tasks_that_ended_long_ago_are_counted_and_not_kept() {
    let titles = (1..=60).map(|n| format!("t{n}")).collect::<Vec<_>>();
    let mut board = of(&titles.iter().map(String::as_str).collect::<Vec<_>>());
    done(&mut board, ADA, FINISH, &json!({ "tasks": (1..=55).collect::<Vec<_>>() }));
    assert_snapshot!(done(&mut board, ADA, START, &json!({ "tasks": [5] })), @"task_ended: task 5 ended long ago and is no longer kept; to do it again, add it with task_add");
    let list = board.list(&[]);
    assert!(list.starts_with("5 open, 55 done\n- 56 [open] t56\n"), "{list}");
    assert!(list.ends_with("- 6 [done] t6\n[5 that ended earlier are not kept]"), "{list}");
    // No number is given twice.
    assert!(done(&mut board, ADA, ADD, &json!({ "titles": ["t1"] })).starts_with("added task 61;"));
}

#[test]
fn the_screen_shows_what_is_being_done_and_what_is_open() {
    let mut board = of(&["pack", "lock", "leave", "rest"]);
    assert_eq!(screen(&Board::new(), ADA, 4096), "");
    done(&mut board, BOB, START, &json!({ "tasks": [3], "note": "half out" }));
    done(&mut board, AgentId(9), START, &json!({ "tasks": [2] }));
    done(&mut board, BOB, FINISH, &json!({ "tasks": [4] }));
    done(&mut board, BOB, ADD, &json!({ "titles": ["sleep"], "before": 1 }));
    assert_snapshot!(screen(&board, ADA, 4096), @r"
    ## Tasks

    2 open, 2 doing, 1 done
    - 2 [doing: agent 9] lock
    - 3 [doing: bob] leave (half out)
    - 5 [open, from bob] sleep
    - 1 [open] pack
    ");
    assert_snapshot!(screen(&board, BOB, 100), @r"
    ## Tasks

    2 open, 2 doing, 1 done
    - 2 [doing: agent 9] lock
    [3 more: task_list]
    ");
    for cap in 60..400 {
        assert!(screen(&board, ADA, cap).len() <= cap, "{cap}");
    }
    done(&mut board, BOB, DROP, &json!({ "tasks": [1, 2, 3, 5] }));
    assert_eq!(screen(&board, ADA, 4096), "## Tasks\n\n1 done, 4 dropped");
    let most = (0..TASKS_CAP).map(|n| format!("a task of some length, {n}")).collect::<Vec<_>>();
    let board = of(&most.iter().map(String::as_str).collect::<Vec<_>>());
    let shown = screen(&board, ADA, 8192);
    assert!(shown.len() <= 8192 && shown.ends_with(" more: task_list]"), "{shown}");
}

#[test]
fn the_list_is_read_page_by_page() {
    let titles = (1..=400).map(|n| format!("task {n:0>40}")).collect::<Vec<_>>();
    let mut board = of(&titles.iter().map(String::as_str).collect::<Vec<_>>());
    let first = done(&mut board, ADA, LIST, &json!({}));
    let (_, note) = first.rsplit_once("read on with line ").unwrap();
    let line = note.trim_end_matches(']').parse::<usize>().unwrap();
    let second = done(&mut board, ADA, LIST, &json!({ "line": line }));
    // The first line has the counts.
    assert!(second.starts_with(&format!("- {} [open] ", line - 1)), "{second}");
}

#[test]
fn recorded_changes_of_every_kind_can_be_applied() {
    let mut board = Board::new();
    for change in [
        r#"{"add":{"titles":["a","b","c"]}}"#,
        r#"{"add":{"titles":["d"],"before":1}}"#,
        r#"{"start":{"tasks":[2]}}"#,
        r#"{"start":{"tasks":[3,4],"note":"soon"}}"#,
        r#"{"finish":{"tasks":[2],"note":"well"}}"#,
        r#"{"drop":{"tasks":[3]}}"#,
        r#"{"move":{"task":4}}"#,
        r#"{"add":{"titles":["e"]}}"#,
        r#"{"move":{"task":5,"before":4}}"#,
    ] {
        take(&mut board, change, BOB).unwrap();
        assert_eq!(&*Recorded::decode(change).unwrap().encode(), &sorted(change));
    }
    let state = String::from_utf8(board.encode().bytes).unwrap();
    assert_eq!(
        state,
        "1\t1\n1\topen\t\t2\ta\t\n5\topen\t\t2\te\t\n4\tdoing\t2\t2\td\tsoon\n\
         2\tdone\t2\t2\tb\twell\n3\tdropped\t2\t2\tc\tsoon\n"
    );
}

/// JSON with its keys in order.
fn sorted(json: &str) -> String {
    serde_json::from_str::<serde_json::Value>(json).unwrap().to_string()
}

#[test]
fn changes_that_do_not_fit_are_refused_and_change_nothing() {
    let mut board = of(&["a", "b"]);
    done(&mut board, ADA, FINISH, &json!({ "tasks": [2] }));
    let before = board.clone();
    let long = format!(r#"{{"add":{{"titles":["{}"]}}}}"#, "x".repeat(TITLE_CAP_BYTES + 1));
    for change in [
        "",
        "a",
        "{}",
        r#"{"add":"c"}"#,
        r#"{"add":{"titles":["c"],"why":1}}"#,
        r#"{"add":{"titles":["c"],"before":2}}"#,
        r#"{"add":{"titles":[""]}}"#,
        r#"{"add":{"titles":["c\nd"]}}"#,
        &long,
        r#"{"start":{"tasks":[1,2]}}"#,
        r#"{"start":{"tasks":[1],"note":"a\tb"}}"#,
        r#"{"start":{"tasks":[1],"note":""}}"#,
        r#"{"finish":{"tasks":[1,1]}}"#,
        r#"{"finish":{"tasks":[1,9]}}"#,
        r#"{"drop":{"tasks":[4294967296]}}"#,
        r#"{"move":{"task":1,"before":1}}"#,
        r#"{"move":{"task":2}}"#,
        r#"{"erase":{"tasks":[1]}}"#,
        r#"{"add":{"titles":["c"]},"drop":{"tasks":[1]}}"#,
    ] {
        let refused = take(&mut board, change, ADA).unwrap_err();
        assert_eq!(&*refused.widget, NAME);
        assert_eq!(board, before, "{change}");
    }
}

#[test]
fn states_of_other_versions_and_damaged_ones_are_not_read() {
    let mut board = of(&["a"]);
    let mut other = of(&["x", "y", "z"]);
    done(&mut other, ADA, FINISH, &json!({ "tasks": [1] }));
    let good = other.encode();
    let text = String::from_utf8(good.bytes.clone()).unwrap();
    let bad = [
        String::new(),
        "\n".to_owned(),
        text.replace("1\t0\n", "0\t0\n"),
        text.replace("1\t0\n", "2\t0\n"),
        text.replace("1\t0\n", "0\t1\n"),
        text.replace("1\t0\n", "+1\t0\n"),
        text.replace("2\topen", "3\topen"),
        text.replace("2\topen", "9\topen"),
        text.replace("2\topen", "0\topen"),
        text.replace("2\topen\t\t", "2\tdoing\t\t"),
        text.replace("2\topen\t\t", "2\topen\t1\t"),
        text.replace("\ty\t", "\t\t"),
        text.replace('\n', "\r\n"),
        format!("{text}\n"),
        text[..text.len() - 1].to_owned(),
        text.replace('y', &"y".repeat(TITLE_CAP_BYTES + 1)),
    ];
    let before = board.clone();
    for text in bad {
        assert!(
            board.decode(&WidgetState { version: 1, bytes: text.clone().into() }).is_err(),
            "{text:?}"
        );
        assert_eq!(board, before);
    }
    assert!(board.decode(&WidgetState { version: 2, ..good.clone() }).is_err());
    assert!(board.decode(&WidgetState { version: 1, bytes: vec![0xFF] }).is_err());
    board.decode(&good).unwrap();
    assert_eq!(board, other);
}

#[test]
fn its_tools_have_schemas_that_can_be_checked() {
    for tool in Board::new().tools() {
        assert_eq!(tool.handling, Handling::Recorded);
        Schema::new(&tool.schema).unwrap_or_else(|refused| panic!("{}: {refused}", tool.name));
    }
    let tools = Board::new().tools();
    assert_snapshot!(tools[4].description, @"Moves a task of the board to another place in the order. Give one of to, before and after.");
    assert_snapshot!(tools[4].schema, @r##"{"type":"object","properties":{"task":{"description":"its number","type":"integer","minimum":0},"after":{"description":"the number of the task after which it goes","type":"integer","minimum":0},"before":{"description":"the number of the task before which it goes","type":"integer","minimum":0},"to":{"description":"an end of the list","type":"string","enum":["top","bottom"]}},"required":["task"]}"##);
}
