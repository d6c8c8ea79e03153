//! The path: the entries that count after rewinds.

use crate::id::Seq;

/// The entries that count at some head: the ledger less what rewinds left behind.
///
/// The entries of a history form a tree: an entry follows the one before it, and a rewind follows
/// the entry it leads to. The path is the way from the first entry to the head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// Runs of entries, oldest first, both ends included.
    runs: Vec<(Seq, Seq)>,
}

impl Path {
    /// The path to `head`, given all rewinds up to it, in order: where each stands and leads.
    pub fn new(head: Seq, rewinds: &[(Seq, Seq)]) -> Self {
        Self::since(Seq::ZERO, head, rewinds).unwrap_or(Self { runs: Vec::new() })
    }

    /// The part of the path to `head` that comes after `base`, given all rewinds between them;
    /// none if the path does not go through `base`, which is the error: the last place before
    /// `base` that the path goes through.
    pub fn since(base: Seq, head: Seq, rewinds: &[(Seq, Seq)]) -> Result<Self, Seq> {
        let mut runs = Vec::new();
        let mut end = head;
        while end > base {
            let last = rewinds.partition_point(|(at, _)| *at <= end);
            match last.checked_sub(1).and_then(|index| rewinds.get(index)) {
                Some((at, to)) if *at > base => {
                    runs.push((*at, end));
                    // A rewind leads back; one that does not is broken and ends the walk.
                    end = if to < at { *to } else { Seq::ZERO };
                }
                Some(_) | None => {
                    runs.push((base.next(), end));
                    end = base;
                }
            }
        }
        if end < base {
            return Err(end);
        }
        runs.reverse();
        Ok(Self { runs })
    }

    /// Whether an entry counts.
    pub fn contains(&self, seq: Seq) -> bool {
        let after = self.runs.partition_point(|(from, _)| *from <= seq);
        let run = after.checked_sub(1).and_then(|index| self.runs.get(index));
        run.is_some_and(|(_, to)| seq <= *to)
    }

    /// The runs of entries that count, oldest first, both ends included.
    pub fn runs(&self) -> &[(Seq, Seq)] {
        &self.runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(head: u64, rewinds: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let rewinds: Vec<_> = rewinds.iter().map(|(at, to)| (Seq(*at), Seq(*to))).collect();
        Path::new(Seq(head), &rewinds).runs.iter().map(|(a, b)| (a.0, b.0)).collect()
    }

    #[test]
    fn without_rewinds_everything_counts() {
        assert_eq!(runs(5, &[]), [(1, 5)]);
        assert_eq!(runs(0, &[]), []);
    }

    #[test]
    fn a_rewind_leaves_out_what_it_goes_back_over() {
        assert_eq!(runs(9, &[(6, 3)]), [(1, 3), (6, 9)]);
        assert_eq!(runs(9, &[(6, 0)]), [(6, 9)]);
    }

    #[test]
    fn rewind_rewind_again_and_undo() {
        // 6 rewinds to 3, 8 rewinds to 2, 10 goes back to 7, which the second had left.
        assert_eq!(runs(9, &[(6, 3), (8, 2)]), [(1, 2), (8, 9)]);
        assert_eq!(runs(11, &[(6, 3), (8, 2), (10, 7)]), [(1, 3), (6, 7), (10, 11)]);
        // 12 undoes the first: back to 5, which 6 had left.
        assert_eq!(runs(12, &[(6, 3), (8, 2), (10, 7), (12, 5)]), [(1, 5), (12, 12)]);
    }

    #[test]
    fn a_base_off_the_path_is_told() {
        let rewinds = [(Seq(6), Seq(3))];
        assert_eq!(Path::since(Seq(4), Seq(9), &rewinds), Err(Seq(3)));
        let path = Path::since(Seq(3), Seq(9), &rewinds).unwrap();
        assert_eq!(path.runs(), [(Seq(6), Seq(9))]);
    }

    #[test]
    fn nonsense_ends() {
        assert_eq!(runs(5, &[(3, 3), (4, 9)]), [(4, 5)]);
    }
}
