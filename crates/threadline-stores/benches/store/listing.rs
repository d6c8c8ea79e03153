//! The first page of many conversations, against that of a few.

use std::time::Instant;

use threadline_core::clock::Timestamp;
use threadline_core::history::batch::State;
use threadline_core::history::fact::{
    Answer, ApprovalAsked, Block, Described, Digest, Input, Invocation, Output, Stop, ToolCall,
    Usage,
};
use threadline_core::history::{History, Proposal, Stamp};
use threadline_core::id::{AgentId, CallId, ConversationId, Seq};
use threadline_core::store::{Filter, Listing, Sort, Store as _};
use threadline_core::tokens::Estimator;
use threadline_stores::sqlite::{Durability, SqliteStore};
use threadline_testing::ids::SeededIds;

use crate::filling::{self, joined};
use crate::{Outcome, Setting};
use threadline_testing::bench::{Report, Rounds, Target, micros};

const FEW: u64 = 100;
const PAGE: usize = 50;
const LABEL: &str = "work";

pub(crate) fn measure(setting: &Setting, report: &mut Report) -> Outcome<()> {
    setting.runtime.block_on(listing(setting, report))
}

/// What a conversation is like, as far as lists care.
#[derive(Clone, Copy)]
struct Kind {
    state: State,
    archived: bool,
    labelled: bool,
}

impl Kind {
    /// The n-th of a mixture of all kinds.
    fn mixed(number: u64) -> Self {
        let state = match number % 3 {
            0 => State::Resting,
            1 => State::Working,
            _ => State::Waiting,
        };
        Self { state, archived: number.is_multiple_of(4), labelled: number.is_multiple_of(5) }
    }

    /// The n-th of those that a filter finds.
    fn found_by(filter: &Filter, number: u64) -> Self {
        let mixed = Self::mixed(number);
        match filter {
            Filter::All => mixed,
            Filter::Current => Self { archived: false, ..mixed },
            Filter::Archived => Self { archived: true, ..mixed },
            Filter::State(state) => Self { state: *state, ..mixed },
            Filter::Label(_) => Self { labelled: true, ..mixed },
        }
    }
}

async fn listing(setting: &Setting, report: &mut Report) -> Outcome<()> {
    let many = setting.of(100_000, 1000);
    let many_store = filling::open(&setting.path("many-listed.db"), Durability::Normal)?;
    for number in 0..many {
        create(&many_store, number, Kind::mixed(number)).await?;
    }
    filling::settle(&many_store).await?;
    let filters = [
        ("current", Filter::Current),
        ("archived", Filter::Archived),
        ("all", Filter::All),
        ("resting", Filter::State(State::Resting)),
        ("working", Filter::State(State::Working)),
        ("waiting", Filter::State(State::Waiting)),
        ("labelled", Filter::Label(LABEL.to_owned())),
    ];
    for (name, filter) in filters {
        // All of the few are found, so that both pages are full.
        let few_store = filling::open(&setting.path(&format!("{name}.db")), Durability::Normal)?;
        for number in 0..FEW {
            create(&few_store, number, Kind::found_by(&filter, number)).await?;
        }
        filling::settle(&few_store).await?;
        for (by, sort) in [("active", Sort::Active), ("created", Sort::Created)] {
            let listing = Listing { filter: filter.clone(), sort, after: None, most: PAGE };
            let (mut ours, mut theirs) = (Rounds::default(), Rounds::default());
            for _ in 0..setting.of(400, 5) {
                ours.add(page(&many_store, &listing).await?);
                theirs.add(page(&few_store, &listing).await?);
            }
            let what = format!("{name} by {by}: {many} / {FEW} conversations");
            let target = Some(Target::AtMost(1.5));
            report.ratio(&what, ours.median(), theirs.median(), "us", target);
        }
    }
    Ok(())
}

/// How long a page takes.
async fn page(store: &SqliteStore, listing: &Listing) -> Outcome<f64> {
    let start = Instant::now();
    let found = store.list(listing).await?.len();
    let elapsed = micros(start);
    if found == PAGE { Ok(elapsed) } else { Err(format!("a page of {found}").into()) }
}

async fn create(store: &SqliteStore, number: u64, kind: Kind) -> Outcome<()> {
    let ids = SeededIds::new(number);
    let at = Timestamp::from_micros(1_767_225_600_000_000).plus_millis(number * 1000);
    let stamp = Stamp { at, ids: &ids, counter: &Estimator };
    let first = History::new().propose(facts(number, kind, at), stamp)?;
    store.create(ConversationId::new(at, &ids), None, &first.batch).await?;
    Ok(())
}

fn facts(number: u64, kind: Kind, at: Timestamp) -> Vec<Proposal> {
    let mut facts = vec![joined()];
    let described = Described {
        title: Some(format!("Conversation {number}").into()),
        labels: kind.labelled.then(|| vec![LABEL.into()]),
        archived: kind.archived.then_some(true),
        ..Described::default()
    };
    facts.push(Proposal::new(AgentId::CONVERSATION, described, &Estimator));
    let input = Input::from_person(filling::text(number, 300));
    match kind.state {
        State::Resting => {}
        State::Working => facts.push(Proposal::new(AgentId::FIRST, input, &Estimator)),
        State::Waiting => {
            let output = Seq(u64::try_from(facts.len()).unwrap_or(0) + 2);
            facts.push(Proposal::new(AgentId::FIRST, input, &Estimator));
            facts.push(Proposal::new(AgentId::FIRST, calling(), &Estimator));
            let asked = ApprovalAsked {
                call: CallId::new(output, 0),
                digest: Digest([0; 32]),
                until: at.plus_millis(3_600_000_000),
                default: Answer::Deny,
            };
            facts.push(Proposal::new(AgentId::FIRST, asked, &Estimator));
        }
    }
    facts
}

/// An output that calls a tool.
fn calling() -> Output {
    let call = ToolCall {
        name: "deploy".into(),
        arguments: "{}".into(),
        repaired: None,
        provider_id: None,
        complete: true,
        state: None,
    };
    Output {
        blocks: vec![Block::ToolCall(call)],
        invocation: Invocation {
            provider: "none".into(),
            endpoint: "none".into(),
            account: None,
            dialect: "none".into(),
            model: "none".into(),
        },
        stop: Stop::Done,
        usage: Usage::default(),
        cost: None,
    }
}
