//! What of a scene must be the same however often the process died in it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use threadline_core::context::{Body, Context};
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::{Digest, Fact, Status};
use threadline_core::id::{AgentId, Seq};
use threadline_core::store::verify::{Depth, verify};
use threadline_core::store::{Storage, open_with_widgets};
use threadline_core::tokens::Estimator;

use super::peers;
use super::stage::{Stage, entries};

/// Tools that must not run twice.
pub(crate) const ONCE: [&str; 2] = ["pay", "ask"];

/// What is left of a scene when it is over.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// What each agent's model was shown last, without the results of calls that a death changes.
    pub(crate) shown: String,
    /// The same with all results.
    pub(crate) shown_in_full: String,
    pub(crate) widgets: BTreeMap<String, Vec<u8>>,
    pub(crate) sums: String,
    /// The keys of all inputs, agent by agent.
    pub(crate) keys: Vec<(AgentId, String)>,
    /// How the calls ended that must not run twice, agent by agent.
    pub(crate) once: Vec<Status>,
    pub(crate) effects: BTreeMap<(String, String), u32>,
    pub(crate) entries: Vec<Entry>,
    /// What is wrong with what is stored.
    pub(crate) findings: Vec<String>,
}

/// A request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) context: Digest,
    pub(crate) body: Digest,
    /// Whether something else was recorded before it.
    pub(crate) after_more: bool,
}

impl Seen {
    pub(crate) async fn of(stage: &mut Stage) -> Self {
        let store = stage.open();
        let entries = entries(&*store, stage.id).await;
        let loose: Vec<&str> = ONCE.iter().chain(stage.scene.loose).copied().collect();
        let (widgets, sums) = state(&*store, stage).await;
        let report =
            verify(&*store, stage.id, Depth::Deep, Arc::new(Estimator), &mut |_| {}).await.unwrap();
        // How agents that work side by side follow each other is nobody's promise.
        let mut by_agent: Vec<&Entry> = entries.iter().collect();
        by_agent.sort_by_key(|entry| entry.agent);
        let once = by_agent.iter().filter_map(|entry| match &entry.fact {
            Fact::ToolFinished(done) if ONCE.contains(&&*done.name) => Some(done.status),
            _ => None,
        });
        let keys = by_agent.iter().filter_map(|entry| match &entry.fact {
            Fact::Input(input) => {
                Some((entry.agent, input.client_key.as_deref().unwrap_or_default().to_owned()))
            }
            _ => None,
        });
        let findings = report.findings.into_iter().map(|finding| finding.what);
        let contexts = stage.contexts();
        let all_shown = |loose: &[&str]| {
            contexts.values().map(|context| shown(context, loose)).collect::<Vec<_>>().join("\n")
        };
        Self {
            shown: all_shown(&loose),
            shown_in_full: all_shown(&[]),
            widgets,
            sums,
            keys: keys.collect(),
            once: once.collect(),
            effects: stage.effects(),
            findings: findings.chain(peers::wrong(&entries)).collect(),
            entries,
        }
    }

    /// The history as text, for people.
    pub(crate) fn story(&self) -> String {
        let story = threadline_testing::notation::print(self.entries.clone());
        story.lines().map(|line| line.chars().take(160).collect::<String>() + "\n").collect()
    }

    /// The first request after an entry.
    pub(crate) fn next_asked(&self, head: Seq) -> Option<Asked> {
        let mut after = self.entries.iter().filter(|entry| entry.seq > head);
        let mut after_more = false;
        after.find_map(|entry| match &entry.fact {
            Fact::InvocationStarted(started) => Some(Asked {
                context: started.context_digest,
                body: started.body_digest,
                after_more,
            }),
            Fact::Moved(_) | Fact::InvocationFailed(_) => None,
            _ => {
                after_more = true;
                None
            }
        })
    }

    /// What is not as it is where nobody died; `died` tells whether the process did here.
    pub(crate) fn unlike(&self, calm: &Self, died: bool, loose: &[&str]) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut same = |what: &str, one: &dyn std::fmt::Debug, other: &dyn std::fmt::Debug| {
            let (one, other) = (format!("{one:#?}"), format!("{other:#?}"));
            if one != other {
                wrong.push(format!("{what}: {one}\ninstead of {other}"));
            }
        };
        same("findings", &self.findings, &[""; 0]);
        same("shown", &self.shown, &calm.shown);
        same("widgets", &self.widgets, &calm.widgets);
        same("sums", &self.sums, &calm.sums);
        same("keys", &self.keys, &calm.keys);
        if !died {
            same("shown in full", &self.shown_in_full, &calm.shown_in_full);
            same("effects", &self.effects, &calm.effects);
        }
        if self.once.len() != calm.once.len() {
            wrong.push(format!("{:?} instead of {:?}", self.once, calm.once));
        }
        for (status, calm) in self.once.iter().zip(&calm.once) {
            if status != calm && *status != Status::Unknown {
                wrong.push(format!("a call that runs once ended {status:?} instead of {calm:?}"));
            }
        }
        wrong.extend(self.effects_unlike(calm, loose));
        wrong
    }

    fn effects_unlike(&self, calm: &Self, loose: &[&str]) -> Vec<String> {
        let mut wrong = Vec::new();
        for (deed, times) in &self.effects {
            if !calm.effects.contains_key(deed) {
                wrong.push(format!("{deed:?} was never to be done"));
            }
            if ONCE.contains(&&*deed.0) && *times > 1 {
                wrong.push(format!("{deed:?} was done {times} times"));
            }
        }
        for (deed, times) in &calm.effects {
            let may_miss = ONCE.contains(&&*deed.0) || loose.contains(&&*deed.0);
            let done = self.effects.get(deed).copied().unwrap_or(0);
            if !may_miss && done < *times {
                wrong.push(format!("{deed:?} was done {done} times instead of {times}"));
            }
        }
        // Whoever says that it was done has done it.
        let successes = self.once.iter().filter(|status| **status == Status::Success).count();
        let done = self.effects.iter().filter(|((tool, _), _)| ONCE.contains(&&**tool));
        if done.count() < successes {
            wrong.push(format!("{successes} calls succeeded, and less was done"));
        }
        wrong
    }
}

async fn state(store: &dyn Storage, stage: &Stage) -> (BTreeMap<String, Vec<u8>>, String) {
    let notebook = threadline_tools::widgets::notebook::Notebook::new();
    let registry = threadline_core::widget::Registry::new(vec![Box::new(notebook)]).unwrap();
    let opened = open_with_widgets(store, stage.id, &Estimator, &registry.into()).await;
    let (conversation, history, widgets) = opened.unwrap();
    let sums = conversation.sums;
    let last = sums.last_message.map(|last| (last.text, last.kind));
    let mut text = format!(
        "{} messages, {last:?}, {:?}, {:?}, {:?}, {:?}, {:?}",
        sums.messages,
        sums.state,
        sums.cost,
        sums.wake_at,
        // An estimate depends on how often a model was asked.
        Some(history.ledger().usage).filter(|usage| !usage.estimated),
        history.ledger().cost,
    );
    for agent in store.agents(stage.id).await.unwrap() {
        let last = agent.last_interaction.map(|(kind, _)| kind);
        let doing = agent.state_description;
        write!(text, "\n{} {} {last:?} {doing}", agent.name, agent.present).unwrap();
    }
    // Screens name the entries they are attached to, which lie elsewhere after a fault.
    let mut states = widgets.encode();
    states.remove("screens");
    // A notebook's first line says which entries wrote its text: they lie elsewhere, too.
    for (_, state) in states.iter_mut().filter(|(key, _)| key.ends_with("/notebook")) {
        let text = state.iter().position(|byte| *byte == b'\n').unwrap();
        state.drain(..=text);
    }
    (states, text)
}

/// What a model is shown, without where it comes from.
fn shown(context: &Context, loose: &[&str]) -> String {
    let mut text = format!("system: {}\n", context.system.text);
    for part in &context.parts {
        match &part.body {
            Body::Input(input) => {
                let screen = input.screen.as_ref().map(|screen| &screen.text);
                // Who died while a model was asked has asked it once more, and says so.
                let said = input.text.replace(" (asked 2 times)", "");
                writeln!(text, "input: {said} {screen:?}").unwrap();
            }
            Body::Output(output) => {
                writeln!(text, "output: {:?} {:?}", output.blocks, output.stop).unwrap();
            }
            Body::Results(results) => {
                let screen = results.screen.as_ref().map(|screen| &screen.text);
                writeln!(text, "results: {screen:?}").unwrap();
                for result in &results.results {
                    if loose.contains(&&*result.name) {
                        writeln!(text, "  {}", result.name).unwrap();
                    } else {
                        let said = (&result.name, result.status, &result.text);
                        writeln!(text, "  {said:?}").unwrap();
                    }
                }
            }
        }
    }
    text
}
