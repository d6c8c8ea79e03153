//! What happened before: the context of a generated history, at any place.

use std::collections::BTreeMap;
use std::sync::Arc;

use threadline_core::context::plan::Ask;
use threadline_core::context::{Context, Material, render};
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::{Attachment, CallOptions, Digest};
use threadline_core::id::{AgentId, Seq};
use threadline_core::outline::OutlineRow;
use threadline_core::tool::Catalogue;
use threadline_testing::generator::{Generator, GeneratorOptions};
use threadline_testing::ids::Choices;

use crate::cast::Actor;

/// A picture of one pixel, a document of nothing, and words: by media type.
pub(crate) const FILES: [(&str, &[u8]); 4] = [
    ("image/png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0"),
    ("image/jpeg", b"\xff\xd8\xff\xe0\0\x10JFIF\0"),
    ("application/pdf", b"%PDF-1.4\n%%EOF\n"),
    ("text/plain", b"some words\n"),
];

pub(crate) fn attachment((media_type, bytes): (&str, &[u8])) -> Attachment {
    Attachment {
        digest: Digest::of(bytes),
        size: u64::try_from(bytes.len()).unwrap(),
        media_type: media_type.into(),
        name: Some("file".into()),
        extent: None,
    }
}

/// What a model would see of a history that stops anywhere, in the middle of a turn too.
pub(crate) fn context(seed: u64, actor: &Actor, choices: &mut Choices) -> Context {
    let agents = 1 + u32::try_from(choices.below(2)).unwrap();
    let options = GeneratorOptions {
        rewinds_percent: [0, 10, 30][choices.index(3)],
        attachments: FILES.map(attachment).to_vec(),
        ..GeneratorOptions::mixed(seed, agents)
    };
    let entries = 2 + choices.below(120);
    let mut generator = Generator::new(options);
    let mut rows: BTreeMap<Seq, Arc<OutlineRow>> = BTreeMap::new();
    let mut kept: BTreeMap<Seq, Arc<Entry>> = BTreeMap::new();
    while generator.history().head().0 < entries {
        let batch = generator.next_batch().unwrap().batch;
        rows.extend(batch.rows.iter().map(|row| (row.seq, Arc::clone(row))));
        kept.extend(
            batch.entries.iter().map(|placed| (placed.entry.seq, Arc::clone(&placed.entry))),
        );
    }
    let history = generator.history();
    let window_tokens = choices.percent(60).then(|| 3_000 + choices.below(30_000));
    let call = CallOptions { window_tokens, ..CallOptions::default() };
    let (invocation, profile) = (&actor.target.invocation, &actor.target.profile);
    let agent = AgentId(1 + u32::try_from(choices.below(u64::from(agents))).unwrap());
    let ask = Ask::new(history, agent, (invocation, profile), &call, &Catalogue::default(), &[]);
    let row = |seq: Seq| rows.get(&seq).cloned();
    let entry = |seq: Seq| kept.get(&seq).cloned();
    let material = Material::at_hand(history, &ask, row, entry);
    // What does not fit is never asked: the least that is ever sent stands for it.
    material.map_or_else(|_| Context::default(), |material| render(&material, &[]))
}
