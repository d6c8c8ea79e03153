//! Attachments: streamed in and out, stored once.

use threadline_core::history::fact::Digest;
use threadline_core::store::{PIECE_CAP_BYTES, Storage, StoreError};

use super::{Case, World};
use crate::ids::Choices;

cases![
    pieces_become_one_attachment,
    any_range_can_be_read,
    the_same_bytes_are_one_attachment,
    nothing_is_kept_of_an_upload_that_is_not_finished,
    what_is_not_kept_is_told,
    uploads_do_not_mix,
    a_piece_that_is_too_large_is_refused,
];

fn bytes(length: usize) -> Vec<u8> {
    let mut choices = Choices::new(u64::try_from(length).unwrap());
    (0..length).map(|_| choices.any().to_le_bytes()[0]).collect()
}

async fn keep(store: &dyn Storage, bytes: &[u8], piece: usize) -> Digest {
    let upload = store.begin_upload().await.unwrap();
    for piece in bytes.chunks(piece) {
        store.upload(upload, piece.to_vec()).await.unwrap();
    }
    store.finish_upload(upload).await.unwrap()
}

/// So many bytes from an offset, or fewer at the end.
async fn range(store: &dyn Storage, digest: Digest, offset: u64, length: usize) -> Vec<u8> {
    let mut read: Vec<u8> = Vec::new();
    while read.len() < length {
        let at = offset + u64::try_from(read.len()).unwrap();
        let piece = store.blob(digest, at, length - read.len()).await.unwrap();
        assert!(piece.len() <= length - read.len());
        if piece.is_empty() {
            break;
        }
        read.extend(piece);
    }
    read
}

async fn pieces_become_one_attachment(world: &World) {
    let store = world.open().await;
    for (length, piece) in
        [(0, 1), (1, 1), (1000, 7), (300_000, 100_000), (2_500_000, PIECE_CAP_BYTES)]
    {
        let bytes = bytes(length);
        let digest = keep(&*store, &bytes, piece).await;
        assert_eq!(digest, Digest::of(&bytes));
        let size = store.blob_size(digest).await.unwrap();
        assert_eq!(size, Some(u64::try_from(length).unwrap()));
        assert_eq!(range(&*store, digest, 0, usize::MAX >> 1).await, bytes);
    }
    let (store, digest) = (world.reopen(store).await, Digest::of(&bytes(300_000)));
    assert_eq!(range(&*store, digest, 0, 300_000).await, bytes(300_000));
}

async fn any_range_can_be_read(world: &World) {
    let store = world.open().await;
    let bytes = bytes(1_100_000);
    let digest = keep(&*store, &bytes, 250_000).await;
    let mut choices = Choices::new(7);
    for _ in 0..40 {
        let (offset, length) = (choices.index(bytes.len()), choices.index(400_000));
        let end = (offset + length).min(bytes.len());
        let read = range(&*store, digest, u64::try_from(offset).unwrap(), length).await;
        assert!(read == bytes[offset..end], "{length} bytes from {offset}");
    }
    for offset in [1_100_000, 1_100_001, u64::MAX] {
        assert!(store.blob(digest, offset, 9).await.unwrap().is_empty());
    }
    assert!(store.blob(digest, 0, 0).await.unwrap().is_empty());
}

async fn the_same_bytes_are_one_attachment(world: &World) {
    let store = world.open().await;
    let bytes = bytes(600_000);
    let first = keep(&*store, &bytes, 600_000).await;
    let second = keep(&*store, &bytes, 1000).await;
    assert_eq!(first, second);
    assert_eq!(range(&*store, first, 0, 700_000).await, bytes);
    let other = world.rig.open("two").await;
    assert_eq!(keep(&*other, &bytes, 77_777).await, first);
    assert_eq!(range(&*other, first, 599_990, 100).await, bytes[599_990..]);
}

async fn nothing_is_kept_of_an_upload_that_is_not_finished(world: &World) {
    let store = world.open().await;
    let digest = Digest::of(b"half a thing");
    let upload = store.begin_upload().await.unwrap();
    store.upload(upload, b"half a thing".to_vec()).await.unwrap();
    assert_eq!(store.blob_size(digest).await.unwrap(), None);
    store.abandon_upload(upload).await.unwrap();
    assert_eq!(store.blob_size(digest).await.unwrap(), None);
    refused!(store.upload(upload, b"more".to_vec()).await, StoreError::Invalid(_));
    refused!(store.finish_upload(upload).await, StoreError::Invalid(_));
    // A process that dies abandons its uploads.
    let upload = store.begin_upload().await.unwrap();
    store.upload(upload, b"half a thing".to_vec()).await.unwrap();
    let store = world.reopen(store).await;
    refused!(store.finish_upload(upload).await, StoreError::Invalid(_));
    assert_eq!(store.blob_size(digest).await.unwrap(), None);
}

async fn what_is_not_kept_is_told(world: &World) {
    let store = world.open().await;
    let digest = Digest::of(b"nowhere");
    assert_eq!(store.blob_size(digest).await.unwrap(), None);
    let refused = store.blob(digest, 0, 9).await;
    assert!(matches!(refused, Err(StoreError::NoAttachment(missing)) if missing == digest));
}

async fn uploads_do_not_mix(world: &World) {
    let store = world.open().await;
    let (one, two) = (store.begin_upload().await.unwrap(), store.begin_upload().await.unwrap());
    assert_ne!(one, two);
    let (left, right) = (bytes(500_000), bytes(400_000));
    for n in 0..5 {
        store.upload(one, left[n * 100_000..(n + 1) * 100_000].to_vec()).await.unwrap();
        store.upload(two, right[n * 80_000..(n + 1) * 80_000].to_vec()).await.unwrap();
    }
    assert_eq!(store.finish_upload(one).await.unwrap(), Digest::of(&left));
    assert_eq!(store.finish_upload(two).await.unwrap(), Digest::of(&right));
    assert_eq!(range(&*store, Digest::of(&left), 0, 500_000).await, left);
    assert_eq!(range(&*store, Digest::of(&right), 0, 500_000).await, right);
    refused!(store.finish_upload(one).await, StoreError::Invalid(_));
}

async fn a_piece_that_is_too_large_is_refused(world: &World) {
    let store = world.open().await;
    let upload = store.begin_upload().await.unwrap();
    store.upload(upload, b"before".to_vec()).await.unwrap();
    let large = vec![0; PIECE_CAP_BYTES + 1];
    refused!(store.upload(upload, large).await, StoreError::TooLarge { .. });
    store.upload(upload, b" and after".to_vec()).await.unwrap();
    assert_eq!(store.finish_upload(upload).await.unwrap(), Digest::of(b"before and after"));
}
