//! Numbers on the command line.

use std::str::FromStr;

/// The number of an entry.
pub(crate) fn entry(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "entries are numbered from 1 on".to_owned())
}

/// A number of things, of which there must be one.
pub(crate) fn at_least_one<N: FromStr + PartialOrd + From<u8>>(text: &str) -> Result<N, String> {
    let number = text.parse().ok().filter(|number| *number >= N::from(1));
    number.ok_or_else(|| "give a number from 1 on".to_owned())
}
