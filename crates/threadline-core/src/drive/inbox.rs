//! The items that wait for the conversation, as far as the driver knows them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::lately::Lately;
use crate::clock::Timestamp;
use crate::inbox::{Item, ItemNumber};

/// The items that wait. The runtime reads them from the store; a list may be older than what the driver
/// has taken since.
#[derive(Default)]
pub(super) struct Inbox {
    items: BTreeMap<ItemNumber, Arc<Item>>,
    /// Items that were taken, edited or withdrawn: an older list may still have them.
    ended: Lately<ItemNumber>,
}

impl Inbox {
    /// Adds items that were read from the store.
    pub(super) fn add(&mut self, items: Vec<(ItemNumber, Item)>) {
        let new = items.into_iter().filter(|(number, _)| !self.ended.has(number));
        self.items.extend(new.map(|(number, item)| (number, Arc::new(item))));
    }

    /// Removes an item that does not wait any more.
    pub(super) fn remove(&mut self, number: ItemNumber) {
        self.items.remove(&number);
        self.ended.note(number);
    }

    pub(super) fn contains(&self, number: ItemNumber) -> bool {
        self.items.contains_key(&number)
    }

    /// The items that are due, in order.
    pub(super) fn due(&self, at: Timestamp) -> Vec<(ItemNumber, Arc<Item>)> {
        let due = self.items.iter().filter(|(_, item)| is_due(item, at));
        due.map(|(number, item)| (*number, Arc::clone(item))).collect()
    }

    pub(super) fn has_due(&self, at: Timestamp) -> bool {
        self.items.values().any(|item| is_due(item, at))
    }

    /// The due times of items that have one.
    pub(super) fn due_times(&self) -> impl Iterator<Item = Timestamp> {
        self.items.values().filter_map(|item| item.due)
    }
}

fn is_due(item: &Item, at: Timestamp) -> bool {
    item.due.is_none_or(|due| due <= at)
}
