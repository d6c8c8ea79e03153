//! Bytes on their way to a file, gathered so that they are written at once.

/// The most that is written at once; more is written in several pieces. It is what SQLite's VFS for
/// Unix can write with one call: it takes the length for a number of 17 bits.
const CAP_BYTES: usize = 128 * 1024 - 1;

/// Bytes that are to be written one after the other.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    /// Where in the file they begin.
    offset: i64,
    bytes: Vec<u8>,
}

impl Gathered {
    /// Whether bytes can be added without what is there being written first.
    pub(super) fn takes(&self, offset: i64, amount: usize) -> bool {
        let there = self.bytes.len();
        let end = i64::try_from(there).ok().and_then(|there| self.offset.checked_add(there));
        there == 0 || (end == Some(offset) && there.saturating_add(amount) <= CAP_BYTES)
    }

    /// Adds bytes that it takes.
    pub(super) fn add(&mut self, offset: i64, bytes: &[u8]) {
        if self.bytes.is_empty() {
            self.offset = offset;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Writes what is there, if there is anything. It is forgotten even if that fails: by then
    /// someone else may have written to the same place.
    pub(super) fn hand_on<E>(
        &mut self,
        write: impl FnOnce(i64, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        let written = write(self.offset, &self.bytes);
        self.bytes.clear();
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is handed on, and that nothing is left.
    fn handed_on(gathered: &mut Gathered) -> Vec<(i64, Vec<u8>)> {
        let mut writes = Vec::new();
        for _ in 0..2 {
            let write = |offset, bytes: &[u8]| {
                writes.push((offset, bytes.to_vec()));
                Ok::<_, ()>(())
            };
            gathered.hand_on(write).unwrap();
        }
        writes
    }

    #[test]
    fn what_follows_is_one_write() {
        let mut gathered = Gathered::default();
        for (offset, bytes) in [(7, "ab"), (9, "c"), (10, "def")] {
            assert!(gathered.takes(offset, bytes.len()));
            gathered.add(offset, bytes.as_bytes());
        }
        for elsewhere in [0, 7, 12, 14] {
            assert!(!gathered.takes(elsewhere, 1));
        }
        assert_eq!(handed_on(&mut gathered), [(7, b"abcdef".to_vec())]);
        assert!(gathered.takes(0, 1));
    }

    #[test]
    fn it_keeps_little() {
        let mut gathered = Gathered::default();
        gathered.add(1, &vec![0; CAP_BYTES - 1]);
        let end = i64::try_from(CAP_BYTES).unwrap();
        assert!(gathered.takes(end, 1));
        assert!(!gathered.takes(end, 2));
    }

    #[test]
    fn what_could_not_be_written_is_not_written_later() {
        let mut gathered = Gathered::default();
        gathered.add(3, b"lost");
        assert_eq!(gathered.hand_on(|_, _| Err("no room")), Err("no room"));
        assert_eq!(handed_on(&mut gathered), []);
    }
}
