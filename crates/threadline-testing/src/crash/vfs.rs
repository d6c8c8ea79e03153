//! The VFS: what `SQLite` calls, translated into what disks do.
//!
//! There is one VFS per process. It is registered once and never goes away, so that no connection can
//! outlive it; the disk is found by the path. Each function here only converts, and each of
//! `SQLite`'s pointers is looked at here and nowhere else.
#![expect(unsafe_code, reason = "SQLite calls a VFS through C pointers")]

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::time::Duration;
use std::{ptr, slice, thread};

use rusqlite::ffi;

use super::disk::{Disk, DiskError};
use super::fault::OpKind;
use super::file::OpenFile;
use super::shm::{Level, ShmRequest};
use crate::ids::Choices;

/// The name of the VFS.
pub(super) const NAME: &str = "threadline-crash";
const C_NAME: &CStr = c"threadline-crash";

/// Noon of 2026-01-01 in milliseconds of the Julian day: the time it always is on these disks.
const NOW: i64 = 210_866_760_000_000 + 1_767_268_800_000;

/// The longest path, with the zero at its end.
const MAX_PATH: c_int = 512;

/// Makes the VFS known to `SQLite`, the first time it is called.
pub(super) fn register() {
    static REGISTERED: OnceLock<c_int> = OnceLock::new();
    REGISTERED.get_or_init(|| {
        let vfs = Box::leak(Box::new(vfs()));
        // SAFETY: the struct is complete, never freed, and from here on only SQLite touches it. If the
        // call fails, opening a connection says that there is no such VFS.
        unsafe { ffi::sqlite3_vfs_register(vfs, 0) }
    });
}

fn vfs() -> ffi::sqlite3_vfs {
    ffi::sqlite3_vfs {
        iVersion: 2,
        szOsFile: size_of::<Handle>().try_into().unwrap_or(c_int::MAX),
        mxPathname: MAX_PATH,
        pNext: ptr::null_mut(),
        zName: C_NAME.as_ptr(),
        pAppData: ptr::null_mut(),
        xOpen: Some(open),
        xDelete: Some(delete),
        xAccess: Some(access),
        xFullPathname: Some(full_pathname),
        xDlOpen: Some(dl_open),
        xDlError: Some(dl_error),
        xDlSym: None,
        xDlClose: None,
        xRandomness: Some(randomness),
        xSleep: Some(sleep),
        xCurrentTime: None,
        xGetLastError: None,
        xCurrentTimeInt64: Some(current_time),
        xSetSystemCall: None,
        xGetSystemCall: None,
        xNextSystemCall: None,
    }
}

static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};

/// What `SQLite` knows an open file by: its own head, and our handle behind it.
#[repr(C)]
struct Handle {
    head: ffi::sqlite3_file,
    file: *mut OpenFile,
}

/// The handle behind a file of `SQLite`'s.
///
/// # Safety
///
/// The file must have been opened by [`open`] with success, and not yet been closed. `SQLite` keeps to
/// that: it calls the methods of a file only between the two. The answer must not outlive the call
/// that it is used in.
unsafe fn handle<'a>(file: *mut ffi::sqlite3_file) -> &'a OpenFile {
    // SAFETY: an open file is a `Handle` whose pointer came from a box that only `close` frees. It is
    // never borrowed mutably in between.
    unsafe { &*(*file.cast::<Handle>()).file }
}

/// The text at a pointer, unless it is null or not UTF-8.
///
/// # Safety
///
/// The pointer must be null or point to a string that ends with zero and lives as long as the answer
/// is used.
unsafe fn text<'a>(pointer: *const c_char) -> Option<&'a str> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: not null, so it is such a string.
    unsafe { CStr::from_ptr(pointer) }.to_str().ok()
}

thread_local! {
    /// Whether this thread's last lock was refused on demand, so that waiting for it is in vain.
    static REFUSED: Cell<bool> = const { Cell::new(false) };
}

fn answer(result: Result<(), DiskError>) -> c_int {
    match result {
        Ok(()) => ffi::SQLITE_OK,
        Err(DiskError::Io(OpKind::Read)) => ffi::SQLITE_IOERR_READ,
        Err(DiskError::Io(OpKind::Write)) => ffi::SQLITE_IOERR_WRITE,
        Err(DiskError::Io(OpKind::Sync)) => ffi::SQLITE_IOERR_FSYNC,
        Err(DiskError::Io(OpKind::Truncate)) => ffi::SQLITE_IOERR_TRUNCATE,
        Err(DiskError::Io(OpKind::Delete)) => ffi::SQLITE_IOERR_DELETE,
        Err(DiskError::Io(OpKind::Lock)) => ffi::SQLITE_IOERR_LOCK,
        Err(DiskError::Full) => ffi::SQLITE_FULL,
        Err(DiskError::Locked) => ffi::SQLITE_BUSY,
        Err(DiskError::RefusedLock) => {
            REFUSED.set(true);
            ffi::SQLITE_BUSY
        }
        Err(DiskError::Missing) => ffi::SQLITE_CANTOPEN,
    }
}

unsafe extern "C" fn open(
    _: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    let opened = if name.is_null() {
        Ok(OpenFile::temporary())
    } else {
        // SAFETY: SQLite passes a string that outlives the file.
        let path = unsafe { text(name) };
        let found = path.and_then(Disk::find).ok_or(DiskError::Missing);
        let create = flags & ffi::SQLITE_OPEN_CREATE != 0;
        found.and_then(|(disk, name)| OpenFile::named(disk, name, create))
    };
    let (result, methods, opened) = match opened {
        Ok(opened) => (Ok(()), ptr::from_ref(&METHODS), Box::into_raw(Box::new(opened))),
        // Without methods SQLite neither uses nor closes the file.
        Err(error) => (Err(error), ptr::null(), ptr::null_mut()),
    };
    let handle = Handle { head: ffi::sqlite3_file { pMethods: methods }, file: opened };
    // SAFETY: SQLite has allocated `szOsFile` bytes for us, aligned for pointers, and `out_flags` is
    // null or points to an integer.
    unsafe {
        file.cast::<Handle>().write(handle);
        if let Some(out) = out_flags.as_mut() {
            *out = flags;
        }
    }
    answer(result)
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: the file is open, and SQLite never uses it again; the box is the one made by `open`.
    unsafe { drop(Box::from_raw((*file.cast::<Handle>()).file)) };
    ffi::SQLITE_OK
}

unsafe extern "C" fn delete(_: *mut ffi::sqlite3_vfs, name: *const c_char, sync: c_int) -> c_int {
    // SAFETY: SQLite passes a string that lives during the call.
    let found = unsafe { text(name) }.and_then(Disk::find).ok_or(DiskError::Missing);
    match found.and_then(|(disk, name)| disk.delete(name, sync != 0)) {
        Err(DiskError::Missing) => ffi::SQLITE_IOERR_DELETE_NOENT,
        result => answer(result),
    }
}

unsafe extern "C" fn access(
    _: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    _: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes a string that lives during the call, and a place for the answer.
    unsafe {
        let found = text(name).and_then(Disk::find);
        *out = c_int::from(found.is_some_and(|(disk, name)| disk.exists(name)));
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn full_pathname(
    _: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    room: c_int,
    out: *mut c_char,
) -> c_int {
    // SAFETY: SQLite passes a string that lives during the call.
    let bytes = unsafe { CStr::from_ptr(name) }.to_bytes_with_nul();
    if usize::try_from(room).is_ok_and(|room| bytes.len() <= room) {
        // SAFETY: `out` has room for that many bytes, and is not where `name` is.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr().cast(), out, bytes.len()) };
        ffi::SQLITE_OK
    } else {
        ffi::SQLITE_CANTOPEN
    }
}

unsafe extern "C" fn dl_open(_: *mut ffi::sqlite3_vfs, _: *const c_char) -> *mut c_void {
    // No extensions: SQLite then never asks for the other functions that load them.
    ptr::null_mut()
}

unsafe extern "C" fn dl_error(_: *mut ffi::sqlite3_vfs, room: c_int, out: *mut c_char) {
    if room > 0 {
        // SAFETY: SQLite passes a buffer of that many bytes; the message is left empty.
        unsafe { out.write(0) };
    }
}

unsafe extern "C" fn randomness(_: *mut ffi::sqlite3_vfs, room: c_int, out: *mut c_char) -> c_int {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let mut choices = Choices::new(CALLS.fetch_add(1, Ordering::Relaxed));
    for at in 0..usize::try_from(room).unwrap_or(0) {
        let [byte, ..] = choices.any().to_ne_bytes();
        // SAFETY: `out` has room for that many bytes.
        unsafe { out.add(at).cast::<u8>().write(byte) };
    }
    room
}

unsafe extern "C" fn sleep(_: *mut ffi::sqlite3_vfs, microseconds: c_int) -> c_int {
    // A lock that was refused on demand does not come free by waiting. Other threads do give theirs
    // back; but there is no device to wait for, so a tenth of the time is plenty.
    if !REFUSED.take() {
        let micros = u64::try_from(microseconds).unwrap_or(0);
        thread::sleep(Duration::from_micros(micros / 10));
    }
    microseconds
}

unsafe extern "C" fn current_time(_: *mut ffi::sqlite3_vfs, out: *mut i64) -> c_int {
    // SAFETY: SQLite passes a place for the answer.
    unsafe { *out = NOW };
    ffi::SQLITE_OK
}

unsafe extern "C" fn read(
    file: *mut ffi::sqlite3_file,
    buffer: *mut c_void,
    amount: c_int,
    offset: i64,
) -> c_int {
    let (Ok(amount), Ok(offset)) = (usize::try_from(amount), usize::try_from(offset)) else {
        return ffi::SQLITE_IOERR_READ;
    };
    // SAFETY: the file is open, and the buffer has that many bytes, which are SQLite's own and which
    // nobody else looks at during the call. They are made zeros first, as they may not be anything yet.
    let read = unsafe {
        buffer.cast::<u8>().write_bytes(0, amount);
        handle(file).read(offset, slice::from_raw_parts_mut(buffer.cast(), amount))
    };
    match read {
        Ok(there) if there < amount => ffi::SQLITE_IOERR_SHORT_READ,
        result => answer(result.map(|_| ())),
    }
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    buffer: *const c_void,
    amount: c_int,
    offset: i64,
) -> c_int {
    let (Ok(amount), Ok(offset)) = (usize::try_from(amount), usize::try_from(offset)) else {
        return ffi::SQLITE_IOERR_WRITE;
    };
    // SAFETY: the file is open, and the buffer has that many bytes, which do not change during the call.
    answer(unsafe { handle(file).write(offset, slice::from_raw_parts(buffer.cast(), amount)) })
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, size: i64) -> c_int {
    let Ok(size) = usize::try_from(size) else {
        return ffi::SQLITE_IOERR_TRUNCATE;
    };
    // SAFETY: the file is open.
    answer(unsafe { handle(file) }.truncate(size))
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, _: c_int) -> c_int {
    // SAFETY: the file is open.
    answer(unsafe { handle(file) }.sync())
}

unsafe extern "C" fn file_size(file: *mut ffi::sqlite3_file, out: *mut i64) -> c_int {
    // SAFETY: the file is open.
    let size = unsafe { handle(file) }.size();
    answer(size.map(|size| {
        // SAFETY: SQLite passes a place for the answer.
        unsafe { *out = i64::try_from(size).unwrap_or(i64::MAX) };
    }))
}

fn level(level: c_int) -> Level {
    match level {
        ffi::SQLITE_LOCK_NONE => Level::None,
        ffi::SQLITE_LOCK_SHARED => Level::Shared,
        ffi::SQLITE_LOCK_RESERVED => Level::Reserved,
        ffi::SQLITE_LOCK_PENDING => Level::Pending,
        _ => Level::Exclusive,
    }
}

unsafe extern "C" fn lock(file: *mut ffi::sqlite3_file, wanted: c_int) -> c_int {
    // SAFETY: the file is open.
    answer(unsafe { handle(file) }.lock(level(wanted)))
}

unsafe extern "C" fn unlock(file: *mut ffi::sqlite3_file, wanted: c_int) -> c_int {
    // SAFETY: the file is open.
    answer(unsafe { handle(file) }.unlock(level(wanted)))
}

unsafe extern "C" fn check_reserved_lock(file: *mut ffi::sqlite3_file, out: *mut c_int) -> c_int {
    // SAFETY: the file is open.
    let reserved = unsafe { handle(file) }.is_reserved();
    answer(reserved.map(|reserved| {
        // SAFETY: SQLite passes a place for the answer.
        unsafe { *out = c_int::from(reserved) };
    }))
}

unsafe extern "C" fn file_control(_: *mut ffi::sqlite3_file, _: c_int, _: *mut c_void) -> c_int {
    ffi::SQLITE_NOTFOUND
}

unsafe extern "C" fn sector_size(_: *mut ffi::sqlite3_file) -> c_int {
    512
}

unsafe extern "C" fn device_characteristics(_: *mut ffi::sqlite3_file) -> c_int {
    ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE
}

unsafe extern "C" fn shm_map(
    file: *mut ffi::sqlite3_file,
    region: c_int,
    bytes: c_int,
    extend: c_int,
    out: *mut *mut c_void,
) -> c_int {
    let (Ok(region), Ok(bytes)) = (usize::try_from(region), usize::try_from(bytes)) else {
        return ffi::SQLITE_IOERR_SHMMAP;
    };
    // SAFETY: the file is open.
    let address = unsafe { handle(file) }.shm_map(region, bytes, extend != 0);
    answer(address.map(|address| {
        // SAFETY: SQLite passes a place for the answer. The address holds until the file is unmapped or
        // closed, which is as long as SQLite uses it.
        unsafe { *out = address.unwrap_or(ptr::null_mut()) };
    }))
}

unsafe extern "C" fn shm_lock(
    file: *mut ffi::sqlite3_file,
    first: c_int,
    count: c_int,
    flags: c_int,
) -> c_int {
    let mask = (first..first.saturating_add(count))
        .filter(|bit| (0..ffi::SQLITE_SHM_NLOCK).contains(bit))
        .fold(0, |mask, bit| mask | (1_u8 << bit));
    let request = if flags & ffi::SQLITE_SHM_UNLOCK != 0 {
        ShmRequest::Unlock
    } else if flags & ffi::SQLITE_SHM_SHARED != 0 {
        ShmRequest::Shared
    } else {
        ShmRequest::Exclusive
    };
    // SAFETY: the file is open.
    answer(unsafe { handle(file) }.shm_lock(mask, request))
}

unsafe extern "C" fn shm_barrier(_: *mut ffi::sqlite3_file) {
    fence(Ordering::SeqCst);
}

unsafe extern "C" fn shm_unmap(file: *mut ffi::sqlite3_file, _: c_int) -> c_int {
    // SAFETY: the file is open, and SQLite no longer uses the addresses it got from `shm_map`.
    answer(unsafe { handle(file) }.shm_unmap())
}
