//! A database that cannot be used for a while: loops say so once, wait, and say when it is over.

use std::sync::Arc;

use threadline_core::store::{OpenError, StoreError};
use threadline_runtime::{CreateError, DriveError, WatchError};

use crate::report::chain;
use crate::view::{Line, aside};

/// Whether the database can be used, as far as a loop knows.
#[derive(Default)]
pub(crate) struct Outage {
    /// What was said of it.
    said: Option<String>,
}

impl Outage {
    /// Notes a failure, and says so if it is a new one. It is given back if waiting does not help.
    pub(crate) fn note(&mut self, error: anyhow::Error) -> anyhow::Result<()> {
        if !passes(&error) {
            return Err(error);
        }
        let why = chain(&error);
        if self.said.as_deref() != Some(why.as_str()) {
            let line = format!("· the database cannot be used now: {why}; waiting until it can be");
            aside(Line::new().bad(line));
            self.said = Some(why);
        }
        Ok(())
    }

    /// Notes that the database was used, and says so if it could not be before.
    pub(crate) fn end(&mut self) {
        if self.said.take().is_some() {
            aside(Line::new().dim("· the database can be used again"));
        }
    }
}

/// Whether an error says that another process has the database locked.
pub(crate) fn is_locked(error: &anyhow::Error) -> bool {
    matches!(error.chain().find_map(store_error), Some(StoreError::Busy))
}

/// Whether an error may be gone after a while: the database is locked, the disk is full, the file
/// cannot be reached or written.
pub(crate) fn passes(error: &anyhow::Error) -> bool {
    error.chain().find_map(store_error).is_some_and(|error| match error {
        StoreError::Busy
        | StoreError::Full
        | StoreError::ReadOnly(_)
        | StoreError::Unavailable { .. } => true,
        StoreError::NotFound(_)
        | StoreError::NoEntry { .. }
        | StoreError::Exists(_)
        | StoreError::Fenced(_)
        | StoreError::Conflict { .. }
        | StoreError::Held { .. }
        | StoreError::OnHold { .. }
        | StoreError::KeyConflict { .. }
        | StoreError::ItemGone { .. }
        | StoreError::NewerItem { .. }
        | StoreError::NoItem { .. }
        | StoreError::NotWaiting { .. }
        | StoreError::Shared { .. }
        | StoreError::MovedAway(_)
        | StoreError::NoAttachment(_)
        | StoreError::TooLarge { .. }
        | StoreError::Invalid(_)
        | StoreError::Newer { .. }
        | StoreError::Damaged(_)
        | StoreError::DamagedConversation { .. }
        | StoreError::AnswerLost(_)
        | StoreError::Poisoned(_) => false,
    })
}

/// The store's error in an error that passes it on.
fn store_error<'a>(cause: &'a (dyn std::error::Error + 'static)) -> Option<&'a StoreError> {
    if let Some(error) = cause.downcast_ref::<StoreError>() {
        return Some(error);
    }
    if let Some(OpenError::Store(error)) = cause.downcast_ref::<OpenError>() {
        return Some(error);
    }
    if let Some(WatchError::Store(error)) = cause.downcast_ref::<WatchError>() {
        return Some(error);
    }
    if let Some(CreateError::Store(error)) = cause.downcast_ref::<CreateError>() {
        return Some(error);
    }
    let driven = cause.downcast_ref::<Arc<DriveError>>().map(|error| &**error);
    match driven.or_else(|| cause.downcast_ref::<DriveError>())? {
        DriveError::Store(error) | DriveError::Open(OpenError::Store(error)) => Some(error),
        DriveError::Open(_) | DriveError::Stopped(_) | DriveError::Panicked(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_is_known_through_what_passes_it_on() {
        let busy = || StoreError::Busy;
        let passing: [anyhow::Error; 6] = [
            busy().into(),
            OpenError::Store(busy()).into(),
            WatchError::Store(busy()).into(),
            CreateError::Store(busy()).into(),
            anyhow::Error::new(Arc::new(DriveError::Open(OpenError::Store(busy())))),
            anyhow::Error::from(StoreError::Full).context("could not list"),
        ];
        for error in passing {
            assert!(passes(&error), "{error:?}");
            assert!(Outage::default().note(error).is_ok());
        }
        let lasting: [anyhow::Error; 3] = [
            StoreError::Poisoned("fsync failed".to_owned()).into(),
            StoreError::Damaged("a page".to_owned()).into(),
            anyhow::anyhow!("something else"),
        ];
        for error in lasting {
            assert!(!passes(&error), "{error:?}");
            assert!(Outage::default().note(error).is_err());
        }
    }
}
