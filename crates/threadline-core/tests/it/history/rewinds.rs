//! Rewinds, forks and copies: the path goes back, the ledger does not, and nothing stays open.

use threadline_core::clock::Timestamp;
use threadline_core::history::batch::State;
use threadline_core::history::fact::{Digest, Fact, Money};
use threadline_core::history::path::Path;
use threadline_core::history::state::PathState;
use threadline_core::history::{Aftermath, Counts, History, Stamp};
use threadline_core::id::{ConversationId, Seq};
use threadline_core::tokens::Estimator;
use threadline_testing::generator::{Generator, GeneratorOptions};
use threadline_testing::ids::SeededIds;
use uuid::Uuid;

use super::{agent, rewinds, since, story};

const ANSWERED: &str = "
@ a joins primary
user: one
a {\"cost\":5,\"usage\":{\"input\":7}}: first
described: A title
user: two
a {\"cost\":3}: second
policy shell deny
pin 2
";

#[test]
fn a_rewind_takes_back_the_path_and_keeps_the_ledger() {
    let mut told = story(ANSWERED);
    let before = told.history().clone();
    told.tell("rewind 3").unwrap();
    let history = told.history();
    assert_eq!(history.state(), told.history_at(Seq(3)).unwrap().state());
    assert_eq!(history.ledger(), before.ledger());
    assert_eq!((history.sums().messages, history.sums().title), (2, None));
    assert_eq!((history.sums().cost, history.ledger().policies.len()), (Money(8), 1));
    assert!(history.state().pins.is_empty());
    assert_eq!(before.sums().title.as_deref(), Some("A title"));
}

#[test]
fn a_rewind_to_the_beginning_leaves_nobody() {
    let mut told = story(ANSWERED);
    told.tell("rewind 0").unwrap();
    assert_eq!(told.history().state(), &PathState::default());
    told.tell("@ a joins primary\nuser: again").unwrap();
    assert_eq!(told.history().sums().messages, 1);
}

#[test]
fn rewind_rewind_again_and_undo() {
    let mut told = story(ANSWERED);
    let runs = |told: &super::Story| {
        let path = Path::new(told.history().head(), &rewinds(told));
        path.runs().iter().map(|(from, to)| (from.0, to.0)).collect::<Vec<_>>()
    };
    told.tell("rewind 6\nuser: three\na: third").unwrap();
    assert_eq!(runs(&told), [(1, 6), (9, 11)]);
    assert_eq!(told.history().sums().last_message.unwrap().text, "third");
    told.tell("rewind 4").unwrap();
    assert_eq!(runs(&told), [(1, 4), (12, 12)]);
    assert_eq!(told.history().state(), told.history_at(Seq(4)).unwrap().state());
    // The second is undone: what the first led to is there again.
    told.tell("rewind 11").unwrap();
    assert_eq!(runs(&told), [(1, 6), (9, 11), (13, 13)]);
    assert_eq!(told.history().state(), told.history_at(Seq(11)).unwrap().state());
    // And the first: what it had left.
    told.tell("rewind 8\nuser: four").unwrap();
    assert_eq!(runs(&told), [(1, 8), (14, 15)]);
    assert_eq!(told.history().sums().messages, 5);
    assert!(told.history().state().pins.contains(&Seq(2)));
}

/// An output with a call in every stage: finished, started once, started read, unstarted.
const CALLING: &str = "
@ a joins primary
user: do it all
a: → done {} | once {} | read {} | fresh {}
done c3.0 starts once
done c3.0 ok: it is done
once c3.1 starts once
read c3.2 starts read
";

#[test]
fn what_was_open_is_settled_as_what_is_known_of_it() {
    let mut told = story(CALLING);
    told.tell("rewind 7").unwrap();
    insta::assert_snapshot!(since(&told, 8), @"
    rewind 7
    ~ once c3.1 unknown: started, outcome unknown: the conversation was taken back before it answered, and it may have taken effect
    ~ read c3.2 failed: no answer: the conversation was taken back while it ran
    ~ fresh c3.3 skipped: not started: the conversation was taken back before it ran
    ~ a results
    ~ a ends withdrawn
    ");
    assert_eq!(told.history().state().state(), State::Resting);
    // Nothing runs by itself, and the next turn begins as any.
    told.tell("user: and now?\na: now I rest").unwrap();
}

#[test]
fn effects_are_not_rewound() {
    // At entry 3 nothing had started; what started and ended later is known all the same.
    let mut told = story(CALLING);
    told.tell("rewind 3").unwrap();
    insta::assert_snapshot!(since(&told, 8), @"
    rewind 3
    ~ done c3.0 ok: it is done
    ~ once c3.1 unknown: started, outcome unknown: the conversation was taken back before it answered, and it may have taken effect
    ~ read c3.2 failed: no answer: the conversation was taken back while it ran
    ~ fresh c3.3 skipped: not started: the conversation was taken back before it ran
    ~ a results
    ~ a ends withdrawn
    ");
}

/// Entry 8 is the first rewind itself: there the calls are taken back and not settled yet.
#[test]
fn a_rewind_into_what_another_rewind_settled_settles_it_the_same_way() {
    let mut told = story(CALLING);
    told.tell("rewind 3\nrewind 8").unwrap();
    insta::assert_snapshot!(since(&told, 15), @"
    rewind 8
    ~ done c3.0 ok: it is done
    ~ once c3.1 unknown: started, outcome unknown: the conversation was taken back before it answered, and it may have taken effect
    ~ read c3.2 failed: no answer: the conversation was taken back while it ran
    ~ fresh c3.3 skipped: not started: the conversation was taken back before it ran
    ~ a results
    ~ a ends withdrawn
    ");
}

#[test]
fn what_ended_after_a_rewind_counts_for_its_own_branch_only() {
    // The first rewind ends the calls; going back to the branch it left, they are still open there.
    let mut told = story(CALLING);
    told.tell("rewind 2\nuser: never mind\na: good\nrewind 5").unwrap();
    insta::assert_snapshot!(since(&told, 8), @r#"
    rewind 2
    ~ a ends withdrawn
    user: never mind
    a: good
    rewind 5
    ~ once c3.1 unknown: started, outcome unknown: the conversation was taken back before it answered, and it may have taken effect
    ~ read c3.2 failed: no answer: the conversation was taken back while it ran
    ~ fresh c3.3 skipped: not started: the conversation was taken back before it ran
    ~ a results {"output":3,"results":[5,13,14,15]}
    ~ a ends withdrawn
    "#);
}

#[test]
fn a_rewind_ends_the_turns_of_all() {
    let mut told = story(
        "
@ a joins primary
@ b joins
user: do it
a: → call_agent {}
a c4.0 calls b
a c4.0 to b: it
b asks
",
    );
    assert_eq!(told.history().state().state(), State::Working);
    told.tell("rewind 7").unwrap();
    insta::assert_snapshot!(since(&told, 8), @"
    rewind 7
    ~ call_agent c4.0 skipped: not answered: the conversation was taken back while it waited
    ~ a results
    ~ a ends withdrawn
    ~ b ends withdrawn
    ");
    assert_eq!(agent(&told, 2).invoking, None);
}

#[test]
fn a_rewind_forgets_an_invocation_beside_turns() {
    let mut told = story("@ a joins\nuser: hello\na: hello\na asks for title");
    assert_eq!(agent(&told, 1).invoking_aside, Some(Seq(4)));
    told.tell("rewind 4").unwrap();
    assert_eq!(agent(&told, 1).invoking_aside, None);
}

#[test]
fn a_rewind_into_a_turn_without_calls_ends_it() {
    let mut told = story("@ a joins\nuser: hello\na asks\na: hello");
    told.tell("rewind 3").unwrap();
    insta::assert_snapshot!(since(&told, 5), @"
    rewind 3
    ~ a ends withdrawn
    ");
}

#[test]
fn a_fork_settles_what_was_open() {
    let mut told = story(CALLING);
    told.tell("fork 018bcfe5-6800-7000-8000-000000000000").unwrap();
    insta::assert_snapshot!(since(&told, 8), @"
    fork 018bcfe5-6800-7000-8000-000000000000
    ~ once c3.1 unknown: started, outcome unknown: the conversation was taken back before it answered, and it may have taken effect
    ~ read c3.2 failed: no answer: the conversation was taken back while it ran
    ~ fresh c3.3 skipped: not started: the conversation was taken back before it ran
    ~ a results
    ~ a ends withdrawn
    ");
    let (from, seq) = told.history().state().forked_from.unwrap();
    assert_eq!((from.to_string().as_str(), seq), ("018bcfe5-6800-7000-8000-000000000000", Seq(7)));
}

#[test]
fn a_copy_settles_what_was_open_before_it_goes_on() {
    let mut told = story(CALLING);
    told.tell("copy\nuser: go on here").unwrap();
    insta::assert_snapshot!(since(&told, 8), @"
    once c3.1 unknown: started, outcome unknown: the conversation was taken back before it answered, and it may have taken effect
    read c3.2 failed: no answer: the conversation was taken back while it ran
    fresh c3.3 skipped: not started: the conversation was taken back before it ran
    a results
    a ends withdrawn
    user: go on here
    ");
    assert!(!told.history().is_copy());
    told.tell("a: as you wish").unwrap();
}

#[test]
fn a_copy_without_anything_open_just_goes_on() {
    let mut told = story("@ a joins\nuser: hello\na: hello");
    told.tell("copy\nuser: go on here").unwrap();
    assert_eq!(told.history().head(), Seq(4));
}

#[test]
fn timers_that_calls_wait_for_go_with_them() {
    let mut told = story("@ a joins\nuser: wait\na: → wait {}\na timer +1h c3.0: done");
    assert_eq!(told.history().state().timers.len(), 1);
    told.tell("rewind 4").unwrap();
    assert!(told.history().state().timers.is_empty());
    assert_eq!(told.history().sums().wake_at, None);
}

#[test]
fn a_history_knows_what_is_on_its_path() {
    for seed in 0..6 {
        let options = GeneratorOptions { rewinds_percent: 30, ..GeneratorOptions::mixed(seed, 2) };
        let mut generator = Generator::new(options);
        let mut rewinds: Vec<(Seq, Seq)> = Vec::new();
        while generator.history().head().0 < 300 {
            let batch = generator.next_batch().unwrap().batch;
            rewinds.extend(batch.entries.iter().filter_map(|placed| match &placed.entry.fact {
                Fact::Rewound(rewound) => Some((placed.entry.seq, rewound.to)),
                _ => None,
            }));
            let history = generator.history();
            let path = Path::new(history.head(), &rewinds);
            for seq in (0..=history.head().0 + 2).map(Seq) {
                assert_eq!(history.counts(seq), path.contains(seq), "{seq} of {rewinds:?}");
            }
            let kept = History::from_snapshot(&history.to_snapshot()).unwrap();
            assert_eq!(&kept, history);
        }
        assert!(rewinds.len() > 3, "{rewinds:?}");
    }
}

#[test]
fn a_timer_does_not_come_back_after_its_time() {
    let mut told = story("@ a joins\nuser: go\na timer +5m: once\na timer +5m every 1h: again");
    told.tell("a timer +3h: later\na: set\n+ 10m\ntimer 3 to a: once\na: yes").unwrap();
    let later = told.history().state().timers[&Seq(5)].set.when;
    let now = told.entries().last().unwrap().at;
    let whens = |history: &History| {
        let timers = history.state().timers.iter();
        timers.map(|(set, timer)| (set.0, timer.set.when > now)).collect::<Vec<_>>()
    };
    assert_eq!(whens(told.history()), [(4, false), (5, true)], "one fired, one is due");
    told.tell("rewind 6").unwrap();
    assert_eq!(whens(told.history()), [(4, true), (5, true)]);
    assert_eq!(told.history().state().timers[&Seq(5)].set.when, later);
}

#[test]
fn what_a_copy_takes_back_is_on_record() {
    let sent = "@ a joins\n@ b joins\nuser: go\na: → call_agent {}\na c4.0 sends b\n\
        a c4.0 to b: help\ncall_agent c4.0 ok: sent\na results\nb: a rose\n";
    for more in ["", "a: sent"] {
        let mut told = story(&format!("{sent}{more}"));
        assert_eq!(told.history().state().replies.len(), 1);
        told.tell("copy\nnote n: goes on").unwrap();
        let mut folded = History::default();
        for entry in told.entries() {
            let counts = Counts::of(&entry.fact, &Estimator);
            folded.apply(entry, Digest([0; 32]), counts).unwrap();
        }
        assert_eq!(folded.state(), told.history().state());
        // Whoever rests gets the answer; a turn that is taken back gets none.
        assert_eq!(folded.state().replies.len(), usize::from(!more.is_empty()));
    }
}

/// Pending timers fire in the parent, and only there.
#[test]
fn a_fork_leaves_pending_timers_with_its_parent() {
    let told = story("@ a joins\na timer 2026-03-04T10:15:00Z: water the plants");
    assert_eq!(told.history().state().timers.len(), 1);
    let ids = SeededIds::new(1);
    let stamp = Stamp { at: Timestamp::default(), ids: &ids, counter: &Estimator };
    let from = ConversationId(Uuid::nil());
    let forked = told.history().propose_fork(from, &Aftermath::default(), stamp).unwrap();
    assert!(forked.history.state().timers.is_empty());
    assert_eq!(forked.batch.sums.wake_at, None);
}
