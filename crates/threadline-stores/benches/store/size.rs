//! The size of the file, against the bytes of the records in it.

use std::path::Path;

use rusqlite::Connection;
use threadline_core::store::Store as _;
use threadline_stores::sqlite::Durability;
use threadline_testing::generator::GeneratorOptions;

use crate::filling::{self, Driven, fill, settle};
use crate::{Outcome, Setting};
use threadline_testing::bench::{Report, Target, fact, float};

const INPUT_BYTES: usize = 1024;
const INTERLEAVED: u64 = 64;

pub(crate) fn measure(setting: &Setting, report: &mut Report) -> Outcome<()> {
    setting.runtime.block_on(one(setting, report))?;
    setting.runtime.block_on(interleaved(setting, report))
}

async fn one(setting: &Setting, report: &mut Report) -> Outcome<()> {
    let path = setting.path("one.db");
    let store = filling::open(&path, Durability::Normal)?;
    let options = GeneratorOptions::inputs(1, INPUT_BYTES);
    let entries = setting.of(100_000, 1000);
    let filled = fill(&store, filling::conversation_id(1), options, entries).await?;
    settle(&store).await?;
    drop(store);
    // In a file this small the tables' first pages weigh too much to be judged.
    let target = setting.of(Some(Target::AtMost(1.3)), None);
    tell(report, &format!("{entries} entries of 1 KB"), &path, filled.bytes, target)
}

/// What grows in many places at once leaves gaps.
async fn interleaved(setting: &Setting, report: &mut Report) -> Outcome<()> {
    let path = setting.path("interleaved.db");
    let store = filling::open(&path, Durability::Normal)?;
    let rounds = setting.of(1500, 10);
    let mut all = Vec::new();
    for number in 0..INTERLEAVED {
        all.push(Driven::begin(&store, number).await?);
    }
    let texts: Vec<_> = (0..16).map(|number| filling::text(number, INPUT_BYTES)).collect();
    for text in texts.iter().cycle().take(rounds) {
        for driven in &mut all {
            driven.say(&store, text).await?;
        }
    }
    settle(&store).await?;
    let mut bytes = 0;
    for driven in &all {
        let conversation = store.conversation(driven.lease.conversation).await?;
        bytes += usize::try_from(conversation.head.0)?;
    }
    drop(store);
    let stored: i64 = Connection::open(&path)?.query_row(
        "SELECT sum(length(envelope) + length(body) + length(salt) + length(hash)) FROM entry",
        [],
        |row| row.get(0),
    )?;
    let what = format!("{bytes} entries in {INTERLEAVED} conversations");
    tell(report, &what, &path, usize::try_from(stored)?, None)
}

/// Tells how large the file is, its search index apart.
fn tell(
    report: &mut Report,
    what: &str,
    path: &Path,
    bytes: usize,
    target: Option<Target>,
) -> Outcome<()> {
    let connection = Connection::open(path)?;
    let pages = |sql: &str| -> Outcome<usize> {
        let bytes: Option<i64> = connection.query_row(sql, [], |row| row.get(0))?;
        Ok(usize::try_from(bytes.unwrap_or(0))?)
    };
    // Free pages are those the index has used and no longer needs.
    let ours = pages("SELECT sum(pgsize) FROM dbstat WHERE name NOT LIKE 'words%'")?;
    let file = usize::try_from(std::fs::metadata(path)?.len())?;
    let mega = |bytes: usize| float(bytes) / 1e6;
    report.ratio(&format!("{what} / records"), mega(ours), mega(bytes), "MB", target);
    let mut statement = connection.prepare(
        "SELECT name, sum(pgsize), sum(unused) FROM dbstat WHERE name NOT LIKE 'words%'
         GROUP BY name HAVING sum(pgsize) > 100000 ORDER BY 2 DESC",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (name, bytes, unused): (String, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let (bytes, unused) = (usize::try_from(bytes)?, usize::try_from(unused)?);
        let text = format!("{:.2} MB, {:.2} of it unused", mega(bytes), mega(unused));
        fact(&format!("  {name}"), text);
    }
    let index = pages("SELECT sum(pgsize) FROM dbstat WHERE name LIKE 'words%'")?;
    let text = format!("{:.2} MB, and {:.2} free", mega(index), mega(file - ours - index));
    fact("  search index", text);
    Ok(())
}
