//! Reading one's own thread again, and nothing else.

use crate::home::{Home, TALK};

/// Two agents; what was said to the first is taken back in part.
const TWO: &str = "
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
";

/// What the agent answers in the conversation that was told.
fn answer(home: &Home, said: &str) -> String {
    home.run(&["run", "--continue", TALK, said]).ok()
}

#[test]
fn an_agent_recalls_what_counts_in_its_own_thread() {
    let home = Home::with(TWO);
    insta::assert_snapshot!(answer(&home, "recall 4"), @"
    This is what I recall of entry 4:

    ```
    [entry 4, an input of a person, 2026-01-01 00:00]
    my door is red
    ```
    ");
    insta::assert_snapshot!(answer(&home, "what did I say about the gate?"), @r#"
    This is what I recall of “gate”:

    ```
    1 found for "gate", newest first:
    9 input of a person, 2026-01-01 00:00: my gate is green
    [read one with its number, such as {"seq":9}]
    ```
    "#);
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
