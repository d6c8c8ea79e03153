//! Talking about waits, timers and reminders.

use super::*;

#[test]
fn it_waits() {
    let five = r#"wait: {"seconds":5}"#;
    assert_answers(
        NOTEBOOK,
        &[
            ("wait 5 seconds", five),
            ("Please wait for 5 seconds.", five),
            ("sleep 5s", five),
            ("wait for a minute", r#"wait: {"seconds":60}"#),
            ("wait half an hour", r#"wait: {"seconds":1800}"#),
            ("wait two hours and 30 minutes", r#"wait: {"seconds":9000}"#),
            ("wait until 2026-11-16T09:30:00Z", r#"wait: {"until":"2026-11-16T09:30:00.000000Z"}"#),
            ("wait until 2026-11-16 09:30", r#"wait: {"until":"2026-11-16T09:30:00.000000Z"}"#),
        ],
    );
    for phrase in
        ["wait 0 seconds", "wait for it", "wait 5", "wait until tomorrow", "wait 5 apples"]
    {
        let told = answer(&story().says(phrase));
        assert!(told.contains("I do not understand that."), "{phrase}: {told}");
    }
}

#[test]
fn it_has_itself_woken() {
    let tea = r#"set_timer: {"seconds":300,"text":"It is time: drink tea"}"#;
    let sum = r#"set_timer: {"every_seconds":30,"text":"add 2 and 3"}"#;
    assert_answers(
        NOTEBOOK,
        &[
            ("remind me in 5 minutes to drink tea", tea),
            ("remind me to drink tea in 5 minutes", tea),
            ("Wake me in 5 minutes: drink tea.", tea),
            ("set a timer for 5 minutes: drink tea", tea),
            ("wake me up in 300 seconds to \"drink tea\"", tea),
            (
                "wake me in 10 seconds: add 2 and 3",
                r#"set_timer: {"seconds":10,"text":"add 2 and 3"}"#,
            ),
            ("in 10 seconds, add 2 and 3", r#"set_timer: {"seconds":10,"text":"add 2 and 3"}"#),
            ("wake me in 10 seconds", r#"set_timer: {"seconds":10,"text":"It is time."}"#),
            ("every 30 seconds add 2 and 3", sum),
            ("every 30 seconds: add 2 and 3", sum),
            ("remind me every 30 seconds to add 2 and 3", sum),
            (
                "remind me every hour to stretch",
                r#"set_timer: {"every_seconds":3600,"text":"It is time: stretch"}"#,
            ),
            (
                "remind me to stretch every hour",
                r#"set_timer: {"every_seconds":3600,"text":"It is time: stretch"}"#,
            ),
            (
                "wake me in a minute and then every hour: stretch",
                r#"set_timer: {"seconds":60,"every_seconds":3600,"text":"It is time: stretch"}"#,
            ),
            (
                "wake me at 2026-11-16T09:30:00Z: stretch",
                r#"set_timer: {"at":"2026-11-16T09:30:00.000000Z","text":"It is time: stretch"}"#,
            ),
            (
                "remind me in 5 minutes to read a.txt and remember that I like tea",
                r#"set_timer: {"seconds":300,"text":"read a.txt and remember that I like tea"}"#,
            ),
            (
                "remind me in 5 minutes to stretch. Add 2 and 3.",
                "set_timer: {\"seconds\":300,\"text\":\"It is time: stretch\"}\n\
                 calculator: {\"expression\":\"2 + 3\"}",
            ),
            (
                "remind me in 5 minutes to stretch. Every hour add 2 and 3.",
                "set_timer: {\"seconds\":300,\"text\":\"It is time: stretch\"}\n\
                 set_timer: {\"every_seconds\":3600,\"text\":\"add 2 and 3\"}",
            ),
            (
                "remember that I drink tea, every day two cups",
                r#"notebook_append: {"text":"I drink tea, every day two cups"}"#,
            ),
        ],
    );
    let told = answer(&story().says("in 5 minutes we go"));
    assert!(told.contains("I do not understand that."), "{told}");
}

#[test]
fn what_a_timer_says_is_done_or_told() {
    assert_answers(
        NOTEBOOK,
        &[
            ("add 2 and 3", r#"calculator: {"expression":"2 + 3"}"#),
            ("It is time: drink tea and read a.txt", "says: It is time: drink tea and read a.txt"),
            ("It is time.", "says: It is time."),
        ],
    );
}

const TIMERS: &str = "## Clock\n\n2026-11-16 10:20 UTC, Monday\n\nYour timers:\n\
                      - timer 12, at 10:25 UTC: drink tea\n- timer 30, at 10:30 UTC: stretch";

#[test]
fn timers_are_taken_back() {
    let (first, both) = (
        r#"clear_timer: {"timer":12}"#,
        "clear_timer: {\"timer\":12}\nclear_timer: {\"timer\":30}",
    );
    assert_answers(
        TIMERS,
        &[
            ("stop timer 12", first),
            ("clear timer #12", first),
            ("cancel the timer number 12, please", first),
            ("stop timers 12 and 30", both),
            ("stop all timers", both),
            (
                "stop the timer",
                "says: Which of these timers do you mean?\n\n- timer 12, at 10:25 UTC: drink tea\n\
                 - timer 30, at 10:30 UTC: stretch",
            ),
            (
                "which timers are set?",
                "says: These timers are set:\n\n- timer 12, at 10:25 UTC: drink tea\n\
                 - timer 30, at 10:30 UTC: stretch",
            ),
            ("what time is it?", "says: It is 10:20 UTC on Monday, 2026-11-16."),
        ],
    );
    assert_answers(
        "## Clock\n\nnoon\n- timer 7, at noon",
        &[("stop the timer", r#"clear_timer: {"timer":7}"#)],
    );
    assert_answers(
        "## Clock\n\nnoon",
        &[
            ("stop the timer", "says: I see no timer on my screen: say its number."),
            ("list timers", "says: No timer is set."),
        ],
    );
}

#[test]
fn results_of_time_are_told() {
    let done = story()
        .says("…")
        .calls("wait", r#"{"seconds":5}"#)
        .calls("wait", r#"{"until":"2026-11-16T09:30:00Z"}"#)
        .calls("wait", r#"{"seconds":5}"#)
        .calls("wait", r#"{"until":"2026-11-16T09:30:00Z"}"#)
        .calls("set_timer", r#"{"every_seconds":30,"text":"x"}"#)
        .calls("clear_timer", r#"{"timer":12}"#)
        .calls("clear_timer", r#"{"timer":13}"#)
        .gets(Status::Success, "the time has come")
        .gets(Status::Success, "the time has come")
        .gets(Status::Success, "ended early: a message came")
        .gets(Status::Success, "that time has passed")
        .gets(Status::Success, "timer 12 wakes you at 2026-11-16T09:30:00Z, then every 30 seconds")
        .gets(Status::Success, "the timer is taken back")
        .gets(Status::Failed, "you have no timer 13; there are: 12");
    insta::assert_snapshot!(answer(&done), @"
    says: I have waited 5 seconds.

    I have waited until 2026-11-16T09:30:00Z.

    I have not waited to the end: a message came.

    I did not have to wait: that time has passed

    Timer 12 is set: it wakes me at 2026-11-16T09:30:00Z, then every 30 seconds. `stop timer 12` takes it back.

    Timer 12 is taken back.

    I could not take back timer 13: you have no timer 13; there are: 12
    ");
}

#[test]
fn what_follows_a_wait_is_done_after_it_and_once() {
    let asked = story()
        .says("add 1 and 2, wait 5 seconds, then read a.txt, wait a minute and what time is it?");
    let asked = asked.screen("## Clock\n\nnoon");
    insta::assert_snapshot!(answer(&asked), @r#"
    calls calculator: {"expression":"1 + 2"}
    calls wait: {"seconds":5}
    "#);
    let first = asked
        .calls("calculator", r#"{"expression":"1 + 2"}"#)
        .calls("wait", r#"{"seconds":5}"#)
        .gets(Status::Success, "3")
        .gets(Status::Success, "the time has come");
    insta::assert_snapshot!(answer(&first), @r#"
    says: 1 + 2 = 3.

    I have waited 5 seconds.
    calls read_file: {"path":"a.txt"}
    calls wait: {"seconds":60}
    "#);
    let steered = first.clone().says("thanks");
    insta::assert_snapshot!(answer(&steered), @"
    says: 1 + 2 = 3.

    I have waited 5 seconds.

    You are welcome.
    ");
    let second = first
        .calls("read_file", r#"{"path":"a.txt"}"#)
        .calls("wait", r#"{"seconds":60}"#)
        .gets(Status::Success, "(a.txt is empty)")
        .gets(Status::Success, "the time has come")
        .screen("## Clock\n\nlater");
    insta::assert_snapshot!(answer(&second), @"
    says: a.txt is empty.

    I have waited 60 seconds.

    The clock says: later
    ");
    let cancelled = story()
        .says("wait 5 seconds, then read a.txt")
        .calls("wait", r#"{"seconds":5}"#)
        .gets(Status::Skipped, "cancelled");
    insta::assert_snapshot!(answer(&cancelled), @"says: I did not wait: cancelled");
    let without = Story::new().says("wait 5 seconds, then read a.txt");
    insta::assert_snapshot!(answer(&without), @r#"
    says: I need the tool `wait` for that, and I do not have it.
    calls read_file: {"path":"a.txt"}
    "#);
}

#[test]
fn help_tells_of_time_if_there_are_tools_for_it() {
    let told = answer(&story().says("help"));
    assert!(told.contains("- `wait 5 seconds`, `remind me in 5 minutes to X`"), "{told}");
    let told = answer(&Story::new().with_tools(&["wait"]).says("help"));
    assert!(told.contains("- `wait 5 seconds`\n"), "{told}");
}
