//! Time: passed in, never asked for.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::id::text_from;

/// A moment in UTC, to the microsecond. Written as RFC 3339.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The earliest and latest moments that can be written (years 1 to 9998).
    const RANGE: (i64, i64) = (-62_135_596_800_000_000, 253_370_764_799_999_999);

    /// The moment so many microseconds after 1970. Moments that no calendar can write are drawn
    /// to the nearest that it can.
    pub const fn from_micros(micros: i64) -> Self {
        let (first, last) = Self::RANGE;
        Self(if micros < first {
            first
        } else if micros > last {
            last
        } else {
            micros
        })
    }

    /// Microseconds since 1970.
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// The moment so many milliseconds later.
    #[must_use]
    pub fn plus_millis(self, millis: u64) -> Self {
        let micros = i64::try_from(millis).unwrap_or(i64::MAX).saturating_mul(1000);
        Self::from_micros(self.0.saturating_add(micros))
    }

    /// Milliseconds from `earlier` to this moment; 0 if it is not earlier.
    pub fn millis_since(self, earlier: Self) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0) / 1000).unwrap_or(0)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(moment) => write!(f, "{moment:.6}"),
            // Unreachable by construction; a moment out of range still prints as something.
            Err(_) => write!(f, "{}us", self.0),
        }
    }
}

impl FromStr for Timestamp {
    type Err = jiff::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse::<jiff::Timestamp>().map(|moment| Self::from_micros(moment.as_microsecond()))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text_from(deserializer)
    }
}

/// Where time comes from.
pub trait Clock: Send + Sync {
    /// The moment it is now.
    fn now(&self) -> Timestamp;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_read_what_they_print() {
        for micros in [0, 1_700_000_000_123_456, -1, i64::MIN, i64::MAX] {
            let moment = Timestamp::from_micros(micros);
            assert_eq!(moment.to_string().parse::<Timestamp>().unwrap(), moment, "{moment}");
        }
        assert_eq!(Timestamp::from_micros(1).to_string(), "1970-01-01T00:00:00.000001Z");
    }
}
