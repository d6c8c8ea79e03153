//! What watchers receive.

use std::fmt::Write as _;

use threadline_core::drive::Notice;
use threadline_core::id::Seq;
use threadline_core::provider::Delta;
use threadline_runtime::{News, WatchError};

use crate::house::house;

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
