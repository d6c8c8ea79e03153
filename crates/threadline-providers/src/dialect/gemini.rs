//! Gemini's generateContent: parts with signatures, read to the end of the stream.

pub(crate) mod decode;
pub(crate) mod encode;
mod partial;
mod thinking;
mod wire;
