//! Whatever is said and whatever comes back, there is an answer.

use proptest::prelude::*;
use threadline_core::history::fact::{Block, Status};
use threadline_core::provider::{Assembler, Progress, Provider as _};

use super::*;

/// What wishes begin with.
const STARTS: [&str; 37] = [
    "add a task:",
    "add tasks:",
    "todo:",
    "what are the tasks",
    "start task",
    "finish the",
    "drop",
    "mark",
    "move task",
    "list files in",
    "search for",
    "find",
    "write",
    "create",
    "save",
    "replace",
    "change",
    "replace from",
    "share",
    "put",
    "get",
    "unshare",
    "what is under",
    "what time is it",
    "ask ada to",
    "ask ada and bob:",
    "tell bob to",
    "plan",
    "plan:",
    "# Answer of ada\n",
    "It is time:",
    "wait",
    "wait until",
    "remind me",
    "every",
    "wake me in",
    "stop timer",
];

/// What they have between their words.
const MIDDLES: [&str; 23] = [
    "to",
    "in",
    "with",
    "by",
    "as",
    "under",
    "from",
    "before",
    "after",
    "is done",
    "task",
    "to the top",
    "a.txt",
    "the file",
    "the notebook",
    "lines 3 to 2 of",
    "from line",
    "and bob to",
    "5 seconds",
    "an hour and",
    "2026-11-16T09:30:00Z",
    "; ",
    "ada",
];

/// Anything that may be said, weighted towards what is understood.
fn any_words() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("remember that".to_owned()),
        Just("forget".to_owned()),
        Just("read".to_owned()),
        Just("add".to_owned()),
        Just("and".to_owned()),
        Just("go on".to_owned()),
        Just("recall".to_owned()),
        Just("what did I say about".to_owned()),
        Just("think about".to_owned()),
        proptest::sample::select(STARTS.as_slice()).prop_map(str::to_owned),
        proptest::sample::select(MIDDLES.as_slice()).prop_map(str::to_owned),
        "[0-9]{1,3}",
        "[-+*/(),.?`\"'“”:#]",
        "\\PC{0,6}",
    ];
    proptest::collection::vec(word, 0..8).prop_map(|words| words.join(" "))
}

/// Screens, or what is like them.
fn any_screen() -> impl Strategy<Value = String> {
    let section = prop_oneof![
        "(## Notebook\n\n)?(```\n)?\\PC{0,20}(\n```)?",
        "## Tasks\n\n(1 open\n)?(- [0-9]{0,2} \\[(open|doing: x)\\] \\PC{0,9}\n){0,3}(\\[9 more\\])?",
        "## Shared resources\n\n(- \\PC{0,9}\n){0,3}(\\[9 more\\])?",
        "## Clock\n\n\\PC{0,20}(\n- timer [0-9]{0,3}, \\PC{0,9}){0,2}",
    ];
    proptest::collection::vec(section, 0..4).prop_map(|sections| sections.join("\n\n"))
}

proptest! {
    #[test]
    fn any_words_have_an_answer_and_the_same_one_again(
        first in any_words(),
        second in any_words(),
        screen in any_screen(),
        all in any::<bool>(),
    ) {
        let story = if all { story().with_agents(&["ada: sums", "bob"]) } else { Story::new() };
        let story = story.says(&first).says(&second).screen(&screen);
        let heard = hear(Guide::default().invoke(story.request()));
        let mut answer = Assembler::default();
        let last = heard.deltas.iter().map(|delta| answer.push(delta)).last();
        prop_assert_eq!(last, Some(Ok(Progress::Finished)));
        let blocks = answer.finish().unwrap().blocks;
        prop_assert!(!blocks.is_empty());
        for block in &blocks {
            if let Block::ToolCall(call) = block {
                let arguments = serde_json::from_str::<serde_json::Value>(&call.arguments);
                prop_assert!(arguments.is_ok_and(|it| it.is_object()), "{:?}", call);
            }
        }
        let again = hear(Guide::default().invoke(story.request()));
        prop_assert_eq!(heard.deltas, again.deltas);
    }
}

proptest! {
    #[test]
    fn any_result_is_told(
        tool in proptest::sample::select(ALL.as_slice()),
        arguments in prop_oneof![
            "\\PC{0,20}",
            "\\{\"(path|titles|tasks|key|text|with|name|timer)\":(1|\"\\PC{0,6}\"|\\[(1|2,3)?\\]|null)\\}",
        ],
        status in proptest::sample::select(
            [Status::Success, Status::Failed, Status::Skipped, Status::Unknown].as_slice()
        ),
        text in "(not run: |nothing |\\[nothing found|added|created )?\\PC{0,12}(\n\\PC{0,9}){0,2}",
    ) {
        let story = story().says("go").calls(tool, &arguments).gets(status, &text);
        let told = answer(&story);
        prop_assert!(told.starts_with("says: "), "{}", told);
        prop_assert!(!told.contains("calls "), "results are told and never followed by calls");
    }
}
