//! Open files: what one connection does to one file of a disk.

use std::ffi::c_void;
use std::sync::Arc;

use super::disk::{Disk, DiskError, File, Op, State};
use super::fault::OpKind;
use super::shm::{Level, Owner, ShmRequest};

/// A handle on a file; dropping it closes the file and gives back its locks.
#[derive(Debug)]
pub(super) struct OpenFile {
    disk: Disk,
    id: u64,
    owner: Owner,
}

impl OpenFile {
    /// Opens a file by name, and creates it if it is missing and that is wanted.
    pub(super) fn named(disk: Disk, name: &str, create: bool) -> Result<Self, DiskError> {
        let mut state = disk.state();
        let id = match state.names.get(name) {
            Some(id) => *id,
            None if create => create_file(&mut state, name.into()),
            None => return Err(DiskError::Missing),
        };
        let owner = add_handle(&mut state, id);
        drop(state);
        Ok(Self { disk, id, owner })
    }

    /// Opens a temporary file that nobody else sees.
    pub(super) fn temporary() -> Self {
        let disk = Disk::new();
        let mut state = disk.state();
        let id = state.new_id();
        state.files.insert(id, File::default());
        let owner = add_handle(&mut state, id);
        drop(state);
        Self { disk, id, owner }
    }

    /// Fills the buffer from the file, with zeros after its end, and says how many bytes it had.
    pub(super) fn read(&self, offset: usize, buffer: &mut [u8]) -> Result<usize, DiskError> {
        self.attempt(OpKind::Read)?;
        self.with(|file, _| {
            let rest = file.data.get(offset..).unwrap_or_default();
            let there = rest.len().min(buffer.len());
            let (filled, missing) = buffer.split_at_mut(there);
            filled.copy_from_slice(rest.get(..there).unwrap_or_default());
            missing.fill(0);
            there
        })
    }

    /// Writes bytes, with zeros before them if the file was shorter.
    pub(super) fn write(&self, offset: usize, bytes: &[u8]) -> Result<(), DiskError> {
        self.attempt(OpKind::Write)?;
        self.with(|file, ops| {
            overwrite(Arc::make_mut(&mut file.data), offset, bytes);
            if let Some(name) = &file.name {
                ops.push(Op::Write { file: name.clone(), offset, data: bytes.into() });
            }
        })
    }

    /// Cuts the file, or lengthens it with zeros.
    pub(super) fn truncate(&self, size: usize) -> Result<(), DiskError> {
        self.attempt(OpKind::Truncate)?;
        self.with(|file, ops| {
            Arc::make_mut(&mut file.data).resize(size, 0);
            if let Some(name) = &file.name {
                ops.push(Op::Truncate { file: name.clone(), size });
            }
        })
    }

    /// Makes durable what was done to the file.
    pub(super) fn sync(&self) -> Result<(), DiskError> {
        let attempt = self.attempt(OpKind::Sync);
        self.with(|file, ops| {
            if let Some(name) = &file.name {
                let file = name.clone();
                ops.push(match attempt {
                    Ok(()) => Op::Sync { file },
                    Err(_) => Op::SyncFailed { file },
                });
            }
        })?;
        attempt
    }

    /// How many bytes the file has.
    pub(super) fn size(&self) -> Result<usize, DiskError> {
        self.with(|file, _| file.data.len())
    }

    /// Raises the lock on the file.
    pub(super) fn lock(&self, level: Level) -> Result<(), DiskError> {
        self.attempt(OpKind::Lock)?;
        let granted = self.with(|file, _| file.locks.lock(self.owner, level))?;
        if granted { Ok(()) } else { Err(DiskError::Locked) }
    }

    /// Lowers the lock on the file.
    pub(super) fn unlock(&self, level: Level) -> Result<(), DiskError> {
        self.with(|file, _| file.locks.unlock(self.owner, level))
    }

    /// Whether anyone is about to write to the file.
    pub(super) fn is_reserved(&self) -> Result<bool, DiskError> {
        self.with(|file, _| file.locks.is_reserved())
    }

    /// The address of a region of the memory shared by all connections to this file.
    ///
    /// It holds until [`OpenFile::shm_unmap`], or until the handle is dropped.
    pub(super) fn shm_map(
        &self,
        region: usize,
        bytes: usize,
        extend: bool,
    ) -> Result<Option<*mut c_void>, DiskError> {
        self.with(|file, _| file.shm.map(self.owner, region, bytes, extend))
    }

    /// Takes or gives back locks on the shared memory.
    pub(super) fn shm_lock(&self, mask: u8, request: ShmRequest) -> Result<(), DiskError> {
        if request != ShmRequest::Unlock {
            self.attempt(OpKind::Lock)?;
        }
        let granted = self.with(|file, _| file.shm.lock(self.owner, mask, request))?;
        if granted { Ok(()) } else { Err(DiskError::Locked) }
    }

    /// Gives back the shared memory and all locks on it.
    pub(super) fn shm_unmap(&self) -> Result<(), DiskError> {
        self.with(|file, _| file.shm.unmap(self.owner))
    }

    fn attempt(&self, kind: OpKind) -> Result<(), DiskError> {
        self.disk.state().attempt(kind)
    }

    fn with<T>(&self, act: impl FnOnce(&mut File, &mut Vec<Op>) -> T) -> Result<T, DiskError> {
        let state = &mut *self.disk.state();
        let file = state.files.get_mut(&self.id).ok_or(DiskError::Missing)?;
        Ok(act(file, &mut state.ops))
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        let mut state = self.disk.state();
        if let Some(file) = state.files.get_mut(&self.id) {
            file.locks.unlock(self.owner, Level::None);
            file.shm.unmap(self.owner);
            file.handles = file.handles.saturating_sub(1);
        }
        state.forget_if_unused(self.id);
    }
}

fn create_file(state: &mut State, name: Arc<str>) -> u64 {
    let id = state.new_id();
    state.names.insert(name.clone(), id);
    state.files.insert(id, File { name: Some(name.clone()), ..File::default() });
    state.ops.push(Op::Create { file: name });
    id
}

fn add_handle(state: &mut State, id: u64) -> Owner {
    if let Some(file) = state.files.get_mut(&id) {
        file.handles += 1;
    }
    state.new_id()
}

/// Puts bytes into a file's contents, with zeros before them if it was shorter.
pub(super) fn overwrite(data: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset.saturating_add(bytes.len());
    if data.len() < end {
        data.resize(end, 0);
    }
    if let Some(target) = data.get_mut(offset..end) {
        target.copy_from_slice(bytes);
    }
}
