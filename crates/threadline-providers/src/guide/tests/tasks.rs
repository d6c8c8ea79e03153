//! Talking about tasks.

use super::*;

const BOARD: &str = "## Tasks\n\n2 open, 1 doing, 4 done\n- 2 [doing: guide] pack the bags\n\
                     - 1 [open] buy milk\n- 3 [open, from ann] call Bob (at noon)";

#[test]
fn tasks_are_added() {
    assert_answers(
        BOARD,
        &[
            ("add a task: buy tea", r#"task_add: {"titles":["buy tea"]}"#),
            ("Please add the task buy tea.", r#"task_add: {"titles":["buy tea"]}"#),
            ("add a task buy tea", r#"task_add: {"titles":["buy tea"]}"#),
            ("add a task to buy tea", r#"task_add: {"titles":["buy tea"]}"#),
            ("todo: buy tea and eggs", r#"task_add: {"titles":["buy tea and eggs"]}"#),
            ("TODO: \"read a.txt and rest.\"", r#"task_add: {"titles":["read a.txt and rest."]}"#),
            ("add buy tea to the tasks", r#"task_add: {"titles":["buy tea"]}"#),
            ("add \"2 and 3\" to the board", r#"task_add: {"titles":["2 and 3"]}"#),
            ("add tasks: a, b and c", r#"task_add: {"titles":["a","b","c"]}"#),
            ("add tasks: a, b, and c", r#"task_add: {"titles":["a","b","c"]}"#),
            ("add the tasks a and b", r#"task_add: {"titles":["a","b"]}"#),
            ("add tasks:\n- a\n- b and c", r#"task_add: {"titles":["a","b","c"]}"#),
            ("add tasks: \"a and b\", `c, d`", r#"task_add: {"titles":["a and b","c, d"]}"#),
            (
                "add tasks: call Ann and read docs",
                r#"task_add: {"titles":["call Ann","read docs"]}"#,
            ),
            (
                "add tasks: call Ann, read a.txt",
                r#"task_add: {"titles":["call Ann","read a.txt"]}"#,
            ),
        ],
    );
}

#[test]
fn tasks_are_started_ended_and_moved() {
    assert_answers(
        BOARD,
        &[
            ("start task 2", r#"task_start: {"tasks":[2]}"#),
            ("work on the bags task", r#"task_start: {"tasks":[2]}"#),
            ("finish task 2.", r#"task_finish: {"tasks":[2]}"#),
            ("finish tasks 1, 2 and 3", r#"task_finish: {"tasks":[1,2,3]}"#),
            ("finish task 1 and task 3", r#"task_finish: {"tasks":[1,3]}"#),
            ("finish #3", r#"task_finish: {"tasks":[3]}"#),
            ("task 2 is done", r#"task_finish: {"tasks":[2]}"#),
            ("tasks 2 and 3 are done!", r#"task_finish: {"tasks":[2,3]}"#),
            ("the milk task is done", r#"task_finish: {"tasks":[1]}"#),
            ("finish the milk task", r#"task_finish: {"tasks":[1]}"#),
            ("finish \"buy milk\"", r#"task_finish: {"tasks":[1]}"#),
            ("mark the task call Bob as done", r#"task_finish: {"tasks":[3]}"#),
            ("mark task 3 as started", r#"task_start: {"tasks":[3]}"#),
            ("drop task 2", r#"task_drop: {"tasks":[2]}"#),
            ("remove task 2", r#"task_drop: {"tasks":[2]}"#),
            ("task 1 done", r#"task_finish: {"tasks":[1]}"#),
            ("drop the Bob task", r#"task_drop: {"tasks":[3]}"#),
            ("move task 3 to the top", r#"task_move: {"task":3,"to":"top"}"#),
            ("move the milk task to the end", r#"task_move: {"task":1,"to":"bottom"}"#),
            ("move task 3 before task 1", r#"task_move: {"task":3,"before":1}"#),
            ("move task 3 after the milk task", r#"task_move: {"task":3,"after":1}"#),
            (
                "start task 1 and finish task 2",
                "task_start: {\"tasks\":[1]}\ntask_finish: {\"tasks\":[2]}",
            ),
            ("finish the tea task", "says: No task that is open or being done is like “tea”."),
        ],
    );
}

#[test]
fn other_wishes_stay_what_they_are() {
    assert_answers(
        BOARD,
        &[
            ("add 2 and 3", r#"calculator: {"expression":"2 + 3"}"#),
            ("remember that task 2 is done", r#"notebook_append: {"text":"task 2 is done"}"#),
            ("remember to add a task", r#"notebook_append: {"text":"to add a task"}"#),
            (
                "remember that I like to swim and read books",
                r#"notebook_append: {"text":"I like to swim and read books"}"#,
            ),
            (
                "add a task: buy tea and remember that I like tea",
                "task_add: {\"titles\":[\"buy tea\"]}\nnotebook_append: {\"text\":\"I like tea\"}",
            ),
            (
                "add a task: buy tea, eggs. Then start task 1",
                "task_add: {\"titles\":[\"buy tea, eggs\"]}\ntask_start: {\"tasks\":[1]}",
            ),
            (
                "add tasks: a and b; add 2 and 3",
                "task_add: {\"titles\":[\"a\",\"b\"]}\ncalculator: {\"expression\":\"2 + 3\"}",
            ),
            (
                "add a task: call Ann and get milk",
                r#"task_add: {"titles":["call Ann and get milk"]}"#,
            ),
        ],
    );
    let told = answer(&story().says("start the car").screen(BOARD));
    assert!(told.contains("I do not understand that."), "{told}");
}

#[test]
fn tasks_are_told_from_the_screen_if_it_shows_all() {
    for phrase in ["what are the tasks?", "list the tasks", "What is to be done?", "what is next?"]
    {
        insta::allow_duplicates! {
            insta::assert_snapshot!(answer(&story().says(phrase).screen(BOARD)), @"
            says: These are the tasks (2 open, 1 doing, 4 done):

            - 2 [doing: guide] pack the bags
            - 1 [open] buy milk
            - 3 [open, from ann] call Bob (at noon)
            ");
        }
    }
    assert_answers(
        "## Tasks\n\n9 done",
        &[
            ("what are the tasks?", "says: No task is left to be done (9 done)."),
            ("which tasks are done?", "task_list: {}"),
            ("list all tasks", "task_list: {}"),
        ],
    );
    let part = "## Tasks\n\n9 open\n- 1 [open] a\n[8 more: task_list]";
    assert_answers(
        part,
        &[
            ("what are the tasks?", "task_list: {}"),
            (
                "finish the b task",
                "says: My screen does not show all of the tasks, and of those that I see none is like “b”. Please give its number; `list all tasks` tells it.",
            ),
        ],
    );
    assert_answers(
        "## Clock\n\nnoon",
        &[
            ("what are the tasks?", "task_list: {}"),
            (
                "finish the b task",
                "says: I see no tasks on my screen. Say `add a task: X` to add one.",
            ),
        ],
    );
}

#[test]
fn results_of_tasks_are_told() {
    let added = "added task 4; now 3 open, 1 doing\n+ 4 [open] buy tea";
    let done = story()
        .says("…")
        .calls("task_add", r#"{"titles":["buy tea"]}"#)
        .calls("task_add", r#"{"titles":["a","b"]}"#)
        .calls("task_start", r#"{"tasks":[2]}"#)
        .calls("task_finish", r#"{"tasks":[2,3]}"#)
        .calls("task_move", r#"{"task":3,"to":"top"}"#)
        .calls("task_list", "{}")
        .calls("task_list", "{}")
        .calls("task_add", r#"{"titles":["buy tea"]}"#)
        .gets(Status::Success, added)
        .gets(Status::Success, "added tasks 5, 6; now 5 open\n+ 5 [open] a\n+ 6 [open] b")
        .gets(Status::Success, "started task 2; now 4 open, 1 doing\n~ 2 open → doing")
        .gets(Status::Success, "finished tasks 2, 3 (4 is done already); now 2 done\n~ 2 …")
        .gets(Status::Success, "moved 3 to the top; now 2 open\n~ 3 moved to the top")
        .gets(Status::Success, "1 open\n- 1 [open] a")
        .gets(Status::Success, "there are no tasks; task_add adds some")
        .gets(Status::Success, "nothing changed: 4 has this title already");
    insta::assert_snapshot!(answer(&done), @"
    says: I have added “buy tea” to the tasks:

    ```
    + 4 [open] buy tea
    ```

    I have added 2 tasks:

    ```
    + 5 [open] a
    + 6 [open] b
    ```

    I have started task 2; now 4 open, 1 doing.

    I have finished tasks 2, 3 (4 is done already); now 2 done.

    I have moved 3 to the top; now 2 open.

    These are the tasks:

    ```
    1 open
    - 1 [open] a
    ```

    There are no tasks. Say `add a task: X` to add one.

    Nothing changed: 4 has this title already.
    ");
    let not = story()
        .says("…")
        .calls("task_add", r#"{"titles":["a","b"]}"#)
        .calls("task_finish", r#"{"tasks":[2,3,9]}"#)
        .calls("task_drop", r#"{"tasks":[2]}"#)
        .calls("task_start", "not json")
        .gets(Status::Failed, "a title is blank; say what is to be done")
        .gets(Status::Failed, "there is no task 9\nnothing was changed: ask for the others")
        .gets(Status::Skipped, "not run: it was declined")
        .gets(Status::Unknown, "");
    insta::assert_snapshot!(answer(&not), @"
    says: I could not add 2 tasks: a title is blank; say what is to be done

    I could not finish tasks 2, 3 and 9: there is no task 9

    ```
    nothing was changed: ask for the others
    ```

    I did not drop task 2: it was declined. Nothing was changed. If you want it after all, ask again and allow it.

    I do not know whether I managed to start the task: it was started, and no answer came. Please check before you ask for it again.
    ");
}

#[test]
fn a_story_of_tasks() {
    let asked = story()
        .says("Add a task: buy tea, and what are the tasks? And what time is it?")
        .screen("## Tasks\n\n1 open\n- 1 [open] pack");
    insta::assert_snapshot!(answer(&asked), @r#"calls task_add: {"titles":["buy tea"]}"#);
    let done = asked
        .calls("task_add", r#"{"titles":["buy tea"]}"#)
        .gets(Status::Success, "added task 2; now 2 open\n+ 2 [open] buy tea")
        .screen("## Clock\n\n2026-11-16 10:20 UTC, Monday\n\n## Tasks\n\n2 open\n- 1 [open] pack\n- 2 [open] buy tea");
    insta::assert_snapshot!(answer(&done), @"
    says: I have added “buy tea” to the tasks:

    ```
    + 2 [open] buy tea
    ```

    These are the tasks (2 open):

    - 1 [open] pack
    - 2 [open] buy tea

    It is 10:20 UTC on Monday, 2026-11-16.
    ");
    // The first task of all: there is no board to tell it from, so it is listed.
    let first = story().says("add a task: pack. What are the tasks?").screen("## Clock\n\nnoon");
    insta::assert_snapshot!(answer(&first), @r#"
    calls task_add: {"titles":["pack"]}
    calls task_list: {}
    "#);
    let listed = first
        .calls("task_add", r#"{"titles":["pack"]}"#)
        .calls("task_list", "{}")
        .gets(Status::Success, "added task 1; now 1 open\n+ 1 [open] pack")
        .gets(Status::Success, "1 open\n- 1 [open] pack")
        .screen("## Tasks\n\n1 open\n- 1 [open] pack");
    insta::assert_snapshot!(answer(&listed), @"
    says: I have added “pack” to the tasks:

    ```
    + 1 [open] pack
    ```

    These are the tasks:

    ```
    1 open
    - 1 [open] pack
    ```
    ");
    let without = Story::new().says("add a task: pack and start task 1. What are the tasks?");
    insta::assert_snapshot!(answer(&without), @"
    says: I need the tool `task_add` for that, and I do not have it.

    I need the tool `task_start` for that, and I do not have it.

    I need the tool `task_list` for that, and I do not have it.
    ");
}
