//! OpenAI's Responses, without state on their side: every request carries all that the model
//! sees, and its reasoning comes and goes encrypted.

pub(crate) mod decode;
mod wire;
