//! What is known of a conversation and its agents without reading them, and the outline.

use std::sync::Arc;

use threadline_core::history::batch::{Interaction, MessageKind};
use threadline_core::history::fact::Money;
use threadline_core::id::Seq;
use threadline_core::outline::{OutlineRow, RowKind};

use super::{agent, story};

#[test]
fn the_transcript_has_what_people_see() {
    let mut told = story(
        "
@ a joins primary
@ b joins
user: do it
a: let me see → call_agent {}
a c4.0 calls b
a c4.0 to b: it
b: done by b
b returns to c4.0
call_agent c4.0 ok: done by b
a results
",
    );
    assert_eq!(told.history().sums().messages, 1);
    told.tell("a: done").unwrap();
    let last = told.history().sums().last_message.unwrap();
    assert_eq!((&*last.text, last.kind, last.at), ("done", MessageKind::Answer, told.now()));
    assert_eq!(told.history().sums().messages, 2);
    told.tell("system to a: go on\na: on I go").unwrap();
    assert_eq!(told.history().sums().messages, 2);
    told.tell("a timer +1m: look\n+ 1m\ntimer 14 to a: look\na: I look").unwrap();
    assert_eq!(told.history().sums().messages, 4);
    told.tell("user: and?\na ends cancelled").unwrap();
    assert_eq!(told.history().sums().messages, 5);
    assert_eq!(told.history().sums().last_message.unwrap().kind, MessageKind::Input);
}

#[test]
fn a_turn_that_people_join_is_theirs() {
    let mut told = story("@ a joins primary\nsystem to a: go on\nuser: and quickly\na: done");
    assert_eq!(told.history().sums().messages, 2);
    told.tell("system to a: go on\na: on I go").unwrap();
    assert_eq!(told.history().sums().messages, 2);
}

#[test]
fn the_last_message_is_cut_after_500_characters() {
    let told = story(&format!("@ a joins\nuser: {}", "雨".repeat(600)));
    assert_eq!(told.history().sums().last_message.unwrap().text, "雨".repeat(500));
}

#[test]
fn an_agents_turn_is_described_in_a_line() {
    let mut told = story(
        "
@ a joins
user: what is the weather in Oslo, in Bergen, and wherever else it may rain today?
a: let me look → weather {} | weather {} | notes {}
",
    );
    let described = |told: &super::Story| told.history().agent_sums()[0].state_description.clone();
    insta::assert_snapshot!(described(&told), @"input: what is the weather in Oslo, in Bergen, and wherev… | tool: weather (×2) | tool: notes | output: let me look");
    told.tell("weather c3.0 ok: rain\nweather c3.1 ok: rain\nnotes c3.2 ok: none\na results")
        .unwrap();
    told.tell("a: It rains.\nuser: thanks").unwrap();
    insta::assert_snapshot!(described(&told), @"input: thanks");
    told.tell("a: → weather {}").unwrap();
    insta::assert_snapshot!(described(&told), @"input: thanks | tool: weather");
}

#[test]
fn interactions_are_inputs_outputs_and_errors_of_the_thread() {
    let told = story(
        "
@ a joins
@ b joins
user: hello
a asks
a failed busy {\"usage\":{\"input\":4},\"cost\":2}: later
a asks
a {\"cost\":3}: hello
",
    );
    let sums = told.history().agent_sums();
    assert_eq!((sums[0].interactions, sums[1].interactions), (3, 0));
    assert_eq!(sums[0].last_interaction, Some((Interaction::Output, told.now())));
    assert_eq!((sums[1].last_interaction, sums[1].name.as_str()), (None, "b"));
    assert_eq!(told.history().sums().cost, Money(5));
    assert_eq!(told.history().ledger().usage.input, 4);
    let failed = story("@ a joins\nuser: hello\na asks\na failed busy");
    assert_eq!(agent(&failed, 1).last_interaction.unwrap().0, Interaction::Error);
}

#[test]
fn titles_labels_and_archiving_are_as_last_said() {
    let told = story(
        "
@ a joins
described {\"labels\":[\"b\",\"a\",\"b\"]}: First
described {\"archived\":true}
described: Second
",
    );
    let sums = told.history().sums();
    assert_eq!((sums.title.as_deref(), sums.archived), (Some("Second"), true));
    assert_eq!(sums.labels, ["a", "b"]);
}

fn outline(told: &super::Story) -> String {
    let line = |row: &Arc<OutlineRow>| {
        let previous = row.previous.map_or_else(|| "-".to_owned(), |previous| previous.to_string());
        format!(
            "#{} {} {:?} after {previous}, turn {}, recent {}, live {}: {}",
            row.agent, row.seq, row.kind, row.turn, row.recent_sum, row.live_sum, row.gist
        )
    };
    let rows = told.batches().iter().flat_map(|batch| &batch.rows);
    rows.map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn threads_have_outlines_of_their_own() {
    let told = story(
        "
@ a joins primary
@ b joins
user: one
user to b: two
a: → x {}
b: four
x c5.0 ok: five
a results
a: six
a recap 3..9: a did x
user: seven
a ends failed: nobody answers
rewind 9
user: eight
",
    );
    insta::assert_snapshot!(outline(&told), @"
    #1 3 Message after -, turn 3, recent 1, live 1: one
    #2 4 Message after -, turn 4, recent 1, live 1: two
    #1 5 Output after 3, turn 3, recent 3, live 3: → x {}
    #2 6 Answer after 4, turn 4, recent 2, live 2: four
    #1 8 Results after 5, turn 3, recent 4, live 4: x ok: five
    #1 9 Answer after 8, turn 3, recent 5, live 5: six
    #1 10 Recap after 9, turn 3, recent 5, live 5: recap of 3 to 9
    #1 11 Message after 10, turn 11, recent 6, live 6: seven
    #1 12 Ended after 11, turn 11, recent 17, live 17: turn ended: no model answered (nobody answers)
    #1 14 Message after 9, turn 14, recent 6, live 6: eight
    ");
    // After the rewind the thread goes on from where it led.
    let rows: Vec<_> = told.batches().iter().flat_map(|batch| &batch.rows).collect();
    assert_eq!(rows.last().unwrap().previous, Some(Seq(9)));
    assert_eq!(rows.iter().filter(|row| row.kind == RowKind::Recap).count(), 1);
}

#[test]
fn a_large_result_adds_its_recent_form_to_the_current_turn() {
    let large = "rain in Oslo\\n".repeat(6000);
    let text = format!("@ a joins\nuser: look\na: → x {{}}\nx c3.0 ok: \"{large}\"\na results");
    let told = story(&text);
    let rows: Vec<_> = told.batches().iter().flat_map(|batch| &batch.rows).collect();
    let (call, results) = (rows[1], rows[2]);
    assert!(results.tokens.live > 4096 && results.tokens.recent < 4096, "{:?}", results.tokens);
    assert_eq!(results.live_sum - call.live_sum, u64::from(results.tokens.recent));
    assert_eq!(results.recent_sum - call.recent_sum, u64::from(results.tokens.recent));
}
