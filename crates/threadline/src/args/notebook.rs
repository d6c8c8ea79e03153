//! The command that shows and changes what an agent remembers.

use std::path::PathBuf;

use clap::Args;

use super::{ConversationArgument, file};

#[derive(Debug, Args)]
pub(crate) struct Notebook {
    /// The conversation: its id, the beginning of it, or `last` [default: last]
    #[arg(value_name = "ID")]
    pub(crate) conversation: Option<ConversationArgument>,

    /// The notebook of this agent, by name or number [default: the primary agent]
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,

    /// Show for every line the entry that wrote it, when, and who did
    #[arg(long, conflicts_with_all = ["set", "set_file", "clear"])]
    pub(crate) blame: bool,

    /// Have it say this instead
    #[arg(long, value_name = "TEXT", group = "change", allow_hyphen_values = true)]
    pub(crate) set: Option<String>,

    /// Have it say what is in a file instead; `-` for standard input
    #[arg(long, value_name = "FILE", group = "change", value_parser = file())]
    pub(crate) set_file: Option<PathBuf>,

    /// Empty it
    #[arg(long, group = "change")]
    pub(crate) clear: bool,
}

impl Notebook {
    /// Whether it is to say something else.
    pub(crate) fn changes(&self) -> bool {
        self.clear || self.set.is_some() || self.set_file.is_some()
    }
}
