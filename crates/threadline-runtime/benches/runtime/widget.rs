//! What it costs to change a widget: from the call to its change and result on record.

use std::sync::Arc;
use std::time::Instant;

use threadline_core::clock::{Clock as _, Timestamp};
use threadline_core::history::fact::{
    AgentJoined, Block, Fact, Input, Invocation, Output, Status, Stop, ToolCall, ToolFinished,
    ToolResults, Usage, WidgetChanged,
};
use threadline_core::history::{History, Proposal, Proposed, Stamp};
use threadline_core::id::{AgentId, CallId, ConversationId, Seq};
use threadline_core::store::{Attendance, DEFAULT_TENANT, Lease, Store as _};
use threadline_core::tokens::Estimator;
use threadline_core::tool::Schema;
use threadline_core::widget::{Registry, Widget, WidgetCall, Widgets};
use threadline_stores::sqlite::{Durability, SqliteOptions, SqliteStore};
use threadline_testing::bench::{Report, Rounds, Target, fact, micros};
use threadline_testing::clock::ManualClock;
use threadline_testing::ids::SeededIds;
use threadline_tools::widgets::notebook::{self, Notebook};

use crate::{Outcome, Setting};

const TOOL: &str = "notebook_replace";
const AGENT: AgentId = AgentId::FIRST;
const LEASE_MS: u64 = 3_600_000;

pub(crate) fn measure(setting: &Setting, report: &mut Report) -> Outcome<()> {
    setting.runtime.block_on(changes(setting, report))
}

/// Two conversations take the same steps: in one the change is worked out, proposed and appended,
/// in the other the same batch was worked out before, and is appended.
async fn changes(setting: &Setting, report: &mut Report) -> Outcome<()> {
    let clock = Arc::new(ManualClock::new());
    let store = SqliteStore::open(SqliteOptions {
        path: setting.path("widget.db"),
        tenant: DEFAULT_TENANT,
        owner: "bench".to_owned(),
        clock: Arc::clone(&clock) as _,
        ids: Arc::new(SeededIds::new(1)),
        vfs: None,
        durability: Durability::Full,
    })?;
    let (mut ours, mut bare) = (Book::begin(&store, 1).await?, Book::begin(&store, 2).await?);
    let (mut our_times, mut bare_times) = (Rounds::default(), Rounds::default());
    let mut appends = 0;
    for step in 0..setting.of(2_000, 20) {
        for is_ours in [step % 2 == 0, step % 2 == 1] {
            if is_ours {
                let call = ours.called(&store, step).await?;
                let start = Instant::now();
                let proposed = ours.changed(&call)?;
                store.append(&ours.lease, &proposed.batch).await?;
                ours.take_in(proposed)?;
                our_times.add(micros(start));
                appends += 1;
            } else {
                let call = bare.called(&store, step).await?;
                let proposed = bare.changed(&call)?;
                let start = Instant::now();
                store.append(&bare.lease, &proposed.batch).await?;
                bare_times.add(micros(start));
                bare.take_in(proposed)?;
            }
        }
    }
    let what = "a widget's change, from its call to durable / the bare append";
    let target = setting.of(Some(Target::AtMost(1.2)), None);
    report.ratio(what, our_times.median(), bare_times.median(), "us", target);
    fact("appends for a change", format!("{}", appends / setting.of(2_000, 20)));
    Ok(())
}

/// A conversation with a notebook.
struct Book {
    lease: Lease,
    history: History,
    widgets: Widgets,
    schema: Schema,
    ids: SeededIds,
    now: Timestamp,
}

/// A call as a model wrote it.
struct Called {
    id: CallId,
    arguments: String,
}

impl Book {
    async fn begin(store: &SqliteStore, number: u64) -> Outcome<Self> {
        let notebook: Box<dyn Widget> = Box::new(Notebook::new());
        let spec = notebook.tools().into_iter().find(|spec| &*spec.name == TOOL);
        let schema = Schema::new(&spec.ok_or("the notebook has no such tool")?.schema)?;
        let registry = Arc::new(Registry::new(vec![notebook])?);
        let (ids, now) = (SeededIds::new(number), ManualClock::new().now());
        let joined = AgentJoined {
            name: "assistant".into(),
            widgets: vec![notebook::NAME.into()],
            primary: true,
            ..AgentJoined::default()
        };
        let notes = (0..30).map(|line| format!("{line}: a note of about forty bytes, or more"));
        let notes = notes.collect::<Vec<_>>().join("\n");
        let set = Notebook::set(&format!("{notes}\nthe state is 0"))?;
        let changed = WidgetChanged { widget: notebook::NAME.into(), change: set, call: None };
        let stamp = Stamp { at: now, ids: &ids, counter: &Estimator };
        let facts = [proposal(joined), proposal(changed)];
        let first = History::new().propose(facts, stamp)?;
        let id = ConversationId::new(now, &ids);
        store.create(id, None, &first.batch).await?;
        let lease = store.claim(id, LEASE_MS, Attendance::Attended).await?;
        let (history, widgets) = (first.history, Widgets::new(registry));
        let mut book = Self { lease, history, widgets, schema, ids, now };
        for placed in &first.batch.entries {
            book.widgets.apply(&placed.entry)?;
        }
        Ok(book)
    }

    fn propose(&mut self, facts: impl IntoIterator<Item = Proposal>) -> Outcome<Proposed> {
        self.now = self.now.plus_millis(1);
        let stamp = Stamp { at: self.now, ids: &self.ids, counter: &Estimator };
        Ok(self.history.propose(facts, stamp)?)
    }

    fn take_in(&mut self, proposed: Proposed) -> Outcome<()> {
        for placed in &proposed.batch.entries {
            self.widgets.apply(&placed.entry)?;
        }
        self.history = proposed.history;
        Ok(())
    }

    /// A model calls.
    async fn called(&mut self, store: &SqliteStore, step: usize) -> Outcome<Called> {
        let arguments =
            format!(r#"{{"find":"the state is {step}","with":"the state is {}"}}"#, step + 1);
        let call = ToolCall {
            name: TOOL.into(),
            arguments: arguments.as_str().into(),
            repaired: None,
            provider_id: None,
            complete: true,
            state: None,
        };
        let output = Output {
            blocks: vec![Block::ToolCall(call)],
            invocation: Invocation {
                provider: "bench".into(),
                endpoint: "bench".into(),
                account: None,
                dialect: "bench".into(),
                model: "bench".into(),
            },
            stop: Stop::Done,
            usage: Usage::default(),
            cost: None,
        };
        let asked = (step == 0).then(|| proposal(Input::from_person("count")));
        let proposed = self.propose(asked.into_iter().chain([proposal(output)]))?;
        store.append(&self.lease, &proposed.batch).await?;
        let id = CallId { output: proposed.batch.head(), index: 0 };
        self.take_in(proposed)?;
        Ok(Called { id, arguments })
    }

    /// What comes of a call: its change, its result and their seal in one batch.
    fn changed(&mut self, called: &Called) -> Outcome<Proposed> {
        let Called { id, arguments } = called;
        let fit = self.schema.validate(arguments)?;
        let agent = self.history.agent(AGENT).ok_or("there is no agent")?;
        let call =
            WidgetCall { tool: TOOL, arguments: &fit.text, call: *id, by: AGENT, at: self.now };
        let (widget, reply) =
            self.widgets.call(&agent.joined, &call).ok_or("there is no widget")?;
        let reply = reply.map_err(|refusal| format!("{:?}", refusal.result))?;
        let changed =
            |change| WidgetChanged { widget: Arc::clone(&widget), change, call: Some(*id) };
        let mut facts: Vec<Proposal> =
            reply.changes.into_iter().map(|change| proposal(changed(change))).collect();
        let finished = ToolFinished {
            call: *id,
            name: TOOL.into(),
            status: Status::Success,
            result: reply.result,
            attachments: Vec::new(),
            elapsed_ms: 0,
            warnings: fit.warnings,
            error: None,
        };
        facts.push(Proposal { metadata: reply.metadata, ..proposal(finished) });
        let finished = Seq(id.output.0 + 2);
        let results =
            ToolResults { output: id.output, results: vec![finished], execute_error: None };
        facts.push(proposal(results));
        self.propose(facts)
    }
}

fn proposal(fact: impl Into<Fact>) -> Proposal {
    Proposal::new(AGENT, fact, &Estimator)
}
