//! `threadline wire decode`: what a captured answer says.

use serde::Serialize;
use threadline_core::history::fact::{Block, Digest, FailureKind, Stop, Usage};
use threadline_core::history::metadata::Metadata;
use threadline_core::provider::{Assembler, Delta, Prepared};
use threadline_providers::dialect::{Decode, Dialect, decoder};
use threadline_providers::failed::Failed;
use threadline_providers::names::Names;
use threadline_providers::sse::{Frame, Sse};

use crate::args::WireDecode;
use crate::view::{Line, View, counted, grouped};

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Told {
    deltas: usize,
    output: Output,
    error: Option<Wrong>,
}

#[derive(Debug, Serialize)]
struct Output {
    blocks: Vec<BlockTold>,
    stop: Option<Stop>,
    usage: UsageTold,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum BlockTold {
    Thinking { text: String },
    Text { text: String },
    ToolCall { name: String, provider_id: Option<String>, arguments: String, complete: bool },
    Foreign { kind: String, text: String },
}

/// What it took; null for what was not told.
#[derive(Debug, Serialize)]
struct UsageTold {
    input: Option<u64>,
    output: Option<u64>,
    cached_input: Option<u64>,
    cache_write: Option<u64>,
    reasoning: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Wrong {
    kind: FailureKind,
    message: String,
}

pub(crate) fn run(arguments: &WireDecode, view: &mut View) -> anyhow::Result<()> {
    let bytes = super::read(&arguments.file)?;
    let told = told(arguments.dialect.dialect(), &bytes);
    if view.json {
        view.value(&told)?;
        return Ok(());
    }
    print(&told, view)
}

/// What an answer says.
fn told(dialect: Dialect, bytes: &[u8]) -> Told {
    let mut reading = Reading::new(dialect);
    let read = reading.all(bytes);
    let deltas = reading.deltas.len();
    let mut answer = Assembler::default();
    let prepared =
        Prepared { body_digest: Digest::of(b""), encoder_version: 0, repairs: Vec::new() };
    let before = [Delta::Prepared(prepared), Delta::Started(Metadata::new())];
    let mut wrong = read.err();
    for delta in before.into_iter().chain(reading.deltas) {
        if let Err(broken) = answer.push(&delta) {
            wrong = wrong.or_else(|| Some(Failed::protocol(broken.to_string())));
            break;
        }
    }
    let error = wrong.map(|failed| Wrong { kind: failed.kind, message: failed.message });
    let (blocks, stop, usage) = match answer.finish() {
        Ok(whole) if error.is_none() => (whole.blocks, Some(whole.stop), Some(whole.usage)),
        Ok(whole) => (whole.blocks, None, Some(whole.usage)),
        Err(partial) => (partial.streamed, None, partial.usage),
    };
    let blocks = blocks.into_iter().map(block).collect();
    Told { deltas, output: Output { blocks, stop, usage: usage_told(usage) }, error }
}

/// An answer as it is read.
struct Reading {
    decoder: Box<dyn Decode>,
    deltas: Vec<Delta>,
    events: usize,
}

impl Reading {
    fn new(dialect: Dialect) -> Self {
        Self { decoder: decoder(dialect, Names::default()), deltas: Vec::new(), events: 0 }
    }

    fn all(&mut self, bytes: &[u8]) -> Result<(), Failed> {
        let text = String::from_utf8_lossy(bytes);
        if is_framed(&text) {
            let mut sse = Sse::default();
            sse.push(bytes, |frame| self.frame(frame))?;
            sse.end(|frame| self.frame(frame))?;
        } else {
            for line in text.trim_start_matches('\u{feff}').lines().map(str::trim) {
                if !line.is_empty() {
                    self.event(line)?;
                }
            }
        }
        if self.events == 0 {
            return Err(Failed::protocol("there is no event in it"));
        }
        if self.is_finished() { Ok(()) } else { self.decoder.end(&mut self.deltas) }
    }

    fn frame(&mut self, frame: Frame<'_>) -> Result<(), Failed> {
        match frame {
            Frame::Event(event) => self.event(event.data),
            // Only the blank line after it is missing, or the rest of it.
            Frame::Cut(event) if is_whole(event.data) => self.event(event.data),
            Frame::Stray(line) if is_whole(line) => self.event(line),
            Frame::Cut(_) | Frame::Stray(_) | Frame::Comment => Ok(()),
        }
    }

    fn event(&mut self, data: &str) -> Result<(), Failed> {
        self.events += 1;
        // Nothing counts after the end.
        if self.is_finished() { Ok(()) } else { self.decoder.event(data, &mut self.deltas) }
    }

    fn is_finished(&self) -> bool {
        self.deltas.last().is_some_and(Delta::is_last)
    }
}

/// Whether a text is a stream of events, not an event in each line.
fn is_framed(text: &str) -> bool {
    let begins = |line: &str| ["data:", "event:", "id:", ":"].iter().any(|m| line.starts_with(m));
    text.trim_start_matches('\u{feff}').split(['\n', '\r']).any(begins)
}

fn is_whole(data: &str) -> bool {
    data.trim() == "[DONE]" || serde_json::from_str::<serde::de::IgnoredAny>(data).is_ok()
}

fn block(block: Block) -> BlockTold {
    match block {
        Block::Thinking(thinking) => BlockTold::Thinking { text: thinking.text.to_string() },
        Block::Text(text) => BlockTold::Text { text: text.text.to_string() },
        Block::ToolCall(call) => BlockTold::ToolCall {
            name: call.name.to_string(),
            provider_id: call.provider_id.map(|id| id.to_string()),
            arguments: call.arguments.to_string(),
            complete: call.complete,
        },
        Block::Foreign(foreign) => {
            BlockTold::Foreign { kind: foreign.kind.to_string(), text: foreign.text.to_string() }
        }
    }
}

fn usage_told(usage: Option<Usage>) -> UsageTold {
    UsageTold {
        input: usage.map(|usage| usage.input),
        output: usage.map(|usage| usage.output),
        cached_input: usage.and_then(|usage| usage.cached_input),
        cache_write: usage.and_then(|usage| usage.cache_write),
        reasoning: usage.and_then(|usage| usage.reasoning),
    }
}

fn print(told: &Told, view: &mut View) -> anyhow::Result<()> {
    for block in &told.output.blocks {
        match block {
            BlockTold::Thinking { text } => {
                view.line(&Line::new().name("thinking"))?;
                view.text(text, "  ")?;
            }
            BlockTold::Text { text } => {
                view.line(&Line::new().name("text"))?;
                view.text(text, "  ")?;
            }
            BlockTold::ToolCall { name, provider_id, arguments, complete } => {
                let line = Line::new().name("call ").bold(name);
                let line = line.dim(format!(" {}", provider_id.as_deref().unwrap_or("(no id)")));
                view.line(&if *complete { line } else { line.bad(" (cut off)") })?;
                view.text(arguments, "  ")?;
            }
            BlockTold::Foreign { kind, text } => {
                view.line(&Line::new().name("foreign ").plain(kind))?;
                view.text(text, "  ")?;
            }
        }
    }
    let Output { stop, usage, .. } = &told.output;
    let stop = stop.map(|stop| format!("stop {}", serde_json::json!(stop)).replace('"', ""));
    let tokens = |what: &str, number: Option<u64>| number.map(|n| format!("{what} {}", grouped(n)));
    let parts: Vec<String> = [
        stop,
        tokens("input", usage.input),
        tokens("output", usage.output),
        tokens("cached", usage.cached_input),
        tokens("reasoning", usage.reasoning),
        Some(counted(u64::try_from(told.deltas)?, "delta", "deltas")),
    ]
    .into_iter()
    .flatten()
    .collect();
    view.line(&Line::new().dim(parts.join(" · ")))?;
    if let Some(Wrong { kind, message }) = &told.error {
        let kind = serde_json::json!(kind).to_string().replace('"', "");
        view.line(&Line::new().bad(format!("{kind}: ")).plain(message))?;
    }
    Ok(())
}
