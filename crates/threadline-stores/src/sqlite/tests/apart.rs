//! What appends keep apart from their conversation's row reads as if it were in it.

use threadline_core::history::batch::{AgentSums, State};
use threadline_core::history::fact::{Attachment, Digest, EndReason, Input, TurnEnded};
use threadline_core::store::{Conversation, Filter, Listing, Sort};

use super::*;

/// All that is told of conversations without reading their entries.
type Told = (Vec<Conversation>, Vec<Vec<AgentSums>>, Vec<Vec<ConversationId>>);

async fn told(store: &SqliteStore, ids: &[ConversationId]) -> Told {
    let (mut conversations, mut agents, mut lists) = (Vec::new(), Vec::new(), Vec::new());
    for id in ids {
        conversations.push(store.conversation(*id).await.unwrap());
        agents.push(store.agents(*id).await.unwrap());
    }
    let mut filters = vec![Filter::All, Filter::Current, Filter::Archived];
    filters.extend([State::Resting, State::Working, State::Waiting].map(Filter::State));
    for filter in filters {
        for sort in [Sort::Active, Sort::Created] {
            lists.push(listed(store, &filter, sort).await);
        }
    }
    (conversations, agents, lists)
}

/// All conversations of a list, in its order.
async fn listed(store: &SqliteStore, filter: &Filter, sort: Sort) -> Vec<ConversationId> {
    let mut listing = Listing { filter: filter.clone(), sort, after: None, most: 2 };
    let mut list = Vec::new();
    loop {
        let page = store.list(&listing).await.unwrap();
        let Some(last) = page.last() else { return list };
        listing.after = Some(last.cursor(sort));
        list.extend(page.iter().map(|conversation| conversation.id));
    }
}

#[tokio::test]
async fn it_reads_as_if_it_were_in_the_row() {
    let world = World::new();
    let store = world.open();
    let mut all = Vec::new();
    for _ in 0..4 {
        let (id, history) = world.begin(&store).await;
        let second = Proposal::new(
            AgentId(2),
            AgentJoined { primary: false, ..named("second") },
            &Estimator,
        );
        let proposed = history.propose([second], world.stamp()).unwrap();
        let lease = store.acquire(id, TTL_MS).await.unwrap();
        store.append(&lease, &proposed.batch).await.unwrap();
        all.push((lease, proposed.history));
    }
    let ids: Vec<_> = all.iter().map(|(lease, _)| lease.conversation).collect();
    // Runs of one agent are kept apart; another agent brings the row up to date.
    let (mut most_apart, mut states_apart) = (0, 0);
    for round in 0..48_usize {
        let (lease, history) = &mut all[(round * 7 / 2) % 4];
        let agent = AgentId(if round % 10 < 7 { 1 } else { 2 });
        let fact = match round % 3 {
            0 => Fact::from(cancelled()),
            _ => Fact::from(Input::from_person(format!("round {round}"))),
        };
        let proposal = Proposal::new(agent, fact, &Estimator);
        let Ok(proposed) = history.propose([proposal], world.stamp()) else { continue };
        store.append(lease, &proposed.batch).await.unwrap();
        *history = proposed.history;
        let read = store.conversation(lease.conversation).await.unwrap();
        assert_eq!((read.head, read.head_hash), (history.head(), history.head_hash()));
        assert_eq!(read.sums, proposed.batch.sums);
        most_apart = most_apart.max(world.count("SELECT count(*) FROM ahead"));
        states_apart += world.count(
            "SELECT count(*) FROM ahead JOIN conversation c ON c.num = conversation
             WHERE ahead.state <> c.state",
        );
        if round % 6 == 5 {
            let before = told(&store, &ids).await;
            let elsewhere = told(&world.open(), &ids).await;
            store.write("settle", 0, super::super::fresh::settle).await.unwrap();
            assert_eq!(world.count("SELECT count(*) FROM ahead"), 0);
            assert_eq!(before, told(&store, &ids).await, "round {round}");
            assert_eq!(before, elsewhere, "round {round}");
        }
    }
    assert!(most_apart > 2, "{most_apart} were ahead of their rows");
    assert!(states_apart > 10, "{states_apart} states were other than the rows say");
}

/// A turn leaves the row alone, from its first input to its end, and is found by what is due.
#[tokio::test]
async fn a_turn_is_kept_apart_whole() {
    let world = World::new();
    let store = world.open();
    let (id, history) = world.begin(&store).await;
    let lease = store.acquire(id, TTL_MS).await.unwrap();
    let row = "SELECT head_seq * 10 + state FROM conversation";
    let before = world.count(row);
    let (batch, begun) = world.batch(&history, [keyed("k", "hello")]);
    store.append(&lease, &batch).await.unwrap();
    assert_eq!(store.conversation(id).await.unwrap().sums.state, State::Working);
    assert_eq!(listed(&store, &Filter::State(State::Working), Sort::Active).await, [id]);
    assert_eq!(listed(&store, &Filter::State(State::Resting), Sort::Created).await, []);
    // Its key is known from now on.
    let (again, _) = world.batch(&begun, [keyed("k", "other")]);
    let refused = store.append(&lease, &again).await.unwrap_err();
    assert!(matches!(refused, StoreError::KeyConflict { .. }), "{refused:?}");
    let (batch, ended) = world.batch(&begun, [cancelled().into()]);
    store.append(&lease, &batch).await.unwrap();
    assert_eq!(store.conversation(id).await.unwrap().sums.state, State::Resting);
    assert_eq!(world.count(row), before, "the row was written");
    // A turn that was left is found once its lease has ended.
    let (batch, _) = world.batch(&ended, [Input::from_person("more").into()]);
    store.append(&lease, &batch).await.unwrap();
    store.release(&lease).await.unwrap();
    let claimed = store.claim(5, TTL_MS).await.unwrap();
    assert_eq!(claimed.iter().map(|lease| lease.conversation).collect::<Vec<_>>(), [id]);
}

/// What was kept apart before states were has the state of its row.
#[tokio::test]
async fn what_earlier_forms_kept_apart_has_the_state_of_its_row() {
    let world = World::new();
    let store = world.open();
    let (id, history) = world.begin(&store).await;
    let lease = store.acquire(id, TTL_MS).await.unwrap();
    let (batch, begun) = world.batch(&history, [Input::from_person("hello").into()]);
    store.append(&lease, &batch).await.unwrap();
    store.write("settle", 0, super::super::fresh::settle).await.unwrap();
    let (batch, _) = world.batch(&begun, [note("more")]);
    store.append(&lease, &batch).await.unwrap();
    let as_before = |connection: &Connection| {
        let sql = "ALTER TABLE ahead DROP COLUMN state;
             ALTER TABLE conversation DROP COLUMN held;
             ALTER TABLE conversation DROP COLUMN deaths;
             ALTER TABLE conversation DROP COLUMN unattended;
             ALTER TABLE conversation DROP COLUMN lease_head; PRAGMA user_version = 4;";
        Ok(connection.execute_batch(sql)?)
    };
    store.write("write as before", 0, as_before).await.unwrap();
    drop(store);
    let store = world.open();
    assert_eq!(world.count("SELECT count(*) FROM ahead"), 1);
    let read = store.conversation(id).await.unwrap();
    assert_eq!((read.head, read.sums.state), (batch.head(), State::Working));
}

fn keyed(key: &str, text: &str) -> Fact {
    Fact::Input(Input { client_key: Some(key.into()), ..Input::from_person(text) })
}

fn cancelled() -> TurnEnded {
    TurnEnded { reason: EndReason::Cancelled, detail: String::new(), by: None }
}

fn named(name: &str) -> AgentJoined {
    AgentJoined { name: name.into(), ..AgentJoined::default() }
}

/// Sums that are kept apart and cannot be read are damage, not a panic or a guess, and hold up no
/// other conversation.
#[tokio::test]
async fn damaged_sums_are_told() {
    let world = World::new();
    let store = world.open();
    let (id, history) = world.begin(&store).await;
    let lease = store.acquire(id, TTL_MS).await.unwrap();
    let mut history = history;
    for text in ["one", "two"] {
        let (batch, after) = world.batch(&history, [note(text)]);
        store.append(&lease, &batch).await.unwrap();
        history = after;
    }
    assert_eq!(world.count("SELECT count(*) FROM ahead"), 1);
    let break_it = |connection: &Connection| {
        Ok(connection.execute("UPDATE ahead SET sums = x'7b'", []).map(drop)?)
    };
    store.write("break", 0, break_it).await.unwrap();
    let (other, _) = world.begin(&store).await;
    let read = store.conversation(id).await.unwrap();
    assert!(read.damage.unwrap().contains("sums"));
    assert_eq!((read.head, read.head_hash), (history.head(), history.head_hash()));
    let opened = threadline_core::store::open(&store, id, &threadline_core::tokens::O200k)
        .await
        .unwrap_err();
    assert!(opened.to_string().contains(&id.to_string()), "{opened}");
    // The rows of the others are brought up to date, and what is damaged stays as it is.
    drop(store.claim(10, TTL_MS).await.unwrap());
    assert!(store.conversation(id).await.unwrap().damage.is_some());
    assert_eq!(store.conversation(other).await.unwrap().damage, None);
    assert_eq!(world.count("SELECT count(*) FROM ahead"), 1);
}

/// The last message is read from its entry, or from where earlier forms of the store kept it.
#[tokio::test]
async fn the_last_message_is_found_where_it_is() {
    let world = World::new();
    let store = world.open();
    let (id, mut history) = world.begin(&store).await;
    let lease = store.acquire(id, TTL_MS).await.unwrap();
    for text in ["one", "two"] {
        let (batch, after) = world.batch(&history, [Input::from_person(text).into()]);
        store.append(&lease, &batch).await.unwrap();
        history = after;
    }
    let last = i64::try_from(history.head().0).unwrap();
    assert_eq!(world.count("SELECT last_seq FROM ahead"), last);
    let read = store.conversation(id).await.unwrap();
    assert_eq!(read.sums.last_message.as_ref().unwrap().text, "two");
    let sums = (read.sums.messages, read.sums.cost, &read.sums.last_message);
    let sums = serde_json::to_vec(&sums).unwrap();
    let as_before = move |connection: &Connection| {
        let changed = "UPDATE ahead SET last_seq = NULL, sums = ?1";
        Ok(connection.execute(changed, [&sums]).map(drop)?)
    };
    store.write("write as before", 0, as_before).await.unwrap();
    assert_eq!(store.conversation(id).await.unwrap(), read);
    // An entry that is none of the transcript is damage.
    let astray = |connection: &Connection| {
        Ok(connection.execute("UPDATE ahead SET last_seq = 1", []).map(drop)?)
    };
    store.write("lead astray", 0, astray).await.unwrap();
    let read = store.conversation(id).await.unwrap();
    assert!(read.damage.unwrap().contains("last message"));
}

/// Whoever appends again is known only as long as nobody else has written.
#[tokio::test]
async fn what_is_remembered_of_a_conversation_is_as_it_is() {
    let world = World::new();
    let (store, other) = (world.open(), world.open());
    let (id, mut history) = world.begin(&store).await;
    let lease = store.acquire(id, TTL_MS).await.unwrap();
    for text in ["one", "two"] {
        let (batch, after) = world.batch(&history, [note(text)]);
        store.append(&lease, &batch).await.unwrap();
        history = after;
    }
    // The lease was given back elsewhere: what was remembered of it does not count.
    other.release(&lease).await.unwrap();
    let (batch, after) = world.batch(&history, [note("three")]);
    let refused = store.append(&lease, &batch).await.unwrap_err();
    assert!(matches!(refused, StoreError::Fenced(_)), "{refused:?}");
    // Nor if it was here.
    let lease = store.acquire(id, TTL_MS).await.unwrap();
    store.append(&lease, &batch).await.unwrap();
    store.release(&lease).await.unwrap();
    let (batch, _) = world.batch(&after, [note("four")]);
    let refused = store.append(&lease, &batch).await.unwrap_err();
    assert!(matches!(refused, StoreError::Fenced(_)), "{refused:?}");
}

/// An attachment that is kept is known, and no other is because of it.
#[tokio::test]
async fn what_is_remembered_of_attachments_is_as_it_is() {
    let world = World::new();
    let store = world.open();
    let (id, mut history) = world.begin(&store).await;
    let upload = store.begin_upload().await.unwrap();
    store.upload(upload, b"kept".to_vec()).await.unwrap();
    let kept = store.finish_upload(upload).await.unwrap();
    let lease = store.acquire(id, TTL_MS).await.unwrap();
    for (digest, there) in [(kept, true), (kept, true), (Digest::of(b"gone"), false), (kept, true)]
    {
        let attachment = Attachment {
            digest,
            size: 4,
            media_type: "text/plain".into(),
            name: None,
            extent: None,
        };
        let input = Input { attachments: vec![attachment], ..Input::from_person("look") };
        let (batch, after) = world.batch(&history, [input.into()]);
        match store.append(&lease, &batch).await {
            Ok(()) => history = after,
            Err(refused) => {
                assert!(matches!(refused, StoreError::NoAttachment(_)), "{refused:?}");
                assert!(!there, "{digest}");
            }
        }
    }
    assert_eq!(store.conversation(id).await.unwrap().sums.messages, 3);
}

/// What is taken in after sums that are kept apart does not fall back behind them.
#[tokio::test]
async fn a_conversation_that_is_ahead_goes_on_by_an_intake() {
    let world = World::new();
    let store = world.open();
    let (id, history) = world.begin(&store).await;
    let lease = store.acquire(id, TTL_MS).await.unwrap();
    let (batch, history) = world.batch(&history, [note("here")]);
    store.append(&lease, &batch).await.unwrap();
    store.release(&lease).await.unwrap();
    assert_eq!(world.count("SELECT count(*) FROM ahead"), 1);
    let stage = store.begin_intake(id, history.head()).await.unwrap();
    let (batch, further) = world.batch(&history, [note("elsewhere")]);
    store.stage(stage, &batch, None).await.unwrap();
    store.adopt(stage, Origin::Own, false, &[]).await.unwrap();
    let read = store.conversation(id).await.unwrap();
    assert_eq!((read.head, read.head_hash), (further.head(), further.head_hash()));
    assert_eq!(read.sums, batch.sums);
}
