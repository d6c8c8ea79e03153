//! Smaller plans for a model that refused a request as too long.

use super::{RESERVE_SHARE, budget, ours};
use crate::history::fact::ProjectionOptions;

/// A plan within a stated limit is clearly smaller than a refused request if it takes at least
/// this share less. If not, the model counts more tokens than we do.
const CLEAR_SHARE: u64 = 20;
/// The share by which requests become smaller where no stated limit makes them so.
const SMALLER_SHARE: u64 = 4;

impl ProjectionOptions {
    /// The same within a window. A reserve that somebody asked for stays: the answer may take it.
    pub(crate) fn within(mut self, window_tokens: u64, reserve_is_fixed: bool) -> Self {
        self.window_tokens = self.window_tokens.min(window_tokens);
        if !reserve_is_fixed {
            self.reserve_tokens = self.reserve_tokens.min(self.window_tokens / RESERVE_SHARE);
        }
        self
    }

    /// The same for requests that are smaller than a refused one, which took so many tokens by our
    /// count, and within the limit that the model stated, if it did.
    pub(crate) fn smaller_than(
        self,
        refused_tokens: u64,
        stated_tokens: Option<u64>,
        reserve_is_fixed: bool,
    ) -> Self {
        let refused = if refused_tokens == 0 { budget(&self) } else { refused_tokens };
        let less_by = |share: u64| refused.saturating_sub((refused / share).max(1));
        let stated = stated_tokens.map(|stated| self.within(stated, reserve_is_fixed));
        let clear = stated.filter(|stated| budget(stated) <= less_by(CLEAR_SHARE));
        clear.unwrap_or_else(|| stated.unwrap_or(self).for_requests_of(less_by(SMALLER_SHARE)))
    }

    /// The same with a window in which a request takes at most so many tokens of ours.
    fn for_requests_of(self, tokens: u64) -> Self {
        let reserve = self.reserve_tokens.max(ours(&self, self.reserve_tokens));
        let taken = u128::from(tokens) + u128::from(reserve);
        let window = taken * u128::from(self.factor_percent.max(1)) / 100;
        let window_tokens = self.window_tokens.min(u64::try_from(window).unwrap_or(u64::MAX));
        Self { window_tokens, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::fact::Detail;

    fn options(window_tokens: u64, reserve_tokens: u64, factor_percent: u32) -> ProjectionOptions {
        ProjectionOptions {
            window_tokens,
            reserve_tokens,
            capacity_tokens: 0,
            factor_percent,
            detail: Detail::Normal,
            screen: true,
        }
    }

    #[test]
    fn the_next_request_is_smaller_whatever_was_refused() {
        for window in [1_u64, 100, 8_192, 128_000, u64::MAX] {
            for reserve in [0, 10, 2_048, 200_000] {
                for factor in [1, 50, 100, 135, 300] {
                    for refused in [1, 3, 99, 9_000, 100_000, u64::MAX] {
                        for stated in [None, Some(1), Some(4_096), Some(8_192), Some(u64::MAX)] {
                            for fixed in [false, true] {
                                let options = options(window, reserve, factor);
                                let next = options.smaller_than(refused, stated, fixed);
                                let what = format!("{options:?} {refused} {stated:?} {next:?}");
                                assert!(budget(&next) < refused, "{what}");
                                assert!(next.window_tokens <= window, "{what}");
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_stated_limit_is_used_as_it_is_where_that_is_clearly_less() {
        // The profile says 128,000, the model takes 8,192, and the request took 9,000.
        let next = options(128_000, 8_000, 100).smaller_than(9_000, Some(8_192), false);
        assert_eq!((next.window_tokens, next.reserve_tokens), (8_192, 2_048));
        // A reserve that somebody asked for is kept free.
        let next = options(128_000, 4_000, 100).smaller_than(9_000, Some(8_192), true);
        assert_eq!((next.window_tokens, next.reserve_tokens), (8_192, 4_000));
    }

    #[test]
    fn else_requests_become_a_quarter_smaller() {
        // By our count it fits what was stated: the model counts more than we do.
        let next = options(128_000, 0, 100).smaller_than(6_000, Some(8_192), false);
        assert_eq!(budget(&next), 4_500);
        let next = options(128_000, 8_000, 100).smaller_than(6_000, None, false);
        assert_eq!((budget(&next), next.reserve_tokens), (4_500, 8_000));
        // Of a request whose size is not known, all that it may have taken counts.
        let next = options(1_000, 0, 100).smaller_than(0, None, false);
        assert_eq!(budget(&next), 750);
    }
}
