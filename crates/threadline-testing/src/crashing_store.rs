//! A store whose process dies, or whose answer is lost, at the n-th write.

use std::future::{pending, poll_fn};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};

use async_trait::async_trait;
use threadline_core::store::{Access, Layer, Layered, Operation, Storage, StoreError};

/// What happens at a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The process dies before anything is written.
    DiesBefore,
    /// The process dies after it is written, before anyone is told.
    DiesAfter,
    /// It is written, the answer is lost, and the process lives.
    AnswerLost,
    /// Nothing is written, the answer is lost, and the process lives.
    NeverCame,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::DiesBefore, Self::DiesAfter, Self::AnswerLost, Self::NeverCame];

    /// Those after which the process is gone.
    pub const DEATHS: [Self; 2] = [Self::DiesBefore, Self::DiesAfter];
}

/// A store as one process has it, with one fault at one of its writes.
///
/// Writes are counted: appends, items, snapshots, attachments, and leases, of which no answer is
/// lost. Once the process is dead no call comes back any more, be it one that was under way: what
/// awaits one is to be dropped, as a process that was killed drops everything.
pub type CrashingStore = Layered<Faults>;

/// The fault of a [`CrashingStore`], and how far it has come.
pub struct Faults {
    inner: Arc<dyn Storage>,
    fault: Option<(u64, Fault)>,
    writes: AtomicU64,
    death: Mutex<Death>,
}

#[derive(Default)]
struct Death {
    dead: bool,
    waiting: Vec<Waker>,
}

impl Faults {
    /// A store on which all goes well, and whose writes are counted.
    pub fn none(inner: Arc<dyn Storage>) -> CrashingStore {
        let (writes, death) = (AtomicU64::new(0), Mutex::default());
        Layered(Self { inner, fault: None, writes, death })
    }

    /// A store with a fault at its n-th write, from 1.
    pub fn at(inner: Arc<dyn Storage>, nth: u64, fault: Fault) -> CrashingStore {
        let Layered(none) = Self::none(inner);
        Layered(Self { fault: Some((nth, fault)), ..none })
    }

    /// How many writes there were, the one with the fault among them.
    pub fn writes(&self) -> u64 {
        self.writes.load(Ordering::SeqCst)
    }

    /// Waits until the process is dead.
    pub async fn died(&self) {
        poll_fn(|context| {
            let mut death = self.death.lock().unwrap_or_else(PoisonError::into_inner);
            if death.dead {
                return Poll::Ready(());
            }
            death.waiting.push(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    async fn die<T>(&self) -> T {
        let waiting = {
            let mut death = self.death.lock().unwrap_or_else(PoisonError::into_inner);
            death.dead = true;
            std::mem::take(&mut death.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
        pending().await
    }

    async fn while_alive<T>(&self, call: impl Future<Output = T> + Send) -> T {
        let is_dead = || self.death.lock().unwrap_or_else(PoisonError::into_inner).dead;
        if is_dead() {
            return pending().await;
        }
        let answer = call.await;
        if is_dead() { pending().await } else { answer }
    }

    /// A write at which all faults can happen.
    async fn write<T: Send>(
        &self,
        call: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        match self.next_fault() {
            None => self.while_alive(call).await,
            Some(Fault::DiesBefore) => self.die().await,
            Some(Fault::DiesAfter) => {
                drop(call.await);
                self.die().await
            }
            Some(Fault::AnswerLost) => match call.await {
                Ok(_) => Err(StoreError::AnswerLost("as the test has it".into())),
                Err(refused) => Err(refused),
            },
            Some(Fault::NeverCame) => Err(StoreError::AnswerLost("as the test has it".into())),
        }
    }

    /// A write of which no answer is lost.
    async fn lease<T: Send>(
        &self,
        call: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        match self.next_fault() {
            None | Some(Fault::AnswerLost | Fault::NeverCame) => self.while_alive(call).await,
            Some(Fault::DiesBefore) => self.die().await,
            Some(Fault::DiesAfter) => {
                drop(call.await);
                self.die().await
            }
        }
    }

    fn next_fault(&self) -> Option<Fault> {
        let nth = self.writes.fetch_add(1, Ordering::SeqCst) + 1;
        self.fault.filter(|(at, _)| *at == nth).map(|(_, fault)| fault)
    }
}

#[async_trait]
impl Layer for Faults {
    fn inner(&self) -> &dyn Storage {
        &*self.inner
    }

    async fn around<T: Send>(
        &self,
        operation: Operation,
        call: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        match operation.access {
            Access::Read | Access::Staging => self.while_alive(call).await,
            Access::Lease => self.lease(call).await,
            Access::Write => self.write(call).await,
        }
    }
}
