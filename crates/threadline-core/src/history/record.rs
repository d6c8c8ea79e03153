//! The record: the only durable form of an entry, and the chain that ties records together.
//!
//! A record is two pieces of JSON, the envelope and the body, a salt and a hash:
//!
//! ```text
//! body_hash = BLAKE3(salt ‖ body)
//! hash      = BLAKE3(previous hash ‖ envelope ‖ body_hash)
//! ```
//!
//! The hash is over the stored bytes, never over a re-encoding. The conversation's id is not part
//! of it, so that forks share their prefix; the salt lets a body be erased while the chain still
//! verifies.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::entry::Entry;
use super::fact::{Digest, Fact, is_default};
use super::metadata::Metadata;
use crate::clock::Timestamp;
use crate::id::{AgentId, EntryId, Seq};

/// The largest body of an entry. What is larger becomes an attachment.
pub const BODY_CAP_BYTES: usize = 1024 * 1024;

/// How long an envelope is expected to be, at most.
const ENVELOPE_BYTES: usize = 256;

/// Sixteen random bytes beside a body.
pub type Salt = [u8; 16];

/// The hash before the first entry.
pub const GENESIS: Digest = Digest([0; 32]);

/// An entry as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Everything about the entry but its fact, as JSON.
    pub envelope: Vec<u8>,
    /// The fact, as JSON.
    pub body: Vec<u8>,
    /// Random bytes that keep the body from being guessed from its hash.
    pub salt: Salt,
    /// The chain up to this entry.
    pub hash: Digest,
}

/// A record that no version of Threadline wrote.
#[derive(Debug, thiserror::Error)]
#[error("the record's envelope cannot be read")]
pub struct UnreadableRecord(#[source] serde_json::Error);

/// An entry that cannot become a record.
#[derive(Debug, thiserror::Error)]
pub enum Unwritable {
    /// The body is over the cap.
    #[error("a body of {bytes} bytes is over the cap of {BODY_CAP_BYTES}")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// The body is not JSON.
    #[error("could not write the entry as JSON")]
    Json(#[source] serde_json::Error),
}

#[derive(Serialize, Deserialize)]
struct Envelope<'a> {
    seq: Seq,
    id: EntryId,
    at: Timestamp,
    #[serde(default, skip_serializing_if = "is_default")]
    agent: AgentId,
    #[serde(default, skip_serializing_if = "is_default")]
    cause: Option<Seq>,
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    metadata: Cow<'a, Metadata>,
}

impl Record {
    /// The record of an entry that follows the entry with the hash `previous`.
    pub fn seal(entry: &Entry, salt: Salt, previous: Digest) -> Result<Self, Unwritable> {
        let body = entry.fact.to_body().map_err(Unwritable::Json)?;
        if body.len() > BODY_CAP_BYTES {
            return Err(Unwritable::TooLarge { bytes: body.len() });
        }
        let said = Envelope {
            seq: entry.seq,
            id: entry.id,
            at: entry.at,
            agent: entry.agent,
            cause: entry.cause,
            kind: Cow::Borrowed(entry.fact.kind()),
            metadata: Cow::Borrowed(&entry.metadata),
        };
        let mut envelope = Vec::with_capacity(ENVELOPE_BYTES);
        serde_json::to_writer(&mut envelope, &said).map_err(Unwritable::Json)?;
        let hash = chain(previous, &envelope, &salt, &body);
        Ok(Self { envelope, body, salt, hash })
    }

    /// The entry in this record.
    pub fn open(&self) -> Result<Entry, UnreadableRecord> {
        let envelope: Envelope<'_> =
            serde_json::from_slice(&self.envelope).map_err(UnreadableRecord)?;
        Ok(Entry {
            seq: envelope.seq,
            id: envelope.id,
            at: envelope.at,
            agent: envelope.agent,
            cause: envelope.cause,
            metadata: envelope.metadata.into_owned(),
            fact: Fact::from_body(&envelope.kind, &self.body),
        })
    }

    /// Whether this record follows the entry with the hash `previous`, unchanged.
    pub fn follows(&self, previous: Digest) -> bool {
        chain(previous, &self.envelope, &self.salt, &self.body) == self.hash
    }

    /// The bytes it takes: what is stored of it, without the store's own overhead.
    pub fn size(&self) -> usize {
        self.envelope.len() + self.body.len() + self.salt.len() + self.hash.0.len()
    }
}

fn chain(previous: Digest, envelope: &[u8], salt: &Salt, body: &[u8]) -> Digest {
    let body_hash = blake3::Hasher::new().update(salt).update(body).finalize();
    let mut hasher = blake3::Hasher::new();
    hasher.update(&previous.0).update(envelope).update(body_hash.as_bytes());
    Digest(*hasher.finalize().as_bytes())
}
