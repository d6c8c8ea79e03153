//! The writing of captures, in a thread of its own.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;
use std::sync::mpsc::Receiver;

use bytes::Bytes;
use memchr::memmem;
use serde::Serialize;
use serde_json::value::RawValue;

use super::{Captured, hidden};
use crate::access::Secret;

/// One thing to be written.
#[derive(Debug)]
pub(super) enum Job {
    /// A request, and the file of its answer.
    Begin { number: u64, name: String, request: Box<Captured>, key: Option<Secret> },
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
        Job::Begin { number, name, request, key } => {
            let asked = as_json(&request)?;
            let mut file = Out::new(&folder.join(format!("{name}.request.json")), key.as_ref())?;
            file.write(&asked)?;
            file.end()?;
            let answer = folder.join(format!("{name}.response"));
            open.insert(number, Out::new(&answer, key.as_ref())?);
            Ok(())
        }
        Job::Bytes(number, bytes) => match open.get_mut(&number) {
            Some(file) => file.write(&bytes),
            None => Ok(()),
        },
        Job::End(number) => open.remove(&number).map_or(Ok(()), Out::end),
    }
}

/// A file that never shows the key, wherever the pieces that are written to it are cut.
struct Out {
    file: BufWriter<File>,
    key: Option<Secret>,
    /// What may be the beginning of the key.
    held: Vec<u8>,
}

impl Out {
    fn new(path: &Path, key: Option<&Secret>) -> io::Result<Self> {
        let key = key.filter(|key| !key.reveal().is_empty()).cloned();
        Ok(Self { file: BufWriter::new(File::create_new(path)?), key, held: Vec::new() })
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(key) = &self.key else { return self.file.write_all(bytes) };
        self.held.extend_from_slice(bytes);
        let mut from = 0;
        let key = key.reveal().as_bytes();
        for found in memmem::find_iter(&self.held, key) {
            self.file.write_all(self.held.get(from..found).unwrap_or_default())?;
            self.file.write_all(hidden::HIDDEN.as_bytes())?;
            from = found + key.len();
        }
        let safe = self.held.len().saturating_sub(key.len() - 1).max(from);
        self.file.write_all(self.held.get(from..safe).unwrap_or_default())?;
        self.held.drain(..safe);
        Ok(())
    }

    fn end(mut self) -> io::Result<()> {
        self.file.write_all(&self.held)?;
        self.file.flush()
    }
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
