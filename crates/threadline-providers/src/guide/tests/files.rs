//! Talking about files, and about changes to texts.

use threadline_core::history::fact::Verdict;
use threadline_core::tool::{Catalogue, ToolSpec};

use super::*;

#[test]
fn files_are_listed_read_and_searched() {
    assert_answers(
        NOTEBOOK,
        &[
            ("list files", "list_files: {}"),
            ("What files are there?", "list_files: {}"),
            ("list the files in src", r#"list_files: {"path":"src"}"#),
            ("list files in `my folder`", r#"list_files: {"path":"my folder"}"#),
            ("what files are in the workspace?", "list_files: {}"),
            ("list src/", r#"list_files: {"path":"src/"}"#),
            ("what is in src/", r#"list_files: {"path":"src/"}"#),
            ("what is in the folder src?", r#"list_files: {"path":"src"}"#),
            ("read a.txt from line 20", r#"read_file: {"path":"a.txt","offset":20}"#),
            ("read lines 3 to 9 of a.txt", r#"read_file: {"path":"a.txt","offset":3,"limit":7}"#),
            ("show me line 3 of a.txt", r#"read_file: {"path":"a.txt","offset":3,"limit":1}"#),
            ("search for tea", r#"search_files: {"text":"tea"}"#),
            ("search for tea and coffee", r#"search_files: {"text":"tea and coffee"}"#),
            ("search for tea in src", r#"search_files: {"text":"tea","path":"src"}"#),
            ("search for \"tea in src\"", r#"search_files: {"text":"tea in src"}"#),
            ("search for the cat in the hat", r#"search_files: {"text":"the cat in the hat"}"#),
            ("search the files for tea", r#"search_files: {"text":"tea"}"#),
            ("search src/ for tea", r#"search_files: {"text":"tea","path":"src/"}"#),
            ("find tea in files", r#"search_files: {"text":"tea"}"#),
            (
                "find 'fn main' in src/main.rs",
                r#"search_files: {"text":"fn main","path":"src/main.rs"}"#,
            ),
            ("where is tea in the files?", r#"search_files: {"text":"tea"}"#),
            ("find what I said about tea", r#"recall: {"query":"tea"}"#),
        ],
    );
}

#[test]
fn files_are_written_and_changed() {
    let notes = r#"write_file: {"path":"notes.txt","text":"buy tea"}"#;
    assert_answers(
        NOTEBOOK,
        &[
            ("write notes.txt: buy tea", notes),
            ("write buy tea to notes.txt", notes),
            ("Please write \"buy tea\" to notes.txt.", notes),
            ("save 'buy tea' in the file notes.txt", notes),
            ("create notes.txt with buy tea", notes),
            ("create the file notes.txt with the text “buy tea”", notes),
            ("create a file called notes.txt containing buy tea", notes),
            ("write the file Makefile: all:", r#"write_file: {"path":"Makefile","text":"all:"}"#),
            (
                "write `my notes`: Tea, and rest.",
                r#"write_file: {"path":"my notes","text":"Tea, and rest."}"#,
            ),
            (
                "write a.md:\n```\n# A\n\nread b.txt and rest\n```",
                r##"write_file: {"path":"a.md","text":"# A\n\nread b.txt and rest"}"##,
            ),
            (
                "write a.txt: \"read b.txt. Then rest.\" and read c.txt",
                "write_file: {\"path\":\"a.txt\",\"text\":\"read b.txt. Then rest.\"}\nread_file: {\"path\":\"c.txt\"}",
            ),
            (
                "replace tea with coffee in a.txt",
                r#"edit_file: {"path":"a.txt","find":"tea","with":"coffee"}"#,
            ),
            (
                "change tea to coffee in a.txt",
                r#"edit_file: {"path":"a.txt","find":"tea","with":"coffee"}"#,
            ),
            (
                "replace \"a with b\" by \"c in d\" in the file notes",
                r#"edit_file: {"path":"notes","find":"a with b","with":"c in d"}"#,
            ),
            (
                "replace all tea with rum in a.txt",
                r#"edit_file: {"path":"a.txt","find":"tea","with":"rum","all":true}"#,
            ),
            (
                "replace \"all tea\" with rum in a.txt",
                r#"edit_file: {"path":"a.txt","find":"all tea","with":"rum"}"#,
            ),
            ("remove \"tea\" from a.txt", r#"edit_file: {"path":"a.txt","find":"tea","with":""}"#),
            (
                "replace tea with coffee in the notebook",
                r#"notebook_replace: {"find":"tea","with":"coffee"}"#,
            ),
            (
                "replace all from I to tea with we like rum in your notebook",
                r#"notebook_replace_span: {"start":"I","end":"tea","with":"we like rum"}"#,
            ),
            ("write tea to the notebook", r#"notebook_append: {"text":"tea"}"#),
            (
                "remove the cat from my notebook",
                r#"notebook_replace: {"find":"\nmy cat is called Tom","with":""}"#,
            ),
            ("find tea in the notebook", "says: I remember:\n\n- I like tea"),
        ],
    );
    for phrase in [
        "write me a poem",
        "change trains to Berlin in May",
        "write a poem about tea",
        "create a world",
    ] {
        let told = answer(&story().says(phrase));
        assert!(told.contains("I do not understand that."), "{told}");
    }
}

#[test]
fn results_of_files_are_told() {
    let diff = "edited a.txt: replaced text in line 1: 1 line added, 1 line removed\n--- a.txt\n+++ a.txt\n-tea\n+coffee";
    let done = story()
        .says("…")
        .calls("list_files", "{}")
        .calls("list_files", r#"{"path":"src"}"#)
        .calls("search_files", r#"{"text":"tea"}"#)
        .calls("search_files", r#"{"text":"rum","path":"src"}"#)
        .calls("write_file", r#"{"path":"a.txt","text":"tea"}"#)
        .calls("edit_file", r#"{"path":"a.txt","find":"tea","with":"coffee"}"#)
        .calls("edit_file", r#"{"path":"a.txt","find":"tea","with":"tea"}"#)
        .calls("notebook_replace", r#"{"find":"tea","with":"coffee"}"#)
        .gets(Status::Success, "a.txt  3 bytes\nsrc/\n[1 folder, 1 file]")
        .gets(Status::Success, "(src is empty)")
        .gets(Status::Success, "a.txt:1: tea\n[1 match; 3 files searched]")
        .gets(Status::Success, "[nothing found for \"rum\" in src; 3 files searched]")
        .gets(Status::Success, "created a.txt: 1 line, 3 bytes")
        .gets(Status::Success, diff)
        .gets(Status::Success, "nothing changed: a.txt reads so already")
        .gets(Status::Success, "replaced");
    insta::assert_snapshot!(answer(&done), @r#"
    says: These are the files of the workspace:

    ```
    a.txt  3 bytes
    src/
    [1 folder, 1 file]
    ```

    src is empty.

    This is what I have found for “tea”:

    ```
    a.txt:1: tea
    [1 match; 3 files searched]
    ```

    Nothing found for "rum" in src; 3 files searched.

    I have created a.txt: 1 line, 3 bytes.

    I have edited a.txt: replaced text in line 1: 1 line added, 1 line removed:

    ```
    --- a.txt
    +++ a.txt
    -tea
    +coffee
    ```

    Nothing changed: a.txt reads so already.

    The notebook now has: coffee
    "#);
    let not = story()
        .says("…")
        .calls("write_file", r#"{"path":"a.txt","text":"tea"}"#)
        .calls("edit_file", r#"{"path":"a.txt","find":"tea","with":"coffee"}"#)
        .calls("edit_file", r#"{"path":"b.txt","find":"tea","with":"coffee"}"#)
        .calls("search_files", r#"{"text":"tea"}"#)
        .calls("write_file", r#"{"path":"c.txt","text":"tea"}"#)
        .gets(Status::Skipped, "not run: it was declined")
        .gets(Status::Skipped, "not run: a rule does not allow it (files are not to be changed)")
        .gets(Status::Failed, "b.txt was not edited: there are 2 places\nline 1: tea\nline 2: tea")
        .gets(Status::Skipped, "cancelled")
        .gets(Status::Unknown, "the connection was lost");
    insta::assert_snapshot!(answer(&not), @"
    says: I did not write a.txt: it was declined. Nothing was changed. If you want it after all, ask again and allow it.

    I did not change a.txt: a rule does not allow it (files are not to be changed). Change the rule if you want it done.

    I could not change b.txt: b.txt was not edited: there are 2 places

    ```
    line 1: tea
    line 2: tea
    ```

    I did not search the workspace for “tea”: cancelled

    I do not know whether I managed to write c.txt: it was started, and no answer came (the connection was lost). Please check before you ask for it again.
    ");
}

#[test]
fn a_story_of_files() {
    let asked = story().says("write a.txt: tea, then replace tea with rum in a.txt. List files");
    insta::assert_snapshot!(answer(&asked), @r#"
    calls write_file: {"path":"a.txt","text":"tea"}
    calls edit_file: {"path":"a.txt","find":"tea","with":"rum"}
    calls list_files: {}
    "#);
    let done = asked
        .calls("write_file", r#"{"path":"a.txt","text":"tea"}"#)
        .calls("edit_file", r#"{"path":"a.txt","find":"tea","with":"rum"}"#)
        .calls("list_files", "{}")
        .gets(Status::Success, "created a.txt: 1 line, 3 bytes")
        .gets(Status::Skipped, "not run: it was declined")
        .gets(Status::Success, "a.txt  3 bytes\n[0 folders, 1 file]");
    insta::assert_snapshot!(answer(&done), @"
    says: I have created a.txt: 1 line, 3 bytes.

    I did not change a.txt: it was declined. Nothing was changed. If you want it after all, ask again and allow it.

    These are the files of the workspace:

    ```
    a.txt  3 bytes
    [0 folders, 1 file]
    ```
    ");
    let without = Story::new().says("search for tea and list files, then write a.txt: tea");
    insta::assert_snapshot!(answer(&without), @"
    says: I need the tool `search_files` for that, and I do not have it.

    I need the tool `list_files` for that, and I do not have it.

    I need the tool `write_file` for that, and I do not have it.
    ");
}

#[test]
fn help_names_what_is_there() {
    let clock = "## Clock\n\n2026-11-16 10:20 UTC, Monday";
    insta::assert_snapshot!(answer(&story().says("help").screen(clock)), @"
    says: I am guide, the small model that is built into Threadline. I work offline, by fixed rules, and I understand:

    - `remember that X`, `what do you remember?` and `forget X`
    - sums such as `add 2 and 3`, `17 minus 4` or `2 + 3 * 4`
    - `add a task: X`, `what are the tasks?`, `start task 2`, `finish task 2`, `drop task 2` and `move task 2 to the top`
    - `list files`, `read FILE`, `search for X`, `write FILE: TEXT` and `replace X with Y in FILE`
    - `share X as KEY`, `get KEY`, `what is shared?` and `unshare KEY`
    - `what time is it?` and `what day is it?`
    - `wait 5 seconds`, `remind me in 5 minutes to X`, `every hour X` and `stop timer 12`
    - `recall 12`, an entry by its number, and `what did I say about X?`
    - several at once, such as `add 2 and 3 and read FILE`; quotation marks keep words together
    - `think about X`
    - `help`

    To talk with a real model, set its key, such as ANTHROPIC_API_KEY or OPENAI_API_KEY, or start a server of your own, such as Ollama; `threadline models` then lists what can be asked.
    ");
    let few = Story::new().with_tools(&["task_add", "task_list", "write_file"]).says("help");
    insta::assert_snapshot!(answer(&few), @"
    says: I am guide, the small model that is built into Threadline. I work offline, by fixed rules, and I understand:

    - `add a task: X` and `what are the tasks?`
    - `write FILE: TEXT`
    - several at once; quotation marks keep words together
    - `think about X`
    - `help`

    To talk with a real model, set its key, such as ANTHROPIC_API_KEY or OPENAI_API_KEY, or start a server of your own, such as Ollama; `threadline models` then lists what can be asked.
    ");
    let mut request = few.request();
    let asking = |spec: &Arc<ToolSpec>| ToolSpec { verdict: Verdict::Ask, ..(**spec).clone() };
    let tools = ["task_add", "write_file"].map(|name| request.catalogue.get(name).map(asking));
    let tools = tools.into_iter().flatten().map(Arc::new).collect();
    request.catalogue = Arc::new(Catalogue::new(tools, 0).unwrap());
    let told = answer_to(request);
    assert!(told.contains("- `write FILE: TEXT`; you are asked before a file changes"), "{told}");
}
