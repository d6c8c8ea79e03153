//! A text that comes in pieces: a secret is found wherever it is cut.

use std::sync::Arc;

use super::{Redactor, into_text};

/// Redacts a text that comes in pieces. What may be the beginning of a secret is held back until
/// more comes, and no more than that: what comes out is what [`Redactor::redact`] makes of the
/// whole.
#[derive(Debug)]
pub struct RedactStream {
    redactor: Arc<Redactor>,
    held: Vec<u8>,
    found: bool,
}

impl RedactStream {
    /// A text that begins.
    pub fn new(redactor: Arc<Redactor>) -> Self {
        Self { redactor, held: Vec::new(), found: false }
    }

    /// Takes a piece of the text; returns what is sure to have no secret in it.
    pub fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        if self.redactor.is_empty() {
            return piece.to_vec();
        }
        self.held.extend_from_slice(piece);
        self.drain(false)
    }

    /// Takes a piece of a text that comes as characters.
    pub fn push_text(&mut self, piece: &str) -> String {
        into_text(self.push(piece.as_bytes()))
    }

    /// The text has ended; returns what was held back.
    pub fn finish(&mut self) -> Vec<u8> {
        self.drain(true)
    }

    /// The text has ended; returns the characters that were held back.
    pub fn finish_text(&mut self) -> String {
        into_text(self.finish())
    }

    /// Whether a secret was found so far.
    pub fn found(&self) -> bool {
        self.found
    }

    fn drain(&mut self, ended: bool) -> Vec<u8> {
        let (redactor, held) = (&*self.redactor, &mut self.held);
        let (mut out, mut from) = (Vec::with_capacity(held.len()), 0);
        loop {
            let sure = if ended { held.len() } else { redactor.partial(held, from) };
            // One that begins where another may still be coming is not sure yet.
            match redactor.find(held, from).filter(|found| ended || found.start < sure) {
                Some(found) => {
                    out.extend_from_slice(held.get(from..found.start).unwrap_or_default());
                    out.extend_from_slice(found.placeholder.as_bytes());
                    self.found = true;
                    from = found.end;
                }
                None => {
                    out.extend_from_slice(held.get(from..sure).unwrap_or_default());
                    held.drain(..sure);
                    return out;
                }
            }
        }
    }
}
