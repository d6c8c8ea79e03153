//! What holds for the projection of any history, for any agent, in any window.

use std::collections::BTreeSet;

use threadline_core::context::project::{Material, project};
use threadline_core::context::{Body, Context, OutputPart, Part, Source};
use threadline_core::history::History;
use threadline_core::history::fact::{Block, ProjectionOptions};
use threadline_core::history::sections::Level;
use threadline_core::id::{AgentId, CallId, Seq};
use threadline_core::outline::{OutlineRow, RowKind};
use threadline_core::tokens::{Estimator, TokenCounter as _};
use threadline_core::tool::Catalogue;
use threadline_testing::generator::{Generator, GeneratorOptions};
use threadline_testing::ids::Choices;

use super::{Kept, window};

const SEEDS: u64 = 24;
const ENTRIES: u64 = 260;
const AGENTS: u32 = 3;

/// What came up, so that no property holds only because nothing happened.
#[derive(Debug, Default)]
struct Seen {
    fitted: u32,
    refused: u32,
    in_turn: u32,
    exchanges: u32,
    lowered: u32,
    lines_in_front: u32,
    lines_inside: u32,
    screens: u32,
    recaps: u32,
    gaps: u32,
}

#[test]
fn every_context_keeps_the_rules() {
    let mut seen = Seen::default();
    for seed in 0..SEEDS {
        let mut choices = Choices::new(seed);
        let options =
            GeneratorOptions { rewinds_percent: 20, ..GeneratorOptions::mixed(seed, AGENTS) };
        let mut generator = Generator::new(options);
        let mut kept = Kept::default();
        while generator.history().head().0 < ENTRIES {
            let proposed = generator.next_batch().unwrap();
            kept.take(&proposed.batch);
            for agent in (1..=AGENTS).map(AgentId) {
                let mut scene = Scene::new(&kept, &proposed.history, agent, &mut choices);
                for _ in 0..3 {
                    scene.check(&mut choices, &mut seen);
                }
            }
        }
    }
    let Seen { fitted, refused, in_turn, exchanges, .. } = seen;
    assert!(fitted > 5000 && refused > 1000 && in_turn > 1000 && exchanges > 5000, "{seen:?}");
    assert!(seen.lowered > 20 && seen.screens > 500 && seen.recaps > 100, "{seen:?}");
    assert!(seen.lines_in_front > 500 && seen.lines_inside > 100 && seen.gaps > 100, "{seen:?}");
}

/// An agent at some point of a history, with all there is to show.
struct Scene<'a> {
    history: &'a History,
    agent: AgentId,
    all: Material,
    /// Where the window may begin at the latest, and how many rows began the turn.
    newest: usize,
    opening: std::ops::Range<usize>,
}

impl<'a> Scene<'a> {
    fn new(kept: &Kept, history: &'a History, agent: AgentId, choices: &mut Choices) -> Self {
        let mut all = kept.material(history, agent);
        all.screen = choices.percent(50).then(|| "# [Live Screen]\n\na few words".into());
        let rows: Vec<&OutlineRow> = all.window.iter().map(|(row, _)| row).collect();
        let turn = turn(history, agent);
        let begin = rows.iter().position(|row| Some(row.seq) == turn).unwrap_or(rows.len());
        let inputs = rows[begin..].iter().take_while(|row| is_input(row)).count();
        let opening = begin..begin + inputs;
        let unsealed = unsealed(history, agent);
        let newest = rows[opening.end..]
            .iter()
            .rposition(|row| is_output(row) && Some(row.seq) != unsealed)
            .map_or(opening.end, |output| {
                let between = &rows[opening.end..opening.end + output];
                let before = between.iter().rev().take_while(|row| is_aside(row)).count();
                opening.end + output - before
            });
        Self { history, agent, all, newest, opening }
    }

    /// Projects some of it into some window, and checks all that must hold.
    fn check(&mut self, choices: &mut Choices, seen: &mut Seen) {
        let tokens = 1_u64 << choices.below(18);
        let options = ProjectionOptions {
            window_tokens: tokens + choices.below(tokens),
            reserve_tokens: choices.below(3) * tokens / 8,
            factor_percent: [50, 100, 125][usize::try_from(choices.below(3)).unwrap()],
            ..window(0)
        };
        let tools = Catalogue::new(Vec::new(), u32::try_from(choices.below(40)).unwrap()).unwrap();
        let material = self.cut(choices, seen);
        let projected =
            || project(self.history, self.agent, &material, &tools, &options, &Estimator);
        let context = match projected() {
            Ok(context) => context,
            Err(refused) => {
                assert!(refused.tokens > refused.available, "{refused}");
                seen.refused += 1;
                return;
            }
        };
        assert_eq!(projected().unwrap(), context);
        let budget = options.window_tokens * 100 / u64::from(options.factor_percent);
        let budget = budget.saturating_sub(options.reserve_tokens);
        assert!(context.tokens() + u64::from(tools.tokens()) <= budget);
        seen.fitted += 1;
        seen.in_turn += u32::from(turn(self.history, self.agent).is_some());
        check_pairs(&context.parts, seen);
        for part in &context.parts {
            check_tokens(part, seen);
        }
        self.check_order(&context);
        self.check_opening(&context);
        self.check_lines(&context, &material, seen);
        self.check_screen(&context, &material);
    }

    /// The window, cut where a store might cut it.
    fn cut(&self, choices: &mut Choices, seen: &mut Seen) -> Material {
        let mut material = self.all.clone();
        if choices.percent(50) {
            let from = usize::try_from(choices.below(1 + self.newest as u64)).unwrap();
            let opening = self.opening.clone().filter(|place| *place < from);
            let opening: Vec<_> = opening.map(|place| self.all.window[place].clone()).collect();
            seen.gaps += u32::from(from > self.opening.end);
            if from > self.opening.end && choices.percent(30) {
                material.window.drain(self.opening.end..from);
            } else {
                material.window.drain(..from);
                material.window.splice(..0, opening);
            }
        }
        material
    }

    /// Everything shown is of the thread, once, in its order; but for what began the turn it is
    /// the end of the thread, and begins with an exchange.
    fn check_order(&self, context: &Context) {
        let rows: Vec<&OutlineRow> = self.all.window.iter().map(|(row, _)| row).collect();
        let recap = |seq: Seq| rows.iter().any(|row| row.seq == seq && row.kind == RowKind::Recap);
        let sources: Vec<Seq> = context.parts.iter().filter_map(entry_of).collect();
        let once: BTreeSet<Seq> = sources.iter().copied().collect();
        assert_eq!(once.len(), sources.len(), "shown twice");
        let shown: Vec<Seq> = sources.into_iter().filter(|seq| !recap(*seq)).collect();
        assert!(shown.is_sorted(), "{shown:?}");

        let opening = &self.all.window[self.opening.clone()];
        let of_opening = |seq: Seq| opening.iter().any(|(row, _)| row.seq == seq);
        let shown: Vec<Seq> = shown.into_iter().filter(|seq| !of_opening(*seq)).collect();
        let unsealed = unsealed(self.history, self.agent);
        let showable: Vec<&OutlineRow> = rows
            .into_iter()
            .filter(|row| row.kind != RowKind::Recap && Some(row.seq) != unsealed)
            .filter(|row| !of_opening(row.seq))
            .collect();
        let left_out = showable.len().checked_sub(shown.len()).unwrap();
        let (left_out, end) = showable.split_at(left_out);
        assert!(end.iter().map(|row| row.seq).eq(shown.iter().copied()), "{shown:?} is no end");
        if let (Some(last), Some(first)) = (left_out.last(), end.first()) {
            let begins = match first.kind {
                RowKind::Message | RowKind::Input | RowKind::Output | RowKind::Answer => {
                    !is_input(last)
                }
                RowKind::Results | RowKind::Ended | RowKind::Recap => false,
            };
            // Inputs that began the turn may come between them.
            let turn = turn(self.history, self.agent);
            let of_turn = turn.is_some_and(|turn| last.seq < turn && turn < first.seq);
            assert!(begins || of_turn, "{first:?} does not begin an exchange");
        }
    }

    /// What began the turn is there, whole.
    fn check_opening(&self, context: &Context) {
        for (row, _) in &self.all.window[self.opening.clone()] {
            let part = context.parts.iter().find(|part| entry_of(part) == Some(row.seq));
            let part = part.unwrap_or_else(|| panic!("input {} is missing", row.seq));
            assert_eq!(part.level, Level::Live);
            let Body::Input(input) = &part.body else { panic!("{part:?}") };
            assert_eq!(Estimator.count(&input.text), row.tokens.live);
        }
    }

    /// What is left out is told: once, where it is missing, and how much of the turn.
    fn check_lines(&self, context: &Context, material: &Material, seen: &mut Seen) {
        let lines = context.parts.iter().enumerate();
        let lines: Vec<(usize, &Part)> =
            lines.filter(|(_, part)| entry_of(part).is_none()).collect();
        let turn = turn(self.history, self.agent);
        let steps = turn.map_or(0, |_| {
            let turn = self.history.agent(self.agent).unwrap().turn.as_ref().unwrap();
            turn.steps - u32::from(unsealed(self.history, self.agent).is_some())
        });
        let of_turn = |part: &&Part| entry_of(part) >= turn && matches!(part.body, Body::Output(_));
        let outputs = context.parts.iter().filter(|part| turn.is_some() && of_turn(part)).count();
        let left_out = usize::try_from(steps).unwrap() - outputs;
        let [(place, line)] = lines[..] else {
            assert!(lines.is_empty(), "more than one line");
            return;
        };
        let Body::Input(words) = &line.body else { panic!("{line:?}") };
        let Source::Earlier { from, to } = line.source else { panic!("{line:?}") };
        assert!(from <= to);
        let next = context.parts.get(place + 1).and_then(entry_of);
        assert!(next.is_none_or(|next| {
            let recap = |(row, _): &(OutlineRow, _)| row.seq == next && row.kind == RowKind::Recap;
            to < next || material.window.iter().any(recap)
        }));
        if place == 0 && left_out == 0 {
            seen.lines_in_front += 1;
        } else {
            assert_eq!(place, self.opening.len(), "it follows what began the turn");
            assert!(words.text.contains(&format!(" {left_out} ")), "{}", words.text);
            seen.lines_inside += 1;
        }
    }
}

impl Scene<'_> {
    /// The screen is on the newest input or results of the current turn, and nowhere else.
    fn check_screen(&self, context: &Context, material: &Material) {
        let turn = turn(self.history, self.agent);
        let rows = material.window.iter().map(|(row, _)| row);
        let heard = rows.filter(|row| is_input(row) || row.kind == RowKind::Results);
        let heard: BTreeSet<Seq> = heard.map(|row| row.seq).collect();
        let newest =
            context.parts.iter().rev().filter_map(entry_of).find(|seq| heard.contains(seq));
        let expected = newest.filter(|seq| turn.is_some_and(|turn| *seq >= turn));
        let on = context.parts.iter().filter(|part| match &part.body {
            Body::Input(input) => input.screen.is_some(),
            Body::Output(_) => false,
            Body::Results(results) => results.screen.is_some(),
        });
        let on: Vec<Seq> = on.filter_map(entry_of).collect();
        assert_eq!(on, Vec::from_iter(expected.filter(|_| material.screen.is_some())));
    }
}

/// Every call is answered right after its output, once, in order; no results stand alone.
fn check_pairs(parts: &[Part], seen: &mut Seen) {
    let mut open: Vec<CallId> = Vec::new();
    for part in parts {
        match &part.body {
            Body::Results(results) => {
                let answered: Vec<CallId> = results.results.iter().map(|r| r.call).collect();
                assert!(!answered.is_empty());
                assert_eq!(answered, open);
                seen.exchanges += 1;
                open.clear();
            }
            Body::Input(_) => assert!(open.is_empty(), "{open:?} are not answered"),
            Body::Output(output) => {
                assert!(open.is_empty(), "{open:?} are not answered");
                let Source::Entry(seq) = part.source else { panic!("{part:?}") };
                let calls = output.blocks.iter().filter(|b| matches!(b, Block::ToolCall(_)));
                open = (0..).take(calls.count()).map(|index| CallId::new(seq, index)).collect();
            }
        }
    }
    assert!(open.is_empty(), "{open:?} are not answered");
}

/// The tokens that a part says it takes are those of its text.
fn check_tokens(part: &Part, seen: &mut Seen) {
    let count = |text: &str| Estimator.count(text);
    let (tokens, screen) = match &part.body {
        Body::Input(input) => {
            seen.recaps += u32::from(input.text.starts_with("[Recap"));
            (count(&input.text), &input.screen)
        }
        Body::Output(output) => (output_tokens(output), &None),
        Body::Results(results) => {
            for result in &results.results {
                assert_eq!(result.tokens, count(&result.text));
                seen.lowered += u32::from(result.level == Level::Gist);
            }
            let highest = results.results.iter().map(|result| result.level).max();
            assert_eq!(Some(part.level), highest);
            (results.results.iter().map(|result| result.tokens).sum(), &results.screen)
        }
    };
    seen.screens += u32::from(screen.is_some());
    let screen = screen.as_ref().map_or(0, |screen| screen.tokens);
    assert_eq!(part.tokens, tokens + screen, "{part:?}");
}

fn output_tokens(output: &OutputPart) -> u32 {
    let count = |text: &str| Estimator.count(text);
    let tokens = output.blocks.iter().map(|block| match block {
        Block::Thinking(thinking) => count(&thinking.text),
        Block::Text(text) => count(&text.text),
        Block::ToolCall(call) => count(&call.name) + count(&call.arguments),
        Block::Foreign(foreign) => count(&foreign.text),
    });
    tokens.sum()
}

fn entry_of(part: &Part) -> Option<Seq> {
    match part.source {
        Source::Entry(seq) => Some(seq),
        Source::Earlier { .. } => None,
    }
}

fn turn(history: &History, agent: AgentId) -> Option<Seq> {
    let agent = history.agent(agent).filter(|agent| agent.in_turn())?;
    agent.turn.as_ref().map(|turn| turn.start)
}

fn unsealed(history: &History, agent: AgentId) -> Option<Seq> {
    history.agent(agent)?.open_calls().next().map(|(call, _)| call.output)
}

fn is_input(row: &OutlineRow) -> bool {
    matches!(row.kind, RowKind::Message | RowKind::Input)
}

fn is_aside(row: &OutlineRow) -> bool {
    is_input(row) || row.kind == RowKind::Recap
}

fn is_output(row: &OutlineRow) -> bool {
    matches!(row.kind, RowKind::Output | RowKind::Answer)
}
