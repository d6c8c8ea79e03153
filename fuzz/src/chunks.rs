//! Bytes in chunks of any size.

/// The bytes in chunks, of sizes that are a function of the seed alone.
pub fn chunks(mut bytes: &[u8], seed: u8) -> Vec<&[u8]> {
    let mut state = (u64::from(seed) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let most = if seed & 1 == 0 { 3 } else { 40 };
    let mut chunks = Vec::new();
    while !bytes.is_empty() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let size = usize::try_from(state >> 40).unwrap_or(0) % most;
        let (chunk, rest) = bytes.split_at(size.min(bytes.len()));
        chunks.push(chunk);
        bytes = rest;
    }
    chunks
}
