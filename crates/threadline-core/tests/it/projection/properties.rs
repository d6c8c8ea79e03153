//! What holds for the projection of any history: for any agent at any place, in any window, by
//! whatever pages the outline is read.

mod branch;
mod checks;
mod growth;
mod place;

use std::sync::Arc;
use std::thread;

use threadline_core::context::plan::{Ask, Plan, Planned, plan};
use threadline_core::context::render;
use threadline_core::history::fact::{Detail, Fact};
use threadline_core::history::{Counts, History};
use threadline_core::id::{AgentId, Seq};
use threadline_core::tokens::{Estimator, O200k, TokenCounter as _};
use threadline_core::widget::Attached;
use threadline_testing::generator::{Generator, GeneratorOptions};
use threadline_testing::ids::Choices;

use self::branch::Branch;
use self::growth::Growth;
use self::place::Place;
use super::Kept;

/// How many histories are generated if nobody says how many.
const HISTORIES: u64 = 40;
const AGENTS: u32 = 3;

/// What came up, so that no property holds only because nothing happened.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    fitted: u64,
    refused: u64,
    forks: u64,
    rewound: u64,
    exchanges: u64,
    screens: u64,
    moved_screens: u64,
    lowered: u64,
    same: u64,
    quoted: u64,
    lines: u64,
    unlisted: u64,
    recaps: u64,
    cut_recaps: u64,
    turn_folded: u64,
    no_room_for_earlier: u64,
    extended: u64,
    moved: u64,
    thinking_gone: u64,
}

impl Seen {
    /// By name.
    fn all(&self) -> [(&'static str, u64); 19] {
        [
            ("fitted", self.fitted),
            ("refused", self.refused),
            ("forks", self.forks),
            ("rewound", self.rewound),
            ("exchanges", self.exchanges),
            ("screens", self.screens),
            ("moved screens", self.moved_screens),
            ("lowered", self.lowered),
            ("same", self.same),
            ("quoted", self.quoted),
            ("lines", self.lines),
            ("unlisted", self.unlisted),
            ("recaps", self.recaps),
            ("cut recaps", self.cut_recaps),
            ("turn folded", self.turn_folded),
            ("no room for earlier", self.no_room_for_earlier),
            ("extended", self.extended),
            ("moved", self.moved),
            ("thinking gone", self.thinking_gone),
        ]
    }
}

/// The number of histories that the environment asks for.
#[expect(clippy::disallowed_methods, reason = "a longer run is asked for by the environment")]
fn histories() -> u64 {
    let wanted = std::env::var("THREADLINE_CONTEXT_HISTORIES").ok();
    wanted.and_then(|wanted| wanted.parse().ok()).unwrap_or(HISTORIES)
}

/// Runs something for each seed, on all processors, and sums up what came up.
fn for_each_seed(run: impl Fn(u64, &mut Seen) + Sync) -> Vec<(&'static str, u64)> {
    let (histories, threads) =
        (histories(), thread::available_parallelism().map_or(1, usize::from));
    let shares = thread::scope(|scope| {
        let share = |first: usize| {
            let run = &run;
            scope.spawn(move || {
                let mut seen = Seen::default();
                for seed in (0..histories).skip(first).step_by(threads) {
                    run(seed, &mut seen);
                }
                seen.all()
            })
        };
        let under_way: Vec<_> = (0..threads).map(share).collect();
        let done = under_way.into_iter().map(|share| share.join().unwrap());
        done.collect::<Vec<_>>()
    });
    let sum = |nth: usize| (shares[0][nth].0, shares.iter().map(|share| share[nth].1).sum());
    (0..shares[0].len()).map(sum).collect()
}

#[test]
fn every_context_keeps_the_rules() {
    let seen = for_each_seed(|seed, seen| {
        let mut choices = Choices::new(seed);
        let rewinds_percent = [0, 10, 30][choices.index(3)];
        let entries = 20 + choices.below(240);
        let options = GeneratorOptions { rewinds_percent, ..GeneratorOptions::mixed(seed, AGENTS) };
        let mut generator = Generator::new(options);
        let mut kept = Kept::default();
        let mut growth = Growth::default();
        while generator.history().head().0 < entries {
            let proposed = generator.next_batch().unwrap();
            kept.take(&proposed.batch);
            let rewinds = |fact: &Fact| matches!(fact, Fact::Rewound(_));
            if proposed.batch.entries.iter().any(|placed| rewinds(&placed.entry.fact)) {
                growth.forget();
                seen.rewound += 1;
            }
            for agent in (1..=AGENTS).map(AgentId) {
                let place = Place::new(&kept, &proposed.history, agent);
                growth.go_on(&place, &mut choices, seen);
                if choices.percent(30) {
                    check_somewhere(&place, &mut choices, seen);
                }
            }
            if choices.percent(3) {
                let agent = AgentId(1 + u32::try_from(choices.below(u64::from(AGENTS))).unwrap());
                branch(&Place::new(&kept, &proposed.history, agent), &mut choices, seen);
            }
        }
    });
    let least = histories() / 8;
    for (what, times) in &seen {
        assert!(*times >= least, "{what}: {times}, in {seen:?}");
    }
}

/// A conversation that branches off here: pins, a recap, and a turn with some steps.
fn branch(place: &Place<'_>, choices: &mut Choices, seen: &mut Seen) {
    let Some(mut branch) = Branch::new(place, choices, &Estimator) else { return };
    check_somewhere(&branch.place(), choices, seen);
    seen.forks += 1;
    branch.pin(choices);
    if choices.percent(60) {
        branch.recap(choices);
    }
    branch.ask(choices);
    let mut growth = Growth::default();
    for _ in 0..choices.below(16) {
        branch.invoke();
        growth.go_on(&branch.place(), choices, seen);
        branch.step(choices);
        if choices.percent(10) {
            branch.ask(choices);
        }
        check_somewhere(&branch.place(), choices, seen);
    }
}

/// Any window, and anything that can be asked for in it.
fn any_ask(place: &Place<'_>, screens: Vec<Attached>, choices: &mut Choices) -> Ask {
    let tokens = 1_u64 << choices.below(18);
    let mut ask = Ask::bare(place.agent, tokens + choices.below(tokens));
    ask.options.reserve_tokens = choices.below(3) * tokens / 8;
    ask.options.factor_percent = [50, 100, 125][choices.index(3)];
    ask.options.detail = [Detail::Lean, Detail::Normal, Detail::Full][choices.index(3)];
    ask.options.screen = !choices.percent(10);
    ask.recall = !choices.percent(30);
    ask.catalogue_tokens = u32::try_from(choices.below(40)).unwrap();
    ask.screens = screens;
    ask
}

/// A screen on what began the turn, and on some of its results.
fn any_screens(place: &Place<'_>, choices: &mut Choices) -> Vec<Attached> {
    let places = place.screen_places().into_iter().filter(|_| choices.percent(50));
    let places: Vec<_> = places.collect();
    places.into_iter().map(|seq| any_screen(seq, choices)).collect()
}

fn any_screen(seq: Seq, choices: &mut Choices) -> Attached {
    let lines = 1 + choices.index(12);
    let text: Arc<str> = format!("# [Live Screen]{}", "\n\na few words".repeat(lines)).into();
    Attached { seq, tokens: Estimator.count(&text), text }
}

/// Projects what an agent sees here into some window, and checks all that must hold.
fn check_somewhere(place: &Place<'_>, choices: &mut Choices, seen: &mut Seen) {
    let screens = any_screens(place, choices);
    let mut ask = any_ask(place, screens, choices);
    if choices.percent(20) {
        ask.fixed = true;
        ask.options.capacity_tokens = choices.below(ask.options.window_tokens);
    }
    let material = place.material(&ask);
    check_pages(place, &ask, material.as_ref().map(|material| &material.plan).ok(), choices);
    let snapshot = History::from_snapshot(&place.history.to_snapshot()).unwrap();
    let from_snapshot = Place::new(place.kept, &snapshot, place.agent).material(&ask);
    let material = match material {
        Ok(material) => material,
        Err(refused) => {
            assert!(refused.tokens > refused.available, "{refused}");
            assert_eq!(from_snapshot.unwrap_err(), refused);
            seen.refused += 1;
            return;
        }
    };
    seen.fitted += 1;
    let context = render(&material, &ask.screens);
    assert_eq!(from_snapshot.unwrap().plan, material.plan);
    let again = place.material(&ask).unwrap();
    assert_eq!(render(&again, &ask.screens), context);
    checks::all(place, &ask, &material.plan, &context, seen);
}

/// The plan is the same whatever the pages of the outline are.
fn check_pages(place: &Place<'_>, ask: &Ask, whole: Option<&Plan>, choices: &mut Choices) {
    let rows = [1, 3, 50][choices.index(3)];
    let mut outlook = place.outlook(choices.index(4));
    let paged = loop {
        match plan(place.history, ask, &outlook) {
            Ok(Planned::Plan(plan)) => break Some(*plan),
            Ok(Planned::More(more)) => place.read_on(&mut outlook, &more, rows),
            Err(_) => break None,
        }
    };
    assert_eq!(paged.as_ref(), whole, "{rows} rows at a time");
}

/// What the words between entries are said to take is enough by the exact count, too.
#[test]
fn the_words_between_entries_take_no_more_than_is_said() {
    let mut seen = Seen::default();
    for seed in 0..histories().min(200) / 4 {
        let mut choices = Choices::new(seed);
        let options =
            GeneratorOptions { rewinds_percent: 0, ..GeneratorOptions::mixed(seed, AGENTS) };
        let mut generator = Generator::new(options);
        let mut kept = Kept::default();
        let mut history = History::new();
        while history.head().0 < 150 {
            let batch = generator.next_batch().unwrap().batch;
            kept.take(&batch);
            for placed in &batch.entries {
                let (entry, counts) = (&placed.entry, Counts::of(&placed.entry.fact, &O200k));
                let row = history.apply(entry, placed.record.hash, counts).unwrap();
                kept.rows.extend(row.map(|row| (row.seq, Arc::new(row))));
            }
            let agent = AgentId(1 + u32::try_from(choices.below(u64::from(AGENTS))).unwrap());
            let place = Place::new(&kept, &history, agent);
            if !choices.percent(10) {
                continue;
            }
            let Some(mut branch) = Branch::new(&place, &mut choices, &O200k) else { continue };
            branch.pin(&mut choices);
            branch.recap(&mut choices);
            branch.ask(&mut choices);
            for _ in 0..choices.below(8) {
                branch.step(&mut choices);
                let ask = any_ask(&branch.place(), Vec::new(), &mut choices);
                let Ok(material) = branch.place().material(&ask) else { continue };
                let context = render(&material, &[]);
                checks::tokens(&material.plan, &context, &O200k, &mut seen);
            }
        }
    }
    let Seen { lines, unlisted, quoted, recaps, same, .. } = seen;
    let least = lines.min(unlisted).min(quoted).min(recaps).min(same);
    assert!(least >= 10, "{seen:?}");
}
