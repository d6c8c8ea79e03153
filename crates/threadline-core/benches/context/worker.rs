//! A simulated agent at work on a code base: it reads files, searches, runs commands, edits.
//!
//! Everything goes through the real rules and the real fold, and is a function of the seed. Now and
//! then a result holds a fact: a value that occurs once, and a subject, such as a file, a ticket or
//! a host, that the call or the first line of the result names.

mod call;
mod text;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use threadline_core::clock::Timestamp;
use threadline_core::context::plan::{Ask, Plan, RECALL};
use threadline_core::context::{Context, Material, PROJECTION_VERSION, render};
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::{
    AgentJoined, Block, CallOptions, Digest, Fact, Input, InstructionSet, Invocation,
    InvocationStarted, Output, Purpose, Stop, Text, ThinkingBlock, ToolFinished, ToolResults,
    Usage, Verdict,
};
use threadline_core::history::{History, Proposal, Stamp};
use threadline_core::id::{AgentId, CallId, Seq};
use threadline_core::outline::OutlineRow;
use threadline_core::provider::Profile;
use threadline_core::tokens::{O200k, TokenCounter as _};
use threadline_core::tool::{Catalogue, Handling, ToolSpec};
use threadline_core::widget::Attached;
use threadline_testing::ids::{Choices, SeededIds};

use self::call::{Desk, Done};
use crate::Outcome;

const AGENT: AgentId = AgentId::FIRST;
/// What an answer may take.
const RESERVE_TOKENS: u32 = 4096;
const TOOLS: [(&str, &str); 8] = [
    (
        "read_file",
        r#""path":{"type":"string"},"offset":{"type":"integer"},"limit":{"type":"integer"}"#,
    ),
    ("search", r#""query":{"type":"string"},"path":{"type":"string"}"#),
    ("list", r#""path":{"type":"string"}"#),
    ("shell", r#""command":{"type":"string"},"timeout_seconds":{"type":"integer"}"#),
    (
        "edit_file",
        r#""path":{"type":"string"},"find":{"type":"string"},"replace":{"type":"string"}"#,
    ),
    ("ticket", r#""id":{"type":"string"}"#),
    ("notebook_write", r#""text":{"type":"string"}"#),
    (RECALL, r#""seq":{"type":"integer"},"page":{"type":"integer"},"query":{"type":"string"}"#),
];

/// A fact that was planted.
pub(crate) struct Planted {
    /// The input or the results that hold it.
    pub(crate) row: Seq,
    pub(crate) subject: String,
    pub(crate) value: String,
}

/// An agent at work, and all that was recorded.
pub(crate) struct Worker {
    pub(crate) history: History,
    pub(crate) rows: BTreeMap<Seq, Arc<OutlineRow>>,
    pub(crate) entries: BTreeMap<Seq, Arc<Entry>>,
    /// All screens that were ever attached.
    pub(crate) screens: BTreeMap<Seq, Attached>,
    pub(crate) planted: Vec<Planted>,
    /// The catalogue as it is sent.
    pub(crate) tools: Arc<str>,
    catalogue: Catalogue,
    profile: Profile,
    desk: Desk,
    choices: Choices,
    ids: SeededIds,
    now: Timestamp,
    /// How many steps are left of the turn.
    left: u64,
    screen: String,
}

impl Worker {
    /// An agent that has been told what it is for, with a model of such a window.
    pub(crate) fn new(seed: u64, window_tokens: u64) -> Outcome<Self> {
        let (catalogue, tools) = catalogue()?;
        let profile = Profile { window_tokens, factor_percent: 100, ..Profile::unknown() };
        let mut choices = Choices::new(seed);
        let mut worker = Self {
            history: History::new(),
            rows: BTreeMap::new(),
            entries: BTreeMap::new(),
            screens: BTreeMap::new(),
            planted: Vec::new(),
            tools,
            catalogue,
            profile,
            desk: Desk::new(&mut choices),
            choices,
            ids: SeededIds::new(seed),
            now: Timestamp::from_micros(1_767_225_600_000_000),
            left: 0,
            screen: String::new(),
        };
        let tools = TOOLS.iter().map(|(name, _)| Arc::from(*name)).collect();
        let joined = AgentJoined {
            name: "coder".into(),
            description: "works on the code base".into(),
            route: None,
            options: CallOptions::default(),
            tools,
            widgets: Vec::new(),
            primary: true,
        };
        worker.place(joined)?;
        let instruction = text::lines(&mut worker.choices, 900, None, text::prose);
        worker.place(InstructionSet { text: instruction.into() })?;
        Ok(worker)
    }

    /// Whether it waits for someone to say something.
    pub(crate) fn at_rest(&self) -> bool {
        self.left == 0
    }

    /// Whether the next answer ends the turn.
    pub(crate) fn is_last(&self) -> bool {
        self.left == 1
    }

    /// A person wants something that takes so many steps.
    pub(crate) fn begin_turn(&mut self, steps: u64) -> Outcome<()> {
        self.left = steps.max(1);
        self.desk.turn_to(&mut self.choices);
        let ticket = format!("OPS-{}", 1000 + self.choices.below(9000));
        let tokens = 60 + self.choices.below(240);
        let (value, text) = (text::value(&mut self.choices), self.desk.focus());
        let fact = format!("The reference of {ticket} is {value}.");
        let body = text::lines(&mut self.choices, tokens, Some(&fact), text::prose);
        let asked = format!("Please solve {ticket}, which is about {text}.\n\n{body}");
        self.write_screen(&ticket);
        let seq = self.place(Input::from_person(asked))?;
        self.attach_screen(seq);
        self.planted.push(Planted { row: seq, subject: ticket, value });
        Ok(())
    }

    /// What its model sees now.
    pub(crate) fn look(&self) -> Outcome<(Plan, Context)> {
        self.look_as(&invocation("simulated"), &self.profile)
    }

    /// What a model of such a window would see now that was not asked before.
    pub(crate) fn look_through(&self, window_tokens: u64) -> Outcome<(Plan, Context)> {
        let profile = Profile { window_tokens, ..self.profile.clone() };
        self.look_as(&invocation("another"), &profile)
    }

    fn look_as(&self, model: &Invocation, profile: &Profile) -> Outcome<(Plan, Context)> {
        let start = self.history.agent(AGENT).and_then(|agent| agent.turn.as_ref());
        let start = start.map_or(Seq::ZERO, |turn| turn.start);
        let screens = self.screens.range(start..).map(|(_, screen)| screen.clone());
        let screens: Vec<Attached> = screens.collect();
        let most = Some(reserve_tokens(profile.window_tokens));
        let call = CallOptions { max_output_tokens: most, ..CallOptions::default() };
        let model = (model, profile);
        let ask = Ask::new(&self.history, AGENT, model, &call, &self.catalogue, &screens);
        let row = |seq| self.rows.get(&seq).cloned();
        let entry = |seq| self.entries.get(&seq).cloned();
        let material = Material::at_hand(&self.history, &ask, row, entry)?;
        let context = render(&material, &screens);
        Ok((material.plan, context))
    }

    /// The model is asked and answers; its calls are carried out.
    pub(crate) fn step(&mut self, plan: &Plan, context: &Context) -> Outcome<()> {
        let estimate_tokens = context.tokens() + u64::from(self.catalogue.tokens());
        let started = InvocationStarted {
            invocation: invocation("simulated"),
            purpose: Purpose::Step,
            options: plan.options,
            estimate_tokens,
            catalogue: None,
            context_digest: Digest([0; 32]),
            body_digest: Digest([0; 32]),
            projection_version: PROJECTION_VERSION,
            encoder_version: 1,
            why: String::new(),
        };
        self.place(started)?;
        self.left = self.left.saturating_sub(1);
        let usage = Usage { input: estimate_tokens, output: 200, ..Usage::default() };
        if self.left == 0 {
            let tokens = 80 + self.choices.below(320);
            let text = text::lines(&mut self.choices, tokens, None, text::prose);
            let blocks = vec![Block::Text(Text { text: text.into(), state: None })];
            self.answer(blocks, usage)?;
            return Ok(());
        }
        let (blocks, done) = self.decide();
        let output = self.answer(blocks, usage)?;
        self.carry_out(output, done)
    }

    fn answer(&mut self, blocks: Vec<Block>, usage: Usage) -> Outcome<Seq> {
        let output = Output {
            blocks,
            invocation: invocation("simulated"),
            stop: Stop::Done,
            usage,
            cost: None,
        };
        self.place(output)
    }

    /// What the model says and calls, and what comes of the calls.
    fn decide(&mut self) -> (Vec<Block>, Vec<Done>) {
        let mut blocks = Vec::new();
        if self.choices.percent(40) {
            let tokens = 30 + self.choices.below(90);
            let text = text::lines(&mut self.choices, tokens, None, text::prose).into();
            blocks.push(Block::Thinking(ThinkingBlock { text, state: None }));
        }
        if self.choices.percent(60) {
            let text = text::lines(&mut self.choices, 25, None, text::prose).into();
            blocks.push(Block::Text(Text { text, state: None }));
        }
        let calls = match self.choices.below(100) {
            0..80 => 1,
            80..95 => 2,
            _ => 3,
        };
        let done: Vec<Done> = (0..calls).map(|_| self.desk.work(&mut self.choices)).collect();
        blocks.extend(done.iter().map(|done| Block::ToolCall(done.call.clone())));
        (blocks, done)
    }

    fn carry_out(&mut self, output: Seq, done: Vec<Done>) -> Outcome<()> {
        let mut results = Vec::new();
        let mut facts = Vec::new();
        for (index, done) in (0..).zip(done) {
            let finished = ToolFinished {
                call: CallId { output, index },
                name: Arc::clone(&done.call.name),
                status: done.status,
                result: vec![done.result],
                attachments: Vec::new(),
                elapsed_ms: 40,
                warnings: Vec::new(),
                error: None,
            };
            results.push(self.place(finished)?);
            facts.extend(done.fact);
        }
        // The screen lists what is to do, and changes when something of it is done.
        let changes = self.choices.percent(8);
        if changes {
            let done = self.desk.focus();
            self.write_screen(&done);
        }
        let row = self.place(ToolResults { output, results, execute_error: None })?;
        if changes {
            self.attach_screen(row);
        }
        let planted = facts.into_iter();
        self.planted.extend(planted.map(|(subject, value)| Planted { row, subject, value }));
        Ok(())
    }

    fn write_screen(&mut self, about: &str) {
        let tokens = 60 + self.choices.below(140);
        let notes = text::lines(&mut self.choices, tokens, None, text::prose);
        self.screen = format!("# [Live Screen]\n\n## Notebook\n\n{about}\n{notes}");
    }

    fn attach_screen(&mut self, seq: Seq) {
        let (text, tokens) = (Arc::from(&*self.screen), O200k.count(&self.screen));
        self.screens.insert(seq, Attached { seq, text, tokens });
    }

    /// Records a fact; the entry it became.
    fn place(&mut self, fact: impl Into<Fact>) -> Outcome<Seq> {
        self.now = self.now.plus_millis(700);
        let stamp = Stamp { at: self.now, ids: &self.ids, counter: &O200k };
        let proposal = Proposal::new(AGENT, fact, &O200k);
        let proposed = self.history.propose([proposal], stamp)?;
        for row in proposed.batch.rows {
            self.rows.insert(row.seq, row);
        }
        for placed in proposed.batch.entries {
            self.entries.insert(placed.entry.seq, placed.entry);
        }
        self.history = proposed.history;
        Ok(self.history.head())
    }
}

/// What is kept free for an answer in a window.
pub(crate) fn reserve_tokens(window_tokens: u64) -> u32 {
    u32::try_from(window_tokens / 4).unwrap_or(RESERVE_TOKENS).min(RESERVE_TOKENS)
}

fn invocation(model: &str) -> Invocation {
    Invocation {
        provider: "scripted".into(),
        endpoint: "scripted".into(),
        account: None,
        dialect: "scripted".into(),
        model: model.into(),
    }
}

/// The tools, and the text that says what they are.
fn catalogue() -> Outcome<(Catalogue, Arc<str>)> {
    let mut choices = Choices::new(0);
    let mut written = String::new();
    let mut specs = Vec::new();
    for (name, properties) in TOOLS {
        let description = text::lines(&mut choices, 110, None, text::prose);
        let schema = format!(r#"{{"type":"object","properties":{{{properties}}}}}"#);
        let _ = writeln!(written, "{name}\n{description}\n{schema}");
        specs.push(Arc::new(ToolSpec {
            name: name.into(),
            description: description.into(),
            schema: schema.into(),
            strict: false,
            server: None,
            verdict: Verdict::Allow,
            handling: Handling::Recorded,
        }));
    }
    let tokens = O200k.count(&written);
    Ok((Catalogue::new(specs, tokens)?, written.into()))
}
