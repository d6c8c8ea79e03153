//! Turns that go as they should.

use std::sync::Arc;

use insta::assert_snapshot;
use threadline_core::drive::Rest;
use threadline_core::history::fact::Input;
use threadline_core::inbox::{Body, Command, ItemNumber, Mode};
use threadline_runtime::Stepped;

use crate::house::{assistant, house, item};

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
