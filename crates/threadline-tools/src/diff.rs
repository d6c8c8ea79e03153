//! What changed between two texts, line by line.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::Range;

use crate::text::{counted, shortened};

/// How many unchanged lines are shown around a change.
const CONTEXT_LINES: usize = 3;
/// How much of a line is shown.
const LINE_BYTES: usize = 400;
/// How many lines may have changed for the shortest way from one text to the other to be looked
/// for. Its cost grows with their square.
const CHANGES_CAP: usize = 1000;
/// How many comparisons are made at most to find it.
const COST_CAP: usize = 20_000_000;
/// How many lines of each text may differ, between the lines that both begin and end with, for
/// them to be compared one by one. Of more lines only so many are held.
const LINES_CAP: usize = 250_000;

/// What changed between two texts.
///
/// It holds only the lines that differ and those around them, so that it takes a few megabytes at
/// most, whatever the texts are.
#[derive(Debug)]
pub(crate) struct Diff<'a> {
    before: Vec<&'a str>,
    after: Vec<&'a str>,
    /// How many lines there are in both texts before those that are held.
    skipped: usize,
    /// What changed, among the lines that are held.
    blocks: Vec<Block>,
    /// How many lines went and came after those that are held.
    more: (usize, usize),
    /// Whether the two differ in how lines end, so that the ends are worth showing.
    ends_shown: bool,
}

/// Lines that went, and those that came in their place.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Block {
    before: Range<usize>,
    after: Range<usize>,
}

impl<'a> Diff<'a> {
    /// Compares two texts. It takes time in proportion to their size; where very much changed it
    /// may show more than the least.
    pub(crate) fn of(before: &'a str, after: &'a str) -> Self {
        let ends_shown = before.contains("\r\n") != after.contains("\r\n");
        let same = |(one, other): &(&str, &str)| one == other;
        let (mut head, mut head_bytes) = (0, 0);
        for (line, _) in lines(before).zip(lines(after)).take_while(same) {
            head += 1;
            head_bytes += line.len();
        }
        let rest = |text: &'a str| text.get(head_bytes..).unwrap_or_default();
        let tail = lines(rest(before)).rev().zip(lines(rest(after)).rev()).take_while(same);
        let tail_bytes = tail.map(|(line, _)| line.len()).sum();
        let mut before = Window::new(before, head_bytes, tail_bytes);
        let mut after = Window::new(after, head_bytes, tail_bytes);
        let context = before.lines.len();
        let all_held = before.hold_changed() & after.hold_changed();
        let blocks = if all_held {
            before.lines.extend(lines(before.tail).take(CONTEXT_LINES));
            after.lines.extend(lines(after.tail).take(CONTEXT_LINES));
            blocks(&before.lines, &after.lines)
        } else {
            vec![Block { before: context..before.lines.len(), after: context..after.lines.len() }]
        };
        let more = (before.more, after.more);
        let (before, after) = (before.lines, after.lines);
        Self { before, after, skipped: head - context, blocks, more, ends_shown }
    }

    /// How many lines came.
    pub(crate) fn added(&self) -> usize {
        self.blocks.iter().map(|block| block.after.len()).sum::<usize>() + self.more.1
    }

    /// How many lines went.
    pub(crate) fn removed(&self) -> usize {
        self.blocks.iter().map(|block| block.before.len()).sum::<usize>() + self.more.0
    }

    /// The changes as hunks of a unified diff, at most about so many bytes of them. What is left
    /// out is told.
    pub(crate) fn text(&self, cap_bytes: usize) -> String {
        let (mut text, mut left_out) = (String::new(), 0);
        for hunk in self.hunks() {
            self.hunk(hunk, &mut |line: &str| {
                if left_out == 0 && text.len() + line.len() < cap_bytes {
                    text.push_str(line);
                    text.push('\n');
                } else {
                    left_out += 1;
                }
            });
        }
        left_out += self.more.0 + self.more.1;
        text.truncate(text.trim_end_matches('\n').len());
        if left_out > 0 {
            let _ = write!(text, "\n[{} of the diff left out]", counted(left_out, "line"));
        }
        text
    }

    /// The blocks that are shown together: those whose surroundings touch.
    fn hunks(&self) -> Vec<&[Block]> {
        let near = |one: &Block, next: &Block| {
            next.before.start.saturating_sub(one.before.end) <= 2 * CONTEXT_LINES
        };
        self.blocks.chunk_by(near).collect()
    }

    /// Gives the lines of a hunk one by one.
    fn hunk(&self, blocks: &[Block], give: &mut dyn FnMut(&str)) {
        let (Some(first), Some(last)) = (blocks.first(), blocks.last()) else { return };
        let head = first.before.start.min(CONTEXT_LINES);
        let tail = (self.before.len() - last.before.end).min(CONTEXT_LINES);
        let before = first.before.start - head..last.before.end + tail;
        let after = first.after.start - head..last.after.end + tail;
        let range = |lines: &Range<usize>, more| {
            range(&(self.skipped + lines.start..self.skipped + lines.end + more))
        };
        give(&format!("@@ -{} +{} @@", range(&before, self.more.0), range(&after, self.more.1)));
        let mut at = before.start;
        for block in blocks {
            self.lines(' ', &self.before, at..block.before.start, give);
            self.lines('-', &self.before, block.before.clone(), give);
            self.lines('+', &self.after, block.after.clone(), give);
            at = block.before.end;
        }
        self.lines(' ', &self.before, at..before.end, give);
    }

    fn lines(&self, sign: char, of: &[&str], range: Range<usize>, give: &mut dyn FnMut(&str)) {
        for line in of.get(range).unwrap_or_default() {
            let text = line.strip_suffix('\n').unwrap_or(line);
            let bare = text.strip_suffix('\r').unwrap_or(text);
            let end = if self.ends_shown && bare.len() < text.len() { "␍" } else { "" };
            give(&format!("{sign}{}{end}", shortened(bare, LINE_BYTES)));
            if !line.ends_with('\n') {
                give("\\ no line end at the end of the file");
            }
        }
    }
}

/// The lines of a text that are held for a diff: those that differ, and some around them.
struct Window<'a> {
    lines: Vec<&'a str>,
    /// The part that differs from the other text's.
    changed: &'a str,
    /// The part that both texts end with.
    tail: &'a str,
    /// How many lines of the changed part are not held.
    more: usize,
}

impl<'a> Window<'a> {
    /// Holds the last lines of what both texts begin with.
    fn new(text: &'a str, head_bytes: usize, tail_bytes: usize) -> Self {
        let (head, rest) = text.split_at_checked(head_bytes).unwrap_or((text, ""));
        let (changed, tail) = rest.split_at_checked(rest.len() - tail_bytes).unwrap_or((rest, ""));
        let mut context: Vec<&str> = lines(head).rev().take(CONTEXT_LINES).collect();
        context.reverse();
        Self { lines: context, changed, tail, more: 0 }
    }

    /// Holds the lines that differ, up to the cap; tells whether these are all.
    fn hold_changed(&mut self) -> bool {
        self.lines.extend(lines(self.changed).take(LINES_CAP));
        self.more = lines(self.changed).skip(LINES_CAP).count();
        self.more == 0
    }
}

fn lines(text: &str) -> std::str::SplitInclusive<'_, char> {
    text.split_inclusive('\n')
}

/// A range of lines as diffs write it: the first line, counted from 1, and how many. Of no lines
/// at all the one before is named.
fn range(lines: &Range<usize>) -> String {
    let first = if lines.is_empty() { lines.start } else { lines.start + 1 };
    format!("{first},{}", lines.len())
}

fn blocks(before: &[&str], after: &[&str]) -> Vec<Block> {
    let head = before.iter().zip(after).take_while(|(one, other)| one == other).count();
    let before_rest = before.get(head..).unwrap_or_default();
    let after_rest = after.get(head..).unwrap_or_default();
    let same = before_rest.iter().rev().zip(after_rest.iter().rev());
    let tail = same.take_while(|(one, other)| one == other).count();
    let before_rest = before_rest.get(..before_rest.len() - tail).unwrap_or_default();
    let after_rest = after_rest.get(..after_rest.len() - tail).unwrap_or_default();
    let (before_len, after_len) = (before_rest.len(), after_rest.len());
    let mut numbers = HashMap::new();
    let before_rest = numbered(&mut numbers, before_rest);
    let after_rest = numbered(&mut numbers, after_rest);
    let kept = kept(&before_rest, &after_rest).unwrap_or_default();
    let end = Run { before: before_len, after: after_len, len: 0 };
    let mut blocks = Vec::new();
    let (mut from_before, mut from_after) = (0, 0);
    for run in kept.into_iter().chain([end]) {
        if run.before > from_before || run.after > from_after {
            blocks.push(Block {
                before: head + from_before..head + run.before,
                after: head + from_after..head + run.after,
            });
        }
        (from_before, from_after) = (run.before + run.len, run.after + run.len);
    }
    blocks
}

/// Lines as numbers, equal ones with the same: these are compared quickly.
fn numbered<'a>(numbers: &mut HashMap<&'a str, usize>, lines: &[&'a str]) -> Vec<usize> {
    let number = |line: &&'a str| {
        let next = numbers.len();
        *numbers.entry(*line).or_insert(next)
    };
    lines.iter().map(number).collect()
}

/// Lines that both texts have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    before: usize,
    after: usize,
    len: usize,
}

/// The lines that stay on the shortest way from one text to the other, in order; none if that
/// costs too much to find. This is Myers' greedy algorithm: `reach[k]` is how far into `before`
/// one gets with so many changes on the diagonal `k`, on which `after` is `k` lines behind.
fn kept(before: &[usize], after: &[usize]) -> Option<Vec<Run>> {
    let most = (before.len() + after.len()).min(CHANGES_CAP);
    let mut reach = Reach::new(most);
    let mut rounds: Vec<Reach> = Vec::new();
    let mut cost = 0;
    for changes in 0..=to_i(most) {
        rounds.push(reach.within(changes));
        for k in (-changes..=changes).step_by(2) {
            let start = reach.start(k, changes);
            let mut x = start;
            while at(before, x).is_some_and(|line| at(after, x - k) == Some(line)) {
                x += 1;
            }
            cost += 1 + usize::try_from(x - start).unwrap_or_default();
            reach.set(k, x);
            if x >= to_i(before.len()) && x - k >= to_i(after.len()) {
                return Some(way_back(&rounds, to_i(before.len()), to_i(after.len())));
            }
        }
        if cost > COST_CAP {
            return None;
        }
    }
    None
}

/// The runs on the way that the rounds found, from its end.
fn way_back(rounds: &[Reach], mut x: isize, mut y: isize) -> Vec<Run> {
    let mut runs = Vec::new();
    for (changes, reach) in rounds.iter().enumerate().rev() {
        let (k, changes) = (x - y, to_i(changes));
        let start = reach.start(k, changes);
        if let (Ok(before), Ok(after), Ok(len)) =
            (usize::try_from(start), usize::try_from(start - k), usize::try_from(x - start))
            && len > 0
        {
            runs.push(Run { before, after, len });
        }
        let down = reach.is_down(k, changes);
        x = if down { start } else { start - 1 };
        y = x - if down { k + 1 } else { k - 1 };
    }
    runs.reverse();
    runs
}

/// How far one gets on each diagonal.
#[derive(Clone, Debug)]
struct Reach {
    furthest: Vec<isize>,
    /// Where the diagonal 0 is.
    middle: isize,
}

impl Reach {
    fn new(most: usize) -> Self {
        Self { furthest: vec![0; 2 * most + 3], middle: to_i(most) + 1 }
    }

    fn get(&self, k: isize) -> isize {
        let at = usize::try_from(self.middle + k).ok();
        at.and_then(|at| self.furthest.get(at)).copied().unwrap_or_default()
    }

    fn set(&mut self, k: isize, x: isize) {
        let at = usize::try_from(self.middle + k).ok();
        if let Some(place) = at.and_then(|at| self.furthest.get_mut(at)) {
            *place = x;
        }
    }

    /// Whether the way to a diagonal is a line that comes; else it is one that goes.
    fn is_down(&self, k: isize, changes: isize) -> bool {
        k == -changes || (k != changes && self.get(k - 1) < self.get(k + 1))
    }

    /// Where one is on a diagonal after the newest change.
    fn start(&self, k: isize, changes: isize) -> isize {
        match changes {
            0 => 0,
            _ if self.is_down(k, changes) => self.get(k + 1),
            _ => self.get(k - 1) + 1,
        }
    }

    /// What so many changes need of it.
    fn within(&self, changes: isize) -> Self {
        let diagonals = -changes - 1..=changes + 1;
        Self { furthest: diagonals.map(|k| self.get(k)).collect(), middle: changes + 1 }
    }
}

fn at(lines: &[usize], index: isize) -> Option<usize> {
    usize::try_from(index).ok().and_then(|index| lines.get(index)).copied()
}

fn to_i(index: usize) -> isize {
    isize::try_from(index).unwrap_or(isize::MAX)
}

#[cfg(test)]
mod tests;
