//! What a script is made of: turns, answers, tries, actions.

use std::sync::Arc;

use threadline_core::history::fact::{FailureKind, Money, Opaque, Stop, Usage};

/// What a model does: turn by turn, answer by answer.
///
/// It can be written as text, a line for each thing, indented as one likes:
///
/// ```
/// # use threadline_providers::scripted::Script;
/// let script = r#"
///     ## A turn for inputs that contain a text.
///     turn when "weather"
///       think Where are they?
///       say Let me look.
///       ## Nothing comes for 20 ms; a text that follows directly goes on with the one before.
///       wait 20
///       say " It takes a moment."
///       ## A call, its arguments as they are.
///       call weather {"in":"{input}"}
///       ## Prompt tokens and generated tokens.
///       usage 120 30
///     ## The next answer of the turn.
///     then
///       fail busy after 1000 slow down
///     ## The same answer, asked a second time. Texts may be written as JSON strings.
///     again
///       say "It is {result}.\n"
///       stop done
///     ## A turn for the first input that no `when` speaks of.
///     turn
///       ## Calls with the provider's own id; the second does not come to its end.
///       call add#1 {"a":1}
///       cut add#1 {"a":
///       stop length
///     ## A turn for all other inputs.
///     turn else
///       say Good bye.
/// "#;
/// assert_eq!(script.parse::<Script>()?.turns.len(), 3);
/// # Ok::<(), threadline_providers::scripted::ScriptUnreadable>(())
/// ```
///
/// Further: `state TEXT` (opaque state of the open text or thought), `cost BILLIONTHS`,
/// `stop done|length|paused|refusal|blocked`, `fail KIND [after MS] [limit TOKENS] [TEXT]` with the kinds
/// `busy`, `context_too_long`, `unauthorised`, `quota_spent`, `refused`, `protocol`,
/// `unreachable` and `cancelled`, `ends` (the stream just ends), `garbage` (a delta that breaks
/// the order of deltas), `huge BYTES` (a text of so many bytes in one delta), `hang` (nothing
/// comes any more). An answer that does not say how it stops is done.
///
/// In texts and arguments these stand for what the request says: `{input}` the newest input,
/// `{result}` and `{result:2}` the first and second result after the last output, `{results}` all
/// of them, a line each, `{screen}` the newest live screen, `{turn}` and `{step}` the number of
/// the input and of the answer, from 1. In arguments they are escaped as within a JSON string.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// The turns.
    pub turns: Vec<Turn>,
}

/// What a model does about one input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// Which input.
    pub when: When,
    /// Its answers: one, and one more for each time that results are shown to it.
    pub answers: Vec<Answer>,
}

/// Which input a turn is for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum When {
    /// The next one that no other turn speaks of.
    #[default]
    Next,
    /// Those that contain a text.
    Says(Arc<str>),
    /// Those that no other turn is for.
    Else,
}

/// What a model does when it is asked once, or the same again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// What it does the first time, the second time, and so on; from then on the last.
    pub tries: Vec<Vec<Action>>,
}

/// One thing that a model does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// It thinks; directly after a thought, it goes on with it.
    Think(Arc<str>),
    /// It says something; directly after a text, it goes on with it.
    Say(Arc<str>),
    /// It gives the open text or thought an opaque state.
    State(Opaque),
    /// It calls a tool.
    Call(Call),
    /// It tells what it took so far.
    Usage(Usage),
    /// It tells what it cost so far.
    Cost(Money),
    /// Nothing comes for so many milliseconds.
    Wait(u64),
    /// It says so many bytes at once.
    Huge(usize),
    /// It breaks the order of deltas.
    Garbage,
    /// It stops; what follows is not played.
    Stop(Stop),
    /// It fails; what follows is not played.
    Fail(Fault),
    /// The stream just ends; what follows is not played.
    End,
    /// Nothing comes any more; what follows is not played.
    Hang,
}

/// A call that a model makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The tool's name.
    pub tool: Arc<str>,
    /// The provider's id of the call.
    pub provider_id: Option<Arc<str>>,
    /// The arguments, raw.
    pub arguments: Arc<str>,
    /// Whether it comes to its end.
    pub complete: bool,
}

/// How a model fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What the caller can do about it.
    pub kind: FailureKind,
    /// When asking again may help, if it says so.
    pub retry_after_ms: Option<u64>,
    /// The most tokens that it takes, if it says so.
    pub limit_tokens: Option<u64>,
    /// What it says about it.
    pub message: Arc<str>,
}

impl Script {
    /// A script of these turns.
    pub fn of(turns: impl IntoIterator<Item = Turn>) -> Self {
        Self { turns: turns.into_iter().collect() }
    }

    /// The n-th try from the beginning, from 0.
    pub(super) fn at(&self, place: usize) -> Option<&[Action]> {
        let answers = self.turns.iter().flat_map(|turn| &turn.answers);
        answers.flat_map(|answer| &answer.tries).nth(place).map(Vec::as_slice)
    }
}

impl Turn {
    /// A turn for the next input.
    pub fn of(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self { when: When::Next, answers: answers.into_iter().collect() }
    }

    /// A turn for inputs that contain a text.
    pub fn when(text: impl Into<Arc<str>>, answers: impl IntoIterator<Item = Answer>) -> Self {
        Self { when: When::Says(text.into()), ..Self::of(answers) }
    }

    /// A turn for all other inputs.
    pub fn otherwise(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self { when: When::Else, ..Self::of(answers) }
    }
}

impl Answer {
    /// An answer that is the same at every try.
    pub fn of(actions: impl IntoIterator<Item = Action>) -> Self {
        Self { tries: vec![actions.into_iter().collect()] }
    }

    /// An answer that is another at each try, and from then on the last.
    pub fn tries(tries: impl IntoIterator<Item = Vec<Action>>) -> Self {
        Self { tries: tries.into_iter().collect() }
    }
}

impl Action {
    /// Whether nothing after it is played.
    pub const fn is_last(&self) -> bool {
        match self {
            Self::Stop(_) | Self::Fail(_) | Self::End | Self::Hang => true,
            Self::Think(_)
            | Self::Say(_)
            | Self::State(_)
            | Self::Call(_)
            | Self::Usage(_)
            | Self::Cost(_)
            | Self::Wait(_)
            | Self::Huge(_)
            | Self::Garbage => false,
        }
    }
}

impl Call {
    /// A whole call without an id of the provider's.
    pub fn to(tool: impl Into<Arc<str>>, arguments: impl Into<Arc<str>>) -> Self {
        Self { tool: tool.into(), provider_id: None, arguments: arguments.into(), complete: true }
    }
}

impl Fault {
    /// A fault that does not say when asking again may help.
    pub fn of(kind: FailureKind) -> Self {
        let (retry_after_ms, limit_tokens) = (None, None);
        Self { kind, retry_after_ms, limit_tokens, message: "as the script has it".into() }
    }
}
