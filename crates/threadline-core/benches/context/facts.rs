//! Planted facts that a model still knows of: those it sees, and those it can read again by an entry
//! whose line names their subject. Searching does not count.

use threadline_testing::ids::Choices;

use crate::policies::{Shown, sliding};
use crate::request::{Counted, Request};
use crate::session::is_named;
use crate::worker::{Worker, reserve_tokens};
use crate::{Outcome, Setting};
use threadline_testing::bench::{Report, Target, fact, float};

const WINDOWS: [u64; 3] = [8_000, 32_000, 128_000];
/// The window that the session was held with; what is seen afterwards does not depend on it.
const HELD_WITH: u64 = 128_000;

/// What was found, summed over histories and moments.
#[derive(Default)]
struct Found {
    planted: usize,
    visible: usize,
    reachable: usize,
    by_sliding: usize,
}

pub(crate) fn measure(setting: &Setting, report: &mut Report) -> Outcome<()> {
    let mut found = WINDOWS.map(|window| (window, Found::default()));
    let (seeds, steps) = setting.of((5, 400), (1, 60));
    for seed in 1..=seeds {
        look_back(seed, steps, &mut found)?;
    }
    for (window, found) in &found {
        let share = |count: usize| 100.0 * float(count) / float(found.planted.max(1));
        let told = format!(
            "{:.1} % visible, {:.1} % with those that a line names; sliding window {:.1} %",
            share(found.visible),
            share(found.reachable),
            share(found.by_sliding)
        );
        fact(&format!("{window}: {} facts at all depths", found.planted), told);
        let what = format!("{window}: facts within reach, ours / sliding window");
        let (ours, theirs) = (float(found.reachable), float(found.by_sliding));
        let wanted = setting.of(Some(Target::AtLeast(1.0)), None);
        report.ratio(&what, ours, theirs, "", wanted);
    }
    Ok(())
}

/// Goes through a session, and looks back at it from the ends of the turns of its second half.
fn look_back(seed: u64, steps: u64, found: &mut [(u64, Found)]) -> Outcome<()> {
    let mut worker = Worker::new(seed, HELD_WITH)?;
    let mut turns = Choices::new(seed.wrapping_add(2000));
    let mut counted = Counted::default();
    for step in 0..steps {
        if worker.at_rest() {
            worker.begin_turn((20 + turns.below(61)).min(steps - step))?;
        }
        let (plan, context) = worker.look()?;
        if worker.is_last() && step >= steps / 2 {
            for (window, found) in &mut *found {
                look(&worker, *window, found, &mut counted)?;
            }
        }
        worker.step(&plan, &context)?;
    }
    Ok(())
}

fn look(worker: &Worker, window: u64, found: &mut Found, counted: &mut Counted) -> Outcome<()> {
    let (_, context) = worker.look_through(window)?;
    let ours = Request::of(&context, &worker.tools, counted);
    let budget = window - u64::from(reserve_tokens(window));
    let shown = Shown::new(worker, &context.system.text, budget, counted);
    let theirs = sliding(&shown, counted);
    for planted in &worker.planted {
        let visible = ours.shows(&planted.value);
        found.planted += 1;
        found.visible += usize::from(visible);
        found.reachable += usize::from(visible || is_named(worker, &ours, planted));
        found.by_sliding += usize::from(theirs.shows(&planted.value));
    }
    Ok(())
}
