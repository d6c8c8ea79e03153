//! Errors on demand: the n-th operation fails, once or for good.

use std::ops::BitOr;

/// An error to come.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// How many of the operations in `on` still succeed before the first that fails.
    pub after: u64,
    /// What the failing operation answers.
    pub kind: FaultKind,
    /// Whether all later operations in `on` fail too, until [`Disk::heal`](super::Disk::heal).
    pub forever: bool,
    /// The operations that count and may fail.
    ///
    /// Only those that can give such an answer do: see [`FaultKind`].
    pub on: OpKinds,
}

/// What a failing operation answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The device failed: `SQLITE_IOERR_READ`, `_WRITE`, `_FSYNC`, and so on.
    Io,
    /// The disk is full: `SQLITE_FULL`, for writes and truncations.
    Full,
    /// Someone else holds the lock: `SQLITE_BUSY`, for locks.
    Busy,
}

impl FaultKind {
    /// The operations that can answer so.
    fn suits(self) -> OpKinds {
        match self {
            Self::Io => OpKinds::ALL,
            Self::Full => OpKinds::WRITE | OpKinds::TRUNCATE,
            Self::Busy => OpKinds::LOCK,
        }
    }
}

/// A set of kinds of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpKinds(u8);

impl OpKinds {
    /// Reads.
    pub const READ: Self = Self::only(OpKind::Read);
    /// Writes.
    pub const WRITE: Self = Self::only(OpKind::Write);
    /// Syncs.
    pub const SYNC: Self = Self::only(OpKind::Sync);
    /// Truncations.
    pub const TRUNCATE: Self = Self::only(OpKind::Truncate);
    /// Deletions of files.
    pub const DELETE: Self = Self::only(OpKind::Delete);
    /// Locks of files and of shared memory, not their release.
    pub const LOCK: Self = Self::only(OpKind::Lock);
    /// All of them.
    pub const ALL: Self = Self((1 << OpKind::COUNT) - 1);

    const fn only(kind: OpKind) -> Self {
        Self(1 << kind as u8)
    }

    const fn has(self, kind: OpKind) -> bool {
        self.0 & Self::only(kind).0 != 0
    }
}

impl BitOr for OpKinds {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// One kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpKind {
    Read,
    Write,
    Sync,
    Truncate,
    Delete,
    Lock,
}

impl OpKind {
    const ALL: [Self; 6] =
        [Self::Read, Self::Write, Self::Sync, Self::Truncate, Self::Delete, Self::Lock];
    const COUNT: usize = Self::ALL.len();
}

/// The operations counted so far, and the faults that wait for theirs.
#[derive(Debug, Default)]
pub(super) struct Faults {
    counts: [u64; OpKind::COUNT],
    armed: Vec<(Fault, u64)>,
    struck: u64,
}

impl Faults {
    pub(super) fn arm(&mut self, fault: Fault) {
        self.armed.push((fault, 0));
    }

    pub(super) fn disarm(&mut self) {
        self.armed.clear();
    }

    /// How many operations have failed on demand.
    pub(super) fn struck(&self) -> u64 {
        self.struck
    }

    /// How many operations of these kinds have been asked for.
    pub(super) fn operations(&self, on: OpKinds) -> u64 {
        let counted = OpKind::ALL.iter().zip(self.counts);
        counted.filter(|(kind, _)| on.has(**kind)).map(|(_, count)| count).sum()
    }

    /// Counts one operation, and says how it fails, if it does.
    pub(super) fn strike(&mut self, kind: OpKind) -> Option<FaultKind> {
        if let Some(count) = self.counts.get_mut(kind as usize) {
            *count += 1;
        }
        let mut answer = None;
        for (fault, seen) in &mut self.armed {
            if !fault.on.has(kind) || !fault.kind.suits().has(kind) {
                continue;
            }
            if *seen == fault.after || (fault.forever && *seen > fault.after) {
                answer = answer.or(Some(fault.kind));
            }
            *seen += 1;
        }
        self.struck += u64::from(answer.is_some());
        answer
    }
}
