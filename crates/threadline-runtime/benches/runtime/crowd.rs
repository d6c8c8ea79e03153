//! Many conversations at once: what each waits for the others, and how much they do together.

use std::sync::Arc;
use std::time::{Duration, Instant};

use threadline_core::id::ConversationId;
use threadline_stores::sqlite::Durability;
use tokio::task::JoinSet;

use crate::house::{House, Plan};
use crate::replay::{Recorded, Replay};
use crate::{Outcome, Setting};
use threadline_testing::bench::{Report, Rounds, Target, fact, float};

/// How often a model is asked in a turn.
const ASKED: u32 = 2;
/// How many conversations go as fast as they can.
const BUSY: usize = 64;

pub(crate) fn measure(setting: &Setting, report: &mut Report) -> Outcome<()> {
    setting.runtime.block_on(overhead(setting, report))?;
    setting.runtime.block_on(saturation(setting, report))
}

fn plan(setting: &Setting, name: &str, latency_ms: u64) -> Plan {
    let path = setting.path(name);
    Plan { path, durability: Durability::Full, latency_ms, window_tokens: 8_192, recaps: true }
}

/// Conversations whose model takes its time.
struct Crowd {
    house: Arc<House>,
    all: Vec<ConversationId>,
    latency: Duration,
    turns: usize,
}

impl Crowd {
    async fn gather(setting: &Setting, name: &str, many: usize) -> Outcome<Self> {
        let latency_ms = setting.of(2_000, 50);
        let house = Arc::new(House::open(&plan(setting, name, latency_ms))?);
        let mut all = Vec::new();
        for _ in 0..many {
            all.push(house.begin().await?);
        }
        Ok(Self { house, all, latency: Duration::from_millis(latency_ms), turns: 0 })
    }

    /// Every conversation takes some turns; gives what each step took beyond its model, in
    /// milliseconds. They begin spread over the time of a turn, as people do, or all in one
    /// moment.
    async fn go(&mut self, turns: usize, spread: bool) -> Outcome<Vec<f64>> {
        let whole = self.latency * ASKED;
        let mut tasks = JoinSet::new();
        for (number, id) in self.all.iter().copied().enumerate() {
            let house = Arc::clone(&self.house);
            let from = self.turns;
            let share = if spread { float(number) / float(self.all.len()) } else { 0.0 };
            tasks.spawn(async move {
                tokio::time::sleep(whole.mul_f64(share)).await;
                let mut steps = Vec::new();
                for turn in 1..=turns {
                    let start = Instant::now();
                    house.turn(id, from + turn).await?;
                    let beyond = start.elapsed().saturating_sub(whole) / ASKED;
                    steps.push(beyond.as_secs_f64() * 1e3);
                }
                house.has_answered(id).await?;
                Outcome::Ok(steps)
            });
        }
        self.turns += turns;
        let mut steps = Vec::new();
        while let Some(done) = tasks.join_next().await {
            steps.extend(done??);
        }
        Ok(steps)
    }
}

async fn overhead(setting: &Setting, report: &mut Report) -> Outcome<()> {
    let (many, rounds, turns, few_turns) = setting.of((1_000, 3, 2, 8), (50, 1, 1, 2));
    let mut few = Crowd::gather(setting, "few.db", 10).await?;
    let mut crowd = Crowd::gather(setting, "crowd.db", many).await?;
    let (mut alone, mut together) = (Rounds::default(), Rounds::default());
    for _ in 0..rounds {
        alone.extend(few.go(few_turns, true).await?);
        together.extend(crowd.go(turns, true).await?);
    }
    let target = setting.of(Some(Target::AtMost(3.0)), None);
    let p99 = (together.quantile(0.99), alone.quantile(0.99));
    report.ratio(
        &format!("p99 of a step beyond its model: {many} / 10"),
        p99.0,
        p99.1,
        "ms",
        target,
    );
    report.ratio("median of it", together.median(), alone.median(), "ms", None);
    let mut burst = Rounds::default();
    burst.extend(crowd.go(1, false).await?);
    let (median, p99) = (burst.median(), burst.quantile(0.99));
    fact(&format!("all {many} in one moment"), format!("median {median:.0} ms, p99 {p99:.0} ms"));
    Ok(())
}

async fn saturation(setting: &Setting, report: &mut Report) -> Outcome<()> {
    let house = Arc::new(House::open(&plan(setting, "busy.db", 0))?);
    let (rounds, turns) = setting.of((7, 11), (2, 3));
    let recorded = Arc::new(Recorded::of(&house, turns).await?);
    let appends = float(recorded.batches() * BUSY);
    let (mut ours, mut groups) = (Rounds::default(), Rounds::default());
    for round in 0..rounds {
        ours.add(appends / driven(&house, turns).await?.as_secs_f64());
        house.size().await?;
        groups.add(appends / replayed(&house, &recorded, round).await?.as_secs_f64());
        house.size().await?;
    }
    let target = setting.of(Some(Target::AtLeast(0.5)), None);
    let what = format!("appends of {BUSY} driven / written in groups");
    report.ratio(&what, ours.median(), groups.median(), "/s", target);
    let each = float(recorded.batches()) / float(turns - 1);
    fact("appends of a turn", format!("{each:.1}"));
    Ok(())
}

/// How long some turns of busy conversations take, the first of each apart.
async fn driven(house: &Arc<House>, turns: usize) -> Outcome<Duration> {
    let mut all = Vec::new();
    for _ in 0..BUSY {
        let id = house.begin().await?;
        house.turn(id, 1).await?;
        all.push(id);
    }
    let start = Instant::now();
    let mut tasks = JoinSet::new();
    for id in all {
        let house = Arc::clone(house);
        tasks.spawn(async move {
            for number in 2..=turns {
                house.turn(id, number).await?;
            }
            Outcome::Ok(id)
        });
    }
    let mut last = None;
    while let Some(done) = tasks.join_next().await {
        last = Some(done??);
    }
    let elapsed = start.elapsed();
    house.has_answered(last.ok_or("nothing was driven")?).await?;
    Ok(elapsed)
}

/// How long it takes to write the same batches for as many conversations.
async fn replayed(house: &Arc<House>, recorded: &Arc<Recorded>, round: usize) -> Outcome<Duration> {
    let mut all = Vec::new();
    for number in 0..BUSY {
        let seed = u64::try_from(1_000 + round * BUSY + number)?;
        all.push(Replay::begin(house, recorded, seed).await?);
    }
    let start = Instant::now();
    let mut tasks = JoinSet::new();
    for mut replay in all {
        let (house, recorded) = (Arc::clone(house), Arc::clone(recorded));
        tasks.spawn(async move { replay.go_on(&house, &recorded).await });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(start.elapsed())
}
