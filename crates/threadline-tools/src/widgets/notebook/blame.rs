//! Who wrote what: for every line of the notebook the entry that wrote it.
//!
//! A line that a change leaves as it is keeps its entry, wherever it moves; every other line of the
//! text after the change gets the change's.

use std::ops::Range;

use threadline_core::id::Seq;

use crate::text::line_feeds;

/// The most pairs of lines that are compared to find those that stayed. With more of them, what
/// stands between the first and the last line that changed counts as written anew.
const PAIRS_CAP: usize = 256 * 1024;

/// The entry of every line after a change, given those before it and the bytes that it replaced.
pub(super) fn carried(
    (before, written): (&str, &[Seq]),
    after: &str,
    replaced: &Range<usize>,
    by: Seq,
) -> Vec<Seq> {
    let head = before.get(..replaced.start).unwrap_or_default();
    let tail = before.get(replaced.end..).unwrap_or_default();
    // The lines before and behind those that it touched are as they were and not looked at.
    let first = head.rfind('\n').map_or(0, |end| end + 1);
    let behind = tail.find('\n').map_or(0, |start| tail.len() - start);
    let touched = |text| lines(text, first..text.len().saturating_sub(behind));
    let (old, new) = (touched(before), touched(after));
    let (above, below) = (line_feeds(head), line_feeds(tail));
    let mut after = written.get(..above).unwrap_or_default().to_vec();
    after.resize(above + new.len(), by);
    after.extend(written.iter().skip(above + old.len()).take(below));
    let mut keep = |old: usize, new: usize| {
        if let (Some(kept), Some(line)) = (written.get(old), after.get_mut(new)) {
            *line = *kept;
        }
    };
    let mut rest = Rest { old: &old, new: &new, at: (above, above) };
    // A change that begins with a line takes from there on; else it goes on in the line.
    if first == head.len() {
        rest.take_last(&mut keep);
        rest.take_first(&mut keep);
    } else {
        rest.take_first(&mut keep);
        rest.take_last(&mut keep);
    }
    for (old, new) in rest.common() {
        keep(old, new);
    }
    after
}

/// The lines of a part of a text, which begins and ends with lines; an empty text has none.
fn lines(text: &str, part: Range<usize>) -> Vec<&str> {
    let part = text.get(part).filter(|_| !text.is_empty());
    part.map_or_else(Vec::new, |part| part.split('\n').collect())
}

/// Lines before and after a change of which it is not known yet which stayed.
struct Rest<'a, 'b> {
    old: &'a [&'b str],
    new: &'a [&'b str],
    /// How many lines of each stand before them.
    at: (usize, usize),
}

impl Rest<'_, '_> {
    /// Takes equal lines from the front.
    fn take_first(&mut self, keep: &mut impl FnMut(usize, usize)) {
        while let ([old, olds @ ..], [new, news @ ..]) = (self.old, self.new)
            && old == new
        {
            keep(self.at.0, self.at.1);
            *self = Self { old: olds, new: news, at: (self.at.0 + 1, self.at.1 + 1) };
        }
    }

    /// Takes equal lines from the back.
    fn take_last(&mut self, keep: &mut impl FnMut(usize, usize)) {
        while let ([olds @ .., old], [news @ .., new]) = (self.old, self.new)
            && old == new
        {
            keep(self.at.0 + olds.len(), self.at.1 + news.len());
            *self = Self { old: olds, new: news, at: self.at };
        }
    }

    /// The pairs of a longest common subsequence; none if there is too much to compare.
    fn common(&self) -> Vec<(usize, usize)> {
        let (olds, news) = (self.old.len(), self.new.len());
        if olds.saturating_mul(news) > PAIRS_CAP {
            return Vec::new();
        }
        // For each pair of places the length of the longest from there on.
        let width = news + 1;
        let mut longest = vec![0_usize; (olds + 1) * width];
        let at = |longest: &[usize], old, new| longest.get(old * width + new).copied().unwrap_or(0);
        for (i, old) in self.old.iter().enumerate().rev() {
            for (j, new) in self.new.iter().enumerate().rev() {
                let length = if old == new {
                    at(&longest, i + 1, j + 1) + 1
                } else {
                    at(&longest, i + 1, j).max(at(&longest, i, j + 1))
                };
                if let Some(cell) = longest.get_mut(i * width + j) {
                    *cell = length;
                }
            }
        }
        let (mut i, mut j) = (0, 0);
        let mut pairs = Vec::new();
        while let (Some(old), Some(new)) = (self.old.get(i), self.new.get(j)) {
            if old == new {
                pairs.push((self.at.0 + i, self.at.1 + j));
                (i, j) = (i + 1, j + 1);
            } else if at(&longest, i + 1, j) >= at(&longest, i, j + 1) {
                i += 1;
            } else {
                j += 1;
            }
        }
        pairs
    }
}

/// The entries of lines as one line of runs: `17*3 18*1` are three lines of 17 and one of 18.
pub(super) fn encode(written: &[Seq]) -> String {
    let runs = written.chunk_by(|one, two| one == two);
    let runs = runs.filter_map(|run| run.first().map(|seq| format!("{}*{}", seq.0, run.len())));
    runs.collect::<Vec<_>>().join(" ")
}

/// The entries of so many lines from what [`encode`] makes, and from nothing else.
pub(super) fn decode(runs: &str, lines: usize) -> Option<Vec<Seq>> {
    let mut written = Vec::new();
    for run in runs.split(' ').filter(|_| !runs.is_empty()) {
        let (seq, count) = run.split_once('*')?;
        let (seq, count) = (Seq(seq.parse().ok()?), count.parse::<usize>().ok()?);
        let count = written.len().checked_add(count).filter(|total| *total <= lines)?;
        written.resize(count, seq);
    }
    (written.len() == lines && encode(&written) == runs).then_some(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seqs(seqs: &[u64]) -> Vec<Seq> {
        seqs.iter().copied().map(Seq).collect()
    }

    /// A text and the entries of its lines, the text after a change, the bytes it replaced, and
    /// the entries after it, which is 9.
    type Case = (&'static str, &'static [u64], &'static str, Range<usize>, &'static [u64]);

    #[test]
    fn a_line_keeps_its_entry_until_it_is_written_anew() {
        let table: [Case; 14] = [
            ("", &[], "a\nb", 0..0, &[9, 9]),
            ("a", &[1], "a\nb", 1..1, &[1, 9]),
            ("a", &[1], "ab", 1..1, &[9]),
            ("a\nb\nc", &[1, 2, 3], "a\nc", 2..4, &[1, 3]),
            ("a\nb\nc", &[1, 2, 3], "a\nx\ny\nc", 2..3, &[1, 9, 9, 3]),
            ("a\nb\nc", &[1, 2, 3], "", 0..5, &[]),
            // Of equal lines it is the right one that goes.
            ("b\nb", &[1, 2], "b", 0..2, &[2]),
            ("b\nb", &[1, 2], "b", 1..3, &[1]),
            ("b\nb\nb", &[1, 2, 3], "b\nb", 2..4, &[1, 3]),
            // A line may become empty, and an empty one may stay.
            ("a\nb\nc", &[1, 2, 3], "a\n\nc", 2..3, &[1, 9, 3]),
            ("a\n\nc\nd", &[1, 2, 3, 4], "a\n\nx\nd", 3..4, &[1, 2, 9, 4]),
            ("a\n\nc\nd", &[1, 2, 3, 4], "ad", 1..5, &[9]),
            ("a\nb\nc\nd", &[1, 2, 3, 4], "a\nd", 1..5, &[1, 4]),
            // What is set as a whole may leave many lines as they are.
            ("a\nb\nc\nd\ne", &[1, 2, 3, 4, 5], "x\nb\ny\nd\nz", 0..9, &[9, 2, 9, 4, 9]),
        ];
        for (before, written, after, replaced, expected) in table {
            let carried = carried((before, &seqs(written)), after, &replaced, Seq(9));
            assert_eq!(carried, seqs(expected), "{before:?} to {after:?}");
        }
    }

    #[test]
    fn too_much_to_compare_counts_as_written_anew() {
        let many = |odd: &str| {
            let lines = (0..600).flat_map(|n| [odd.to_owned(), n.to_string()]);
            lines.chain(["end".to_owned()]).collect::<Vec<_>>().join("\n")
        };
        let (before, after) = (many("a"), many("b"));
        let written = vec![Seq(1); before.lines().count()];
        let carried = carried((&before, &written), &after, &(0..before.len()), Seq(2));
        assert_eq!(carried.iter().filter(|seq| **seq == Seq(1)).count(), 2, "599 and end");
    }

    #[test]
    fn runs_have_one_form() {
        for (written, runs) in
            [(seqs(&[]), ""), (seqs(&[7]), "7*1"), (seqs(&[7, 7, 3, 7]), "7*2 3*1 7*1")]
        {
            assert_eq!(encode(&written), runs);
            assert_eq!(decode(runs, written.len()), Some(written));
        }
        for (runs, lines) in [
            ("", 1),
            ("7*1", 0),
            ("7*1", 2),
            ("7*0", 0),
            ("7*1 7*1", 2),
            ("+7*1", 1),
            ("07*1", 1),
            ("7*1 ", 1),
            ("7", 1),
            ("7*18446744073709551615 8*1", 0),
            ("7*1 8*18446744073709551615", 1),
            ("18446744073709551616*1", 1),
        ] {
            assert_eq!(decode(runs, lines), None, "{runs:?} for {lines}");
        }
    }
}
