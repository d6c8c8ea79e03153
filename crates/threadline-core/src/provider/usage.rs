//! Which usage counts: what a provider reported, or our own estimate where it reported nothing or
//! what cannot be right.
//!
//! Limits on tokens and money hold for any provider, so every answer counts for something.

use crate::history::fact::{Block, Money, Usage};
use crate::tokens::TokenCounter;

/// The metadata key of what a provider reported to have taken and cannot have.
pub const USAGE_REFUSED_KEY: &str = "usage_refused";

/// A request takes at most so many times what we expect, and so much more: templates, schemas and
/// media are counted in many ways.
const INPUT_TIMES: u64 = 4;
const INPUT_SLACK_TOKENS: u64 = 100_000;
/// A request of at least so many tokens takes more than this share of what we expect.
const INPUT_TELLING_TOKENS: u64 = 2_000;
const INPUT_LEAST_SHARE: u64 = 20;
/// An answer may have so many more tokens than were streamed and than it may have: not all of what
/// a model thinks is shown.
const OUTPUT_SLACK_TOKENS: u64 = 200_000;
/// An answer of at least so many bytes has more than one token for so many of them.
const OUTPUT_TELLING_BYTES: u64 = 10_000;
const OUTPUT_BYTES_PER_TOKEN: u64 = 100;
/// No single answer costs more: one thousand dollars.
const COST_CAP: Money = Money(1_000_000_000_000);

/// What an invocation took, by our own count, in the model's tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExpectedUsage {
    /// The request.
    pub input_tokens: u64,
    /// Tokens of the streamed output.
    pub output_tokens: u64,
    /// The same in bytes.
    pub output_bytes: u64,
    /// The most that an answer may have.
    pub output_cap_tokens: u64,
}

/// The usage that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedUsage {
    /// What counts.
    pub usage: Usage,
    /// What the provider reported that cannot be right, in words; none if there is nothing.
    pub refused: Option<String>,
}

impl ExpectedUsage {
    /// Returns the expected usage of an answer to a request of `input_tokens`.
    pub fn new(
        input_tokens: u64,
        streamed: &[Block],
        output_cap_tokens: u64,
        factor_percent: u32,
        counter: &dyn TokenCounter,
    ) -> Self {
        let (mut bytes, mut tokens) = (0_u64, 0_u64);
        for text in streamed.iter().flat_map(texts) {
            bytes = bytes.saturating_add(u64::try_from(text.len()).unwrap_or(u64::MAX));
            tokens = tokens.saturating_add(u64::from(counter.count(text)));
        }
        let output_tokens = tokens.saturating_mul(u64::from(factor_percent.max(1))) / 100;
        Self { input_tokens, output_tokens, output_bytes: bytes, output_cap_tokens }
    }

    /// The usage that counts, given what the provider reported.
    pub fn count(&self, reported: Option<Usage>) -> CountedUsage {
        let reported = reported.unwrap_or_default();
        let mut usage = reported;
        let mut refused = Vec::new();
        match self.judge_input(reported.input) {
            Figure::Counts => {}
            figure @ (Figure::Missing | Figure::Refused) => {
                usage = Usage {
                    input: self.input_tokens,
                    cached_input: None,
                    cache_write: None,
                    estimated: true,
                    ..usage
                };
                if figure == Figure::Refused {
                    let expected = self.input_tokens;
                    refused.push(format!(
                        "{} for about {expected}",
                        reported_as(reported.input, "input")
                    ));
                }
            }
        }
        match self.judge_output(reported.output) {
            Figure::Counts => {}
            figure @ (Figure::Missing | Figure::Refused) => {
                usage =
                    Usage { output: self.output_tokens, reasoning: None, estimated: true, ..usage };
                if figure == Figure::Refused {
                    let expected = self.output_tokens;
                    refused.push(format!(
                        "{} for about {expected}",
                        reported_as(reported.output, "output")
                    ));
                }
            }
        }
        let refused = (!refused.is_empty()).then(|| refused.join(", "));
        CountedUsage { usage, refused }
    }

    fn judge_input(&self, tokens: u64) -> Figure {
        let most = self.input_tokens.saturating_mul(INPUT_TIMES).saturating_add(INPUT_SLACK_TOKENS);
        let is_telling = self.input_tokens >= INPUT_TELLING_TOKENS;
        match tokens {
            0 if self.input_tokens > 0 => Figure::Missing,
            _ if tokens > most => Figure::Refused,
            _ if is_telling && tokens < self.input_tokens / INPUT_LEAST_SHARE => Figure::Refused,
            _ => Figure::Counts,
        }
    }

    fn judge_output(&self, tokens: u64) -> Figure {
        let most = self.output_bytes.saturating_add(self.output_cap_tokens);
        let is_telling = self.output_bytes >= OUTPUT_TELLING_BYTES;
        match tokens {
            0 if self.output_bytes > 0 => Figure::Missing,
            _ if tokens > most.saturating_add(OUTPUT_SLACK_TOKENS) => Figure::Refused,
            _ if is_telling && tokens < self.output_bytes / OUTPUT_BYTES_PER_TOKEN => {
                Figure::Refused
            }
            _ => Figure::Counts,
        }
    }
}

/// The cost that a provider stated, unless no answer can cost as much.
pub(super) fn stated_cost(stated: Option<Money>) -> Option<Money> {
    stated.filter(|cost| *cost <= COST_CAP)
}

/// What a reported figure is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Figure {
    Counts,
    Missing,
    Refused,
}

/// A figure as it was reported. Decoders report what is no count at all, such as a negative
/// number, as the largest.
fn reported_as(tokens: u64, what: &str) -> String {
    if tokens == u64::MAX {
        return format!("an impossible number of {what} tokens");
    }
    format!("{tokens} {what} tokens")
}

/// The texts of a block that a model generated.
fn texts(block: &Block) -> impl Iterator<Item = &str> {
    let (one, two): (&str, &str) = match block {
        Block::Thinking(thinking) => (&thinking.text, ""),
        Block::Text(text) => (&text.text, ""),
        Block::ToolCall(call) => (&call.name, &call.arguments),
        Block::Foreign(foreign) => (&foreign.text, ""),
    };
    [one, two].into_iter().filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::fact::Text;
    use crate::tokens::Estimator;

    fn usage(input: u64, output: u64) -> Usage {
        Usage { input, output, ..Usage::default() }
    }

    /// A request of 3,000 tokens and an answer of 20,000 bytes.
    const EXPECTED: ExpectedUsage = ExpectedUsage {
        input_tokens: 3_000,
        output_tokens: 5_000,
        output_bytes: 20_000,
        output_cap_tokens: 8_000,
    };

    fn estimated(input: u64, output: u64) -> Usage {
        Usage { estimated: true, ..usage(input, output) }
    }

    #[test]
    fn what_can_be_right_counts_as_it_is() {
        for reported in [
            usage(150, 200),
            usage(3_000, 5_000),
            usage(112_000, 228_000),
            Usage { cached_input: Some(2_900), reasoning: Some(7), ..usage(3_000, 5_000) },
        ] {
            let counted = EXPECTED.count(Some(reported));
            assert_eq!(counted, CountedUsage { usage: reported, refused: None });
        }
        // A short request says too little to judge the figures.
        let little = ExpectedUsage { input_tokens: 1_999, output_bytes: 9_999, ..EXPECTED };
        assert_eq!(little.count(Some(usage(1, 1))).usage, usage(1, 1));
        // An answer without a word has no tokens.
        let silent = ExpectedUsage { output_tokens: 0, output_bytes: 0, ..EXPECTED };
        assert_eq!(silent.count(Some(usage(3_000, 0))).usage, usage(3_000, 0));
    }

    #[test]
    fn what_is_missing_is_estimated() {
        for (reported, counts) in [
            (None, estimated(3_000, 5_000)),
            (Some(usage(0, 0)), estimated(3_000, 5_000)),
            (Some(usage(0, 400)), estimated(3_000, 400)),
            (Some(usage(2_000, 0)), estimated(2_000, 5_000)),
        ] {
            let counted = EXPECTED.count(reported);
            assert_eq!(counted, CountedUsage { usage: counts, refused: None }, "{reported:?}");
        }
    }

    #[test]
    fn what_cannot_be_right_is_refused_and_estimated() {
        for (input, output, counts, words) in [
            (112_001, 400, estimated(3_000, 400), "112001 input tokens for about 3000"),
            (149, 400, estimated(3_000, 400), "149 input tokens for about 3000"),
            (3_000, 228_001, estimated(3_000, 5_000), "228001 output tokens for about 5000"),
            (3_000, 199, estimated(3_000, 5_000), "199 output tokens for about 5000"),
            (u64::MAX, 400, estimated(3_000, 400), "an impossible number of input tokens"),
            (3_000, u64::MAX - 1, estimated(3_000, 5_000), "output tokens for about 5000"),
        ] {
            let details = Usage {
                cached_input: Some(1),
                cache_write: Some(1),
                reasoning: Some(1),
                ..usage(input, output)
            };
            let counted = EXPECTED.count(Some(details));
            assert!(counted.refused.as_ref().unwrap().contains(words), "{counted:?}");
            let plain = usage(counted.usage.input, counted.usage.output);
            assert_eq!(Usage { estimated: counted.usage.estimated, ..plain }, counts);
            assert!(counted.usage.cached_input.is_none() || counted.usage.reasoning.is_none());
        }
    }

    #[test]
    fn all_that_was_generated_is_counted() {
        let text = Text { text: "four words of text".into(), state: None };
        let expected = ExpectedUsage::new(10, &[Block::Text(text.clone())], 100, 200, &Estimator);
        assert_eq!(expected.output_bytes, 18);
        assert_eq!(expected.output_tokens, 2 * u64::from(Estimator.count(&text.text)));
    }

    #[test]
    fn no_answer_costs_a_thousand_dollars() {
        assert_eq!(stated_cost(Some(Money(5))), Some(Money(5)));
        assert_eq!(stated_cost(Some(COST_CAP)), Some(COST_CAP));
        assert_eq!(stated_cost(Some(Money(u64::MAX))), None);
    }
}
