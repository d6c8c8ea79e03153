//! What must hold for one context.

use std::collections::BTreeSet;

use threadline_core::context::plan::{Ask, Earlier, Piece, Plan, Shape, budget};
use threadline_core::context::{Body, Context, Level, OutputPart, Part, Source};
use threadline_core::history::fact::Block;
use threadline_core::id::{CallId, Seq};
use threadline_core::outline::{OutlineRow, RowKind};
use threadline_core::tokens::{Estimator, TokenCounter};

use super::Seen;
use super::place::Place;

/// Checks a context that was made for an agent somewhere.
pub(super) fn all(place: &Place<'_>, ask: &Ask, plan: &Plan, context: &Context, seen: &mut Seen) {
    let most = budget(&ask.options);
    let takes = context.tokens() + u64::from(ask.catalogue_tokens);
    assert!(takes <= most, "{takes} are over {most}: {plan:#?}");
    pairs(&context.parts, seen);
    tokens(plan, context, &Estimator, seen);
    order(place, context);
    everything_is_told(place, plan, context, seen);
    opening(place, context);
    screens(place, ask, plan, context, seen);
    thinking(place, context);
}

/// Every call is answered right after its output, once, in order; no results stand alone.
fn pairs(parts: &[Part], seen: &mut Seen) {
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

/// The tokens that a part says it takes are enough for its text.
pub(super) fn tokens(plan: &Plan, context: &Context, counter: &dyn TokenCounter, seen: &mut Seen) {
    assert_eq!(context.parts.len(), plan.pieces.len(), "a part is missing");
    for (part, piece) in context.parts.iter().zip(&plan.pieces) {
        let (tokens, screen) = match &part.body {
            Body::Input(input) => (counter.count(&input.text), &input.screen),
            Body::Output(output) => (output_tokens(output, counter), &None),
            Body::Results(results) => {
                for result in &results.results {
                    let counted = counter.count(&result.text);
                    assert!(counted <= result.tokens, "{counted}: {result:#?}");
                    seen.lowered += u64::from(result.level == Level::Gist);
                    seen.same += u64::from(result.text.starts_with("[same as"));
                }
                let highest = results.results.iter().map(|result| result.level).max();
                assert_eq!(Some(part.level), highest);
                (results.results.iter().map(|result| result.tokens).sum(), &results.screen)
            }
        };
        let screen = screen.as_ref().map_or(0, |screen| screen.tokens);
        let said = part.tokens - screen;
        match piece {
            // Of a recap that is cut, only the share is known.
            Piece::Earlier(Earlier { recap: Some(recap), .. }) if recap.share < 1000 => {
                seen.cut_recaps += 1;
                seen.recaps += 1;
                assert!(tokens <= said + said / 4, "{tokens} are more than {said}: {part:#?}");
            }
            Piece::Earlier(earlier) => {
                seen.lines += u64::try_from(earlier.lines.len()).unwrap();
                seen.unlisted += u64::from(earlier.unlisted.is_some());
                seen.recaps += u64::from(earlier.recap.is_some());
                assert!(tokens <= said, "{tokens} are more than {said}: {part:#?}");
            }
            Piece::Row(row) => {
                let quoted = row.shape == Shape::Quoted || row.shape == Shape::Ended;
                seen.quoted += u64::from(row.shape == Shape::Quoted);
                assert!(tokens == said || quoted, "{tokens} are not {said}: {part:#?}");
                assert!(tokens <= said, "{tokens} are more than {said}: {part:#?}");
            }
        }
    }
}

fn output_tokens(output: &OutputPart, counter: &dyn TokenCounter) -> u32 {
    let tokens = output.blocks.iter().map(|block| match block {
        Block::Thinking(thinking) => counter.count(&thinking.text),
        Block::Text(text) => counter.count(&text.text),
        Block::ToolCall(call) => counter.count(&call.name) + counter.count(&call.arguments),
        Block::Foreign(foreign) => counter.count(&foreign.text),
    });
    tokens.sum()
}

fn entry_of(part: &Part) -> Option<Seq> {
    match part.source {
        Source::Entry(seq) => Some(seq),
        Source::Earlier { .. } => None,
    }
}

/// Everything shown is of the thread's path, once, in its order.
fn order(place: &Place<'_>, context: &Context) {
    let shown: Vec<Seq> = context.parts.iter().filter_map(entry_of).collect();
    assert!(shown.is_sorted_by(|a, b| a < b), "{shown:?}");
    for seq in shown {
        let row = place.row(seq).unwrap_or_else(|| panic!("{seq} is not on the thread's path"));
        assert_eq!(row.agent, place.agent);
    }
    for part in &context.parts {
        let Body::Results(results) = &part.body else { continue };
        for result in &results.results {
            assert_eq!(place.kept.entries[&result.entry].agent, place.agent);
        }
    }
}

/// What is after the border is shown; what is before it has a line, a recap or a count, unless
/// it is shown whole.
fn everything_is_told(place: &Place<'_>, plan: &Plan, context: &Context, seen: &mut Seen) {
    let unsealed = place.unsealed();
    let told = |row: &&OutlineRow| row.kind != RowKind::Recap && Some(row.seq) != unsealed;
    let rows: Vec<&OutlineRow> = place.rows.iter().rev().map(|row| &**row).filter(told).collect();
    let shown: BTreeSet<Seq> = context.parts.iter().filter_map(entry_of).collect();
    let border = plan.border.unwrap_or(Seq::ZERO);
    for row in rows.iter().filter(|row| row.seq >= border) {
        assert!(shown.contains(&row.seq), "{} is missing", row.seq);
    }
    let folded: Vec<&&OutlineRow> = rows.iter().filter(|row| row.seq < border).collect();
    assert_eq!(plan.border.is_some(), !folded.is_empty());
    let earlier = plan.pieces.iter().enumerate().filter_map(|(nth, piece)| match piece {
        Piece::Earlier(earlier) => Some((nth, earlier)),
        Piece::Row(_) => None,
    });
    let earlier: Vec<(usize, &Earlier)> = earlier.collect();
    let [(nth, earlier)] = earlier[..] else {
        assert!(earlier.is_empty());
        seen.no_room_for_earlier += u64::from(!folded.is_empty());
        return;
    };
    let Source::Earlier { from, to } = context.parts[nth].source else { panic!() };
    assert!(from <= to && to < border && Some(to) == folded.last().map(|row| row.seq));
    let after = context.parts[nth + 1..].iter().find_map(entry_of);
    assert!(after.is_none_or(|after| after == border), "{after:?} follows");
    let lines: Vec<Seq> = earlier.lines.iter().map(|line| line.seq).collect();
    assert!(lines.is_sorted_by(|a, b| a < b), "{lines:?}");
    let lined: BTreeSet<Seq> = lines.into_iter().collect();
    let covered = earlier.recap.map_or(Seq::ZERO, |shown| {
        let recaps = &place.history.state().recaps;
        let recap = recaps.iter().find(|recap| recap.seq == shown.seq).unwrap();
        assert_eq!(recap.agent, place.agent);
        assert!(recap.to < border);
        recap.to
    });
    let unlisted = earlier.unlisted.map_or(Seq::ZERO, |unlisted| unlisted.to);
    for row in &folded {
        let whole = shown.contains(&row.seq);
        assert!(!(whole && lined.contains(&row.seq)), "{} is told twice", row.seq);
        let stands_for = covered.max(unlisted);
        let told = whole || lined.contains(&row.seq) || row.seq <= stands_for;
        assert!(told, "nothing is told of {}", row.seq);
    }
    assert!(lined.iter().all(|seq| folded.iter().any(|row| row.seq == *seq)));
    if let Some(exchanges) = earlier.unlisted.and_then(|unlisted| unlisted.exchanges)
        && earlier.recap.is_none()
    {
        let counted: BTreeSet<u32> =
            folded.iter().filter(|row| row.seq <= unlisted).map(|row| row.exchange).collect();
        assert_eq!(usize::try_from(exchanges).unwrap(), counted.len());
    }
}

/// What began the turn is there, whole.
fn opening(place: &Place<'_>, context: &Context) {
    for seq in place.turn().map_or(&[][..], |turn| &turn.opening) {
        let Some(row) = place.row(*seq) else { panic!("{seq} is not on the path") };
        let part = context.parts.iter().find(|part| entry_of(part) == Some(*seq));
        let part = part.unwrap_or_else(|| panic!("input {seq} is missing"));
        assert_eq!(part.level, Level::Live);
        let Body::Input(input) = &part.body else { panic!("{part:?}") };
        assert_eq!(Estimator.count(&input.text), row.tokens.live);
    }
}

/// Screens are where they were attached; the newest of those whose place is folded is with what
/// began the turn.
fn screens(place: &Place<'_>, ask: &Ask, plan: &Plan, context: &Context, seen: &mut Seen) {
    let on = context.parts.iter().filter_map(|part| match &part.body {
        Body::Input(input) => Some((entry_of(part)?, input.screen.as_ref()?)),
        Body::Results(results) => Some((entry_of(part)?, results.screen.as_ref()?)),
        Body::Output(_) => None,
    });
    let on: Vec<(Seq, &str)> = on.map(|(seq, screen)| (seq, &*screen.text)).collect();
    seen.screens += u64::try_from(on.len()).unwrap();
    let Some(turn) = place.turn().filter(|_| ask.options.screen) else {
        assert!(on.is_empty());
        return;
    };
    let border = plan.border.unwrap_or(Seq::ZERO);
    let mut expected: Vec<(Seq, &str)> = Vec::new();
    let folded = ask.screens.iter().rfind(|screen| screen.seq < border);
    if let Some(screen) = folded {
        expected.push((turn.start, &screen.text));
        seen.moved_screens += u64::from(screen.seq != turn.start);
        seen.turn_folded += 1;
    }
    let kept = ask.screens.iter().filter(|screen| screen.seq >= border);
    expected.extend(kept.map(|screen| (screen.seq, &*screen.text)));
    assert_eq!(on, expected);
}

/// What a model thought is shown in its own turn only.
fn thinking(place: &Place<'_>, context: &Context) {
    let turn = place.turn().map_or(Seq::ZERO, |turn| turn.start);
    for part in &context.parts {
        let Body::Output(output) = &part.body else { continue };
        let thinks = output.blocks.iter().any(|block| matches!(block, Block::Thinking(_)));
        assert!(!thinks || entry_of(part) >= Some(turn), "{part:?}");
    }
}
