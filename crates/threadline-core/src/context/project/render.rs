//! Rendering: from rows and their entries to parts, each with its level and its tokens.

use std::sync::Arc;

use super::super::{
    Body, InputPart, OutputPart, Part, ResultPart, ResultsPart, Screen, Source, System,
};
use super::exchange::Item;
use crate::history::entry::Entry;
use crate::history::fact::{Fact, Input, Output, Recap, ToolFinished};
use crate::history::sections::{Level, render};
use crate::id::Seq;
use crate::tokens::TokenCounter;

/// Makes parts.
pub(super) struct Renderer<'a> {
    /// Up to how many tokens a result of the current turn is shown whole.
    pub(super) live_cap: u32,
    pub(super) counter: &'a dyn TokenCounter,
}

impl Renderer<'_> {
    /// The system message of an instruction; a blank one says nothing.
    pub(super) fn system(&self, instruction: Option<&(Seq, Arc<str>)>) -> System {
        let Some((entry, text)) = instruction else { return System::default() };
        let entry = Some(*entry);
        if text.trim().is_empty() {
            return System { entry, ..System::default() };
        }
        System { entry, text: Arc::clone(text), tokens: self.counter.count(text) }
    }

    /// A live screen.
    pub(super) fn screen(&self, text: &Arc<str>) -> Screen {
        Screen { text: Arc::clone(text), tokens: self.counter.count(text) }
    }

    /// Inputs of the current turn, whole.
    pub(super) fn inputs(&self, items: &[Item<'_>]) -> Vec<Part> {
        self.exchange(items, true)
    }

    /// An exchange, at the levels of the current turn or of earlier ones.
    pub(super) fn exchange(&self, items: &[Item<'_>], current: bool) -> Vec<Part> {
        items.iter().filter_map(|item| self.item(item, current)).collect()
    }

    /// The newest exchange of the current turn. Its results are lowered, largest first, to Recent
    /// and then to Gist, until it fits or no more can be done.
    pub(super) fn newest(&self, items: &[Item<'_>], free: u64) -> Vec<Part> {
        let mut parts = self.exchange(items, true);
        for level in [Level::Recent, Level::Gist] {
            while super::tokens(&parts) > free {
                let lowered = items.iter().zip(&mut parts).any(|(item, part)| {
                    let Body::Results(results) = &mut part.body else { return false };
                    let lowered = self.lower(&mut results.results, item.entries, level);
                    (part.level, part.tokens) = sums(&results.results);
                    lowered
                });
                if !lowered {
                    break;
                }
            }
        }
        parts
    }

    /// The line that says that exchanges are left out, and how many if that is known.
    pub(super) fn left_out(&self, exchanges: Option<usize>, from: Seq, to: Seq) -> Part {
        let text = match exchanges {
            None => "[… earlier exchanges are left out …]".to_owned(),
            Some(1) => "[… 1 earlier exchange of this turn is left out …]".to_owned(),
            Some(n) => format!("[… {n} earlier exchanges of this turn are left out …]"),
        };
        self.words(Source::Earlier { from, to }, Level::Gist, text)
    }

    fn item(&self, item: &Item<'_>, current: bool) -> Option<Part> {
        let Item { row, entries } = *item;
        let entry = entries.first()?;
        let source = Source::Entry(entry.seq);
        match &entry.fact {
            Fact::Input(input) => {
                let level = if current { Level::Live } else { Level::Recent };
                let tokens = row.tokens.at(level);
                Some(Part { source, level, tokens, body: Body::Input(input_part(input, level)) })
            }
            Fact::Output(output) => {
                let (level, tokens) = (Level::Live, row.tokens.live);
                Some(Part { source, level, tokens, body: Body::Output(output_part(output)) })
            }
            Fact::ToolResults(_) => Some(self.results(source, entries, current)),
            Fact::TurnEnded(_) => Some(self.words(source, Level::Gist, format!("[{}]", row.gist))),
            Fact::Recap(Recap { from, to, text: Some(text), .. }) => {
                let text = format!("[Recap of entries {from} to {to}]\n{text}");
                Some(self.words(source, Level::Live, text))
            }
            _ => None,
        }
    }

    fn results(&self, source: Source, entries: &[Arc<Entry>], current: bool) -> Part {
        let results: Vec<ResultPart> = finished(entries)
            .map(|(seq, finished)| {
                let whole = self.result(seq, finished, Level::Live);
                if current && whole.tokens <= self.live_cap {
                    whole
                } else {
                    self.result(seq, finished, Level::Recent)
                }
            })
            .collect();
        let (level, tokens) = sums(&results);
        Part { source, level, tokens, body: Body::Results(ResultsPart { results, screen: None }) }
    }

    fn result(&self, entry: Seq, finished: &ToolFinished, level: Level) -> ResultPart {
        let text = render(&finished.result, level);
        ResultPart {
            call: finished.call,
            name: Arc::clone(&finished.name),
            entry,
            status: finished.status,
            tokens: self.counter.count(&text),
            text: text.into(),
            attachments: finished.attachments.clone(),
            level,
        }
    }

    /// Lowers the largest result above a level to it, if there is one.
    fn lower(&self, results: &mut [ResultPart], entries: &[Arc<Entry>], level: Level) -> bool {
        let higher = results.iter_mut().zip(finished(entries));
        let higher = higher.filter(|(result, _)| result.level > level);
        let Some((largest, (seq, finished))) = higher.max_by_key(|(result, _)| result.tokens)
        else {
            return false;
        };
        *largest = self.result(seq, finished, level);
        true
    }

    /// Words of ours.
    fn words(&self, source: Source, level: Level, text: String) -> Part {
        let tokens = self.counter.count(&text);
        let body = InputPart { text: text.into(), attachments: Vec::new(), screen: None };
        Part { source, level, tokens, body: Body::Input(body) }
    }
}

fn input_part(input: &Input, level: Level) -> InputPart {
    let text = render(&input.sections, level).into();
    InputPart { text, attachments: input.attachments.clone(), screen: None }
}

fn output_part(output: &Output) -> OutputPart {
    OutputPart {
        invocation: output.invocation.clone(),
        blocks: output.blocks.clone(),
        stop: output.stop,
    }
}

/// The highest level of some results, and the tokens of all.
fn sums(results: &[ResultPart]) -> (Level, u32) {
    let level = results.iter().map(|result| result.level).max().unwrap_or(Level::Gist);
    (level, results.iter().map(|result| result.tokens).fold(0, u32::saturating_add))
}

/// The finished calls among the entries of sealed results.
fn finished(entries: &[Arc<Entry>]) -> impl Iterator<Item = (Seq, &ToolFinished)> {
    entries.iter().filter_map(|entry| match &entry.fact {
        Fact::ToolFinished(finished) => Some((entry.seq, finished)),
        _ => None,
    })
}
