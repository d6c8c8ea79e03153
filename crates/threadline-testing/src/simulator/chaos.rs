//! What goes wrong: drawn from the seed, each family of faults at a rate of its own.

use threadline_core::drive::Limits;

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

/// How often things go wrong in a run, in a hundred each, and how large it is.
#[derive(Clone, Debug)]
pub struct Swarm {
    pub(super) store: u64,
    pub(super) lost: u64,
    pub(super) reads: u64,
    pub(super) model: u64,
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
    /// Whether the model makes the same call again and again.
    pub(super) stubborn: bool,
    /// Whether the model never comes to an end by itself.
    pub(super) tireless: bool,
    /// Whether results are so large that few fit into a batch.
    pub(super) bulky: bool,
    /// Whether workers keep their lease at rest.
    pub(super) lingers: bool,
    pub(super) limits: Limits,
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
        let bulky = choices.below(500) == 0;
        // Some models hardly ever answer.
        let model = if (10..14).contains(&odd) { 95 } else { model };
        Self {
            store,
            lost,
            reads,
            model,
            tools,
            person,
            harm: crash.max(freeze).max(stop),
            plan,
            jumps,
            workers: 1 + choices.index(3),
            inputs: 1 + choices.below(6),
            calls: if bulky { 6 } else { choices.below(5) },
            bulky,
            harmless: choices.pick(&[0, 20, 50, 80]).copied().unwrap_or(0),
            stubborn: odd < 4,
            tireless: (4..10).contains(&odd),
            lingers: choices.percent(50),
            limits: Limits {
                steps: if odd % 3 == 0 { 20 } else { 6 },
                calls: if odd % 4 == 0 { 5 } else { 14 },
                side_by_side: if bulky { 8 } else { 1 + choices.index(4) },
                ..limits()
            },
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
    pub(super) fn directed(fault: Option<Fault>, at: u64) -> Self {
        Self {
            store: 0,
            lost: 0,
            reads: 0,
            model: 0,
            tools: 0,
            person: 0,
            harm: 0,
            plan: fault.map(|fault| (at, fault)).into_iter().collect(),
            jumps: Vec::new(),
            workers: 2,
            inputs: 0,
            calls: 0,
            harmless: 0,
            stubborn: false,
            tireless: false,
            bulky: false,
            lingers: false,
            limits: limits(),
        }
    }

    /// From now on nothing goes wrong any more.
    pub(super) fn calm_down(&mut self) {
        (self.store, self.lost, self.reads) = (0, 0, 0);
        (self.model, self.tools, self.person) = (0, 0, 0);
        self.harm = 0;
        self.plan.clear();
    }
}
