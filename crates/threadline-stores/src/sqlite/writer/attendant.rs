//! The thread at the desk: it writes what comes at the same time, and looks after the store when
//! nothing does.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::Message;
use super::desk::{Desk, Pace, QUIET};
use super::job::{Ended, Job, Others};

const GROUP_CAP_JOBS: usize = 256;
const GROUP_CAP_BYTES: usize = 1024 * 1024;

/// Whoever attends to the desk.
pub(super) struct Attendant {
    desk: Arc<Mutex<Desk>>,
    messages: Receiver<Message>,
    /// Jobs that came and are in no group yet.
    waiting: VecDeque<Box<dyn Job>>,
    /// Those of the last group whom another of it may not have answered yet.
    passed_on: Option<Others>,
}

impl Attendant {
    pub(super) fn new(desk: Arc<Mutex<Desk>>, messages: Receiver<Message>) -> Self {
        Self { desk, messages, waiting: VecDeque::new(), passed_on: None }
    }

    /// Until nobody can ask for anything any more, or someone panicked at the desk.
    pub(super) fn run(mut self) {
        let desk = Arc::clone(&self.desk);
        let mut pause = Some(QUIET);
        loop {
            let next = if self.waiting.is_empty() { self.wait(pause) } else { Ok(()) };
            let Ok(mut desk) = desk.lock() else { return };
            pause = match next {
                Ok(()) => {
                    if !self.waiting.is_empty() {
                        self.write(&mut desk);
                    }
                    desk.keep_up();
                    Some(QUIET)
                }
                Err(RecvTimeoutError::Timeout) => desk.idle(),
                Err(RecvTimeoutError::Disconnected) => return,
            };
        }
    }

    /// Waits for a message, at most for a while if there is one.
    fn wait(&mut self, pause: Option<Duration>) -> Result<(), RecvTimeoutError> {
        let message = match (self.messages.try_recv(), pause) {
            (Ok(message), _) => message,
            (Err(_), pause) => {
                // There is time to answer whoever still waits.
                self.passed_on = None;
                match pause {
                    Some(pause) => self.messages.recv_timeout(pause)?,
                    None => self.messages.recv()?,
                }
            }
        };
        self.keep(message);
        Ok(())
    }

    fn keep(&mut self, message: Message) {
        match message {
            Message::Do(job) => self.waiting.push_back(job),
            // Whoever is awake looks anyway.
            Message::Look => {}
        }
    }

    /// Takes in all that has come.
    fn take_in(&mut self) {
        while let Ok(message) = self.messages.try_recv() {
            self.keep(message);
        }
    }

    /// Writes a group of those that wait.
    fn write(&mut self, desk: &mut Desk) {
        self.gather(&desk.pace);
        let mut group = self.group();
        let done = desk.do_group(&mut group);
        // Those who are answered come again, beside those who came in the meantime.
        self.take_in();
        desk.pace.at_once = group.len() + self.waiting.len();
        // Whoever of the last group is not answered by now is, as this lets go of them.
        self.passed_on = Ended::new(group, done).pass_on();
    }

    /// Waits for as many jobs as came at once before, for as long as that pays. One alone is never
    /// kept waiting.
    fn gather(&mut self, pace: &Pace) {
        self.take_in();
        let until = Instant::now() + pace.patience();
        while self.waiting.len() < pace.at_once {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || self.wait(Some(left)).is_err() {
                return;
            }
        }
    }

    /// The next group of those that wait.
    fn group(&mut self) -> Vec<Box<dyn Job>> {
        let mut bytes = 0_usize;
        let mut group = Vec::with_capacity(GROUP_CAP_JOBS.min(self.waiting.len()));
        while group.len() < GROUP_CAP_JOBS && bytes < GROUP_CAP_BYTES {
            let Some(job) = self.waiting.pop_front() else { break };
            bytes = bytes.saturating_add(job.bytes());
            group.push(job);
        }
        group
    }
}
