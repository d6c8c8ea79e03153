//! How models are doing, as this process sees it: noted where they are asked, read where one is
//! chosen.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use threadline_core::choose::{Health, HealthBook, HealthSource};
use threadline_core::clock::{Clock, Timestamp};
use threadline_core::history::fact::{FailureKind, Invocation};
use threadline_core::provider::Target;

/// What this process knows of how models are doing, shared by all that it drives.
pub(crate) struct Observer {
    clock: Arc<dyn Clock>,
    book: Mutex<HealthBook>,
}

impl Observer {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, book: Mutex::default() }
    }

    fn book(&self) -> MutexGuard<'_, HealthBook> {
        // A book is whole at any time, so that a poisoned lock still guards good data.
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HealthSource for Observer {
    fn health(&self, target: &Target) -> Health {
        self.book().health(&target.invocation, self.clock.now())
    }
}

/// One invocation that is watched from its request to its end.
pub(crate) struct Watched {
    observer: Arc<Observer>,
    model: Invocation,
    /// When its request was sent; none before that, and once its answer has begun.
    sent: Option<Timestamp>,
}

impl Watched {
    pub(crate) fn new(observer: Arc<Observer>, model: Invocation) -> Self {
        Self { observer, model, sent: None }
    }

    /// Its request is sent now.
    pub(crate) fn sent(&mut self) {
        self.sent = Some(self.observer.clock.now());
    }

    /// A bit of its answer came: the first one tells how long it took.
    pub(crate) fn answers(&mut self) {
        if let Some(sent) = self.sent.take() {
            let ms = self.observer.clock.now().millis_since(sent);
            self.observer.book().began(&self.model, ms);
        }
    }

    /// It came to its end.
    pub(crate) fn finished(self) {
        self.observer.book().finished(&self.model);
    }

    /// It failed.
    pub(crate) fn failed(self, kind: FailureKind) {
        let now = self.observer.clock.now();
        self.observer.book().failed(&self.model, kind, now);
    }
}
