//! Signals: how whoever runs the program asks it to stop.

use std::io;

/// How it was asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// From the keyboard.
    Interrupt,
    /// By the system, or by another program.
    Terminate,
}

/// Listens for signals, which end the program no longer by themselves.
#[cfg(unix)]
pub(crate) struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    pub(crate) fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) -> Asked {
        tokio::select! {
            Some(()) = self.interrupt.recv() => Asked::Interrupt,
            Some(()) = self.terminate.recv() => Asked::Terminate,
            else => std::future::pending().await,
        }
    }
}

/// Listens for signals, which end the program no longer by themselves.
#[cfg(not(unix))]
pub(crate) struct Signals;

#[cfg(not(unix))]
impl Signals {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self)
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) -> Asked {
        match tokio::signal::ctrl_c().await {
            Ok(()) => Asked::Interrupt,
            Err(_) => std::future::pending().await,
        }
    }
}
