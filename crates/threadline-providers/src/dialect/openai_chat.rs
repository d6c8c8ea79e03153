//! `OpenAI`'s Chat Completions, and the many servers that speak it with an accent.
//!
//! What a server does differently when it is asked is data ([`Quirks`](crate::quirks::Quirks)).
//! What it does differently when it answers needs no data: the decoder takes all of it.

mod ask;
mod calls;
pub(crate) mod decode;
mod details;
pub(crate) mod encode;
mod messages;
#[cfg(test)]
mod tests;
mod wire;

/// The version of the encoder: another one writes other bytes for the same request.
pub(crate) const ENCODER_VERSION: u32 = 2;
