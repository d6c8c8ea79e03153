//! `OpenAI`'s Responses, without state on their side: every request carries all that the model
//! sees, and its reasoning comes and goes encrypted.

mod body;
pub(crate) mod decode;
pub(crate) mod encode;
mod wire;

/// The version of the encoder: it counts up when the same request becomes other bytes.
pub(crate) const ENCODER_VERSION: u32 = 2;
