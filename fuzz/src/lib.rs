//! What the fuzz targets share: bytes in chunks, and answers that are read and asked about again.
//!
//! An input's first byte says how the rest comes; the rest is what comes.

mod again;
mod answer;
mod chunks;

pub use self::answer::read;
pub use self::chunks::chunks;
