//! Reading ahead: the next page is under way while the last one is looked at.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

/// An answer that was asked for and may not be there yet.
pub(crate) enum Ahead<'a, T> {
    /// It is there.
    Here(T),
    /// It is under way.
    Coming(Pin<Box<dyn Future<Output = T> + Send + 'a>>),
}

impl<'a, T> Ahead<'a, T> {
    /// Asks, and does not wait for the answer. A store that reads on threads of its own reads on.
    pub(crate) async fn ask(question: impl Future<Output = T> + Send + 'a) -> Self {
        let mut asked = Self::Coming(Box::pin(question));
        asked.nudge().await;
        asked
    }

    /// Lets it go on, without waiting: an answer may take several steps.
    pub(crate) async fn nudge(&mut self) {
        if let Self::Coming(question) = self
            && let Poll::Ready(answer) =
                poll_fn(|context| Poll::Ready(question.as_mut().poll(context))).await
        {
            *self = Self::Here(answer);
        }
    }

    /// The answer.
    pub(crate) async fn answer(self) -> T {
        match self {
            Self::Here(answer) => answer,
            Self::Coming(question) => question.await,
        }
    }
}
