//! Verifying, against reading and hashing or parsing the same bytes.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use rusqlite::Connection;
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::Digest;
use threadline_core::history::{Counts, History};
use threadline_core::id::{ConversationId, Seq};
use threadline_core::store::verify::{Depth, verify};
use threadline_core::store::{Audit as _, Page, Store as _};
use threadline_core::tokens::Estimator;
use threadline_stores::sqlite::{Durability, SqliteStore};
use threadline_testing::generator::GeneratorOptions;

use crate::filling::{self, fill, settle};
use crate::{Outcome, Setting};
use threadline_testing::bench::{Report, Rounds, Target, fact, float, process_time, rate};

pub(crate) fn measure(setting: &Setting, report: &mut Report) -> Outcome<()> {
    setting.runtime.block_on(against_bare(setting, report))?;
    setting.runtime.block_on(folding(setting))
}

async fn against_bare(setting: &Setting, report: &mut Report) -> Outcome<()> {
    let path = setting.path("verify.db");
    let store = filling::open(&path, Durability::Normal)?;
    let id = filling::conversation_id(1);
    let entries = setting.of(100_000, 2000);
    let filled = fill(&store, id, GeneratorOptions::mixed(1, 3), entries).await?;
    settle(&store).await?;
    drop(store);
    let mega = float(filled.bytes) / 1e6;
    fact(
        &format!("{entries} mixed entries"),
        format!("{mega:.1} MB of records, {} rewinds", filled.rewinds),
    );
    let mut rounds: [Rounds; 8] = Default::default();
    let [chain, hashing, stream, deep, parsing, index, deep_cpu, parsing_cpu] = &mut rounds;
    for _ in 0..setting.of(7, 2) {
        let store = filling::open(&path, Durability::Full)?;
        chain.add(mega / verified(&store, id, Depth::Chain).await?);
        hashing.add(mega / timed(|| hash_each(&path))?);
        stream.add(mega / timed(|| hash_stream(&path))?);
        // Anew, so that nothing of the index is remembered.
        drop(store);
        let store = filling::open(&path, Durability::Full)?;
        let before = process_time();
        deep.add(mega / verified(&store, id, Depth::Deep).await?);
        let between = process_time();
        parsing.add(mega / timed(|| parse(&path))?);
        deep_cpu.add(between.saturating_sub(before).as_secs_f64());
        parsing_cpu.add(process_time().saturating_sub(between).as_secs_f64());
        drop(store);
        let store = filling::open(&path, Durability::Full)?;
        let start = Instant::now();
        store.index_checksums(id, Seq::ZERO, 1).await?;
        index.add(start.elapsed().as_secs_f64());
    }
    let half = Some(Target::AtLeast(0.5));
    let (chain, deep, index) = (chain.median(), deep.median(), index.median());
    report.ratio("chain verify / read and hash each", chain, hashing.median(), "MB/s", half);
    report.ratio("chain verify / read and hash as one", chain, stream.median(), "MB/s", None);
    report.ratio("deep verify / read and parse", deep, parsing.median(), "MB/s", half);
    let (ours, theirs) = (deep_cpu.median(), parsing_cpu.median());
    fact("processor time of both", format!("{ours:.2} s and {theirs:.2} s"));
    fact(
        "reading the search index",
        format!("{index:.2} s of the {:.2} s of a deep verify", mega / deep),
    );
    Ok(())
}

async fn verified(store: &SqliteStore, id: ConversationId, depth: Depth) -> Outcome<f64> {
    let start = Instant::now();
    let report = verify(store, id, depth, Arc::new(Estimator), &mut |_| {}).await?;
    let elapsed = start.elapsed().as_secs_f64();
    match report.findings.first() {
        None => Ok(elapsed),
        Some(finding) => Err(format!("entry {}: {}", finding.seq, finding.what).into()),
    }
}

fn timed(work: impl FnOnce() -> Outcome<()>) -> Outcome<f64> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed().as_secs_f64())
}

/// Reads every record with plain SQLite.
fn read_all(path: &Path, mut each: impl FnMut([&[u8]; 4]) -> Outcome<()>) -> Outcome<()> {
    let connection = Connection::open(path)?;
    let mut statement =
        connection.prepare("SELECT envelope, body, salt, hash FROM entry ORDER BY id")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let column = |index| -> Outcome<&[u8]> { Ok(row.get_ref(index)?.as_blob()?) };
        each([column(0)?, column(1)?, column(2)?, column(3)?])?;
    }
    Ok(())
}

fn hash_each(path: &Path) -> Outcome<()> {
    let mut all = [0_u8; 32];
    read_all(path, |columns| {
        let mut hasher = blake3::Hasher::new();
        for column in columns {
            hasher.update(column);
        }
        for (to, from) in all.iter_mut().zip(hasher.finalize().as_bytes()) {
            *to ^= from;
        }
        Ok(())
    })?;
    std::hint::black_box(all);
    Ok(())
}

fn hash_stream(path: &Path) -> Outcome<()> {
    let mut hasher = blake3::Hasher::new();
    read_all(path, |columns| {
        for column in columns {
            hasher.update(column);
        }
        Ok(())
    })?;
    std::hint::black_box(hasher.finalize());
    Ok(())
}

fn parse(path: &Path) -> Outcome<()> {
    read_all(path, |[envelope, body, _, _]| {
        std::hint::black_box(serde_json::from_slice::<serde_json::Value>(envelope)?);
        std::hint::black_box(serde_json::from_slice::<serde_json::Value>(body)?);
        Ok(())
    })
}

/// How fast decoded entries fold.
async fn folding(setting: &Setting) -> Outcome<()> {
    let store = filling::open(&setting.path("fold.db"), Durability::Normal)?;
    let id = filling::conversation_id(1);
    let options = GeneratorOptions { rewinds_percent: 0, ..GeneratorOptions::mixed(2, 3) };
    fill(&store, id, options, setting.of(50_000, 1000)).await?;
    let entries = entries(&store, id).await?;
    let (mut decoding, mut folding) = (Rounds::default(), Rounds::default());
    for _ in 0..setting.of(7, 2) {
        let start = Instant::now();
        for (record, _, _, _) in &entries {
            std::hint::black_box(record.open()?);
        }
        decoding.add(rate(entries.len(), start.elapsed()));
        let mut history = History::new();
        let start = Instant::now();
        for (_, entry, hash, counts) in &entries {
            history.apply(entry, *hash, counts.clone())?;
        }
        folding.add(rate(entries.len(), start.elapsed()));
    }
    fact("decoding", format!("{:.0} entries/s", decoding.median()));
    fact("folding", format!("{:.0} entries/s", folding.median()));
    Ok(())
}

type Decoded = (threadline_core::history::record::Record, Entry, Digest, Counts);

async fn entries(store: &SqliteStore, id: ConversationId) -> Outcome<Vec<Decoded>> {
    let mut entries = Vec::new();
    let mut next = Seq(1);
    loop {
        let records = store.read(id, &Page::forward(next, 1024)).await?;
        if records.is_empty() {
            return Ok(entries);
        }
        for record in records {
            let entry = record.open()?;
            let counts = Counts::of(&entry.fact, &Estimator);
            let hash = record.hash;
            entries.push((record, entry, hash, counts));
            next = next.next();
        }
    }
}
