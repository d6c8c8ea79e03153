//! Capture: requests and answers in files, for bug reports, without secrets.
//!
//! Each invocation makes two files: `0001-model.request.json` with where it went, its headers and
//! its body, and `0001-model.response` with the status, the headers and the bytes of the body as
//! they came, also if they broke off. What looks like a secret in a header or an address is hidden,
//! and so are the keys that the process knows, wherever they appear and however they are encoded.
//! Only the user can read the files.
//!
//! A thread of its own writes them. An answer never waits for it: if the disk does not keep up,
//! what is captured has a gap, which is said in the file.

mod hidden;
mod write;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use bytes::Bytes;
use threadline_core::redact::Redactor;
use threadline_core::sanitise;

use self::write::Job;

/// The most that is kept of one answer.
pub const ANSWER_CAP_BYTES: usize = 32 * 1024 * 1024;
/// How many pieces may wait to be written.
const WAITING_CAP: usize = 1024;
/// The longest part of a file's name that is the model's.
const NAME_CAP_CHARS: usize = 60;

/// A folder to which invocations are captured. Dropping it waits until all is written.
#[derive(Debug)]
pub struct Capture {
    next: AtomicU64,
    /// Gone only while it is dropped.
    jobs: Option<SyncSender<Job>>,
    writer: Option<JoinHandle<()>>,
}

/// A request as it is captured.
#[derive(Clone, Debug)]
pub struct Captured {
    /// The method.
    pub method: &'static str,
    /// Where it goes.
    pub url: String,
    /// Its headers without the key.
    pub headers: Vec<(String, String)>,
    /// The name of the header that carries the key.
    pub key_header: Option<&'static str>,
    /// Its body: JSON.
    pub body: Bytes,
}

/// The capture of one answer. Dropping it completes its file.
#[derive(Debug)]
pub struct Recording {
    number: u64,
    /// It is kept until the last recording has ended.
    capture: Arc<Capture>,
    kept_bytes: usize,
    /// Whether a piece could not be handed over.
    gap: bool,
}

impl Capture {
    /// Captures to a folder, which is made if it is not there; counts on from what is in it.
    pub fn new(folder: &Path) -> io::Result<Self> {
        write::make_folder(folder)?;
        let next = AtomicU64::new(last_number(folder)? + 1);
        let (jobs, waiting) = sync_channel(WAITING_CAP);
        let folder: PathBuf = folder.to_owned();
        let writer = std::thread::Builder::new()
            .name("capture".to_owned())
            .spawn(move || write::all(&folder, &waiting))?;
        Ok(Self { next, jobs: Some(jobs), writer: Some(writer) })
    }

    /// Captures a request, and then what is given to the recording, both redacted.
    pub fn begin(
        self: &Arc<Self>,
        model: &str,
        request: Captured,
        redactor: Arc<Redactor>,
    ) -> Option<Recording> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let name = format!("{number:04}-{}", file_name(model));
        let job = Job::Begin { number, name, request: Box::new(request), redactor };
        // What is not begun cannot be gone on with: then nothing of this one is captured.
        let capture = Arc::clone(self);
        self.give(job).then_some(Recording { number, capture, kept_bytes: 0, gap: false })
    }

    /// Hands a job over, if there is room.
    fn give(&self, job: Job) -> bool {
        self.jobs.as_ref().is_some_and(|jobs| jobs.try_send(job).is_ok())
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if self.writer.take().is_some_and(|writer| writer.join().is_err()) {
            tracing::warn!("the thread that captures stopped before all was written");
        }
    }
}

impl Recording {
    /// The head of the answer.
    pub fn head(&mut self, status: u16, headers: &[(String, String)]) {
        self.give(Job::Bytes(self.number, hidden::head(status, headers).into()));
    }

    /// Bytes of the answer's body, as they came.
    pub fn bytes(&mut self, bytes: &Bytes) {
        let room = ANSWER_CAP_BYTES.saturating_sub(self.kept_bytes);
        if room == 0 {
            return;
        }
        self.kept_bytes += bytes.len().min(room);
        self.give(Job::Bytes(self.number, bytes.slice(..bytes.len().min(room))));
        if bytes.len() >= room {
            self.give(Job::Bytes(self.number, Bytes::from_static(b"\n[the rest is not kept]\n")));
        }
    }

    fn give(&mut self, job: Job) {
        if self.gap {
            let gap = Bytes::from_static(b"\n[a gap: the disk did not keep up]\n");
            self.gap = !self.capture.give(Job::Bytes(self.number, gap));
        }
        self.gap = self.gap || !self.capture.give(job);
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        // If it cannot be said that this is the end, the file ends with the capture.
        self.capture.give(Job::End(self.number));
    }
}

/// The last number in use.
fn last_number(folder: &Path) -> io::Result<u64> {
    let mut last = 0;
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let number = name.to_string_lossy().split('-').next().and_then(|text| text.parse().ok());
        last = last.max(number.unwrap_or(0));
    }
    Ok(last)
}

/// A model's name as part of a file's.
fn file_name(model: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    sanitise::line(model).chars().map(plain).take(NAME_CAP_CHARS).collect()
}

#[cfg(test)]
mod tests;
