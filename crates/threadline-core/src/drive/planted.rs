//! Bugs that can be planted into a driver, so that the simulator can show that it finds them.
//!
//! They are there only with the feature `planted-bugs`, and then only if a test plants one, on
//! its own thread.

/// Whether a bug is planted: never, without the feature.
macro_rules! planted {
    ($bug:ident) => {{
        #[cfg(feature = "planted-bugs")]
        let planted = $crate::drive::planted::is_planted($crate::drive::planted::Bug::$bug);
        #[cfg(not(feature = "planted-bugs"))]
        let planted = false;
        planted
    }};
}

pub(super) use planted;

#[cfg(feature = "planted-bugs")]
pub use self::bug::{Bug, plant};

#[cfg(feature = "planted-bugs")]
pub(super) use self::bug::is_planted;

#[cfg(feature = "planted-bugs")]
mod bug {
    use std::cell::Cell;

    /// A bug that can be planted.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Bug {
        /// A call is run before its start is durable.
        RunBeforeDurable,
        /// A request is sent before its beginning is durable.
        SendBeforeDurable,
        /// A call that must not run twice is run again after a crash.
        RunOnceAgain,
        /// An append that was refused because someone else holds the conversation counts as done.
        IgnoreFence,
        /// Watchers are told of entries before they are durable.
        TellBeforeDurable,
        /// After a lost answer another batch is made.
        BlindRetry,
        /// What was taken from the inbox is taken again.
        TakeTwice,
        /// Calls are started while their turn is being cancelled.
        StartAfterCancel,
        /// Failed invocations are not counted.
        EndlessRetry,
        /// Results are sealed in the order in which they landed.
        SealAsLanded,
        /// What had streamed when an answer broke off counts as the answer.
        PartialAnswer,
        /// A widget's change stays though its batch was not appended.
        KeepChange,
        /// The rules of the operator do not count.
        ForgetOperator,
        /// A question that nobody answers stays open.
        AskForEver,
        /// The answer of an agent is returned twice.
        ReturnTwice,
        /// Agents go on though the turn that they work for is cancelled.
        LeaveChildren,
        /// Answers of agents are lost if another process takes over.
        ForgetAnswers,
        /// A timer that was missed fires for every time it was.
        FireEachMissed,
        /// A timer that was taken back still fires.
        ClearNothing,
        /// Agents may wait for each other in a circle.
        WaitInCircles,
        /// An agent does for another what that one may not.
        ExceedCaller,
    }

    impl Bug {
        /// All of them.
        pub const ALL: &[Self] = &[
            Self::RunBeforeDurable,
            Self::SendBeforeDurable,
            Self::RunOnceAgain,
            Self::IgnoreFence,
            Self::TellBeforeDurable,
            Self::BlindRetry,
            Self::TakeTwice,
            Self::StartAfterCancel,
            Self::EndlessRetry,
            Self::SealAsLanded,
            Self::PartialAnswer,
            Self::KeepChange,
            Self::ForgetOperator,
            Self::AskForEver,
            Self::ReturnTwice,
            Self::LeaveChildren,
            Self::ForgetAnswers,
            Self::FireEachMissed,
            Self::ClearNothing,
            Self::WaitInCircles,
            Self::ExceedCaller,
        ];
    }

    thread_local! {
        static PLANTED: Cell<Option<Bug>> = const { Cell::new(None) };
    }

    /// Plants a bug into all drivers of this thread, in place of the one before.
    pub fn plant(bug: Option<Bug>) {
        PLANTED.set(bug);
    }

    pub(in crate::drive) fn is_planted(bug: Bug) -> bool {
        PLANTED.get() == Some(bug)
    }
}
