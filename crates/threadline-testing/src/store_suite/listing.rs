//! Lists of conversations: each filter in each order, page by page.

use std::cmp::Reverse;

use threadline_core::history::batch::State;
use threadline_core::id::{AgentId, ConversationId, Seq};
use threadline_core::store::{Conversation, Filter, Listing, Origin, Sort, Storage};

use super::facts::{ADA, answered, described, said};
use super::story::Story;
use super::{Case, ENDLESS, World};

cases![
    every_filter_in_every_order,
    pages_have_no_gaps_and_no_repeats,
    conversations_of_one_moment_are_all_listed,
    labels_are_listed_as_they_are_now,
    what_is_known_of_a_conversation,
];

async fn list(store: &dyn Storage, filter: Filter, sort: Sort, most: usize) -> Vec<Conversation> {
    let mut listing = Listing { filter, sort, after: None, most };
    let mut all: Vec<Conversation> = Vec::new();
    loop {
        let page = store.list(&listing).await.unwrap();
        let Some(last) = page.last() else { return all };
        assert!(page.len() <= most && all.len() < ENDLESS);
        listing.after = Some(last.cursor(sort));
        all.extend(page);
    }
}

/// Conversations in all states, with and without labels, archived and not.
async fn many(world: &World) -> (std::sync::Arc<dyn Storage>, Vec<Conversation>) {
    let store = world.open().await;
    let mut stories = Vec::new();
    for n in 0..24_u32 {
        let mut story = Story::begin(world, &store).await;
        let labels: &[&str] = [&["red"][..], &["red", "blue"], &[]][(n % 3) as usize];
        story.append([described(&format!("number {n}"), labels, n % 4 == 1)]).await;
        if n % 2 == 0 {
            story.append([said(ADA, "a turn that can go on")]).await;
        }
        stories.push(story);
    }
    // The order of the last entries is another one than that of the first.
    for (n, story) in stories.iter_mut().enumerate() {
        if n % 5 == 0 {
            let facts = [said(ADA, "once more"), answered(ADA, "yes")];
            story.append(facts).await;
        }
    }
    let mut known = Vec::new();
    for story in &stories {
        known.push(story.store.conversation(story.id).await.unwrap());
    }
    (store, known)
}

fn expected(all: &[Conversation], filter: &Filter, sort: Sort) -> Vec<ConversationId> {
    let listed = all.iter().filter(|known| match filter {
        Filter::Current => !known.sums.archived,
        Filter::Archived => known.sums.archived,
        Filter::All => true,
        Filter::State(state) => known.sums.state == *state,
        Filter::Label(label) => known.sums.labels.contains(label),
    });
    let mut listed: Vec<&Conversation> = listed.collect();
    listed.sort_by_key(|known| Reverse(known.cursor(sort)));
    listed.into_iter().map(|known| known.id).collect()
}

fn filters() -> Vec<Filter> {
    let states = [State::Resting, State::Working, State::Waiting].map(Filter::State);
    let labels = ["red", "blue", "green"].map(|label| Filter::Label(label.to_owned()));
    let rest = [Filter::Current, Filter::Archived, Filter::All];
    rest.into_iter().chain(states).chain(labels).collect()
}

async fn every_filter_in_every_order(world: &World) {
    let (store, all) = many(world).await;
    let mut found_any = 0;
    for filter in filters() {
        for sort in [Sort::Active, Sort::Created] {
            let found = list(&*store, filter.clone(), sort, 1000).await;
            let ids: Vec<ConversationId> = found.iter().map(|known| known.id).collect();
            assert_eq!(ids, expected(&all, &filter, sort), "{filter:?} {sort:?}");
            for known in found {
                assert!(all.contains(&known), "{known:?}");
                found_any += 1;
            }
        }
    }
    assert!(found_any > 100);
}

async fn pages_have_no_gaps_and_no_repeats(world: &World) {
    let (store, _) = many(world).await;
    for filter in filters() {
        for sort in [Sort::Active, Sort::Created] {
            let whole = list(&*store, filter.clone(), sort, 1000).await;
            for most in [1, 2, 5, 7] {
                let pages = list(&*store, filter.clone(), sort, most).await;
                assert_eq!(pages, whole, "{filter:?} {sort:?}, {most} at a time");
            }
        }
    }
    let none = Listing { filter: Filter::All, sort: Sort::Active, after: None, most: 0 };
    assert!(store.list(&none).await.unwrap().is_empty());
}

async fn conversations_of_one_moment_are_all_listed(world: &World) {
    let store = world.open().await;
    let now = threadline_core::clock::Clock::now(&*world.clock);
    let mut ids = Vec::new();
    for _ in 0..9 {
        world.clock.set(now);
        ids.push(Story::begin(world, &store).await.id);
    }
    ids.sort();
    ids.reverse();
    for sort in [Sort::Active, Sort::Created] {
        for most in [1, 2, 4, 100] {
            let found = list(&*store, Filter::Current, sort, most).await;
            assert_eq!(found.iter().map(|known| known.id).collect::<Vec<_>>(), ids);
        }
    }
}

async fn labels_are_listed_as_they_are_now(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    let labelled = async |story: &Story<'_>, label: &str| {
        let filter = Filter::Label(label.to_owned());
        list(&*story.store, filter, Sort::Active, 9).await.len()
    };
    let at = story.append([described("a", &["one", "two"], false)]).await;
    assert_eq!((labelled(&story, "one").await, labelled(&story, "two").await), (1, 1));
    story.append([described("a", &["two", "three"], false)]).await;
    assert_eq!((labelled(&story, "one").await, labelled(&story, "three").await), (0, 1));
    story.rewind(at).await;
    assert_eq!((labelled(&story, "one").await, labelled(&story, "three").await), (1, 0));
    // A fork has the labels it branched off with.
    let fork = story.fork(Seq(2)).await;
    assert_eq!(labelled(&fork, "one").await, 1);
    story.check().await;
}

async fn what_is_known_of_a_conversation(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    story.turn("hello", "hi").await;
    let described = described("a title", &["b", "a"], true);
    assert_eq!(described.0, AgentId::CONVERSATION);
    story.append([described]).await;
    let known = story.store.conversation(story.id).await.unwrap();
    assert_eq!(known.origin, Origin::Own);
    assert_eq!(known.created_at, story.batches[0].entries[0].entry.at);
    assert_eq!(known.active_at, story.batches[2].at());
    assert_eq!((known.forked_from, known.moved_away), (None, false));
    assert_eq!(known.sums, story.history.sums());
    assert_eq!(known.sums.labels, ["a", "b"]);
    assert_eq!(known.sums.messages, 2);
    let listing = Listing { filter: Filter::All, sort: Sort::Active, after: None, most: 9 };
    assert_eq!(story.store.list(&listing).await.unwrap(), [known]);
}
