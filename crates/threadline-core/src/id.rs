//! Identifiers: who and what an entry speaks of.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

use crate::clock::Timestamp;

/// The place of an entry in its conversation: dense, from 1. `Seq::ZERO` stands before the first.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Seq(pub u64);

impl Seq {
    /// Before the first entry.
    pub const ZERO: Self = Self(0);

    /// The place right after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// The place `n` after this one.
    #[must_use]
    pub const fn plus(self, n: u64) -> Self {
        Self(self.0.saturating_add(n))
    }

    /// The place right before this one; the place before the first is itself.
    #[must_use]
    pub const fn before(self) -> Self {
        Self(self.0.saturating_sub(1))
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Seq {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

/// An agent within its conversation: a small integer that never changes, whatever its name.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct AgentId(pub u32);

impl AgentId {
    /// The thread of facts that concern the conversation as a whole, such as rewinds and titles.
    pub const CONVERSATION: Self = Self(0);
    /// The first agent that joins a conversation.
    pub const FIRST: Self = Self(1);
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            /// A new id of the given time (UUID version 7).
            pub fn new(at: Timestamp, ids: &dyn IdSource) -> Self {
                Self(uuid_v7(at, ids.random()))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Uuid::from_str(text).map(Self)
            }
        }
    };
}

uuid_id! {
    /// A conversation, everywhere and for ever.
    ConversationId
}
uuid_id! {
    /// An entry, wherever its history is carried.
    EntryId
}
uuid_id! {
    /// Inputs that were sent to several agents at once share one of these.
    BroadcastId
}
impl BroadcastId {
    /// The id of what was sent under a key: the same whenever it is sent again.
    pub fn of_key(key: &str) -> Self {
        let mut bytes = [0; 16];
        blake3::Hasher::new().update(key.as_bytes()).finalize_xof().fill(&mut bytes);
        Self(uuid::Builder::from_custom_bytes(bytes).into_uuid())
    }
}

uuid_id! {
    /// Whose conversations these are. One person on one machine is the nil tenant.
    TenantId
}

impl TenantId {
    /// The tenant of a store that has no tenants.
    pub const NIL: Self = Self(Uuid::nil());
}

/// A tool call: the output that made it and its index among that output's calls.
///
/// Unique by construction and independent of the id a provider sent. Printed `c12.0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId {
    /// The output that made the call.
    pub output: Seq,
    /// The place among that output's calls, from 0.
    pub index: u32,
}

impl CallId {
    /// The call at `index` of the output at `output`.
    pub const fn new(output: Seq, index: u32) -> Self {
        Self { output, index }
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "c{}.{}", self.output, self.index)
    }
}

/// A call id is written `c`, the seq of its output, a dot, and its index.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a call id looks like c12.0, not {0:?}")]
pub struct NotACallId(String);

impl FromStr for CallId {
    type Err = NotACallId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parsed = text.strip_prefix('c').and_then(|rest| rest.split_once('.')).and_then(
            |(output, index)| {
                Some(Self { output: output.parse().ok()?, index: index.parse().ok()? })
            },
        );
        parsed.ok_or_else(|| NotACallId(text.to_owned()))
    }
}

impl Serialize for CallId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CallId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text_from(deserializer)
    }
}

/// Where randomness comes from: passed in, never asked for, so that a run is a function of its seed.
pub trait IdSource: Send + Sync {
    /// Sixteen fresh random bytes.
    fn random(&self) -> [u8; 16];
}

fn uuid_v7(at: Timestamp, random: [u8; 16]) -> Uuid {
    let millis = u64::try_from(at.micros() / 1000).unwrap_or(0);
    let mut tail = [0; 10];
    for (to, from) in tail.iter_mut().zip(random) {
        *to = from;
    }
    uuid::Builder::from_unix_timestamp_millis(millis, &tail).into_uuid()
}

/// Reads a value that is written as text.
pub(crate) fn text_from<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: fmt::Display>,
{
    struct Text<T>(std::marker::PhantomData<T>);

    impl<T: FromStr<Err: fmt::Display>> serde::de::Visitor<'_> for Text<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("text")
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
            text.parse().map_err(E::custom)
        }
    }

    deserializer.deserialize_str(Text(std::marker::PhantomData))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_ids_read_what_they_print() {
        let call = CallId::new(Seq(12), 3);
        assert_eq!(call.to_string(), "c12.3");
        assert_eq!("c12.3".parse(), Ok(call));
        for wrong in ["", "c", "c12", "12.3", "c12.x", "c-1.0", "c1.0.0"] {
            assert!(wrong.parse::<CallId>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn ids_carry_their_time_and_version() {
        struct Zeros;
        impl IdSource for Zeros {
            fn random(&self) -> [u8; 16] {
                [0; 16]
            }
        }
        let at = Timestamp::from_micros(1_700_000_000_000_000);
        let id = EntryId::new(at, &Zeros);
        assert_eq!(id.0.get_version_num(), 7);
        assert_eq!(id.to_string(), "018bcfe5-6800-7000-8000-000000000000");
    }
}
