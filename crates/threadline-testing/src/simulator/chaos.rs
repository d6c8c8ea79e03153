//! What goes wrong: drawn from the seed, each family of faults at a rate of its own.

use threadline_core::drive::Limits;
use threadline_core::history::fact::FailureKind;
use threadline_core::policy::Rule;

use super::{Directed, rules};
use crate::ids::Choices;

/// Something that goes wrong at one place of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The process ends; what it had sent may still arrive.
    Crash,
    /// The machine ends; nothing that it had sent arrives.
    PowerLoss,
    /// The process stands still until its lease has run out, and then goes on.
    Freeze,
    /// The store refuses the next append for now.
    Busy,
    /// The store cannot be reached for the next append.
    Unavailable,
    /// The next append is done, and nobody learns of it.
    LostCommitted,
    /// The next append is not done, and nobody learns of it.
    LostNotCommitted,
    /// The store has no room for a while.
    Full,
    /// The driver is dropped where it stands; the process goes on.
    Panic,
    /// The process is asked to end.
    Stop,
}

impl Fault {
    /// All faults.
    pub const ALL: &[Self] = &[
        Self::Crash,
        Self::PowerLoss,
        Self::Freeze,
        Self::Busy,
        Self::Unavailable,
        Self::LostCommitted,
        Self::LostNotCommitted,
        Self::Full,
        Self::Panic,
        Self::Stop,
    ];
}

/// What kind of conversation it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mood {
    /// Nothing is peculiar about it.
    Usual,
    /// The model makes the same call again and again.
    Stubborn,
    /// The model never comes to an end by itself.
    Tireless,
    /// More slow calls at once than may run, and a person who thinks better of them.
    Eager,
    /// Every agent first gives others something to do.
    Leading,
    /// Results and changes are so large that few fit into a batch.
    Bulky,
}

/// How often things go wrong in a run, in a hundred each, and how large it is.
#[derive(Clone, Debug)]
pub(super) struct Swarm {
    pub(super) store: u64,
    pub(super) lost: u64,
    pub(super) reads: u64,
    pub(super) model: u64,
    /// A model that mostly fails, and how.
    pub(super) ill: Option<(&'static str, FailureKind)>,
    pub(super) tools: u64,
    pub(super) person: u64,
    /// That a worker comes to harm while it runs a call.
    pub(super) harm: u64,
    /// The faults that come at a place, in order.
    pub(super) plan: Vec<(u64, Fault)>,
    /// When the clock jumps, and by how much.
    pub(super) jumps: Vec<(u64, i64)>,
    pub(super) workers: usize,
    pub(super) inputs: u64,
    /// The most calls at once, but for now and then a great many.
    pub(super) calls: u64,
    /// How many of a hundred calls name a tool that may run again.
    pub(super) harmless: u64,
    pub(super) mood: Mood,
    /// How many agents there are in the beginning.
    pub(super) agents: usize,
    /// Whether they call each other and set timers, and how many of a hundred calls do that.
    pub(super) team: bool,
    pub(super) team_calls: u64,
    /// How many of a hundred items come from another process: whoever drives is not told of them.
    pub(super) silent: u64,
    /// When a timer fires, if there is one.
    pub(super) timer_ms: Option<u64>,
    /// Whether workers keep their lease at rest.
    pub(super) lingers: bool,
    pub(super) limits: Limits,
    /// The operator's rules for calls.
    pub(super) policy: Vec<Rule>,
}

/// The rates that families are drawn from.
const RATES: [u64; 6] = [0, 2, 5, 10, 20, 35];
/// The faults of workers come before this many commands and events.
const PLACES: u64 = 260;
const HOUR_MS: i64 = 3_600_000;

fn limits() -> Limits {
    Limits {
        steps: 6,
        calls: 14,
        same_call: 3,
        attempts: 5,
        pauses: 5,
        call_attempts: 3,
        side_by_side: 8,
        approval_ms: 5_000,
        grace_ms: 1_000,
        ..Limits::default()
    }
}

/// Which model fails, and how: each kind that a provider can tell.
fn ill(choices: &mut Choices) -> (&'static str, FailureKind) {
    let kinds = [
        FailureKind::Busy,
        FailureKind::Unreachable,
        FailureKind::Protocol,
        FailureKind::ContextTooLong,
        FailureKind::Unauthorised,
        FailureKind::QuotaSpent,
        FailureKind::Refused,
    ];
    let name = choices.pick(&["one", "one", "two", "three"]).copied().unwrap_or("one");
    (name, choices.pick(&kinds).copied().unwrap_or(FailureKind::Busy))
}

impl Swarm {
    /// What a seed draws.
    pub(super) fn drawn(choices: &mut Choices) -> Self {
        let mut rate = || choices.pick(&RATES).copied().unwrap_or(0);
        let (store, lost, reads, model) = (rate(), rate(), rate(), rate());
        let (tools, person, crash, freeze) = (rate(), rate(), rate(), rate());
        let (stop, clock) = (rate(), rate());
        let mut plan = Vec::new();
        for (rate, faults) in [
            (crash, [Fault::Crash, Fault::PowerLoss, Fault::Panic]),
            (freeze, [Fault::Freeze, Fault::Freeze, Fault::Freeze]),
            (stop, [Fault::Stop, Fault::Stop, Fault::Full]),
        ] {
            for _ in 0..8 {
                if choices.percent(rate) {
                    let fault = choices.pick(&faults).copied().unwrap_or(Fault::Crash);
                    plan.push((choices.below(PLACES), fault));
                }
            }
        }
        plan.sort_unstable();
        let mut jumps = Vec::new();
        for _ in 0..2 {
            if choices.percent(clock) {
                let by = if choices.percent(50) { -HOUR_MS } else { 24 * HOUR_MS };
                jumps.push((choices.below(15_000), by));
            }
        }
        let odd = choices.below(100);
        let bulky = choices.below(250) == 0;
        let mood = match odd {
            _ if bulky => Mood::Bulky,
            0..=3 => Mood::Stubborn,
            4..=9 => Mood::Tireless,
            14..=23 => Mood::Eager,
            24..=45 => Mood::Leading,
            _ => Mood::Usual,
        };
        let leads = mood == Mood::Leading;
        let team = leads || choices.percent(45);
        // Some models hardly ever answer.
        let model = if (10..14).contains(&odd) { 95 } else { model };
        Self {
            store,
            lost,
            reads,
            model,
            ill: choices.percent(40).then(|| ill(choices)),
            tools,
            person,
            harm: crash.max(freeze).max(stop),
            plan,
            jumps,
            workers: 1 + choices.index(3),
            // Agents that work together make much of little.
            inputs: 1 + choices.below(if team { 4 } else { 6 }),
            calls: match mood {
                Mood::Bulky => 6,
                Mood::Eager => 4,
                Mood::Usual | Mood::Stubborn | Mood::Tireless | Mood::Leading if team => {
                    1 + choices.below(3)
                }
                Mood::Usual | Mood::Stubborn | Mood::Tireless | Mood::Leading => choices.below(5),
            },
            harmless: choices.pick(&[0, 20, 50, 80]).copied().unwrap_or(0),
            mood,
            agents: match team {
                _ if leads => 3 + choices.index(2),
                true => 2 + choices.index(3),
                false => 1 + choices.index(2),
            },
            team,
            team_calls: choices.pick(&[20, 40, 70]).copied().unwrap_or(40),
            silent: choices.pick(&[0, 30, 90]).copied().unwrap_or(0),
            timer_ms: choices.percent(20).then(|| choices.below(9_000)),
            lingers: choices.percent(50),
            limits: Limits {
                steps: if odd.is_multiple_of(3) && !team { 20 } else { 6 },
                calls: if odd.is_multiple_of(4) { 5 } else { 14 },
                side_by_side: match mood {
                    Mood::Bulky => 8,
                    Mood::Eager => 2,
                    Mood::Usual | Mood::Stubborn | Mood::Tireless | Mood::Leading => {
                        1 + choices.index(4)
                    }
                },
                depth: if leads { 2 + choices.index(2) } else { 1 + choices.index(3) },
                alone: u32::try_from(2 + choices.below(7)).unwrap_or(2) + if leads { 4 } else { 0 },
                ..limits()
            },
            policy: rules::operator(choices),
        }
    }

    /// Something goes wrong soon: before one of the next few commands and events.
    pub(super) fn harm_soon(&mut self, here: u64, choices: &mut Choices) {
        let faults = [Fault::Crash, Fault::PowerLoss, Fault::Panic, Fault::Freeze, Fault::Stop];
        let fault = choices.pick(&faults).copied().unwrap_or(Fault::Crash);
        self.plan.push((here + choices.below(8), fault));
        self.plan.sort_unstable();
    }

    /// Nothing goes wrong but for one fault at one place.
    pub(super) fn directed(Directed { fault, at, team, lingers, .. }: Directed) -> Self {
        Self {
            store: 0,
            lost: 0,
            reads: 0,
            model: 0,
            ill: None,
            tools: 0,
            person: 0,
            harm: 0,
            plan: fault.map(|fault| (at, fault)).into_iter().collect(),
            jumps: Vec::new(),
            workers: 2,
            inputs: 0,
            calls: 0,
            harmless: 0,
            mood: Mood::Usual,
            agents: if team { 4 } else { 1 },
            team,
            team_calls: 0,
            silent: 0,
            timer_ms: None,
            lingers,
            limits: limits(),
            policy: Vec::new(),
        }
    }

    /// From now on nothing goes wrong any more.
    pub(super) fn calm_down(&mut self) {
        (self.store, self.lost, self.reads) = (0, 0, 0);
        (self.model, self.tools, self.person) = (0, 0, 0);
        (self.harm, self.ill) = (0, None);
        self.plan.clear();
    }
}
