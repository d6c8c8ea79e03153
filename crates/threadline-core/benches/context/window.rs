//! Planning and rendering a window: of a long history against a short one, and against what it
//! takes to write the same context as JSON.
//!
//! Rows and entries are at hand, as a driver has them between two steps. What reading them from a
//! store takes is measured with the store.

mod mirror;
mod past;

use threadline_core::context::plan::{Ask, Outlook, Planned, plan as planning};
use threadline_core::context::{Context, Material, render as rendering};
use threadline_core::id::AgentId;

use self::mirror::Mirror;
use self::past::{Moment, moments};
use crate::{Outcome, Setting};
use threadline_testing::bench::{Report, Rounds, Target, fact, float, timed};

const WINDOW_TOKENS: u64 = 32_000;
const SHORT: u64 = 1000;
/// How many windows there are of each: what a window holds differs, and one alone may be special.
const WINDOWS: usize = 12;
/// How many entries lie between two windows of the long history.
const APART: u64 = 100;
/// How many moments of the long history there are to choose from.
const MOMENTS: usize = 80;
/// How often the same is done in a row, so that both sides find it in the processor's caches.
const IN_A_ROW: usize = 4;

pub(crate) fn measure(setting: &Setting, report: &mut Report) -> Outcome<()> {
    let long = setting.of(1_000_000, 20_000);
    let mut shorts = Vec::new();
    let mut seeds = 1..;
    while shorts.len() < WINDOWS {
        let seed = seeds.next().ok_or("there is no further seed")?;
        // One that fits its window as a whole takes less to plan: that would be no comparison.
        for moment in moments(seed, SHORT, 1, APART)? {
            shorts.extend(Some(Window::new(moment)?).filter(Window::is_full));
        }
    }
    let longs = moments(1, long, MOMENTS, APART)?;
    let longs = longs.into_iter().map(Window::new).collect::<Outcome<Vec<Window>>>()?;
    let longs = like(&shorts, longs);
    let mut cases = [
        Case::new(format!("{WINDOWS} histories of {SHORT} entries"), shorts)?,
        Case::new(format!("{WINDOWS} moments of a history of {long} entries"), longs)?,
    ];
    for _ in 0..setting.of(40, 3) {
        for case in &mut cases {
            case.round()?;
        }
    }
    let [short, long] = &cases;
    short.tell();
    long.tell();
    let wanted = |target| setting.of(Some(target), None);
    let what = "plan and render: long / short history";
    let most = wanted(Target::AtMost(1.2));
    report.ratio(what, long.whole.median(), short.whole.median(), "us", most);
    // What fits a window differs from one history to another.
    let a_part = |case: &Case| case.whole.median() / case.parts();
    let what = "  the same, for a part";
    report.ratio(what, a_part(long), a_part(short), "us", None);
    for (name, case) in [("short", short), ("long", long)] {
        let what = format!("plan and render / serde_json, {name}");
        let most = wanted(Target::AtMost(1.0));
        report.ratio(&what, case.whole.median(), case.json.median(), "us", most);
    }
    Ok(())
}

/// A window, and what is at hand for it.
struct Window {
    moment: Moment,
    outlook: Outlook,
    material: Material,
    context: Context,
}

impl Window {
    fn new(moment: Moment) -> Outcome<Self> {
        let (outlook, material) = moment.gather(&ask())?;
        let context = rendering(&material, &[]);
        Ok(Self { moment, outlook, material, context })
    }

    fn is_full(&self) -> bool {
        self.material.plan.border.is_some()
    }
}

/// Of some windows those that come nearest to others in what they hold.
///
/// A short history is just over its window, so that its border lies at the first landmark; in a
/// long one a window may be filled to any degree.
fn like(others: &[Window], mut windows: Vec<Window>) -> Vec<Window> {
    let mut chosen = Vec::new();
    for other in others {
        let wanted = other.context.tokens();
        let apart = |window: &Window| window.context.tokens().abs_diff(wanted);
        let nearest = windows.iter().enumerate().min_by_key(|(_, window)| apart(window));
        if let Some(place) = nearest.map(|(place, _)| place) {
            chosen.push(windows.swap_remove(place));
        }
    }
    chosen
}

fn ask() -> Ask {
    Ask::bare(AgentId::FIRST, WINDOW_TOKENS)
}

/// Some windows, and what they took on average, round by round.
struct Case {
    name: String,
    windows: Vec<Window>,
    gather: Rounds,
    plan: Rounds,
    whole: Rounds,
    json: Rounds,
    bytes: usize,
}

impl Case {
    fn new(name: String, windows: Vec<Window>) -> Outcome<Self> {
        if !windows.iter().all(Window::is_full) {
            return Err(format!("{name}: one of them fits its window").into());
        }
        let new = Rounds::default;
        let (gather, plan, whole, json) = (new(), new(), new(), new());
        Ok(Self { name, windows, gather, plan, whole, json, bytes: 0 })
    }

    fn round(&mut self) -> Outcome<()> {
        let (mut gather, mut plan, mut render, mut json) = (0.0, 0.0, 0.0, 0.0);
        self.bytes = 0;
        for window in &mut self.windows {
            for _ in 0..IN_A_ROW {
                let (gathered, took) = timed(|| window.moment.gather(&ask()));
                gathered?;
                gather += took.as_secs_f64();
            }
            for _ in 0..IN_A_ROW {
                let history = &window.moment.history;
                let (planned, took) = timed(|| planning(history, &ask(), &window.outlook));
                plan += took.as_secs_f64();
                let Planned::Plan(planned) = planned? else {
                    return Err(format!("{}: not all was at hand", self.name).into());
                };
                window.material.plan = *planned;
                let (context, took) = timed(|| rendering(&window.material, &[]));
                render += took.as_secs_f64();
                if context != window.context {
                    return Err(format!("{}: another context than before", self.name).into());
                }
            }
            let mirror = Mirror::of(&window.context);
            for turn in 0..IN_A_ROW {
                let (bytes, took) = timed(|| serde_json::to_vec(&mirror));
                json += took.as_secs_f64();
                self.bytes += if turn == 0 { bytes?.len() } else { 0 };
            }
        }
        let each = 1e6 / float(self.windows.len().max(1) * IN_A_ROW);
        self.gather.add(gather * each);
        self.plan.add(plan * each);
        self.whole.add((plan + render) * each);
        self.json.add(json * each);
        Ok(())
    }

    /// How many parts a window has.
    fn parts(&self) -> f64 {
        let parts = self.windows.iter().map(|window| window.context.parts.len());
        float(parts.sum()) / float(self.windows.len().max(1))
    }

    fn tell(&self) {
        let windows = self.windows.len().max(1);
        let contexts = self.windows.iter().map(|window| &window.context);
        let tokens: u64 = contexts.map(Context::tokens).sum();
        let told = format!(
            "{:.0} parts, {} tokens, {} bytes of JSON; planned in {:.0} us, with looking at rows and \
             entries at hand {:.0} us",
            self.parts(),
            tokens / u64::try_from(windows).unwrap_or(1),
            self.bytes / windows,
            self.plan.median(),
            self.gather.median(),
        );
        fact(&self.name, told);
    }
}
