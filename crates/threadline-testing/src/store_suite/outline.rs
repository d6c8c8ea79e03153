//! The outline: along the path of a thread, and over the whole ledger.

use threadline_core::history::batch::Batch;
use threadline_core::id::{AgentId, CallId, Seq};
use threadline_core::outline::OutlineRow;

use super::facts::{ADA, BOB, answered, called, finished, joins, said, started};
use super::story::Story;
use super::{Case, ENDLESS, World};
use threadline_core::history::fact::{Effect, ToolResults};

cases![
    the_outline_follows_the_thread,
    the_outline_follows_the_path_through_rewinds,
    the_outline_does_not_depend_on_page_sizes,
    the_outline_goes_through_forks,
    a_place_without_a_row_has_no_outline,
    rows_are_found_by_their_places,
    the_ledger_has_every_row,
    rewinds_are_told_in_order,
];

/// The rows of some batches, in order.
fn written(batches: &[Batch]) -> Vec<OutlineRow> {
    batches.iter().flat_map(|batch| &batch.rows).map(|row| OutlineRow::clone(row)).collect()
}

/// The outline of a thread from its newest row, in pages of so many, oldest first.
async fn outline(story: &Story<'_>, agent: AgentId, rows: usize) -> Vec<OutlineRow> {
    let mut from = story.history.agent(agent).and_then(|agent| agent.row);
    let mut all = Vec::new();
    while let Some(next) = from {
        let page = story.store.outline(story.id, agent, next, rows).await.unwrap();
        assert!(all.len() < ENDLESS, "it does not end");
        assert!(!page.is_empty() && page.len() <= rows, "{} of {rows} rows", page.len());
        from = page.last().unwrap().previous;
        all.extend(page);
    }
    all.reverse();
    all
}

async fn gists(story: &Story<'_>, agent: AgentId) -> Vec<String> {
    outline(story, agent, 3).await.iter().map(|row| row.gist.to_string()).collect()
}

/// Every place is asked for, in both orders.
async fn rows_are_found_by_their_places(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    story.append([joins(BOB, "bob"), said(ADA, "one"), answered(ADA, "two")]).await;
    story.append([said(BOB, "three"), answered(BOB, "four"), said(ADA, "five")]).await;
    let head = story.history.head();
    let rows = written(&story.batches);
    for agent in [ADA, BOB, AgentId(9)] {
        let mut seqs: Vec<Seq> = (0..=head.0 + 2).map(Seq).collect();
        for _ in 0..2 {
            let mut found = story.store.outline_rows(story.id, agent, &seqs).await.unwrap();
            found.sort_by_key(|row| row.seq);
            let expected: Vec<OutlineRow> =
                rows.iter().filter(|row| row.agent == agent).cloned().collect();
            assert_eq!(found, expected);
            seqs.reverse();
        }
    }
    assert_eq!(story.store.outline_rows(story.id, ADA, &[]).await.unwrap(), []);
}

async fn the_outline_follows_the_thread(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    story.append([joins(BOB, "bob")]).await;
    let output = story.append([said(ADA, "what is here?"), called(ADA, &["list"])]).await;
    let call = CallId::new(output, 0);
    story.append([started(ADA, call, Effect::Read)]).await;
    story.append([said(BOB, "hello bob"), answered(BOB, "hello")]).await;
    let done = story.append([finished(ADA, call, "list", "a file and a folder")]).await;
    let results = ToolResults { output, results: vec![done], execute_error: None };
    story.append([(ADA, results.into()), answered(ADA, "two things")]).await;
    let rows = written(&story.batches);
    for agent in [ADA, BOB] {
        let expected = rows.iter().filter(|row| row.agent == agent);
        let expected: Vec<OutlineRow> = expected.cloned().collect();
        assert_eq!(outline(&story, agent, 100).await, expected);
    }
    assert_eq!(outline(&story, ADA, 100).await.len(), 4);
}

async fn the_outline_follows_the_path_through_rewinds(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    let one = story.turn("one", "1").await;
    let two = story.turn("two", "2").await;
    story.turn("three", "3").await;
    story.rewind(one).await;
    assert_eq!(gists(&story, ADA).await, ["one", "1"]);
    let other = story.turn("other two", "other 2").await;
    assert_eq!(gists(&story, ADA).await, ["one", "1", "other two", "other 2"]);
    // Again, to the other branch, and back.
    story.rewind(two).await;
    assert_eq!(gists(&story, ADA).await, ["one", "1", "two", "2"]);
    story.turn("four", "4").await;
    story.rewind(other).await;
    assert_eq!(gists(&story, ADA).await, ["one", "1", "other two", "other 2"]);
    story.rewind(Seq(2)).await;
    assert_eq!(gists(&story, ADA).await, [""; 0]);
    story.turn("anew", "yes").await;
    assert_eq!(gists(&story, ADA).await, ["anew", "yes"]);
    let story = story.reopen().await;
    assert_eq!(gists(&story, ADA).await, ["anew", "yes"]);
    story.check().await;
}

async fn the_outline_does_not_depend_on_page_sizes(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    story.append([joins(BOB, "bob")]).await;
    for n in 0..30 {
        let head = story.turn(&format!("question {n}"), "yes").await;
        // Rows of others and rows off the path lie between.
        for m in 0..n % 12 {
            story.append([said(BOB, &format!("aside {m}")), answered(BOB, "ok")]).await;
        }
        if n % 7 == 3 {
            story.rewind(head).await;
        }
    }
    let whole = outline(&story, ADA, 1000).await;
    assert_eq!(whole.len(), 60);
    for rows in [1, 2, 3, 16] {
        assert_eq!(outline(&story, ADA, rows).await, whole, "{rows} at a time");
    }
    assert!(story.store.outline(story.id, ADA, whole[0].seq, 0).await.unwrap().is_empty());
}

async fn the_outline_goes_through_forks(world: &World) {
    let mut parent = Story::begin(world, &world.open().await).await;
    let shared = parent.turn("shared", "yes").await;
    parent.turn("parent only", "yes").await;
    let mut fork = parent.fork(shared).await;
    assert_eq!(gists(&fork, ADA).await, ["shared", "yes"]);
    fork.turn("fork only", "yes").await;
    parent.turn("parent again", "yes").await;
    assert_eq!(gists(&fork, ADA).await, ["shared", "yes", "fork only", "yes"]);
    // A fork can be rewound to an entry it shares.
    fork.rewind(shared).await;
    fork.turn("another way", "yes").await;
    assert_eq!(gists(&fork, ADA).await, ["shared", "yes", "another way", "yes"]);
    let parents = ["shared", "yes", "parent only", "yes", "parent again", "yes"];
    assert_eq!(gists(&parent, ADA).await, parents);
    let ledger = fork.store.outline_ledger(fork.id, Seq::ZERO, 100).await.unwrap();
    let mut expected = written(&parent.batches[..2]);
    expected.extend(written(&fork.batches));
    assert_eq!(ledger, expected);
}

async fn a_place_without_a_row_has_no_outline(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    story.turn("hello", "hi").await;
    for (agent, from) in [(ADA, Seq(1)), (ADA, Seq::ZERO), (ADA, Seq(99)), (BOB, Seq(3))] {
        assert!(story.store.outline(story.id, agent, from, 9).await.unwrap().is_empty());
    }
}

async fn the_ledger_has_every_row(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    story.append([joins(BOB, "bob")]).await;
    let one = story.turn("one", "1").await;
    story.append([said(BOB, "two"), answered(BOB, "2")]).await;
    story.rewind(one).await;
    story.append([said(ADA, "three")]).await;
    let rows = written(&story.batches);
    for most in [1, 2, 100] {
        let mut found: Vec<OutlineRow> = Vec::new();
        loop {
            let after = found.last().map_or(Seq::ZERO, |row| row.seq);
            let page = story.store.outline_ledger(story.id, after, most).await.unwrap();
            if page.is_empty() {
                break;
            }
            assert!(page.len() <= most && found.len() < ENDLESS);
            found.extend(page);
        }
        assert_eq!(found, rows);
    }
}

async fn rewinds_are_told_in_order(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    let none = story.store.rewinds(story.id, Seq::ZERO).await.unwrap();
    assert!(none.is_empty());
    let one = story.turn("one", "1").await;
    let first = story.rewind(Seq(2)).await;
    let second = story.rewind(one).await;
    let all = story.store.rewinds(story.id, Seq::ZERO).await.unwrap();
    assert_eq!(all, [(first, Seq(2)), (second, one)]);
    assert_eq!(story.store.rewinds(story.id, first).await.unwrap(), [(second, one)]);
    assert!(story.store.rewinds(story.id, second).await.unwrap().is_empty());
    // A fork has those it shares and its own.
    let mut fork = story.fork(first).await;
    let third = fork.rewind(one).await;
    let rewinds = fork.store.rewinds(fork.id, Seq::ZERO).await.unwrap();
    assert_eq!(rewinds, [(first, Seq(2)), (third, one)]);
}
