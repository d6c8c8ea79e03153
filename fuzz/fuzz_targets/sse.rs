//! Any bytes are events, the same ones in whatever chunks they come.
#![no_main]

use libfuzzer_sys::fuzz_target;
use threadline_providers::sse::{Frame, Sse, TooLarge};

fuzz_target!(|input: &[u8]| {
    let Some((seed, bytes)) = input.split_first() else { return };
    let whole = frames(&[bytes]);
    assert_eq!(frames(&threadline_fuzz::chunks(bytes, *seed)), whole);
    assert_eq!(frames(&bytes.chunks(1).collect::<Vec<_>>()), whole);
});

/// What chunks come to: a line for each part, and whether one of them was too large.
fn frames(chunks: &[&[u8]]) -> (Vec<String>, Result<(), TooLarge>) {
    let mut seen = Vec::new();
    let mut sse = Sse::capped(100);
    let mut each = |frame: Frame<'_>| {
        seen.push(format!("{frame:?}"));
        Ok::<(), TooLarge>(())
    };
    let pushed = chunks.iter().try_for_each(|chunk| sse.push(chunk, &mut each));
    let read = pushed.and_then(|()| sse.end(&mut each));
    (seen, read)
}
