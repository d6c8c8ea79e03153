//! What goes in at once, past the inbox.

use threadline_core::clock::Timestamp;
use threadline_core::drive::{Event, Setback};
use threadline_core::history::fact::Input;
use threadline_core::inbox::{Body, CLIENT_KEY_CAP_BYTES, Item, ItemNumber, Mode};

use super::desk::{Answered, Desk, FIRST, SECOND};

fn said(key: &str) -> Item {
    let body = Body::Input(Input::from_person("go"));
    Item { client_key: key.into(), to: Some(FIRST), mode: Mode::Queue, due: None, body }
}

/// The answer to an offer.
fn offered(desk: &mut Desk, item: Item) -> Option<Answered> {
    desk.tell(Event::Offered(item));
    desk.answered()
}

#[test]
fn it_shares_the_batch_of_the_invocation_that_follows() {
    let mut desk = Desk::new();
    let seq = desk.head() + 1;
    assert_eq!(offered(&mut desk, said("a")), Some(Answered::Accepted(seq)));
    let (asked, kinds) = desk.ask(FIRST);
    assert_eq!(kinds, "input invocation_started");
    assert!(desk.history_has_key(seq, "a"));
    desk.answer(&asked, "done", None);
    assert_eq!(desk.append(), "output");
    assert!(desk.rests());
    assert_eq!(desk.answered(), None);
}

#[test]
fn what_does_not_fit_is_declined_and_nothing_moves() {
    let declined = Some(Answered::Declined);
    let long = "k".repeat(CLIENT_KEY_CAP_BYTES + 1);
    let nothing = Body::Input(Input::from_person(""));
    for item in [
        Item { due: Some(Timestamp::from_micros(1)), ..said("a") },
        Item { body: Body::Cancel, ..said("a") },
        Item { to: Some(threadline_core::id::AgentId(99)), ..said("a") },
        Item { body: nothing, ..said("a") },
        said(&long),
    ] {
        let mut desk = Desk::new();
        assert_eq!(offered(&mut desk, item.clone()), declined, "{item:?}");
        assert!(desk.rests() && !desk.appends(), "{item:?}");
    }
}

#[test]
fn it_is_declined_while_anything_is_under_way_for_any_agent() {
    let declined = Some(Answered::Declined);
    for busy in [FIRST, SECOND] {
        let mut desk = Desk::new();
        desk.say(busy, "wait");
        assert_eq!(offered(&mut desk, said("a")), declined);
        let (asked, _) = desk.ask(busy);
        assert_eq!(offered(&mut desk, said("a")), declined);
        desk.answer(&asked, "done", None);
        assert_eq!(offered(&mut desk, said("a")), declined, "its answer is not durable");
        desk.append();
        assert!(matches!(offered(&mut desk, said("a")), Some(Answered::Accepted(_))));
    }
}

/// The same may have been put into the inbox by whoever had no answer.
#[test]
fn it_goes_in_once_though_it_waits_in_the_inbox_too() {
    for when in 0..3 {
        let mut desk = Desk::new();
        let arrives = |desk: &mut Desk, now| {
            if when == now {
                desk.tell(Event::Arrived(vec![(ItemNumber(7), said("a"))]));
            }
        };
        offered(&mut desk, said("a"));
        arrives(&mut desk, 0);
        let (asked, kinds) = desk.ask(FIRST);
        assert_eq!(kinds, "input invocation_started");
        arrives(&mut desk, 1);
        desk.answer(&asked, "done", None);
        assert_eq!(desk.append(), "output");
        arrives(&mut desk, 2);
        assert!(desk.rests() && !desk.appends());
    }
}

/// As when its key was used before: whoever said it hears so from the inbox, and all goes on.
#[test]
fn what_the_store_refuses_takes_only_what_followed_from_it_along() {
    let mut desk = Desk::new();
    let head = desk.head();
    offered(&mut desk, said("a"));
    desk.gather(FIRST).unwrap();
    // What comes in the meantime shares its sheet, and is not lost with it.
    desk.say(SECOND, "hello");
    desk.item(FIRST, Mode::Queue, Body::Cancel);
    assert!(desk.gave_up());
    assert_eq!(desk.refuse(), "input input");
    assert!(desk.gave_up());
    desk.told();
    assert_eq!(desk.answered(), Some(Answered::Withdrawn));
    assert_eq!(desk.head(), head);
    // The cancel has nothing to stop any more.
    let (asked, kinds) = desk.ask(SECOND);
    assert_eq!(kinds, "input note invocation_started");
    desk.answer(&asked, "done", None);
    desk.append();
    assert!(desk.rests());
    assert!(matches!(offered(&mut desk, said("b")), Some(Answered::Accepted(_))));
}

#[test]
fn an_append_whose_answer_is_lost_is_made_again_with_it() {
    let mut desk = Desk::new();
    offered(&mut desk, said("a"));
    desk.gather(FIRST).unwrap();
    desk.prepare(FIRST);
    desk.store();
    desk.tell(Event::NotAppended(Setback::AnswerLost("lost".to_owned())));
    desk.told();
    desk.wake();
    assert_eq!(desk.append(), "input invocation_started");
    assert_eq!(desk.answered(), None, "it is neither declined nor withdrawn");
}
