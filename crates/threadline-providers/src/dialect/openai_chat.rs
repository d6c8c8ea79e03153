//! `OpenAI`'s Chat Completions, and the many servers that speak it with an accent.
//!
//! What a server does differently when it is asked is data ([`Quirks`](crate::quirks::Quirks)).
//! What it does differently when it answers needs no data: the decoder takes all of it.

mod calls;
pub(crate) mod decode;
mod details;
mod wire;
