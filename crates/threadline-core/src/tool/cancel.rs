//! A signal to stop that can be asked and awaited, whatever the async runtime.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// A signal to stop. Copies share it; once given it stays given.
#[derive(Clone, Default)]
pub struct Cancel {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// Set once, while `waiting` is locked: whoever finds it unset under the lock will be woken.
    given: AtomicBool,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    next_ticket: u64,
    wakers: BTreeMap<u64, Waker>,
}

impl Cancel {
    /// A signal that is not given yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives the signal and wakes all who wait for it. Giving it again does nothing.
    pub fn cancel(&self) {
        let woken = {
            let mut waiting = self.shared.waiting();
            self.shared.give(&mut waiting)
        };
        // Wakers run foreign code, which may ask for this lock: it is free by now.
        for waker in woken.into_values() {
            waker.wake();
        }
    }

    /// Whether the signal was given.
    pub fn is_cancelled(&self) -> bool {
        self.shared.given.load(Ordering::Acquire)
    }

    /// Waits until the signal is given.
    pub fn cancelled(&self) -> Cancelled {
        Cancelled { shared: Arc::clone(&self.shared), ticket: None }
    }
}

impl Shared {
    /// Gives the signal; whoever waits is the caller's to wake.
    fn give(&self, waiting: &mut Waiting) -> BTreeMap<u64, Waker> {
        self.given.store(true, Ordering::Release);
        std::mem::take(&mut waiting.wakers)
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        // Nothing in here panics half way, so that a poisoned lock still guards whole data.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cancel").field("cancelled", &self.is_cancelled()).finish()
    }
}

/// Waits until a [`Cancel`] is given. Dropping it stops waiting.
#[must_use = "a future does nothing unless it is awaited"]
pub struct Cancelled {
    shared: Arc<Shared>,
    ticket: Option<u64>,
}

impl Future for Cancelled {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let shared = Arc::clone(&self.shared);
        let waker = context.waker().clone();
        // Asked under the lock: a signal between asking and waiting would be missed.
        let mut waiting = shared.waiting();
        if shared.given.load(Ordering::Acquire) {
            return Poll::Ready(());
        }
        let ticket = *self.ticket.get_or_insert_with(|| {
            waiting.next_ticket += 1;
            waiting.next_ticket
        });
        let replaced = waiting.wakers.insert(ticket, waker);
        // A waker's end may run foreign code: the lock is free before it.
        drop(waiting);
        drop(replaced);
        Poll::Pending
    }
}

impl Drop for Cancelled {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            let waker = self.shared.waiting().wakers.remove(&ticket);
            // The lock is free by now, as above.
            drop(waker);
        }
    }
}

impl fmt::Debug for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cancelled").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::Barrier;
    use std::sync::atomic::AtomicUsize;
    use std::task::Wake;
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Count {
        fn woken(&self) -> usize {
            self.0.load(Ordering::SeqCst)
        }
    }

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn poll(future: Pin<&mut Cancelled>, count: &Arc<Count>) -> Poll<()> {
        future.poll(&mut Context::from_waker(&Waker::from(Arc::clone(count))))
    }

    #[test]
    fn a_given_signal_stays_given_and_is_shared() {
        let cancel = Cancel::new();
        let copy = cancel.clone();
        assert!(!copy.is_cancelled());
        cancel.cancel();
        cancel.cancel();
        assert!(copy.is_cancelled());
        let count = Arc::default();
        assert_eq!(poll(pin!(copy.cancelled()), &count), Poll::Ready(()));
        assert_eq!(count.woken(), 0);
    }

    #[test]
    fn all_who_wait_are_woken_once() {
        let cancel = Cancel::new();
        let (one, two) = (Arc::default(), Arc::default());
        let mut first = pin!(cancel.cancelled());
        let mut second = pin!(cancel.cancelled());
        assert_eq!(poll(first.as_mut(), &one), Poll::Pending);
        assert_eq!(poll(second.as_mut(), &two), Poll::Pending);
        cancel.cancel();
        cancel.cancel();
        assert_eq!((one.woken(), two.woken()), (1, 1));
        assert_eq!(poll(first, &one), Poll::Ready(()));
        assert_eq!(poll(second, &two), Poll::Ready(()));
    }

    #[test]
    fn the_newest_waker_counts() {
        let cancel = Cancel::new();
        let (old, new) = (Arc::default(), Arc::default());
        let mut waits = pin!(cancel.cancelled());
        assert_eq!(poll(waits.as_mut(), &old), Poll::Pending);
        assert_eq!(poll(waits.as_mut(), &new), Poll::Pending);
        cancel.cancel();
        assert_eq!((old.woken(), new.woken()), (0, 1));
    }

    #[test]
    fn who_stops_waiting_is_forgotten() {
        let cancel = Cancel::new();
        let (gone, stays) = (Arc::default(), Arc::default());
        let mut waits = pin!(cancel.cancelled());
        assert_eq!(poll(waits.as_mut(), &stays), Poll::Pending);
        {
            let mut dropped = pin!(cancel.cancelled());
            assert_eq!(poll(dropped.as_mut(), &gone), Poll::Pending);
        }
        assert_eq!(cancel.shared.waiting().wakers.len(), 1);
        cancel.cancel();
        assert_eq!((gone.woken(), stays.woken()), (0, 1));
    }

    #[test]
    fn a_waker_may_use_the_signal() {
        struct Again(Cancel);
        impl Wake for Again {
            fn wake(self: Arc<Self>) {
                self.0.cancel();
            }
        }
        let cancel = Cancel::new();
        let waker = Waker::from(Arc::new(Again(cancel.clone())));
        let mut waits = pin!(cancel.cancelled());
        assert_eq!(waits.as_mut().poll(&mut Context::from_waker(&waker)), Poll::Pending);
        cancel.cancel();
        assert!(cancel.is_cancelled());
    }

    #[test]
    fn no_signal_is_missed_between_asking_and_waiting() {
        let cancel = Cancel::new();
        let start = Barrier::new(2);
        thread::scope(|scope| {
            let mut waiting = cancel.shared.waiting();
            let waiter = scope.spawn(|| {
                start.wait();
                poll(pin!(cancel.cancelled()), &Arc::default())
            });
            start.wait();
            // Lets the waiter come to the lock. It may take longer: then this shows nothing, but
            // what it expects is still so.
            thread::sleep(Duration::from_millis(20));
            assert_eq!(cancel.shared.give(&mut waiting).len(), 0);
            drop(waiting);
            assert_eq!(waiter.join().unwrap(), Poll::Ready(()));
        });
    }
}
