//! Recaps on request, and pins.

use threadline::{Ending, Setup, ask, ending, item, sqlite, taken};
use threadline_core::history::fact::Input;
use threadline_core::inbox::{Body, Command};

use crate::home::{Home, TALK};

/// Three exchanges, of which the newest stays.
const LONG: &str = "
@ planner joins primary tools=recall,calculator
user: please keep an eye on src/main.rs and on ticket ORD-1234, which Ada Lovelace opened last week
planner: I will look at src/main.rs first and then at ORD-1234, and tell you what I find there.
user: and the harbour opens at seven in the morning, remember that for the plan of the whole week
planner: I see, at seven in the morning it is, and I will plan the week around that.
user: what now?
planner: We wait.
";

#[test]
fn a_recap_stands_for_all_but_the_newest_exchange_until_it_is_taken_back() {
    let home = Home::with(LONG);
    let recap = home.run(&["recap", TALK, "--keep", "the ticket", "--json"]).json();
    assert_eq!((&recap["from"], &recap["to"]), (&1.into(), &5.into()), "{recap}");
    let recorded = home.bodies(TALK, "recap");
    assert_eq!(recorded[0]["asked"], true);
    assert_eq!(recorded[0]["hints"][0], "Keep: the ticket");
    let text = recap["text"].as_str().unwrap();
    assert!(text.contains("src/main.rs") && text.contains("ORD-1234"), "{text}");
    let seen = home.run(&["context", TALK, "--text"]).ok();
    assert!(seen.contains("Recap of entries 1 to 5"), "{seen}");
    assert!(!seen.contains("the harbour opens at seven in the morning, remember"), "{seen}");
    let undone = home.run(&["recap", TALK, "--undo"]).ok();
    assert!(undone.contains("the recap of entries 1 to 5 is taken back"), "{undone}");
    let seen = home.run(&["context", TALK, "--text"]).ok();
    assert!(seen.contains("the harbour opens at seven in the morning, remember"), "{seen}");
}

/// Longer than a change of a conversation that another process drives is waited for.
#[test]
fn a_recap_may_take_its_time() {
    let home = Home::with(LONG);
    let text = "src/main.rs, ticket ORD-1234 of Ada Lovelace, the harbour at seven";
    home.follows(&format!("turn else\n wait 11000\n say {text}\n"));
    let recap = home.run(&["recap", TALK, "--json"]).json();
    assert_eq!(recap["text"], text, "{recap}");
}

#[test]
fn what_cannot_be_recapped_is_told_and_taken_out_of_the_inbox() {
    let home = Home::with("@ planner joins primary\nuser: hello\nplanner: hi");
    let told = home.run(&["recap", TALK]).fails(1);
    assert!(told.contains("nothing to be recapped"), "{told}");
    let told = home.run(&["recap", TALK, "--undo"]).fails(1);
    assert!(told.contains("no recap to take back"), "{told}");
    home.run(&["recap", TALK, "--undo", "--keep", "x"]).fails(2);
    // Nothing waits any more: the next answer comes at once.
    home.run(&["run", "--continue", TALK, "add 2 and 3"]).ok();
}

#[test]
fn a_recap_that_leaves_out_too_much_is_refused_and_costs_nothing_else() {
    let home = Home::with(LONG);
    home.follows("turn else\n  say Things happened.\n");
    let told = home.run(&["recap", TALK]).fails(1);
    assert!(told.contains("leaves out"), "{told}");
    assert_eq!(home.bodies(TALK, "recap").len(), 0);
    assert_eq!(home.bodies(TALK, "invocation_failed").len(), 1);
}

#[test]
fn a_pin_is_set_and_taken_away_in_a_chat() {
    let home = Home::with(LONG);
    let said = home.feed(b"/pin 2\n/unpin 2\n/pin 999\n/pin x\n", &["chat", TALK]);
    let told = said.told() + &said.shown();
    assert!(told.contains("entry 2 stays whole"), "{told}");
    assert!(told.contains("entry 2 fades like others"), "{told}");
    assert!(told.contains("there is no entry 999"), "{told}");
    assert!(told.contains("/pin takes the number of an entry"), "{told}");
    assert_eq!(home.bodies(TALK, "pinned").len(), 2);
}

/// A recap that is written after an answer belongs to no turn.
#[tokio::test]
async fn an_answered_turn_stays_answered_after_a_recap() {
    let folder = tempfile::tempdir().unwrap();
    let setup = Setup::offline(sqlite(&folder.path().join("x.db")).unwrap());
    let assistant = setup.assistant("You help with sums.");
    let runtime = setup.runtime().unwrap();
    let id = runtime.create(&[assistant]).await.unwrap();
    let said = item(Body::Input(Input::from_person("add 2 and 3")));
    runtime.submit(id, &said).await.unwrap();
    runtime.settled(id).await;
    ask(&runtime, id, "add 4 and 5").await.unwrap();
    let last = item(Body::Input(Input::from_person("add 6 and 7")));
    runtime.submit(id, &last).await.unwrap();
    runtime.settled(id).await;
    let recap = item(Body::Command(Command::Recap { hints: Vec::new() }));
    runtime.submit(id, &recap).await.unwrap();
    runtime.settled(id).await;
    let store = &*runtime.world().store;
    let written = taken(store, id, &recap).await.unwrap().unwrap();
    let record = store.records(id, &[written]).await.unwrap().remove(0).open().unwrap();
    assert_eq!(record.fact.kind(), "recap");
    for item in [&said, &last] {
        let seq = taken(store, id, item).await.unwrap().unwrap();
        let ending = ending(&runtime, id, seq).await.unwrap();
        assert!(matches!(ending, Ending::Answered { .. }), "{ending:?}");
    }
}
