//! A context in a form that serde writes: its texts and its fields, no more and no less.

use serde::Serialize;
use threadline_core::context::{Body, Context, Level, ResultPart, Screen, Source};
use threadline_core::history::fact::{Attachment, Block, Invocation, Status, Stop};
use threadline_core::id::{CallId, Seq};

#[derive(Serialize)]
pub(super) struct Mirror<'a> {
    system: (Option<Seq>, &'a str, u32),
    parts: Vec<Part<'a>>,
}

#[derive(Serialize)]
struct Part<'a> {
    from: Seq,
    to: Seq,
    level: Level,
    tokens: u32,
    body: Said<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Said<'a> {
    Input { text: &'a str, attachments: &'a [Attachment], screen: Option<Shown<'a>> },
    Output { invocation: &'a Invocation, blocks: &'a [Block], stop: Stop },
    Results { results: Vec<Result<'a>>, screen: Option<Shown<'a>> },
}

#[derive(Serialize)]
struct Result<'a> {
    call: CallId,
    name: &'a str,
    entry: Seq,
    status: Status,
    text: &'a str,
    attachments: &'a [Attachment],
    level: Level,
    tokens: u32,
}

#[derive(Serialize)]
struct Shown<'a> {
    text: &'a str,
    tokens: u32,
}

impl<'a> Mirror<'a> {
    pub(super) fn of(context: &'a Context) -> Self {
        let parts = context.parts.iter().map(|part| {
            let (from, to) = match part.source {
                Source::Entry(seq) => (seq, seq),
                Source::Earlier { from, to } => (from, to),
            };
            Part { from, to, level: part.level, tokens: part.tokens, body: said(&part.body) }
        });
        let system = &context.system;
        Self { system: (system.entry, &system.text, system.tokens), parts: parts.collect() }
    }
}

fn said(body: &Body) -> Said<'_> {
    match body {
        Body::Input(input) => Said::Input {
            text: &input.text,
            attachments: &input.attachments,
            screen: shown(input.screen.as_ref()),
        },
        Body::Output(output) => Said::Output {
            invocation: &output.invocation,
            blocks: &output.blocks,
            stop: output.stop,
        },
        Body::Results(results) => Said::Results {
            results: results.results.iter().map(result).collect(),
            screen: shown(results.screen.as_ref()),
        },
    }
}

fn result(part: &ResultPart) -> Result<'_> {
    Result {
        call: part.call,
        name: &part.name,
        entry: part.entry,
        status: part.status,
        text: &part.text,
        attachments: &part.attachments,
        level: part.level,
        tokens: part.tokens,
    }
}

fn shown(screen: Option<&Screen>) -> Option<Shown<'_>> {
    screen.map(|screen| Shown { text: &screen.text, tokens: screen.tokens })
}
