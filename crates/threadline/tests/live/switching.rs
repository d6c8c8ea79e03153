//! One conversation that is held in another dialect at every turn.

use std::collections::BTreeSet;
use std::sync::Arc;

use threadline::core::history::fact::Fact;

use crate::answers::looked_up;
use crate::lookup::Lookup;
use crate::server;
use crate::talk::{DIALECTS, Talk};

/// What is asked, in turn: each is answered by a call.
const QUESTIONS: [&str; 4] = [
    "How high is the tower?",
    "What is in the box?",
    "How many people live in Rome?",
    "What is the capital of Italy?",
];

#[tokio::test]
async fn a_conversation_switches_dialect_at_every_turn() {
    let Some((server, _alone)) = server::shared().await else { return };
    let lookup = Lookup::new();
    let mut talk = Talk::begin(server, vec![Arc::new(lookup.clone())], 40).await;
    let mut spoken = BTreeSet::new();
    let mut last_input = 0;
    for (question, dialect) in QUESTIONS.into_iter().zip(DIALECTS.into_iter().cycle()) {
        let turn = talk.say(dialect, question).await;
        looked_up(&turn, dialect);
        let route = turn.entries.iter().find_map(|entry| match &entry.fact {
            Fact::InvocationStarted(started) => Some(Arc::clone(&started.invocation.dialect)),
            _ => None,
        });
        spoken.extend(route);
        // It sees what was said before, in whichever dialect that was.
        let input = turn.outputs()[1].usage.input;
        assert!(input > last_input, "{input} tokens after {last_input}");
        last_input = input;
    }
    assert_eq!(lookup.asked().len(), QUESTIONS.len());
    assert_eq!(spoken.len(), DIALECTS.len(), "{spoken:?}");
    talk.end().await;
}
