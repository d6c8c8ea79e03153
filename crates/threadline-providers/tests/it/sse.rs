//! Our event streams against another reader of them.

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream;
use proptest::prelude::*;
use sse_stream::SseStream;
use threadline_providers::sse::{Frame, Sse, TooLarge};

use crate::recordings;

/// The names and data of all whole events.
fn ours(chunks: &[&[u8]]) -> Vec<(String, String)> {
    let mut events = Vec::new();
    let mut sse = Sse::default();
    for chunk in chunks {
        sse.push(chunk, |frame| {
            if let Frame::Event(event) = frame {
                events.push((event.event.to_owned(), event.data.to_owned()));
            }
            Ok::<(), TooLarge>(())
        })
        .unwrap();
    }
    events
}

/// The same by the other reader, which also gives events without data.
fn theirs(chunks: &[&[u8]]) -> Vec<(String, String)> {
    let chunks = chunks.iter();
    let chunks: Vec<_> =
        chunks.map(|chunk| Ok::<_, std::io::Error>(Bytes::copy_from_slice(chunk))).collect();
    let events = SseStream::from_bytes_stream(stream::iter(chunks)).collect::<Vec<_>>();
    let events = futures_util::FutureExt::now_or_never(events).unwrap();
    let events = events.into_iter().map(Result::unwrap);
    let pair =
        |event: sse_stream::Sse| (event.event.unwrap_or_default(), event.data.unwrap_or_default());
    events.map(pair).filter(|(_, data)| !data.is_empty()).collect()
}

proptest! {
    #[test]
    fn two_readers_read_the_same(
        lines in prop::collection::vec(
            "(data: ?|data|event: ?|: |id: ?|other: )?[a-c :é]{0,4}(\n|\r\n|\r|\n\n|\r\n\r\n)", 0..20,
        ),
        size in 1usize..30,
    ) {
        let bytes = lines.concat().into_bytes();
        let chunks: Vec<&[u8]> = bytes.chunks(size).collect();
        prop_assert_eq!(ours(&chunks), theirs(&chunks));
    }
}

#[test]
fn recorded_streams_are_read_the_same_however_they_are_cut() {
    for folder in ["anthropic", "gemini", "openai-chat", "openai-compatible", "openai-responses"] {
        for case in recordings::cases(folder).into_iter().filter(recordings::Case::is_stream) {
            let bytes = case.raw.as_bytes();
            let whole = ours(&[bytes]);
            assert!(!whole.is_empty(), "{} {}", case.file, case.id);
            assert_eq!(whole, theirs(&[bytes]), "{} {}", case.file, case.id);
            for size in [1, 7, 1000] {
                let chunks: Vec<&[u8]> = bytes.chunks(size).collect();
                assert_eq!(ours(&chunks), whole, "{} {}", case.file, case.id);
            }
        }
    }
}
