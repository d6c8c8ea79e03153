//! Appends, one after the other and many at once, against bare inserts of the same bytes.

use std::sync::Arc;
use std::time::Instant;

use threadline_core::history::record::Record;
use threadline_core::store::{Audit as _, Page, Store as _};
use threadline_stores::sqlite::{Durability, SqliteStore};
use tokio::task::JoinSet;

use crate::bare::{Bare, BareGroups};
use crate::filling::{self, Driven, settle};
use crate::{Outcome, Setting};
use threadline_testing::bench::{Report, Rounds, Target, fact, rate};

const INPUT_BYTES: usize = 1024;
const AT_ONCE: u64 = 64;

/// One conversation, one append after the other.
pub(crate) fn one_by_one(setting: &Setting, report: &mut Report) -> Outcome<()> {
    setting.runtime.block_on(single(setting, report))
}

/// Many conversations that append at the same time.
pub(crate) fn at_once(setting: &Setting, report: &mut Report) -> Outcome<()> {
    setting.runtime.block_on(many(setting, report))
}

/// A record as the store writes it for an input, to be inserted bare.
async fn sample(store: &SqliteStore, driven: &mut Driven) -> Outcome<Record> {
    driven.say(store, &filling::text(0, INPUT_BYTES)).await?;
    let id = driven.lease.conversation;
    let head = store.conversation(id).await?.head;
    store.read(id, &Page::backward(head, 1)).await?.pop().ok_or_else(|| "no record".into())
}

async fn single(setting: &Setting, report: &mut Report) -> Outcome<()> {
    let store = filling::open(&setting.path("single.db"), Durability::Full)?;
    let mut driven = Driven::begin(&store, 1).await?;
    let record = sample(&store, &mut driven).await?;
    let bare = Bare::open(&setting.path("bare.db"))?;
    let (rounds, appends) = setting.of((15, 300), (3, 10));
    let texts: Vec<_> = (0..16).map(|number| filling::text(number, INPUT_BYTES)).collect();
    let (mut ours, mut theirs) = (Rounds::default(), Rounds::default());
    for _ in 0..rounds {
        let start = Instant::now();
        for text in texts.iter().cycle().take(appends) {
            driven.say(&store, text).await?;
        }
        ours.add(rate(appends, start.elapsed()));
        settle(&store).await?;
        let start = Instant::now();
        for _ in 0..appends {
            bare.insert(&record)?;
        }
        theirs.add(rate(appends, start.elapsed()));
    }
    let target = Some(Target::AtLeast(0.5));
    let what = "single appends / bare inserts";
    report.ratio(what, ours.median(), theirs.median(), "/s", target);
    Ok(())
}

async fn many(setting: &Setting, report: &mut Report) -> Outcome<()> {
    let store = Arc::new(filling::open(&setting.path("many.db"), Durability::Full)?);
    let mut alone = Driven::begin(&store, 1).await?;
    let record = sample(&store, &mut alone).await?;
    let mut all = Vec::new();
    for number in 0..AT_ONCE {
        all.push(Driven::begin(&store, 2 + number).await?);
    }
    let bare = Arc::new(BareGroups::open(&setting.path("bare-groups.db"))?);
    let text: Arc<str> = filling::text(3, INPUT_BYTES).into();
    let (rounds, each) = setting.of((11, 100), (3, 3));
    let total = each * all.len();
    let (mut ours, mut theirs, mut one) = (Rounds::default(), Rounds::default(), Rounds::default());
    let (mut lags, mut catching_up) = (Rounds::default(), Rounds::default());
    for _ in 0..rounds {
        let start = Instant::now();
        all = append_all(&store, all, &text, each).await?;
        ours.add(rate(total, start.elapsed()));
        let start = Instant::now();
        lags.add(threadline_testing::bench::float(usize::try_from(store.index_lag().await?)?));
        settle(&store).await?;
        catching_up.add(start.elapsed().as_secs_f64());
        let start = Instant::now();
        insert_all(&bare, &record, each).await?;
        theirs.add(rate(total, start.elapsed()));
        let start = Instant::now();
        for _ in 0..each {
            alone.say(&store, &text).await?;
        }
        one.add(rate(each, start.elapsed()));
        settle(&store).await?;
    }
    let fifth = Some(Target::AtLeast(0.2));
    report.ratio("64 at once / bare groups", ours.median(), theirs.median(), "/s", fifth);
    let three = Some(Target::AtLeast(3.0));
    report.ratio("64 at once / one alone", ours.median(), one.median(), "/s", three);
    fact(&format!("search index lag after {total} appends"), lags.median());
    let text = format!("{:.2} s, with a quiet 0.35 s before and after", catching_up.median());
    fact("time to catch up", text);
    Ok(())
}

/// Every conversation appends as fast as it is answered.
async fn append_all(
    store: &Arc<SqliteStore>,
    all: Vec<Driven>,
    text: &Arc<str>,
    each: usize,
) -> Outcome<Vec<Driven>> {
    let mut tasks = JoinSet::new();
    for mut driven in all {
        let (store, text) = (Arc::clone(store), Arc::clone(text));
        tasks.spawn(async move {
            for _ in 0..each {
                driven.say(&store, &text).await?;
            }
            Outcome::Ok(driven)
        });
    }
    let mut all = Vec::new();
    while let Some(driven) = tasks.join_next().await {
        all.push(driven??);
    }
    Ok(all)
}

async fn insert_all(bare: &Arc<BareGroups>, record: &Record, each: usize) -> Outcome<()> {
    let mut tasks = JoinSet::new();
    for _ in 0..AT_ONCE {
        let (bare, record) = (Arc::clone(bare), record.clone());
        tasks.spawn(async move {
            for _ in 0..each {
                bare.insert(record.clone()).await?;
            }
            Outcome::Ok(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(())
}
