//! A conversation that kills the process that drives it: parked after three deaths that nobody
//! attended, and tried again when a person resumes it by name.
//!
//! The process that dies is this test binary, started again with a tool that aborts it.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use async_trait::async_trait;
use threadline::{Setup, ask, sqlite};
use threadline_core::history::fact::{Effect, Verdict};
use threadline_core::id::ConversationId;
use threadline_core::tool::{Handling, RunRules, Tool, ToolContext, ToolOutcome, ToolSpec};

use crate::home::Home;

/// What the child process is told: the database, and the conversation that it drives. Without a
/// conversation it begins one.
const DATABASE: &str = "PARKING_DATABASE";
const CONVERSATION: &str = "PARKING_CONVERSATION";

/// In place of the calculator, which the built-in model calls.
struct Aborts(ToolSpec);

#[async_trait]
impl Tool for Aborts {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn call(&self, _: &str, _: &ToolContext) -> ToolOutcome {
        std::process::abort()
    }

    async fn reconcile(&self, _: &str, _: &ToolContext) -> Option<ToolOutcome> {
        std::process::abort()
    }
}

#[test]
#[ignore = "only as a child process"]
#[expect(clippy::disallowed_methods, reason = "a child is told by its environment what to do")]
fn child() {
    let Ok(database) = std::env::var(DATABASE) else { return };
    let mut setup = Setup::offline(sqlite(Path::new(&database)).unwrap());
    let calculator =
        setup.tools.iter_mut().find(|tool| &*tool.spec().name == "calculator").unwrap();
    let spec = ToolSpec {
        verdict: Verdict::Allow,
        handling: Handling::Run(RunRules::usual(Effect::Once)),
        ..calculator.spec().clone()
    };
    *calculator = Arc::new(Aborts(spec));
    let assistant = setup.assistant("You help with sums.");
    let runtime = setup.runtime().unwrap();
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        if let Ok(id) = std::env::var(CONVERSATION) {
            let id: ConversationId = id.parse().unwrap();
            runtime.start_unattended(id);
            println!("{:?}", runtime.settled(id).await);
        } else {
            let id = runtime.create(&[assistant]).await.unwrap();
            ask(&runtime, id, "add 2 and 3").await.unwrap();
        }
    });
}

/// Whether the child process was aborted, and what it printed.
fn drive(home: &Home, id: Option<&str>) -> (bool, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "parking::child", "--ignored", "--nocapture"]);
    command.env(DATABASE, home.database()).stderr(Stdio::null());
    if let Some(id) = id {
        command.env(CONVERSATION, id);
    }
    let output = command.output().unwrap();
    (output.status.signal().is_some(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn a_conversation_whose_driver_died_three_times_is_parked_until_it_is_resumed() {
    let home = Home::new();
    std::fs::create_dir_all(home.database().parent().unwrap()).unwrap();
    // The first death was attended and does not count.
    assert!(drive(&home, None).0);
    let listed = home.run(&["list", "--json"]).json();
    let id = listed["conversations"][0]["id"].as_str().unwrap().to_owned();
    for death in 1..=3 {
        let (died, printed) = drive(&home, Some(&id));
        assert!(died, "death {death}: {printed}");
    }
    let (died, printed) = drive(&home, Some(&id));
    assert!(!died && printed.contains("OnHold"), "{printed}");
    assert_eq!(home.run(&["resume", "--all"]).ok(), "nothing is unfinished\n");
    let listed = home.run(&["list"]).ok();
    assert!(listed.contains("parked: its driver died 3 times at the same step"), "{listed}");

    // By name it is always tried again: here with the real calculator, which cannot know what
    // became of the call.
    home.run(&["resume", &id]).ok();
    assert_eq!(home.bodies(&id, "tool_finished")[0]["status"], "unknown");
    let listed = home.run(&["list"]).ok();
    assert!(!listed.contains("parked"), "{listed}");
}
