//! Search: words and phrases, in any script, rewound or not.

use std::sync::Arc;

use threadline_core::id::{AgentId, ConversationId, Seq};
use threadline_core::search::{checksum, terms, text_of};
use threadline_core::store::{Hit, Query, Storage, StoreError};

use super::facts::{ADA, BOB, answered, described, joins, said};
use super::story::Story;
use super::{Case, ENDLESS, World};

cases![
    words_are_found_whatever_their_case,
    two_characters_of_chinese_are_a_word,
    phrases_stand_next_to_each_other,
    one_conversation_or_one_agent_can_be_searched,
    the_newest_come_first_page_by_page,
    what_was_rewound_is_found_and_marked,
    forks_share_what_they_find,
    what_was_just_appended_is_found_after_a_restart_too,
    a_query_that_says_nothing_finds_nothing,
    the_index_holds_what_the_entries_say,
];

fn query(text: &str) -> Query {
    Query { text: text.to_owned(), conversation: None, agent: None, after: None, most: 100 }
}

async fn find(store: &Arc<dyn Storage>, query: &Query) -> Vec<(ConversationId, u64)> {
    let hits = store.search(query).await.unwrap();
    hits.into_iter().map(|hit| (hit.conversation, hit.seq.0)).collect()
}

/// The places in one conversation where a text is found.
async fn places(story: &Story<'_>, text: &str) -> Vec<u64> {
    let query = Query { conversation: Some(story.id), ..query(text) };
    find(&story.store, &query).await.into_iter().map(|(_, seq)| seq).collect()
}

async fn words_are_found_whatever_their_case(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    story.turn("Where is MAIN.rs?", "In src/main.rs, line ÉTÉ 42").await;
    story.append([described("A title of Renown", &[], false)]).await;
    assert_eq!(places(&story, "main").await, [4, 3]);
    assert_eq!(places(&story, "where").await, [3]);
    assert_eq!(places(&story, "été").await, [4]);
    assert_eq!(places(&story, "src/main.rs").await, [4]);
    assert_eq!(places(&story, "renown").await, [5]);
    assert_eq!(places(&story, "briefly").await, [2]);
    assert_eq!(places(&story, "42 in").await, [4]);
    // Words are whole, and all of them must be there.
    assert_eq!(places(&story, "mai").await, [0; 0]);
    assert_eq!(places(&story, "where line").await, [0; 0]);
}

async fn two_characters_of_chinese_are_a_word(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    story.turn("今天天气怎么样?", "今天晴，气温二十度。").await;
    assert_eq!(places(&story, "天气").await, [3]);
    assert_eq!(places(&story, "今天").await, [4, 3]);
    assert_eq!(places(&story, "气温").await, [4]);
    assert_eq!(places(&story, "气").await, [4, 3]);
    assert_eq!(places(&story, "天温").await, [0; 0]);
    assert_eq!(places(&story, "今天 二十").await, [4]);
}

async fn phrases_stand_next_to_each_other(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    story.turn("the quick brown fox", "a brown and quick thing, the fox").await;
    assert_eq!(places(&story, "quick brown").await, [4, 3]);
    assert_eq!(places(&story, "\"quick brown\"").await, [3]);
    assert_eq!(places(&story, "\"brown quick\"").await, [0; 0]);
    assert_eq!(places(&story, "\"the fox\" thing").await, [4]);
    // What looks like a query language is only text.
    for odd in ["fox AND", "fox*", "-fox", "fox OR zebra NOT", "NEAR(fox)", "(", "\"fox", "'"] {
        let _hits = story.store.search(&query(odd)).await.unwrap();
    }
}

async fn one_conversation_or_one_agent_can_be_searched(world: &World) {
    let store = world.open().await;
    let (mut one, mut two) = (Story::begin(world, &store).await, Story::begin(world, &store).await);
    one.append([joins(BOB, "bob")]).await;
    one.append([said(ADA, "apples and pears"), said(BOB, "apples only")]).await;
    two.append([said(ADA, "apples too")]).await;
    assert_eq!(find(&store, &query("apples")).await, [(two.id, 3), (one.id, 5), (one.id, 4)]);
    let of = |conversation, agent| Query { conversation, agent, ..query("apples") };
    assert_eq!(find(&store, &of(Some(one.id), None)).await, [(one.id, 5), (one.id, 4)]);
    assert_eq!(find(&store, &of(None, Some(ADA))).await, [(two.id, 3), (one.id, 4)]);
    assert_eq!(find(&store, &of(Some(one.id), Some(BOB))).await, [(one.id, 5)]);
    assert_eq!(find(&store, &of(Some(two.id), Some(BOB))).await, []);
    assert_eq!(find(&store, &of(None, Some(AgentId(9)))).await, []);
    let hits = store.search(&of(Some(one.id), Some(BOB))).await.unwrap();
    assert_eq!(hits, [Hit { conversation: one.id, seq: Seq(5), agent: BOB, rewound: false }]);
    refused!(store.search(&of(Some(world.id()), None)).await, StoreError::NotFound(_));
}

async fn the_newest_come_first_page_by_page(world: &World) {
    let store = world.open().await;
    let mut expected = Vec::new();
    for _ in 0..4 {
        let mut story = Story::begin(world, &store).await;
        for n in 0..5 {
            story.turn(&format!("needle number {n}"), "hay").await;
            expected.push((story.id, story.history.head().0 - 1));
        }
    }
    expected.reverse();
    for most in [1, 2, 3, 7, 100] {
        let mut found: Vec<(ConversationId, u64)> = Vec::new();
        loop {
            let after = found.last().map(|(id, seq)| (*id, Seq(*seq)));
            let page = find(&store, &Query { after, most, ..query("needle") }).await;
            assert!(page.len() <= most && found.len() < ENDLESS);
            if page.is_empty() {
                break;
            }
            found.extend(page);
        }
        assert_eq!(found, expected, "{most} at a time");
    }
    let one = Some(expected[0].0);
    let after = Some((expected[0].0, Seq(expected[2].1)));
    let page = Query { conversation: one, after, most: 1, ..query("needle") };
    assert_eq!(find(&store, &page).await, expected[3..4]);
    assert_eq!(find(&store, &Query { most: 0, ..query("needle") }).await, []);
}

async fn what_was_rewound_is_found_and_marked(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    let one = story.turn("needle one", "yes").await;
    let two = story.turn("needle two", "yes").await;
    let marks = async |story: &Story<'_>| {
        let hits = story.store.search(&query("needle")).await.unwrap();
        hits.into_iter().map(|hit| (hit.seq.0, hit.rewound)).collect::<Vec<_>>()
    };
    assert_eq!(marks(&story).await, [(5, false), (3, false)]);
    story.rewind(one).await;
    assert_eq!(marks(&story).await, [(5, true), (3, false)]);
    story.rewind(Seq(2)).await;
    assert_eq!(marks(&story).await, [(5, true), (3, true)]);
    story.rewind(two).await;
    assert_eq!(marks(&story).await, [(5, false), (3, false)]);
}

async fn forks_share_what_they_find(world: &World) {
    let mut parent = Story::begin(world, &world.open().await).await;
    let at = parent.turn("needle shared", "yes").await;
    parent.turn("needle of the parent", "yes").await;
    let mut fork = parent.fork(at).await;
    fork.turn("needle of the fork", "yes").await;
    assert_eq!(places(&parent, "needle").await, [5, 3]);
    assert_eq!(places(&fork, "needle").await, [6, 3]);
    let all = find(&parent.store, &query("needle")).await;
    assert_eq!(all, [(fork.id, 6), (parent.id, 5), (parent.id, 3)]);
    // Each has its own path.
    parent.rewind(Seq(2)).await;
    let of = |id| Query { conversation: Some(id), ..query("shared") };
    assert!(parent.store.search(&of(parent.id)).await.unwrap()[0].rewound);
    assert!(!parent.store.search(&of(fork.id)).await.unwrap()[0].rewound);
}

async fn what_was_just_appended_is_found_after_a_restart_too(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    for n in 0..10 {
        story.turn(&format!("needle{n}"), "hay").await;
        assert_eq!(places(&story, &format!("needle{n}")).await.len(), 1);
    }
    assert_eq!(lag(&story).await, 0);
    story.turn("a late needle", "hay").await;
    let story = story.reopen().await;
    assert_eq!(places(&story, "late needle").await, [23]);
    assert_eq!(places(&story, "needle3").await, [9]);
    assert_eq!(find(&story.store, &query("hay")).await.len(), 11);
    assert_eq!(lag(&story).await, 0);
}

/// How many entries the index lags behind, if the store tells.
async fn lag(story: &Story<'_>) -> u64 {
    match story.store.audit() {
        Some(audit) => audit.index_lag().await.unwrap(),
        None => 0,
    }
}

async fn a_query_that_says_nothing_finds_nothing(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    story.append([said(ADA, "something"), answered(ADA, "?!")]).await;
    for nothing in ["", "   ", "\"\"", "…", "?!"] {
        assert_eq!(find(&story.store, &query(nothing)).await, []);
    }
}

async fn the_index_holds_what_the_entries_say(world: &World) {
    let mut parent = Story::begin(world, &world.open().await).await;
    for n in 0..5 {
        parent.turn(&format!("question {n} 天气"), if n == 2 { "?!" } else { "yes" }).await;
    }
    let mut fork = parent.fork(Seq(8)).await;
    fork.turn("more of it", "yes").await;
    for story in [&parent, &fork] {
        let Some(audit) = story.store.audit() else { return };
        let mut expected = Vec::new();
        for record in story.records(100).await {
            let entry = record.open().unwrap();
            let terms = text_of(&entry).map(|text| terms(&text)).unwrap_or_default();
            if !terms.is_empty() {
                expected.push((entry.seq, checksum(&terms)));
            }
        }
        for most in [1, 3, 100] {
            let mut found: Vec<(Seq, u64)> = Vec::new();
            loop {
                let after = found.last().map_or(Seq::ZERO, |(seq, _)| *seq);
                let page = audit.index_checksums(story.id, after, most).await.unwrap();
                if page.is_empty() {
                    break;
                }
                assert!(page.len() <= most && found.len() < ENDLESS);
                found.extend(page);
            }
            assert_eq!(found, expected);
        }
    }
}
