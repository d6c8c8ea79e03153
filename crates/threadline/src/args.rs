//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// A durable, provider-neutral runtime for LLM agents.
///
/// Conversations are append-only histories in one database file. They can be listed, read,
/// searched, forked, rewound, verified, and carried to another machine.
#[derive(Debug, Parser)]
#[command(name = "threadline", version, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,

    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// What every command takes.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// The database file [default: threadline.db in the data folder]
    #[arg(long, global = true, env = "THREADLINE_DB", value_name = "FILE")]
    pub(crate) db: Option<PathBuf>,

    /// Print JSON for programs instead of text for people
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// The config file [default: config.toml in the config folder]
    #[arg(long, global = true, env = "THREADLINE_CONFIG", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// What to log, by category: `History`, `Provider`, `Tools`, `StateMachine`, `Widgets`; each may have a
    /// level, as in History=debug. The log file is in the data folder
    #[arg(long, global = true, env = "THREADLINE_LOG", value_name = "CATEGORIES")]
    pub(crate) log: Option<String>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List conversations, the most recent first
    #[command(alias = "ls")]
    List(List),
    /// Print a conversation: its transcript, a thread, or every entry
    Show(Show),
    /// Find entries by their words
    Search(Search),
    /// Branch off a conversation; the entries are shared, not copied
    Fork(Fork),
    /// Go back to an earlier point; nothing is deleted, and it can be undone
    Rewind(Rewind),
    /// Write a conversation to a file
    Export(Export),
    /// Read a conversation from a file
    Import(Import),
    /// Check that what is stored is what was written
    Verify(Verify),
    /// Check this installation and its database
    Doctor,
    /// Tools for developers of threadline
    #[command(subcommand)]
    Dev(Dev),
}

/// A conversation: its id, the beginning of its id if no other begins like it, or `last`.
pub(crate) type ConversationArgument = String;

const CONVERSATION_HELP: &str = "The conversation: its id, the beginning of it, or `last`";

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Show at most so many
    #[arg(long, short = 'n', default_value_t = 20)]
    pub(crate) limit: usize,

    /// Show only those that come after this conversation in the list
    #[arg(long, value_name = "ID")]
    pub(crate) after: Option<ConversationArgument>,

    /// In which order
    #[arg(long, value_enum, default_value_t = SortBy::Active)]
    pub(crate) sort: SortBy,

    /// Show archived ones
    #[arg(long, group = "which")]
    pub(crate) archived: bool,

    /// Show archived ones too
    #[arg(long, group = "which")]
    pub(crate) all: bool,

    /// Show only those with this label
    #[arg(long, group = "which")]
    pub(crate) label: Option<String>,

    /// Show only those in this state
    #[arg(long, group = "which", value_enum)]
    pub(crate) state: Option<InState>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SortBy {
    /// The most recently active first
    Active,
    /// The most recently created first
    Created,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum InState {
    /// Nothing to do before something new comes
    Resting,
    /// A turn is unfinished and can go on
    Working,
    /// Unfinished, and waits for a person or a time
    Waiting,
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    #[arg(value_name = "ID", help = CONVERSATION_HELP)]
    pub(crate) conversation: ConversationArgument,

    /// Print every entry, rewound ones included
    #[arg(long)]
    pub(crate) all: bool,

    /// Print the thread of one agent, by name or number
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,

    /// Begin at this entry
    #[arg(long, value_name = "SEQ")]
    pub(crate) from: Option<u64>,

    /// End at this entry
    #[arg(long, value_name = "SEQ")]
    pub(crate) to: Option<u64>,

    /// Print only the last so many
    #[arg(long, short = 'n', value_name = "N")]
    pub(crate) last: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct Search {
    /// The words; all must be there. Put "a phrase" in quotation marks
    #[arg(required = true)]
    pub(crate) words: Vec<String>,

    /// Only in this conversation
    #[arg(long = "in", value_name = "ID")]
    pub(crate) conversation: Option<ConversationArgument>,

    /// Only of this agent, by number, or by name together with --in
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,

    /// Show at most so many
    #[arg(long, short = 'n', default_value_t = 20)]
    pub(crate) limit: usize,
}

#[derive(Debug, Args)]
pub(crate) struct Fork {
    #[arg(value_name = "ID", help = CONVERSATION_HELP)]
    pub(crate) conversation: ConversationArgument,

    /// The last entry to share [default: the last entry]
    #[arg(long, value_name = "SEQ")]
    pub(crate) at: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct Rewind {
    #[arg(value_name = "ID", help = CONVERSATION_HELP)]
    pub(crate) conversation: ConversationArgument,

    /// Go back to this entry
    #[arg(long, value_name = "SEQ", group = "where")]
    pub(crate) to: Option<u64>,

    /// Go back so many turns [default: 1]
    #[arg(long, value_name = "N", group = "where")]
    pub(crate) turns: Option<u32>,

    /// Go back to before the first input
    #[arg(long, group = "where")]
    pub(crate) reset: bool,

    /// Undo the last rewind
    #[arg(long, group = "where")]
    pub(crate) undo: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Export {
    #[arg(value_name = "ID", help = CONVERSATION_HELP)]
    pub(crate) conversation: ConversationArgument,

    /// Write to this file [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Write over a file that is there already
    #[arg(long, requires = "output")]
    pub(crate) force: bool,

    /// Export only up to this entry
    #[arg(long, value_name = "SEQ", conflicts_with = "move")]
    pub(crate) at: Option<u64>,

    /// Move it: it goes on where the file is imported, and is closed here
    #[arg(long = "move", requires = "output")]
    pub(crate) r#move: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// The file; `-` for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Import it as a conversation of its own, under a new id
    #[arg(long)]
    pub(crate) as_new: bool,

    /// Keep what is sound of a broken file
    #[arg(long)]
    pub(crate) salvage: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Verify {
    #[arg(value_name = "ID", help = CONVERSATION_HELP, required_unless_present = "all", conflicts_with = "all")]
    pub(crate) conversation: Option<ConversationArgument>,

    /// Verify every conversation
    #[arg(long)]
    pub(crate) all: bool,

    /// Also check the rules, sums, outline, attachments and search index
    #[arg(long)]
    pub(crate) deep: bool,
}

/// Tools for developers of threadline.
#[derive(Debug, Subcommand)]
pub(crate) enum Dev {
    /// Generate a realistic conversation, the same for the same seed
    Generate(Generate),
}

#[derive(Debug, Args)]
pub(crate) struct Generate {
    /// How many entries, at least
    #[arg(long, default_value_t = 200)]
    pub(crate) entries: u64,

    /// How many agents
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) agents: u32,

    /// The seed
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}
