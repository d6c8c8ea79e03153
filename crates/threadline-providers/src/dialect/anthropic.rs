//! Anthropic's Messages, as Anthropic and servers that are compatible with it speak them.
//!
//! # States
//!
//! What a block's state holds is said in [`wire::ThinkingState`]; the state of a foreign block is
//! the block itself. Both are small JSON objects: a later form gets a key of its own.

pub(crate) mod decode;
pub(crate) mod encode;
mod wire;
