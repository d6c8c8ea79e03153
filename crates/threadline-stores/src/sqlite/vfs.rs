//! A VFS that writes the frames of a transaction to the write-ahead log at once.
//!
//! `SQLite` writes each frame with two calls, one for its head and one for its page. Here they are
//! gathered and handed on as one write when the log is synced. It stands before another VFS, which
//! opens all files and has the log's bytes before anyone else may look for them:
//!
//! - With `synchronous = FULL`, `SQLite` syncs the log before it tells others of its frames. With
//!   less it does not, and this must not be used.
//! - Frames are written by commits only, and each commit ends with a sync, so that nothing is left
//!   here when another connection may write. That needs `cache_spill = OFF`, and a disk on which a
//!   write leaves the bytes beside it alone: on another, `SQLite` fills up the last sector after the
//!   sync, and nothing is gathered.
//!
//! Every file but the log is the other VFS's own. Each of `SQLite`'s pointers is looked at here and
//! nowhere else.
#![expect(unsafe_code, reason = "SQLite calls a VFS through C pointers")]

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::{Mutex, PoisonError};
use std::{ptr, slice};

use rusqlite::ffi;

use super::gathered::Gathered;

/// The name of the VFS that gathers what is written to a log, before the one of this name, or before
/// the system's own. None if there is no such VFS.
pub(super) fn gathering(base: Option<&str>) -> Option<&'static str> {
    /// What was registered, by the name of what it stands before.
    static KNOWN: Mutex<BTreeMap<&'static CStr, &'static CStr>> = Mutex::new(BTreeMap::new());
    let asked = base.map(CString::new).transpose().ok()?;
    let asked = asked.as_ref().map_or(ptr::null(), |name| name.as_ptr());
    // SAFETY: the name is null, which asks for the system's own, or ends with zero. No VFS is ever
    // taken back in a process with stores, or changed.
    let base: &'static ffi::sqlite3_vfs = unsafe { ffi::sqlite3_vfs_find(asked).as_ref() }?;
    // SAFETY: every VFS has a name that ends with zero.
    let name = unsafe { CStr::from_ptr(base.zName) };
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(ours) = known.get(name) {
        return ours.to_str().ok();
    }
    let ours = CString::new([b"threadline-log-", name.to_bytes()].concat()).ok()?;
    let ours: &'static CStr = Box::leak(ours.into_boxed_c_str());
    let vfs = Box::leak(Box::new(vfs(base, ours)?));
    // SAFETY: the struct is complete, never freed, and from here on only SQLite touches it.
    if unsafe { ffi::sqlite3_vfs_register(vfs, 0) } != ffi::SQLITE_OK {
        return None;
    }
    known.insert(name, ours);
    ours.to_str().ok()
}

fn vfs(base: &'static ffi::sqlite3_vfs, name: &'static CStr) -> Option<ffi::sqlite3_vfs> {
    let head = c_int::try_from(size_of::<Handle>()).ok()?;
    Some(ffi::sqlite3_vfs {
        iVersion: base.iVersion.min(2),
        szOsFile: head.checked_add(base.szOsFile)?,
        mxPathname: base.mxPathname,
        pNext: ptr::null_mut(),
        zName: name.as_ptr(),
        pAppData: ptr::from_ref(base).cast_mut().cast(),
        xOpen: Some(open),
        xDelete: base.xDelete.and(Some(delete)),
        xAccess: base.xAccess.and(Some(access)),
        xFullPathname: base.xFullPathname.and(Some(full_pathname)),
        xDlOpen: Some(dl_open),
        xDlError: Some(dl_error),
        xDlSym: None,
        xDlClose: None,
        xRandomness: base.xRandomness.and(Some(randomness)),
        xSleep: base.xSleep.and(Some(sleep)),
        xCurrentTime: base.xCurrentTime.and(Some(current_time)),
        xGetLastError: base.xGetLastError.and(Some(last_error)),
        xCurrentTimeInt64: base.xCurrentTimeInt64.and(Some(current_time_int64)),
        xSetSystemCall: None,
        xGetSystemCall: None,
        xNextSystemCall: None,
    })
}

/// The VFS that ours stands before.
///
/// # Safety
///
/// The pointer must be the one that was registered by [`gathering`], as it is whenever SQLite calls.
unsafe fn base_of(vfs: *mut ffi::sqlite3_vfs) -> *mut ffi::sqlite3_vfs {
    // SAFETY: it is ours, and `pAppData` is the base that it was made with.
    unsafe { (*vfs).pAppData.cast() }
}

/// Calls a function of the VFS that ours stands before, with the same arguments.
macro_rules! base_vfs {
    ($vfs:ident . $function:ident ($($argument:ident),*) or $none:expr) => {{
        // SAFETY: SQLite calls with our VFS and with arguments that it may call the base's function
        // with. Of what the base has a version without, SQLite does not ask.
        unsafe {
            let base = base_of($vfs);
            (*base).$function.map_or($none, |function| function(base, $($argument),*))
        }
    }};
}

unsafe extern "C" fn delete(vfs: *mut ffi::sqlite3_vfs, name: *const c_char, sync: c_int) -> c_int {
    base_vfs!(vfs.xDelete(name, sync) or ffi::SQLITE_ERROR)
}

unsafe extern "C" fn access(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    base_vfs!(vfs.xAccess(name, flags, out) or ffi::SQLITE_ERROR)
}

unsafe extern "C" fn full_pathname(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    room: c_int,
    out: *mut c_char,
) -> c_int {
    base_vfs!(vfs.xFullPathname(name, room, out) or ffi::SQLITE_ERROR)
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

unsafe extern "C" fn randomness(
    vfs: *mut ffi::sqlite3_vfs,
    room: c_int,
    out: *mut c_char,
) -> c_int {
    base_vfs!(vfs.xRandomness(room, out) or 0)
}

unsafe extern "C" fn sleep(vfs: *mut ffi::sqlite3_vfs, microseconds: c_int) -> c_int {
    base_vfs!(vfs.xSleep(microseconds) or 0)
}

unsafe extern "C" fn current_time(vfs: *mut ffi::sqlite3_vfs, out: *mut f64) -> c_int {
    base_vfs!(vfs.xCurrentTime(out) or ffi::SQLITE_ERROR)
}

unsafe extern "C" fn current_time_int64(vfs: *mut ffi::sqlite3_vfs, out: *mut i64) -> c_int {
    base_vfs!(vfs.xCurrentTimeInt64(out) or ffi::SQLITE_ERROR)
}

unsafe extern "C" fn last_error(
    vfs: *mut ffi::sqlite3_vfs,
    room: c_int,
    out: *mut c_char,
) -> c_int {
    base_vfs!(vfs.xGetLastError(room, out) or 0)
}

/// The log, as `SQLite` knows it. Behind it, in the same allocation, is the base's own file.
#[repr(C)]
struct Handle {
    head: ffi::sqlite3_file,
    gathered: Gathered,
    /// Whether anything is gathered at all.
    gathers: bool,
}

/// What can be done to a log: version 1 has neither shared memory nor a memory map.
static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 1,
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
    xShmMap: None,
    xShmLock: None,
    xShmBarrier: None,
    xShmUnmap: None,
    xFetch: None,
    xUnfetch: None,
};

/// The base's file behind a log of ours.
///
/// # Safety
///
/// The file must have been allocated for our VFS.
unsafe fn behind(file: *mut ffi::sqlite3_file) -> *mut ffi::sqlite3_file {
    // SAFETY: there is room for our handle and for the base's file. The size of the handle is a
    // multiple of what pointers are aligned to, and the base needs no more than that.
    unsafe { file.cast::<Handle>().add(1).cast() }
}

/// Calls a method of the base's own file, with the same arguments.
macro_rules! base_file {
    ($file:ident . $method:ident ($($argument:expr),*) or $none:expr) => {{
        // SAFETY: it is behind a log that SQLite has opened and not closed yet, so that it has
        // methods, and SQLite calls with arguments that it may call the base's method with.
        unsafe {
            let base = behind($file);
            (*(*base).pMethods).$method.map_or($none, |method| method(base, $($argument),*))
        }
    }};
}

unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    let is_log = flags & ffi::SQLITE_OPEN_WAL != 0;
    // SAFETY: SQLite has allocated `szOsFile` bytes: enough for the base's file alone, and for our
    // handle with the base's file behind it. Without methods, SQLite neither uses nor closes a file.
    let theirs = unsafe {
        (*file).pMethods = ptr::null();
        let theirs = if is_log { behind(file) } else { file };
        (*theirs).pMethods = ptr::null();
        theirs
    };
    let opened = base_vfs!(vfs.xOpen(name, theirs, flags, out_flags) or ffi::SQLITE_CANTOPEN);
    // SAFETY: the base has said in its file whether there is anything to use and close.
    if !is_log || unsafe { (*theirs).pMethods.is_null() } {
        return opened;
    }
    let traits = base_file!(file.xDeviceCharacteristics() or 0);
    let handle = Handle {
        head: ffi::sqlite3_file { pMethods: &raw const METHODS },
        gathered: Gathered::default(),
        gathers: traits & ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE != 0,
    };
    // SAFETY: there is room for it, aligned for pointers, before the base's file.
    unsafe { file.cast::<Handle>().write(handle) };
    opened
}

/// Hands on what was gathered for a log.
///
/// # Safety
///
/// The log must have been opened by [`open`] and not yet been closed, and be in use by one thread
/// alone. `SQLite` keeps to both.
unsafe fn hand_on(file: *mut ffi::sqlite3_file) -> Result<(), c_int> {
    // SAFETY: an open log is a `Handle`; the base's file, which is used meanwhile, is not part of it.
    let handle = unsafe { &mut *file.cast::<Handle>() };
    handle.gathered.hand_on(|offset, bytes| {
        let amount = c_int::try_from(bytes.len()).map_err(|_| ffi::SQLITE_IOERR_WRITE)?;
        let buffer = bytes.as_ptr().cast();
        match base_file!(file.xWrite(buffer, amount, offset) or ffi::SQLITE_IOERR_WRITE) {
            ffi::SQLITE_OK => Ok(()),
            error => Err(error),
        }
    })
}

/// Calls a method of the base's own file, once it has all that was written.
macro_rules! whole_file {
    ($file:ident . $method:ident ($($argument:expr),*) or $none:expr) => {{
        // SAFETY: SQLite calls with an open log, from one thread at a time.
        match unsafe { hand_on($file) } {
            Ok(()) => base_file!($file.$method($($argument),*) or $none),
            Err(error) => error,
        }
    }};
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    buffer: *const c_void,
    amount: c_int,
    offset: i64,
) -> c_int {
    let Ok(length) = usize::try_from(amount) else { return ffi::SQLITE_IOERR_WRITE };
    // SAFETY: an open log is a `Handle`, which only one thread uses at a time.
    let handle = unsafe { &mut *file.cast::<Handle>() };
    if !handle.gathers {
        return base_file!(file.xWrite(buffer, amount, offset) or ffi::SQLITE_IOERR_WRITE);
    }
    if !handle.gathered.takes(offset, length) {
        // SAFETY: as above; `handle` is not used meanwhile.
        if let Err(error) = unsafe { hand_on(file) } {
            return error;
        }
    }
    // SAFETY: as above, and the buffer has that many bytes, which do not change during the call.
    unsafe {
        let handle = &mut *file.cast::<Handle>();
        handle.gathered.add(offset, slice::from_raw_parts(buffer.cast(), length));
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    whole_file!(file.xSync(flags) or ffi::SQLITE_IOERR_FSYNC)
}

unsafe extern "C" fn read(
    file: *mut ffi::sqlite3_file,
    buffer: *mut c_void,
    amount: c_int,
    offset: i64,
) -> c_int {
    whole_file!(file.xRead(buffer, amount, offset) or ffi::SQLITE_IOERR_READ)
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, size: i64) -> c_int {
    whole_file!(file.xTruncate(size) or ffi::SQLITE_IOERR_TRUNCATE)
}

unsafe extern "C" fn file_size(file: *mut ffi::sqlite3_file, out: *mut i64) -> c_int {
    whole_file!(file.xFileSize(out) or ffi::SQLITE_IOERR_FSTAT)
}

unsafe extern "C" fn file_control(
    file: *mut ffi::sqlite3_file,
    what: c_int,
    argument: *mut c_void,
) -> c_int {
    whole_file!(file.xFileControl(what, argument) or ffi::SQLITE_NOTFOUND)
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: the log is open.
    let handed_on = unsafe { hand_on(file) };
    let closed = base_file!(file.xClose() or ffi::SQLITE_OK);
    // SAFETY: the handle is the one made by `open`, and SQLite never uses it again.
    unsafe { ptr::drop_in_place(file.cast::<Handle>()) };
    handed_on.map_or_else(|error| error, |()| closed)
}

unsafe extern "C" fn lock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    base_file!(file.xLock(level) or ffi::SQLITE_IOERR_LOCK)
}

unsafe extern "C" fn unlock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    base_file!(file.xUnlock(level) or ffi::SQLITE_IOERR_UNLOCK)
}

unsafe extern "C" fn check_reserved_lock(file: *mut ffi::sqlite3_file, out: *mut c_int) -> c_int {
    base_file!(file.xCheckReservedLock(out) or ffi::SQLITE_IOERR_CHECKRESERVEDLOCK)
}

unsafe extern "C" fn sector_size(file: *mut ffi::sqlite3_file) -> c_int {
    base_file!(file.xSectorSize() or 0)
}

unsafe extern "C" fn device_characteristics(file: *mut ffi::sqlite3_file) -> c_int {
    base_file!(file.xDeviceCharacteristics() or 0)
}
