//! What a simulated agent does, and what comes of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use threadline_core::history::fact::{Status, ToolCall};
use threadline_core::history::sections::{Section, Shorter};
use threadline_testing::ids::Choices;

use super::text;

/// How many of a hundred results hold a fact.
const FACTS_PERCENT: u64 = 35;

/// A call, and what comes of it.
pub(super) struct Done {
    pub(super) call: ToolCall,
    pub(super) status: Status,
    pub(super) result: Section,
    /// The subject and the value that the result holds.
    pub(super) fact: Option<(String, String)>,
}

/// What the agent works on.
pub(super) struct Desk {
    /// The files of the turn.
    files: Vec<String>,
    /// What was read of a file since it was last changed.
    read: BTreeMap<String, Arc<str>>,
}

impl Desk {
    pub(super) fn new(choices: &mut Choices) -> Self {
        let mut desk = Self { files: Vec::new(), read: BTreeMap::new() };
        desk.turn_to(choices);
        desk
    }

    /// Another task: other files, but for some of those before.
    pub(super) fn turn_to(&mut self, choices: &mut Choices) {
        self.files.truncate(2);
        let more = 5 + choices.below(6);
        self.files.extend((0..more).map(|_| text::path(choices)));
    }

    /// The file that it is mainly about.
    pub(super) fn focus(&self) -> String {
        self.files.last().cloned().unwrap_or_default()
    }

    /// The next call.
    pub(super) fn work(&mut self, choices: &mut Choices) -> Done {
        match choices.below(100) {
            0..28 => self.read_file(choices),
            28..40 => search(choices),
            40..46 => list(choices),
            46..68 => self.run(choices),
            68..90 => self.edit(choices),
            90..94 => ticket(choices),
            _ => remote(choices),
        }
    }

    /// A file of the turn, or another one of the project.
    fn file(&self, choices: &mut Choices) -> String {
        let own = if choices.percent(60) { choices.pick(&self.files) } else { None };
        own.cloned().unwrap_or_else(|| text::path(choices))
    }

    fn read_file(&mut self, choices: &mut Choices) -> Done {
        let path = self.file(choices);
        let arguments = format!(r#"{{"path":"{path}"}}"#);
        if let Some(same) = self.read.get(&path) {
            let result = file_section(&path, Arc::clone(same));
            return done("read_file", arguments, result, None);
        }
        // Mostly a page of some hundred lines, now and then a large file.
        let large = choices.percent(10);
        let tokens = if large { 2500 + choices.below(3500) } else { size(choices, 200, 2500) };
        let (fact, line) = fact(choices, &path, |value| format!("const KEY: &str = \"{value}\";"));
        let body: Arc<str> = text::lines(choices, tokens, line.as_deref(), text::code).into();
        self.read.insert(path.clone(), Arc::clone(&body));
        done("read_file", arguments, file_section(&path, body), fact)
    }

    fn run(&mut self, choices: &mut Choices) -> Done {
        let path = self.file(choices);
        let name = path.rsplit('/').next().unwrap_or_default().trim_end_matches(".rs").to_owned();
        let arguments = format!(r#"{{"command":"cargo test -p {name}","timeout_seconds":120}}"#);
        let tokens = size(choices, 60, 2000);
        let (fact, line) = fact(choices, &name, |value| format!("thread panicked: left {value}"));
        let body = text::lines(choices, tokens, line.as_deref(), text::test);
        let head = format!("running tests of {name}");
        done("shell", arguments, Section::text(format!("{head}\n{body}")), fact)
    }

    fn edit(&mut self, choices: &mut Choices) -> Done {
        let path = self.file(choices);
        let (find, replace) = (15 + choices.below(60), 15 + choices.below(150));
        let find = text::lines(choices, find, None, text::code);
        let replace = text::lines(choices, replace, None, text::code);
        let arguments = format!(r#"{{"path":"{path}","find":{find:?},"replace":{replace:?}}}"#);
        self.read.remove(&path);
        let diff = text::lines(choices, 60, None, text::code);
        let text = format!("edited {path}: 1 place\n{diff}");
        done("edit_file", arguments, Section::text(text), None)
    }
}

fn search(choices: &mut Choices) -> Done {
    let (word, tokens) = (text::value(choices), size(choices, 60, 900));
    let arguments = format!(r#"{{"query":"{word}","path":"crates"}}"#);
    let (fact, line) = fact(choices, &word, |value| format!("docs/runbook.md:12: {value}"));
    let body = text::lines(choices, tokens, line.as_deref(), text::hit);
    done("search", arguments, Section::text(body), fact)
}

fn list(choices: &mut Choices) -> Done {
    let path = text::path(choices);
    let folder = path.rsplit_once('/').map_or("crates", |(folder, _)| folder);
    let arguments = format!(r#"{{"path":"{folder}"}}"#);
    let tokens = size(choices, 50, 400);
    let body = text::lines(choices, tokens, None, |choices, _| text::path(choices));
    done("list", arguments, Section::text(body), None)
}

fn ticket(choices: &mut Choices) -> Done {
    let id = format!("OPS-{}", 1000 + choices.below(9000));
    let tokens = size(choices, 150, 1000);
    let (fact, line) = fact(choices, &id, |value| format!("Affected account: {value}"));
    let body = text::lines(choices, tokens, line.as_deref(), text::prose);
    let arguments = format!(r#"{{"id":"{id}"}}"#);
    done("ticket", arguments, Section::text(format!("{id}: open\n{body}")), fact)
}

fn remote(choices: &mut Choices) -> Done {
    let host = format!("db-{:03}.internal", choices.below(900));
    let tokens = size(choices, 150, 3000);
    let arguments = format!(r#"{{"command":"ssh {host} journalctl -u gateway -n 200"}}"#);
    let (fact, line) = fact(choices, &host, |value| format!("12:04:11 WARN gateway: seen {value}"));
    let body = text::lines(choices, tokens, line.as_deref(), text::log);
    done("shell", arguments, Section::text(body), fact)
}

/// A size between two, small ones more often than large ones.
fn size(choices: &mut Choices, least: u64, most: u64) -> u64 {
    let span = most - least;
    let (a, b) = (choices.below(span), choices.below(span));
    least + a * b / span
}

/// A fact about a subject now and then, and the line that tells it.
fn fact(
    choices: &mut Choices,
    subject: &str,
    tell: impl Fn(&str) -> String,
) -> (Option<(String, String)>, Option<String>) {
    if !choices.percent(FACTS_PERCENT) {
        return (None, None);
    }
    let value = text::value(choices);
    let line = tell(&value);
    (Some((subject.to_owned(), value)), Some(line))
}

/// A file as the tool that reads files tells it.
fn file_section(path: &str, body: Arc<str>) -> Section {
    let gist = format!("read {path}: {} lines", body.lines().count());
    Section { gist: Shorter::Own(gist.into()), ..Section::text(body) }
}

fn done(name: &str, arguments: String, result: Section, fact: Option<(String, String)>) -> Done {
    let call = ToolCall {
        name: name.into(),
        arguments: arguments.into(),
        repaired: None,
        provider_id: None,
        complete: true,
        state: None,
    };
    Done { call, status: Status::Success, result, fact }
}
