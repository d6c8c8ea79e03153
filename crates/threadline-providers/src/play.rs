//! A stream that plays moves: deltas, waits and faults, one after the other.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use threadline_core::provider::{Delta, DeltaStream, ProviderError};
use tokio::time::Sleep;

/// One thing that happens in a stream.
#[derive(Debug)]
pub(crate) enum Move {
    /// A delta comes.
    Give(Delta),
    /// Nothing comes for so many milliseconds.
    Wait(u64),
    /// Nothing comes any more, and it does not end.
    Hang,
    /// It fails, and ends.
    Fail(ProviderError),
}

/// A stream of moves that are made up when it is first polled: until then nothing happens.
pub(crate) fn play(make: impl FnOnce() -> Vec<Move> + Send + 'static) -> DeltaStream {
    Box::pin(Playing { make: Some(Box::new(make)), moves: VecDeque::new(), asleep: None })
}

struct Playing {
    make: Option<Box<dyn FnOnce() -> Vec<Move> + Send>>,
    moves: VecDeque<Move>,
    asleep: Option<Pin<Box<Sleep>>>,
}

impl Stream for Playing {
    type Item = Result<Delta, ProviderError>;

    fn poll_next(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(make) = self.make.take() {
            self.moves = make().into();
        }
        loop {
            if let Some(asleep) = &mut self.asleep {
                if asleep.as_mut().poll(task).is_pending() {
                    return Poll::Pending;
                }
                self.asleep = None;
            }
            match self.moves.pop_front() {
                Some(Move::Give(delta)) => return Poll::Ready(Some(Ok(delta))),
                // No wait at all needs no timer, and so no runtime.
                Some(Move::Wait(0)) => {}
                Some(Move::Wait(millis)) => {
                    let pause = Duration::from_millis(millis);
                    self.asleep = Some(Box::pin(tokio::time::sleep(pause)));
                }
                Some(Move::Hang) => {
                    self.moves = VecDeque::from([Move::Hang]);
                    return Poll::Pending;
                }
                Some(Move::Fail(error)) => {
                    self.moves.clear();
                    return Poll::Ready(Some(Err(error)));
                }
                None => return Poll::Ready(None),
            }
        }
    }
}
