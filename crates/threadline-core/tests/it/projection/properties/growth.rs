//! Within a turn a request only grows, except when the border moves.

use std::collections::BTreeMap;

use threadline_core::context::plan::{Ask, Plan};
use threadline_core::context::{Body, Context, render};
use threadline_core::history::fact::Block;
use threadline_core::history::state::RecapRange;
use threadline_core::id::{AgentId, Seq};
use threadline_testing::ids::Choices;

use super::place::Place;
use super::{Seen, any_ask, any_screen, any_screens, checks};

/// The requests of each agent's turn so far.
#[derive(Default)]
pub(super) struct Growth(BTreeMap<AgentId, Series>);

struct Series {
    turn: Seq,
    ask: Ask,
    recaps: Vec<RecapRange>,
    /// Where a screen might have been attached so far.
    places: Vec<Seq>,
    last: Option<(Plan, Context)>,
}

impl Growth {
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }

    /// Asks if the agent waits for an answer, and compares with what was asked before.
    pub(super) fn go_on(&mut self, place: &Place<'_>, choices: &mut Choices, seen: &mut Seen) {
        let Some(turn) = place.turn() else { return };
        if place.agent().is_none_or(|agent| agent.invoking.is_none()) {
            return;
        }
        let series = self.0.entry(place.agent).or_insert_with(|| Series::new(place, choices));
        if series.turn != turn.start || series.recaps != place.history.state().recaps {
            *series = Series::new(place, choices);
        }
        series.show_screens(place, choices);
        let Ok(material) = place.material(&series.ask) else { return };
        let context = render(&material, &series.ask.screens);
        checks::all(place, &series.ask, &material.plan, &context, seen);
        if let Some((before, request)) = &series.last {
            assert!(before.border <= material.plan.border, "the border went back");
            if before.border == material.plan.border {
                assert_eq!(before.options, material.plan.options);
                check_extends(request, &context);
                seen.extended += 1;
            } else {
                assert!(material.plan.moved || !thinks(request), "it does not say so");
                seen.moved += 1;
                seen.thinking_gone += u64::from(thinks(request));
            }
        }
        series.ask.options = material.plan.options;
        series.ask.fixed = true;
        series.last = Some((material.plan, context));
    }
}

impl Series {
    fn new(place: &Place<'_>, choices: &mut Choices) -> Self {
        let screens = any_screens(place, choices);
        Self {
            turn: place.turn().map_or(Seq::ZERO, |turn| turn.start),
            ask: any_ask(place, screens, choices),
            recaps: place.history.state().recaps.clone(),
            places: Vec::new(),
            last: None,
        }
    }

    /// New results get a screen now and then; those of before stay as they are.
    fn show_screens(&mut self, place: &Place<'_>, choices: &mut Choices) {
        let last = self.last.as_ref().and_then(|_| self.places.last().copied());
        let places = place.screen_places();
        let new = places.iter().filter(|seq| last.is_some_and(|last| **seq > last));
        for seq in new {
            if choices.percent(50) {
                self.ask.screens.push(any_screen(*seq, choices));
            }
        }
        self.places = places;
    }
}

fn check_extends(before: &Context, now: &Context) {
    assert_eq!(before.system, now.system);
    assert!(before.parts.len() <= now.parts.len(), "{before:#?}\n{now:#?}");
    for (nth, (old, new)) in before.parts.iter().zip(&now.parts).enumerate() {
        assert_eq!(old, new, "part {nth}");
    }
}

/// Whether a request shows what the model thought, which it does of the newest turn only.
fn thinks(request: &Context) -> bool {
    request.parts.iter().any(|part| match &part.body {
        Body::Output(output) => output.blocks.iter().any(|b| matches!(b, Block::Thinking(_))),
        Body::Input(_) | Body::Results(_) => false,
    })
}
