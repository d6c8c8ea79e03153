//! Marks: remarkable things that a run went through, so that a suite can tell what it never saw.

macro_rules! marks {
    ($($variant:ident = $name:literal,)*) => {
        /// A remarkable thing that a run can go through.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Mark {
            $(#[doc = $name] $variant,)*
        }

        impl Mark {
            /// All marks.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// What it is called.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

marks! {
    LostCommitted = "unknown resolved as committed",
    LostNotCommitted = "unknown resolved as not committed",
    LateCommit = "a commit came after its batch was sent again",
    FencedAppend = "fenced append",
    ZombieResult = "zombie result refused",
    LeaseTakenOver = "lease taken over",
    LeaseRunOut = "a worker saw that its lease had run out before a run",
    Crashed = "crash",
    PowerLost = "power loss",
    Frozen = "freeze",
    Dropped = "driver dropped",
    StoppedGently = "graceful stop",
    StoreFull = "store full",
    StoreBusy = "store busy",
    ReadFailed = "a read failed",
    OnceReconciled = "orphan Once reconciled",
    OnceUnknown = "orphan Once unknown",
    RunAgain = "idempotent re-run",
    RunTooOften = "idempotent given up after its attempts",
    CancelStreaming = "cancel while streaming",
    CancelRunning = "cancel while tool runs",
    CancelAsked = "cancel while a person is asked",
    CancelNothing = "cancel of nothing",
    GraceOver = "a call that did not stop in its time",
    Retried = "retry after failure",
    RetryAfter = "retry after the time that the provider said",
    GaveUp = "gave up after 5",
    FellBack = "another model after a failure",
    CameRound = "a model that failed asked again after the others",
    NoneLeft = "a turn that ended because no model was left",
    Rerouted = "an input that names its own route",
    FailedForGood = "failure that no retry helps",
    OrphanInvocation = "an invocation that nobody answered any more",
    ApprovalAllowed = "approval allowed",
    ApprovalDenied = "approval denied",
    ApprovalExpired = "approval expired",
    ApprovalTooLate = "approval after its question",
    ApprovalOverruled = "approval answered by a new message",
    Rewound = "rewind",
    RewoundOpen = "rewind with open calls",
    RecapBegun = "recap begun",
    RecapWritten = "recap written because lines no longer fit",
    RecapAsked = "recap written because someone asked",
    RecapFailed = "recap that failed or was refused",
    RecapUndone = "recap taken back",
    RewindRefused = "rewind refused",
    Paused = "paused output",
    EmptyAgain = "empty answer asked again",
    LengthMidCall = "length mid-call",
    Refusal = "refusal",
    BatchCap = "batch cap",
    BatchBytes = "batch full of bytes",
    TooLarge = "result too large to be recorded",
    LimitSteps = "limit steps",
    LimitCalls = "limit calls",
    SameCall = "same call limit",
    UnknownTool = "unknown tool",
    BadArguments = "invalid arguments",
    Mended = "mended arguments",
    RuleDenied = "denied by a rule",
    WidgetChanged = "widget changed by a call",
    WidgetRefused = "widget refused",
    WidgetByPerson = "widget changed by a person",
    SideBySide = "calls side by side",
    NoAnswer = "call without an answer",
    Steered = "steered input",
    SentTwice = "input sent twice",
    Withdrawn = "an input withdrawn while it waited",
    Edited = "an input edited while it waited",
    ItemGone = "a batch refused because its input was edited or withdrawn",
    SendLost = "answer to an input lost",
    ClockBack = "clock an hour back",
    ClockAhead = "clock a day ahead",
    BrokeOff = "stream that just ends",
    Garbage = "garbage in a stream",
    Huge = "huge answer",
    Hung = "model that hung",
    FromSnapshot = "opened from a snapshot",
    GivenBack = "lease given back at rest",
    Instructed = "instruction set",
    SideAgents = "two agents in their turns",
    TimerFired = "timer fired",
    NotYetDue = "an item that is due later",
    JoinedAgain = "joined again with other tools",
    Left = "agent left",
    NobodyThere = "item for an agent that is not there",
    AlwaysAllowed = "run by a rule of the conversation",
    OperatorAllowed = "run by a rule of the operator",
    OperatorDenied = "denied by a rule of the operator",
    ConversationDenied = "denied by a rule of the conversation",
    AnsweredByRule = "a question answered by a rule that was set since",
    SaidAlways = "a person said always",
    Joined = "a new agent joined",
    FoundByLook = "an item from another process, found by looking",
    TakenOverInTree = "taken over while an agent worked for another",
    AgentAsked = "agent asked",
    AgentSent = "agent given a task without waiting",
    AgentNested = "agent asked by one that was asked",
    AgentsAtOnce = "agents asked side by side",
    AgentBusy = "a call to an agent that was in a turn",
    AgentReturned = "answer of an agent returned",
    AgentFailed = "agent that gave no answer",
    Circle = "call that would wait for itself refused",
    CalledItself = "agent that calls itself refused",
    NoSuchAgent = "call to an agent that is not there",
    TooDeep = "call refused by depth",
    TooLongAlone = "call refused because no person took part for long",
    Beyond = "call refused because whoever asked may not",
    ReplyAtRest = "answer delivered at rest",
    ReplyEndedWait = "answer that ended a wait",
    ChildCancelled = "cancel of an agent that works for another",
    TreeCancelled = "cancel of agents that work for one another",
    ChildAsks = "a person asked by an agent that works for another",
    ChildAskedInVain = "approval after its question, of an agent that worked for another",
    Broadcast = "said to all",
    WaitOver = "wait until its time",
    WaitEarly = "wait ended by a message",
    TimerAgain = "timer that fires again and again",
    TimerMissed = "several missed times of a timer made one",
    TimerCleared = "timer taken back",
    TimerGivenUp = "timer taken back because no person took part for long",
    NotAgain = "a rule that keeps a call from running again",
    RuleRefused = "a rule that cannot be set",
}

/// How often a run, or many, went through each mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coverage(Vec<u64>);

impl Default for Coverage {
    fn default() -> Self {
        Self(vec![0; Mark::ALL.len()])
    }
}

impl Coverage {
    /// How often it went through a mark.
    pub fn of(&self, mark: Mark) -> u64 {
        self.0.get(place(mark)).copied().unwrap_or(0)
    }

    /// Takes in the coverage of another run.
    pub fn add(&mut self, other: &Self) {
        for (sum, more) in self.0.iter_mut().zip(&other.0) {
            *sum += more;
        }
    }

    /// The marks that it never went through.
    pub fn missing(&self) -> Vec<Mark> {
        Mark::ALL.iter().copied().filter(|mark| self.of(*mark) == 0).collect()
    }

    pub(super) fn hit(&mut self, mark: Mark) {
        if let Some(count) = self.0.get_mut(place(mark)) {
            *count += 1;
        }
    }
}

fn place(mark: Mark) -> usize {
    Mark::ALL.iter().position(|other| *other == mark).unwrap_or(0)
}
