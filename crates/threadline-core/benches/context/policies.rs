//! What others do when a window is full: let the oldest exchanges fall out, or let every entry fade
//! by itself. Both get the same history, the same budget, the same instruction and tools.

use std::collections::BTreeMap;
use std::sync::Arc;

use threadline_core::context::Level;
use threadline_core::history::fact::{Block, Fact};
use threadline_core::history::sections;
use threadline_core::id::Seq;
use threadline_core::outline::{OutlineRow, RowKind};

use crate::request::{Counted, Request, block_text};
use crate::worker::Worker;

/// The rows of a thread as pieces of text, each at a level.
pub(crate) struct Shown<'a> {
    worker: &'a Worker,
    system: Arc<str>,
    /// What the thread may take.
    budget: u64,
}

impl<'a> Shown<'a> {
    /// Of a window less what is kept free for an answer.
    pub(crate) fn new(
        worker: &'a Worker,
        system: &Arc<str>,
        budget: u64,
        counted: &mut Counted,
    ) -> Self {
        let fixed = Request::new(system, &worker.tools, counted).tokens();
        Self { worker, system: Arc::clone(system), budget: budget.saturating_sub(fixed) }
    }

    fn rows(&self) -> impl DoubleEndedIterator<Item = &'a OutlineRow> + use<'a> {
        self.worker.rows.values().map(|row| &**row).filter(|row| row.kind != RowKind::Recap)
    }

    fn begin(&self, counted: &mut Counted) -> Request {
        Request::new(&self.system, &self.worker.tools, counted)
    }

    /// A row's texts at a level; a screen stands with what is whole.
    fn texts(&self, row: &OutlineRow, level: Level) -> Vec<Arc<str>> {
        let worker = self.worker;
        let fact = |seq: Seq| worker.entries.get(&seq).map(|entry| &entry.fact);
        let mut texts: Vec<Arc<str>> = match fact(row.seq) {
            Some(Fact::Input(input)) => vec![sections::shared(&input.sections, level)],
            Some(Fact::Output(output)) => {
                let thinks = |block: &&Block| matches!(block, Block::Thinking(_));
                let shown =
                    output.blocks.iter().filter(|block| level == Level::Live || !thinks(block));
                shown.map(block_text).collect()
            }
            Some(Fact::ToolResults(sealed)) => {
                let results = sealed.results.iter().filter_map(|seq| match fact(*seq) {
                    Some(Fact::ToolFinished(finished)) => Some(&finished.result),
                    _ => None,
                });
                results.map(|result| sections::shared(result, level)).collect()
            }
            _ => Vec::new(),
        };
        if level == Level::Live {
            texts.extend(worker.screens.get(&row.seq).map(|screen| Arc::clone(&screen.text)));
        }
        texts
    }

    fn tokens(&self, row: &OutlineRow, level: Level, counted: &mut Counted) -> u64 {
        match level {
            Level::Gist => counted.tokens(&line(row)),
            Level::Recent | Level::Live => {
                self.texts(row, level).iter().map(|text| counted.tokens(text)).sum()
            }
        }
    }
}

fn line(row: &OutlineRow) -> Arc<str> {
    format!("{} {:?}: {}", row.seq, row.kind, row.gist).into()
}

/// The newest exchanges that fit, whole.
pub(crate) fn sliding(shown: &Shown<'_>, counted: &mut Counted) -> Request {
    let (mut taken, mut first) = (0, Seq::ZERO);
    let mut exchange = (u32::MAX, 0_u64);
    // From the newest on; an exchange is taken when it is seen as a whole.
    for row in shown.rows().rev() {
        if row.exchange != exchange.0 {
            taken += exchange.1;
            exchange = (row.exchange, 0);
        }
        exchange.1 += shown.tokens(row, Level::Live, counted);
        if taken > 0 && taken + exchange.1 > shown.budget {
            let whole = shown.rows().find(|other| other.exchange > row.exchange);
            first = whole.map_or(row.seq, |row| row.seq);
            break;
        }
    }
    let mut request = shown.begin(counted);
    for row in shown.rows().filter(|row| row.seq >= first) {
        for text in shown.texts(row, Level::Live) {
            request.say(&text, counted);
        }
    }
    request
}

/// How far each entry has faded: one that is not here is whole; none means that it is gone.
#[derive(Default)]
pub(crate) struct Faded(BTreeMap<Seq, Option<Level>>);

impl Faded {
    /// Lowers entry by entry, oldest first, until all fits: to Recent, then to a line, then away.
    pub(crate) fn request(&mut self, shown: &Shown<'_>, counted: &mut Counted) -> Request {
        let newest = shown.rows().next_back().map_or(0, |row| row.exchange);
        let older = |row: &&OutlineRow| row.exchange < newest;
        let mut sum: u64 = shown.rows().map(|row| self.tokens(shown, row, counted)).sum();
        let lowering = [
            (Some(Level::Live), Some(Level::Recent)),
            (Some(Level::Recent), Some(Level::Gist)),
            (Some(Level::Gist), None),
        ];
        for (from, to) in lowering {
            for row in shown.rows().filter(older) {
                if sum <= shown.budget {
                    break;
                }
                if self.level(row.seq) == from {
                    sum -= self.tokens(shown, row, counted);
                    self.0.insert(row.seq, to);
                    sum += self.tokens(shown, row, counted);
                }
            }
        }
        let mut request = shown.begin(counted);
        for row in shown.rows() {
            match self.level(row.seq) {
                Some(Level::Gist) => request.say_line(row.seq, &line(row), counted),
                Some(level) => {
                    for text in shown.texts(row, level) {
                        request.say(&text, counted);
                    }
                }
                None => {}
            }
        }
        request
    }

    fn level(&self, seq: Seq) -> Option<Level> {
        self.0.get(&seq).copied().unwrap_or(Some(Level::Live))
    }

    fn tokens(&self, shown: &Shown<'_>, row: &OutlineRow, counted: &mut Counted) -> u64 {
        self.level(row.seq).map_or(0, |level| shown.tokens(row, level, counted))
    }
}
