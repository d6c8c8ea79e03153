//! Attachments: streamed in as chunks, and kept once under their digest.

use std::sync::PoisonError;

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension as _, params};
use threadline_core::history::fact::Digest;
use threadline_core::store::{Blobs, PIECE_CAP_BYTES, StoreError, Upload};

use super::SqliteStore;
use super::error::{Failure, damaged};
use super::number::{count, int};

/// The size of all chunks of an attachment but the last.
const CHUNK_BYTES: usize = 256 * 1024;
const INDEX_BITS: u32 = 20;

/// An upload under way.
#[derive(Clone, Default)]
pub(super) struct Uploading {
    hasher: blake3::Hasher,
    /// What does not fill a chunk yet.
    rest: Vec<u8>,
    chunks: i64,
    size: u64,
}

impl Uploading {
    /// Adds a piece, and gives the chunks that are full now.
    fn add(&mut self, piece: &[u8]) -> Vec<Vec<u8>> {
        self.hasher.update(piece);
        self.size = self.size.saturating_add(u64::try_from(piece.len()).unwrap_or(u64::MAX));
        self.rest.extend_from_slice(piece);
        let mut full = Vec::new();
        while self.rest.len() >= CHUNK_BYTES {
            let rest = self.rest.split_off(CHUNK_BYTES);
            full.push(std::mem::replace(&mut self.rest, rest));
        }
        full
    }
}

#[async_trait]
impl Blobs for SqliteStore {
    async fn begin_upload(&self) -> Result<Upload, StoreError> {
        let run = self.run_name.clone();
        let upload = self
            .write("begin an upload", (0, None), move |connection| {
                connection
                    .prepare_cached("INSERT INTO blob (size, staged) VALUES (0, ?1)")?
                    .execute([&run])?;
                Ok(Upload(count(connection.last_insert_rowid())))
            })
            .await?;
        self.keep_upload(upload, Uploading::default());
        Ok(upload)
    }

    async fn upload(&self, upload: Upload, piece: Vec<u8>) -> Result<(), StoreError> {
        if piece.len() > PIECE_CAP_BYTES {
            return Err(StoreError::TooLarge {
                what: "the piece of an attachment",
                cap: PIECE_CAP_BYTES,
            });
        }
        let before = self.take_upload(upload)?;
        let mut after = before.clone();
        let chunks = after.add(&piece);
        let (num, first) = (int(upload.0), after.chunks);
        after.chunks = after.chunks.saturating_add(i64::try_from(chunks.len()).unwrap_or(i64::MAX));
        let written = if chunks.is_empty() {
            Ok(())
        } else {
            self.write("store a piece of an attachment", (piece.len(), None), move |connection| {
                chunks
                    .iter()
                    .zip(first..)
                    .try_for_each(|(chunk, index)| write_chunk(connection, num, index, chunk))
            })
            .await
        };
        // A piece that could not be written can be sent again.
        self.keep_upload(upload, if written.is_ok() { after } else { before });
        written
    }

    async fn finish_upload(&self, upload: Upload) -> Result<Digest, StoreError> {
        let uploading = self.take_upload(upload)?;
        let digest = Digest(*uploading.hasher.finalize().as_bytes());
        let (num, last) = (int(upload.0), uploading.clone());
        let finished = self
            .write("finish an upload", (uploading.rest.len(), None), move |connection| {
                finish(connection, num, digest, &last)
            })
            .await;
        if finished.is_err() {
            self.keep_upload(upload, uploading);
        }
        finished.map(|()| digest)
    }

    async fn abandon_upload(&self, upload: Upload) -> Result<(), StoreError> {
        if self.take_upload(upload).is_err() {
            return Ok(());
        }
        let num = int(upload.0);
        self.write("abandon an upload", (0, None), move |connection| Ok(leave(connection, num)?))
            .await
    }

    async fn blob_size(&self, digest: Digest) -> Result<Option<u64>, StoreError> {
        self.read_store("look for an attachment", move |connection| {
            Ok(find(connection, digest)?.map(|(_, size)| size))
        })
        .await
    }

    async fn blob(&self, digest: Digest, offset: u64, most: usize) -> Result<Vec<u8>, StoreError> {
        self.read_store("read an attachment", move |connection| {
            let (num, size) = find(connection, digest)?.ok_or(StoreError::NoAttachment(digest))?;
            let most = u64::try_from(most.min(PIECE_CAP_BYTES)).unwrap_or(u64::MAX);
            let end = offset.saturating_add(most).min(size);
            read(connection, num, offset.min(size), end)
        })
        .await
    }
}

impl SqliteStore {
    fn keep_upload(&self, upload: Upload, uploading: Uploading) {
        self.uploads.lock().unwrap_or_else(PoisonError::into_inner).insert(upload, uploading);
    }

    fn take_upload(&self, upload: Upload) -> Result<Uploading, StoreError> {
        let taken = self.uploads.lock().unwrap_or_else(PoisonError::into_inner).remove(&upload);
        taken.ok_or_else(|| {
            StoreError::Invalid(format!("there is no upload {} under way; begin one", upload.0))
        })
    }
}

/// Refuses attachments that are not kept.
pub(super) fn require(connection: &Connection, digests: &[Digest]) -> Result<(), Failure> {
    for digest in digests {
        if find(connection, *digest)?.is_none() {
            return Err(StoreError::NoAttachment(*digest).into());
        }
    }
    Ok(())
}

fn find(connection: &Connection, digest: Digest) -> rusqlite::Result<Option<(i64, u64)>> {
    connection
        .prepare_cached("SELECT num, size FROM blob WHERE digest = ?1")?
        .query_row([digest.0], |row| Ok((row.get(0)?, count(row.get(1)?))))
        .optional()
}

fn write_chunk(connection: &Connection, num: i64, index: i64, chunk: &[u8]) -> Result<(), Failure> {
    if index >> INDEX_BITS != 0 {
        let cap = CHUNK_BYTES << INDEX_BITS;
        return Err(StoreError::TooLarge { what: "the attachment", cap }.into());
    }
    connection
        .prepare_cached("INSERT INTO chunk (id, bytes) VALUES (?1, ?2)")?
        .execute(params![chunk_id(num, index), chunk])?;
    Ok(())
}

fn chunk_id(num: i64, index: i64) -> i64 {
    (num << INDEX_BITS) | index
}

fn finish(
    connection: &Connection,
    num: i64,
    digest: Digest,
    last: &Uploading,
) -> Result<(), Failure> {
    if find(connection, digest)?.is_some() {
        return Ok(leave(connection, num)?);
    }
    if !last.rest.is_empty() {
        write_chunk(connection, num, last.chunks, &last.rest)?;
    }
    connection
        .prepare_cached("UPDATE blob SET digest = ?2, size = ?3, staged = NULL WHERE num = ?1")?
        .execute(params![num, digest.0, int(last.size)])?;
    Ok(())
}

/// Leaves an upload to be removed when there is time.
fn leave(connection: &Connection, num: i64) -> rusqlite::Result<()> {
    connection
        .prepare_cached("UPDATE blob SET staged = '' WHERE num = ?1 AND digest IS NULL")?
        .execute([num])
        .map(drop)
}

/// Removes some chunks of an upload that was left, and at last the upload. Tells whether there
/// was something to remove.
pub(super) fn remove_slice(connection: &Connection, num: i64, chunks: i64) -> rusqlite::Result<()> {
    let removed = connection
        .prepare_cached(
            "DELETE FROM chunk WHERE id IN
               (SELECT id FROM chunk WHERE id BETWEEN ?1 AND ?2 LIMIT ?3)",
        )?
        .execute([chunk_id(num, 0), chunk_id(num + 1, 0) - 1, chunks])?;
    if removed == 0 {
        connection.prepare_cached("DELETE FROM blob WHERE num = ?1")?.execute([num])?;
    }
    Ok(())
}

fn read(connection: &Connection, num: i64, offset: u64, end: u64) -> Result<Vec<u8>, Failure> {
    let chunk_bytes = u64::try_from(CHUNK_BYTES).unwrap_or(u64::MAX);
    let mut bytes = Vec::with_capacity(usize::try_from(end.saturating_sub(offset)).unwrap_or(0));
    let mut statement = connection.prepare_cached("SELECT bytes FROM chunk WHERE id = ?1")?;
    let mut place = offset;
    while place < end {
        let index = place / chunk_bytes;
        let begin = index * chunk_bytes;
        let from = usize::try_from(place - begin).unwrap_or(usize::MAX);
        let to = usize::try_from((end - begin).min(chunk_bytes)).unwrap_or(usize::MAX);
        let found: Option<Vec<u8>> =
            statement.query_row([chunk_id(num, int(index))], |row| row.get(0)).optional()?;
        let part = found.as_deref().and_then(|chunk| chunk.get(from..to));
        let part = part.ok_or_else(|| damaged("a piece of an attachment is missing"))?;
        bytes.extend_from_slice(part);
        place = begin + u64::try_from(to).unwrap_or(u64::MAX);
    }
    Ok(bytes)
}
