//! Disks: named files in memory, and the journal of all that was done to them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use rusqlite::{Connection, OpenFlags};

use super::fault::{Fault, FaultKind, Faults, OpKind, OpKinds};
use super::image::Image;
use super::shm::{FileLocks, Shm};
use super::vfs;

/// A file system in memory that remembers everything that was done to it.
///
/// Clones are the same disk. Files that are still open keep it alive.
#[derive(Clone, Debug)]
pub struct Disk {
    shared: Arc<Shared>,
}

/// One thing that happened to a disk, in the order it happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// A file came to be.
    Create {
        /// Its name.
        file: Arc<str>,
    },
    /// Bytes were written.
    Write {
        /// The file's name.
        file: Arc<str>,
        /// Where the bytes begin.
        offset: usize,
        /// The bytes.
        data: Arc<[u8]>,
    },
    /// A file was cut or lengthened with zeros.
    Truncate {
        /// The file's name.
        file: Arc<str>,
        /// Its size from then on.
        size: usize,
    },
    /// All that was done to a file became durable.
    Sync {
        /// The file's name.
        file: Arc<str>,
    },
    /// A sync was refused, and the writes before it are lost.
    SyncFailed {
        /// The file's name.
        file: Arc<str>,
    },
    /// A file was deleted.
    Delete {
        /// Its name.
        file: Arc<str>,
        /// Whether the deletion is durable without a sync.
        durable: bool,
    },
    /// The test took note of something, usually of an acknowledged append.
    Mark(u64),
}

/// All operations of a disk, and what was on it before the first.
#[derive(Clone, Debug)]
pub struct Journal {
    pub(super) base: Image,
    pub(super) ops: Vec<Op>,
}

impl Journal {
    /// The operations, oldest first.
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }
}

impl Disk {
    /// Makes an empty disk.
    pub fn new() -> Self {
        Self::from_image(&Image::default())
    }

    /// Makes a disk that holds what a crash left behind, all of it durable.
    pub fn from_image(image: &Image) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let shared = Arc::new(Shared { id, state: Mutex::new(State::new(image.clone())) });
        lock(&DISKS).insert(id, Arc::downgrade(&shared));
        Self { shared }
    }

    /// The name of the VFS that serves disks, the same for all of them.
    ///
    /// Which disk is meant, the path says: see [`Disk::path`].
    pub fn vfs(&self) -> &'static str {
        vfs::register();
        vfs::NAME
    }

    /// The path that means this file of this disk to the VFS.
    ///
    /// Everything else calls the file `name`: the journal, and images.
    pub fn path(&self, name: &str) -> String {
        format!("disk{}-{name}", self.shared.id)
    }

    /// Opens a connection to a database on this disk, and creates the file if need be.
    pub fn connect(&self, name: &str) -> Result<Connection, rusqlite::Error> {
        Connection::open_with_flags_and_vfs(self.path(name), OpenFlags::default(), self.vfs())
    }

    /// Notes in the journal that something happened, usually that append `n` was acknowledged.
    pub fn mark(&self, n: u64) {
        self.state().ops.push(Op::Mark(n));
    }

    /// Everything that was done to this disk so far.
    pub fn journal(&self) -> Journal {
        let state = self.state();
        Journal { base: state.base.clone(), ops: state.ops.clone() }
    }

    /// What is on the disk now, synced or not: what a killed process leaves behind.
    pub fn image(&self) -> Image {
        let state = self.state();
        let named = state.names.iter();
        let files =
            named.filter_map(|(name, id)| Some((name.clone(), state.files.get(id)?.data.clone())));
        Image::from_files(files.collect())
    }

    /// Makes an operation fail, from now on.
    pub fn fail(&self, fault: Fault) {
        self.state().faults.arm(fault);
    }

    /// Takes all faults back, those to come as well.
    pub fn heal(&self) {
        self.state().faults.disarm();
    }

    /// How many operations of these kinds were asked for since the disk was made.
    pub fn operations(&self, on: OpKinds) -> u64 {
        self.state().faults.operations(on)
    }

    /// How many operations failed because of a [`Fault`].
    pub fn failures(&self) -> u64 {
        self.state().faults.struck()
    }

    /// The disk and the name of the file that a path means.
    pub(super) fn find(path: &str) -> Option<(Self, &str)> {
        let (id, name) = path.strip_prefix("disk")?.split_once('-')?;
        let id = id.parse().ok()?;
        let shared = lock(&DISKS).get(&id).and_then(Weak::upgrade)?;
        Some((Self { shared }, name))
    }

    /// Whether there is a file of this name, with something in it.
    pub(super) fn exists(&self, name: &str) -> bool {
        // An empty file counts as absent, as in SQLite's own VFS for Unix.
        let state = self.state();
        let file = state.names.get(name).and_then(|id| state.files.get(id));
        file.is_some_and(|file| !file.data.is_empty())
    }

    /// Deletes a file; handles on it go on working.
    pub(super) fn delete(&self, name: &str, durable: bool) -> Result<(), DiskError> {
        let mut state = self.state();
        state.attempt(OpKind::Delete)?;
        let (file, id) = state.names.remove_entry(name).ok_or(DiskError::Missing)?;
        if let Some(entry) = state.files.get_mut(&id) {
            entry.name = None;
        }
        state.forget_if_unused(id);
        state.ops.push(Op::Delete { file, durable });
        Ok(())
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.shared.state)
    }
}

impl Default for Disk {
    fn default() -> Self {
        Self::new()
    }
}

/// Why a disk refused an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DiskError {
    /// The device failed, on demand.
    Io(OpKind),
    /// The disk is full, on demand.
    Full,
    /// Another connection holds the lock.
    Locked,
    /// The lock is refused on demand, and waiting does not help.
    RefusedLock,
    /// There is no such file.
    Missing,
}

/// All disks that are still in use, by the number in their paths.
static DISKS: Mutex<BTreeMap<u64, Weak<Shared>>> = Mutex::new(BTreeMap::new());

#[derive(Debug)]
struct Shared {
    id: u64,
    state: Mutex<State>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        lock(&DISKS).remove(&self.id);
    }
}

/// What is on a disk, and what was.
#[derive(Debug)]
pub(super) struct State {
    base: Image,
    pub(super) ops: Vec<Op>,
    pub(super) names: BTreeMap<Arc<str>, u64>,
    pub(super) files: BTreeMap<u64, File>,
    next_id: u64,
    faults: Faults,
}

/// The contents of a file, whether or not it still has a name.
#[derive(Debug, Default)]
pub(super) struct File {
    /// None once deleted, and for temporary files: what is done to these leaves no trace.
    pub(super) name: Option<Arc<str>>,
    pub(super) data: Arc<Vec<u8>>,
    pub(super) handles: usize,
    pub(super) locks: FileLocks,
    pub(super) shm: Shm,
}

impl State {
    fn new(base: Image) -> Self {
        let mut state = Self {
            base: base.clone(),
            ops: Vec::new(),
            names: BTreeMap::new(),
            files: BTreeMap::new(),
            next_id: 1,
            faults: Faults::default(),
        };
        for (name, data) in base.into_files() {
            let id = state.new_id();
            state.names.insert(name.clone(), id);
            state.files.insert(id, File { name: Some(name), data, ..File::default() });
        }
        state
    }

    /// A number that no file and no handle of this disk has.
    pub(super) fn new_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// Counts an operation that is about to happen, unless a fault prevents it.
    pub(super) fn attempt(&mut self, kind: OpKind) -> Result<(), DiskError> {
        match self.faults.strike(kind) {
            None => Ok(()),
            Some(FaultKind::Io) => Err(DiskError::Io(kind)),
            Some(FaultKind::Full) => Err(DiskError::Full),
            Some(FaultKind::Busy) => Err(DiskError::RefusedLock),
        }
    }

    /// Drops the contents of a file that has neither a name nor a handle.
    pub(super) fn forget_if_unused(&mut self, id: u64) {
        if self.files.get(&id).is_some_and(|file| file.name.is_none() && file.handles == 0) {
            self.files.remove(&id);
        }
    }
}

/// Locks, and goes on after another thread's panic: the test that panicked reports it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
