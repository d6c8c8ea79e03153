//! Reading records: pages, threads and single places.

use threadline_core::history::fact::Input;
use threadline_core::history::record::{BODY_CAP_BYTES, Record};
use threadline_core::history::sections::{Section, Shorter};
use threadline_core::id::{AgentId, Seq};
use threadline_core::store::{PAGE_CAP_BYTES, Page, StoreError};

use super::facts::{ADA, BOB, answered, joins, said};
use super::story::{Story, read_all};
use super::{Case, World};

cases![
    pages_do_not_depend_on_their_size,
    pages_of_a_thread_hold_its_entries_only,
    pages_begin_where_they_are_asked_to,
    a_page_has_at_most_so_many_bytes,
    an_entry_larger_than_a_page_is_a_page,
    records_come_in_the_order_asked_for,
];

const NONE: [u64; 0] = [];

/// Two agents that speak in turns, with rewinds between.
async fn two_threads(world: &World) -> Story<'_> {
    let mut story = Story::begin(world, &world.open().await).await;
    story.append([joins(BOB, "bob")]).await;
    for n in 0..6 {
        story.turn(&format!("ada {n}"), "yes").await;
        story.append([said(BOB, &format!("bob {n}")), answered(BOB, "no")]).await;
        if n % 3 == 2 {
            story.rewind(Seq(story.history.head().0 - 2)).await;
        }
    }
    story
}

fn seqs(records: &[Record]) -> Vec<u64> {
    records.iter().map(|record| record.open().unwrap().seq.0).collect()
}

async fn pages_do_not_depend_on_their_size(world: &World) {
    let story = two_threads(world).await;
    let all = story.records(1000).await;
    assert_eq!(u64::try_from(all.len()).unwrap(), story.history.head().0);
    let mut reversed = all.clone();
    reversed.reverse();
    for most in [1, 2, 3, 7, 64] {
        assert_eq!(story.records(most).await, all, "forward, {most} at a time");
        let page = Page::backward(story.history.head(), most);
        let backward = read_all(&*story.store, story.id, page).await;
        assert_eq!(backward, reversed, "backward, {most} at a time");
    }
}

async fn pages_of_a_thread_hold_its_entries_only(world: &World) {
    let story = two_threads(world).await;
    let all = story.records(1000).await;
    for thread in [AgentId::CONVERSATION, ADA, BOB] {
        let of_thread = |record: &&Record| record.open().unwrap().agent == thread;
        let mut expected: Vec<Record> = all.iter().filter(of_thread).cloned().collect();
        assert!(!expected.is_empty());
        for most in [1, 2, 5, 1000] {
            let page = Page::forward(Seq(1), most).of(thread);
            assert_eq!(read_all(&*story.store, story.id, page).await, expected);
        }
        expected.reverse();
        for most in [1, 3, 1000] {
            let page = Page::backward(story.history.head(), most).of(thread);
            assert_eq!(read_all(&*story.store, story.id, page).await, expected);
        }
    }
    let page = Page::forward(Seq(1), 10).of(AgentId(77));
    assert!(story.store.read(story.id, &page).await.unwrap().is_empty());
}

async fn pages_begin_where_they_are_asked_to(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    story.turn("hello", "hi").await;
    let read = async |page: Page| seqs(&story.store.read(story.id, &page).await.unwrap());
    assert_eq!(read(Page::forward(Seq(2), 2)).await, [2, 3]);
    assert_eq!(read(Page::forward(Seq(4), 9)).await, [4]);
    assert_eq!(read(Page::forward(Seq::ZERO, 2)).await, [1, 2]);
    assert_eq!(read(Page::forward(Seq(5), 9)).await, NONE);
    assert_eq!(read(Page::forward(Seq(u64::MAX), 9)).await, NONE);
    assert_eq!(read(Page::backward(Seq(3), 2)).await, [3, 2]);
    assert_eq!(read(Page::backward(Seq(u64::MAX), 2)).await, [4, 3]);
    assert_eq!(read(Page::backward(Seq::ZERO, 9)).await, NONE);
    assert_eq!(read(Page::forward(Seq(1), 0)).await, NONE);
    // Where the thread has no entry, the page begins at its next.
    assert_eq!(read(Page::forward(Seq::ZERO, 1).of(ADA)).await, [1]);
    assert_eq!(read(Page::forward(Seq(1), 9).of(AgentId::CONVERSATION)).await, NONE);
}

async fn a_page_has_at_most_so_many_bytes(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    let long = "long ".repeat(60 * 1024);
    for _ in 0..8 {
        story.append([said(ADA, &long)]).await;
    }
    let mut seen = 0;
    let mut from = Seq(1);
    loop {
        let page = story.store.read(story.id, &Page::forward(from, 1000)).await.unwrap();
        if page.is_empty() {
            break;
        }
        let bytes: usize = page.iter().map(Record::size).sum();
        assert!(bytes <= PAGE_CAP_BYTES, "{bytes} bytes in a page");
        seen += page.len();
        from = from.plus(u64::try_from(page.len()).unwrap());
    }
    assert_eq!(seen, 10);
    let page = Page::backward(story.history.head(), 1000);
    assert_eq!(read_all(&*story.store, story.id, page).await.len(), 10);
}

async fn an_entry_larger_than_a_page_is_a_page(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    let input = |length: usize| {
        let (text, same) = ("x".repeat(length).into(), Shorter::Same);
        let section = Section { title: None, text, recent: same.clone(), gist: same };
        (ADA, Input { sections: vec![section], ..Input::from_person("") }.into())
    };
    let overhead = story.propose([input(1)]).batch.entries[0].record.body.len() - 1;
    story.append([input(BODY_CAP_BYTES - overhead)]).await;
    story.append([said(ADA, "short")]).await;
    let page = story.store.read(story.id, &Page::forward(Seq(3), 9)).await.unwrap();
    assert_eq!(seqs(&page), [3]);
    assert!(page[0].size() > PAGE_CAP_BYTES);
    assert_eq!(seqs(&story.records(1000).await), [1, 2, 3, 4]);
}

async fn records_come_in_the_order_asked_for(world: &World) {
    let story = two_threads(world).await;
    let all = story.records(1000).await;
    let asked = [Seq(9), Seq(2), Seq(2), Seq(14), Seq(1)];
    let found = story.store.records(story.id, &asked).await.unwrap();
    assert_eq!(seqs(&found), [9, 2, 2, 14, 1]);
    assert_eq!(found[0], all[8]);
    assert!(story.store.records(story.id, &[]).await.unwrap().is_empty());
    let head = story.history.head();
    for missing in [Seq::ZERO, head.next(), Seq(u64::MAX)] {
        let asked = [Seq(1), missing];
        let refused = story.store.records(story.id, &asked).await;
        let Err(StoreError::NoEntry { seq, head: last, .. }) = refused else {
            unreachable!("expected that there is no entry: {refused:?}")
        };
        assert_eq!((seq, last), (missing, head));
    }
}
