//! The simulator: drivers in a world of its own, one thread, one seed, the same run every time.
//!
//! A run draws a small conversation and what goes wrong with it: agents that call each other, wait
//! and wake, join and leave, workers that crash, freeze and come back, a store that is busy, full or whose answers get lost, models that break off, tools
//! that hang, a person who sends things twice, a clock that jumps. It executes what the
//! [`Driver`](threadline_core::drive::Driver)s say and checks the promises, named `I-1` and so on,
//! with every append. Then faults stop, and the conversation has to come to rest.
//!
//! Time is a number in a queue; nothing here reads a clock, spawns a task or iterates over
//! something without an order.

mod answer;
mod chaos;
mod check;
mod choice;
mod effects;
mod execute;
mod gear;
mod mark;
mod notebook;
mod peers;
mod person;
mod queue;
mod rules;
mod shown;
mod store;
mod team;
mod timers;
mod trace;
mod worker;
mod world;

use std::fmt;

pub use chaos::Fault;
pub use gear::Class;
pub use mark::{Coverage, Mark};

use self::world::World;

/// What to run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What is drawn at random, or a fixed course.
    pub course: Course,
    /// Whether the trace is kept as text.
    pub traced: bool,
}

/// Which conversation is run, and what goes wrong with it.
#[derive(Clone, Debug, Default)]
pub enum Course {
    /// All is drawn from the seed.
    #[default]
    Drawn,
    /// A fixed conversation, in which one thing goes wrong at one place.
    Directed(Directed),
}

/// A fixed conversation, in which one thing goes wrong at one place.
#[derive(Clone, Copy, Debug)]
pub struct Directed {
    /// What goes wrong; nothing if there is none.
    pub fault: Option<Fault>,
    /// Before which command or event, counted from 0.
    pub at: u64,
    /// How many calls the model makes at once.
    pub calls: u32,
    /// What running them again would do.
    pub class: Class,
    /// Whether it is one of several agents that call each other and wait.
    pub team: bool,
    /// Whether drivers stay for a while after they came to rest.
    pub lingers: bool,
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// The seed.
    pub seed: u64,
    /// A digest of all that happened, in order: the same seed gives the same.
    pub trace_digest: u64,
    /// The remarkable things that happened.
    pub coverage: Coverage,
    /// How many commands were executed and events delivered.
    pub boundaries: u64,
    /// How many entries the history has.
    pub entries: u64,
    /// How long it took, in the world's own time.
    pub virtual_ms: u64,
    /// The first promise that was broken.
    pub failure: Option<Failure>,
    /// What happened, if it was to be kept.
    pub trace: Vec<String>,
}

/// A broken promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Its name.
    pub promise: &'static str,
    /// What was seen.
    pub seen: String,
    /// When, in the world's own time.
    pub at_ms: u64,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {} ms: {}", self.promise, self.at_ms, self.seen)
    }
}

/// Runs a seed.
pub fn run(seed: u64, options: &Options) -> Report {
    World::new(seed, options).run()
}
