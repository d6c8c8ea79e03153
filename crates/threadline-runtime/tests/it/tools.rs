//! Calls: whatever a tool does becomes a recorded result.

use insta::assert_snapshot;
use threadline_core::drive::Rest;
use threadline_core::history::fact::{Answer, Approver, Fact, ToolFinished};
use threadline_core::id::{CallId, Seq};
use threadline_core::inbox::{Body, Command};

use crate::house::{House, house};

async fn finished(house: &House) -> Vec<ToolFinished> {
    let facts = house.entries().await.into_iter().map(|entry| entry.fact);
    facts
        .filter_map(|fact| match fact {
            Fact::ToolFinished(finished) => Some(finished),
            _ => None,
        })
        .collect()
}

#[tokio::test]
async fn a_call_that_cannot_run_is_told_why() {
    let house = house(
        r#"
        turn
          call nothing {}
          call read {"do":[7]}
          call read not json
          cut read {"do":"
          stop length
        then
          say I see.
        "#,
    )
    .await;
    house.say("k1", "go").await;
    assert_snapshot!(house.story().await, @r#"
    user {"client_key":"k1"}: go
    assistant asks scripted/scripted
    assistant (length): → nothing {} | read {"do":[7]} | read not json | read! {"do":"
    nothing c5.0 failed: there is no tool named "nothing"; there are: calculator, read, write, pay, ask, notebook_append, notebook_replace, notebook_replace_span, notebook_read
    read c5.1 failed: the arguments do not fit the tool's schema:
        - do: expected string, got [7]
    read c5.2 failed: the arguments are not valid JSON: expected a value at line 1 column 1
    read c5.3 failed: cut off by the output limit
    assistant results
    assistant asks scripted/scripted
    assistant: I see.
    "#);
    assert!(house.done().is_empty());
}

#[tokio::test]
async fn no_arguments_at_all_are_an_empty_object() {
    let house = house("turn\n call read\nthen\n say Good.").await;
    house.say("k1", "go").await;
    assert_eq!(house.done(), [("c5.0".to_owned(), 1)]);
}

#[tokio::test]
async fn a_panic_a_hang_and_a_failure_are_results() {
    let house = house(
        r#"
        turn
          call read {"do":"panic"}
          call pay {"do":"panic"}
          call read {"do":"hang"}
          call pay {"do":"hang"}
          call pay {"do":"fail"}
        then
          say So it is.
        "#,
    )
    .await;
    house.say("k1", "go").await;
    assert_snapshot!(house.story().await, @r#"
    user {"client_key":"k1"}: go
    assistant asks scripted/scripted
    assistant: → read {"do":"panic"} | pay {"do":"panic"} | read {"do":"hang"} | pay {"do":"hang"} | pay {"do":"fail"}
    read c5.0 starts read
    pay c5.1 starts once
    read c5.2 starts read
    pay c5.3 starts once
    pay c5.4 starts once
    read c5.0 failed: the tool panicked: as it was told
    pay c5.1 unknown: the tool panicked: as it was told
    pay c5.4 failed: it did not work
    read c5.2 failed: no answer within 0.4 s
    pay c5.3 unknown: no answer within 0.4 s
    assistant results
    assistant asks scripted/scripted
    assistant: So it is.
    "#);
}

#[tokio::test]
async fn a_flood_stays_out_of_the_entry() {
    let house = house("turn\n call read {\"do\":\"flood\"}\nthen\n say Much.").await;
    house.say("k1", "go").await;
    let finished = finished(&house).await;
    let [result] = &finished[..] else { panic!("{finished:?}") };
    assert!(result.result[0].text.len() < 66_000, "{}", result.result[0].text.len());
    assert!(result.result[0].text.contains("bytes left out; the first 16 MiB in the attachment"));
    let [attachment] = &result.attachments[..] else { panic!("{:?}", result.attachments) };
    assert_eq!(attachment.size, 16 * 1024 * 1024);
    assert_eq!(house.store.blob_size(attachment.digest).await.unwrap(), Some(attachment.size));
}

#[tokio::test]
async fn a_person_allows_a_call_or_declines_it() {
    let script = r#"
        turn
          call ask {"do":"one"}
          call ask {"do":"two"}
        then
          say {results}
        "#;
    let house = house(script).await;
    assert_eq!(house.say("k1", "go").await, Rest::Approval);
    let digests: Vec<_> = house
        .entries()
        .await
        .into_iter()
        .filter_map(|entry| match entry.fact {
            Fact::ApprovalAsked(asked) => Some((asked.call, asked.digest)),
            _ => None,
        })
        .collect();
    for (key, (call, digest), answer) in
        [("a1", digests[0], Answer::Allow), ("a2", digests[1], Answer::Deny)]
    {
        let by = Approver::Person { name: Some("ann".into()) };
        house.submit(key, Body::Approval { call, digest, answer, by }).await;
    }
    assert_eq!(house.rest().await, Rest::Idle);
    assert_snapshot!(house.story().await, @r#"
    user {"client_key":"k1"}: go
    assistant asks scripted/scripted
    assistant: → ask {"do":"one"} | ask {"do":"two"}
    ask c5.0 asked until 2026-01-01T00:15:00.000000Z {"digest":"9599d739015ce2c02e345d81e843d61aba1ae859e3ffda82244451b5e720dd64"}
    ask c5.1 asked until 2026-01-01T00:15:00.000000Z {"digest":"fc366bd80b124d4d5cc345bbe239b22dd3ca16e77e0d180d475d1216ab286b52"}
    ask c5.0 allowed {"by":{"person":{"name":"ann"}}}
    ask c5.1 denied {"by":{"person":{"name":"ann"}}}
    ask c5.0 starts once
    ask c5.1 skipped: not run: it was declined
    ask c5.0 ok: done
    assistant results
    assistant asks scripted/scripted
    assistant: done
        not run: it was declined
    "#);
    assert_eq!(house.done(), [("c5.0".to_owned(), 1)]);
}

#[tokio::test]
async fn an_answer_about_other_arguments_does_not_count() {
    let house = house("turn\n call ask {\"do\":\"one\"}\nthen\n say {results}").await;
    house.say("k1", "go").await;
    let call = CallId::new(threadline_core::id::Seq(5), 0);
    let digest = threadline_core::history::fact::Digest::of(b"something else");
    let by = Approver::Person { name: None };
    house.submit("a1", Body::Approval { call, digest, answer: Answer::Allow, by }).await;
    assert_eq!(house.rest().await, Rest::Approval);
    assert!(house.done().is_empty());
    // Nobody else answers either: after a quarter of an hour that means no.
    house.clock.advance_ms(15 * 60 * 1000);
    house.runtime.start(house.id);
    assert_eq!(house.rest().await, Rest::Idle);
    assert_snapshot!(house.story().await, @r#"
    user {"client_key":"k1"}: go
    assistant asks scripted/scripted
    assistant: → ask {"do":"one"}
    ask c5.0 asked until 2026-01-01T00:15:00.000000Z {"digest":"9599d739015ce2c02e345d81e843d61aba1ae859e3ffda82244451b5e720dd64"}
    note refused: the answer is about other arguments than those that are asked about
    ask c5.0 denied {"by":"timer"}
    ask c5.0 skipped: not run: it was declined
    assistant results
    assistant asks scripted/scripted
    assistant: not run: it was declined
    "#);
}

#[tokio::test]
async fn a_tool_reads_its_own_thread_up_to_its_call_and_nothing_that_was_rewound() {
    let house = house("turn when secret\n say Hush.\nturn else\n call read {\"do\":\"look\"}\nthen\n say {result}").await;
    house.say("k1", "a secret that is taken back").await;
    house.submit("r1", Body::Command(Command::Rewind { to: Seq(2) })).await;
    house.rest().await;
    house.say("k2", "what is there?").await;
    let story = house.story().await;
    let told = story.lines().last().unwrap_or_default();
    assert_eq!(told, "assistant: [9, 8, 7, 2, 1] [1, 2, 7, 8, 9] true false []", "{story}");
}
