//! An agent's notebook as it is now, and where its lines come from.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Context as _;
use serde::Serialize;
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::Fact;
use threadline_core::history::state::Agent;
use threadline_core::id::{AgentId, ConversationId, Seq};
use threadline_core::store::{self, verified_entries};
use threadline_core::widget::{Registry, Widget as _};
use threadline_tools::widgets::notebook::{NAME, Notebook};

use crate::compose::Parts;

/// How many records are read at a time.
const PAGE: usize = 256;
/// Who changes a notebook without a call.
const PERSON: &str = "a person";

/// An agent's notebook.
pub(crate) struct Kept {
    pub(crate) id: ConversationId,
    pub(crate) agent: AgentId,
    /// What the agent is called.
    pub(crate) name: Arc<str>,
    pub(crate) notebook: Notebook,
}

/// Where a line comes from.
#[derive(Serialize)]
pub(crate) struct Origin {
    line: usize,
    seq: u64,
    at: String,
    by: String,
    call: Option<String>,
    text: String,
}

impl Kept {
    /// The notebook of an agent, or of the primary one.
    pub(crate) async fn open(
        parts: &Parts,
        id: ConversationId,
        agent: Option<AgentId>,
    ) -> anyhow::Result<Self> {
        let registry = Arc::new(Registry::new(vec![Box::new(Notebook::new())])?);
        let opened = store::open_with_widgets(&*parts.store, id, &parts.counter, &registry);
        let (_, history, widgets) = opened.await?;
        let agent = agent.or_else(|| history.state().primary());
        let agent = agent.context("there is no agent here, and so no notebook")?;
        let known = history.agent(agent).context("the agent has not joined on this path")?;
        let name = Arc::clone(&known.joined.name);
        if !has_notebook(known) {
            let others = history.state().agents.values().filter(|agent| has_notebook(agent));
            let others: Vec<&str> = others.map(|agent| &*agent.joined.name).collect();
            match &*others {
                [] => anyhow::bail!("{name} has no notebook, nor has any other agent here"),
                [..] => {
                    let others = others.join(", ");
                    anyhow::bail!("{name} has no notebook; of {others} it can be seen with --agent")
                }
            }
        }
        let mut notebook = Notebook::new();
        if let Some(widget) = widgets.get(agent, NAME) {
            notebook.decode(&widget.encode())?;
        }
        Ok(Self { id, agent, name, notebook })
    }

    /// Whether a change would leave it as it is.
    pub(super) fn says(&self, change: &str) -> bool {
        Notebook::set(self.notebook.text()).is_ok_and(|same| *same == *change)
    }

    /// Where its lines come from.
    pub(crate) async fn origins(&self, parts: &Parts) -> anyhow::Result<Vec<Origin>> {
        let mut seqs: Vec<Seq> = self.notebook.blame().map(|(seq, _)| seq).collect();
        seqs.sort_unstable();
        seqs.dedup();
        let mut entries = BTreeMap::new();
        for page in seqs.chunks(PAGE) {
            let page = verified_entries(&*parts.store, self.id, page).await?;
            entries.extend(page.into_iter().map(|entry| (entry.seq, entry)));
        }
        let origin = |(number, (seq, text)): (usize, (Seq, &str))| {
            let entry = entries.get(&seq).with_context(|| format!("entry {seq} is gone"))?;
            let (by, call) = self.writer(entry);
            let (seq, at, text) = (seq.0, entry.at.to_string(), text.to_owned());
            Ok(Origin { line: number, seq, at, by, call, text })
        };
        (1..).zip(self.notebook.blame()).map(origin).collect()
    }

    /// Who wrote an entry, and by which call.
    fn writer(&self, entry: &Entry) -> (String, Option<String>) {
        if let Fact::WidgetChanged(changed) = &entry.fact
            && let Some(call) = changed.call
        {
            ((*self.name).to_owned(), Some(call.to_string()))
        } else {
            (PERSON.to_owned(), None)
        }
    }
}

fn has_notebook(agent: &Agent) -> bool {
    agent.joined.widgets.iter().any(|widget| &**widget == NAME)
}

/// The lines in words, aligned: where each comes from, and what it says.
pub(crate) fn aligned(origins: &[Origin]) -> Vec<(String, &str)> {
    let seq = origins.iter().map(|origin| origin.seq).max().unwrap_or(0).to_string().len();
    let by = origins.iter().map(|origin| origin.who().chars().count()).max().unwrap_or(0);
    let line = |origin: &'_ Origin| {
        let minute = origin.at.chars().take(16).collect::<String>().replace('T', " ");
        format!("{:>seq$}  {minute}  {:<by$}", origin.seq, origin.who())
    };
    origins.iter().map(|origin| (line(origin), &*origin.text)).collect()
}

impl Origin {
    fn who(&self) -> String {
        match &self.call {
            Some(call) => format!("{} {call}", self.by),
            None => self.by.clone(),
        }
    }
}
