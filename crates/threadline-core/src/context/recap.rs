//! Recaps: a model writes what stands for a range of exchanges that no longer have their lines.
//!
//! What it reads is made of the range, its answer is held against names and numbers that the range
//! has, and what it left out is added in one line. All of it is pure.

mod probes;

use std::fmt::Write as _;
use std::sync::Arc;

pub use self::probes::{PROBES_CAP, probes};
use super::plan::RecapWish;
use super::words::words_of;
use super::{Body, Context, InputPart, Level, Part, Source, System};
use crate::history::History;
use crate::history::by_seq::BySeq;
use crate::history::entry::Entry;
use crate::history::fact::Fact;
use crate::id::{AgentId, Seq};
use crate::outline::{OutlineRow, RowKind};
use crate::tokens::TokenCounter;

/// What the words around the range take in the request.
const WORDS_TOKENS: u64 = 400;
/// The most tokens of a recap that someone asks for.
const ASKED_TOKENS: u64 = 1_500;
/// What a line takes beside its text.
const LINE_TOKENS: u64 = 10;

/// A recap that is to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecapAsk {
    /// Whose thread.
    pub agent: AgentId,
    /// The first entry it stands for, if all of the range can be read.
    pub from: Seq,
    /// The last entry; none for all but the newest exchange.
    pub to: Option<Seq>,
    /// The recap that stands for the beginning of it.
    pub base: Option<Seq>,
    /// The last entry that this recap stands for.
    pub after: Seq,
    /// The most tokens the recap should take.
    pub most_tokens: u64,
    /// What the request may take.
    pub budget: u64,
    /// What is to be kept or forgotten.
    pub hints: Vec<String>,
    /// Whether someone asked for it.
    pub asked: bool,
}

impl RecapAsk {
    /// A recap of what a plan could not list.
    pub fn wished(agent: AgentId, wish: &RecapWish, budget: u64) -> Self {
        Self {
            agent,
            from: wish.from,
            to: Some(wish.to),
            base: wish.base,
            after: wish.after,
            most_tokens: wish.most_tokens,
            budget,
            hints: Vec::new(),
            asked: false,
        }
    }

    /// A recap of all but the newest exchange, with what someone said about it.
    pub fn asked(history: &History, agent: AgentId, budget: u64, hints: Vec<String>) -> Self {
        let recaps = history.state().recaps.iter();
        let base = recaps.filter(|recap| recap.agent == agent).max_by_key(|recap| recap.to);
        Self {
            agent,
            from: base.map_or(Seq(1), |base| base.from),
            to: None,
            base: base.map(|base| base.seq),
            after: base.map_or(Seq::ZERO, |base| base.to),
            most_tokens: ASKED_TOKENS.min(budget / 4),
            budget,
            hints,
            asked: true,
        }
    }
}

/// What a recap is written from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecapSource {
    /// The first entry it stands for.
    pub from: Seq,
    /// The last entry it stands for.
    pub to: Seq,
    /// The range as text: a paragraph or a line for each entry.
    pub text: Arc<str>,
}

/// The rows a recap is written from, and how much of each is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecapRows {
    /// Newest first; whether it is read at Recent, else its line stands for it.
    rows: Vec<(Arc<OutlineRow>, bool)>,
    taken: u64,
    /// Whether the beginning of the range was reached.
    whole: bool,
}

/// What comes of looking at one more row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Older rows may belong to it.
    Further,
    /// No more rows belong to it.
    Done,
}

impl RecapRows {
    /// Takes in the next older row of the thread.
    pub fn take(&mut self, ask: &RecapAsk, history: &History, row: &Arc<OutlineRow>) -> Reach {
        if row.seq <= ask.after {
            self.whole = true;
            return Reach::Done;
        }
        let last = row.previous.is_none();
        if is_in_range(ask, history, row) {
            let free = ask.budget.saturating_sub(ask.most_tokens).saturating_sub(WORDS_TOKENS);
            let whole = u64::from(row.tokens.recent) + LINE_TOKENS;
            let line = u64::from(row.tokens.gist) + LINE_TOKENS;
            let reads = self.taken + whole <= free / 2;
            let tokens = if reads { whole } else { line };
            if self.taken + tokens > free {
                return Reach::Done;
            }
            self.taken += tokens;
            self.rows.push((Arc::clone(row), reads));
        }
        self.whole = last;
        if last { Reach::Done } else { Reach::Further }
    }

    /// The entries that are read for it, besides those that its results seal.
    pub fn entries(&self, ask: &RecapAsk) -> Vec<Seq> {
        let read = self.rows.iter().filter(|(_, whole)| *whole).map(|(row, _)| row.seq);
        read.chain(ask.base.filter(|_| self.whole)).collect()
    }

    /// What the recap is written from; none if there is nothing to be recapped.
    pub fn source(&self, ask: &RecapAsk, entries: &BySeq<Arc<Entry>>) -> Option<RecapSource> {
        let (to, oldest) = (self.rows.first()?.0.seq, self.rows.last()?.0.seq);
        let mut text = String::new();
        let base = ask.base.filter(|_| self.whole).and_then(|seq| entries.get(seq));
        if let Some(Fact::Recap(recap)) = base.map(|entry| &entry.fact)
            && let Some(before) = &recap.text
        {
            let _ = write!(text, "Recap of entries {} to {}: {before}\n\n", recap.from, recap.to);
        }
        for (row, whole) in self.rows.iter().rev() {
            let said = entries.get(row.seq).filter(|_| *whole);
            let said = said.map(|entry| words_of(&entry.fact, entries, Level::Recent, " "));
            let said = said.as_deref().unwrap_or(&row.gist);
            let _ = writeln!(text, "{} {}: {said}", row.seq, by(row.kind));
        }
        let from = if self.whole { ask.from } else { oldest };
        Some(RecapSource { from, to, text: text.into() })
    }
}

/// Whether a row belongs to the range of a recap.
fn is_in_range(ask: &RecapAsk, history: &History, row: &OutlineRow) -> bool {
    if !row.kind.is_in_exchange() {
        return false;
    }
    match ask.to {
        Some(to) => row.seq <= to,
        None => history.agent(ask.agent).is_some_and(|agent| {
            let newest = agent.exchanges.saturating_sub(u32::from(!agent.answered));
            row.exchange < newest
        }),
    }
}

fn by(kind: RowKind) -> &'static str {
    match kind {
        RowKind::Message => "user",
        RowKind::Input => "input",
        RowKind::Output | RowKind::Answer => "assistant",
        RowKind::Results => "results",
        RowKind::Ended => "ended",
        RowKind::Recap => "recap",
    }
}

/// The context of a request for a recap.
pub fn request(ask: &RecapAsk, source: &RecapSource, counter: &dyn TokenCounter) -> Context {
    let mut words = format!(
        "You keep the memory of a conversation between a user and an assistant. Below is its \
         older part, entry by entry. Write a recap from which the assistant can go on without it: \
         what the user wants, what was decided and why, what was found, what was tried and \
         failed, what is still open. Keep exact names, paths, ids, numbers and quotations. Add \
         nothing that is not there. Plain text, at most {} words.",
        ask.most_tokens * 2 / 3
    );
    for hint in &ask.hints {
        let _ = write!(words, "\n{hint}");
    }
    let system = System { entry: None, tokens: counter.count(&words), text: words.into() };
    let body = InputPart { text: Arc::clone(&source.text), attachments: Vec::new(), screen: None };
    let part = Part {
        source: Source::Earlier { from: source.from, to: source.to },
        level: Level::Recent,
        tokens: counter.count(&source.text),
        body: Body::Input(body),
    };
    Context { system, parts: vec![part] }
}

/// A recap as it is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The text, with one line on what the model left out.
    pub text: Arc<str>,
    /// What the range names and the model did not.
    pub dropped: Vec<String>,
}

/// Why a recap is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It says nothing.
    #[error("the recap is empty")]
    Empty,
    /// It says more than it stands for.
    #[error("the recap is longer than what it stands for")]
    Longer,
    /// It leaves out too much.
    #[error("the recap leaves out {missing} of {named} names and numbers")]
    LeavesOut {
        /// How many are missing.
        missing: usize,
        /// How many were looked for.
        named: usize,
    },
}

/// Holds what a model wrote against what it was written from.
pub fn judge(answer: &str, source: &RecapSource) -> Result<Written, Refused> {
    let answer = answer.trim();
    if answer.is_empty() {
        return Err(Refused::Empty);
    }
    if answer.len() > source.text.len() {
        return Err(Refused::Longer);
    }
    let named = probes(&source.text);
    let folded = answer.to_lowercase();
    let is_missing = |probe: &&String| !folded.contains(&probe.to_lowercase());
    let dropped: Vec<String> = named.iter().filter(is_missing).cloned().collect();
    if dropped.len() * 2 > named.len() {
        return Err(Refused::LeavesOut { missing: dropped.len(), named: named.len() });
    }
    if dropped.is_empty() {
        return Ok(Written { text: answer.into(), dropped });
    }
    let text = format!("{answer}\nAlso named there: {}", dropped.join(", "));
    Ok(Written { text: text.into(), dropped })
}

#[cfg(test)]
mod tests;
