//! Locks between connections, and the memory they share.
//!
//! Both kinds of locks answer at once: granted or not. Waiting is `SQLite`'s business.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// One open file handle, that is, one connection as far as locks go.
pub(super) type Owner = u64;

/// How strongly a connection holds the database file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    None,
    Shared,
    Reserved,
    Pending,
    Exclusive,
}

/// Who holds a file, and how strongly.
#[derive(Debug, Default)]
pub(super) struct FileLocks {
    held: BTreeMap<Owner, Level>,
}

impl FileLocks {
    /// Raises the owner's lock, and says whether it was granted.
    ///
    /// A refused exclusive lock leaves a pending one behind, which keeps new readers out.
    pub(super) fn lock(&mut self, owner: Owner, wanted: Level) -> bool {
        if self.level(owner) >= wanted {
            return true;
        }
        let others = self.strongest_but(owner);
        let (granted, left) = match wanted {
            Level::None => (true, None),
            Level::Shared => (others < Level::Pending, Some(Level::Shared)),
            Level::Reserved => (others < Level::Reserved, Some(Level::Reserved)),
            Level::Pending | Level::Exclusive if others >= Level::Reserved => (false, None),
            Level::Pending => (true, Some(Level::Pending)),
            Level::Exclusive if others >= Level::Shared => {
                self.held.insert(owner, Level::Pending);
                (false, None)
            }
            Level::Exclusive => (true, Some(Level::Exclusive)),
        };
        if let (true, Some(level)) = (granted, left) {
            self.held.insert(owner, level);
        }
        granted
    }

    /// Lowers the owner's lock.
    pub(super) fn unlock(&mut self, owner: Owner, level: Level) {
        if level == Level::None {
            self.held.remove(&owner);
        } else if self.level(owner) > level {
            self.held.insert(owner, level);
        }
    }

    /// Whether anyone is about to write.
    pub(super) fn is_reserved(&self) -> bool {
        self.held.values().any(|level| *level >= Level::Reserved)
    }

    fn level(&self, owner: Owner) -> Level {
        self.held.get(&owner).copied().unwrap_or(Level::None)
    }

    fn strongest_but(&self, owner: Owner) -> Level {
        let others = self.held.iter().filter(|(other, _)| **other != owner);
        others.map(|(_, level)| *level).max().unwrap_or(Level::None)
    }
}

/// The memory that all connections to one database share, and the locks on it.
#[derive(Debug, Default)]
pub(super) struct Shm {
    // Atomics, because the memory is written behind the back of every reference to it.
    regions: Vec<Arc<[AtomicU64]>>,
    held: BTreeMap<Owner, Held>,
}

/// What one connection has locked: one bit for each of the eight locks.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    shared: u8,
    exclusive: u8,
}

/// What a connection asks of the locks on the shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShmRequest {
    Unlock,
    Shared,
    Exclusive,
}

impl Shm {
    /// The address of a region, which is made of zeros if it is new and may be made.
    ///
    /// The address holds until the owner calls [`Shm::unmap`].
    pub(super) fn map(
        &mut self,
        owner: Owner,
        region: usize,
        bytes: usize,
        extend: bool,
    ) -> Option<*mut c_void> {
        self.held.entry(owner).or_default();
        if extend {
            while self.regions.len() <= region {
                let words = (0..bytes.div_ceil(8)).map(|_| AtomicU64::new(0));
                self.regions.push(words.collect());
            }
        }
        self.regions.get(region).map(|words| words.as_ptr().cast_mut().cast())
    }

    /// Takes or gives back the locks in `mask`, and says whether that was granted.
    pub(super) fn lock(&mut self, owner: Owner, mask: u8, request: ShmRequest) -> bool {
        let others = self.held.iter().filter(|(other, _)| **other != owner);
        let (shared, exclusive) = others.fold((0, 0), |(shared, exclusive), (_, held)| {
            (shared | held.shared, exclusive | held.exclusive)
        });
        let held = self.held.entry(owner).or_default();
        match request {
            ShmRequest::Unlock => {
                held.shared &= !mask;
                held.exclusive &= !mask;
                true
            }
            ShmRequest::Shared if exclusive & mask == 0 => {
                held.shared |= mask;
                true
            }
            ShmRequest::Exclusive if (shared | exclusive) & mask == 0 => {
                held.exclusive |= mask;
                true
            }
            ShmRequest::Shared | ShmRequest::Exclusive => false,
        }
    }

    /// Forgets a connection, and the memory with the last of them.
    pub(super) fn unmap(&mut self, owner: Owner) {
        self.held.remove(&owner);
        if self.held.is_empty() {
            self.regions.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_locks_exclude_as_sqlite_documents() {
        use Level::{Exclusive, Reserved, Shared};
        // What one holds, what another asks for, and whether it gets it.
        let cases = [
            (Shared, Shared, true),
            (Shared, Reserved, true),
            (Shared, Exclusive, false),
            (Reserved, Shared, true),
            (Reserved, Reserved, false),
            (Exclusive, Shared, false),
        ];
        for (held, wanted, granted) in cases {
            let mut locks = FileLocks::default();
            assert!(locks.lock(1, held));
            assert_eq!(locks.lock(2, wanted), granted, "{wanted:?} beside {held:?}");
            locks.unlock(1, Level::None);
            assert!(locks.lock(2, wanted), "{wanted:?} after {held:?}");
        }
    }

    #[test]
    fn a_pending_lock_keeps_new_readers_out() {
        let mut locks = FileLocks::default();
        assert!(locks.lock(1, Level::Shared) && locks.lock(2, Level::Reserved));
        assert!(!locks.lock(2, Level::Exclusive));
        assert!(!locks.lock(3, Level::Shared));
        locks.unlock(1, Level::None);
        assert!(locks.lock(2, Level::Exclusive));
    }

    #[test]
    fn shared_memory_locks_exclude_bit_by_bit() {
        use ShmRequest::{Exclusive, Shared, Unlock};
        let cases = [
            (Shared, Shared, true),
            (Shared, Exclusive, false),
            (Exclusive, Shared, false),
            (Exclusive, Exclusive, false),
        ];
        for (held, wanted, granted) in cases {
            let mut shm = Shm::default();
            assert!(shm.lock(1, 0b0110, held));
            assert_eq!(shm.lock(2, 0b0100, wanted), granted, "{wanted:?} beside {held:?}");
            assert!(shm.lock(2, 0b1001, wanted), "other bits are free");
            assert!(shm.lock(1, 0b0110, Unlock));
            assert!(shm.lock(2, 0b0110, wanted), "{wanted:?} after {held:?}");
        }
    }

    #[test]
    fn shared_memory_lives_until_the_last_connection_leaves() {
        let mut shm = Shm::default();
        assert_eq!(shm.map(1, 0, 1024, false), None);
        let address = shm.map(1, 0, 1024, true);
        assert!(address.is_some());
        // More regions move none of the old ones.
        assert!(shm.map(2, 40, 1024, true).is_some());
        assert_eq!(shm.map(2, 0, 1024, false), address);
        shm.unmap(1);
        assert_eq!(shm.map(2, 0, 1024, false), address);
        shm.unmap(2);
        assert_eq!(shm.map(3, 0, 1024, false), None);
    }
}
