//! What the guide replies: what it says, and the calls it makes.

use serde_json::Value;
use threadline_core::context::Context;
use threadline_core::history::fact::{Purpose, Thinking};
use threadline_core::provider::{Request, ToolChoice};

use super::notebook::{Found, Notebook};
use super::scene::{self, Scene};
use super::told::{listed, told};
use super::wish::Wish;

const CALCULATOR: &str = "calculator";
const READ_FILE: &str = "read_file";
const RECALL: &str = "recall";
const APPEND: &str = "notebook_append";
const REPLACE: &str = "notebook_replace";

const CAN: &str = "I am guide, the small model that is built into Threadline. I work offline, by \
                   fixed rules, and I understand:\n\n\
                   - `remember that X`, `what do you remember?` and `forget X`\n\
                   - sums such as `add 2 and 3`, `17 minus 4` or `2 + 3 * 4`\n\
                   - `read FILE`\n\
                   - `recall 12`, an entry by its number, and `what did I say about X?`\n\
                   - several at once, such as `add 2 and 3 and read FILE`\n\
                   - `think about X`\n\
                   - `help`";

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
            Purpose::Recap => Self { text: recap(&request.context), ..Self::default() },
            Purpose::Title => Self { text: title(&request.context), ..Self::default() },
        }
    }
}

fn step(request: &Request, connect: &str) -> Reply {
    let scene = Scene::of(&request.context);
    let mut writing = Writing::new(request, connect, scene.notebook.clone());
    for (call, result) in &scene.results {
        writing.say(told(*call, result));
    }
    for wish in &scene.asked {
        writing.answer_later(wish);
    }
    for wish in &scene.wishes {
        writing.act(wish);
    }
    // Calls come first: what can be said without them is said once they are done.
    if writing.calls.is_empty() {
        for wish in &scene.wishes {
            writing.answer_later(wish);
        }
    }
    match scene.unclear.map(str::trim) {
        Some("") => writing.say("I can read text only, and there is none.".to_owned()),
        Some(_) => writing.say(format!("I do not understand that. {CAN}\n\n{connect}")),
        None => {}
    }
    let nothing = writing.sentences.is_empty() && writing.calls.is_empty();
    if nothing && scene.wishes.contains(&Wish::GoOn) {
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
    /// The notebook as it will be after the calls so far.
    notebook: Option<Notebook>,
    thoughts: Vec<String>,
    sentences: Vec<String>,
    calls: Vec<Call>,
}

impl<'a> Writing<'a> {
    fn new(request: &'a Request, connect: &'a str, notebook: Option<Notebook>) -> Self {
        let (thoughts, sentences, calls) = (Vec::new(), Vec::new(), Vec::new());
        Self { request, connect, notebook, thoughts, sentences, calls }
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
        match wish {
            Wish::Remember(text) => self.call(APPEND, &[("text", text.as_str().into())]),
            Wish::Compute(expression) => {
                self.call(CALCULATOR, &[("expression", expression.as_str().into())]);
            }
            Wish::Read(path) => self.call(READ_FILE, &[("path", path.as_str().into())]),
            Wish::Reread(seq, None) => self.call(RECALL, &[("seq", (*seq).into())]),
            Wish::Reread(seq, Some(page)) => {
                self.call(RECALL, &[("seq", (*seq).into()), ("page", (*page).into())]);
            }
            Wish::Find(what) => self.call(RECALL, &[("query", what.as_str().into())]),
            Wish::Forget(what) => self.forget(what),
            Wish::Recall(_)
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
            Wish::Think(what) => self.think(what),
            Wish::Help => self.say(format!("{CAN}\n\n{}", self.connect)),
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

    fn forget(&mut self, what: &str) {
        let found = self.notebook.as_ref().map(|notebook| notebook.strike(what));
        match found {
            None => self.say("I see no notebook here, so there is nothing to forget.".to_owned()),
            Some(Found::Nothing) => {
                self.say(format!("The notebook has nothing like “{what}”."));
                self.say_if_cut();
            }
            Some(Found::Several(lines)) => {
                let lines = listed(&lines);
                self.say(format!("Which of these should I forget?\n\n{lines}"));
            }
            Some(Found::One(strike)) => {
                self.notebook = self.notebook.as_ref().map(|notebook| notebook.after(&strike));
                let (find, with) = (strike.find.as_str().into(), strike.with.as_str().into());
                self.call(REPLACE, &[("find", find), ("with", with)]);
            }
        }
    }

    fn recall(&mut self, about: Option<&str>) {
        let lines = self.notebook.as_ref().map(|notebook| notebook.lines(about));
        let sentence = match (lines.as_deref(), about) {
            (None, _) => "I see no notebook here.".to_owned(),
            (Some([]), None) if self.is_cut() => "The notebook is not empty.".to_owned(),
            (Some([]), None) => "The notebook is empty. Say `remember that X` to fill it.".into(),
            (Some([]), Some(about)) => format!("I remember nothing about {about}."),
            (Some(lines), _) => format!("I remember:\n\n{}", listed(lines)),
        };
        self.say(sentence);
        self.say_if_cut();
    }

    /// Whether the screen shows only a part of the notebook.
    fn is_cut(&self) -> bool {
        self.notebook.as_ref().is_some_and(|notebook| !notebook.whole)
    }

    fn say_if_cut(&mut self) {
        if self.is_cut() {
            self.say("My screen does not show all of the notebook.".to_owned());
        }
    }

    fn think(&mut self, what: &str) {
        let lines = self.notebook.as_ref().map(|notebook| notebook.lines(Some(what)));
        let lines = lines.unwrap_or_default();
        let noted = match &*lines {
            [] => "The notebook says nothing about it.".to_owned(),
            lines => format!("The notebook says:\n\n{}", listed(lines)),
        };
        if self.request.options.thinking != Some(Thinking::Off) {
            self.thoughts.push(format!(
                "I am to think about {what}. I know nothing by myself: all I have is the \
                 notebook, a calculator and files. {noted}"
            ));
        }
        self.say(format!(
            "I thought about {what}. I am too small a model to have views of my own. {noted}"
        ));
    }
}

/// The most of an input that a title or a recap quotes.
const QUOTE_WORDS: usize = 8;

fn title(context: &Context) -> String {
    scene::inputs(context)
        .next()
        .map(quote)
        .filter(|quote| !quote.is_empty())
        .unwrap_or_else(|| "Untitled".to_owned())
}

fn recap(context: &Context) -> String {
    if let Some(folded) = scene::folded(context) {
        return shortened(folded);
    }
    let asked = scene::inputs(context).map(quote).filter(|quote| !quote.is_empty());
    match &*asked.collect::<Vec<_>>() {
        [] => "Nothing was asked.".to_owned(),
        asked => format!("This was asked:\n\n{}", listed(asked)),
    }
}

/// The lines of a text, each shortened, until half of its length is told.
fn shortened(text: &str) -> String {
    let mut told = String::new();
    for line in text.lines().map(quote).filter(|quote| !quote.is_empty()) {
        if (told.len() + line.len()) * 2 > text.len() {
            break;
        }
        if !told.is_empty() {
            told.push('\n');
        }
        told.push_str(&line);
    }
    if told.is_empty() { quote(text) } else { told }
}

fn quote(text: &str) -> String {
    let words = text.split_whitespace().take(QUOTE_WORDS).collect::<Vec<_>>().join(" ");
    let more = text.split_whitespace().nth(QUOTE_WORDS).is_some();
    if more { format!("{words} …") } else { words }
}
