//! What watchers receive.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use threadline_core::clock::Clock as _;
use threadline_core::drive::Notice;
use threadline_core::history::fact::Note;
use threadline_core::history::{Proposal, Stamp};
use threadline_core::id::{AgentId, Seq};
use threadline_core::provider::Delta;
use threadline_core::store::{Attendance, StoreError, append, open};
use threadline_core::tokens::Estimator;
use threadline_runtime::{News, WatchError, Watcher};
use threadline_testing::ids::SeededIds;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::house::{House, house};

#[tokio::test]
async fn a_watcher_gets_every_entry_once_whenever_it_comes() {
    let house = house("turn else\n say Hello there.").await;
    let mut early = house.runtime.watch(house.id, Seq::ZERO);
    house.say("k1", "one").await;
    let mut middle = house.runtime.watch(house.id, Seq(3));
    house.say("k2", "two").await;
    for (watcher, from) in [(&mut early, 1), (&mut middle, 4)] {
        let mut seqs = Vec::new();
        while watcher.last() < Seq(8) {
            if let News::Notice(Notice::Entry(entry)) = watcher.next().await.unwrap() {
                seqs.push(entry.seq.0);
            }
        }
        assert_eq!(seqs, (from..=8).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn a_watcher_sees_an_answer_as_it_comes() {
    let house = house("turn\n say Hel\n wait 1\n say lo.").await;
    let mut watcher = house.runtime.watch(house.id, Seq::ZERO);
    let watched = async {
        let mut told = String::new();
        while watcher.last() < Seq(5) {
            match watcher.next().await.unwrap() {
                News::Notice(Notice::Delta { delta: Delta::Fragment { text, .. }, .. }) => {
                    told += &text;
                }
                News::Notice(Notice::State { from, to, .. }) => {
                    write!(told, "[{from} > {to}]").unwrap();
                }
                News::Notice(Notice::Entry(_) | Notice::Delta { .. } | Notice::Stalled(_))
                | News::Progress { .. } => {}
            }
        }
        told
    };
    let (told, _) = tokio::join!(watched, house.say("k1", "one"));
    assert_eq!(told, "[WaitingInput > PendingInput]Hello.");
}

#[tokio::test]
async fn a_slow_watcher_is_cut_off_and_can_go_on_where_it_was() {
    let says = " say word\n wait 0\n".repeat(2_000);
    let house = house(&format!("turn\n{says}")).await;
    let mut watcher = house.runtime.watch(house.id, Seq::ZERO);
    house.say("k1", "one").await;
    let last = loop {
        match watcher.next().await {
            Ok(_) => {}
            Err(WatchError::CutOff(cut)) => break cut.0,
            Err(error) => panic!("{error}"),
        }
    };
    let mut again = house.runtime.watch(house.id, last);
    while again.last() < Seq(5) {
        again.next().await.unwrap();
    }
}

/// Another process appends a note; gives its entry.
async fn elsewhere(house: &House) -> Seq {
    let store = &*house.store;
    let lease = loop {
        match store.claim(house.id, 1_000, Attendance::Attended).await {
            Ok(lease) => break lease,
            Err(StoreError::Held { .. }) => tokio::task::yield_now().await,
            Err(error) => panic!("{error}"),
        }
    };
    let (_, history) = open(store, house.id, &Estimator).await.unwrap();
    let note = Note { category: "test".into(), text: "elsewhere".into() };
    let note = Proposal::new(AgentId::CONVERSATION, note, &Estimator);
    let (at, ids) = (house.clock.now(), SeededIds::new(99));
    let stamp = Stamp { at, ids: &ids, counter: &Estimator };
    let proposed = history.propose([note], stamp).unwrap();
    let head = append(store, &lease, proposed).await.unwrap().head();
    store.release(&lease).await.unwrap();
    head
}

/// The entries that a watcher gives up to one.
async fn entries(watcher: &mut Watcher, last: Seq) -> Vec<Seq> {
    let mut seqs = Vec::new();
    while watcher.last() < last {
        if let News::Notice(Notice::Entry(entry)) = watcher.next().await.unwrap() {
            seqs.push(entry.seq);
        }
    }
    seqs
}

#[tokio::test]
async fn a_watcher_that_looks_sees_what_other_processes_write() {
    let house = house("turn else\n say Hello there.").await;
    house.say("k1", "one").await;
    let head = house.store.conversation(house.id).await.unwrap().head;
    let watcher = house.runtime.watch(house.id, head);
    let mut watcher = watcher.looking();
    let note = elsewhere(&house).await;
    assert_eq!(entries(&mut watcher, note).await, [note]);
}

#[tokio::test]
async fn a_watcher_of_this_process_alone_leaves_out_what_others_write() {
    let house = house("turn else\n say Hello there.").await;
    house.say("k1", "one").await;
    let head = house.store.conversation(house.id).await.unwrap().head;
    let (mut all, mut own) =
        (house.runtime.watch(house.id, head), house.runtime.watch(house.id, head).here());
    // It has met the end of what is stored.
    assert!(timeout(Duration::from_millis(20), own.next()).await.is_err());
    let note = elsewhere(&house).await;
    house.say("k2", "two").await;
    let last = house.store.conversation(house.id).await.unwrap().head;
    let given = entries(&mut own, last).await;
    assert_eq!(given.first(), Some(&note.next()));
    let mut with_note = entries(&mut all, last).await;
    with_note.retain(|seq| *seq != note);
    assert_eq!(with_note, given);
}

/// A watcher that also reads the store may read an answer before it has received its deltas.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_delta_comes_after_the_entry_of_its_answer() {
    let says = " say word\n".repeat(40);
    let house = house(&format!("turn else\n{says}")).await;
    for round in 0..30 {
        let head = house.store.conversation(house.id).await.unwrap().head;
        let mut watcher = house.runtime.watch(house.id, head).looking();
        let key = format!("k{round}");
        let say = house.say(&key, "one");
        let watch = async {
            let (mut deltas, mut ended) = (0, None);
            loop {
                match watcher.next().await.unwrap() {
                    News::Notice(Notice::Delta { started, .. }) => {
                        assert!(ended.is_none() && started <= watcher.last());
                        deltas += 1;
                    }
                    News::Notice(Notice::Entry(entry)) => {
                        ended = ended.or(entry.ends_invocation());
                        if ended.is_some() {
                            break;
                        }
                    }
                    News::Notice(Notice::State { .. } | Notice::Stalled(_))
                    | News::Progress { .. } => {}
                }
            }
            while let Ok(news) = timeout(Duration::from_millis(2), watcher.next()).await {
                assert!(!matches!(news.unwrap(), News::Notice(Notice::Delta { .. })), "{round}");
            }
            deltas
        };
        let (_, deltas) = tokio::join!(say, watch);
        assert!(deltas >= 40, "all of the answer came as deltas: {deltas}");
    }
}

#[tokio::test]
async fn watchers_end_when_the_runtime_stops() {
    let house = house("turn else\n say Hello there.").await;
    let mut watcher = house.runtime.watch(house.id, Seq::ZERO);
    house.say("k1", "one").await;
    house.runtime.stop().await;
    let mut later = house.runtime.watch(house.id, Seq::ZERO);
    for watcher in [&mut watcher, &mut later] {
        let end = async {
            loop {
                match watcher.next().await {
                    Ok(_) => {}
                    Err(error) => break error,
                }
            }
        };
        let end = timeout(Duration::from_secs(10), end).await.expect("it ends");
        assert!(matches!(end, WatchError::Stopped), "{end}");
        assert_eq!(watcher.last(), Seq(5), "after everything that is stored");
    }
}

/// A watcher that starts while the runtime drops the state of an idle conversation sees the next turn.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watcher_that_comes_while_a_conversation_is_forgotten_misses_nothing() {
    let house = Arc::new(house("turn else\n say Hello there.").await);
    for round in 0..100 {
        let mut forgetting = JoinSet::new();
        let resting = Arc::clone(&house);
        forgetting.spawn(async move { resting.rest().await });
        let mut watcher = house.runtime.watch(house.id, Seq::ZERO);
        forgetting.join_all().await;
        house.say(&format!("k{round}"), "one").await;
        let last = house.store.conversation(house.id).await.unwrap().head;
        let seen = timeout(Duration::from_secs(10), entries(&mut watcher, last)).await;
        assert!(seen.is_ok(), "round {round}");
    }
}
