//! The command that shows what a model sees.

use clap::Args;

use super::ConversationArgument;
use super::number::{at_least_one, entry};

#[derive(Debug, Args)]
pub(crate) struct Context {
    /// The conversation: its id, the beginning of it, or `last` [default: last]
    #[arg(value_name = "ID")]
    pub(crate) conversation: Option<ConversationArgument>,

    /// What this agent's model sees, by name or number [default: the primary agent]
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,

    /// What was seen when a model was asked at this entry, or last before it; it is projected again
    /// and compared with what was recorded then
    #[arg(long, value_name = "SEQ", conflicts_with_all = ["model", "window"])]
    #[arg(value_parser = entry, allow_negative_numbers = true)]
    pub(crate) at: Option<u64>,

    /// What this model would see [default: the first of the agent's route that can be asked]
    #[arg(long, value_name = "MODEL", conflicts_with = "window")]
    pub(crate) model: Option<String>,

    /// What a model with a window of so many tokens would see that counts them as we do; a quarter
    /// is kept free for the answer
    #[arg(long, value_name = "TOKENS")]
    #[arg(value_parser = at_least_one::<u64>, allow_negative_numbers = true)]
    pub(crate) window: Option<u64>,

    /// Tell what differs from what was seen the time before, and how much is an identical prefix
    #[arg(long)]
    pub(crate) diff: bool,

    /// Print the text of every part, or only the part of this entry
    #[arg(long, value_name = "SEQ", num_args = 0..=1, default_missing_value = "all")]
    #[arg(value_parser = text_of, allow_negative_numbers = true, conflicts_with = "diff")]
    pub(crate) text: Option<TextOf>,
}

/// Whose text is wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TextOf {
    All,
    Entry(u64),
}

fn text_of(text: &str) -> Result<TextOf, String> {
    if text == "all" { Ok(TextOf::All) } else { entry(text).map(TextOf::Entry) }
}
