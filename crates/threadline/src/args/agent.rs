//! The commands that talk with an agent: chat, run, resume.

use std::path::PathBuf;

use clap::Args;

use super::number::at_least_one;
use super::{CONVERSATION_HELP, ConversationArgument, file};

#[derive(Debug, Default, Args)]
pub(crate) struct Chat {
    #[arg(value_name = "ID", help = CONVERSATION_HELP)]
    pub(crate) conversation: Option<ConversationArgument>,

    /// Go on with the conversation that was active last
    #[arg(long = "continue", conflicts_with = "conversation")]
    pub(crate) again: bool,

    #[command(flatten)]
    pub(crate) agent: AgentOptions,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The task; `-` reads it from standard input, which is the default in a pipe
    #[arg(value_name = "TASK")]
    pub(crate) task: Option<String>,

    /// Go on with this conversation instead of beginning one
    #[arg(long = "continue", value_name = "ID")]
    pub(crate) conversation: Option<ConversationArgument>,

    /// The agent of the conversation that gets the task, or `all` [default: the primary one]
    #[arg(long, value_name = "NAME")]
    pub(crate) to: Option<String>,

    #[command(flatten)]
    pub(crate) agent: AgentOptions,

    #[command(flatten)]
    pub(crate) bounds: Bounds,
}

#[derive(Debug, Args)]
pub(crate) struct Resume {
    /// The conversation: its id, the beginning of it, or `last` [default: last]
    #[arg(value_name = "ID", conflicts_with = "all")]
    pub(crate) conversation: Option<ConversationArgument>,

    /// Go on with every unfinished turn, and with whatever else is due
    #[arg(long)]
    pub(crate) all: bool,

    #[command(flatten)]
    pub(crate) workspace: Workspace,

    #[command(flatten)]
    pub(crate) bounds: Bounds,
}

/// What an agent is like.
#[derive(Debug, Default, Args)]
pub(crate) struct AgentOptions {
    /// The agent's instruction; `@FILE` reads it from a file
    #[arg(long, value_name = "TEXT")]
    pub(crate) instruction: Option<String>,

    /// The agent to begin with, of those in the config [default: assistant]
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,

    #[command(flatten)]
    pub(crate) answers: Answers,

    #[command(flatten)]
    pub(crate) workspace: Workspace,
}

const MODEL_HELP: &str = "The model that answers, as `threadline models` lists it, or \
    ENDPOINT/MODEL [default: that of THREADLINE_MODEL, of the config, or the first there is]";
const ROUTE_HELP: &str = "The route that chooses the model, of those in the config [default: that \
    of THREADLINE_ROUTE]";

/// Which model answers.
#[derive(Debug, Default, Args)]
pub(crate) struct Answers {
    #[arg(help = MODEL_HELP, long, value_name = "MODEL", conflicts_with = "route")]
    pub(crate) model: Option<String>,

    #[arg(help = ROUTE_HELP, long, value_name = "ROUTE")]
    pub(crate) route: Option<String>,
}

/// Where an agent may read files.
#[derive(Debug, Default, Args)]
pub(crate) struct Workspace {
    /// The folder whose files the agent may read [default: the current folder]
    #[arg(long = "workspace", value_name = "DIR", value_parser = file())]
    pub(crate) folder: Option<PathBuf>,
}

/// When a turn ends without an answer.
#[derive(Debug, Default, Args)]
pub(crate) struct Bounds {
    /// Let the model answer at most so often in the turn [default: 50]
    #[arg(long, value_name = "N")]
    #[arg(value_parser = at_least_one::<u32>, allow_negative_numbers = true)]
    pub(crate) max_steps: Option<u32>,

    /// Let the turn take at most so many tokens
    #[arg(long, value_name = "N")]
    #[arg(value_parser = at_least_one::<u64>, allow_negative_numbers = true)]
    pub(crate) max_tokens: Option<u64>,

    /// Stop the turn after so many seconds
    #[arg(long, value_name = "SECONDS")]
    #[arg(value_parser = at_least_one::<u64>, allow_negative_numbers = true)]
    pub(crate) timeout: Option<u64>,
}
