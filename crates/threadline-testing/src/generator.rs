//! A seeded generator of histories: mixed, legal, of any length, in bounded memory.
//!
//! What comes next is chosen from what the history amounts to, as a driver would, so that it goes
//! on sensibly after a rewind into the middle of anything. Everything goes through
//! [`History::propose`] and [`History::propose_rewind`]: a batch that comes out is legal.
//!
//! The same options give the same bytes.

mod aside;
mod call;
mod close;
mod fill;
mod past;
mod scene;
mod speaker;
mod text;
mod turn;

use std::collections::BTreeMap;
use std::sync::Arc;

use threadline_core::clock::Timestamp;
use threadline_core::history::batch::Batch;
use threadline_core::history::fact::{Attachment, Invocation};
use threadline_core::history::{History, Proposed, Refused, Stamp};
use threadline_core::id::AgentId;
use threadline_core::outline::{OutlineRow, RowKind};

pub use fill::{FillError, fill};

use self::past::Past;
use self::scene::Scene;
use crate::ids::{Choices, SeededIds};
use threadline_core::tokens::Estimator;

/// How many entries must be left for a rewind, so that the history can still end at rest.
const REWIND_ROOM: u64 = 256;

/// What kind of history to generate.
#[derive(Clone, Debug)]
pub struct GeneratorOptions {
    /// What all choices, ids and times are a function of.
    pub seed: u64,
    /// How many agents there are; the first is the primary one.
    pub agents: u32,
    /// How the entries are shared among the agents, in their order: each gets turns until it has
    /// its part of the sum. None: the primary agent gets most, the others what falls to them.
    pub shares: Vec<u32>,
    /// Nothing but inputs whose text has exactly so many bytes.
    pub entry_bytes: Option<usize>,
    /// How many of a hundred turns are followed by a rewind.
    pub rewinds_percent: u64,
    /// Attachments that the store has; inputs and results name them now and then.
    pub attachments: Vec<Attachment>,
    /// The models that answer. Each speaks as its dialect does, with states, foreign blocks and
    /// mistakes. None: three models without peculiarities.
    pub speakers: Vec<Invocation>,
    /// When it begins.
    pub start: Timestamp,
}

impl Default for GeneratorOptions {
    /// One agent, some rewinds, no attachments, from the first moment of 2026 on.
    fn default() -> Self {
        Self {
            seed: 0,
            agents: 1,
            shares: Vec::new(),
            entry_bytes: None,
            rewinds_percent: 8,
            attachments: Vec::new(),
            speakers: Vec::new(),
            start: Timestamp::from_micros(1_767_225_600_000_000),
        }
    }
}

impl GeneratorOptions {
    /// The usual mixture, of a seed and with so many agents.
    pub fn mixed(seed: u64, agents: u32) -> Self {
        Self { seed, agents, ..Self::default() }
    }

    /// Nothing but inputs of exactly so many bytes to one agent.
    pub fn inputs(seed: u64, bytes: usize) -> Self {
        Self { seed, entry_bytes: Some(bytes), rewinds_percent: 0, ..Self::default() }
    }
}

/// A history that grows by one batch at a time, for ever.
#[derive(Debug)]
pub struct Generator {
    options: GeneratorOptions,
    choices: Choices,
    ids: SeededIds,
    now: Timestamp,
    history: Arc<History>,
    past: Past,
    entries: BTreeMap<AgentId, u64>,
    last: Last,
}

/// What the last batch was, as far as a rewind may follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    /// Something in the middle of a turn.
    Step,
    /// The end of a turn.
    TurnEnd,
    /// A rewind.
    Rewind,
}

impl Generator {
    /// The history of these options, before its first batch.
    pub fn new(options: GeneratorOptions) -> Self {
        let history = Arc::new(History::new());
        Self {
            choices: Choices::new(options.seed),
            ids: SeededIds::new(options.seed),
            now: options.start,
            past: Past::new(Arc::clone(&history)),
            history,
            entries: BTreeMap::new(),
            last: Last::Step,
            options,
        }
    }

    /// The history so far.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The next batch, and the history after it.
    ///
    /// An error is a mistake in the generator, or in the rules.
    pub fn next_batch(&mut self) -> Result<Proposed, Refused> {
        self.next_within(u64::MAX)
    }

    /// The next batch of a history that is to end, with all agents at rest, after exactly `left`
    /// more entries.
    pub fn next_within(&mut self, left: u64) -> Result<Proposed, Refused> {
        self.pass_time();
        let rewind = self.rewind_target(left);
        let stamp = Stamp { at: self.now, ids: &self.ids, counter: &Estimator };
        let proposed = match &rewind {
            Some(past) => {
                let aftermath = self.past.aftermath(past.head());
                self.history.propose_rewind(past, &aftermath, stamp)?
            }
            None => {
                let mut scene = Scene {
                    options: &self.options,
                    choices: &mut self.choices,
                    ids: &self.ids,
                    now: self.now,
                    history: &self.history,
                    entries: &self.entries,
                };
                self.history.propose(scene.next(left), stamp)?
            }
        };
        self.take(&proposed, rewind.is_some());
        Ok(proposed)
    }

    fn take(&mut self, proposed: &Proposed, rewound: bool) {
        for placed in &proposed.batch.entries {
            *self.entries.entry(placed.entry.agent).or_default() += 1;
        }
        let ends = |row: &Arc<OutlineRow>| matches!(row.kind, RowKind::Answer | RowKind::Ended);
        self.last = if rewound {
            Last::Rewind
        } else if self.options.entry_bytes.is_some() || proposed.batch.rows.iter().any(ends) {
            Last::TurnEnd
        } else {
            Last::Step
        };
        self.history = Arc::new(proposed.history.clone());
        self.past.keep(&proposed.batch, &self.history, &mut self.choices);
    }

    /// Some time goes by: mostly little, between turns now and then a lot.
    fn pass_time(&mut self) {
        let pause = if self.last == Last::TurnEnd && self.choices.percent(10) {
            self.choices.below(6 * 3_600_000)
        } else {
            self.choices.below(3000)
        };
        self.now = self.now.plus_millis(1 + pause);
    }

    /// Where to rewind to now, if at all.
    fn rewind_target(&mut self, left: u64) -> Option<Arc<History>> {
        let percent = self.options.rewinds_percent;
        if percent == 0 || left < REWIND_ROOM {
            return None;
        }
        let wanted = match self.last {
            Last::TurnEnd => self.choices.percent(percent),
            Last::Rewind => self.choices.percent(15),
            Last::Step => self.choices.below(3000) < percent,
        };
        if wanted { self.past.choose(&self.history, &mut self.choices) } else { None }
    }
}

/// The batches of a history of exactly so many entries that ends with all agents at rest.
pub fn generate(options: GeneratorOptions, entries: u64) -> Result<Vec<Batch>, Refused> {
    let mut generator = Generator::new(options);
    let mut batches = Vec::new();
    while generator.history().head().0 < entries {
        let left = entries - generator.history().head().0;
        batches.push(generator.next_within(left)?.batch);
    }
    Ok(batches)
}

#[cfg(test)]
mod tests;
