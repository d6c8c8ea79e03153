//! Ids of calls on the wire: a call's own at its origin, elsewhere one that every server takes.

use std::collections::BTreeSet;

use threadline_core::id::CallId;

use crate::dialect::Dialect;
use crate::quirks::IdRule;

/// The ids that a request has given so far.
pub(super) struct Ids {
    dialect: Dialect,
    rule: IdRule,
    given: BTreeSet<String>,
}

impl Ids {
    pub(super) const fn new(dialect: Dialect, rule: IdRule) -> Self {
        Self { dialect, rule, given: BTreeSet::new() }
    }

    /// The id of a call: the provider's own, if it may go back there and no other call has it.
    pub(super) fn give(&mut self, call: CallId, own: Option<&str>) -> String {
        let own = own.filter(|id| self.takes(id) && !self.given.contains(*id));
        let mut id = own.map_or_else(|| self.made(call, 0), ToOwned::to_owned);
        let mut again = 0;
        while !self.given.insert(id.clone()) {
            again += 1;
            id = self.made(call, again);
        }
        id
    }

    /// Whether the origin takes its own id back: some servers make ids that others refuse.
    fn takes(&self, id: &str) -> bool {
        let cap = match self.dialect {
            Dialect::OpenAiChat => 40,
            Dialect::OpenAiResponses | Dialect::Anthropic | Dialect::Gemini => 64,
        };
        let fits = |c: u8| match self.dialect {
            Dialect::Anthropic => c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-'),
            Dialect::OpenAiChat | Dialect::OpenAiResponses | Dialect::Gemini => {
                c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-' | b'.' | b':')
            }
        };
        let nine = id.len() == 9 && id.bytes().all(|c| c.is_ascii_alphanumeric());
        match self.rule {
            IdRule::Usual => !id.is_empty() && id.len() <= cap && id.bytes().all(fits),
            IdRule::NineAlphanumeric => nine,
        }
    }

    /// An id that tells calls apart by construction, whoever made them.
    fn made(&self, call: CallId, again: u64) -> String {
        let (seq, index) = (call.output.0, u64::from(call.index));
        match self.rule {
            IdRule::Usual if again == 0 => format!("call_{seq}_{index}"),
            IdRule::Usual => format!("call_{seq}_{index}_{again}"),
            // Two digits for the index, seven for the entry: room for 36^7 entries.
            IdRule::NineAlphanumeric => {
                format!("{}{}", digits(index + 36 * again, 2), digits(seq, 7))
            }
        }
    }
}

/// The last digits of a number to the base 36.
fn digits(mut number: u64, count: usize) -> String {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut out = vec![b'0'; count];
    for place in out.iter_mut().rev() {
        let digit = usize::try_from(number % 36).unwrap_or_default();
        *place = DIGITS.get(digit).copied().unwrap_or(b'0');
        number /= 36;
    }
    String::from_utf8_lossy(&out).into_owned()
}
