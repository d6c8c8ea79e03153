//! Numbers as SQLite keeps them: 64 bits with a sign, and an entry's number in two parts.

use threadline_core::clock::Timestamp;
use threadline_core::id::Seq;

/// The bits of a seq in an entry's number.
const SEQ_BITS: u32 = 36;
/// The largest seq that a log can hold.
pub(super) const SEQ_MAX: u64 = (1 << SEQ_BITS) - 1;
/// The largest number of a log.
pub(super) const LOG_MAX: i64 = (1 << (63 - SEQ_BITS)) - 1;

/// A count as SQLite keeps it; what no store will ever hold is drawn to the largest.
pub(super) fn int(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A count from SQLite.
pub(super) fn count(int: i64) -> u64 {
    u64::try_from(int).unwrap_or(0)
}

/// A limit of rows.
pub(super) fn rows(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX)
}

/// A seq as SQLite keeps it, no larger than a log can hold.
pub(super) fn seq_int(seq: Seq) -> i64 {
    int(seq.0.min(SEQ_MAX))
}

/// The number of the entry at `seq` of a log.
pub(super) fn entry_id(log: i64, seq: Seq) -> i64 {
    (log << SEQ_BITS) | seq_int(seq)
}

/// The log and the place of the entry with a number.
pub(super) fn log_and_seq(id: i64) -> (i64, Seq) {
    (id >> SEQ_BITS, Seq(count(id) & SEQ_MAX))
}

/// A moment from SQLite.
pub(super) fn moment(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_number_has_its_log_and_its_place() {
        for (log, seq) in [(1, 1), (1, SEQ_MAX), (LOG_MAX, 0), (LOG_MAX, SEQ_MAX), (77, 12)] {
            assert_eq!(log_and_seq(entry_id(log, Seq(seq))), (log, Seq(seq)));
        }
        assert_eq!(entry_id(3, Seq(u64::MAX)), entry_id(3, Seq(SEQ_MAX)));
        assert!(entry_id(2, Seq(SEQ_MAX)) < entry_id(3, Seq::ZERO));
    }
}
