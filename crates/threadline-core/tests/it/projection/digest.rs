//! The digest of a context: equal for equal contexts, another for whatever differs.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;
use threadline_core::context::{
    Body, Context, InputPart, OutputPart, Part, ResultPart, ResultsPart, Screen, Source, System,
};
use threadline_core::history::fact::{Attachment, Block, Digest, Status, Stop, Text};
use threadline_core::history::sections::Level;
use threadline_core::id::Seq;

use crate::strategies::{attachment, block, call, invocation, seeded, seq, shared};

fn context() -> impl Strategy<Value = Context> {
    let system = (of(seq()), shared(), any::<u32>()).prop_map(|(entry, text, tokens)| System {
        entry,
        text,
        tokens,
    });
    (system, vec(part(), 1..5)).prop_map(|(system, parts)| Context { system, parts })
}

fn part() -> impl Strategy<Value = Part> {
    let source = prop_oneof![
        seq().prop_map(Source::Entry),
        (seq(), seq()).prop_map(|(from, to)| Source::Earlier { from, to }),
    ];
    (source, level(), any::<u32>(), body()).prop_map(|(source, level, tokens, body)| Part {
        source,
        level,
        tokens,
        body,
    })
}

fn body() -> impl Strategy<Value = Body> {
    let input = (shared(), vec(attachment(), 0..3), of(screen())).prop_map(
        |(text, attachments, screen)| Body::Input(InputPart { text, attachments, screen }),
    );
    let output =
        (invocation(), vec(block(), 0..4), stop()).prop_map(|(invocation, blocks, stop)| {
            Body::Output(OutputPart { invocation, blocks, stop })
        });
    let results = (vec(result(), 0..3), of(screen()))
        .prop_map(|(results, screen)| Body::Results(ResultsPart { results, screen }));
    prop_oneof![input, output, results]
}

fn result() -> impl Strategy<Value = ResultPart> {
    let status = select(vec![Status::Success, Status::Failed, Status::Skipped, Status::Unknown]);
    let said = (shared(), vec(attachment(), 0..2));
    (call(), shared(), seq(), status, said, level(), any::<u32>()).prop_map(
        |(call, name, entry, status, (text, attachments), level, tokens)| ResultPart {
            call,
            name,
            entry,
            status,
            text,
            attachments,
            level,
            tokens,
        },
    )
}

fn screen() -> impl Strategy<Value = Screen> {
    (shared(), any::<u32>()).prop_map(|(text, tokens)| Screen { text, tokens })
}

fn level() -> impl Strategy<Value = Level> {
    select(vec![Level::Gist, Level::Recent, Level::Live])
}

fn stop() -> impl Strategy<Value = Stop> {
    select(vec![Stop::Done, Stop::Length, Stop::Refusal, Stop::Blocked, Stop::Paused])
}

proptest! {
    #![proptest_config(seeded(128))]

    #[test]
    fn whatever_differs_has_another_digest(context in context()) {
        let mut known: BTreeMap<Digest, Context> = BTreeMap::new();
        for other in [vec![context.clone(), context.clone()], changes(&context)].concat() {
            let before = known.entry(other.digest()).or_insert_with(|| other.clone());
            prop_assert_eq!(&*before, &other);
        }
        prop_assert!(known.len() > 8);
    }

    #[test]
    fn two_contexts_have_one_digest_only_if_they_are_equal(a in context(), b in context()) {
        prop_assert_eq!(a == b, a.digest() == b.digest());
    }
}

#[test]
fn the_form_is_the_one_that_was_written() {
    // If this changes, so must the version of the form, and that of the projection.
    let text = "hello".into();
    let input = InputPart { text, attachments: Vec::new(), screen: None };
    let part = Part {
        source: Source::Entry(Seq(3)),
        level: Level::Live,
        tokens: 1,
        body: Body::Input(input),
    };
    let system = System { entry: Some(Seq(2)), text: "be brief".into(), tokens: 2 };
    insta::assert_snapshot!(Context { system, parts: vec![part] }.digest(), @"0a196d42299f49dc53ad89837373801e43e0eae72a0519037406e10a5c8fb633");
    insta::assert_snapshot!(Context::default().digest(), @"dcfa05dc0f7b6076c7c0c15bc3f9f00088ed361dc171b0fde4eae4bda92aff15");
}

/// A context once for each of its fields, with that field changed.
fn changes(context: &Context) -> Vec<Context> {
    let mut changed = Changes { context, made: Vec::new() };
    changed.make(|c| c.system.entry = other_seq(c.system.entry));
    changed.make(|c| c.system.text = longer(&c.system.text));
    changed.make(|c| c.system.tokens ^= 1);
    changed.make(|c| c.parts.reverse());
    changed.make(|c| drop(c.parts.pop()));
    for nth in 0..context.parts.len() {
        changed.make(|c| c.parts.insert(nth, c.parts[nth].clone()));
        changed.part(nth);
        match &context.parts[nth].body {
            Body::Input(_) => changed.input(nth),
            Body::Output(output) => changed.output(nth, output.blocks.len()),
            Body::Results(results) => changed.results(nth, results.results.len()),
        }
    }
    changed.made
}

struct Changes<'a> {
    context: &'a Context,
    made: Vec<Context>,
}

impl Changes<'_> {
    fn make(&mut self, change: impl FnOnce(&mut Context)) {
        let mut context = self.context.clone();
        change(&mut context);
        self.made.push(context);
    }

    fn part(&mut self, nth: usize) {
        self.make(|c| c.parts[nth].tokens ^= 1);
        self.make(|c| {
            c.parts[nth].level = match c.parts[nth].level {
                Level::Live => Level::Recent,
                Level::Recent => Level::Gist,
                Level::Gist => Level::Live,
            };
        });
        let seq = |seq: Seq| Seq(seq.0 ^ 1);
        self.make(|c| {
            c.parts[nth].source = match c.parts[nth].source {
                Source::Entry(entry) => Source::Entry(seq(entry)),
                Source::Earlier { from, to } => Source::Earlier { from: seq(from), to },
            };
        });
        self.make(|c| {
            c.parts[nth].source = match c.parts[nth].source {
                Source::Entry(entry) => Source::Earlier { from: entry, to: entry },
                Source::Earlier { from, to } => Source::Earlier { from, to: seq(to) },
            };
        });
    }

    fn input(&mut self, nth: usize) {
        let input = |c: &mut Context, change: &dyn Fn(&mut InputPart)| {
            let Body::Input(input) = &mut c.parts[nth].body else { panic!() };
            change(input);
        };
        self.make(|c| input(c, &|input| input.text = longer(&input.text)));
        self.make(|c| input(c, &|input| input.attachments.reverse()));
        self.make(|c| input(c, &|input| other_screen(&mut input.screen)));
        self.make(|c| input(c, &|input| other_screen_tokens(&mut input.screen)));
        for which in 0..ATTACHMENT_FIELDS {
            self.make(|c| input(c, &|input| other_attachment(&mut input.attachments, which)));
        }
    }

    fn output(&mut self, nth: usize, blocks: usize) {
        let output = |c: &mut Context, change: &dyn Fn(&mut OutputPart)| {
            let Body::Output(output) = &mut c.parts[nth].body else { panic!() };
            change(output);
        };
        self.make(|c| output(c, &|o| o.invocation.provider = longer(&o.invocation.provider)));
        self.make(|c| output(c, &|o| o.invocation.endpoint = longer(&o.invocation.endpoint)));
        self.make(|c| {
            output(c, &|o| o.invocation.account = other_text(o.invocation.account.as_ref()));
        });
        self.make(|c| output(c, &|o| o.invocation.dialect = longer(&o.invocation.dialect)));
        self.make(|c| output(c, &|o| o.invocation.model = longer(&o.invocation.model)));
        // What leaves one text and enters the next is not the same text.
        self.make(|c| {
            output(c, &|o| {
                let both = format!("{}{}", o.invocation.dialect, o.invocation.model);
                (o.invocation.dialect, o.invocation.model) = (both.into(), "".into());
            });
        });
        self.make(|c| output(c, &|o| o.blocks.reverse()));
        self.make(|c| {
            output(c, &|o| {
                o.stop = if o.stop == Stop::Done { Stop::Paused } else { Stop::Done };
            });
        });
        for block in 0..blocks {
            self.make(|c| output(c, &|o| drop(o.blocks.remove(block))));
            for which in 0..BLOCK_FIELDS {
                self.make(|c| output(c, &|o| other_block(&mut o.blocks[block], which)));
            }
        }
    }

    fn results(&mut self, nth: usize, results: usize) {
        let part = |c: &mut Context, change: &dyn Fn(&mut ResultsPart)| {
            let Body::Results(results) = &mut c.parts[nth].body else { panic!() };
            change(results);
        };
        self.make(|c| part(c, &|part| part.results.reverse()));
        self.make(|c| part(c, &|part| other_screen(&mut part.screen)));
        self.make(|c| part(c, &|part| other_screen_tokens(&mut part.screen)));
        for result in 0..results {
            self.make(|c| part(c, &|part| drop(part.results.remove(result))));
            for which in 0..8 + ATTACHMENT_FIELDS {
                self.make(|c| part(c, &|part| other_result(&mut part.results[result], which)));
            }
        }
    }
}

const ATTACHMENT_FIELDS: usize = 5;
const BLOCK_FIELDS: usize = 6;

fn longer(text: &str) -> Arc<str> {
    format!("{text}x").into()
}

fn other_text(text: Option<&Arc<str>>) -> Option<Arc<str>> {
    match text {
        None => Some("".into()),
        Some(text) => (!text.is_empty()).then(|| longer(text)),
    }
}

fn other_seq(seq: Option<Seq>) -> Option<Seq> {
    match seq {
        None => Some(Seq::ZERO),
        Some(seq) => (seq.0 % 2 == 0).then_some(Seq(seq.0 ^ 1)),
    }
}

fn other_screen(screen: &mut Option<Screen>) {
    match screen {
        None => *screen = Some(Screen { text: "".into(), tokens: 0 }),
        Some(shown) => shown.text = longer(&shown.text),
    }
}

fn other_screen_tokens(screen: &mut Option<Screen>) {
    match screen {
        Some(shown) if shown.tokens > 0 => shown.tokens ^= 1,
        Some(_) | None => *screen = None,
    }
}

fn other_attachment(attachments: &mut Vec<Attachment>, which: usize) {
    let Some(first) = attachments.first_mut() else { return };
    match which {
        0 => first.digest.0[31] ^= 1,
        1 => first.size ^= 1,
        2 => first.media_type = longer(&first.media_type),
        3 => first.name = other_text(first.name.as_ref()),
        _ => drop(attachments.remove(0)),
    }
}

fn other_block(block: &mut Block, which: usize) {
    match (block, which) {
        (Block::Thinking(thinking), 0) => thinking.text = longer(&thinking.text),
        (Block::Thinking(thinking), 1) => thinking.state = other_text(thinking.state.as_ref()),
        (block @ Block::Thinking(_), _) => {
            let Block::Thinking(thinking) = block.clone() else { return };
            let (text, state) = (thinking.text, thinking.state);
            *block = Block::Text(Text { text, state });
        }
        (Block::Text(text), 0) => text.text = longer(&text.text),
        (Block::Text(text), _) => text.state = other_text(text.state.as_ref()),
        (Block::ToolCall(call), 0) => call.name = longer(&call.name),
        (Block::ToolCall(call), 1) => call.arguments = longer(&call.arguments),
        (Block::ToolCall(call), 2) => call.provider_id = other_text(call.provider_id.as_ref()),
        (Block::ToolCall(call), 3) => call.complete ^= true,
        (Block::ToolCall(call), 4) => call.state = other_text(call.state.as_ref()),
        (Block::ToolCall(call), _) => {
            std::mem::swap(&mut call.provider_id, &mut call.state);
        }
        (Block::Foreign(foreign), 0) => foreign.kind = longer(&foreign.kind),
        (Block::Foreign(foreign), 1) => foreign.text = longer(&foreign.text),
        (Block::Foreign(foreign), _) => foreign.state = longer(&foreign.state),
    }
}

fn other_result(result: &mut ResultPart, which: usize) {
    match which {
        0 => result.call.output = Seq(result.call.output.0 ^ 1),
        1 => result.call.index ^= 1,
        2 => result.name = longer(&result.name),
        3 => result.entry = Seq(result.entry.0 ^ 1),
        4 => {
            result.status = match result.status {
                Status::Success => Status::Failed,
                Status::Failed => Status::Skipped,
                Status::Skipped => Status::Unknown,
                Status::Unknown => Status::Success,
            };
        }
        5 => result.text = longer(&result.text),
        6 => {
            result.level = if result.level == Level::Live { Level::Gist } else { Level::Live };
        }
        7 => result.tokens ^= 1,
        _ => other_attachment(&mut result.attachments, which - 8),
    }
}
