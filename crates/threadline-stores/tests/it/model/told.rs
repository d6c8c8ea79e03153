//! A conversation as it was told, known without any store.

use std::collections::BTreeMap;
use std::sync::Arc;

use threadline_core::clock::Timestamp;
use threadline_core::history::batch::{Batch, Placed};
use threadline_core::history::fact::{Fact, Moved, ToolResults};
use threadline_core::history::{Aftermath, Counts, History};
use threadline_core::id::{AgentId, ConversationId, Seq};
use threadline_core::outline::OutlineRow;
use threadline_core::store::Origin;
use threadline_testing::store_suite::facts::{
    ADA, BOB, Words, answered, called, described, finished, joins, said, said_with_key, timer,
};

use super::op::What;

/// A conversation as it was told.
pub(crate) struct Told {
    pub(crate) id: ConversationId,
    /// What it was taken in from, if it was.
    pub(crate) source: Option<usize>,
    /// How it came into the store: what its next batch settles.
    pub(crate) origin: Origin,
    placed: Vec<Arc<Placed>>,
    rows: BTreeMap<Seq, Arc<OutlineRow>>,
    /// The history after each entry, from the empty one on.
    histories: Vec<History>,
}

impl Told {
    pub(crate) fn new(id: ConversationId) -> Self {
        Self {
            id,
            source: None,
            origin: Origin::Own,
            placed: Vec::new(),
            rows: BTreeMap::new(),
            histories: vec![History::new()],
        }
    }

    /// The same conversation up to an entry, under another id.
    pub(crate) fn up_to(&self, at: Seq, id: ConversationId) -> Self {
        let entries = index(at);
        Self {
            id,
            source: None,
            origin: Origin::Own,
            placed: self.placed[..entries].to_vec(),
            rows: self.rows.range(..=at).map(|(seq, row)| (*seq, row.clone())).collect(),
            histories: self.histories[..=entries].to_vec(),
        }
    }

    pub(crate) fn head(&self) -> Seq {
        self.history_at(None).head()
    }

    /// The history at an entry, or at the last.
    pub(crate) fn history_at(&self, at: Option<Seq>) -> &History {
        let place = at.map_or(self.histories.len() - 1, index);
        &self.histories[place]
    }

    /// The history that the next batch follows.
    pub(crate) fn history(&self) -> History {
        let history = self.history_at(None).clone();
        match self.origin {
            Origin::Own => history,
            Origin::Copy => history.into_copy(),
            Origin::Imported => history.into_import(),
        }
    }

    /// What became of the calls that are open at an entry, in the branch that follows it.
    pub(crate) fn aftermath(&self, at: Seq) -> Aftermath {
        let mut aftermath = Aftermath::default();
        for placed in &self.placed[index(at)..] {
            if let Fact::Rewound(_) = placed.entry.fact {
                break;
            }
            aftermath.note(&placed.entry);
        }
        aftermath
    }

    /// A batch was appended.
    pub(crate) fn push(&mut self, batch: &Batch) {
        assert_eq!(batch.base, self.head());
        self.rows.extend(batch.rows.iter().map(|row| (row.seq, row.clone())));
        for placed in &batch.entries {
            let (entry, hash) = (&placed.entry, placed.record.hash);
            let mut history = self.history_at(None).clone();
            if let Fact::Rewound(rewound) = &entry.fact {
                history.rewind(entry, hash, self.history_at(Some(rewound.to))).unwrap();
            } else {
                history.apply(entry, hash, Counts::of(&entry.fact, &Words)).unwrap();
            }
            self.placed.push(Arc::new(placed.clone()));
            self.histories.push(history);
        }
        self.origin = Origin::Own;
    }

    /// The entries after a place as batches of up to so many, as an importer makes them.
    pub(crate) fn batches(&self, after: Seq, up_to: Seq, entries: usize) -> Vec<Batch> {
        let placed = &self.placed[index(after)..index(up_to)];
        let batch = |placed: &[Arc<Placed>]| {
            let (first, last) = (placed[0].entry.seq, placed[placed.len() - 1].entry.seq);
            let (before, history) =
                (self.history_at(Some(first.before())), self.history_at(Some(last)));
            Batch::new(
                (before.head(), before.head_hash()),
                placed.iter().map(|placed| Placed::clone(placed)).collect(),
                self.rows.range(first..=last).map(|(_, row)| row.clone()).collect(),
                history.sums(),
                history.agent_sums(),
            )
        };
        placed.chunks(entries).map(batch).collect()
    }
}

fn index(seq: Seq) -> usize {
    usize::try_from(seq.0).unwrap()
}

/// The facts of a step.
pub(crate) fn facts(what: &What, history: &History, now: Timestamp) -> Vec<(AgentId, Fact)> {
    match what {
        What::Turn(word) => vec![said(ADA, &text(*word)), answered(ADA, "so it is")],
        What::Say(word) => vec![said(ADA, &text(*word))],
        What::Call => vec![said(ADA, "look"), called(ADA, &["list"])],
        What::Finish => finish(history),
        What::Keyed { key, body } => vec![said_with_key(ADA, &key_of(*key), &text(*body))],
        What::Describe { label, archived } => {
            vec![described("a title", &[&format!("label{label}"), "any"], *archived)]
        }
        What::Timer { millis } => vec![timer(ADA, now.plus_millis(*millis))],
        What::Join => vec![joins(BOB, "bob"), said(BOB, "welcome"), answered(BOB, "hello")],
        What::Move => vec![(AgentId::CONVERSATION, Moved::default().into())],
    }
}

/// Finishes the open call, if there is one, and answers.
fn finish(history: &History) -> Vec<(AgentId, Fact)> {
    let open = history.agent(ADA).and_then(|agent| agent.open_calls().next());
    let Some((call, _)) = open else { return vec![answered(ADA, "done")] };
    let done = history.head().next();
    let results = ToolResults { output: call.output, results: vec![done], execute_error: None };
    let results = (ADA, results.into());
    vec![finished(ADA, call, "list", "three things"), results, answered(ADA, "seen")]
}

/// A text that has a word of its own.
pub(crate) fn text(word: u8) -> String {
    format!("needle{word} 天气")
}

pub(crate) fn key_of(key: u8) -> String {
    format!("key{key}")
}
