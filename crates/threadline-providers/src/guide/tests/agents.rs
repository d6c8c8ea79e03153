//! Talking with other agents, and with those that have agents of their own.

use super::*;

const PEERS: [&str; 3] = ["ada: does sums", "bob: reads files: all of them", "Cy"];

fn together() -> Story {
    story().with_agents(&PEERS)
}

/// Asserts which calls each phrase comes to, or what is said.
fn assert_asks(table: &[(&str, &[&str])]) {
    for (phrase, expected) in table {
        let told = answer(&together().says(phrase));
        let told = told.lines().map(|line| line.strip_prefix("calls call_agent: ").unwrap_or(line));
        assert_eq!(told.collect::<Vec<_>>(), *expected, "{phrase}");
    }
}

#[test]
fn agents_are_asked() {
    let sum = r#"{"name":"ada","task":"add 2 and 3"}"#;
    let read = r#"{"name":"bob","task":"read a.txt"}"#;
    assert_asks(&[
        ("ask ada to add 2 and 3", &[sum]),
        ("Please ask Ada to add 2 and 3.", &[sum]),
        ("ask ada: add 2 and 3", &[sum]),
        ("ask the agent ada: \"add 2 and 3\"", &[sum]),
        ("could you ask @ada to add 2 and 3, please?", &[sum]),
        ("ask ada what is 2 + 3?", &[r#"{"name":"ada","task":"what is 2 + 3"}"#]),
        ("ask ada to add 2 and 3 and bob to read a.txt", &[sum, read]),
        ("ask ada to add 2 and 3, and ask bob to read a.txt", &[sum, read]),
        ("ask ada to add 2 and 3. Ask bob to read a.txt.", &[sum, read]),
        ("ask ada: add 2 and 3; bob: read a.txt", &[sum, read]),
        ("ask ada and bob to add 2 and 3", &[sum, r#"{"name":"bob","task":"add 2 and 3"}"#]),
        (
            "ask everyone to read a.txt",
            &[
                r#"{"name":"ada","task":"read a.txt"}"#,
                read,
                r#"{"name":"Cy","task":"read a.txt"}"#,
            ],
        ),
        (
            "ask cy to read a.txt and then remember that I like tea",
            &[r#"{"name":"Cy","task":"read a.txt and then remember that I like tea"}"#],
        ),
        (
            "ask ada to walk and talk to people",
            &[r#"{"name":"ada","task":"walk and talk to people"}"#],
        ),
        (
            "ask ada to tell bob to read a.txt",
            &[r#"{"name":"ada","task":"tell bob to read a.txt"}"#],
        ),
        (
            "ask eve to read a.txt",
            &["says: There is no agent named eve here. There are: ada, bob, Cy."],
        ),
    ]);
    let told = answer(&together().says("ask me to dance"));
    assert!(told.contains("I do not understand that."), "{told}");
}

#[test]
fn agents_are_sent_tasks() {
    let sum = r#"{"name":"ada","task":"add 2 and 3","wait":false}"#;
    assert_asks(&[
        ("tell ada to add 2 and 3", &[sum]),
        ("send ada: add 2 and 3", &[sum]),
        ("send a message to ada: add 2 and 3", &[sum]),
        (
            "tell ada to add 2 and 3 and bob to read a.txt",
            &[sum, r#"{"name":"bob","task":"read a.txt","wait":false}"#],
        ),
        (
            "tell ada to add 2 and 3 and ask bob to read a.txt",
            &[
                r#"{"name":"ada","task":"add 2 and 3","wait":false}"#,
                r#"{"name":"bob","task":"read a.txt"}"#,
            ],
        ),
    ]);
}

#[test]
fn a_plan_is_done_side_by_side() {
    let (sum, read) =
        (r#"{"name":"ada","task":"add 2 and 3"}"#, r#"{"name":"bob","task":"read a.txt"}"#);
    assert_asks(&[
        ("plan: add 2 and 3; read a.txt", &[sum, read]),
        ("plan add 2 and 3; read a.txt", &[sum, read]),
        ("Plan: add 2 and 3 and read a.txt.", &[sum, read]),
        (
            "plan the food and the music",
            &[r#"{"name":"ada","task":"the food"}"#, r#"{"name":"bob","task":"the music"}"#],
        ),
        ("plan add 2 and 3", &[sum, r#"{"name":"bob","task":"add 2 and 3"}"#]),
        (
            "plan: a; b; c; d",
            &[
                r#"{"name":"ada","task":"a"}"#,
                r#"{"name":"bob","task":"b"}"#,
                r#"{"name":"Cy","task":"c"}"#,
                r#"{"name":"ada","task":"d"}"#,
            ],
        ),
    ]);
    let one = story().with_agents(&["ada"]);
    insta::assert_snapshot!(answer(&one.says("plan: add 2 and 3; read a.txt")), @r#"
    calls call_agent: {"name":"ada","task":"add 2 and 3"}
    calls call_agent: {"name":"ada","task":"read a.txt"}
    "#);
    let noted = answer(&together().says("remember that we like tea and plan the week"));
    insta::assert_snapshot!(noted, @r#"calls notebook_append: {"text":"we like tea and plan the week"}"#);
}

#[test]
fn who_is_here_is_told() {
    insta::assert_snapshot!(answer(&together().says("Who is here?")), @"
    says: Here are:

    - ada: does sums
    - bob: reads files: all of them
    - Cy
    ");
    insta::assert_snapshot!(answer(&story().says("who is here? ask ada to add 2 and 3. plan: x")), @"
    says: Nobody else is here, so I can ask nobody.

    Nobody else is here, so I can ask nobody.

    Nobody else is here.
    ");
    let without = answer(&Story::new().says("help"));
    assert!(!without.contains("ask NAME"), "{without}");
    let told = answer(&together().says("help"));
    assert!(told.contains("`who is here?`, `ask NAME to X`"), "{told}");
}

#[test]
fn what_agents_answer_is_told() {
    let asked = together()
        .says("ask ada to add 2 and 3 and bob to read a.txt")
        .calls("call_agent", r#"{"name":"ada","task":"add 2 and 3"}"#)
        .calls("call_agent", r#"{"name":"bob","task":"read a.txt"}"#)
        .calls("call_agent", r#"{"name":"cy","task":"wait","wait":false}"#)
        .calls("call_agent", r#"{"name":"cy","task":"x"}"#)
        .calls("call_agent", r#"{"name":"cy","task":"x"}"#)
        .calls("call_agent", r#"{"name":"cy","task":"x"}"#)
        .gets(Status::Success, "2 + 3 = 5.")
        .gets(Status::Success, "Here is a.txt:\n\n```\ntea\n```")
        .gets(Status::Success, "cy has the task; its answer will come as a message")
        .gets(Status::Failed, "no answer: its turn was cancelled")
        .gets(Status::Failed, "cy waits for your answer: give it, then call cy")
        .gets(Status::Skipped, "not run: the turn was cancelled");
    insta::assert_snapshot!(answer(&asked), @"
    says: ada: 2 + 3 = 5.

    bob:

    Here is a.txt:

    ```
    tea
    ```

    cy has the task. I will tell you the answer when it comes.

    cy gave no answer: its turn was cancelled

    I could not ask cy: cy waits for your answer: give it, then call cy

    I did not ask cy: the turn was cancelled.
    ");
}

#[test]
fn an_answer_that_comes_later_is_passed_on_and_nothing_more() {
    let sent = together()
        .says("tell ada to add 2 and 3")
        .calls("call_agent", r#"{"name":"ada","task":"add 2 and 3","wait":false}"#)
        .gets(Status::Success, "ada has the task; its answer will come as a message")
        .answers("ada has the task.");
    let heard = |text: &str| answer(&sent.clone().says(&format!("# Answer of ada\n{text}")));
    insta::assert_snapshot!(heard("2 + 3 = 5."), @"says: ada says: 2 + 3 = 5.");
    insta::assert_snapshot!(heard("add 2 and 3. Read a.txt."), @"says: ada says: add 2 and 3. Read a.txt.");
    insta::assert_snapshot!(heard("no answer: its turn came to a limit"), @"says: ada gave no answer: its turn came to a limit");
    insta::assert_snapshot!(heard("one\n\ntwo"), @"
    says: ada says:

    one

    two
    ");
}

#[test]
fn a_task_is_done_as_for_a_person() {
    let task = story().says("add 2 and 3\n\n# Context\nthe numbers are of apples");
    insta::assert_snapshot!(answer(&task), @r#"calls calculator: {"expression":"2 + 3"}"#);
    let file = story().says("write a.md: x\n\n# Context\ny");
    insta::assert_snapshot!(answer(&file), @r##"calls write_file: {"path":"a.md","text":"x\n\n# Context\ny"}"##);
}
