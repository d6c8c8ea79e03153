//! The switch matrix: any history, said by models of any dialect, goes to a model of any dialect as
//! a request that its validator passes.
//!
//! `THREADLINE_MATRIX_CASES` asks for more cases than the usual few.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test stops where something is wrong, and a longer run is asked for by the environment"
)]

mod cast;
mod dress;
mod past;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::thread;

use threadline_providers::dialect::{self, Dialect};
use threadline_testing::ids::Choices;
use threadline_testing::validator;

use self::cast::Actor;
use self::dress::Dresser;

/// How many cases there are if nobody says how many.
const CASES: u64 = 640;

/// How many requests passed, by where the history came from and where it went.
type Table = BTreeMap<(Dialect, Dialect), u64>;

#[test]
fn every_history_goes_to_every_dialect() {
    let wanted = std::env::var("THREADLINE_MATRIX_CASES").ok();
    let cases = wanted.map_or(CASES, |wanted| wanted.parse().expect("a number of cases"));
    let actors = cast::all();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let tables: Vec<Table> = thread::scope(|scope| {
        let share = |first: usize| {
            let actors = &actors;
            scope.spawn(move || {
                let mut table = Table::new();
                for seed in (0..cases).skip(first).step_by(threads) {
                    case(seed, actors, &mut table);
                }
                table
            })
        };
        let under_way: Vec<_> = (0..threads).map(share).collect();
        under_way.into_iter().map(|share| share.join().unwrap()).collect()
    });
    let mut sum = Table::new();
    for (pair, passed) in tables.into_iter().flatten() {
        *sum.entry(pair).or_default() += passed;
    }
    println!("{}", printed(&sum));
    let pairs = Dialect::ALL.len() * Dialect::ALL.len();
    assert_eq!(sum.len(), pairs, "every ordered pair comes up");
}

/// One history, from one dialect to another, of one of its models.
fn case(seed: u64, actors: &[Actor], table: &mut Table) {
    let mut choices = Choices::new(seed);
    let pairs = Dialect::ALL.len();
    let pair = usize::try_from(seed).unwrap() % (pairs * pairs);
    let (from, to) = (Dialect::ALL[pair / pairs], Dialect::ALL[pair % pairs]);
    let of = |dialect: Dialect| actors.iter().filter(move |actor| actor.dialect == dialect);
    let (from, to): (Vec<_>, Vec<_>) = (of(from).collect(), of(to).collect());
    let origin = from[choices.index(from.len())];
    let actor = to[choices.index(to.len())];
    let mut context = past::context(seed, actor, &mut choices);
    let request = Dresser { origin, actor, actors, choices: &mut choices }.dress(&mut context);
    let encoded = dialect::encode(actor.dialect, &request, &actor.quirks);
    let again = dialect::encode(actor.dialect, &request, &actor.quirks);
    assert_eq!(encoded.body, again.body, "seed {seed}: the same request is the same body");
    let validating = validator::WireDialect::named(actor.dialect.name()).unwrap();
    let violations = validator::check(validating, &actor.server, &encoded.body);
    assert!(
        violations.is_empty(),
        "seed {seed}, from {} to {}: {violations:#?}\n{}",
        origin.target.name,
        actor.target.name,
        String::from_utf8_lossy(&encoded.body).chars().take(20_000).collect::<String>(),
    );
    *table.entry((origin.dialect, actor.dialect)).or_default() += 1;
}

fn printed(table: &Table) -> String {
    let mut out = String::from("| from \\ to |");
    for to in Dialect::ALL {
        write!(out, " {} |", to.name()).unwrap();
    }
    out.push_str("\n|---|---|---|---|---|");
    for from in Dialect::ALL {
        write!(out, "\n| {} |", from.name()).unwrap();
        for to in Dialect::ALL {
            write!(out, " {} |", table.get(&(from, to)).copied().unwrap_or(0)).unwrap();
        }
    }
    out
}
