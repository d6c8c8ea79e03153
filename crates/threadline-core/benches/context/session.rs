//! A session of 500 steps that overflows its window several times: what each way of forgetting keeps
//! the same from request to request, costs, uses of the window, and still knows.

use threadline_testing::ids::Choices;

use crate::policies::{Faded, Shown, sliding};
use crate::request::{Counted, Request};
use crate::worker::{Planted, Worker, reserve_tokens};
use crate::{Outcome, Setting};
use threadline_testing::bench::{Report, Target, fact};

/// What a token costs that the provider has in its cache.
const CACHED_COST: f64 = 0.1;

/// Windows, and how much of each request is to be an identical prefix of the next. Half the window
/// is the same as results of twice the size: the others show how much depends on that.
const WINDOWS: [(u64, Option<f64>); 4] =
    [(16_000, None), (32_000, Some(0.90)), (64_000, None), (128_000, Some(0.96))];

pub(crate) fn measure(setting: &Setting, report: &mut Report) -> Outcome<()> {
    for (window, prefix) in WINDOWS {
        for seed in 1..=setting.of(3, 1) {
            let session = run(seed, window, setting.of(500, 60))?;
            session.tell(seed, window, prefix.filter(|_| !setting.smoke), report);
        }
    }
    Ok(())
}

/// A session under each of three ways.
struct Session {
    sliding: Course,
    fading: Course,
    ours: Course,
    turns: u64,
    moves: u64,
    tokens: u64,
    /// What the instruction and the tools take.
    fixed: u64,
    /// What results take, in rising order.
    results: Vec<u32>,
    planted: usize,
    steps: u64,
}

/// What came of one way.
#[derive(Default)]
struct Course {
    last: Option<Request>,
    before: u64,
    common: u64,
    sent: u64,
    cost: f64,
    /// Facts that are visible or named, summed over the ends of turns.
    known: usize,
    visible: usize,
}

impl Course {
    fn take(&mut self, request: Request) {
        let tokens = request.tokens();
        let mut cached = 0;
        if let Some(last) = &self.last {
            cached = last.common(&request);
            self.before += last.tokens();
            self.common += cached;
        }
        self.sent += tokens;
        self.cost += float(tokens - cached) + CACHED_COST * float(cached);
        self.last = Some(request);
    }

    /// What it knows at the end of a turn.
    fn know(&mut self, worker: &Worker) {
        let Some(request) = &self.last else { return };
        for planted in &worker.planted {
            let visible = request.shows(&planted.value);
            self.visible += usize::from(visible);
            self.known += usize::from(visible || is_named(worker, request, planted));
        }
    }

    fn prefix(&self) -> f64 {
        float(self.common) / float(self.before.max(1))
    }
}

/// Whether a line stands for the entry of a fact, and it or that of the output before it names the
/// subject.
pub(crate) fn is_named(worker: &Worker, request: &Request, planted: &Planted) -> bool {
    let Some(line) = request.line(planted.row) else { return false };
    let before = worker.rows.get(&planted.row).and_then(|row| row.previous);
    let call = before.and_then(|before| request.line(before));
    line.contains(&planted.subject) || call.is_some_and(|call| call.contains(&planted.subject))
}

fn run(seed: u64, window: u64, steps: u64) -> Outcome<Session> {
    let mut worker = Worker::new(seed, window)?;
    let mut turns = Choices::new(seed.wrapping_add(1000));
    let mut counted = Counted::default();
    let mut faded = Faded::default();
    let mut session = Session {
        sliding: Course::default(),
        fading: Course::default(),
        ours: Course::default(),
        turns: 0,
        moves: 0,
        tokens: 0,
        fixed: 0,
        results: Vec::new(),
        planted: 0,
        steps,
    };
    let mut border = None;
    for step in 0..steps {
        if worker.at_rest() {
            worker.begin_turn((20 + turns.below(61)).min(steps - step))?;
            session.turns += 1;
        }
        let (plan, context) = worker.look()?;
        session.moves += u64::from(plan.border != border);
        border = plan.border;
        let system = &context.system.text;
        session.fixed = Request::new(system, &worker.tools, &mut counted).tokens();
        let budget = window - u64::from(reserve_tokens(window));
        let shown = Shown::new(&worker, system, budget, &mut counted);
        session.sliding.take(sliding(&shown, &mut counted));
        session.fading.take(faded.request(&shown, &mut counted));
        session.ours.take(Request::of(&context, &worker.tools, &mut counted));
        if worker.is_last() {
            for course in [&mut session.sliding, &mut session.fading, &mut session.ours] {
                course.know(&worker);
            }
            session.planted += worker.planted.len();
        }
        worker.step(&plan, &context)?;
    }
    let agents = worker.history.state().agents.values();
    session.tokens = agents.map(|agent| agent.live_sum).sum();
    let results = worker.rows.values().flat_map(|row| &row.results);
    session.results = results.map(|tokens| tokens.live).collect();
    session.results.sort_unstable();
    Ok(session)
}

impl Session {
    fn tell(&self, seed: u64, window: u64, prefix: Option<f64>, report: &mut Report) {
        let Self { steps, turns, moves, tokens, .. } = self;
        let told = format!(
            "{turns} turns, {tokens} tokens, {} for a step, the border moved {moves} times",
            tokens / steps
        );
        fact(&format!("{window}, seed {seed}: {steps} steps"), told);
        let (least, most) = (self.results.first().copied(), self.results.last().copied());
        let median = self.results.get(self.results.len() / 2).copied();
        let told = format!(
            "of {} to {} tokens, half of them up to {}; instruction and tools take {}",
            least.unwrap_or(0),
            most.unwrap_or(0),
            median.unwrap_or(0),
            self.fixed
        );
        fact(&format!("  {} results", self.results.len()), told);
        let head = "  prefix      cost    cost/sliding   window used   known   visible";
        fact("", head);
        for (name, course) in [
            ("  sliding window", &self.sliding),
            ("  entry by entry", &self.fading),
            ("  ours", &self.ours),
        ] {
            let used = float(course.sent) / float(*steps) / float(window);
            let of = |count: usize| 100.0 * small(count) / small(self.planted.max(1));
            let told = format!(
                "{:>7.1} % {:>9.0} {:>13.2} {:>11.0} % {:>7.1} % {:>7.1} %",
                100.0 * course.prefix(),
                course.cost,
                course.cost / self.sliding.cost,
                100.0 * used,
                of(course.known),
                of(course.visible),
            );
            fact(name, told);
        }
        let wanted = |target| prefix.map(|_| target);
        let (ours, theirs) = (&self.ours, &self.sliding);
        let what = "  ours: identical prefix, of the request before";
        report.ratio(what, ours.prefix(), 1.0, "", prefix.map(Target::AtLeast));
        let what = "  ours / sliding: cost";
        report.ratio(what, ours.cost, theirs.cost, "", wanted(Target::AtMost(0.4)));
        let what = "  ours / sliding: facts visible or named";
        let (known, by_sliding) = (small(ours.known), small(theirs.known));
        report.ratio(what, known, by_sliding, "", wanted(Target::AtLeast(1.0)));
    }
}

#[expect(clippy::cast_precision_loss, reason = "tokens here are far below 2^52")]
fn float(tokens: u64) -> f64 {
    tokens as f64
}

fn small(count: usize) -> f64 {
    threadline_testing::bench::float(count)
}
