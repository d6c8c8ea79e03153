//! Driving, event by event: what shares a batch with the beginning of an invocation, and what
//! happens while a filled sheet waits for it.

mod desk;

use threadline_core::drive::{Event, Setback};
use threadline_core::history::fact::{AgentJoined, Input};
use threadline_core::id::Seq;
use threadline_core::inbox::{Body, Command, Item, ItemNumber, Mode};

use self::desk::{Desk, FIRST, SECOND, joined};

/// Says something that is answered by a call, up to where the call has its outcome.
fn up_to_a_result(desk: &mut Desk, tool: &str) {
    desk.say(FIRST, "go");
    let (asked, kinds) = desk.ask(FIRST);
    assert_eq!(kinds, "input invocation_started");
    desk.answer(&asked, "{}", Some(tool));
    assert_eq!(desk.append(), "output tool_started");
    desk.run();
}

#[test]
fn a_turn_with_a_call_takes_four_appends() {
    let mut desk = Desk::new();
    up_to_a_result(&mut desk, "send");
    let (asked, kinds) = desk.ask(FIRST);
    assert_eq!(kinds, "tool_finished tool_results invocation_started");
    desk.answer(&asked, "done", None);
    assert_eq!(desk.append(), "output");
    assert_eq!(desk.appended(), 4);
    assert!(desk.rests());
}

#[test]
fn a_widgets_change_is_on_the_screen_of_the_request_that_shares_its_batch() {
    let mut desk = Desk::new();
    desk.say(FIRST, "go");
    let (asked, _) = desk.ask(FIRST);
    desk.answer(&asked, r#"{"note":"milk"}"#, Some("scribe_write"));
    let (asked, kinds) = desk.ask(FIRST);
    assert_eq!(kinds, "output widget_changed tool_finished tool_results invocation_started");
    assert!(format!("{:?}", asked.request.context).contains("milk"), "{:?}", asked.request.context);
}

#[test]
fn an_instruction_that_is_not_durable_yet_is_shown() {
    let mut desk = Desk::new();
    desk.say(SECOND, "wait");
    desk.gather(SECOND).unwrap();
    desk.item(FIRST, Mode::Queue, Body::Command(Command::Instruct { text: "be loud".into() }));
    desk.say(FIRST, "go");
    desk.gather(FIRST).unwrap();
    let asked = desk.prepare(FIRST);
    assert!(format!("{:?}", asked.request.context).contains("be loud"));
    assert_eq!(desk.append(), "input instruction_set input invocation_started");
}

#[test]
fn a_cancel_ends_the_turn_in_the_batch_that_waits_or_right_after_the_message() {
    for gathered in [false, true] {
        let mut desk = Desk::new();
        desk.say(FIRST, "go");
        if gathered {
            desk.gather(FIRST).unwrap();
        }
        desk.item(FIRST, Mode::Queue, Body::Cancel);
        assert!(desk.gave_up());
        assert_eq!(desk.append(), "input");
        desk.told();
        assert_eq!(desk.append(), "turn_ended");
        assert!(desk.rests());
    }
    let mut desk = Desk::new();
    up_to_a_result(&mut desk, "send");
    desk.item(FIRST, Mode::Queue, Body::Cancel);
    assert_eq!(desk.append(), "tool_finished tool_results turn_ended");
    assert!(desk.rests());
}

#[test]
fn what_cannot_be_read_keeps_no_result_waiting() {
    let mut desk = Desk::new();
    up_to_a_result(&mut desk, "send");
    assert!(!desk.appends());
    desk.gather_in_vain(FIRST);
    desk.told();
    assert_eq!(desk.append(), "tool_finished tool_results");
    desk.told();
    desk.wake();
    let (_, kinds) = desk.ask(FIRST);
    assert_eq!(kinds, "invocation_started");
}

#[test]
fn a_process_that_ends_while_a_sheet_waits_ends_as_if_just_before() {
    let mut desk = Desk::new();
    let head = desk.head();
    desk.say(FIRST, "go");
    desk.gather(FIRST).unwrap();
    desk = desk.die();
    assert_eq!(desk.head(), head);
    // The item still waits.
    desk.say(FIRST, "go");
    let (asked, kinds) = desk.ask(FIRST);
    assert_eq!(kinds, "input invocation_started");
    desk.answer(&asked, "{}", Some("look"));
    desk.append();
    desk.run();
    desk.gather(FIRST).unwrap();
    desk = desk.die();
    // What only reads is run again.
    assert_eq!(desk.append(), "tool_started");
    assert_eq!(desk.runs().unwrap().attempt, 2);
}

#[test]
fn a_lost_lease_leaves_what_waits_unrecorded() {
    let mut desk = Desk::new();
    desk.say(FIRST, "go");
    desk.tell(Event::LeaseLost);
    assert!(desk.gave_up() && !desk.appends());
}

#[test]
fn what_steers_goes_in_before_a_request_that_is_not_on_record() {
    let mut desk = Desk::new();
    up_to_a_result(&mut desk, "look");
    desk.gather(FIRST).unwrap();
    desk.steer(FIRST, "rather this");
    assert!(desk.gave_up());
    // The result is recorded first: the store may refuse the message.
    assert_eq!(desk.append(), "tool_finished tool_results");
    desk.told();
    let (asked, kinds) = desk.ask(FIRST);
    assert_eq!(kinds, "input invocation_started");
    assert!(format!("{:?}", asked.request.context).contains("rather this"));
    // Once it is on record, what steers waits for the next one.
    desk.steer(FIRST, "or that");
    assert!(!desk.gave_up() && !desk.appends());
}

#[test]
fn what_queues_waits_for_the_end_of_the_turn() {
    let mut desk = Desk::new();
    desk.say(FIRST, "one");
    desk.gather(FIRST).unwrap();
    desk.say(FIRST, "two");
    let asked = desk.prepare(FIRST);
    assert_eq!(desk.append(), "input invocation_started");
    desk.answer(&asked, "done", None);
    assert_eq!(desk.append(), "output");
    desk.told();
    let (_, kinds) = desk.ask(FIRST);
    assert_eq!(kinds, "input invocation_started");
}

#[test]
fn of_several_agents_the_first_that_is_prepared_waits_for_no_other() {
    let mut desk = Desk::new();
    desk.say(FIRST, "one");
    desk.say(SECOND, "two");
    desk.gather(SECOND).unwrap();
    let second = desk.prepare(SECOND);
    assert_eq!(desk.store(), "input input invocation_started");
    // The other is prepared further while that is appended.
    desk.gather(FIRST).unwrap();
    let first = desk.prepare(FIRST);
    assert!(!desk.appends());
    desk.tell(Event::Appended);
    desk.answer(&second, "done", None);
    assert_eq!(desk.append(), "invocation_started");
    desk.answer(&first, "done", None);
    assert_eq!(desk.append(), "output");
    desk.told();
    assert_eq!(desk.append(), "output");
    assert!(desk.rests());
}

#[test]
fn a_message_to_another_agent_goes_into_the_batch_after_a_result() {
    let mut desk = Desk::new();
    up_to_a_result(&mut desk, "look");
    desk.say(SECOND, "hello");
    assert_eq!(desk.append(), "tool_finished tool_results");
    desk.told();
    desk.gather(SECOND).unwrap();
    desk.prepare(SECOND);
    assert_eq!(desk.append(), "input invocation_started");
}

#[test]
fn a_message_that_was_withdrawn_is_left_out_and_all_else_goes_on() {
    let mut desk = Desk::new();
    desk.say(SECOND, "two");
    let (other, _) = desk.ask(SECOND);
    let head = desk.head();
    let message = |key: &str| Item {
        client_key: key.into(),
        to: Some(FIRST),
        mode: Mode::Queue,
        due: None,
        body: Body::Input(Input::from_person(key)),
    };
    let [gone, stays] = [(ItemNumber(70), message("gone")), (ItemNumber(71), message("stays"))];
    desk.tell(Event::Arrived(vec![gone.clone(), stays]));
    desk.gather(FIRST).unwrap();
    // An answer that comes meanwhile is not recorded with the message, and not lost with it.
    desk.answer(&other, "done", None);
    assert_eq!(desk.refuse_for(Setback::ItemGone(gone.0)), "input");
    assert!(desk.gave_up());
    assert_eq!(desk.head(), head);
    desk.told();
    // A list that was read before does not bring it back; the other one is taken.
    desk.tell(Event::Arrived(vec![gone]));
    assert_eq!(desk.append(), "output");
    desk.told();
    let (asked, kinds) = desk.ask(FIRST);
    assert!(format!("{:?}", asked.request.context).contains("stays"));
    assert_eq!(kinds, "input invocation_started");
    desk.answer(&asked, "done", None);
    assert_eq!(desk.append(), "output");
    assert!(desk.rests());
}

#[test]
fn a_window_that_is_too_small_ends_the_turn() {
    let mut desk = Desk::with(&[("small", 900)]);
    desk.say(FIRST, &"far too much ".repeat(1_000));
    desk.gather(FIRST).unwrap_err();
    assert_eq!(desk.append(), "input");
    desk.told();
    assert_eq!(desk.append(), "turn_ended");
    assert!(desk.rests());
}

#[test]
fn a_window_that_is_too_small_is_followed_by_a_larger_one() {
    let mut desk = Desk::with(&[("small", 900), ("large", 100_000)]);
    desk.say(FIRST, &"far too much ".repeat(1_000));
    desk.gather(FIRST).unwrap_err();
    assert!(!desk.appends());
    desk.gather(FIRST).unwrap();
    let asked = desk.prepare(FIRST);
    assert_eq!(&*asked.request.target.name, "large");
    assert_eq!(desk.append(), "input invocation_started");
}

#[test]
fn an_agent_that_leaves_is_not_asked_for_a_recap() {
    for leaves_first in [true, false] {
        let mut desk = Desk::new();
        let leave = (FIRST, Mode::Queue, Body::Command(Command::Leave));
        let recap = Command::Recap { hints: Vec::new() };
        let recap = (FIRST, Mode::Queue, Body::Command(recap));
        desk.items(if leaves_first { [leave, recap] } else { [recap, leave] });
        assert_eq!(desk.append(), "agent_left note");
        assert!(desk.rests());
    }
}

#[test]
fn a_recap_is_written_for_one_agent_whoever_becomes_the_primary_one() {
    let mut desk = Desk::new();
    let recap = Command::Recap { hints: Vec::new() };
    desk.item(None, Mode::Queue, Body::Command(recap));
    assert_eq!(desk.recaps(), [FIRST]);
    let joined = AgentJoined { primary: true, ..joined("second") };
    desk.item(SECOND, Mode::Queue, Body::Command(Command::Join(joined)));
    // The item still waits, and is heard of again.
    desk.say(SECOND, "hello");
    let (_, kinds) = desk.ask(SECOND);
    assert_eq!(kinds, "agent_joined input invocation_started");
    assert_eq!(desk.recaps(), [FIRST]);
}

#[test]
fn a_cancel_is_for_whom_it_was_when_it_came() {
    let mut desk = Desk::new();
    desk.say(FIRST, "go");
    let (asked, _) = desk.ask(FIRST);
    desk.answer(&asked, "{}", Some("look"));
    desk.append();
    let call = desk.runs().unwrap().call;
    desk.told();
    desk.item(None, Mode::Queue, Body::Cancel);
    // Another one is the primary agent by the time the call has stopped.
    let joined = AgentJoined { primary: true, ..joined("second") };
    desk.item(SECOND, Mode::Queue, Body::Command(Command::Join(joined)));
    assert_eq!(desk.append(), "agent_joined");
    desk.told();
    desk.ran(call);
    assert_eq!(desk.append(), "tool_finished tool_results turn_ended");
    assert!(desk.rests());
}

#[test]
fn a_rewind_finds_what_came_before_it_durable_and_nothing_under_way() {
    let mut desk = Desk::new();
    let to = Seq(desk.head());
    let rewind = Body::Command(Command::Rewind { to });
    let input = Body::Input(Input::from_person("go"));
    desk.items([(FIRST, Mode::Queue, input), (FIRST, Mode::Queue, rewind)]);
    assert_eq!(desk.append(), "input");
    assert!(desk.fetches_past());
}
