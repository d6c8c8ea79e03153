//! One task: `run`, its output and its exit codes.

use insta::assert_snapshot;

use crate::home::Home;

#[test]
fn a_task_is_answered() {
    let home = Home::new();
    assert_snapshot!(home.run(&["run", "add 2 and 3"]).shown(), @r"
    2 + 3 = 5.
    --- standard error
    conversation <id 1>
    · calculator 2 + 3
    ✓ 2 + 3 = 5
    ");
    let listed = home.run(&["list", "--json"]).json();
    assert_eq!(listed["conversations"][0]["last_message"]["text"], "2 + 3 = 5.");
}

#[test]
fn a_task_goes_on_with_a_conversation() {
    let home = Home::new();
    home.run(&["run", "remember that the boat leaves at nine"]).ok();
    let answer = home.run(&["run", "what do you remember?", "--continue", "last"]).ok();
    assert_eq!(answer, "I remember:\n\n- the boat leaves at nine\n");
    assert_eq!(home.run(&["list", "--json"]).json()["conversations"].as_array().unwrap().len(), 1);
    home.run(&["verify", "--all", "--deep"]).ok();
}

#[test]
fn files_are_those_of_the_workspace() {
    let home = Home::new();
    home.write("here.txt", "in the home\n");
    home.write("work/here.txt", "in the workspace\n");
    assert!(home.run(&["run", "read here.txt"]).ok().contains("in the home"));
    let answer = home.run(&["run", "read here.txt", "--workspace", "work"]).ok();
    assert!(answer.contains("in the workspace"), "{answer}");
    let answer = home.run(&["run", "read ../here.txt", "--workspace", "work"]).ok();
    assert!(!answer.contains("in the home"), "{answer}");
    assert_snapshot!(home.run(&["run", "help", "--workspace", "none"]).fails(1), @"error: could not open the workspace none: No such file or directory (os error 2)");
}

#[test]
fn an_instruction_is_given_as_text_or_as_a_file() {
    let home = Home::new();
    let instruction = |arguments: &[&str]| {
        home.run(&[&["run", "help"], arguments].concat()).ok();
        let set = home.bodies("last", "instruction_set");
        set.last().unwrap()["text"].as_str().unwrap().to_owned()
    };
    assert!(instruction(&[]).starts_with("You are an assistant"));
    assert_eq!(instruction(&["--instruction", "Be brief."]), "Be brief.");
    home.write("how.txt", "Be kind.\n");
    assert_eq!(instruction(&["--instruction", "@how.txt"]), "Be kind.");
    // One that goes on is instructed anew.
    assert_eq!(instruction(&["--continue", "last", "--instruction", "Be quick."]), "Be quick.");
    assert_eq!(home.bodies("last", "instruction_set").len(), 2);
    assert_snapshot!(home.run(&["run", "help", "--instruction", "@none.txt"]).fails(1), @"error: could not read the instruction none.txt: No such file or directory (os error 2)");
}

#[test]
fn a_task_comes_through_a_pipe() {
    let home = Home::new();
    assert_eq!(home.feed(b"add 2 and 3\n", &["run"]).ok(), "2 + 3 = 5.\n");
    assert_eq!(home.feed(b"add 2 and 4", &["run", "-"]).ok(), "2 + 4 = 6.\n");
    // What is given beats what is piped.
    assert_eq!(home.feed(b"add 2 and 3", &["run", "add 1 and 1"]).ok(), "1 + 1 = 2.\n");
}

#[test]
fn no_task_is_a_mistake_of_the_command_line() {
    let home = Home::new();
    assert_snapshot!(home.feed(b"", &["run"]).fails(2), @"error: there is no task: give one, or pipe one in; `threadline run --help` shows how");
    assert_snapshot!(home.feed(b" \n\t\n", &["run", "-", "--json"]).fails(2), @r#"{"error":{"message":"there is no task: give one, or pipe one in; `threadline run --help` shows how"}}"#);
    home.run(&["run", "  "]).fails(2);
    // Nothing was begun for it.
    assert_eq!(home.run(&["list", "--json"]).json()["conversations"].as_array().unwrap().len(), 0);
}

#[test]
fn whatever_is_piped_in_is_taken() {
    let home = Home::new();
    let garbage: &[&[u8]] = &[b"\xff\xfe\x00\x01\n", b"a\0b\x1b[2J\r\n", &vec![0; 40_000]];
    for bytes in garbage {
        let ran = home.feed(bytes, &["run"]);
        let out = ran.ok();
        assert!(out.starts_with("I do not understand that."), "{out}");
    }
    // Half a token each: more than the window holds.
    let told = home.feed(&vec![0; 100_000], &["run"]).fails(3);
    assert!(told.contains("does not fit the window: what began the turn"), "{told}");
    let mut long = vec![b'x'; 10 * 1024 * 1024];
    long.push(b'\n');
    assert!(home.feed(&long, &["run"]).ok().starts_with("I do not understand that."));
    let input = home.bodies("last", "input").pop().unwrap();
    assert_eq!(input["attachments"][0]["size"], 10 * 1024 * 1024);
    assert!(input.to_string().len() < 100_000);
    let told = home.feed(&vec![b'x'; 17 * 1024 * 1024], &["run"]).fails(1);
    assert_snapshot!(told, @"error: the task is longer than 16 MiB: put it into a file of the workspace");
    home.run(&["verify", "--all", "--deep"]).ok();
}

/// The exit code of a task under a script, and its JSON.
fn scripted(script: &str, arguments: &[&str]) -> (i32, String) {
    let home = Home::new();
    home.follows(script);
    let ran = home.run(&[&["run", "go", "--json"], arguments].concat());
    let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(report["exit_code"], ran.code);
    (ran.code, format!("{} {}", report["ending"], report["detail"]))
}

#[test]
fn an_estimate_is_marked_wherever_tokens_are_shown() {
    for (usage, estimated) in [("", true), (" usage 900 5\n", false)] {
        let home = Home::new();
        home.follows(&format!("turn\n say done\n{usage}"));
        let ran = home.run(&["run", "go", "--json"]);
        let report: serde_json::Value = serde_json::from_str(&ran.ok()).unwrap();
        assert_eq!(report.get("tokens_estimated").is_some(), estimated, "{report}");
        assert!(report["tokens"].as_u64().unwrap() > 2, "{report}");
        let shown = home.run(&["show", "last", "--all"]);
        let shown = shown.ok();
        assert_eq!(shown.contains(" out, estimated)"), estimated, "{shown}");
        let output = home.bodies("last", "output").pop().unwrap();
        assert_eq!(output["usage"].get("estimated").is_some(), estimated, "{output}");
    }
}

#[test]
fn exit_codes_say_what_came_of_it() {
    let calls = "turn\n call calculator {\"expression\":\"1\"}\n usage 4000 9\nthen\n say done\n";
    assert_snapshot!(format!("{:?}", scripted(calls, &[])), @r#"(0, "\"answered\" null")"#);
    assert_snapshot!(format!("{:?}", scripted(calls, &["--max-steps", "1"])), @r#"(3, "\"limit\" \"too many steps: 1 step in one turn\"")"#);
    assert_snapshot!(format!("{:?}", scripted(calls, &["--max-tokens", "1"])), @r#"(3, "\"limit\" \"too many tokens: 4009 of 1 tokens in one turn\"")"#);
    assert_snapshot!(format!("{:?}", scripted("turn\n hang\n", &["--timeout", "1"])), @r#"(3, "\"limit\" \"the time was up\"")"#);
    // Limits hold for a model that reports nothing, or what cannot be right.
    for silent in [calls.replace(" usage 4000 9\n", ""), calls.replace("4000 9", "99999999999 9")] {
        let (code, told) = scripted(&silent, &["--max-tokens", "1"]);
        assert_eq!(code, 3, "{told}");
        assert!(told.contains("too many tokens: about "), "{told}");
    }
    let asks = "turn\n call dev_ask {\"line\":\"x\"}\nthen\n say done\n";
    assert_snapshot!(format!("{:?}", scripted(asks, &[])), @r#"(4, "\"approval\" \"a person must allow c6.0\"")"#);
    assert_snapshot!(format!("{:?}", scripted("turn\n fail unauthorised\n", &[])), @r#"(5, "\"failed\" \"no model answered: scripted: as the script has it\"")"#);
}

#[test]
fn what_a_model_says_does_nothing_to_a_terminal() {
    let home = Home::new();
    home.follows("turn\n think \"a\\u001b[2Jb\"\n say \"c\\u001b]0;x\\u0007 \\u202ed\\r\\n\"\n call dev_read {\"line\":\"\\u001b[2J\"}\nthen\n say \"e\\u001b[31m\"\n");
    let ran = home.run(&["run", "go"]);
    assert_eq!(ran.out, "e␛[31m\n");
    assert!(!ran.err.contains('\u{1b}'), "{}", ran.err);
    // Programs get it escaped.
    let json = home.run(&["run", "go", "--json"]);
    assert!(!json.out.contains('\u{1b}'), "{}", json.out);
}

#[test]
fn every_move_of_the_state_machine_is_logged() {
    let home = Home::new();
    home.run_with(&[("THREADLINE_LOG", "StateMachine")], &["run", "add 2 and 3"]).ok();
    let log = home.read(".local/share/threadline/threadline.log");
    let log = String::from_utf8(log).unwrap();
    let moves = log.lines().filter_map(|line| line.split("StateMachine: ").nth(1));
    let moves: Vec<&str> = moves.map(|line| line.split(" conversation").next().unwrap()).collect();
    let expected = [
        "WaitingInput -> PendingInput",
        "PendingInput -> WaitingToolResults",
        "WaitingToolResults -> ToolResultsReady",
        "ToolResultsReady -> PendingToolResults",
        "PendingToolResults -> WaitingInput",
    ];
    assert_eq!(moves, expected);
}
