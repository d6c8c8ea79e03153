//! Talking about what is shared, and about the time.

use super::*;

const SHARED: &str = "## Shared resources\n\n- plan (1 line, 3 bytes, from guide)\n\
                      - plan/draft (2 lines, 9 bytes, from ann): a first try";

#[test]
fn texts_are_shared() {
    assert_answers(
        SHARED,
        &[
            ("share buy tea as plan", r#"resource_put: {"key":"plan","text":"buy tea"}"#),
            (
                "share \"tea as usual\" as plan",
                r#"resource_put: {"key":"plan","text":"tea as usual"}"#,
            ),
            (
                "put tea and rum under plan/b",
                r#"resource_put: {"key":"plan/b","text":"tea and rum"}"#,
            ),
            (
                "share tea under the key `My Plan`",
                r#"resource_put: {"key":"my-plan","text":"tea"}"#,
            ),
            ("get plan", r#"resource_get: {"key":"plan"}"#),
            ("What is under plan/draft?", r#"resource_get: {"key":"plan/draft"}"#),
            ("get the key plan", r#"resource_get: {"key":"plan"}"#),
            ("unshare plan", r#"resource_drop: {"key":"plan"}"#),
            ("stop sharing plan, please", r#"resource_drop: {"key":"plan"}"#),
            (
                "get plan and unshare plan",
                "resource_get: {\"key\":\"plan\"}\nresource_drop: {\"key\":\"plan\"}",
            ),
            (
                "what is shared?",
                "says: This is shared:\n\n- plan (1 line, 3 bytes, from guide)\n\
                 - plan/draft (2 lines, 9 bytes, from ann): a first try",
            ),
        ],
    );
    assert_answers(NOTEBOOK, &[("what is shared?", "resource_list: {}")]);
    let cut = "## Shared resources\n\n- a (1 line, 1 byte, from x)\n[7 more: resource_list]";
    assert_answers(cut, &[("what is shared?", "resource_list: {}")]);
    let told = answer(&story().says("get me a coffee").screen(SHARED));
    assert!(told.contains("I do not understand that."), "{told}");
}

#[test]
fn the_time_is_told_from_the_screen() {
    assert_answers(
        "## Clock\n\n2026-11-16 10:20 UTC, Monday\n\n## Notebook\n\n(empty)",
        &[
            ("what time is it?", "says: It is 10:20 UTC on Monday, 2026-11-16."),
            ("Please tell me the time.", "says: It is 10:20 UTC on Monday, 2026-11-16."),
            ("what day is it today?", "says: It is Monday, 2026-11-16."),
            ("what day of the week is it?", "says: It is Monday, 2026-11-16."),
            ("what is the date", "says: It is Monday, 2026-11-16."),
        ],
    );
    let none = "says: I see no clock on my screen, so I cannot tell the time.";
    let written = "## Notebook\n\n```\n## Clock\n\n2026-11-16 10:20 UTC, Monday\n```";
    assert_answers(written, &[("what time is it?", none), ("what day is it?", none)]);
}

#[test]
fn results_of_shared_texts_are_told() {
    let done = story()
        .says("…")
        .calls("resource_put", r#"{"key":"plan","text":"tea"}"#)
        .calls("resource_put", r#"{"key":"plan","text":"tea"}"#)
        .calls("resource_get", r#"{"key":"plan"}"#)
        .calls("resource_drop", r#"{"key":"plan"}"#)
        .calls("resource_list", "{}")
        .calls("resource_list", "{}")
        .gets(Status::Success, "put plan; 1 shared resource, 3 of 131072 bytes\n+ plan: 1 line")
        .gets(Status::Success, "nothing changed: plan is so already")
        .gets(Status::Success, "tea")
        .gets(Status::Success, "dropped plan; 0 shared resources\n- plan: 1 line")
        .gets(Status::Success, "1 shared resource\n- plan (1 line, 3 bytes, from you)")
        .gets(Status::Success, "nothing is shared; resource_put puts a text under a key");
    insta::assert_snapshot!(answer(&done), @"
    says: I have shared that as `plan`.

    Nothing changed: plan is so already.

    This is under `plan`:

    ```
    tea
    ```

    `plan` is no longer shared.

    This is shared:

    ```
    1 shared resource
    - plan (1 line, 3 bytes, from you)
    ```

    Nothing is shared. Say `share X as KEY` to share something.
    ");
    let not = story()
        .says("…")
        .calls("resource_put", r#"{"key":"plan","text":"tea"}"#)
        .calls("resource_get", r#"{"key":"plan"}"#)
        .calls("resource_drop", r#"{"key":"plan"}"#)
        .gets(Status::Skipped, "not run: it was declined")
        .gets(Status::Failed, "there is nothing under \"plan\"; the nearest are: plans")
        .gets(Status::Unknown, "");
    insta::assert_snapshot!(answer(&not), @r#"
    says: I did not share that as `plan`: it was declined. Nothing was changed. If you want it after all, ask again and allow it.

    I could not get `plan`: there is nothing under "plan"; the nearest are: plans

    I do not know whether I managed to unshare `plan`: it was started, and no answer came. Please check before you ask for it again.
    "#);
}

#[test]
fn a_story_of_shared_texts() {
    let asked = story().says("unshare plan. What is shared?").screen(SHARED);
    insta::assert_snapshot!(answer(&asked), @r#"calls resource_drop: {"key":"plan"}"#);
    let done = asked
        .calls("resource_drop", r#"{"key":"plan"}"#)
        .gets(Status::Success, "dropped plan; 1 shared resource\n- plan: 1 line");
    let left = done.clone().screen("## Shared resources\n\n- plan/draft (2 lines)");
    insta::assert_snapshot!(answer(&left), @"
    says: `plan` is no longer shared.

    This is shared:

    - plan/draft (2 lines)
    ");
    insta::assert_snapshot!(answer(&done.screen("## Clock\n\nnoon")), @"
    says: `plan` is no longer shared.

    Nothing is shared.
    ");
    let without = Story::new().says("share tea as plan. What is shared? What time is it?");
    insta::assert_snapshot!(answer(&without), @"
    says: I need the tool `resource_put` for that, and I do not have it.

    I need the tool `resource_list` for that, and I do not have it.

    I see no clock on my screen, so I cannot tell the time.
    ");
}
