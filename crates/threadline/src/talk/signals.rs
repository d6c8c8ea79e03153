//! Signals: how whoever runs the program asks it to stop.

use std::io;

/// How it was asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// From the keyboard.
    Interrupt,
    /// By the system, by another program, or because the terminal was closed.
    Terminate,
}

/// Listens for signals, which end the program no longer by themselves.
#[cfg(unix)]
pub(crate) struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    /// None if whoever started the program has it ignore hangups, as `nohup` does.
    hangup: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Signals {
    pub(crate) fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: if ignores_hangups() { None } else { Some(signal(SignalKind::hangup())?) },
        })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) -> Asked {
        tokio::select! {
            Some(()) = self.interrupt.recv() => Asked::Interrupt,
            Some(()) = self.terminate.recv() => Asked::Terminate,
            Some(()) = hung_up(self.hangup.as_mut()) => Asked::Terminate,
            else => std::future::pending().await,
        }
    }
}

#[cfg(unix)]
async fn hung_up(signal: Option<&mut tokio::signal::unix::Signal>) -> Option<()> {
    match signal {
        Some(signal) => signal.recv().await,
        None => None,
    }
}

/// Whether this process was started with hangups ignored, as far as the system tells.
#[cfg(unix)]
fn ignores_hangups() -> bool {
    std::fs::read_to_string("/proc/self/status").map_or(true, |status| is_ignored(&status))
}

/// The signals that a process ignores are in the line `SigIgn`, as bits from the lowest on.
#[cfg(unix)]
fn is_ignored(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // A hangup is signal 1.
    mask.is_none_or(|mask| mask & 1 == 1)
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

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn hangups_are_ignored_where_the_system_says_so() {
        assert!(is_ignored("Name:\tx\nSigIgn:\t0000000000001001\nSigCgt:\t0000000000000000\n"));
        assert!(!is_ignored("Name:\tx\nSigIgn:\t0000000000001000\nSigCgt:\t0000000000000001\n"));
        assert!(is_ignored("") && is_ignored("SigIgn:\tno\n"));
    }
}
