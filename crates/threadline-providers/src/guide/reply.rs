//! What the guide replies: what it says, and the calls it makes.

mod agents;
mod files;
mod help;
mod notes;
mod quotes;
mod shared;
mod tasks;
mod timing;

use serde_json::Value;
use threadline_core::history::fact::Purpose;
use threadline_core::provider::{Request, ToolChoice};

use super::scene::{Scene, WAIT, up_to_wait};
use super::screen::Clock;
use super::told::told;
use super::wish::{SharedWish, TaskWish, Wish};

const CALCULATOR: &str = "calculator";
const READ_FILE: &str = "read_file";
const RECALL: &str = "recall";
const APPEND: &str = "notebook_append";
const REPLACE: &str = "notebook_replace";
const REPLACE_SPAN: &str = "notebook_replace_span";

/// What the guide says and does in one answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) thought: String,
    pub(super) text: String,
    pub(super) calls: Vec<Call>,
}

/// A call that the guide makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) tool: &'static str,
    pub(super) arguments: String,
}

impl Reply {
    /// The reply to a request.
    pub(super) fn to(request: &Request, connect: &str) -> Self {
        match request.purpose {
            Purpose::Step => step(request, connect),
            Purpose::Recap => Self { text: quotes::recap(&request.context), ..Self::default() },
            Purpose::Title => Self { text: quotes::title(&request.context), ..Self::default() },
        }
    }
}

fn step(request: &Request, connect: &str) -> Reply {
    let mut scene = Scene::of(&request.context);
    let (results, asked) = (scene.results.clone(), std::mem::take(&mut scene.asked));
    let (wishes, unclear) = (std::mem::take(&mut scene.wishes), scene.unclear);
    // What follows a wait is done after it.
    let waits = request.catalogue.get(WAIT).is_some();
    let wishes = if waits { up_to_wait(&wishes) } else { &wishes };
    let mut writing = Writing::new(request, connect, scene);
    for (call, result) in &results {
        writing.say(told(*call, result));
    }
    for wish in &asked {
        writing.answer_later(wish);
    }
    for wish in wishes {
        writing.act(wish);
    }
    // Calls come first: what can be said without them is said once they are done.
    if writing.calls.is_empty() {
        for wish in wishes {
            writing.answer_later(wish);
        }
    }
    match unclear.map(str::trim) {
        Some("") => writing.say("I can read text only, and there is none.".to_owned()),
        Some(_) => writing.say(format!("I do not understand that. {}", writing.help())),
        None => {}
    }
    let nothing = writing.sentences.is_empty() && writing.calls.is_empty();
    if nothing && wishes.contains(&Wish::GoOn) {
        writing.say("There is nothing to go on with.".to_owned());
    } else if nothing {
        writing.say("There is nothing for me to answer. Say `help` to see what I can do.".into());
    }
    writing.into_reply()
}

/// A reply as it comes about.
struct Writing<'a> {
    request: &'a Request,
    connect: &'a str,
    /// What there is to go by. Its notebook is as it will be after the calls so far.
    scene: Scene<'a>,
    thoughts: Vec<String>,
    sentences: Vec<String>,
    calls: Vec<Call>,
}

impl<'a> Writing<'a> {
    fn new(request: &'a Request, connect: &'a str, scene: Scene<'a>) -> Self {
        let (thoughts, sentences, calls) = (Vec::new(), Vec::new(), Vec::new());
        Self { request, connect, scene, thoughts, sentences, calls }
    }

    fn into_reply(self) -> Reply {
        let thought = self.thoughts.join("\n\n");
        Reply { thought, text: self.sentences.join("\n\n"), calls: self.calls }
    }

    fn say(&mut self, sentence: String) {
        self.sentences.push(sentence);
    }

    /// Does what a wish needs a tool for.
    fn act(&mut self, wish: &Wish) {
        let text = |text: &String| Value::from(text.as_str());
        match wish {
            Wish::Remember(note) => self.call(APPEND, &[("text", text(note))]),
            Wish::Compute(expression) => {
                self.call(CALCULATOR, &[("expression", text(expression))]);
            }
            Wish::Read(path) => self.call(READ_FILE, &[("path", text(path))]),
            Wish::Reread(seq, None) => self.call(RECALL, &[("seq", (*seq).into())]),
            Wish::Reread(seq, Some(page)) => {
                self.call(RECALL, &[("seq", (*seq).into()), ("page", (*page).into())]);
            }
            Wish::Find(what) => self.call(RECALL, &[("query", text(what))]),
            Wish::Forget(what) => self.forget(what),
            Wish::Rewrite { find, with } => {
                self.call(REPLACE, &[("find", text(find)), ("with", text(with))]);
            }
            Wish::RewriteSpan { start, end, with } => {
                let span = [("start", text(start)), ("end", text(end)), ("with", text(with))];
                self.call(REPLACE_SPAN, &span);
            }
            Wish::File(wish) => self.act_on_files(wish),
            Wish::Task(wish) => self.act_on_tasks(wish),
            Wish::Shared(wish) => self.act_on_shared(wish),
            Wish::Agent(wish) => self.act_on_agents(wish),
            Wish::Timing(wish) => self.act_on_time(wish),
            Wish::Recall(_)
            | Wish::Time
            | Wish::Day
            | Wish::Think(_)
            | Wish::Help
            | Wish::Greet
            | Wish::Thanks
            | Wish::GoOn => {}
        }
    }

    /// Answers what needs no tool.
    fn answer_later(&mut self, wish: &Wish) {
        match wish {
            Wish::Recall(about) => self.recall(about.as_deref()),
            Wish::Task(TaskWish::List { ended: false }) => self.tell_tasks(),
            Wish::Shared(SharedWish::List) => self.tell_shared(),
            Wish::Agent(wish) => self.tell_agents(wish),
            Wish::Timing(wish) => self.tell_time(wish),
            Wish::Time => self.tell_clock(Clock::time),
            Wish::Day => self.tell_clock(Clock::day),
            Wish::Think(what) => self.think(what),
            Wish::Help => self.say(self.help()),
            Wish::Greet => {
                self.say("Hello! I am guide. Say `help` to see what I can do.".to_owned());
            }
            Wish::Thanks => self.say("You are welcome.".to_owned()),
            Wish::Remember(_)
            | Wish::Compute(_)
            | Wish::Read(_)
            | Wish::Reread(..)
            | Wish::Find(_)
            | Wish::Forget(_)
            | Wish::Rewrite { .. }
            | Wish::RewriteSpan { .. }
            | Wish::File(_)
            | Wish::Task(_)
            | Wish::Shared(_)
            | Wish::GoOn => {}
        }
    }

    fn call(&mut self, tool: &'static str, arguments: &[(&str, Value)]) {
        if self.request.catalogue.get(tool).is_none() {
            return self.say(format!("I need the tool `{tool}` for that, and I do not have it."));
        }
        let may = match &self.request.choice {
            ToolChoice::Free | ToolChoice::Some => true,
            ToolChoice::Never => false,
            ToolChoice::Only(name) => &**name == tool,
        };
        if !may {
            return self
                .say(format!("I need the tool `{tool}` for that, and may not call it now."));
        }
        let pairs = arguments.iter().map(|(key, value)| format!("{}:{value}", Value::from(*key)));
        let arguments = format!("{{{}}}", pairs.collect::<Vec<_>>().join(","));
        self.calls.push(Call { tool, arguments });
    }

    /// Whether results that are told now are of this tool.
    fn has_result_of(&self, tool: &str) -> bool {
        self.scene.results.iter().any(|(_, result)| &*result.name == tool)
    }
}
