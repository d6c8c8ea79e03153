//! Planning and rendering a window: of a long history against a short one, and against what it
//! takes to write the same context as JSON.
//!
//! Rows and entries are at hand, as a driver has them between two steps. What reading them from a
//! store takes is measured with the store.

mod mirror;
mod past;

use threadline_core::context::{Context, render};

use self::mirror::Mirror;
use self::past::{Moment, moments};
use crate::report::{Report, Target, fact};
use crate::rounds::{Rounds, float, timed};
use crate::{Outcome, Setting};

const WINDOW_TOKENS: u64 = 32_000;
const SHORT: u64 = 1000;
/// How many windows there are of each: what a window holds differs, and one alone may be special.
const WINDOWS: usize = 12;
/// How many entries lie between two windows of the long history.
const APART: u64 = 500;

pub(crate) fn measure(setting: &Setting, report: &mut Report) -> Outcome<()> {
    let long = setting.of(1_000_000, 20_000);
    let mut shorts = Vec::new();
    let mut seeds = 1..;
    while shorts.len() < WINDOWS {
        let seed = seeds.next().ok_or("there is no further seed")?;
        // One that fits its window as a whole takes less to plan: that would be no comparison.
        for moment in moments(seed, SHORT, 1, APART)? {
            if moment.material(WINDOW_TOKENS)?.plan.border.is_some() {
                shorts.push(moment);
            }
        }
    }
    let longs = moments(1, long, WINDOWS, APART)?;
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
    for (name, case) in [("short", short), ("long", long)] {
        let what = format!("plan and render / serde_json, {name}");
        let most = wanted(Target::AtMost(1.0));
        report.ratio(&what, case.whole.median(), case.json.median(), "us", most);
    }
    Ok(())
}

/// Some windows, and what they took on average, round by round.
struct Case {
    name: String,
    moments: Vec<Moment>,
    contexts: Vec<Context>,
    plan: Rounds,
    whole: Rounds,
    json: Rounds,
    bytes: usize,
}

impl Case {
    fn new(name: String, moments: Vec<Moment>) -> Outcome<Self> {
        let mut contexts = Vec::new();
        for moment in &moments {
            let material = moment.material(WINDOW_TOKENS)?;
            if material.plan.border.is_none() {
                return Err(format!("{name}: one of them fits its window").into());
            }
            contexts.push(render(&material, &[]));
        }
        let (plan, whole, json) = (Rounds::default(), Rounds::default(), Rounds::default());
        Ok(Self { name, moments, contexts, plan, whole, json, bytes: 0 })
    }

    fn round(&mut self) -> Outcome<()> {
        let (mut plan, mut whole, mut json) = (0.0, 0.0, 0.0);
        self.bytes = 0;
        for (moment, context) in self.moments.iter().zip(&self.contexts) {
            let (material, planned) = timed(|| moment.material(WINDOW_TOKENS));
            let material = material?;
            let (again, rendered) = timed(|| render(&material, &[]));
            if again != *context {
                return Err(format!("{}: another context than before", self.name).into());
            }
            let mirror = Mirror::of(context);
            let (bytes, written) = timed(|| serde_json::to_vec(&mirror));
            self.bytes += bytes?.len();
            plan += planned.as_secs_f64();
            whole += planned.as_secs_f64() + rendered.as_secs_f64();
            json += written.as_secs_f64();
        }
        let each = 1e6 / float(self.moments.len().max(1));
        self.plan.add(plan * each);
        self.whole.add(whole * each);
        self.json.add(json * each);
        Ok(())
    }

    fn tell(&self) {
        let windows = self.moments.len().max(1);
        let parts: usize = self.contexts.iter().map(|context| context.parts.len()).sum();
        let tokens: u64 = self.contexts.iter().map(Context::tokens).sum();
        let told = format!(
            "{} parts, {} tokens, {} bytes of JSON, {:.0} us to plan, {:.0} us to plan and render",
            parts / windows,
            tokens / u64::try_from(windows).unwrap_or(1),
            self.bytes / windows,
            self.plan.median(),
            self.whole.median(),
        );
        fact(&self.name, told);
    }
}
