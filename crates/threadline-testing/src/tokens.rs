//! A counter of tokens that is quick and can be checked in the head.

use threadline_core::tokens::TokenCounter;

/// Counts a token for every four bytes begun.
#[derive(Clone, Copy, Debug, Default)]
pub struct QuarterBytes;

impl TokenCounter for QuarterBytes {
    fn id(&self) -> &'static str {
        "quarter_bytes"
    }

    fn count(&self, text: &str) -> u32 {
        u32::try_from(text.len().div_ceil(4)).unwrap_or(u32::MAX)
    }
}
