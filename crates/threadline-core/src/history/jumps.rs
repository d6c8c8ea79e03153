//! The rewinds on a path: where each stands and leads.

use std::fmt;
use std::sync::Arc;

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::ser::SerializeSeq as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::id::Seq;

/// The most that room is made for before it is known to be needed.
const AHEAD_CAP: usize = 1 << 16;

/// The rewinds on a path, oldest first: where each stands and leads. Copies share them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Jumps(Arc<Vec<(Seq, Seq)>>);

impl Jumps {
    /// The path goes on after a rewind.
    pub(super) fn push(&mut self, stands: Seq, to: Seq) {
        Arc::make_mut(&mut self.0).push((stands, to));
    }

    /// Whether a rewind has left an entry off the path.
    pub(super) fn pass_over(&self, seq: Seq) -> bool {
        let after = self.0.partition_point(|(stands, _)| *stands <= seq);
        self.0.get(after).is_some_and(|(_, to)| seq > *to)
    }
}

/// How many there are, then for each how far it stands from the one before it and how far it leads
/// back: a history with many of them is opened as often as any other.
impl Serialize for Jumps {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut list = to.serialize_seq(Some(1 + 2 * self.0.len()))?;
        list.serialize_element(&self.0.len())?;
        let mut before = 0;
        for (stands, leads) in &*self.0 {
            list.serialize_element(&stands.0.wrapping_sub(before))?;
            list.serialize_element(&stands.0.wrapping_sub(leads.0))?;
            before = stands.0;
        }
        list.end()
    }
}

impl<'de> Deserialize<'de> for Jumps {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_seq(JumpsVisitor)
    }
}

struct JumpsVisitor;

impl<'de> Visitor<'de> for JumpsVisitor {
    type Value = Jumps;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the number of rewinds, and two numbers for each")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Jumps, A::Error> {
        let number: usize = list.next_element()?.unwrap_or(0);
        let mut jumps = Vec::with_capacity(number.min(AHEAD_CAP));
        let mut stands: u64 = 0;
        while let Some(gap) = list.next_element::<u64>()? {
            let back: Option<u64> = list.next_element()?;
            let back = back.ok_or_else(|| A::Error::custom("a rewind leads nowhere"))?;
            stands = stands.wrapping_add(gap);
            jumps.push((Seq(stands), Seq(stands.wrapping_sub(back))));
        }
        Ok(Jumps(Arc::new(jumps)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn they_come_back_as_they_were(seqs in prop::collection::vec((any::<u64>(), any::<u64>()), 0..20)) {
            let mut jumps = Jumps::default();
            for (stands, to) in seqs {
                jumps.push(Seq(stands), Seq(to));
            }
            let text = serde_json::to_string(&jumps).unwrap();
            prop_assert_eq!(serde_json::from_str::<Jumps>(&text).unwrap(), jumps);
        }
    }

    #[test]
    fn what_lies_between_a_rewind_and_where_it_leads_is_passed_over() {
        let mut jumps = Jumps::default();
        jumps.push(Seq(10), Seq(4));
        jumps.push(Seq(20), Seq(12));
        let passed: Vec<u64> = (1..25).filter(|seq| jumps.pass_over(Seq(*seq))).collect();
        assert_eq!(passed, [5, 6, 7, 8, 9, 13, 14, 15, 16, 17, 18, 19]);
        assert!(serde_json::from_str::<Jumps>("[1,5]").is_err());
        assert_eq!(serde_json::from_str::<Jumps>("[9999999999999]").unwrap(), Jumps::default());
    }
}
