//! The states of the widgets are those of the path, byte for byte, by whichever way they are had:
//! step by step, replayed, from a snapshot, after a rewind and its undoing, in a fork.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use threadline_core::clock::Timestamp;
use threadline_core::id::{AgentId, ConversationId, Seq};
use threadline_core::store;
use threadline_core::tokens::Estimator;
use threadline_core::widget::{FRAGMENT_CAP_BYTES, Registry, View, Widgets};
use threadline_testing::ids::Choices;

use crate::samples;
use crate::talk::{AGENTS, States, Talk, World, registry};

/// How much happens in a conversation.
const STEPS: u64 = 90;

#[test]
fn states_are_those_of_the_path_by_any_way() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (mut calls, mut refused, mut seen) = (0, 0, BTreeSet::new());
        for seed in 1..=9 {
            let world = World::new(seed);
            let talk = story(&world, &mut Choices::new(seed), &mut seen).await;
            calls += talk.calls;
            refused += talk.refused;
        }
        let seen = seen.len();
        let told = format!("{refused} of {calls} calls were refused, {seen} states were seen");
        assert!(refused > calls / 10 && refused < calls * 9 / 10 && seen > 150, "{told}");
    });
}

/// Every widget has calls and every call is of a widget: a tool that is missing is not tested.
#[test]
fn every_tool_is_called() {
    let tools: BTreeSet<String> =
        registry().all_tools().map(|tool| tool.name.to_string()).collect();
    let called = samples::calls().into_iter().map(|(tool, _)| tool.to_owned());
    assert_eq!(called.collect::<BTreeSet<_>>(), tools);
}

/// A conversation in which things happen, looked at from all sides after each of them.
async fn story<'w>(
    world: &'w World,
    choices: &mut Choices,
    seen: &mut BTreeSet<Vec<u8>>,
) -> Talk<'w> {
    let registry = registry();
    let mut talk = Talk::begin(world, &registry).await;
    for _ in 0..STEPS {
        match choices.below(12) {
            0..7 => talk.turn(choices).await,
            7 => talk.person(choices).await,
            8 => {
                let to = any_entry(choices, talk.head());
                talk.rewind(to).await;
            }
            9 => {
                if let Some(from) = talk.rewound_from() {
                    talk.rewind(from).await;
                }
            }
            10 => talk.keep_snapshot(choices.percent(50)).await,
            _ => talk.reopen(),
        }
        let head = talk.head();
        let expected = encoded(&talk.states(head));
        seen.extend(expected.values().cloned());
        assert_eq!(states(&talk.live), expected, "step by step, at {head}");
        check(&talk, talk.id, head, head, &registry).await;
        let at = any_entry(choices, head);
        check(&talk, talk.id, at, at, &registry).await;
        if choices.percent(20) {
            let fork = talk.fork(at).await;
            let head = talk.store.conversation(fork).await.unwrap().head;
            check(&talk, fork, head, at, &registry).await;
        }
    }
    talk
}

fn any_entry(choices: &mut Choices, head: Seq) -> Seq {
    Seq(AGENTS.len() as u64 + choices.below(head.0 - AGENTS.len() as u64 + 1))
}

/// What opening a conversation at an entry gives is what is on the path to an entry of the story.
async fn check(talk: &Talk<'_>, id: ConversationId, at: Seq, of: Seq, registry: &Arc<Registry>) {
    let opened = store::history_with_widgets_at(&*talk.store, id, at, &Estimator, registry).await;
    let (_, opened) = opened.unwrap();
    let naive = talk.states(of);
    assert_eq!(states(&opened), encoded(&naive), "opened at {at}");
    for ((owner, name), state) in &naive {
        for agent in AGENTS.into_iter().filter(|agent| owner == agent || owner.0 == 0) {
            let shown = opened.get(agent, name).unwrap().render(&view(agent));
            assert_eq!(shown, state.render(&view(agent)), "{name} of {agent} at {at}");
        }
    }
}

fn view(agent: AgentId) -> View<'static> {
    let cap_bytes = FRAGMENT_CAP_BYTES;
    View { at: Timestamp::default(), agent, agents: &[], timers: &[], messages: 7, cap_bytes }
}

/// The states without the screens that were attached: those of agents at rest may be forgotten.
fn states(widgets: &Widgets) -> BTreeMap<String, Vec<u8>> {
    let mut states = widgets.encode();
    states.remove("screens");
    states
}

/// The states as snapshots have them, with their versions.
fn encoded(states: &States) -> BTreeMap<String, Vec<u8>> {
    let mut encoded = BTreeMap::new();
    for ((owner, name), widget) in states {
        let state = widget.encode();
        let bytes = [&state.version.to_le_bytes(), &*state.bytes].concat();
        encoded.insert(format!("{}/{name}", owner.0), bytes);
    }
    encoded
}
