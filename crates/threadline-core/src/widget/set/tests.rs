//! What the widgets of a conversation do with states, calls and screens.

use super::*;
use crate::history::fact::{
    Block, Digest, Input, Invocation, Output, Sender, Status, Stop, ToolCall, ToolFinished,
    ToolResults, Usage, Verdict, WidgetChanged,
};
use crate::history::metadata::Metadata;
use crate::history::sections::Section;
use crate::history::{Counts, History};
use crate::id::{CallId, EntryId, Seq};
use crate::tokens::Estimator;
use crate::tool::Handling;
use crate::widget::StateUnreadable;

const ADA: AgentId = AgentId(1);
const BOB: AgentId = AgentId(2);

/// Lines that are added to.
#[derive(Clone)]
struct Sheet {
    name: &'static str,
    tool: &'static str,
    scope: Scope,
    lines: Vec<String>,
}

fn lines(name: &'static str, tool: &'static str, scope: Scope) -> Box<dyn Widget> {
    Box::new(Sheet { name, tool, scope, lines: Vec::new() })
}

impl Widget for Sheet {
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self) -> &'static str {
        "lines that are added to"
    }

    fn scope(&self) -> Scope {
        self.scope
    }

    fn tools(&self) -> Vec<ToolSpec> {
        vec![ToolSpec {
            name: self.tool.into(),
            description: "adds a line".into(),
            schema: r#"{"type":"object"}"#.into(),
            strict: false,
            server: None,
            verdict: Verdict::Allow,
            handling: Handling::Recorded,
        }]
    }

    fn call(&self, call: &WidgetCall<'_>) -> Result<Reply, Refusal> {
        let result = vec![Section::text(format!("line {}", self.lines.len() + 1))];
        if call.arguments.is_empty() {
            return Err(Refusal { result, metadata: Metadata::new() });
        }
        Ok(Reply { changes: vec![call.arguments.into()], result, ..Reply::default() })
    }

    fn apply(&mut self, change: &Change<'_>) -> Result<(), ChangeRefused> {
        if change.text == "bad" {
            let message = "it is not bad".to_owned();
            return Err(ChangeRefused { widget: self.name.into(), message });
        }
        self.lines.push(format!("{} {}", change.by.0, change.text));
        Ok(())
    }

    fn render(&self, view: &View<'_>) -> Option<Fragment> {
        let text = format!("## {}\n{}\n{}", self.name, view.messages, self.lines.join("\n"));
        let shown = (!self.lines.is_empty()).then_some(text)?;
        Some(Fragment { text: shown, rest: Some(self.tool.into()) })
    }

    fn encode(&self) -> WidgetState {
        WidgetState { version: 3, bytes: self.lines.join("\n").into_bytes() }
    }

    fn decode(&mut self, state: &WidgetState) -> Result<(), StateUnreadable> {
        let unreadable = StateUnreadable { widget: self.name.into(), version: state.version };
        let text = String::from_utf8(state.bytes.clone()).ok().filter(|_| state.version == 3);
        self.lines = text.ok_or(unreadable)?.lines().map(str::to_owned).collect();
        Ok(())
    }

    fn copy(&self) -> Box<dyn Widget> {
        Box::new(self.clone())
    }
}

fn registry() -> Arc<Registry> {
    let widgets = vec![
        lines("notes", "notes_add", Scope::Agent),
        lines("board", "board_add", Scope::Conversation),
    ];
    Arc::new(Registry::new(widgets).unwrap())
}

fn joined(name: &str, widgets: &[&str]) -> AgentJoined {
    let widgets = widgets.iter().map(|name| Arc::from(*name)).collect();
    AgentJoined { name: name.into(), widgets, ..AgentJoined::default() }
}

fn entry(seq: u64, agent: AgentId, fact: impl Into<Fact>) -> Entry {
    Entry {
        seq: Seq(seq),
        id: EntryId(uuid::Uuid::nil()),
        at: Timestamp::default(),
        agent,
        cause: None,
        metadata: Metadata::new(),
        fact: fact.into(),
    }
}

fn change(seq: u64, agent: AgentId, widget: &str, change: &str) -> Entry {
    let (widget, change) = (widget.into(), change.into());
    entry(seq, agent, WidgetChanged { widget, change, call: None })
}

fn shown(widgets: &Widgets, agent: AgentId, name: &str) -> String {
    String::from_utf8(widgets.get(agent, name).unwrap().encode().bytes).unwrap()
}

#[test]
fn names_are_taken_once() {
    let twice = vec![lines("a", "a_add", Scope::Agent), lines("a", "b_add", Scope::Agent)];
    assert_eq!(Registry::new(twice).unwrap_err(), NamesClash::Widget("a".into()));
    let twice = vec![lines("a", "add", Scope::Agent), lines("b", "add", Scope::Agent)];
    assert_eq!(Registry::new(twice).unwrap_err(), NamesClash::Tool("add".into()));
}

#[test]
fn an_agent_has_the_tools_of_its_own_widgets_in_its_own_order() {
    let registry = registry();
    assert_eq!(registry.names().map(|name| &**name).collect::<Vec<_>>(), ["notes", "board"]);
    let ada = joined("ada", &["board", "unknown", "notes", "board"]);
    let tools = registry.tools(&ada);
    let tools: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(tools, ["board_add", "notes_add"]);
    assert_eq!(registry.owner(&ada, "notes_add").unwrap().name(), "notes");
    assert!(registry.owner(&joined("bob", &["board"]), "notes_add").is_none());
    assert!(registry.get("unknown").is_none());
}

#[test]
fn states_are_an_agents_own_or_shared() {
    let mut widgets = Widgets::new(registry());
    assert_eq!(shown(&widgets, ADA, "notes"), "");
    for entry in [
        change(1, ADA, "notes", "mine"),
        change(2, BOB, "notes", "his"),
        change(3, ADA, "board", "ours"),
        change(4, AgentId::CONVERSATION, "board", "a person's"),
        change(5, ADA, "unknown", "nothing"),
        entry(6, ADA, joined("ada", &[])),
    ] {
        widgets.apply(&entry).unwrap();
    }
    assert_eq!(shown(&widgets, ADA, "notes"), "1 mine");
    assert_eq!(shown(&widgets, BOB, "notes"), "2 his");
    assert_eq!(shown(&widgets, ADA, "board"), "1 ours\n0 a person's");
    assert_eq!(shown(&widgets, BOB, "board"), shown(&widgets, ADA, "board"));
    assert!(widgets.get(ADA, "unknown").is_none());
}

#[test]
fn a_copy_does_not_see_later_changes_and_a_refused_one_changes_nothing() {
    let mut widgets = Widgets::new(registry());
    widgets.apply(&change(1, ADA, "notes", "one")).unwrap();
    let before = widgets.clone();
    widgets.apply(&change(2, ADA, "notes", "two")).unwrap();
    assert_eq!(shown(&before, ADA, "notes"), "1 one");
    assert_eq!(shown(&widgets, ADA, "notes"), "1 one\n1 two");
    let refused = widgets.apply(&change(3, ADA, "notes", "bad")).unwrap_err();
    assert_eq!(&*refused.widget, "notes");
    widgets.apply(&change(3, BOB, "notes", "bad")).unwrap_err();
    assert_eq!(widgets.encode().keys().collect::<Vec<_>>(), ["1/notes", "screens"]);
    assert_eq!(shown(&widgets, ADA, "notes"), "1 one\n1 two");
    assert!(registry().get("notes").unwrap().encode().bytes.is_empty());
}

#[test]
fn a_call_goes_to_the_caller_s_state_and_changes_nothing() {
    let mut widgets = Widgets::new(registry());
    widgets.apply(&change(1, ADA, "notes", "one")).unwrap();
    let call = |tool, arguments, by| WidgetCall {
        tool,
        arguments,
        call: CallId::new(Seq(9), 0),
        by,
        at: Timestamp::default(),
    };
    let ada = joined("ada", &["notes"]);
    let (name, reply) = widgets.call(&ada, &call("notes_add", "two", ADA)).unwrap();
    assert_eq!((&*name, reply.unwrap().result), ("notes", vec![Section::text("line 2")]));
    let (_, reply) = widgets.call(&ada, &call("notes_add", "two", BOB)).unwrap();
    assert_eq!(reply.unwrap().result, [Section::text("line 1")]);
    assert!(widgets.call(&ada, &call("notes_add", "", ADA)).unwrap().1.is_err());
    assert!(widgets.call(&ada, &call("board_add", "two", ADA)).is_none());
    assert_eq!(shown(&widgets, ADA, "notes"), "1 one");
}

#[test]
fn states_come_back_from_a_snapshot_and_damage_is_told() {
    let mut widgets = Widgets::new(registry());
    widgets.apply(&change(1, ADA, "notes", "mine")).unwrap();
    widgets.apply(&change(2, ADA, "board", "ours")).unwrap();
    let mut states = widgets.encode();
    assert_eq!(states["0/board"], b"\x03\0\0\x001 ours");
    let (read, unreadable) = Widgets::decode(registry(), &states);
    assert_eq!((read.encode(), unreadable.len()), (states.clone(), 0));
    states.insert("7/unknown".to_owned(), Vec::new());
    states.insert("1/board".to_owned(), states["0/board"].clone());
    states.insert("01/notes".to_owned(), states["1/notes"].clone());
    states.insert("notes".to_owned(), states["1/notes"].clone());
    states.insert("0/board".to_owned(), b"\x04\0\0\x001 ours".to_vec());
    states.insert("2/notes".to_owned(), b"\x03\0".to_vec());
    states.insert("screens".to_owned(), b"{\"1\":[".to_vec());
    let (read, unreadable) = Widgets::decode(registry(), &states);
    assert_eq!(unreadable, ["0/board", "01/notes", "1/board", "2/notes", "notes", "screens"]);
    assert_eq!(read.encode().keys().collect::<Vec<_>>(), ["1/notes", "screens"]);
}

#[test]
fn a_screen_has_what_the_agent_s_widgets_show() {
    let mut history = History::new();
    for (seq, agent, widgets) in
        [(1, ADA, &["board", "notes"][..]), (2, BOB, &["notes"]), (3, AgentId(3), &["board"])]
    {
        let joins = entry(seq, agent, joined(&format!("agent {seq}"), widgets));
        history.apply(&joins, crate::history::record::GENESIS, Counts::default()).unwrap();
    }
    let at = Timestamp::default();
    let mut widgets = Widgets::new(registry());
    assert_eq!(widgets.screen(&history, ADA, at, None), None);
    widgets.apply(&change(4, ADA, "notes", "mine")).unwrap();
    widgets.apply(&change(5, AgentId(3), "board", "ours")).unwrap();
    let screen = widgets.screen(&history, ADA, at, None).unwrap();
    assert_eq!(screen, "# [Live Screen]\n\n## board\n0\n3 ours\n\n## notes\n0\n1 mine");
    assert_eq!(widgets.screen(&history, BOB, at, None), None);
    assert_eq!(widgets.screen(&history, AgentId(9), at, None), None);
}

#[test]
fn a_fragment_over_its_cap_shows_its_head_and_how_to_read_the_rest() {
    let fragment = |text: &str, rest: Option<&str>| Fragment {
        text: text.to_owned(),
        rest: rest.map(Arc::from),
    };
    let text = "雨 line\n".repeat(40);
    let cut = capped(fragment(&text, Some("notes_read")), 120);
    assert!(cut.len() <= 120, "{}", cut.len());
    assert_eq!(
        cut,
        "雨 line\n雨 line\n雨 line\n雨 line\n雨 line\n雨 line\n\
         [… 307 bytes left out; read the rest with notes_read …]"
    );
    let cut = capped(fragment(&"雨".repeat(100), None), 60);
    assert!(cut.len() <= 60 && cut.starts_with("雨雨") && cut.contains("left out"), "{cut}");
    assert_eq!(capped(fragment("short", None), 5), "short");
}

/// A history in which ada has joined, and what is said to her.
struct Told {
    history: History,
    widgets: Widgets,
    entries: Vec<Entry>,
}

impl Told {
    /// One in which nobody has joined.
    fn among(registry: Arc<Registry>) -> Self {
        let (history, widgets) = (History::new(), Widgets::new(registry));
        Self { history, widgets, entries: Vec::new() }
    }

    fn new() -> Self {
        let mut told = Self::among(registry());
        told.tell(ADA, joined("ada", &["notes", "board"]));
        told
    }

    /// Takes in a fact, and what becomes of the screens by it; gives what the screen takes.
    fn tell(&mut self, agent: AgentId, fact: impl Into<Fact>) -> Option<u32> {
        let entry = entry(self.history.head().0 + 1, agent, fact);
        self.widgets.apply(&entry).unwrap();
        let (history, fact) = (&self.history, &entry.fact);
        let showing = self.widgets.showing(history, agent, fact, entry.at, &Estimator);
        let tokens = showing
            .as_ref()
            .map(|showing| showing.screen.as_ref().map_or(0, |(_, tokens)| *tokens));
        if let Some(showing) = showing {
            self.widgets.show(agent, entry.seq, showing);
        }
        let counts = Counts::of(&entry.fact, &Estimator);
        self.history.apply(&entry, Digest([0; 32]), counts).unwrap();
        self.entries.push(entry);
        tokens
    }

    fn changes(&mut self, change: &str) {
        let (widget, change) = ("notes".into(), change.into());
        self.tell(ADA, WidgetChanged { widget, change, call: None });
    }

    /// A call and its results; gives what the screen on them takes.
    fn calls(&mut self) -> Option<u32> {
        let call = ToolCall {
            name: "look".into(),
            arguments: "{}".into(),
            repaired: None,
            provider_id: None,
            complete: true,
            state: None,
        };
        self.output(vec![Block::ToolCall(call)]);
        let output = self.history.head();
        let finished = ToolFinished {
            call: CallId::new(output, 0),
            name: "look".into(),
            status: Status::Success,
            result: Vec::new(),
            attachments: Vec::new(),
            elapsed_ms: 0,
            warnings: Vec::new(),
            error: None,
        };
        assert_eq!(self.tell(ADA, finished), None);
        let results = vec![self.history.head()];
        self.tell(ADA, ToolResults { output, results, execute_error: None })
    }

    fn output(&mut self, blocks: Vec<Block>) {
        let invocation = Invocation {
            provider: "scripted".into(),
            endpoint: "scripted".into(),
            account: None,
            dialect: "scripted".into(),
            model: "m1".into(),
        };
        let (stop, usage) = (Stop::Done, Usage::default());
        assert_eq!(self.tell(ADA, Output { blocks, invocation, stop, usage, cost: None }), None);
    }

    /// Where the screens of the turn are, and the last line of each.
    fn screens(&self) -> Vec<(u64, &str)> {
        let screens = self.widgets.screens(ADA).iter();
        screens.map(|screen| (screen.seq.0, screen.text.lines().last().unwrap_or(""))).collect()
    }
}

#[test]
fn a_screen_is_attached_to_what_begins_a_turn_and_to_results_once_it_changed() {
    let mut told = Told::new();
    // Nothing is shown yet: a turn begins without a screen.
    assert_eq!(told.tell(ADA, Input::from_person("hello")), Some(0));
    assert_eq!(told.screens(), []);
    told.changes("one");
    let tokens = told.calls().unwrap();
    assert!(tokens > 0);
    let first = told.history.head().0;
    assert_eq!(told.screens(), [(first, "1 one")]);
    assert_eq!(told.widgets.screens(ADA)[0].tokens, tokens);
    // The same screen is not shown again, and a person's word in between brings none.
    assert_eq!(told.calls(), None);
    told.changes("two");
    assert_eq!(told.tell(ADA, Input::from_person("faster")), None);
    assert!(told.calls().is_some());
    let second = told.history.head().0;
    assert_eq!(told.screens(), [(first, "1 one"), (second, "1 two")]);
    // At rest they stay; the next turn begins with its own alone.
    told.output(Vec::new());
    assert_eq!(told.screens(), [(first, "1 one"), (second, "1 two")]);
    told.output(Vec::new());
    let begins = told.tell(ADA, Input::from_person("and now?"));
    assert!(begins.is_some_and(|tokens| tokens > 0));
    assert_eq!(told.screens(), [(told.history.head().0, "1 two")]);
}

/// Shows the agent's timers, and nothing else.
#[derive(Clone)]
struct Bell;

impl Widget for Bell {
    fn name(&self) -> &'static str {
        "bell"
    }

    fn description(&self) -> &'static str {
        "timers"
    }

    fn scope(&self) -> Scope {
        Scope::Conversation
    }

    fn tools(&self) -> Vec<ToolSpec> {
        Vec::new()
    }

    fn call(&self, _call: &WidgetCall<'_>) -> Result<Reply, Refusal> {
        Err(Refusal::default())
    }

    fn apply(&mut self, _change: &Change<'_>) -> Result<(), ChangeRefused> {
        Ok(())
    }

    fn render(&self, view: &View<'_>) -> Option<Fragment> {
        let timers = view.timers.iter().map(|timer| {
            let (number, seconds) = (timer.number, timer.when.micros() / 1_000_000);
            format!("{number} {} at {seconds}", timer.text)
        });
        Some(Fragment { text: timers.collect::<Vec<_>>().join(", "), rest: None })
    }

    fn encode(&self) -> WidgetState {
        WidgetState { version: 1, bytes: Vec::new() }
    }

    fn decode(&mut self, _state: &WidgetState) -> Result<(), StateUnreadable> {
        Ok(())
    }

    fn copy(&self) -> Box<dyn Widget> {
        Box::new(self.clone())
    }
}

#[test]
fn a_screen_has_the_agent_s_own_timers_as_they_are_once_one_has_fired() {
    let registry = Arc::new(Registry::new(vec![Box::new(Bell)]).unwrap());
    let mut told = Told::among(Arc::clone(&registry));
    told.tell(ADA, joined("ada", &["bell"]));
    told.tell(BOB, joined("bob", &["bell"]));
    let set = |told: &mut Told, agent, text: &str, every_ms| {
        // The entries of these tests are all of the first moment.
        let when = Timestamp::default();
        told.tell(agent, TimerSet { when, every_ms, call: None, text: text.into() });
    };
    set(&mut told, ADA, "once", None);
    set(&mut told, BOB, "other", None);
    set(&mut told, ADA, "often", Some(60_000));
    let wakes = |told: &mut Told, set: u64| {
        let from = Sender::Timer { set: Seq(set) };
        told.tell(ADA, Input { from, ..Input::from_person("wake up") });
        let shown = told.screens().first().map(|(_, line)| (*line).to_owned());
        told.output(Vec::new());
        shown
    };
    told.tell(ADA, Input::from_person("hello"));
    assert_eq!(told.screens(), [(6, "3 once at 0, 5 often at 0")]);
    told.output(Vec::new());
    assert_eq!(wakes(&mut told, 5).as_deref(), Some("3 once at 0, 5 often at 60"));
    let (history, states) = (told.history.clone(), told.widgets.encode());
    assert_eq!(wakes(&mut told, 3).as_deref(), Some("5 often at 60"));
    // Whoever reads the history sees the same, from its beginning or from a snapshot.
    let head = history.head();
    let replay = |mut history: History, mut widgets: Widgets| {
        let from = history.head();
        for entry in told.entries.iter().filter(|entry| entry.seq > from) {
            widgets.follow(&history, entry, &Estimator).unwrap();
            let counts = Counts::of(&entry.fact, &Estimator);
            history.apply(entry, Digest([0; 32]), counts).unwrap();
        }
        widgets.screens(ADA).to_vec()
    };
    let all = replay(History::new(), Widgets::new(Arc::clone(&registry)));
    assert_eq!(all, told.widgets.screens(ADA));
    let (widgets, unreadable) = Widgets::decode(registry, &states);
    assert!(unreadable.is_empty() && head < told.history.head());
    assert_eq!(replay(history, widgets), all);
}

#[test]
fn screens_are_kept_with_the_states() {
    let mut told = Told::new();
    told.changes("one");
    told.tell(ADA, Input::from_person("hello"));
    let states = told.widgets.encode();
    assert!(states.contains_key("screens"));
    assert!(Widgets::has_screens(&registry(), &states));
    let (read, unreadable) = Widgets::decode(registry(), &states);
    assert_eq!(unreadable, [""; 0]);
    assert_eq!(read.screens(ADA), told.widgets.screens(ADA));
    assert_eq!(read.screens(ADA).len(), 1);
    assert_eq!(read.screens(BOB), []);
    let mut bad = states;
    bad.insert("screens".to_owned(), b"{".to_vec());
    assert_eq!(Widgets::decode(registry(), &bad).1, ["screens"]);
    // Where no widget is registered there is nothing on a screen, and nothing to be missed.
    assert!(Widgets::new(Arc::default()).encode().is_empty());
    assert!(Widgets::has_screens(&Registry::default(), &BTreeMap::new()));
    assert!(!Widgets::has_screens(&registry(), &BTreeMap::new()));
}
