//! Opening with widgets: their states are what the changes on the path make of them, whichever
//! snapshots there are.

use std::collections::BTreeMap;
use std::sync::Arc;

use threadline_core::history::entry::Entry;
use threadline_core::history::fact::{Digest, Fact, WidgetChanged};
use threadline_core::history::path::Path;
use threadline_core::history::snapshot::Snapshot;
use threadline_core::history::{Counts, History, Stamp};
use threadline_core::id::{AgentId, ConversationId, Seq};
use threadline_core::store::{self, OpenError, Origin, Storage};
use threadline_core::tokens::Estimator;
use threadline_core::widget::{Registry, Scope, Widget, Widgets};

use super::facts::{ADA, Words, answered, said};
use super::story::Story;
use super::{Case, World};
use crate::generator::{Generator, GeneratorOptions};
use crate::ids::Choices;
use crate::scribe::{Scribe, UNSPEAKABLE};

cases![
    states_are_those_of_the_path_by_any_route,
    a_snapshot_with_states_is_enough,
    a_widget_that_was_registered_later_has_its_state,
    a_change_that_its_widget_does_not_take_is_named,
];

/// How many entries a told history has at least.
const ENTRIES: u64 = 400;

fn scribes(names: &[(&str, Scope)]) -> Arc<Registry> {
    let scribe =
        |(name, scope): &(&str, Scope)| -> Box<dyn Widget> { Box::new(Scribe::new(name, *scope)) };
    Arc::new(Registry::new(names.iter().map(scribe).collect()).unwrap())
}

/// A generated history, told to a store, and known without it.
struct Told {
    store: Arc<dyn Storage>,
    id: ConversationId,
    entries: Vec<Entry>,
    rewinds: Vec<(Seq, Seq)>,
}

impl Told {
    async fn new(world: &World, seed: u64) -> Self {
        let options = GeneratorOptions { rewinds_percent: 30, ..GeneratorOptions::mixed(seed, 2) };
        let mut generator = Generator::new(options);
        let mut batches = Vec::new();
        while generator.history().head().0 < ENTRIES {
            batches.push(generator.next_batch().unwrap().batch);
        }
        let (store, id) = (world.open().await, world.id());
        // Taken in as a whole, which needs no sync for every batch.
        let stage = store.begin_intake(id, Seq::ZERO).await.unwrap();
        for batch in &batches {
            store.stage(stage, batch, None).await.unwrap();
        }
        store.adopt(stage, Origin::Own, false, &[]).await.unwrap();
        let placed = batches.iter().flat_map(|batch| &batch.entries);
        let entries: Vec<Entry> = placed.map(|placed| (*placed.entry).clone()).collect();
        let rewound = |entry: &Entry| Some((entry.seq, entry.fact.rewinds_to()?));
        let rewinds = entries.iter().filter_map(rewound).collect();
        Self { store, id, entries, rewinds }
    }

    fn head(&self) -> Seq {
        self.entries.last().unwrap().seq
    }

    fn path(&self, at: Seq) -> Path {
        let known = self.rewinds.iter().copied().filter(|(stands, _)| *stands <= at);
        Path::new(at, &known.collect::<Vec<_>>())
    }

    /// How many changes before an entry are not on its path.
    fn taken_back(&self, at: Seq) -> usize {
        let path = self.path(at);
        let changes = self.entries.iter().take_while(|entry| entry.seq <= at);
        let changes = changes.filter(|entry| matches!(entry.fact, Fact::WidgetChanged(_)));
        changes.filter(|entry| !path.contains(entry.seq)).count()
    }

    /// The states and screens at an entry, made from all that is on the path.
    fn states(&self, at: Seq, registry: &Arc<Registry>) -> BTreeMap<String, Vec<u8>> {
        self.widgets(at, registry).encode()
    }

    fn widgets(&self, at: Seq, registry: &Arc<Registry>) -> Widgets {
        let path = self.path(at);
        let mut history = History::new();
        let mut widgets = Widgets::new(Arc::clone(registry));
        for entry in self.entries.iter().take_while(|entry| entry.seq <= at) {
            let hash = Digest([0; 32]);
            if !path.contains(entry.seq) {
                history.pass(entry, hash).unwrap();
                continue;
            }
            widgets.follow(&history, entry, &Estimator).unwrap();
            if let Fact::Rewound(_) = entry.fact {
                history.rewind_in_place(entry, hash).unwrap();
            } else {
                history.apply(entry, hash, Counts::of(&entry.fact, &Estimator)).unwrap();
            }
        }
        widgets
    }

    /// Checks what opening gives; what was on the screens of agents at rest may be gone if a
    /// snapshot did not have it.
    async fn check(&self, at: Seq, registry: &Arc<Registry>) -> Widgets {
        let (history, opened) = self.open(at, registry).await;
        let expected = self.widgets(at, registry);
        let states = |widgets: &Widgets| {
            let mut states = widgets.encode();
            states.remove("screens");
            states
        };
        assert_eq!(states(&opened), states(&expected), "at {at}");
        for (id, agent) in &history.state().agents {
            let (opened, expected) = (opened.screens(*id), expected.screens(*id));
            let gone = !agent.in_turn() && opened.is_empty();
            assert!(opened == expected || gone, "at {at}: {opened:?} is not {expected:?}");
        }
        opened
    }

    async fn open(&self, at: Seq, registry: &Arc<Registry>) -> (History, Widgets) {
        let opened =
            store::history_with_widgets_at(&*self.store, self.id, at, &Estimator, registry);
        opened.await.unwrap()
    }

    /// Keeps a snapshot at an entry, with these states.
    async fn keep(&self, at: Seq, widgets: BTreeMap<String, Vec<u8>>, for_good: bool) {
        let (history, _) = self.open(at, &Arc::default()).await;
        let snapshot = Snapshot { widgets, ..history.to_snapshot() };
        self.store.keep_snapshot(self.id, &snapshot, for_good).await.unwrap();
    }
}

async fn states_are_those_of_the_path_by_any_route(world: &World) {
    let (mut changed, mut taken_back, mut shown) = (0, 0, 0);
    for (seed, scope) in [(1, Scope::Agent), (2, Scope::Conversation), (3, Scope::Agent)] {
        let told = Told::new(world, seed).await;
        let registry = scribes(&[("notebook", scope), ("other", Scope::Agent)]);
        let mut choices = Choices::new(seed);
        for round in 0..12 {
            for _ in 0..6 {
                let at = Seq(choices.below(told.head().0 + 1));
                let widgets = told.check(at, &registry).await;
                let agents = [AgentId(1), AgentId(2)];
                shown += agents.iter().map(|agent| widgets.screens(*agent).len()).sum::<usize>();
                changed += widgets.encode().len();
                taken_back += told.taken_back(at);
            }
            let at = Seq(1 + choices.below(told.head().0));
            let mut states = told.states(at, &registry);
            match choices.below(6) {
                0 => states.clear(),
                3 => states.retain(|key, _| key != "screens"),
                4 => {
                    states.insert("screens".to_owned(), b"{".to_vec());
                }
                1 => {
                    states.pop_first();
                }
                2 => {
                    if let Some(mut state) = states.first_entry() {
                        state.get_mut().truncate(3);
                    }
                }
                _ => {}
            }
            told.keep(at, states, round % 3 > 0).await;
        }
        fork(world, &told, &registry, Seq(ENTRIES / 2)).await;
    }
    assert!(changed > 100 && taken_back > 100, "{changed} changed, {taken_back} taken back");
    assert!(shown > 100, "{shown} shown");
}

/// A fork has the states of where it branched off.
async fn fork(world: &World, told: &Told, registry: &Arc<Registry>, at: Seq) {
    let expected = told.check(at, registry).await.encode();
    let past = store::past_with_widgets(&*told.store, told.id, at, &Estimator, registry).await;
    let (history, aftermath, widgets) = past.unwrap();
    assert_eq!(widgets.encode(), expected);
    let stamp = Stamp { counter: &Estimator, ..world.stamp() };
    let first = history.propose_fork(told.id, &aftermath, stamp).unwrap();
    let id = world.id();
    told.store.create(id, Some((told.id, at)), &first.batch).await.unwrap();
    let opened = store::open_with_widgets(&*told.store, id, &Estimator, registry).await.unwrap();
    assert_eq!(opened.2.encode(), expected);
    assert_eq!(opened.1, first.history);
}

async fn a_snapshot_with_states_is_enough(world: &World) {
    let told = Told::new(world, 4).await;
    let registry = scribes(&[("notebook", Scope::Conversation)]);
    // If the changes were read again, they would not make this state of it.
    let states = BTreeMap::from([
        ("0/notebook".to_owned(), b"\x01\0\0\0kept".to_vec()),
        ("screens".to_owned(), br#"{"1":[{"seq":1,"text":"kept","tokens":1}]}"#.to_vec()),
    ]);
    told.keep(told.head(), states.clone(), false).await;
    let (_, widgets) = told.open(told.head(), &registry).await;
    assert_eq!(widgets.encode(), states);
}

async fn a_widget_that_was_registered_later_has_its_state(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    for (n, widget) in ["old", "new", "old", "new"].into_iter().enumerate() {
        let change = format!("change {n}").into();
        let changed = WidgetChanged { widget: widget.into(), change, call: None };
        story.append([(ADA, changed.into())]).await;
        story.append([said(ADA, "go on"), answered(ADA, "yes")]).await;
        let (history, widgets) = open(&story, &scribes(&[("old", Scope::Agent)])).await.unwrap();
        let snapshot = Snapshot { widgets: widgets.encode(), ..history.to_snapshot() };
        story.store.keep_snapshot(story.id, &snapshot, true).await.unwrap();
    }
    let both = scribes(&[("old", Scope::Agent), ("new", Scope::Conversation)]);
    let (_, widgets) = open(&story, &both).await.unwrap();
    let states = widgets.encode();
    assert_eq!(states.keys().collect::<Vec<_>>(), ["0/new", "1/old", "screens"]);
    for key in ["0/new", "1/old"] {
        assert_eq!(states[key].split(|byte| *byte == b'\n').count(), 2);
    }
}

async fn a_change_that_its_widget_does_not_take_is_named(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    let (widget, change) = ("notebook".into(), UNSPEAKABLE.into());
    let changed = WidgetChanged { widget, change, call: None };
    let seq = story.append([(AgentId::CONVERSATION, changed.into())]).await;
    story.turn("and", "so on").await;
    let notebook = scribes(&[("notebook", Scope::Conversation)]);
    for kept in [false, true] {
        if kept {
            let snapshot = story.history.to_snapshot();
            story.store.keep_snapshot(story.id, &snapshot, false).await.unwrap();
        }
        let refused = open(&story, &notebook).await.unwrap_err();
        let named = matches!(&refused, OpenError::Widget { seq: at, source, .. }
            if *at == seq && &*source.widget == "notebook");
        assert!(named, "{refused}");
    }
    assert!(open(&story, &Arc::default()).await.is_ok(), "who does not know it passes it over");
}

async fn open(
    story: &Story<'_>,
    registry: &Arc<Registry>,
) -> Result<(History, Widgets), OpenError> {
    let opened = store::open_with_widgets(&*story.store, story.id, &Words, registry).await;
    opened.map(|(_, history, widgets)| (history, widgets))
}
