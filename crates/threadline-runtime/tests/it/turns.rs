//! Turns that go as they should.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use insta::assert_snapshot;
use threadline_core::drive::{Limits, Rest};
use threadline_core::history::fact::Input;
use threadline_core::inbox::{Body, Command, ItemNumber, Mode};
use threadline_core::store::{Access, Layer, Layered, Operation, Storage, StoreError};
use threadline_runtime::Stepped;

use crate::house::{assistant, house, item, runtime};

#[tokio::test]
async fn an_input_is_answered() {
    let house = house("turn\n say Hello, {input}.").await;
    assert_eq!(house.say("k1", "you").await, Rest::Idle);
    assert_snapshot!(house.story().await, @r#"
    user {"client_key":"k1"}: you
    assistant asks scripted/scripted
    assistant: Hello, you.
    "#);
}

#[tokio::test]
async fn calls_run_side_by_side_and_are_sealed_in_their_order() {
    let house = house(
        r#"
        turn
          call read {"do":"slow"}
          call calculator {"expression":"2 + 3"}
        then
          say {results}
        "#,
    )
    .await;
    house.say("k1", "go").await;
    assert_snapshot!(house.story().await, @r#"
    user {"client_key":"k1"}: go
    assistant asks scripted/scripted
    assistant: → read {"do":"slow"} | calculator {"expression":"2 + 3"}
    read c5.0 starts read
    calculator c5.1 starts read
    calculator c5.1 ok: 2 + 3 = 5
    read c5.0 ok: done
    assistant results
    assistant asks scripted/scripted
    assistant: done
        2 + 3 = 5
    "#);
}

/// With the item in the inbox, a turn is five transactions.
#[tokio::test]
async fn a_turn_with_a_call_is_four_appends() {
    let house = house("turn\n call pay {}\nthen\n say {results}").await;
    let input = Body::Input(Input::from_person("go"));
    house.store.enqueue(house.id, &item("k1", Mode::Queue, input)).await.unwrap();
    let mut drive = house.runtime.drive(house.id).await.unwrap();
    let mut appends = String::new();
    while let Stepped::Moved(entries) = drive.step().await.unwrap() {
        let kinds: Vec<&str> = entries.iter().map(|entry| entry.fact.kind()).collect();
        appends += &(kinds.join(" ") + "\n");
    }
    assert_snapshot!(appends, @r"
    input invocation_started
    output tool_started
    tool_finished tool_results invocation_started
    output
    ");
}

#[tokio::test]
async fn a_widget_changes_in_the_batch_of_its_result() {
    let house = house(
        r#"
        turn
          call notebook_append {"text":"milk"}
          call notebook_append {"text":"bread"}
        then
          say {screen}
        "#,
    )
    .await;
    house.say("k1", "shopping").await;
    assert_snapshot!(house.story().await, @r#"
    user {"client_key":"k1"}: shopping
    assistant asks scripted/scripted
    assistant: → notebook_append {"text":"milk"} | notebook_append {"text":"bread"}
    assistant changes notebook c5.0: {"append":"milk"}
    notebook_append c5.0 ok {"result":[{"gist":{"own":"noted: milk"},"recent":{"own":"at line 1:\n+ milk"},"text":"added 1 line; the notebook has 1 line, 4 of 32768 bytes\nat line 1:\n+ milk"}]}
    assistant changes notebook c5.1: {"append":"\nbread"}
    notebook_append c5.1 ok {"result":[{"gist":{"own":"noted: bread"},"recent":{"own":"at line 2:\n+ bread"},"text":"added 1 line; the notebook has 2 lines, 10 of 32768 bytes\nat line 2:\n+ bread"}]}
    assistant results
    assistant asks scripted/scripted
    assistant: # [Live Screen]

        ## Notebook

        ```
        milk
        bread
        ```
    "#);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_that_was_submitted_is_left_waiting() {
    let house = house("turn else\n say Hello.").await;
    for n in 0..150 {
        let input = Body::Input(Input::from_person(format!("number {n}")));
        house.submit(&format!("k{n}"), input).await;
        if n % 3 == 0 {
            house.rest().await;
        }
    }
    house.rest().await;
    let waiting = house.store.waiting(house.id, ItemNumber(0), 10).await.unwrap();
    assert!(waiting.is_empty(), "{waiting:?}");
    assert_eq!(house.story().await.matches("assistant: Hello.").count(), 150);
}

#[tokio::test]
async fn an_agent_that_names_a_tool_or_widget_that_does_not_exist_cannot_join() {
    let house = house("turn\n  say yes").await;
    let none = house.runtime.create(&[]).await.unwrap_err();
    assert_eq!(none.to_string(), "a conversation needs at least one agent");
    let with = |tools: &[&str], widgets: &[&str]| {
        let mut agent = assistant();
        agent.joined.tools = tools.iter().copied().map(Arc::from).collect();
        agent.joined.widgets = widgets.iter().copied().map(Arc::from).collect();
        agent
    };
    for (agent, wanted) in [
        (
            with(&["calculator", "raed"], &[]),
            r#"the agent "assistant" names the tool "raed", which does not exist; did you mean "read"?"#,
        ),
        (
            with(&[], &["notebok"]),
            r#"the agent "assistant" names the widget "notebok", which does not exist; did you mean "notebook"?"#,
        ),
        (
            with(&[], &["x"]),
            r#"the agent "assistant" names the widget "x", which does not exist; there are notebook"#,
        ),
    ] {
        let wrong = house.runtime.create(&[assistant(), agent]).await.unwrap_err();
        assert_eq!(wrong.to_string(), wanted);
    }
    // The tools of widgets, and those of the runtime itself, exist too.
    house.runtime.create(&[with(&["call_agent", "notebook_append"], &["notebook"])]).await.unwrap();
    // One that joins later is checked alike.
    let mut eve = with(&["wirte"], &[]).joined;
    (eve.name, eve.primary) = ("eve".into(), false);
    house.submit("k1", Body::Command(Command::Join(eve))).await;
    house.rest().await;
    let story = house.story().await;
    assert!(story.contains(r#"did you mean "write"?"#), "{story}");
    assert!(!story.contains("joins"), "{story}");
}

/// Counts the calls that write to a store.
struct Counting {
    inner: Arc<dyn Storage>,
    writes: Arc<Mutex<BTreeMap<&'static str, u32>>>,
}

#[async_trait]
impl Layer for Counting {
    fn inner(&self) -> &dyn Storage {
        &*self.inner
    }

    async fn around<T: Send>(
        &self,
        operation: Operation,
        call: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        if operation.access != Access::Read {
            *self.writes.lock().unwrap().entry(operation.name).or_default() += 1;
        }
        call.await
    }
}

/// What ARCHITECTURE.md says of the transactions of a turn.
#[tokio::test]
async fn a_turn_with_a_call_takes_five_transactions_beside_its_lease() {
    let script = "turn else\n call pay {}\nthen\n say {results}";
    let house = house(script).await;
    let writes = Arc::default();
    let counting = Counting { inner: Arc::clone(&house.store), writes: Arc::clone(&writes) };
    let store: Arc<dyn Storage> = Arc::new(Layered(counting));
    let runtime = runtime(script, &store, &house.clock, &house.effects, Limits::default());
    let mut counts = Vec::new();
    let mut count = || counts.push(format!("{:?}", std::mem::take(&mut *writes.lock().unwrap())));
    let mut drive = runtime.drive(house.id).await.unwrap();
    count();
    for key in ["k1", "k2"] {
        let said = item(key, Mode::Queue, Body::Input(Input::from_person("go")));
        drive.submit(&said).await.unwrap();
        assert_eq!(drive.run().await.unwrap(), Rest::Idle);
        count();
    }
    drive.release().await.unwrap();
    count();
    // The first turn also uploads the catalogue of tools.
    assert_snapshot!(counts.join("\n"), @r#"
    {"claim": 1}
    {"append": 4, "begin_upload": 1, "enqueue": 1, "finish_upload": 1, "upload": 1}
    {"append": 4, "enqueue": 1}
    {"keep_snapshot": 1, "release": 1}
    "#);
}
