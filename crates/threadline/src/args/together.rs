//! The commands for conversations in which others take part: agents, people, other terminals.

use clap::{Args, ValueEnum};

use super::agent::Workspace;
use super::{CONVERSATION_HELP, ConversationArgument};

#[derive(Debug, Args)]
pub(crate) struct Agents {
    /// The conversation: its id, the beginning of it, or `last` [default: those of the config]
    #[arg(value_name = "ID")]
    pub(crate) conversation: Option<ConversationArgument>,

    /// Let an agent join, or leave
    #[arg(value_name = "ACTION", requires = "name")]
    pub(crate) action: Option<AgentAction>,

    /// The agent: one of the config, or a new one
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// What it is for, as the other agents read it
    #[arg(long, value_name = "TEXT", requires = "action")]
    pub(crate) description: Option<String>,

    /// Its instruction; `@FILE` reads it from a file
    #[arg(long, value_name = "TEXT", requires = "action")]
    pub(crate) instruction: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AgentAction {
    /// Let it join
    Add,
    /// Let it leave
    Remove,
}

#[derive(Debug, Args)]
pub(crate) struct Send {
    #[arg(value_name = "ID", help = CONVERSATION_HELP)]
    pub(crate) conversation: ConversationArgument,

    /// What to say
    #[arg(value_name = "TEXT")]
    pub(crate) text: String,

    /// The agent it is for, or `all` [default: the primary one]
    #[arg(long, value_name = "NAME")]
    pub(crate) to: Option<String>,

    /// Have it heard before the next answer of the turn that runs, instead of after that turn
    #[arg(long)]
    pub(crate) steer: bool,

    /// The sender's own key: what is sent twice under one key is said once
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Cancel {
    /// The conversation: its id, the beginning of it, or `last` [default: last]
    #[arg(value_name = "ID")]
    pub(crate) conversation: Option<ConversationArgument>,

    /// Only the turn of this agent, by name or number, and those that work for it
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Approve {
    /// The conversation: its id, the beginning of it, or `last` [default: last]
    #[arg(value_name = "ID")]
    pub(crate) conversation: Option<ConversationArgument>,

    /// The call to allow, as it is listed without this
    #[arg(value_name = "CALL")]
    pub(crate) call: Option<String>,

    /// Decline it instead
    #[arg(long, requires = "call")]
    pub(crate) deny: bool,

    /// Answer the same for calls like this in the rest of the conversation
    #[arg(long, requires = "call")]
    pub(crate) always: bool,

    /// Who answers, for the record [default: the name you are logged in with]
    #[arg(long, value_name = "NAME", requires = "call")]
    pub(crate) by: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Watch {
    /// The conversation: its id, the beginning of it, or `last` [default: all of them]
    #[arg(value_name = "ID")]
    pub(crate) conversation: Option<ConversationArgument>,

    #[command(flatten)]
    pub(crate) workspace: Workspace,
}
