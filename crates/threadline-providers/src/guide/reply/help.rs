//! What the guide says that it can do: what its tools let it do.

use threadline_core::history::fact::Verdict;

use super::Writing;

/// Phrases that belong together, each with the tool that it needs.
type Group = [(&'static str, &'static str)];

const NOTES: [(&str, &str); 3] = [
    ("notebook_append", "`remember that X`"),
    ("notebook_append", "`what do you remember?`"),
    ("notebook_replace", "`forget X`"),
];
const TASKS: [(&str, &str); 6] = [
    ("task_add", "`add a task: X`"),
    ("task_list", "`what are the tasks?`"),
    ("task_start", "`start task 2`"),
    ("task_finish", "`finish task 2`"),
    ("task_drop", "`drop task 2`"),
    ("task_move", "`move task 2 to the top`"),
];
const FILES: [(&str, &str); 5] = [
    ("list_files", "`list files`"),
    ("read_file", "`read FILE`"),
    ("search_files", "`search for X`"),
    ("write_file", "`write FILE: TEXT`"),
    ("edit_file", "`replace X with Y in FILE`"),
];
const SHARED: [(&str, &str); 4] = [
    ("resource_put", "`share X as KEY`"),
    ("resource_get", "`get KEY`"),
    ("resource_list", "`what is shared?`"),
    ("resource_drop", "`unshare KEY`"),
];
const AGENTS: [(&str, &str); 4] = [
    ("call_agent", "`who is here?`"),
    ("call_agent", "`ask NAME to X`"),
    ("call_agent", "`tell NAME to X` (its answer comes later)"),
    ("call_agent", "`plan X; Y` (two agents side by side)"),
];
const TIME: [(&str, &str); 4] = [
    ("wait", "`wait 5 seconds`"),
    ("set_timer", "`remind me in 5 minutes to X`"),
    ("set_timer", "`every hour X`"),
    ("clear_timer", "`stop timer 12`"),
];
const RECALL: [(&str, &str); 1] =
    [("recall", "`recall 12`, an entry by its number, and `what did I say about X?`")];
const SUMS: [(&str, &str); 1] =
    [("calculator", "sums such as `add 2 and 3`, `17 minus 4` or `2 + 3 * 4`")];

impl Writing<'_> {
    /// What the guide is and understands, and how to connect a real model.
    pub(super) fn help(&self) -> String {
        let clock = self.scene.clock.map(|_| "`what time is it?` and `what day is it?`".to_owned());
        let lines = [
            self.phrases(&NOTES),
            self.phrases(&SUMS),
            self.phrases(&TASKS),
            self.phrases(&FILES).map(|files| files + self.asks()),
            self.phrases(&SHARED),
            self.phrases(&AGENTS),
            clock,
            self.phrases(&TIME),
            self.phrases(&RECALL),
            Some(self.several()),
            Some("`think about X`".to_owned()),
            Some("`help`".to_owned()),
        ];
        let lines = lines.into_iter().flatten().map(|line| format!("- {line}"));
        format!(
            "I am guide, the small model that is built into Threadline. I work offline, by fixed \
             rules, and I understand:\n\n{}\n\n{}",
            lines.collect::<Vec<_>>().join("\n"),
            self.connect
        )
    }

    /// The phrases of a group whose tools are there.
    fn phrases(&self, group: &Group) -> Option<String> {
        let there = group.iter().filter(|(tool, _)| self.has(tool)).map(|(_, phrase)| *phrase);
        let there = there.collect::<Vec<_>>();
        let (last, others) = there.split_last()?;
        Some(match others {
            [] => (*last).to_owned(),
            others => format!("{} and {last}", others.join(", ")),
        })
    }

    fn has(&self, tool: &str) -> bool {
        self.request.catalogue.get(tool).is_some()
    }

    /// That a person is asked before a file changes, if it is so.
    fn asks(&self) -> &'static str {
        let asks = |tool| {
            let spec = self.request.catalogue.get(tool);
            spec.is_some_and(|spec| spec.verdict == Verdict::Ask)
        };
        if asks("write_file") || asks("edit_file") {
            "; you are asked before a file changes"
        } else {
            ""
        }
    }

    fn several(&self) -> String {
        let sums = self.has("calculator") && self.has("read_file");
        let such = if sums { ", such as `add 2 and 3 and read FILE`" } else { "" };
        format!("several at once{such}; quotation marks keep words together")
    }
}
