//! Connections to the file: one that writes, and a few that only read.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};
use threadline_core::store::StoreError;

use super::Durability;
use super::error::store_error;
use super::migrate;
use crate::private_file;

/// How long a connection waits for another process before it is told that the store is busy.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// The oldest SQLite that is good enough: before it, a reset of the write-ahead log could lose
/// data.
const SQLITE_AT_LEAST: i32 = 3_051_003;
/// The most readers that are kept open.
pub(super) const READERS: usize = 4;
const CACHED_STATEMENTS: usize = 128;
/// The largest value; snapshots are the largest that are written.
const VALUE_CAP_BYTES: i32 = 256 * 1024 * 1024;
const SQL_CAP_BYTES: i32 = 64 * 1024;

/// Where the file is, and how it is opened.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// Its path.
    pub(super) path: PathBuf,
    /// The virtual file system it is on, if not the system's own.
    pub(super) vfs: Option<String>,
    /// How an append is made to last.
    pub(super) durability: Durability,
    /// Whether the file is opened as immutable, without a log and without locks: only if no process
    /// can write to it.
    pub(super) immutable: bool,
}

impl Place {
    /// Refuses a path that cannot be that of a store, before anything is made beside it.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        if self.vfs.is_none() && self.path.is_dir() {
            return Err(StoreError::Unavailable {
                doing: "open the store",
                source: format!("{} is a folder; name a file in it", self.path.display()).into(),
            });
        }
        Ok(())
    }

    /// Opens the connection that writes, and makes the file and its tables if there are none.
    pub(super) fn open_writer(&self) -> Result<Connection, StoreError> {
        if rusqlite::version_number() < SQLITE_AT_LEAST {
            return Err(StoreError::Invalid(format!(
                "SQLite {} is too old: use a build with 3.51.3 or newer",
                rusqlite::version()
            )));
        }
        if self.vfs.is_none() {
            make_file(&self.path)?;
            tighten_files(&self.path);
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let mut connection = self.connect(flags).map_err(|error| self.while_opening(error))?;
        self.prepare_writer(&connection).map_err(|error| self.while_opening(error))?;
        if connection.is_readonly("main").map_err(opening)? {
            return Err(StoreError::ReadOnly(format!(
                "{} may not be written; change its mode or copy it elsewhere",
                self.path.display()
            )));
        }
        if migrate::is_empty(&connection).map_err(|error| self.explain(error))? {
            connection.pragma_update(None, "page_size", 8192).map_err(opening)?;
        }
        let mode = write_ahead(&connection).map_err(|error| self.while_opening(error))?;
        if !mode.eq_ignore_ascii_case("wal") {
            return Err(StoreError::Invalid(format!(
                "the store needs a write-ahead log, but SQLite says {mode:?}: \
                 put it on a local disk"
            )));
        }
        migrate::migrate(&mut connection).map_err(|error| self.explain(error))?;
        Ok(connection)
    }

    /// Opens a store that is there without changing anything, and gives the place that its readers
    /// open.
    pub(super) fn open_only_to_read(self) -> Result<(Connection, Self), StoreError> {
        let immutable = Self { immutable: true, ..self.clone() };
        let (connection, place) = match self.try_reader() {
            Ok(connection) => (connection, self),
            // Without a log that holds anything, the file by itself is all there is.
            Err(_) if self.has_no_log() => {
                let opened = immutable.try_reader().map_err(|error| self.while_opening(error))?;
                (opened, immutable)
            }
            Err(error) => return Err(self.while_opening(error)),
        };
        migrate::require_newest(&connection).map_err(|error| place.explain(error))?;
        Ok((connection, place))
    }

    /// Opens a reader and reads something with it: only then are log and locks looked at.
    fn try_reader(&self) -> rusqlite::Result<Connection> {
        let connection = self.open_reader()?;
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok(connection)
    }

    fn has_no_log(&self) -> bool {
        let mut log = self.path.clone().into_os_string();
        log.push("-wal");
        std::fs::metadata(log)
            .map_or_else(|error| error.kind() == io::ErrorKind::NotFound, |log| log.len() == 0)
    }

    /// Opens a connection that only reads. The file must be there.
    fn open_reader(&self) -> rusqlite::Result<Connection> {
        let connection = self.connect(OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        // A window is small, and the system caches the file: what is kept here is kept twice.
        connection.execute_batch("PRAGMA query_only = ON; PRAGMA cache_size = -768;")?;
        Ok(connection)
    }

    fn connect(&self, flags: OpenFlags) -> rusqlite::Result<Connection> {
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = match &self.vfs {
            Some(vfs) => Connection::open_with_flags_and_vfs(&self.path, flags, vfs.as_str())?,
            None if self.immutable => {
                let flags = flags | OpenFlags::SQLITE_OPEN_URI;
                Connection::open_with_flags(immutable_uri(&self.path), flags)?
            }
            None => Connection::open_with_flags(&self.path, flags)?,
        };
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        // Plans that depend on bound values would be made anew for every value.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, VALUE_CAP_BYTES)?;
        connection.set_limit(Limit::SQLITE_LIMIT_SQL_LENGTH, SQL_CAP_BYTES)?;
        connection.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
        // No memory map: an error of the disk must come back as an error, not as a signal.
        connection.execute_batch(
            "PRAGMA trusted_schema = OFF;
             PRAGMA mmap_size = 0;
             PRAGMA cell_size_check = ON;
             PRAGMA temp_store = MEMORY;
             PRAGMA foreign_keys = OFF;
             PRAGMA recursive_triggers = OFF;",
        )?;
        Ok(connection)
    }

    fn prepare_writer(&self, connection: &Connection) -> rusqlite::Result<()> {
        // The log is copied into the file when nothing is written, or when it has 32 MiB.
        connection.execute_batch(
            "PRAGMA fullfsync = ON;
             PRAGMA checkpoint_fullfsync = ON;
             PRAGMA wal_autocheckpoint = 4096;
             PRAGMA cache_size = -8192;
             PRAGMA journal_size_limit = 67108864;",
        )?;
        let synchronous = match self.durability {
            Durability::Full => "FULL",
            Durability::Normal => "NORMAL",
        };
        connection.pragma_update(None, "synchronous", synchronous)
    }

    fn while_opening(&self, error: rusqlite::Error) -> StoreError {
        self.explain(store_error("open the store", error))
    }

    /// Says which file it is and what to do about it.
    pub(super) fn explain(&self, error: StoreError) -> StoreError {
        match error {
            StoreError::Damaged(why) => StoreError::Damaged(format!(
                "{} cannot be read as a store ({why}); choose another path or restore a backup",
                self.path.display()
            )),
            StoreError::ReadOnly(why) => StoreError::ReadOnly(format!(
                "{}: {why}; choose a path that may be written",
                self.path.display()
            )),
            other => other,
        }
    }
}

/// The URI under which SQLite opens a file as immutable.
fn immutable_uri(path: &Path) -> String {
    use std::fmt::Write as _;
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                uri.push(char::from(*byte));
            }
            // Writing to a string does not fail.
            byte => drop(write!(uri, "%{byte:02x}")),
        }
    }
    uri.push_str("?immutable=1");
    uri
}

/// Asks for a write-ahead log, and tells what there is now.
///
/// The answer comes before the commit: only who reads to the end hears of one that fails.
fn write_ahead(connection: &Connection) -> rusqlite::Result<String> {
    let mut statement = connection.prepare("PRAGMA journal_mode = WAL")?;
    let modes = statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<_>>>()?;
    Ok(modes.into_iter().next().unwrap_or_default())
}

fn opening(error: rusqlite::Error) -> StoreError {
    store_error("open the store", error)
}

/// The error of a call to the file system.
pub(super) fn file_error(doing: &'static str, path: &Path, error: &io::Error) -> StoreError {
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            StoreError::ReadOnly(format!(
                "{}: {error}; choose a path that may be written",
                path.display()
            ))
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full,
        _ => {
            StoreError::Unavailable { doing, source: format!("{}: {error}", path.display()).into() }
        }
    }
}

/// Reads a file to its end, and fails if the disk does.
pub(super) fn read_through(path: &Path) -> Result<(), StoreError> {
    let read = File::open(path).and_then(|mut file| io::copy(&mut file, &mut io::sink()));
    match read {
        Ok(_) => Ok(()),
        Err(error) => Err(StoreError::Unavailable {
            doing: "open the store",
            source: format!(
                "a read of {} failed: {error}; check the disk and its file system",
                path.display()
            )
            .into(),
        }),
    }
}

/// Makes the file, for its owner only, and the folder it is in.
fn make_file(path: &Path) -> Result<(), StoreError> {
    let failed = |error: io::Error| file_error("create the store", path, &error);
    let folder = folder_of(path);
    if !folder.exists() {
        make_folder(folder).map_err(failed)?;
    }
    match private_file::options().write(true).create_new(true).open(path) {
        Ok(file) => file.sync_all().and_then(|()| sync_folder(folder)).map_err(failed),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(failed(error)),
    }
}

/// Takes the access of others to a database and the files beside it away. SQLite gives files that
/// it makes the mode of the database.
fn tighten_files(path: &Path) {
    for end in ["", "-wal", "-shm", "-journal", ".run"] {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        private_file::tighten(Path::new(&name));
    }
}

/// Makes a folder and those above it, for their owner only.
pub(super) fn make_folder(folder: &Path) -> io::Result<()> {
    private_file::make_folder(folder)?;
    sync_folder(folder_of(folder))
}

/// Makes the names in a folder last.
fn sync_folder(folder: &Path) -> io::Result<()> {
    // Windows cannot open a folder as a file, and needs no such call.
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) | None => Path::new("."),
    }
}

/// Connections that only read, opened when they are first needed.
pub(super) struct Readers {
    place: Place,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub(super) fn new(place: Place) -> Self {
        Self { place, idle: Mutex::default() }
    }

    /// Reads with a connection of its own, at one moment of the store.
    pub(super) fn with<T, E: From<rusqlite::Error>>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, E>,
    ) -> Result<T, E> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => self.place.open_reader()?,
        };
        connection.prepare_cached("BEGIN")?.execute([])?;
        let answer = read(&connection);
        // A connection that cannot end its transaction is not used again.
        if connection.prepare_cached("COMMIT").and_then(|mut commit| commit.execute([])).is_ok() {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            if idle.len() < READERS {
                idle.push(connection);
            }
        }
        answer
    }

    /// A connection for one reader alone.
    pub(super) fn open(&self) -> rusqlite::Result<Connection> {
        self.place.open_reader()
    }
}
