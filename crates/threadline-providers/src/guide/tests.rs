//! Phrases in, transcripts out.

mod agents;
mod any;
mod files;
mod shared;
mod tasks;
mod timing;

use std::sync::Arc;

use threadline_core::history::fact::{Purpose, Status, Thinking};
use threadline_core::provider::{Delta, ToolChoice};

use super::*;
use crate::testing::{Story, hear, transcript};

/// The guide's answer to a story, without what it says it took.
fn answer(story: &Story) -> String {
    answer_to(story.request())
}

fn answer_to(request: Request) -> String {
    let told = transcript(&Guide::default(), request);
    let lines = told.lines().filter(|line| !line.starts_with("usage ") && *line != "Done");
    lines.collect::<Vec<_>>().join("\n")
}

/// Every tool that the guide knows.
const ALL: [&str; 23] = [
    "calculator",
    "list_files",
    "read_file",
    "search_files",
    "write_file",
    "edit_file",
    "recall",
    "notebook_append",
    "notebook_replace",
    "notebook_replace_span",
    "task_add",
    "task_start",
    "task_finish",
    "task_drop",
    "task_move",
    "task_list",
    "resource_put",
    "resource_get",
    "resource_list",
    "resource_drop",
    "wait",
    "set_timer",
    "clear_timer",
];

/// A story with every tool.
fn story() -> Story {
    Story::new().with_tools(&ALL)
}

/// Asserts what each phrase comes to, asked by itself with every tool and this screen.
fn assert_answers(screen: &str, table: &[(&str, &str)]) {
    for (phrase, expected) in table {
        let told = answer(&story().says(phrase).screen(screen));
        let told = told.lines().map(|line| line.strip_prefix("calls ").unwrap_or(line));
        assert_eq!(told.collect::<Vec<_>>().join("\n"), *expected, "{phrase}");
    }
}

/// The answer to each phrase, asked by itself, with a notebook on the screen.
fn answers(phrases: &[&str]) -> String {
    let told = phrases.iter().map(|phrase| {
        let story = Story::new().says(phrase).screen(NOTEBOOK);
        format!("> {phrase}\n{}", answer(&story))
    });
    told.collect::<Vec<_>>().join("\n")
}

const NOTEBOOK: &str = "## Notebook\n\n```\nI like tea\nmy cat is called Tom\n```";

#[test]
fn it_remembers_and_forgets() {
    insta::assert_snapshot!(answers(&[
        "remember that I like tea and coffee",
        "Please remember: my \"door\" is 4.",
        "note that x = {1}",
        "forget i like tea.",
        "could you forget about the cat?",
        "forget that my cat is called Tom",
        "forget everything",
        "forget my name",
        "forget I like TEA and forget the cat",
    ]), @r#"
    > remember that I like tea and coffee
    calls notebook_append: {"text":"I like tea and coffee"}
    > Please remember: my "door" is 4.
    calls notebook_append: {"text":"my \"door\" is 4"}
    > note that x = {1}
    calls notebook_append: {"text":"x = {1}"}
    > forget i like tea.
    calls notebook_replace: {"find":"I like tea\n","with":""}
    > could you forget about the cat?
    calls notebook_replace: {"find":"\nmy cat is called Tom","with":""}
    > forget that my cat is called Tom
    calls notebook_replace: {"find":"\nmy cat is called Tom","with":""}
    > forget everything
    calls notebook_replace: {"find":"I like tea\nmy cat is called Tom","with":""}
    > forget my name
    says: The notebook has nothing like “my name”.
    > forget I like TEA and forget the cat
    calls notebook_replace: {"find":"I like tea\n","with":""}
    calls notebook_replace: {"find":"my cat is called Tom","with":""}
    "#);
}

#[test]
fn it_tells_what_it_remembers() {
    insta::assert_snapshot!(answers(&[
        "what do you remember?",
        "What do you remember about tea?",
        "what do you remember about dogs",
        "Please show me the notebook.",
    ]), @"
    > what do you remember?
    says: I remember:

    - I like tea
    - my cat is called Tom
    > What do you remember about tea?
    says: I remember:

    - I like tea
    > what do you remember about dogs
    says: I remember nothing about dogs.
    > Please show me the notebook.
    says: I remember:

    - I like tea
    - my cat is called Tom
    ");
    let empty = Story::new().says("what do you remember?").screen("## Notebook\n\n(empty)");
    insta::assert_snapshot!(answer(&empty), @"says: The notebook is empty. Say `remember that X` to fill it.");
    let long = "## Notebook\n\n```\ntea\n```\n[9 more lines: notebook_read with line 2]";
    let long = Story::new().says("what do you remember?").screen(long);
    insta::assert_snapshot!(answer(&long), @"
    says: I remember:

    - tea

    My screen does not show all of the notebook.
    ");
    let longer = "## Notebook\n\n(9 lines, 900 bytes: notebook_read)";
    let longer = Story::new().says("what do you remember?").screen(longer);
    insta::assert_snapshot!(answer(&longer), @"
    says: The notebook is not empty.

    My screen does not show all of the notebook.
    ");
    let without = Story::new().says("what do you remember?");
    insta::assert_snapshot!(answer(&without), @"says: I see no notebook here.");
}

#[test]
fn it_lets_the_calculator_do_sums() {
    insta::assert_snapshot!(answers(&[
        "add 2 and 3",
        "2+3*4",
        "what is 7 times 6",
        "17 minus 4",
        "divide 10 by 4",
        "Can you please tell me how much is (1 + 2) / 3?",
    ]), @r#"
    > add 2 and 3
    calls calculator: {"expression":"2 + 3"}
    > 2+3*4
    calls calculator: {"expression":"2 + 3 * 4"}
    > what is 7 times 6
    calls calculator: {"expression":"7 * 6"}
    > 17 minus 4
    calls calculator: {"expression":"17 - 4"}
    > divide 10 by 4
    calls calculator: {"expression":"10 / 4"}
    > Can you please tell me how much is (1 + 2) / 3?
    calls calculator: {"expression":"(1 + 2) / 3"}
    "#);
}

#[test]
fn it_reads_files() {
    insta::assert_snapshot!(answers(&[
        "read notes.txt",
        "Read the file src/main.rs, please.",
        "show me README.md",
        "what's in `my file.txt`?",
        "read a.txt, b/c.txt and add 1, 2 and 3",
        "read a.txt and weep",
        "show me the way",
    ]), @r#"
    > read notes.txt
    calls read_file: {"path":"notes.txt"}
    > Read the file src/main.rs, please.
    calls read_file: {"path":"src/main.rs"}
    > show me README.md
    calls read_file: {"path":"README.md"}
    > what's in `my file.txt`?
    calls read_file: {"path":"my file.txt"}
    > read a.txt, b/c.txt and add 1, 2 and 3
    calls read_file: {"path":"a.txt"}
    calls read_file: {"path":"b/c.txt"}
    calls calculator: {"expression":"1 + 2 + 3"}
    > read a.txt and weep
    says: I do not understand that. I am guide, the small model that is built into Threadline. I work offline, by fixed rules, and I understand:

    - `remember that X`, `what do you remember?` and `forget X`
    - sums such as `add 2 and 3`, `17 minus 4` or `2 + 3 * 4`
    - `read FILE`
    - `recall 12`, an entry by its number, and `what did I say about X?`
    - several at once, such as `add 2 and 3 and read FILE`; quotation marks keep words together
    - `think about X`
    - `help`

    To talk with a real model, set its key, such as ANTHROPIC_API_KEY or OPENAI_API_KEY, or start a server of your own, such as Ollama; `threadline models` then lists what can be asked.
    > show me the way
    says: I do not understand that. I am guide, the small model that is built into Threadline. I work offline, by fixed rules, and I understand:

    - `remember that X`, `what do you remember?` and `forget X`
    - sums such as `add 2 and 3`, `17 minus 4` or `2 + 3 * 4`
    - `read FILE`
    - `recall 12`, an entry by its number, and `what did I say about X?`
    - several at once, such as `add 2 and 3 and read FILE`; quotation marks keep words together
    - `think about X`
    - `help`

    To talk with a real model, set its key, such as ANTHROPIC_API_KEY or OPENAI_API_KEY, or start a server of your own, such as Ollama; `threadline models` then lists what can be asked.
    "#);
}

#[test]
fn it_recalls() {
    insta::assert_snapshot!(answers(&[
        "recall 12",
        "Please recall entry 12, page 2.",
        "recall what I said about tea and coffee",
        "What did I say about the red door?",
        "recall 12 monkeys",
        "recall 3 and recall 4",
        "what did I say about tea and read a.txt",
    ]), @r#"
    > recall 12
    calls recall: {"seq":12}
    > Please recall entry 12, page 2.
    calls recall: {"seq":12,"page":2}
    > recall what I said about tea and coffee
    calls recall: {"query":"tea and coffee"}
    > What did I say about the red door?
    calls recall: {"query":"red door"}
    > recall 12 monkeys
    calls recall: {"query":"12 monkeys"}
    > recall 3 and recall 4
    calls recall: {"seq":3}
    calls recall: {"seq":4}
    > what did I say about tea and read a.txt
    calls recall: {"query":"tea"}
    calls read_file: {"path":"a.txt"}
    "#);
    let story = Story::new().with_tools(&["read_file"]).says("recall 12");
    insta::assert_snapshot!(answer(&story), @"says: I need the tool `recall` for that, and I do not have it.");
    let asks = Story::new()
        .says("recall 12 and what did I say about tea")
        .calls("recall", r#"{"seq":12}"#)
        .calls("recall", r#"{"query":"tea"}"#);
    let done = asks.gets(Status::Success, "[entry 12]\nhello");
    let done = done.gets(Status::Failed, "the history could not be read");
    insta::assert_snapshot!(answer(&done), @"
    says: This is what I recall of entry 12:

    ```
    [entry 12]
    hello
    ```

    I could not recall “tea”: the history could not be read
    ");
}

#[test]
fn it_does_several_things_side_by_side() {
    insta::assert_snapshot!(answers(&[
        "add 2 and 3 and read notes.txt",
        "thanks. Now 2+2 and 3 x 3, please",
        "remember that I am here and then read a.txt",
        "hi, what is 2+2?",
        "read a.txt. What do you remember?",
        "remember that Ann says hello and thanks",
    ]), @r#"
    > add 2 and 3 and read notes.txt
    calls calculator: {"expression":"2 + 3"}
    calls read_file: {"path":"notes.txt"}
    > thanks. Now 2+2 and 3 x 3, please
    calls calculator: {"expression":"2 + 2"}
    calls calculator: {"expression":"3 * 3"}
    > remember that I am here and then read a.txt
    calls notebook_append: {"text":"I am here"}
    calls read_file: {"path":"a.txt"}
    > hi, what is 2+2?
    calls calculator: {"expression":"2 + 2"}
    > read a.txt. What do you remember?
    calls read_file: {"path":"a.txt"}
    > remember that Ann says hello and thanks
    calls notebook_append: {"text":"Ann says hello and thanks"}
    "#);
}

#[test]
fn it_thinks_when_asked_to() {
    insta::assert_snapshot!(answers(&["think about tea", "please think hard about life."]), @"
    > think about tea
    thinks: I am to think about tea. I know nothing by myself: all I have is the notebook, a calculator and files. The notebook says:

    - I like tea
    says: I thought about tea. I am too small a model to have views of my own. The notebook says:

    - I like tea
    > please think hard about life.
    thinks: I am to think about life. I know nothing by myself: all I have is the notebook, a calculator and files. The notebook says nothing about it.
    says: I thought about life. I am too small a model to have views of my own. The notebook says nothing about it.
    ");
    let mut request = Story::new().says("think about life").request();
    request.options.thinking = Some(Thinking::Off);
    assert!(!answer_to(request).contains("thinks"));
}

#[test]
fn it_is_polite_and_says_what_it_can_do() {
    insta::assert_snapshot!(answers(&["Hello!", "thank you", "help", "write me a poem", "  "]), @"
    > Hello!
    says: Hello! I am guide. Say `help` to see what I can do.
    > thank you
    says: You are welcome.
    > help
    says: I am guide, the small model that is built into Threadline. I work offline, by fixed rules, and I understand:

    - `remember that X`, `what do you remember?` and `forget X`
    - sums such as `add 2 and 3`, `17 minus 4` or `2 + 3 * 4`
    - `read FILE`
    - `recall 12`, an entry by its number, and `what did I say about X?`
    - several at once, such as `add 2 and 3 and read FILE`; quotation marks keep words together
    - `think about X`
    - `help`

    To talk with a real model, set its key, such as ANTHROPIC_API_KEY or OPENAI_API_KEY, or start a server of your own, such as Ollama; `threadline models` then lists what can be asked.
    > write me a poem
    says: I do not understand that. I am guide, the small model that is built into Threadline. I work offline, by fixed rules, and I understand:

    - `remember that X`, `what do you remember?` and `forget X`
    - sums such as `add 2 and 3`, `17 minus 4` or `2 + 3 * 4`
    - `read FILE`
    - `recall 12`, an entry by its number, and `what did I say about X?`
    - several at once, such as `add 2 and 3 and read FILE`; quotation marks keep words together
    - `think about X`
    - `help`

    To talk with a real model, set its key, such as ANTHROPIC_API_KEY or OPENAI_API_KEY, or start a server of your own, such as Ollama; `threadline models` then lists what can be asked.
    >   
    says: I can read text only, and there is none.
    ");
}

#[test]
fn results_are_told_as_they_are() {
    let asks = Story::new()
        .says("add 2 and 3 and read notes.txt")
        .calls("calculator", r#"{"expression":"2 + 3"}"#)
        .calls("read_file", r#"{"path":"notes.txt"}"#);
    let done = asks.clone().gets(Status::Success, "5").gets(Status::Success, "one\n```\ntwo\n");
    insta::assert_snapshot!(answer(&done), @"
    says: 2 + 3 = 5.

    Here is notes.txt:

    ````
    one
    ```
    two
    ````
    ");
    let short =
        asks.clone().gets(Status::Success, "2 + 3 ≈ 5").gets(Status::Success, "(x is empty)");
    insta::assert_snapshot!(answer(&short), @"
    says: 2 + 3 ≈ 5.

    notes.txt is empty.
    ");
    let failed = asks
        .clone()
        .gets(Status::Failed, "division by zero")
        .gets(Status::Failed, "there is no file notes.txt");
    insta::assert_snapshot!(answer(&failed), @"
    says: I could not work out 2 + 3: division by zero

    I could not read notes.txt: there is no file notes.txt
    ");
    let stopped = asks.gets(Status::Skipped, "cancelled").gets(Status::Unknown, "");
    insta::assert_snapshot!(answer(&stopped), @"
    says: I did not work out 2 + 3: cancelled

    I do not know whether I managed to read notes.txt: it was started, and no answer came. Please check before you ask for it again.
    ");
}

#[test]
fn results_of_the_notebook_and_of_other_tools_are_told() {
    let notes = Story::new()
        .says("remember that I like tea")
        .calls("notebook_append", r#"{"text":"I like tea"}"#)
        .calls("notebook_replace", r#"{"find":"a\nmy cat","with":"a"}"#)
        .calls("shell", "not json")
        .calls("shell", "{}")
        .gets(Status::Success, "added")
        .gets(Status::Success, "replaced")
        .gets(Status::Success, "ok")
        .gets(Status::Unknown, "The connection was lost.");
    insta::assert_snapshot!(answer(&notes), @"
    says: I will remember: I like tea

    I have forgotten: my cat

    `shell` is done: ok

    I do not know whether I managed to do what `shell` does: it was started, and no answer came (The connection was lost.). Please check before you ask for it again.
    ");
}

#[test]
fn what_needs_no_tool_is_answered_once_the_calls_are_done() {
    let story = Story::new()
        .says("remember that I like tea. What do you remember?")
        .screen("## Notebook\n\n(empty)");
    insta::assert_snapshot!(answer(&story), @r#"calls notebook_append: {"text":"I like tea"}"#);
    let done = story
        .calls("notebook_append", r#"{"text":"I like tea"}"#)
        .gets(Status::Success, "added")
        .screen("## Notebook\n\n```\nI like tea\n```");
    insta::assert_snapshot!(answer(&done), @"
    says: I will remember: I like tea

    I remember:

    - I like tea
    ");
}

#[test]
fn a_tool_that_is_missing_or_forbidden_is_told() {
    let story = Story::new().with_tools(&["read_file"]).says("add 2 and 3 and read a.txt");
    insta::assert_snapshot!(answer(&story), @r#"
    says: I need the tool `calculator` for that, and I do not have it.
    calls read_file: {"path":"a.txt"}
    "#);
    let mut request = story.request();
    request.choice = ToolChoice::Never;
    insta::assert_snapshot!(answer_to(request.clone()), @"
    says: I need the tool `calculator` for that, and I do not have it.

    I need the tool `read_file` for that, and may not call it now.
    ");
    request.choice = ToolChoice::Only("read_file".into());
    assert!(answer_to(request).contains("calls read_file"));
}

#[test]
fn inputs_that_come_in_between_are_answered_too() {
    let story = Story::new()
        .says("add 2 and 3")
        .calls("calculator", r#"{"expression":"2 + 3"}"#)
        .gets(Status::Success, "5")
        .says("read a.txt")
        .says("hello");
    insta::assert_snapshot!(answer(&story), @r#"
    says: 2 + 3 = 5.
    calls read_file: {"path":"a.txt"}
    "#);
}

#[test]
fn a_turn_that_was_ended_is_not_taken_up_by_itself() {
    let ended = Story::new().says("read a.txt").ended("[cancelled: please add 2 and 3]");
    insta::assert_snapshot!(answer(&ended.clone().says("hello")), @"says: Hello! I am guide. Say `help` to see what I can do.");
    insta::assert_snapshot!(answer(&ended.says("go on")), @r#"calls read_file: {"path":"a.txt"}"#);
    let started = Story::new()
        .says("read a.txt")
        .calls("read_file", r#"{"path":"a.txt"}"#)
        .gets(Status::Unknown, "cancelled")
        .ended("[cancelled: please add 2 and 3]");
    insta::assert_snapshot!(answer(&started.clone().says("thanks")), @"says: You are welcome.");
    insta::assert_snapshot!(answer(&started.says("please continue")), @"says: I do not know whether I managed to read a.txt: it was started, and no answer came (cancelled). Please check before you ask for it again.");
    insta::assert_snapshot!(answer(&Story::new().says("go on")), @"says: There is nothing to go on with.");
}

#[test]
fn a_result_that_is_shown_already_is_told_as_it_is() {
    let read = |story: Story, text: &str| {
        story
            .says("read a.txt")
            .calls("read_file", r#"{"path":"a.txt"}"#)
            .gets(Status::Success, text)
    };
    let first = read(Story::new(), "all that is in it");
    let told = answer(&first);
    let entry = 4;
    let again = read(first.answers("done"), &format!("[same as seq {entry}]"));
    assert_eq!(answer(&again), told);
    let unknown = read(Story::new(), "[same as seq 99]");
    assert!(answer(&unknown).contains("[same as seq 99]"));
}

#[test]
fn odd_contexts_have_an_answer() {
    insta::assert_snapshot!(answer(&Story::new()), @"says: There is nothing for me to answer. Say `help` to see what I can do.");
    insta::assert_snapshot!(answer(&Story::new().earlier("- add 2 and 3")), @"says: There is nothing for me to answer. Say `help` to see what I can do.");
    insta::assert_snapshot!(answer(&Story::new().says("hello").answers("Hello!")), @"says: There is nothing for me to answer. Say `help` to see what I can do.");
    let folded = Story::new().earlier("- add 2 and 3").says("what is 1+1?");
    insta::assert_snapshot!(answer(&folded), @r#"calls calculator: {"expression":"1 + 1"}"#);
}

#[test]
fn titles_and_recaps_quote_what_was_asked() {
    let mut request = Story::new()
        .says("read the file that has all the names of the people in it")
        .answers("no")
        .ended("[cancelled]")
        .says("thanks")
        .request();
    request.purpose = Purpose::Title;
    insta::assert_snapshot!(answer_to(request.clone()), @"says: read the file that has all the names …");
    request.purpose = Purpose::Recap;
    insta::assert_snapshot!(answer_to(request), @"
    says: This was asked:

    - read the file that has all the names …
    - thanks
    ");
}

#[test]
fn how_to_connect_a_model_is_the_composers_word() {
    let guide = Guide { connect: "Set a key.".into(), ..Guide::default() };
    let told = transcript(&guide, Story::new().says("help").request());
    assert!(told.contains("Set a key."), "{told}");
}

#[test]
fn it_streams_word_by_word_and_tells_what_it_took() {
    let heard = hear(Guide::default().invoke(Story::new().says("thanks").request()));
    let pieces = heard.deltas.iter().filter_map(|delta| match delta {
        Delta::Fragment { text, .. } => Some(&**text),
        _ => None,
    });
    assert_eq!(pieces.collect::<Vec<_>>(), ["You ", "are ", "welcome."]);
    let usage = heard.deltas.iter().find_map(|delta| match delta {
        Delta::Usage(usage) => Some(*usage),
        _ => None,
    });
    let usage = usage.unwrap();
    assert!(usage.input > 50 && (3..8).contains(&usage.output), "{usage:?}");
}

#[tokio::test(start_paused = true)]
async fn a_pause_is_made_over_each_word() {
    let guide = Guide { pause_ms: 10, ..Guide::default() };
    let mut stream = guide.invoke(Story::new().says("thanks").request());
    let start = tokio::time::Instant::now();
    while let Some(delta) = std::future::poll_fn(|task| stream.as_mut().poll_next(task)).await {
        delta.unwrap();
    }
    assert_eq!(start.elapsed().as_millis(), 30);
}

#[test]
fn its_target_says_what_it_can_do() {
    let target = Guide::target();
    assert_eq!(&*target.name, GUIDE);
    assert_eq!(target.profile.window_tokens, 32_000);
    assert_eq!(target.profile.tools, ToolSupport::SideBySide);
    assert_eq!((target.profile.media, target.unusable), (Vec::new(), None::<Arc<str>>));
}

#[test]
fn what_could_be_several_is_asked_about() {
    let story = Story::new().says("forget tea").screen("## Notebook\n\n```\nred tea\ntea\n```");
    insta::assert_snapshot!(answer(&story), @r#"calls notebook_replace: {"find":"\ntea","with":""}"#);
    let story = Story::new().says("forget tea").screen("## Notebook\n\n```\nred tea\nno tea\n```");
    insta::assert_snapshot!(answer(&story), @"
    says: Which of these should I forget?

    - red tea
    - no tea
    ");
}
