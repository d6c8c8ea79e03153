//! Several agents in one conversation, and several terminals.

use std::thread::sleep;
use std::time::Duration;

use insta::assert_snapshot;

use crate::home::{Home, TALK, export_of};
use crate::stories::WEATHER;

const CONFIG: &str = ".config/threadline/config.toml";

/// A home with a planner that people talk with, and two workers.
fn office() -> Home {
    let home = Home::new();
    home.write(
        CONFIG,
        "[agents.planner]\nprimary = true\ndescription = \"plans\"\n\
         [agents.ada]\ndescription = \"knows sums\"\ninstruction = \"You add.\"\n\
         [agents.bob]\ndescription = \"knows files\"\ntools = [\"read_file\", \"wait\"]\n\
         [agents.eve]\njoin = false\n",
    );
    home
}

/// Waits until something is so.
fn until(what: &str, is: impl Fn() -> bool) {
    for _ in 0..1_500 {
        if is() {
            return;
        }
        sleep(Duration::from_millis(20));
    }
    panic!("it never came to this: {what}");
}

#[test]
fn agents_of_the_config_join_by_themselves() {
    let home = office();
    assert_snapshot!(home.run(&["agents"]).shown(), @"
    a new conversation begins with
      planner (primary)  plans · 11 tools
      ada  knows sums · 11 tools
      bob  knows files · 2 tools
    ");
    home.run(&["run", "hello"]).ok();
    let listed = home.run(&["agents", "last", "--json"]).json();
    let names: Vec<&str> =
        listed["agents"].as_array().unwrap().iter().map(|a| a["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["planner", "ada", "bob"]);
    assert_eq!(listed["agents"][0]["primary"], true);
    assert_eq!(listed["agents"][2]["tools"], serde_json::json!(["read_file", "wait"]));
    home.write(CONFIG, "[agents.a]\nprimary = true\n[agents.b]\nprimary = true\n");
    assert_snapshot!(home.run(&["run", "hello"]).fails(1), @"error: agents.a and agents.b are both primary: only one can be");
    home.write(CONFIG, "[agents.all]\n");
    assert_snapshot!(home.run(&["run", "hello"]).fails(1), @r#"error: "all" stands for all agents: choose another name"#);
    home.write(CONFIG, "[agents.\"a b\"]\n");
    assert_snapshot!(home.run(&["run", "hello"]).fails(1), @r#"error: "a b" cannot be an agent's name: it begins with a letter, and has at most 64 letters, digits, - _ and ."#);
}

#[test]
fn a_tool_that_does_not_exist_is_named_with_the_one_that_was_meant() {
    let home = office();
    home.run(&["run", "hello"]).ok();
    home.write(CONFIG, "[agents.bob]\ntools = [\"raed_file\"]\n");
    for arguments in [&["run", "hello"][..], &["agents"], &["agents", "last", "add", "bob"]] {
        assert_eq!(
            home.run(arguments).fails(1),
            "error: the agent \"bob\" names the tool \"raed_file\", which does not exist; did you mean \"read_file\"?\n"
        );
    }
    home.write(CONFIG, "[agents.bob]\nwidgets = [\"bord\"]\n");
    let told = home.run(&["run", "hello"]).fails(1);
    assert!(
        told.ends_with("the widget \"bord\", which does not exist; did you mean \"board\"?\n"),
        "{told}"
    );
    // A conversation that began elsewhere may have agents with other tools: they stay as they are.
    home.write("talk.threadline.jsonl", export_of(WEATHER));
    home.run(&["import", "talk.threadline.jsonl"]).ok();
    home.write(CONFIG, "");
    home.run(&["agents", TALK, "add", "planner", "--description", "still there"]).ok();
    let listed = home.run(&["agents", TALK, "--json"]).json();
    assert_eq!(listed["agents"][0]["tools"], serde_json::json!(["weather"]));
}

#[test]
fn a_planner_asks_two_workers() {
    let home = office();
    let ran = home.run(&["run", "plan: add 2 and 3; read note.txt"]);
    assert_snapshot!(ran.out, @"
    ada: 2 + 3 = 5.

    bob: I could not read note.txt: there is no note.txt in the workspace; the workspace has .config/, .local/
    ");
    // They work side by side: whose line comes first is not fixed.
    let mut lines: Vec<&str> = ran.err.lines().skip(1).collect();
    lines.sort_unstable();
    assert_snapshot!(lines.join("\n"), @"
    · ada: 2 + 3 = 5.
    · ada: calculator 2 + 3
    · bob: I could not read note.txt: there is no note.txt in the workspace; the workspace has .config/, .local/
    · bob: read_file note.txt
    · planner: call_agent name: ada, task: add 2 and 3
    · planner: call_agent name: bob, task: read note.txt
    ✓ ada: 2 + 3 = 5
    ✗ bob: read_file failed: could not read note.txt
    ");
    let thread = home.run(&["show", "last", "--agent", "ada"]).shown();
    assert!(thread.contains("from planner") && !thread.contains("→ read_file"), "{thread}");
}

#[test]
fn a_message_is_for_the_primary_agent_for_one_or_for_all() {
    let home = office();
    let said = b"add 1 and 1\n@ada add 2 and 2\n@all hello\n@adda x\n@@home\n@bob\n";
    let ran = home.feed(said, &["chat"]);
    assert_snapshot!(ran.err.lines().filter(|line| line.starts_with("error")).collect::<Vec<_>>().join("\n"), @r#"
    error: there is no agent named "adda"; did you mean ada?; @@ says an @
    error: there is nothing in the message
    "#);
    let id =
        home.run(&["list", "--json"]).json()["conversations"][0]["id"].as_str().unwrap().to_owned();
    let inputs: Vec<(u64, String, bool)> = home
        .entries(&id)
        .iter()
        .filter(|entry| entry["kind"] == "input")
        .map(|entry| {
            let text = entry["body"]["sections"][0]["text"].as_str().unwrap().to_owned();
            let all = entry["body"]["to"] == "all";
            (entry["agent"].as_u64().unwrap(), text, all)
        })
        .collect();
    let said = |agent, text: &str, all| (agent, text.to_owned(), all);
    let mut to_all = inputs[2..5].to_vec();
    to_all.sort();
    assert_eq!(inputs[..2], [said(1, "add 1 and 1", false), said(2, "add 2 and 2", false)]);
    assert_eq!(to_all, [1, 2, 3].map(|agent| said(agent, "hello", true)));
    assert_eq!(inputs[5..], [said(1, "@home", false)]);
    let broadcast =
        home.bodies(&id, "input")[2..5].iter().map(|b| b["broadcast"].clone()).collect::<Vec<_>>();
    assert!(broadcast[0].is_string() && broadcast.iter().all(|id| *id == broadcast[0]));
}

#[test]
fn agents_join_and_leave_by_command() {
    let home = office();
    home.run(&["run", "hello"]).ok();
    assert_snapshot!(home.run(&["agents", "last", "add", "eve", "--description", "knows tea"]).shown(), @"eve joined");
    assert_snapshot!(home.run(&["run", "--continue", "last", "--to", "eve", "add 4 and 4"]).out, @"4 + 4 = 8.");
    assert_snapshot!(home.run(&["agents", "last", "remove", "bob"]).shown(), @"bob left");
    assert_snapshot!(home.run(&["agents", "last"]).shown(), @"
    1 planner (primary)  WaitingInput  plans
        input: hello | output: Hello! I am guide. Say `help` to see what I can do…
    2 ada  WaitingInput  knows sums
    3 bob  left  knows files
    4 eve  WaitingInput  knows tea
        input: add 4 and 4 | tool: calculator | output: 4 + 4 = 8.
    ");
    assert_snapshot!(home.run(&["run", "--continue", "last", "--to", "bob", "x"]).fails(1), @r#"
    conversation <id 1>
    error: there is no agent named "bob"; there are: planner, ada, eve
    "#);
    assert_snapshot!(home.run(&["agents", "last", "remove", "nobody"]).fails(1), @r#"error: there is no agent "nobody"; there are planner, ada, bob, eve"#);
    assert_snapshot!(home.run(&["agents", "last", "add", "two words"]).fails(1), @r#"error: "two words" cannot be an agent's name: it begins with a letter, and has at most 64 letters, digits, - _ and ."#);
    assert_snapshot!(home.run(&["agents", "last", "add"]).fails(2), @"
    error: the following required arguments were not provided:
      <NAME>

    Usage: threadline agents <ID> <ACTION> <NAME>

    For more information, try '--help'.
    ");
    let said =
        b"/agents add kim knows birds\n@kim add 3 and 3\n/agents remove kim\n/agents remove kim\n";
    let ran = home.feed(said, &["chat", "last"]);
    assert_snapshot!(ran.out, @"
    kim joined; @kim speaks to it
    3 + 3 = 6.
    kim left
    ");
}

#[test]
fn an_agent_that_is_there_is_changed_only_in_what_is_said() {
    let home = office();
    home.run(&["run", "hello"]).ok();
    let add = |name, option, text| {
        home.run(&["agents", "last", "add", name, option, text, "--json"]).json()
    };
    let kim = add("kim", "--instruction", "Say tea.")["agent"].clone();
    assert_eq!(add("kim", "--description", "knows tea")["agent"], kim);
    add("bob", "--description", "knows all files");
    let listed = home.run(&["agents", "last", "--json"]).json();
    assert_eq!(listed["agents"][2]["description"], "knows all files");
    assert_eq!(listed["agents"][2]["tools"], serde_json::json!(["read_file", "wait"]));
    let id = listed["id"].as_str().unwrap();
    let instructed = |agent: &serde_json::Value| {
        let entries = home.entries(id).into_iter();
        entries.filter(|e| e["agent"] == *agent && e["kind"] == "instruction_set").count()
    };
    assert_eq!((instructed(&kim), instructed(&3.into())), (1, 1));
    // One that left and comes again goes on as it was.
    home.run(&["agents", "last", "remove", "kim"]).ok();
    assert_eq!(add("kim", "--description", "knows coffee")["agent"], kim);
    assert_eq!(instructed(&kim), 1);
    let left = home.run(&["agents", "last", "remove", "kim", "--json"]).json();
    assert_eq!(left["agent"], kim);
}

#[test]
fn a_route_that_is_not_there_is_told_of_the_agent_that_takes_it() {
    let home = office();
    home.write(CONFIG, "[agents.ada]\nroute = \"nowhere\"\n");
    let told = home.run(&["run", "hello"]).fails(1);
    assert!(told.starts_with("error: agents.ada: ") && told.contains("nowhere"), "{told}");
}

#[test]
fn a_question_that_cannot_be_read_hides_no_other() {
    let home = Home::new();
    home.follows(
        "turn\n call dev_ask {\"line\":\"x\"}\n \
         call write_file {\"path\":\"a.txt\",\"text\":\"hello\"}\nthen\n say done\n",
    );
    home.run(&["run", "go"]).fails(4);
    home.write(CONFIG, "");
    assert_snapshot!(home.run(&["approve"]).shown(), @r#"
    ? call c6.0 asks for dev_ask, which there is no more here
    ? write_file of assistant wants to run; it has an effect, and must run once only
      path: "a.txt"
      text: "hello"
      to allow it: threadline approve <id 1> c6.1; not to: add --deny
    "#);
    let listed = home.run(&["approve", "--json"]).json();
    assert!(listed["questions"][0]["error"].as_str().unwrap().contains("dev_ask"), "{listed}");
    assert_eq!(listed["questions"][1]["tool"], "write_file");
    home.run(&["approve", "last", listed["questions"][0]["call"].as_str().unwrap()]).fails(1);
    home.run(&["approve", "last", listed["questions"][1]["call"].as_str().unwrap()]).ok();
}

#[test]
fn a_second_terminal_cancels_what_another_does() {
    let home = office();
    let running = home.start(&["run", "ask ada to wait 600 seconds and bob to wait 500 seconds"]);
    until("both wait", || home.bodies(&running.id, "timer_set").len() == 2);
    assert_snapshot!(home.run(&["cancel", &running.id]).shown(), @"stopped: planner");
    let id = running.id.clone();
    assert_eq!(running.end().0, 130);
    let ended = home.bodies(&id, "turn_ended");
    assert_eq!(ended.len(), 3, "{ended:?}");
    let states = home.run(&["agents", &id, "--json"]).json();
    for agent in states["agents"].as_array().unwrap() {
        assert_eq!(
            (&agent["state"], &agent["timers"]),
            (&"WaitingInput".into(), &serde_json::json!([]))
        );
    }
    assert_snapshot!(home.run(&["cancel", &id]).shown(), @"nothing goes on there");
}

#[test]
fn what_nobody_drives_is_cancelled_all_the_same() {
    let home = office();
    let running = home.start(&["run", "ask ada to wait 600 seconds"]);
    until("it waits", || !home.bodies(&running.id, "timer_set").is_empty());
    let id = running.kill();
    assert_snapshot!(home.run(&["cancel", &id]).shown(), @"stopped: planner");
    assert_eq!(home.bodies(&id, "turn_ended").len(), 2);
    let asked = home.bodies(&id, "invocation_started").len();
    assert_eq!(asked, 2, "no model was asked to cancel");
}

#[test]
fn a_second_terminal_answers_what_an_agent_asks() {
    let home = office();
    let ran = home.run(&["run", "ask ada to write hello to a.txt"]);
    assert_eq!(ran.code, 4, "{}", ran.err);
    let listed = home.run(&["approve", "last", "--json"]).json();
    let asked = &listed["questions"][0];
    assert_eq!(
        (asked["agent"].as_str(), asked["tool"].as_str()),
        (Some("ada"), Some("write_file"))
    );
    assert_eq!(asked["arguments"]["path"], "a.txt");
    let call = asked["call"].as_str().unwrap();
    assert!(home.run(&["approve", "last"]).shown().contains("write_file of ada wants to run"));
    home.run(&["approve", "last", "c1.0"]).fails(1);
    let told = home.run(&["approve", "last", call, "--by", "mona"]).shown();
    assert!(told.contains("nobody goes on with the conversation now"), "{told}");
    home.run(&["resume", "last"]).ok();
    assert_eq!(home.read("a.txt"), b"hello");
    let given = home.bodies(listed["id"].as_str().unwrap(), "approval_given");
    assert_eq!(given[0]["by"], serde_json::json!({"person": {"name": "mona"}}));
    assert_snapshot!(home.run(&["approve", "last"]).shown(), @"nothing is asked there");
}

#[test]
fn what_is_declined_for_good_is_not_asked_again() {
    let home = office();
    home.run(&["run", "write hello to a.txt"]).fails(4);
    let listed = home.run(&["approve", "last", "--json"]).json();
    let call = listed["questions"][0]["call"].as_str().unwrap();
    home.run(&["approve", "last", call, "--deny", "--always"]).ok();
    home.run(&["resume", "last"]);
    let ran = home.run(&["run", "--continue", "last", "write hello to a.txt"]);
    assert!(ran.err.contains("write_file"), "{}", ran.err);
    assert!(!home.path("a.txt").exists());
    assert_eq!(home.bodies(listed["id"].as_str().unwrap(), "approval_asked").len(), 1);
}

#[test]
fn what_is_sent_is_said_once_whoever_drives() {
    let home = office();
    home.run(&["run", "hello"]).ok();
    let told = home.run(&["send", "last", "add 2 and 3", "--key", "k1"]).shown();
    assert!(told.contains("nobody goes on"), "{told}");
    home.run(&["send", "last", "add 2 and 3", "--key", "k1"]).ok();
    home.run(&["send", "last", "add 9 and 9", "--key", "k1"]).fails(1);
    home.run(&["send", "last", " "]).fails(1);
    home.run(&["send", "last", "hello", "--to", "nobody"]).fails(1);
    home.run(&["resume", "last"]).ok();
    let id =
        home.run(&["list", "--json"]).json()["conversations"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(home.bodies(&id, "input").len(), 2);
    assert!(home.run(&["send", "last", "add 2 and 3", "--key", "k1"]).shown().contains("taken in"));
}

#[test]
fn a_second_terminal_changes_what_runs() {
    let home = office();
    let running = home.start(&["run", "wait 600 seconds"]);
    until("it waits", || !home.bodies(&running.id, "timer_set").is_empty());
    home.run(&["notebook", &running.id, "--set", "tea is good"]).ok();
    home.run(&["policy", &running.id, "deny", "write_file"]).ok();
    home.run(&["agents", &running.id, "add", "eve"]).ok();
    assert_eq!(home.run(&["notebook", &running.id]).shown().trim(), "tea is good");
    let told = home.run(&["send", &running.id, "add 2 and 3"]).shown();
    assert!(told.contains("taken in"), "{told}");
    let id = running.id.clone();
    assert_eq!(running.end().0, 0);
    let results = home.bodies(&id, "tool_finished");
    assert!(results[0]["result"][0]["text"].as_str().unwrap().contains("a message came"));
}

#[test]
fn what_came_for_a_process_that_is_gone_is_done_all_the_same() {
    let home = office();
    let running = home.start(&["run", "wait 600 seconds"]);
    until("it waits", || !home.bodies(&running.id, "timer_set").is_empty());
    running.signal("-STOP");
    let id = running.id.clone();
    let arguments = [["notebook", &id, "--set", "tea"], ["agents", &id, "remove", "ada"]];
    let changes = arguments.map(|arguments| {
        home.command(&arguments).stdout(std::process::Stdio::piped()).spawn().unwrap()
    });
    sleep(Duration::from_millis(500));
    running.kill();
    for change in changes {
        let ran = change.wait_with_output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
    }
    assert_eq!(home.run(&["notebook", &id]).shown().trim(), "tea");
    assert_eq!(home.bodies(&id, "agent_left").len(), 1);
    assert_snapshot!(home.run(&["cancel", &id]).shown(), @"stopped: planner");
}

#[test]
fn what_is_due_is_driven_by_resume_and_by_watch() {
    let home = office();
    home.run(&["run", "wake me in 1 second: add 40 and 2"]).ok();
    sleep(Duration::from_millis(1_200));
    assert!(home.run(&["resume", "--all"]).shown().contains("42"));
    home.run(&["run", "wake me in 1 second: add 50 and 2"]).ok();
    home.run(&["run", "every 1 second add 60 and 2"]).ok();
    let mut watching =
        home.command(&["watch", "--json"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let answers = |text: &str| {
        let found = home.run(&["search", text, "--json"]).json();
        found["hits"].as_array().map_or(0, Vec::len)
    };
    until("both woke", || answers("52") > 0 && answers("62") > 1);
    watching.kill().unwrap();
    let told = String::from_utf8(watching.wait_with_output().unwrap().stdout).unwrap();
    assert!(told.contains("\"what\":\"woken\"") && told.contains("\"what\":\"answer\""), "{told}");
}

#[test]
fn one_conversation_is_watched_and_driven_whoever_speaks_to_it() {
    let home = office();
    home.run(&["run", "hello"]).ok();
    home.run(&["send", "last", "add 30 and 3"]).ok();
    let id =
        home.run(&["list", "--json"]).json()["conversations"][0]["id"].as_str().unwrap().to_owned();
    home.run(&["run", "hello to another"]).ok();
    home.run(&["send", "last", "add 50 and 5"]).ok();
    let mut watching = home
        .command(&["watch", &id, "--json"])
        .stdout(std::fs::File::create(home.path("told")).unwrap())
        .spawn()
        .unwrap();
    until("what waited is answered", || home.bodies(&id, "input").len() == 2);
    home.run(&["send", &id, "tell ada to add 2 and 3"]).ok();
    let told = || String::from_utf8(home.read("told")).unwrap();
    until("the answer is passed on", || told().contains("ada says: 2 + 3 = 5."));
    watching.kill().unwrap();
    watching.wait().unwrap();
    let told = told();
    let lines: Vec<serde_json::Value> =
        told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().all(|line| line["id"] == id.as_str()), "{told}");
    let inputs = ["input", "task", "reply"];
    let inputs: Vec<&str> = lines
        .iter()
        .filter_map(|line| line["what"].as_str())
        .filter(|what| inputs.contains(what))
        .collect();
    assert_eq!(inputs, ["input", "input", "task", "reply"], "{told}");
}

#[test]
fn an_agent_that_goes_on_alone_stops_with_a_clear_word() {
    let home = office();
    home.write(CONFIG, "[limits]\nalone = 2\n");
    home.run(&["run", "every 1 second add 1 and 1"]).ok();
    let mut watching =
        home.command(&["watch"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let id =
        home.run(&["list", "--json"]).json()["conversations"][0]["id"].as_str().unwrap().to_owned();
    until("it stopped", || !home.bodies(&id, "timer_cleared").is_empty());
    watching.kill().unwrap();
    watching.wait().unwrap();
    let note = home.bodies(&id, "note");
    assert!(
        note[0]["text"].as_str().unwrap().contains("2 turns went by without a person"),
        "{note:?}"
    );
    assert_eq!(home.bodies(&id, "input").len(), 3);
}
