//! What of a context the guide goes by.

use threadline_core::context::{Body, Context, OutputPart, Part, ResultPart, ResultsPart, Source};
use threadline_core::history::fact::{Block, Status, ToolCall};
use threadline_core::id::Seq;

use super::board::Board;
use super::notebook::Notebook;
use super::screen::{Clock, Listing};
use super::wish::{TimingWish, Wish, understand};

/// Waits within a turn.
pub(super) const WAIT: &str = "wait";

/// What is to be answered now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Scene<'a> {
    /// What is wanted and not yet answered, in order.
    pub(super) wishes: Vec<Wish>,
    /// The newest input, if it is not understood.
    pub(super) unclear: Option<&'a str>,
    /// Calls with their results that are not yet told.
    pub(super) results: Vec<(Option<&'a ToolCall>, &'a ResultPart)>,
    /// What was wanted together with those calls.
    pub(super) asked: Vec<Wish>,
    /// What was to be done after those calls.
    later: Vec<Wish>,
    /// The notebook, if the screen shows one.
    pub(super) notebook: Option<Notebook>,
    /// The task board, if the screen shows one.
    pub(super) board: Option<Board<'a>>,
    /// What is shared, if the screen shows it.
    pub(super) shared: Option<Listing<'a>>,
    /// The clock, if the screen shows one.
    pub(super) clock: Option<Clock<'a>>,
    /// The agent's timers, as far as the screen shows them.
    pub(super) timers: Vec<&'a str>,
}

impl<'a> Scene<'a> {
    pub(super) fn of(context: &'a Context) -> Self {
        let parts = context.parts.as_slice();
        let newest = Newest::of(parts);
        let mut scene = Self { wishes: newest.wishes, unclear: newest.unclear, ..Self::default() };
        if let Some(before) = newest.before {
            scene.take_results(before);
        }
        if parts.last().is_some_and(|part| said(part).is_none()) {
            // Nothing was said in between: what was to be done after a wait is done now.
            scene.wishes = std::mem::take(&mut scene.later);
        }
        if scene.wishes.contains(&Wish::GoOn) {
            scene.go_on(parts);
        }
        scene.notebook = parts.iter().rev().filter_map(screen).find_map(Notebook::on);
        // A widget that has nothing to show is not on the screen: an older one would be wrong.
        let newest = parts.iter().rev().find_map(screen);
        scene.board = newest.and_then(Board::on);
        scene.shared = newest.and_then(|screen| Listing::under("Shared resources", screen));
        scene.clock = newest.and_then(Clock::on);
        scene.timers = newest
            .and_then(|screen| Listing::under("Clock", screen))
            .map_or_else(Vec::new, |timers| timers.items);
        scene
    }

    /// Takes up what was to be answered when the turn before was ended: its results if it has
    /// some, and else what was wanted. So nothing that was started is done again.
    fn go_on(&mut self, parts: &'a [Part]) {
        let inputs = parts.iter().rev().take_while(|part| said(part).is_some()).count();
        let (before, inputs) = parts.split_at(parts.len() - inputs);
        self.take_results(before);
        if self.results.is_empty() && self.wishes.iter().all(|wish| *wish == Wish::GoOn) {
            let wishes = inputs.iter().rev().filter_map(wanted);
            let mut wishes = wishes.filter(|wishes| !wishes.contains(&Wish::GoOn));
            self.wishes.extend(wishes.next().unwrap_or_default());
        }
    }

    /// Results at the end of some parts, with the calls that they answer and what was asked then.
    fn take_results(&mut self, parts: &'a [Part]) {
        let Some((results, before)) = parts.split_last() else { return };
        let Body::Results(results) = &results.body else { return };
        let (calls, before) = match before.split_last() {
            Some((Part { body: Body::Output(output), .. }, before)) => (calls(output), before),
            Some(_) | None => (Vec::new(), before),
        };
        let answered = results.results.iter().map(|result| {
            let place = usize::try_from(result.call.index).ok();
            (place.and_then(|place| calls.get(place)).copied(), original(result, parts))
        });
        self.results = answered.collect();
        let (waits, before) = waits_before(before);
        let wishes = Newest::of(before).wishes;
        let mut wishes = wishes.as_slice();
        for _ in 0..waits {
            wishes = wishes.get(up_to_wait(wishes).len()..).unwrap_or_default();
        }
        let (now, later) = wishes.split_at(up_to_wait(wishes).len());
        self.asked = now.to_vec();
        if has_waited(results) {
            self.later = later.to_vec();
        }
    }
}

/// The wishes up to the first wait, and the wait.
pub(super) fn up_to_wait(wishes: &[Wish]) -> &[Wish] {
    let wait = wishes.iter().position(|wish| matches!(wish, Wish::Timing(TimingWish::Wait(_))));
    wait.and_then(|wait| wishes.get(..=wait)).unwrap_or(wishes)
}

/// How many waits a turn has behind it at its end, and the parts before them.
fn waits_before(parts: &[Part]) -> (usize, &[Part]) {
    let (mut waits, mut rest) = (0, parts);
    while let [
        before @ ..,
        Part { body: Body::Output(_), .. },
        Part { body: Body::Results(results), .. },
    ] = rest
        && has_waited(results)
    {
        (waits, rest) = (waits + 1, before);
    }
    (waits, rest)
}

fn has_waited(results: &ResultsPart) -> bool {
    let waited = |result: &ResultPart| &*result.name == WAIT && result.status == Status::Success;
    results.results.iter().any(waited)
}

/// What the inputs at the end of some parts want.
struct Newest<'a> {
    wishes: Vec<Wish>,
    unclear: Option<&'a str>,
    /// The parts before them, unless those are of another turn.
    before: Option<&'a [Part]>,
}

impl<'a> Newest<'a> {
    /// Inputs are read from the newest back to the first that is not understood: whatever it is,
    /// such as the line that tells how the turn before ended, nothing before it is still wanted.
    fn of(parts: &'a [Part]) -> Self {
        let mut newest = Self { wishes: Vec::new(), unclear: None, before: None };
        let mut rest = parts;
        while let Some((part, before)) = rest.split_last() {
            let Some(text) = said(part) else { break };
            match wanted(part) {
                Some(wishes) => drop(newest.wishes.splice(0..0, wishes)),
                None if rest.len() == parts.len() => newest.unclear = Some(text),
                None => return newest,
            }
            rest = before;
        }
        newest.before = Some(rest);
        newest
    }
}

/// The texts of all visible inputs, oldest first. Quotes, and lines on how turns ended, are none.
pub(super) fn inputs(context: &Context) -> impl Iterator<Item = &str> {
    context.parts.iter().filter(|part| part.is_message()).filter_map(said)
}

/// What an input wants, if it is understood.
fn wanted(part: &Part) -> Option<Vec<Wish>> {
    said(part).filter(|_| part.is_message()).and_then(understand)
}

/// The folded past, if there is one.
pub(super) fn folded(context: &Context) -> Option<&str> {
    context.parts.iter().find_map(|part| match (&part.body, part.source) {
        (Body::Input(input), Source::Earlier { .. }) => Some(&*input.text),
        (Body::Input(_), Source::Entry(_)) | (Body::Output(_) | Body::Results(_), _) => None,
    })
}

/// What an input says. The folded past is not an input.
fn said(part: &Part) -> Option<&str> {
    match (&part.body, part.source) {
        (Body::Input(input), Source::Entry(_)) => Some(&input.text),
        (Body::Input(_), Source::Earlier { .. }) | (Body::Output(_) | Body::Results(_), _) => None,
    }
}

/// The result that a line names as the same, or else the result itself.
fn original<'a>(result: &'a ResultPart, parts: &'a [Part]) -> &'a ResultPart {
    let named = result.text.strip_prefix("[same as seq ").and_then(|rest| rest.strip_suffix(']'));
    let Some(named) = named.and_then(|seq| seq.parse().ok()).map(Seq) else { return result };
    let results = parts.iter().filter_map(|part| match &part.body {
        Body::Results(results) => Some(&results.results),
        Body::Input(_) | Body::Output(_) => None,
    });
    results.flatten().find(|other| other.entry == named).unwrap_or(result)
}

fn calls(output: &OutputPart) -> Vec<&ToolCall> {
    let calls = output.blocks.iter().filter_map(|block| match block {
        Block::ToolCall(call) => Some(call),
        Block::Thinking(_) | Block::Text(_) | Block::Foreign(_) => None,
    });
    calls.collect()
}

fn screen(part: &Part) -> Option<&str> {
    let screen = match &part.body {
        Body::Input(input) => input.screen.as_ref(),
        Body::Results(results) => results.screen.as_ref(),
        Body::Output(_) => None,
    };
    screen.map(|screen| &*screen.text)
}
