//! What an invocation costs: its usage at the prices of its model.

use super::usage::stated_cost;
use super::{Price, Target};
use crate::history::fact::{Money, Usage};

/// Prices are for so many tokens.
const PRICED: u128 = 1_000_000;

/// What usage costs at prices that rise with the size of the request; none if either is unknown.
///
/// Tokens that were read from a cache or written to one count at their own price where there is
/// one, and like all others where there is none.
///
/// # Example
///
/// ```
/// use threadline_core::history::fact::{Money, Usage};
/// use threadline_core::provider::{Price, cost};
///
/// let price = Price {
///     from_input_tokens: 0,
///     input: Money(3_000_000_000),
///     output: Money(15_000_000_000),
///     cached_input: Some(Money(300_000_000)),
///     cache_write: None,
/// };
/// let usage =
///     Usage { input: 1_000, output: 100, cached_input: Some(800), ..Usage::default() };
/// assert_eq!(cost(&[price], &usage), Some(Money(2_340_000)));
/// ```
pub fn cost(prices: &[Price], usage: &Usage) -> Option<Money> {
    if *usage == Usage::default() {
        return None;
    }
    let applies = |price: &&Price| price.from_input_tokens <= usage.input;
    let price = prices.iter().rev().find(applies).or_else(|| prices.first())?;
    let cached = usage.cached_input.unwrap_or(0).min(usage.input);
    let written = usage.cache_write.unwrap_or(0).min(usage.input - cached);
    let plain = usage.input - cached - written;
    let at = |tokens: u64, price: Money| u128::from(tokens) * u128::from(price.0);
    let sum = at(plain, price.input)
        .saturating_add(at(cached, price.cached_input.unwrap_or(price.input)))
        .saturating_add(at(written, price.cache_write.unwrap_or(price.input)))
        .saturating_add(at(usage.output, price.output));
    let sum = sum.saturating_add(PRICED / 2) / PRICED;
    Some(Money(u64::try_from(sum).unwrap_or(u64::MAX)).min(Money::SUM_CAP))
}

impl Target {
    /// What an invocation cost: what the provider said, if that can be right, else what its usage
    /// costs by the profile.
    pub fn cost(&self, said: Option<Money>, usage: Option<&Usage>) -> Option<Money> {
        stated_cost(said).or_else(|| cost(&self.profile.prices, usage?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price(from_input_tokens: u64, input: u64) -> Price {
        Price {
            from_input_tokens,
            input: Money(input * 1_000_000),
            output: Money(10 * input * 1_000_000),
            cached_input: Some(Money(input * 100_000)),
            cache_write: Some(Money(2 * input * 1_000_000)),
        }
    }

    #[test]
    fn each_kind_of_token_has_its_price() {
        let prices = [price(0, 10), price(200, 20)];
        let usage = |input, output, cached_input, cache_write| Usage {
            input,
            output,
            cached_input,
            cache_write,
            reasoning: Some(1),
            estimated: false,
        };
        for (usage, wanted) in [
            (usage(100, 0, None, None), 1_000),
            (usage(0, 100, None, None), 10_000),
            (usage(100, 0, Some(100), None), 100),
            (usage(100, 0, Some(50), Some(50)), 50 + 1_000),
            // More is said to be cached than there is: it counts once.
            (usage(100, 0, Some(1_000), Some(1_000)), 100),
            // A larger request costs more, each of its tokens.
            (usage(199, 0, None, None), 1_990),
            (usage(200, 0, None, None), 4_000),
            (usage(200, 1, Some(100), None), 2_000 + 200 + 200),
        ] {
            assert_eq!(cost(&prices, &usage), Some(Money(wanted)), "{usage:?}");
        }
    }

    #[test]
    fn what_is_unknown_has_no_cost() {
        let usage = Usage { input: 5, ..Usage::default() };
        assert_eq!(cost(&[], &usage), None);
        assert_eq!(cost(&[price(0, 1)], &Usage::default()), None);
        assert_eq!(cost(&[price(100, 1)], &usage), Some(Money(5)), "the lowest there is");
    }

    #[test]
    fn huge_numbers_do_not_overflow() {
        let usage = Usage { input: u64::MAX, output: u64::MAX, ..Usage::default() };
        let price = Price {
            from_input_tokens: 0,
            input: Money(u64::MAX),
            output: Money(u64::MAX),
            cached_input: None,
            cache_write: None,
        };
        assert_eq!(cost(&[price], &usage), Some(Money::SUM_CAP));
    }

    #[test]
    fn small_amounts_are_rounded_not_lost() {
        let price = Price { input: Money(400_000), ..price(0, 0) };
        let of = |input| cost(&[price], &Usage { input, ..Usage::default() });
        assert_eq!((of(1), of(2)), (Some(Money(0)), Some(Money(1))));
    }
}
