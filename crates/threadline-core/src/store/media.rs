//! Reading the bytes of attachments that a request brings.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Blobs, PIECE_CAP_BYTES, StoreError};
use crate::context::MEDIA_CAP_BYTES;
use crate::history::fact::Digest;

/// Reads the bytes of attachments, as far as they are kept. What is larger than a request may bring,
/// whatever was said of its size, is left out. Bytes that are not those that were stored are refused
/// ([`StoreError::Damaged`]).
pub async fn read_media(
    blobs: &dyn Blobs,
    wanted: &[Digest],
) -> Result<BTreeMap<Digest, Arc<[u8]>>, StoreError> {
    let (mut media, mut left) = (BTreeMap::new(), MEDIA_CAP_BYTES);
    for digest in wanted {
        let size = blobs.blob_size(*digest).await?;
        let Some(rest) = size.and_then(|size| left.checked_sub(size)) else { continue };
        left = rest;
        let mut bytes = Vec::new();
        loop {
            let offset = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
            let piece = match blobs.blob(*digest, offset, PIECE_CAP_BYTES).await {
                Err(StoreError::NoAttachment(_)) => break,
                piece => piece?,
            };
            if piece.is_empty() {
                if Digest(*blake3::hash(&bytes).as_bytes()) != *digest {
                    let why = format!("the attachment {digest} is not what was stored");
                    return Err(StoreError::Damaged(why));
                }
                media.insert(*digest, bytes.into());
                break;
            }
            bytes.extend(piece);
        }
    }
    Ok(media)
}
