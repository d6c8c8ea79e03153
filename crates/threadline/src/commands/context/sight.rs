//! What an agent's model sees, now or when a model was asked.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::Context as _;
use threadline_core::choose::{Needs, SoFar, choose};
use threadline_core::context::compare::Shown;
use threadline_core::context::plan::{Ask, RECALL, RESERVE_SHARE};
use threadline_core::context::{Context, PROJECTION_VERSION, render};
use threadline_core::drive::Setting;
use threadline_core::history::History;
use threadline_core::history::by_seq::BySeq;
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::{
    AgentJoined, Digest, Fact, InvocationStarted, ProjectionOptions, Purpose,
};
use threadline_core::history::path::Path;
use threadline_core::history::state::Peer;
use threadline_core::id::{AgentId, ConversationId, Seq};
use threadline_core::provider::{Provider, Target};
use threadline_core::store::{self, OpenError, PIECE_CAP_BYTES, Page, Storage};
use threadline_core::tool::Catalogue;
use threadline_core::widget::{Attached, Registry, Widgets};
use threadline_runtime::World;

use crate::view::{grouped, remark};

/// How many records are read at a time to find an invocation.
const PAGE: usize = 32;

/// For which window a context is wanted.
pub(in crate::commands) enum Wanted<'a> {
    /// That of the model that the agent's route gives.
    Route,
    /// That of a model.
    Model(&'a str),
    /// One of so many tokens.
    Window(u64),
}

/// A model was asked for a step.
pub(super) struct Started {
    pub(super) seq: Seq,
    pub(super) agent: AgentId,
    pub(super) fact: InvocationStarted,
}

impl Started {
    /// The version of the projection that made its context, if it is another than this one.
    pub(super) fn other_version(&self) -> Option<u32> {
        let version = self.fact.projection_version;
        (version != PROJECTION_VERSION).then_some(version)
    }
}

/// What an agent's model sees.
pub(in crate::commands) struct Sight {
    pub(in crate::commands) agent: AgentId,
    pub(super) name: Arc<str>,
    /// What the model is called; none if only its window is known.
    pub(super) model: Option<Arc<str>>,
    pub(super) options: ProjectionOptions,
    pub(super) recall: bool,
    /// The first entry that is not folded, if any is.
    pub(super) border: Option<Seq>,
    /// Whether the border moved within the turn.
    pub(super) moved: bool,
    pub(super) recap: Option<Seq>,
    pub(in crate::commands) context: Arc<Context>,
    /// The entries that it shows.
    pub(super) entries: BySeq<Arc<Entry>>,
    pub(in crate::commands) catalogue: Arc<Catalogue>,
    pub(super) catalogue_digest: Option<Digest>,
    /// The first input of the newest turn.
    pub(super) turn: Option<Seq>,
    pub(super) pins: Arc<BTreeSet<Seq>>,
    /// The agents that it may call.
    pub(super) peers: Arc<Vec<Peer>>,
    /// The agent's settings.
    pub(in crate::commands) joined: Arc<AgentJoined>,
}

impl Sight {
    /// It as it is compared.
    pub(super) fn shown(&self) -> Shown<'_> {
        Shown {
            context: &self.context,
            catalogue: self.catalogue_digest,
            catalogue_tokens: self.catalogue.tokens(),
            turn: self.turn,
            pins: &self.pins,
            border: self.border,
            recap: self.recap,
        }
    }

    /// For whom it is, and within what.
    pub(super) fn remarks(&self) -> Vec<String> {
        let options = &self.options;
        let mut remarks = vec![(*self.name).to_owned()];
        remarks.extend(self.model.as_deref().map(str::to_owned));
        remarks.push(format!("window {}", grouped(options.window_tokens)));
        remarks.push(format!("reserve {}", grouped(options.reserve_tokens)));
        remarks.push(format!("capacity {}", grouped(options.capacity_tokens)));
        remarks.push(format!("factor {} %", options.factor_percent));
        remarks.push(format!("recall {}", if self.recall { "on" } else { "off" }));
        remarks
    }
}

/// Who looks at what the models of a conversation see.
pub(in crate::commands) struct Eye<'a> {
    pub(super) store: &'a dyn Storage,
    pub(super) setting: &'a Setting,
    pub(super) provider: &'a dyn Provider,
    pub(super) id: ConversationId,
}

impl<'a> Eye<'a> {
    pub(in crate::commands) fn new(world: &'a World, id: ConversationId) -> Self {
        Self { store: &*world.store, setting: &world.setting, provider: &*world.provider, id }
    }

    /// The agent that gets what is addressed to nobody.
    pub(super) async fn primary(&self) -> anyhow::Result<AgentId> {
        let (_, history) = store::open(self.store, self.id, &*self.setting.counter).await?;
        primary(&history)
    }

    /// What an agent's model sees now.
    pub(super) async fn now(
        &self,
        agent: Option<AgentId>,
        wanted: &Wanted<'_>,
    ) -> anyhow::Result<Sight> {
        self.then(None, agent, wanted).await
    }

    /// What an agent's model would see, now or as the conversation was at an entry.
    pub(in crate::commands) async fn then(
        &self,
        at: Option<Seq>,
        agent: Option<AgentId>,
        wanted: &Wanted<'_>,
    ) -> anyhow::Result<Sight> {
        let (history, widgets) = self.opened(at).await?;
        let agent = agent.map_or_else(|| primary(&history), Ok)?;
        let joined = joined(&history, agent)?;
        let (catalogue, digest) = self.setting.catalogue_of(&joined, &peers(&history, agent));
        let screens = widgets.screens(agent);
        let (model, ask) = match wanted {
            Wanted::Window(tokens) => (None, bare(agent, *tokens, &catalogue, screens)),
            Wanted::Route | Wanted::Model(_) => {
                let target = self.target(&joined, wanted)?;
                let model = (&target.invocation, &target.profile);
                let ask = Ask::new(&history, agent, model, &joined.options, &catalogue, screens);
                (Some(Arc::clone(&target.name)), ask)
            }
        };
        self.see(&history, joined, model, &ask, (catalogue, digest)).await
    }

    /// What an agent's model saw when it was asked.
    pub(super) async fn at(&self, started: &Started) -> anyhow::Result<Sight> {
        let (history, widgets) = self.opened(Some(started.seq.before())).await?;
        let agent = started.agent;
        let joined = joined(&history, agent)?;
        let digest = started.fact.catalogue;
        let catalogue = self.catalogue_then(&joined, &peers(&history, agent), digest).await?;
        let ask = Ask {
            agent,
            options: started.fact.options,
            fixed: true,
            catalogue_tokens: catalogue.tokens(),
            recall: catalogue.has(RECALL),
            screens: widgets.screens(agent).to_vec(),
        };
        let known = self.target_of(started).map(|target| Arc::clone(&target.name));
        let model = known.unwrap_or_else(|| Arc::clone(&started.fact.invocation.model));
        let seen = self.see(&history, joined, Some(model), &ask, (catalogue, digest)).await;
        seen.with_context(|| format!("entry {} cannot be projected again", started.seq))
    }

    /// The history now or at an entry, and the widgets in their states.
    async fn opened(&self, at: Option<Seq>) -> anyhow::Result<(History, Widgets)> {
        match self.opened_with(at, &self.setting.widgets).await {
            // Whoever only looks need not understand all that widgets were told.
            Err(unreadable @ OpenError::Widget { .. }) => {
                remark(&format!("shown without live screens: {unreadable}"));
                Ok(self.opened_with(at, &Arc::new(Registry::default())).await?)
            }
            opened => Ok(opened?),
        }
    }

    async fn opened_with(
        &self,
        at: Option<Seq>,
        widgets: &Arc<Registry>,
    ) -> Result<(History, Widgets), OpenError> {
        let counter = &*self.setting.counter;
        if let Some(at) = at {
            return store::history_with_widgets_at(self.store, self.id, at, counter, widgets).await;
        }
        let (_, history, widgets) =
            store::open_with_widgets(self.store, self.id, counter, widgets).await?;
        Ok((history, widgets))
    }

    /// The newest invocation for a step of an agent, at an entry or before it on its path.
    pub(super) async fn invocation(
        &self,
        agent: AgentId,
        at: Seq,
    ) -> anyhow::Result<Option<Started>> {
        let mut rewinds = self.store.rewinds(self.id, Seq::ZERO).await?;
        rewinds.retain(|(stands, _)| *stands <= at);
        let path = Path::new(at, &rewinds);
        let mut from = at;
        while from > Seq::ZERO {
            let page = Page::backward(from, PAGE).of(agent);
            let entries = store::verified_page(self.store, self.id, &page).await?;
            if entries.is_empty() {
                break;
            }
            for entry in entries {
                from = entry.seq.before();
                if let Fact::InvocationStarted(fact) = entry.fact
                    && fact.purpose == Purpose::Step
                    && path.contains(entry.seq)
                {
                    return Ok(Some(Started { seq: entry.seq, agent, fact }));
                }
            }
        }
        Ok(None)
    }

    /// The model that was asked, if it is known here.
    pub(super) fn target_of(&self, started: &Started) -> Option<Arc<Target>> {
        let targets = self.setting.models.targets();
        targets.into_iter().find(|target| target.invocation == started.fact.invocation)
    }

    fn target(&self, joined: &AgentJoined, wanted: &Wanted<'_>) -> anyhow::Result<Arc<Target>> {
        let targets = self.setting.models.targets();
        if let Wanted::Model(name) = wanted {
            let found = targets.iter().find(|target| *target.name == **name);
            return found.cloned().with_context(|| {
                let names: Vec<&str> = targets.iter().map(|target| &*target.name).collect();
                format!("there is no model {name:?}; there are: {}", names.join(", "))
            });
        }
        let (needs, so_far) = (Needs::default(), SoFar::default());
        match choose(
            &*self.setting.models,
            &*self.setting.health,
            joined.route.as_ref(),
            &needs,
            &so_far,
        ) {
            Ok(chosen) => Ok(chosen.target),
            Err(why) => {
                // What would be seen does not depend on whether it can be asked.
                let first = targets.first().cloned();
                let first = first.with_context(|| format!("{why}; give --window"))?;
                remark(&format!("{why}: shown as {} would see it", first.name));
                Ok(first)
            }
        }
    }

    /// The tools that were shown: those of today if they are the same, else as they were kept.
    async fn catalogue_then(
        &self,
        joined: &AgentJoined,
        peers: &[Peer],
        digest: Option<Digest>,
    ) -> anyhow::Result<Arc<Catalogue>> {
        let Some(digest) = digest else { return Ok(Arc::default()) };
        let (catalogue, today) = self.setting.catalogue_of(joined, peers);
        if today == Some(digest) {
            return Ok(catalogue);
        }
        let mut bytes = Vec::new();
        loop {
            let offset = u64::try_from(bytes.len())?;
            let piece = self.store.blob(digest, offset, PIECE_CAP_BYTES).await;
            let piece = piece.context("the list of the tools that were shown cannot be read")?;
            if piece.is_empty() {
                break;
            }
            bytes.extend(piece);
        }
        anyhow::ensure!(
            Digest::of(&bytes) == digest,
            "the list of the tools that were shown was changed after it was stored"
        );
        let kept = Catalogue::from_attachment(&bytes, &*self.setting.counter);
        kept.map(Arc::new).context("the list of the tools that were shown is none")
    }

    async fn see(
        &self,
        history: &History,
        joined: Arc<AgentJoined>,
        model: Option<Arc<str>>,
        ask: &Ask,
        (catalogue, catalogue_digest): (Arc<Catalogue>, Option<Digest>),
    ) -> anyhow::Result<Sight> {
        let material = store::gather(self.store, self.id, history, ask).await??;
        let context = Arc::new(render(&material, &ask.screens));
        let turn = history.agent(ask.agent).and_then(|agent| agent.turn.as_ref());
        let plan = &material.plan;
        Ok(Sight {
            agent: ask.agent,
            name: Arc::clone(&joined.name),
            model,
            options: plan.options,
            recall: plan.recall,
            border: plan.border,
            moved: plan.moved,
            recap: plan.recap(),
            context,
            catalogue,
            catalogue_digest,
            turn: turn.map(|turn| turn.start),
            peers: turn.map(|turn| Arc::clone(&turn.setup.peers)).unwrap_or_default(),
            pins: turn.map(|turn| Arc::clone(&turn.setup.pins)).unwrap_or_default(),
            joined,
            entries: material.entries,
        })
    }
}

fn primary(history: &History) -> anyhow::Result<AgentId> {
    let state = history.state();
    let primary = state.primary().or_else(|| state.agents.keys().next().copied());
    primary.context("the conversation has no agent, so that no model sees anything of it")
}

/// The settings of an agent that count for its newest turn.
fn joined(history: &History, agent: AgentId) -> anyhow::Result<Arc<AgentJoined>> {
    let agent = history.agent(agent).context("the agent is not there at that point")?;
    let joined = agent.turn.as_ref().map_or(&agent.joined, |turn| &turn.setup.joined);
    Ok(Arc::clone(joined))
}

/// The agents beside one, as it knew them when its newest turn began.
fn peers(history: &History, agent: AgentId) -> Arc<Vec<Peer>> {
    let turn = history.agent(agent).and_then(|agent| agent.turn.as_ref());
    turn.map(|turn| Arc::clone(&turn.setup.peers)).unwrap_or_default()
}

/// A window of so many tokens of ours.
fn bare(agent: AgentId, window_tokens: u64, catalogue: &Catalogue, screens: &[Attached]) -> Ask {
    let bare = Ask::bare(agent, window_tokens);
    let reserve_tokens = window_tokens / RESERVE_SHARE;
    Ask {
        options: ProjectionOptions { reserve_tokens, ..bare.options },
        catalogue_tokens: catalogue.tokens(),
        recall: catalogue.has(RECALL),
        screens: screens.to_vec(),
        ..bare
    }
}
