//! Kills: runs and resumes are killed at any moment of their lives, and the next one goes on. What
//! was said is there once, what must not be done twice is not, and the answer comes.
//!
//! `THREADLINE_FIRE_KILLS` says how many, `THREADLINE_FIRE_SEED` which: see "Tests under fire" in
//! `CONTRIBUTING.md`.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use threadline_testing::ids::Choices;

use crate::home::Home;

/// After how many tasks another home is begun.
const TASKS_PER_HOME: u64 = 8;

/// A turn with every kind of step, slow enough that each of them is met now and then.
const SCRIPT: &str = r#"
    turn when "task"
      think What is to be done?
      say One moment.
      wait 4
      call dev_once {"line":"first {input}","ms":4}
      call dev_read {"line":"{input}","ms":2}
      call dev_idempotent {"line":"{input}"}
    then
      wait 4
      call notebook_append {"text":"{input}"}
      call dev_once {"line":"second {input}"}
    then
      wait 4
      say All of {input} is done.
"#;

/// A number from the environment, or else the usual one.
#[expect(clippy::disallowed_methods, reason = "these variables make the tests larger")]
pub(crate) fn knob(name: &str, usual: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is not a number: {text:?}")),
        Err(_) => usual,
    }
}

/// What someone saw of a process that was killed.
#[derive(Debug, Default)]
struct Saw {
    /// The conversation.
    id: Option<String>,
    /// Whether anything was told of what happens in it: then the task is safe.
    goes_on: bool,
    /// Whether it ended by itself before it was killed.
    ended: bool,
}

/// Starts the program, and kills it after a while.
fn killed(home: &Home, arguments: &[&str], after: Duration) -> Saw {
    let mut command = home.command(arguments);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(after);
    kill(child)
}

fn kill(mut child: Child) -> Saw {
    let ended = child.try_wait().unwrap().is_some();
    // One that has ended in the meantime cannot be killed, and need not be.
    drop(child.kill());
    child.wait().unwrap();
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    let told = BufReader::new(child.stderr.take().unwrap()).lines();
    let told: Vec<String> = told.map(Result::unwrap).collect();
    let id = told.iter().find_map(|line| line.strip_prefix("conversation "));
    Saw { id: id.map(str::to_owned), goes_on: told.len() > 1 || !out.is_empty(), ended }
}

#[test]
fn nothing_that_was_told_is_lost_and_nothing_is_done_twice() {
    let kills = knob("THREADLINE_FIRE_KILLS", 8);
    let seed = knob("THREADLINE_FIRE_SEED", 1);
    let mut choices = Choices::new(seed);
    let (mut done, mut midway, mut cut, mut task) = (0, 0, 0, 0);
    while done < kills {
        let home = Home::new();
        home.follows(SCRIPT);
        let began = Instant::now();
        home.run(&["run", "task zero"]).ok();
        let life = u64::try_from(began.elapsed().as_micros()).unwrap();
        let mut known = home.conversations();
        for _ in 0..TASKS_PER_HOME {
            if done >= kills {
                break;
            }
            task += 1;
            let name = format!("task {task}.");
            // A process begins by loading what it counts tokens with: most of what can be lost
            // happens in the later half of its life.
            let some_time = |choices: &mut Choices| {
                let early = if choices.percent(30) { 0 } else { life / 2 };
                Duration::from_micros(early + choices.below(life - early))
            };
            // Now and then a conversation is gone on with that has turns before.
            let old = if choices.percent(40) { choices.pick(&known).cloned() } else { None };
            let mut arguments = vec!["run", &*name];
            arguments.extend(old.iter().flat_map(|id| ["--continue", id]));
            let saw = killed(&home, &arguments, some_time(&mut choices));
            done += 1;
            midway += u64::from(!saw.ended && saw.goes_on);
            // What goes on may be killed as well.
            if choices.percent(30) && done < kills {
                killed(&home, &["resume", "--all"], some_time(&mut choices));
                done += 1;
            }
            home.run(&["resume", "--all"]).ok();
            let told = format!("THREADLINE_FIRE_SEED={seed}, kill {done}, {name} {saw:?}");
            let (id, was_cut) = check(&home, &name, old.or(saw.id.clone()), &saw, &told);
            cut += u64::from(was_cut);
            known.push(id);
            known.dedup();
        }
        home.run(&["verify", "--all", "--deep"]).ok();
        assert_eq!(home.run(&["resume", "--all"]).ok(), "nothing is unfinished\n");
    }
    eprintln!("{done} kills, {midway} in the middle of a turn, {cut} in that of a call");
    // Few kills may miss; many that never meet a call that runs would show nothing.
    assert!(done < 100 || (midway * 10 > done && cut > 0), "{midway} and {cut} of {done} kills");
}

/// Looks at what became of a task, and gives it once more if nobody was told that it is safe.
/// Gives its conversation, and whether a call was cut short in it.
fn check(home: &Home, name: &str, id: Option<String>, saw: &Saw, told: &str) -> (String, bool) {
    // One that was killed before it could say so may have begun a conversation all the same.
    let mut id = id.or_else(|| {
        let mut all = home.conversations().into_iter();
        all.find(|id| inputs(home, id, name) > 0)
    });
    let there = id.as_ref().map_or(0, |id| inputs(home, id, name));
    assert!(there == 1 || !saw.goes_on, "the task was lost or doubled ({there}): {told}");
    if there == 0 {
        let mut arguments = vec!["run", name];
        arguments.extend(id.iter().flat_map(|id| ["--continue", id]));
        home.run(&arguments).ok();
        id = home.conversations().into_iter().find(|id| inputs(home, id, name) > 0);
    }
    let id = id.unwrap();
    let entries = home.entries(&id);
    let begin = entries.iter().position(|entry| is_input(entry, name)).unwrap();
    assert_eq!(inputs(home, &id, name), 1, "{told}");
    let end = entries[begin..].iter().rfind(|entry| entry["kind"] == "output").unwrap();
    let answer = format!("All of {name} is done.");
    assert!(end["body"].to_string().contains(&answer), "{told}: {end:#}");
    let was_cut = check_effects(home, name, &entries[begin..], told);
    (id, was_cut)
}

/// What must not be done twice was done at most once, and what may be was done; what is told as
/// done was done. Gives whether a call was cut short.
fn check_effects(home: &Home, name: &str, entries: &[Value], told: &str) -> bool {
    let ledger = home.ledger();
    let times = |line: &str| ledger.iter().filter(|one| **one == line).count();
    let finished = entries.iter().filter(|entry| entry["kind"] == "tool_finished");
    let once = finished.filter(|entry| entry["body"]["name"] == "dev_once");
    let statuses: Vec<&Value> = once.map(|entry| &entry["body"]["status"]).collect();
    assert_eq!(statuses.len(), 2, "{told}");
    for (line, status) in ["first", "second"].iter().zip(&statuses) {
        let done = times(&format!("dev_once {line} {name}"));
        match status.as_str() {
            Some("success") => assert_eq!(done, 1, "{line}: {told}"),
            Some("unknown") => assert!(done <= 1, "{line} was done {done} times: {told}"),
            other => panic!("{line} is {other:?}: {told}"),
        }
    }
    for tool in ["dev_read", "dev_idempotent"] {
        assert!(times(&format!("{tool} {name}")) >= 1, "{tool} was never run: {told}");
    }
    let changes = entries.iter().filter(|entry| entry["kind"] == "widget_changed").count();
    assert_eq!(changes, 1, "{told}");
    let again = entries.iter().filter(|entry| entry["kind"] == "tool_started").count();
    again > 4 || statuses.iter().any(|status| *status == "unknown")
}

fn is_input(entry: &Value, name: &str) -> bool {
    entry["kind"] == "input" && entry["body"].to_string().contains(name)
}

fn inputs(home: &Home, id: &str, name: &str) -> usize {
    home.entries(id).iter().filter(|entry| is_input(entry, name)).count()
}

impl Home {
    /// The ids of all conversations.
    fn conversations(&self) -> Vec<String> {
        let listed = self.run(&["list", "--json"]).json();
        let all = listed["conversations"].as_array().unwrap();
        all.iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
    }
}

/// Two processes go on with one conversation at once: one drives, the other waits, and both tasks
/// are done, once.
#[test]
fn two_runs_of_one_conversation_lose_nothing() {
    let home = Home::new();
    home.follows(SCRIPT);
    home.run(&["run", "task zero"]).ok();
    let [id] = &home.conversations()[..] else { panic!("one conversation") };
    for round in 0..knob("THREADLINE_FIRE_KILLS", 8).div_ceil(8) {
        let names = ["one", "two", "three"].map(|name| format!("task {name} {round}."));
        let runs = names.each_ref().map(|name| {
            let mut command = home.command(&["run", name, "--continue", id]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        });
        for (run, name) in runs.into_iter().zip(&names) {
            let output = run.wait_with_output().unwrap();
            let out = String::from_utf8(output.stdout).unwrap();
            let err = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(0), "{name}: {err}");
            assert!(out.contains(&format!("All of {name} is done.")), "{name}: {out}\n{err}");
        }
        for name in &names {
            assert_eq!(inputs(&home, id, name), 1);
            for line in ["first", "second"] {
                let done = format!("dev_once {line} {name}");
                assert_eq!(home.ledger().iter().filter(|one| **one == done).count(), 1, "{done}");
            }
        }
    }
    let finished = home.bodies(id, "tool_finished");
    assert!(finished.iter().all(|body| body["status"] == "success"), "{finished:#?}");
    home.run(&["verify", "--all", "--deep"]).ok();
}
