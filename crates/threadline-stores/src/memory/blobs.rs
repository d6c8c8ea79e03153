//! Attachments in memory.

use async_trait::async_trait;
use threadline_core::history::fact::Digest;
use threadline_core::store::{Blobs, PIECE_CAP_BYTES, StoreError, Upload};

use super::{Content, MemoryStore};

#[async_trait]
impl Blobs for MemoryStore {
    async fn begin_upload(&self) -> Result<Upload, StoreError> {
        let mut content = self.content();
        let upload = Upload(content.number());
        content.uploads.insert(upload, (self.handle, Vec::new()));
        Ok(upload)
    }

    async fn upload(&self, upload: Upload, piece: Vec<u8>) -> Result<(), StoreError> {
        if piece.len() > PIECE_CAP_BYTES {
            return Err(StoreError::TooLarge { what: "a piece", cap: PIECE_CAP_BYTES });
        }
        self.begun(&mut self.content(), upload)?.extend(piece);
        Ok(())
    }

    async fn finish_upload(&self, upload: Upload) -> Result<Digest, StoreError> {
        let mut content = self.content();
        let bytes = std::mem::take(self.begun(&mut content, upload)?);
        content.uploads.remove(&upload);
        let digest = Digest::of(&bytes);
        content.blobs.insert(digest, bytes);
        Ok(digest)
    }

    async fn abandon_upload(&self, upload: Upload) -> Result<(), StoreError> {
        self.content().uploads.remove(&upload);
        Ok(())
    }

    async fn blob_size(&self, digest: Digest) -> Result<Option<u64>, StoreError> {
        let content = self.content();
        Ok(content.blobs.get(&digest).and_then(|bytes| u64::try_from(bytes.len()).ok()))
    }

    async fn blob(&self, digest: Digest, offset: u64, most: usize) -> Result<Vec<u8>, StoreError> {
        let content = self.content();
        let bytes = content.blobs.get(&digest).ok_or(StoreError::NoAttachment(digest))?;
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        Ok(bytes.iter().skip(offset).take(most).copied().collect())
    }
}

impl MemoryStore {
    fn begun<'a>(
        &self,
        content: &'a mut Content,
        upload: Upload,
    ) -> Result<&'a mut Vec<u8>, StoreError> {
        let found = content.uploads.get_mut(&upload).filter(|(handle, _)| *handle == self.handle);
        let gone =
            || StoreError::Invalid("this upload is not under way; begin it again".to_owned());
        found.map(|(_, bytes)| bytes).ok_or_else(gone)
    }
}
