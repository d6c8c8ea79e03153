//! The writing of captures, in a thread of its own.

use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
#[cfg(unix)]
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;
use threadline_core::redact::{RedactStream, Redactor};

use super::{Captured, hidden};

/// One thing to be written.
#[derive(Debug)]
pub(super) enum Job {
    /// A request, and the file of its answer.
    Begin { number: u64, name: String, request: Box<Captured>, redactor: Arc<Redactor> },
    /// More of an answer.
    Bytes(u64, Bytes),
    /// An answer is at its end, one way or another.
    End(u64),
}

/// Writes until nobody captures any more. What cannot be written is said once.
pub(super) fn all(folder: &Path, jobs: &Receiver<Job>) {
    let mut open = BTreeMap::new();
    let mut told = false;
    for job in jobs {
        if let Err(error) = one(folder, &mut open, job)
            && !told
        {
            told = true;
            tracing::warn!(%error, folder = %folder.display(), "could not capture to the folder");
        }
    }
    for (_, file) in open {
        file.end().unwrap_or_default();
    }
}

fn one(folder: &Path, open: &mut BTreeMap<u64, Out>, job: Job) -> io::Result<()> {
    match job {
        Job::Begin { number, name, request, redactor } => {
            let asked = as_json(&request)?;
            let mut file = Out::new(&folder.join(format!("{name}.request.json")), &redactor)?;
            file.write(&asked)?;
            file.end()?;
            let answer = folder.join(format!("{name}.response"));
            open.insert(number, Out::new(&answer, &redactor)?);
            Ok(())
        }
        Job::Bytes(number, bytes) => match open.get_mut(&number) {
            Some(file) => file.write(&bytes),
            None => Ok(()),
        },
        Job::End(number) => open.remove(&number).map_or(Ok(()), Out::end),
    }
}

/// A file that never shows a key, wherever the pieces that are written to it are cut.
struct Out {
    file: BufWriter<File>,
    redacted: RedactStream,
}

impl Out {
    fn new(path: &Path, redactor: &Arc<Redactor>) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        options.mode(0o600);
        let redacted = RedactStream::new(Arc::clone(redactor));
        Ok(Self { file: BufWriter::new(options.open(path)?), redacted })
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(&self.redacted.push(bytes))
    }

    fn end(mut self) -> io::Result<()> {
        self.file.write_all(&self.redacted.finish())?;
        self.file.flush()
    }
}

/// Makes the folder of captures, for the user alone. One that is there stays as it is: it may be
/// anybody's.
pub(super) fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    builder.mode(0o700);
    builder.create(folder)
}

#[derive(Serialize)]
struct AsJson<'a> {
    method: &'a str,
    url: String,
    headers: Vec<(&'a str, &'a str)>,
    body: Body<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Body<'a> {
    Json(&'a RawValue),
    Text(String),
}

fn as_json(request: &Captured) -> io::Result<Vec<u8>> {
    let Captured { method, url, headers, key_header, body } = request;
    let headers = headers.iter().map(|(name, value)| (&**name, hidden::header(name, value)));
    let key = key_header.map(|name| (name, hidden::HIDDEN));
    let body = match serde_json::from_slice::<&RawValue>(body) {
        Ok(json) => Body::Json(json),
        Err(_) => Body::Text(String::from_utf8_lossy(body).into_owned()),
    };
    let all = AsJson { method, url: hidden::url(url), headers: headers.chain(key).collect(), body };
    let mut out = serde_json::to_vec(&all)?;
    out.push(b'\n');
    Ok(out)
}
