//! How a context becomes a conversation that every protocol can say.

use std::borrow::Cow;
use std::sync::Arc;

use threadline_core::context::{
    Body, InputPart, OutputPart, Part, ResultPart, ResultsPart, Source,
};
use threadline_core::history::fact::{Block, Status, Stop, ToolCall};
use threadline_core::id::{CallId, Seq};
use threadline_core::provider::{Repair, Request, ToolSupport};

use super::arguments::object_of;
use super::attached::{self, Place};
use super::ids::Ids;
use super::{Call, Carried, ModelTurn, Piece, Result, Said, Turn};
use crate::dialect::Dialect;
use crate::names::Names;
use crate::quirks::Quirks;

/// What a user's turn says where the protocol wants one and nobody said anything.
const GO_ON: &str = "Go on.";
/// What stands before a model's turn that has nothing before it.
const BEGIN: &str = "[The conversation goes on from here.]";
/// The result of a call that has none.
const INTERRUPTED: &str = "interrupted: no result was recorded";

/// Makes of any context a conversation that every protocol can say.
pub(crate) fn carry<'a>(request: &'a Request, quirks: &Quirks) -> Carried<'a> {
    let calls_tools = request.target.profile.tools != ToolSupport::None;
    let mut carrier = Carrier {
        request,
        dialect: dialect_of(request),
        user_after_tool: quirks.user_after_tool,
        calls_tools,
        names: Names::new(&names_of(request), quirks.name_cap),
        ids: Ids::new(dialect_of(request), quirks.ids),
        turns: Vec::new(),
        repairs: Vec::new(),
    };
    let parts = &*request.context.parts;
    let mut at = 0;
    while let Some(part) = parts.get(at) {
        at += 1;
        match &part.body {
            Body::Input(input) => carrier.input(input),
            Body::Output(output) => {
                let results = match parts.get(at).map(|part| &part.body) {
                    Some(Body::Results(results)) => {
                        at += 1;
                        Some(results)
                    }
                    Some(Body::Input(_) | Body::Output(_)) | None => None,
                };
                carrier.output(entry_of(part), output, results);
            }
            Body::Results(results) => carrier.orphans(results),
        }
    }
    let goes_on = carrier.close(parts);
    mark_current(&mut carrier.turns, goes_on);
    let tools = if calls_tools { request.catalogue.tools() } else { &[] };
    let Carrier { turns, names, repairs, .. } = carrier;
    Carried {
        system: request.context.system.text.trim_end(),
        turns,
        goes_on,
        tools,
        names,
        repairs,
    }
}

struct Carrier<'a> {
    request: &'a Request,
    dialect: Dialect,
    user_after_tool: bool,
    calls_tools: bool,
    names: Names,
    ids: Ids,
    turns: Vec<Turn<'a>>,
    repairs: Vec<Repair>,
}

impl<'a> Carrier<'a> {
    fn input(&mut self, input: &'a InputPart) {
        let mut pieces = Vec::new();
        if !input.text.trim().is_empty() {
            pieces.push(Piece::Text(Cow::Borrowed(&*input.text)));
        }
        let attached = input.attachments.iter();
        pieces.extend(attached.map(|attachment| attached::in_input(self.request, attachment)));
        pieces.extend(input.screen.as_ref().map(|screen| Piece::Screen(&screen.text)));
        self.user(pieces);
    }

    /// An output, with the results of its calls right after it.
    fn output(&mut self, entry: Seq, output: &'a OutputPart, results: Option<&'a ResultsPart>) {
        match output.stop {
            Stop::Done | Stop::Length | Stop::Paused => {}
            Stop::Refusal | Stop::Blocked => {
                self.repair(entry, "what was refused or filtered is not shown again");
                return;
            }
        }
        let own = output.invocation == self.request.target.invocation;
        let (blocks, calls) = self.said(entry, output, own);
        let screen = results.and_then(|results| results.screen.as_ref());
        let mut results = self.results(entry, calls.as_slice(), results);
        let one_by_one = self.request.target.profile.tools == ToolSupport::OneByOne;
        if !self.calls_tools && !calls.is_empty() {
            self.retold(entry, blocks, results);
        } else if one_by_one && calls.len() > 1 && !own {
            self.repair(entry, "calls that were made side by side are shown one by one");
            let (mut first, calls) = split(blocks);
            for (call, result) in calls.into_iter().zip(results) {
                first.push(call);
                let blocks = std::mem::take(&mut first);
                self.model(ModelTurn { entry, own, current: false, blocks });
                self.answered(vec![result]);
            }
        } else {
            self.model(ModelTurn { entry, own, current: false, blocks });
            self.answered(std::mem::take(&mut results));
        }
        self.user(screen.map(|screen| Piece::Screen(&screen.text)).into_iter().collect());
    }

    /// What an output says, and its calls as they were written.
    fn said(
        &mut self,
        entry: Seq,
        output: &'a OutputPart,
        own: bool,
    ) -> (Vec<Said<'a>>, Vec<(String, &'a ToolCall)>) {
        let mut blocks = Vec::new();
        let mut calls = Vec::new();
        for block in &output.blocks {
            match block {
                Block::Thinking(thinking) => {
                    let state = thinking.state.as_deref();
                    if own && (state.is_some() || !thinking.text.is_empty()) {
                        blocks.push(Said::Thinking { text: &thinking.text, state });
                    }
                }
                Block::Text(said) => {
                    let state = said.state.as_deref().filter(|_| own);
                    if state.is_some() || !said.text.trim().is_empty() {
                        blocks.push(Said::Text { text: Cow::Borrowed(&*said.text), state });
                    }
                }
                Block::Foreign(foreign) if own => {
                    blocks.push(Said::Foreign { kind: &foreign.kind, state: &foreign.state });
                }
                Block::Foreign(foreign) => {
                    if !foreign.text.trim().is_empty() {
                        let text = Cow::Borrowed(&*foreign.text);
                        blocks.push(Said::Text { text, state: None });
                    }
                }
                Block::ToolCall(call) => {
                    let index = u32::try_from(calls.len()).unwrap_or(u32::MAX);
                    let theirs = call.provider_id.as_deref().filter(|_| own);
                    let id = self.ids.give(CallId { output: entry, index }, theirs);
                    calls.push((id.clone(), call));
                    blocks.push(Said::Call(self.call(entry, id, call, own)));
                }
            }
        }
        if !own {
            let (mut texts, calls) = split(blocks);
            texts.extend(calls);
            blocks = texts;
        }
        (blocks, calls)
    }

    fn call(&mut self, entry: Seq, id: String, call: &'a ToolCall, own: bool) -> Call<'a> {
        let (arguments, change) = object_of(call);
        if let Some(change) = change {
            self.repair(entry, change);
        }
        let name = self.names.to_wire(&call.name).to_owned();
        Call { id, name, arguments, state: call.state.as_deref().filter(|_| own) }
    }

    /// A result for each call, in their order.
    fn results(
        &mut self,
        entry: Seq,
        calls: &[(String, &'a ToolCall)],
        results: Option<&'a ResultsPart>,
    ) -> Vec<(Result<'a>, Vec<Piece<'a>>)> {
        let found = results.map_or(&[][..], |results| &*results.results);
        let numbered = (0..).zip(calls);
        let each = numbered.map(|(index, (id, call))| {
            let of = CallId { output: entry, index };
            let name = self.names.to_wire(&call.name).to_owned();
            match found.iter().find(|result| result.call == of) {
                Some(result) => self.result(id.clone(), name, result),
                None => {
                    self.repairs.push(Repair {
                        entry: Some(entry),
                        what: "a call without a result is told as interrupted".into(),
                    });
                    let text = Cow::Borrowed(INTERRUPTED);
                    let id = id.clone();
                    (Result { id, name, failed: true, text, media: Vec::new() }, Vec::new())
                }
            }
        });
        each.collect()
    }

    /// A result, and what of it has to follow in a user's turn.
    fn result(
        &self,
        id: String,
        name: String,
        result: &'a ResultPart,
    ) -> (Result<'a>, Vec<Piece<'a>>) {
        let may_follow = self.user_after_tool || !self.calls_tools;
        let (mut media, mut after) = (Vec::new(), Vec::new());
        let mut text = Cow::Borrowed(&*result.text);
        for attachment in &result.attachments {
            let line = match attached::in_result(self.request, attachment, may_follow) {
                Place::Here(here) => {
                    media.push(here);
                    continue;
                }
                Place::After(follows) => {
                    after.push(Piece::Media(follows));
                    attached::named(attachment, "shown below")
                }
                Place::Named(line) => line,
            };
            let said = text.to_mut();
            if !said.is_empty() {
                said.push('\n');
            }
            said.push_str(&line);
        }
        let failed = result.status != Status::Success;
        (Result { id, name, failed, text, media }, after)
    }

    /// Calls and results in words, for a model that calls no tools.
    fn retold(
        &mut self,
        entry: Seq,
        blocks: Vec<Said<'a>>,
        results: Vec<(Result<'a>, Vec<Piece<'a>>)>,
    ) {
        let words = blocks.into_iter().filter_map(|said| match said {
            Said::Call(call) => {
                Some(format!("[called {} {}]", call.name, call.arguments.get()).into())
            }
            Said::Text { text, .. } if !text.trim().is_empty() => Some(text),
            Said::Text { .. } | Said::Thinking { .. } | Said::Foreign { .. } => None,
        });
        let blocks = words.map(|text| Said::Text { text, state: None }).collect();
        self.model(ModelTurn { entry, own: false, current: false, blocks });
        for (result, after) in results {
            let Result { name, text, failed, .. } = &result;
            let how = if *failed { " failed" } else { "" };
            let text = Piece::Text(Cow::Owned(format!("[{name}{how}: {text}]")));
            let media = result.media.into_iter().map(Piece::Media);
            self.user(std::iter::once(text).chain(media).chain(after).collect());
        }
    }

    /// Results without their calls: what they say is told.
    fn orphans(&mut self, results: &'a ResultsPart) {
        for result in &results.results {
            self.repair(result.entry, "a result without its call is told as text");
            let text = format!("[{}: {}]", result.name, result.text);
            self.user(vec![Piece::Text(Cow::Owned(text))]);
        }
        let screen = results.screen.as_ref();
        self.user(screen.map(|screen| Piece::Screen(&screen.text)).into_iter().collect());
    }

    fn answered(&mut self, results: Vec<(Result<'a>, Vec<Piece<'a>>)>) {
        let (results, after): (Vec<_>, Vec<_>) = results.into_iter().unzip();
        if results.is_empty() {
            return;
        }
        self.turns.push(Turn::Results(results));
        self.user(after.into_iter().flatten().collect());
    }

    fn user(&mut self, pieces: Vec<Piece<'a>>) {
        if pieces.is_empty() {
            return;
        }
        match self.turns.last_mut() {
            Some(Turn::User(before)) => before.extend(pieces),
            Some(Turn::Model(_) | Turn::Results(_)) | None => self.turns.push(Turn::User(pieces)),
        }
    }

    fn model(&mut self, turn: ModelTurn<'a>) {
        // Thought alone is nothing that can be said again.
        let says = |said: &Said<'_>| match said {
            Said::Thinking { .. } => false,
            Said::Text { text, .. } => !text.trim().is_empty(),
            Said::Call(_) | Said::Foreign { .. } => true,
        };
        if !turn.blocks.iter().any(says) {
            return;
        }
        match self.turns.last_mut() {
            Some(Turn::User(_) | Turn::Results(_)) => {}
            None => {
                self.repair(turn.entry, "a line stands before what a model said first");
                self.turns.push(Turn::User(vec![Piece::Text(Cow::Borrowed(BEGIN))]));
            }
            Some(Turn::Model(before)) if before.own == turn.own => {
                before.blocks.extend(turn.blocks);
                return;
            }
            Some(Turn::Model(_)) => {
                self.repair(turn.entry, "a line stands between two models that spoke in a row");
                self.turns.push(Turn::User(vec![Piece::Text(Cow::Borrowed(GO_ON))]));
            }
        }
        self.turns.push(Turn::Model(turn));
    }

    /// Makes the last turn one that a model answers. Tells whether it is the model's own that it
    /// goes on with.
    fn close(&mut self, parts: &'a [Part]) -> bool {
        let paused = match parts.last().map(|part| &part.body) {
            Some(Body::Output(output)) => output.stop.is_pause(),
            Some(Body::Input(_) | Body::Results(_)) | None => false,
        };
        let entry = match self.turns.last() {
            Some(Turn::User(_) | Turn::Results(_)) => return false,
            Some(Turn::Model(turn)) if paused && turn.own && self.dialect == Dialect::Anthropic => {
                return true;
            }
            Some(Turn::Model(turn)) => Some(turn.entry),
            None => None,
        };
        self.repairs.push(Repair { entry, what: "a line asks the model to go on".into() });
        self.turns.push(Turn::User(vec![Piece::Text(Cow::Borrowed(GO_ON))]));
        false
    }

    fn repair(&mut self, entry: Seq, what: &str) {
        self.repairs.push(Repair { entry: Some(entry), what: what.into() });
    }
}

/// Texts and the like, and calls.
fn split(blocks: Vec<Said<'_>>) -> (Vec<Said<'_>>, Vec<Said<'_>>) {
    blocks.into_iter().partition(|said| !matches!(said, Said::Call(_)))
}

/// Marks what a model said in the agent's current turn: after the last answer without calls.
fn mark_current(turns: &mut [Turn<'_>], goes_on: bool) {
    let mut is_last = true;
    for turn in turns.iter_mut().rev() {
        let Turn::Model(turn) = turn else { continue };
        let calls = turn.blocks.iter().any(|said| matches!(said, Said::Call(_)));
        let is_open = calls || (goes_on && is_last);
        is_last = false;
        if !is_open {
            return;
        }
        turn.current = true;
    }
}

fn entry_of(part: &Part) -> Seq {
    match part.source {
        Source::Entry(seq) => seq,
        Source::Earlier { to, .. } => to,
    }
}

/// The names of all tools that a request speaks of: those that are shown come first.
fn names_of(request: &Request) -> Vec<Arc<str>> {
    let shown = request.catalogue.tools().iter().map(|tool| &tool.name);
    let called = request.context.parts.iter().flat_map(|part| match &part.body {
        Body::Output(output) => &*output.blocks,
        Body::Input(_) | Body::Results(_) => &[],
    });
    let called = called.filter_map(|block| match block {
        Block::ToolCall(call) => Some(&call.name),
        Block::Thinking(_) | Block::Text(_) | Block::Foreign(_) => None,
    });
    shown.chain(called).cloned().collect()
}

/// The dialect that a request's target speaks; one of ours speaks none, and is never carried.
fn dialect_of(request: &Request) -> Dialect {
    Dialect::named(&request.target.invocation.dialect).unwrap_or(Dialect::OpenAiChat)
}
