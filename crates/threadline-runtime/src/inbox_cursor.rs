//! How far a drive has read the inbox of its conversation.

use std::time::Duration;

use threadline_core::inbox::{Item, ItemNumber};
use tokio::time::Instant;

/// How long to wait before an inbox that could not be read is read again.
const RETRY: Duration = Duration::from_secs(1);

/// The place up to which the inbox was read, and whether a read is under way. There is one at a time.
#[derive(Debug, Default)]
pub(crate) struct InboxCursor {
    seen: ItemNumber,
    state: State,
    retry_at: Option<Instant>,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Idle,
    Reading,
    /// Something changed after the read began, so another has to follow.
    Stale,
}

impl InboxCursor {
    /// Asks for a read. Returns the number after which to read, unless a read is under way: then
    /// another follows it.
    pub(crate) fn request(&mut self) -> Option<ItemNumber> {
        self.retry_at = None;
        match self.state {
            State::Idle => {
                self.state = State::Reading;
                Some(self.seen)
            }
            State::Reading | State::Stale => {
                self.state = State::Stale;
                None
            }
        }
    }

    /// Notes what a read returned; none if it failed. Returns the number after which to read next, if
    /// another read has to follow.
    pub(crate) fn finish(
        &mut self,
        now: Instant,
        items: Option<&[(ItemNumber, Item)]>,
    ) -> Option<ItemNumber> {
        let is_stale = std::mem::take(&mut self.state) == State::Stale;
        let Some(items) = items else {
            self.retry_at = Some(now + RETRY);
            return None;
        };
        self.seen = items.iter().map(|(number, _)| *number).fold(self.seen, ItemNumber::max);
        // Only an empty page is the last one.
        if is_stale || !items.is_empty() { self.request() } else { None }
    }

    pub(crate) fn is_reading(&self) -> bool {
        self.state != State::Idle
    }

    /// When to read again after a read that failed.
    pub(crate) fn retry_at(&self) -> Option<Instant> {
        self.retry_at
    }
}

#[cfg(test)]
mod tests {
    use threadline_core::inbox::{Body, Mode};

    use super::*;

    fn page(numbers: &[u64]) -> Vec<(ItemNumber, Item)> {
        let item = Item {
            client_key: "k".into(),
            to: None,
            mode: Mode::Queue,
            due: None,
            body: Body::Cancel,
        };
        numbers.iter().map(|number| (ItemNumber(*number), item.clone())).collect()
    }

    #[test]
    fn it_reads_until_a_page_is_empty_and_once_more_after_a_change() {
        let (mut cursor, now) = (InboxCursor::default(), Instant::now());
        assert_eq!(cursor.request(), Some(ItemNumber(0)));
        assert_eq!(cursor.finish(now, Some(&page(&[3, 5]))), Some(ItemNumber(5)));
        assert_eq!(cursor.request(), None, "one is under way");
        assert_eq!(
            cursor.finish(now, Some(&[])),
            Some(ItemNumber(5)),
            "something changed meanwhile"
        );
        assert_eq!(cursor.finish(now, Some(&[])), None);
        assert!(!cursor.is_reading());
    }

    #[test]
    fn a_read_that_fails_is_tried_again_later() {
        let (mut cursor, now) = (InboxCursor::default(), Instant::now());
        cursor.request();
        assert_eq!(cursor.finish(now, None), None);
        assert_eq!(cursor.retry_at(), Some(now + RETRY));
        assert_eq!(cursor.request(), Some(ItemNumber(0)));
        assert_eq!(cursor.retry_at(), None);
    }
}
