//! Reading one's own thread again, and nothing else.

use crate::home::{Home, TALK};

/// Two agents; what was said to the first is taken back in part.
const TWO: &str = r#"
@ planner joins primary tools=recall,calculator
@ coder joins tools=recall
@ coder instruction: the secret word is heron
user: my door is red
planner: I see.
user: the secret word is swan
planner: Hush.
rewind 5
user: my gate is green
planner: I see.
"#;

/// What the agent answers in the conversation that was told.
fn answer(home: &Home, said: &str) -> String {
    home.run(&["run", "--continue", TALK, said]).ok()
}

#[test]
fn an_agent_recalls_what_counts_in_its_own_thread() {
    let home = Home::with(TWO);
    insta::assert_snapshot!(answer(&home, "recall 4"), @"");
    insta::assert_snapshot!(answer(&home, "what did I say about the door?"), @"");
    // The question before is part of the thread by now, what was recalled is passed over.
    insta::assert_snapshot!(answer(&home, "recall what I said about my door"), @"");
}

#[test]
fn what_was_taken_back_and_what_is_another_agents_is_as_if_it_were_not() {
    let home = Home::with(TWO);
    let nothing = answer(&home, "recall 999").replace("999", "N");
    assert!(nothing.contains("only entries of your own thread"), "{nothing}");
    for seq in ["2", "3", "6", "7", "8"] {
        assert_eq!(answer(&home, &format!("recall {seq}")).replace(seq, "N"), nothing, "{seq}");
    }
    let found = answer(&home, "what did I say about the secret word");
    assert!(found.contains("nothing found"), "{found}");
    let results = home.bodies(TALK, "tool_finished");
    assert_eq!(results.len(), 7);
    let told = serde_json::to_string(&results).unwrap();
    assert!(!told.contains("heron") && !told.contains("swan"), "{told}");
}
