//! What a conversation takes of memory while it rests and someone watches it.

use std::sync::Arc;

use threadline_core::drive::Notice;
use threadline_core::history::fact::Fact;
use threadline_core::id::{ConversationId, Seq};
use threadline_runtime::News;
use threadline_stores::sqlite::Durability;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::house::{House, Plan};
use crate::{Outcome, Setting};
use threadline_testing::bench::{Report, Target, bytes, fact, float};

/// How many conversations take their turn at a time.
const WAVE: usize = 100;
/// What a conversation may take.
const CAP_BYTES: f64 = 16.0 * 1024.0;

pub(crate) fn measure(setting: &Setting, report: &mut Report) -> Outcome<()> {
    setting.runtime.block_on(resting(setting, report))
}

async fn resting(setting: &Setting, report: &mut Report) -> Outcome<()> {
    let house = Arc::new(House::open(&Plan {
        path: setting.path("idle.db"),
        durability: Durability::Full,
        latency_ms: 0,
        window_tokens: 8_192,
        recaps: true,
    })?);
    let mut watchers = JoinSet::new();
    // What the process takes once, whatever the number, is there before it is counted.
    watch(&house, setting.of(1_000, WAVE), &mut watchers).await?;
    let before = settled(&house).await?;
    let many = setting.of(10_000, WAVE);
    watch(&house, many, &mut watchers).await?;
    let after = settled(&house).await?;
    if let Some(ended) = watchers.try_join_next() {
        ended??;
    }
    let each = bytes(after.saturating_sub(before)) / float(many);
    let target = setting.of(Some(Target::AtMost(1.0)), None);
    let what = format!("resident bytes of each of {many} / 16 KiB");
    report.ratio(&what, each, CAP_BYTES, "B", target);
    fact("watchers", watchers.len());
    Ok(())
}

/// Begins conversations, each with a watcher and a turn.
async fn watch(
    house: &Arc<House>,
    many: usize,
    watchers: &mut JoinSet<Outcome<()>>,
) -> Outcome<()> {
    for _ in 0..many / WAVE {
        let mut turns = JoinSet::new();
        for _ in 0..WAVE {
            let id = house.begin().await?;
            let (house, answered) = (Arc::clone(house), Arc::new(Notify::new()));
            watchers.spawn(watch_one(Arc::clone(&house), id, Arc::clone(&answered)));
            turns.spawn(async move {
                house.turn(id, 1).await?;
                answered.notified().await;
                Outcome::Ok(())
            });
        }
        while let Some(done) = turns.join_next().await {
            done??;
        }
    }
    Ok(())
}

/// Watches until the end of the run, and says when the answer has come.
async fn watch_one(house: Arc<House>, id: ConversationId, answered: Arc<Notify>) -> Outcome<()> {
    let mut watcher = house.runtime.watch(id, Seq::ZERO);
    drop(house);
    loop {
        if let News::Notice(Notice::Entry(entry)) = watcher.next().await?
            && let Fact::Output(output) = &entry.fact
            && output.calls().next().is_none()
        {
            answered.notify_one();
        }
    }
}

/// The memory of this process once all conversations rest and nothing is at hand for them.
async fn settled(house: &House) -> Outcome<u64> {
    house.indexed().await?;
    let linger = house.runtime.world().pace.linger_ms;
    tokio::time::sleep(std::time::Duration::from_millis(linger + 1_000)).await;
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()).ok_or("no VmRSS")?;
    Ok(kib.parse::<u64>()? * 1024)
}
