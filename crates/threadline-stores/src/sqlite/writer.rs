//! The writer: one desk, at which one writes at a time, with group commit.
//!
//! Jobs that come at the same time are run by a thread in one transaction; one sync makes them all
//! last, and only then are they answered. A job that comes alone is done at once, on the thread of
//! whoever asks, as long as the disk is quick: to wake another thread and to be woken by it takes
//! as long again as to write. A job that fails does not fail its neighbours: most fail before they
//! write anything, and if one has written, the group is run again with a savepoint for each, which
//! costs copies of all pages it changes.

mod attendant;
mod desk;
mod job;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::thread::JoinHandle;

use rusqlite::Connection;
use threadline_core::store::StoreError;
use tokio::sync::oneshot;

use super::error::Failure;
use super::remembered::Remembered;
use attendant::Attendant;
use desk::Desk;
use job::{Job, Task, Told};

/// Why the store stopped, once it has.
pub(super) type Poison = Arc<OnceLock<String>>;

/// Work that nobody waits for, done in small slices when nothing else is to be done. Tells whether
/// there is more.
pub(super) type IdleWork = Box<dyn FnMut(&Connection) -> Result<bool, Failure> + Send>;

/// The way to the desk. Dropping it stops the thread after the jobs that wait.
pub(super) struct Writer {
    desk: Arc<Mutex<Desk>>,
    messages: Option<Sender<Message>>,
    thread: Option<JoinHandle<()>>,
    poison: Poison,
    around: Arc<Around>,
}

/// What a job may know of the desk at which it is done.
#[derive(Default)]
pub(super) struct Around {
    at_once: AtomicUsize,
    remembered: Mutex<Remembered>,
}

impl Around {
    /// How many jobs are done in the transaction that is under way.
    pub(super) fn at_once(&self) -> usize {
        self.at_once.load(Ordering::Relaxed)
    }

    /// Conversations as the last appends left them.
    pub(super) fn remembered(&self) -> MutexGuard<'_, Remembered> {
        self.remembered.lock().unwrap_or_else(|poisoned| {
            // Someone panicked half way: nothing of it is trusted.
            let mut remembered = poisoned.into_inner();
            remembered.forget();
            remembered
        })
    }
}

/// What the thread is told.
enum Message {
    /// To do a job.
    Do(Box<dyn Job>),
    /// That something was written.
    Look,
}

impl Writer {
    /// Starts the thread.
    pub(super) fn start(
        connection: Connection,
        poison: Poison,
        idle: IdleWork,
    ) -> Result<Self, StoreError> {
        let (messages, waiting) = channel();
        let desk = Desk::new(connection, Arc::clone(&poison), idle);
        let around = Arc::clone(&desk.around);
        let desk = Arc::new(Mutex::new(desk));
        let attendant = Attendant::new(Arc::clone(&desk), waiting);
        let thread = std::thread::Builder::new()
            .name("threadline-sqlite".to_owned())
            .spawn(move || attendant.run())
            .map_err(|error| StoreError::Unavailable {
                doing: "start the thread that writes to the store",
                source: Box::new(error),
            })?;
        Ok(Self { desk, messages: Some(messages), thread: Some(thread), poison, around })
    }

    /// Does some work in a transaction, and answers when it is durable. The work may be done more
    /// than once, each time as if it had not been done before.
    pub(super) async fn call<T: Send + 'static>(
        &self,
        doing: &'static str,
        bytes: usize,
        work: impl FnMut(&Connection) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let job = Box::new(Task { doing, bytes, work, result: None, reply });
        let told = match self.do_at_once(job) {
            Ok(looks) => {
                if looks {
                    self.tell(Message::Look);
                }
                true
            }
            Err(job) => self.tell(Message::Do(job)),
        };
        if !told {
            return Err(stopped(&self.poison));
        }
        match answer.await {
            Ok(Told { answer, others }) => {
                drop(others);
                answer
            }
            Err(lost) => Err(StoreError::AnswerLost(Box::new(lost))),
        }
    }

    /// Reads with the connection that writes, on the thread of whoever asks, or gives the work back
    /// if someone else writes. Only for what takes less time than to wake another thread.
    pub(super) fn read_at_once<T, W>(&self, work: W) -> Result<Result<T, Failure>, W>
    where
        W: FnOnce(&Connection) -> Result<T, Failure>,
    {
        match self.desk.try_lock() {
            Ok(desk) if self.poison.get().is_none() => Ok(desk.read(work)),
            Ok(_) | Err(_) => Err(work),
        }
    }

    /// What a job may know of the desk.
    pub(super) fn around(&self) -> Arc<Around> {
        Arc::clone(&self.around)
    }

    /// Does a job if nobody else writes, or gives it back. Tells whether the thread should look
    /// after what was written.
    fn do_at_once(&self, job: Box<dyn Job>) -> Result<bool, Box<dyn Job>> {
        // A desk at which someone panicked is left to the thread, which ends by it.
        let Ok(mut desk) = self.desk.try_lock() else { return Err(job) };
        desk.do_at_once(job)?;
        Ok(desk.wakes_thread())
    }

    /// Tells the thread something, if it has not ended.
    fn tell(&self, message: Message) -> bool {
        self.messages.as_ref().is_some_and(|messages| messages.send(message).is_ok())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.messages.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!(target: "History", "the thread that writes to the store panicked");
        }
    }
}

/// The error of every call after the store has stopped.
pub(super) fn stopped(poison: &Poison) -> StoreError {
    let why = poison.get().map_or("its writer has ended", String::as_str);
    StoreError::Poisoned(why.to_owned())
}
