//! What a turn costs late in a long conversation, against early in a short one.

use std::time::Instant;

use threadline_core::id::ConversationId;
use threadline_stores::sqlite::Durability;

use crate::house::{House, Plan};
use crate::{Outcome, Setting};
use threadline_testing::bench::{Report, Rounds, Target, bytes, fact, float, process_time};

/// How much the model sees: both conversations are longer.
const WINDOW_TOKENS: u64 = 8_192;

pub(crate) fn measure(setting: &Setting, report: &mut Report) -> Outcome<()> {
    setting.runtime.block_on(long_and_short(setting, report))
}

/// A conversation in a file of its own.
struct Lived {
    house: House,
    id: ConversationId,
    turns: usize,
    /// How large the file was after every thousand turns.
    sizes: Vec<u64>,
}

impl Lived {
    /// Takes so many turns, without waiting for the disk, and opens the file again as usual.
    async fn through(setting: &Setting, name: &str, turns: usize) -> Outcome<Self> {
        let mut plan = Plan {
            path: setting.path(name),
            durability: Durability::Normal,
            latency_ms: 0,
            window_tokens: WINDOW_TOKENS,
            recaps: true,
        };
        let house = House::open(&plan)?;
        let (id, mark) = (house.begin().await?, setting.of(1_000, 50));
        let mut lived = Self { house, id, turns: 0, sizes: Vec::new() };
        for _ in 0..turns / mark {
            lived.take(mark).await?;
            lived.sizes.push(lived.house.size().await?);
        }
        plan.durability = Durability::Full;
        let Self { house, sizes, turns, .. } = lived;
        house.close().await;
        Ok(Self { house: House::open(&plan)?, id, turns, sizes })
    }

    async fn take(&mut self, turns: usize) -> Outcome<()> {
        for _ in 0..turns {
            self.turns += 1;
            self.house.turn(self.id, self.turns).await?;
        }
        Ok(())
    }

    /// Takes some turns; gives what each took of processors and of time, in microseconds. What
    /// the search index does about them belongs to it.
    async fn block(&mut self, turns: usize) -> Outcome<(f64, f64)> {
        let (cpu, start) = (process_time(), Instant::now());
        self.take(turns).await?;
        let elapsed = start.elapsed();
        self.house.indexed().await?;
        let cpu = process_time().saturating_sub(cpu);
        Ok((cpu.as_secs_f64() * 1e6 / float(turns), elapsed.as_secs_f64() * 1e6 / float(turns)))
    }

    /// How much the file grew with each turn of the n-th thousand.
    fn growth(&self, thousand: usize, turns: usize) -> f64 {
        let size = |place: usize| self.sizes.get(place).copied().map_or(f64::NAN, bytes);
        (size(thousand) - size(thousand - 1)) / float(turns)
    }
}

async fn long_and_short(setting: &Setting, report: &mut Report) -> Outcome<()> {
    let (few, many, mark) = setting.of((1_000, 10_000, 1_000), (50, 200, 50));
    let mut short = Lived::through(setting, "short.db", few).await?;
    let mut long = Lived::through(setting, "long.db", many).await?;
    let (rounds, turns) = setting.of((24, 25), (3, 5));
    short.block(turns).await?;
    long.block(turns).await?;
    let mut all: [Rounds; 4] = Default::default();
    let [short_cpu, long_cpu, short_time, long_time] = &mut all;
    for round in 0..rounds {
        for is_long in [round % 2 == 0, round % 2 == 1] {
            let (lived, cpus, times) = if is_long {
                (&mut long, &mut *long_cpu, &mut *long_time)
            } else {
                (&mut short, &mut *short_cpu, &mut *short_time)
            };
            let (cpu, time) = lived.block(turns).await?;
            cpus.add(cpu);
            times.add(time);
        }
    }
    for lived in [&short, &long] {
        lived.house.has_answered(lived.id).await?;
    }
    let tenth = setting.of(Some(Target::AtMost(1.1)), None);
    let what = format!("processor time of a turn: turn {many} / {few}");
    report.ratio(&what, long_cpu.median(), short_cpu.median(), "us", tenth);
    let (late, early) = (long.growth(many / mark - 1, mark), long.growth(1, mark));
    let what = format!("bytes of file for a turn: to turn {many} / to {}", 2 * mark);
    report.ratio(&what, late, early, "B", tenth);
    report.ratio(
        "time of a turn, with its syncs",
        long_time.median(),
        short_time.median(),
        "us",
        None,
    );
    fact("file of the long one", format!("{:.1} MB", bytes(long.house.size().await?) / 1e6));
    Ok(())
}
