//! The command line.

mod agent;
mod context;
mod model;
mod notebook;
mod number;
#[cfg(test)]
mod tests;
mod together;

use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use self::agent::{AgentOptions, Bounds, Chat, Resume, Run};
pub(crate) use self::context::{Context, TextOf};
pub(crate) use self::model::{
    Doctor, Models, Tools, Trust, Wire, WireCheck, WireDecode, WireEncode,
};
pub(crate) use self::notebook::Notebook;
use self::number::{at_least_one, entry};
pub(crate) use self::together::{AgentAction, Agents, Approve, Cancel, Send, Watch};

/// A durable, provider-neutral runtime for LLM agents.
///
/// Without a command it begins a conversation, with a model that is built in and works offline.
/// Conversations are append-only histories in one database file: they survive a kill, and can be
/// listed, read, searched, forked, rewound, verified, and carried to another machine.
#[derive(Debug, Parser)]
#[command(
    name = "threadline",
    version,
    max_term_width = 100,
    after_help = "\
To begin:
  threadline                     talk with an agent
  threadline chat --continue     go on with the last conversation
  threadline run \"add 2 and 3\"   have one task done
  threadline list                what there is"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,

    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

const LOG_HELP: &str = "What to write to threadline.log in the data folder: History, Provider, \
    Tools, StateMachine, Widgets or all, each with a level if need be, as in History=info,Tools";

/// What every command takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Global {
    /// The database file [default: threadline.db in the data folder]
    #[arg(long, global = true, env = "THREADLINE_DB", value_name = "FILE")]
    #[arg(value_parser = file(), hide_env_values = true, display_order = 100)]
    pub(crate) db: Option<PathBuf>,

    /// Print JSON for programs instead of text for people
    #[arg(long, global = true, display_order = 101)]
    pub(crate) json: bool,

    /// The config file [default: config.toml in the config folder]
    #[arg(long, global = true, env = "THREADLINE_CONFIG", value_name = "FILE")]
    #[arg(value_parser = file(), hide_env_values = true, display_order = 102)]
    pub(crate) config: Option<PathBuf>,

    #[arg(help = LOG_HELP, long, global = true, env = "THREADLINE_LOG", value_name = "CATEGORIES")]
    #[arg(hide_env_values = true, display_order = 103)]
    pub(crate) log: Option<String>,
}

/// A file by its name, which need not be text.
fn file() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(|name| {
        if name.is_empty() {
            return Err("it is empty; name a file, or unset the variable");
        }
        Ok(PathBuf::from(name))
    })
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Talk with an agent in the terminal
    ///
    /// It begins a conversation, or goes on with one. In a pipe, every line is a message.
    #[command(after_help = "\
Examples:
  threadline chat
  threadline chat --continue
  threadline chat last --instruction \"Answer in one sentence.\"
  printf '%s\\n' 'add 2 and 3' | threadline chat")]
    Chat(Chat),
    /// Have one task done, and exit
    ///
    /// The answer goes to standard output, all else to standard error. Exits with 0 if it was
    /// answered, 3 at a limit, 4 if a person must be asked or has declined, 5 if no model answered,
    /// 130 if it was cancelled.
    #[command(after_help = "\
Examples:
  threadline run \"add 2 and 3 and read README.md\"
  threadline run \"and 4 more\" --continue last
  cat task.txt | threadline run --timeout 60 --max-steps 10")]
    Run(Run),
    /// Go on with what was interrupted
    ///
    /// An unfinished turn goes on where it was. One that ended without an answer is asked to go
    /// on. Exits like `run`.
    #[command(after_help = "\
Examples:
  threadline resume last
  threadline resume --all")]
    Resume(Resume),
    /// Drive what is due in the foreground, and tell what happens
    ///
    /// Unfinished turns, what waits in inboxes, timers whose time has come: whatever no other
    /// process drives. With a conversation it also tells what other processes do with it.
    #[command(after_help = "\
Examples:
  threadline watch
  threadline watch last
  threadline watch --json | jq .text")]
    Watch(Watch),
    /// Say something to a conversation that goes on elsewhere
    ///
    /// It is kept at once, and taken in by whoever drives the conversation.
    #[command(after_help = "\
Examples:
  threadline send last \"and look at the tests too\" --steer
  threadline send last \"hello\" --to all")]
    Send(Send),
    /// Show what agents ask to be allowed, or answer it
    ///
    /// An answer is for the very arguments that are shown, once; who gave it is on record.
    #[command(after_help = "\
Examples:
  threadline approve last
  threadline approve last c12.0
  threadline approve last c12.0 --deny --always")]
    Approve(Approve),
    /// Stop what goes on in a conversation, wherever it does
    ///
    /// What agents have others do for them stops as well. A new message goes on from there.
    #[command(after_help = "\
Examples:
  threadline cancel
  threadline cancel last --agent ada")]
    Cancel(Cancel),
    /// List the agents of a conversation, or let one join or leave
    ///
    /// Without a conversation it lists those that a new one begins with.
    #[command(after_help = "\
Examples:
  threadline agents
  threadline agents last
  threadline agents last add ada --description \"knows flowers\"
  threadline agents last remove ada")]
    Agents(Agents),
    /// List conversations, the most recent first
    #[command(
        alias = "ls",
        after_help = "\
Examples:
  threadline list
  threadline list --label work -n 50
  threadline list --state waiting"
    )]
    List(List),
    /// Print a conversation: its transcript, a thread, or every entry
    ///
    /// Without options it is the transcript: what people said, and the answers.
    #[command(after_help = "\
Examples:
  threadline show last
  threadline show last -n 5
  threadline show last --agent planner
  threadline show 019a3f2c --all --from 100 --to 120")]
    Show(Show),
    /// Show what an agent's model sees, part by part
    ///
    /// Without options it is what would be sent now. Every part is shown with its entry, the level
    /// of detail, the tokens it takes and its share of the window.
    #[command(after_help = "\
Examples:
  threadline context
  threadline context last --window 8000
  threadline context last --at 120 --diff
  threadline context last --text 118")]
    Context(Context),
    /// Show what an agent remembers, who wrote which line, or change it
    ///
    /// A change is recorded like those of the agent, and can be rewound like them.
    #[command(after_help = "\
Examples:
  threadline notebook
  threadline notebook last --blame
  threadline notebook last --set \"The user likes tea.\"
  threadline notebook last | sed s/tea/coffee/ | threadline notebook last --set-file -
  threadline notebook last --clear")]
    Notebook(Notebook),
    /// Find entries by their words
    ///
    /// An entry is found if it has all of them. The newest conversations come first.
    #[command(after_help = "\
Examples:
  threadline search weather oslo
  threadline search \"slow query\" --in last
  threadline search 天气 -n 5")]
    Search(Search),
    /// Branch off a conversation; the entries are shared, not copied
    #[command(after_help = "\
Examples:
  threadline fork last
  threadline fork last --at 120")]
    Fork(Fork),
    /// Go back to an earlier point; nothing is deleted, and it can be undone
    ///
    /// What tools have done stays done: going back does not undo it, nor does it happen again.
    #[command(after_help = "\
Examples:
  threadline rewind last              over the last turn
  threadline rewind last --turns 3
  threadline rewind last --to 120
  threadline rewind last --undo")]
    Rewind(Rewind),
    /// Show which rules count for the calls of a conversation, or set one
    ///
    /// Without a conversation it shows the rules of the config. A rule is allow, ask or deny, a
    /// tool, and patterns for its parameters, in which * stands for any run of characters.
    #[command(after_help = "\
Examples:
  threadline policy
  threadline policy last
  threadline policy last allow edit_file 'path=docs/*'
  threadline policy last deny '*_file' 'path=secret/*'")]
    Policy(Policy),
    /// Have a model write what stands for the older part of a conversation
    ///
    /// All but the newest exchange is folded then; nothing is deleted, and it can be taken back.
    #[command(after_help = "\
Examples:
  threadline recap last
  threadline recap last --keep \"all file names\" --forget \"the small talk\"
  threadline recap last --undo")]
    Recap(Recap),
    /// Write a conversation to a file
    ///
    /// The file holds every entry as it was written, and the attachments.
    #[command(after_help = "\
Examples:
  threadline export last -o talk.threadline.jsonl
  threadline export last --move -o talk.threadline.jsonl
  threadline export last | gzip > talk.threadline.jsonl.gz")]
    Export(Export),
    /// Read a conversation from a file
    ///
    /// What is here already is added to if the file begins with it, and else left alone. Rules and
    /// approvals in the file count only with --trusted, and nothing runs before you resume it.
    #[command(after_help = "\
Examples:
  threadline import talk.threadline.jsonl
  threadline import talk.threadline.jsonl --as-new
  gunzip < talk.threadline.jsonl.gz | threadline import -")]
    Import(Import),
    /// Show the folder that a conversation works in, or bind it to another
    ///
    /// Tools that touch files run only there: the conversation is resumed in that folder.
    #[command(after_help = "\
Examples:
  threadline workspace last
  threadline workspace last --set .")]
    Workspace(SetWorkspace),
    /// Check that what is stored is what was written
    ///
    /// Exits with 1 if something is wrong.
    #[command(after_help = "\
Examples:
  threadline verify last
  threadline verify --all --deep")]
    Verify(Verify),
    /// List the models that can be asked, and why one cannot
    ///
    /// Keys in the usual environment variables are found, and servers of your own on their usual
    /// ports. The config file says more.
    #[command(after_help = "\
Examples:
  threadline models
  threadline models --all")]
    Models(Models),
    /// List the tools and widgets that an agent has, with what models read of them
    #[command(after_help = "\
Examples:
  threadline tools
  threadline tools --agent writer --json")]
    Tools(Tools),
    /// Trust a project's threadline.toml to say all that your own config may
    ///
    /// Only the file as it is now, where it is now, is trusted.
    #[command(after_help = "\
Examples:
  threadline trust
  threadline trust threadline.toml --remove")]
    Trust(Trust),
    /// Check this installation, its database and the connections to models
    ///
    /// Exits with 1 if something is wrong.
    #[command(after_help = "\
Examples:
  threadline doctor
  threadline doctor --model claude-sonnet-5-5")]
    Doctor(Doctor),
    /// See what is said to models and by them, byte for byte
    #[command(
        subcommand,
        after_help = "\
Example:
  threadline wire encode --model claude-sonnet-5-5 last"
    )]
    Wire(Wire),
    /// Tools for developers of threadline
    #[command(
        subcommand,
        after_help = "\
Example:
  threadline dev generate --entries 500 --agents 3"
    )]
    Dev(Dev),
}

impl Command {
    /// Whether models matter to it, and so what a project says of them.
    pub(crate) const fn uses_models(&self) -> bool {
        match self {
            Self::Chat(_)
            | Self::Run(_)
            | Self::Resume(_)
            | Self::Watch(_)
            | Self::Approve(_)
            | Self::Cancel(_)
            | Self::Agents(_)
            | Self::Context(_)
            | Self::Recap(_)
            | Self::Policy(_)
            | Self::Models(_)
            | Self::Tools(_)
            | Self::Doctor(_)
            | Self::Wire(Wire::Encode(_)) => true,
            Self::List(_)
            | Self::Send(_)
            | Self::Show(_)
            | Self::Notebook(_)
            | Self::Search(_)
            | Self::Fork(_)
            | Self::Rewind(_)
            | Self::Export(_)
            | Self::Import(_)
            | Self::Workspace(_)
            | Self::Verify(_)
            | Self::Trust(_)
            | Self::Wire(Wire::Decode(_) | Wire::Check(_))
            | Self::Dev(_) => false,
        }
    }
}

/// A conversation: its id, the beginning of its id if no other begins like it, or `last`.
pub(crate) type ConversationArgument = String;

const CONVERSATION_HELP: &str = "The conversation: its id, the beginning of it, or `last`";

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Show at most so many
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    #[arg(value_parser = at_least_one::<usize>, allow_negative_numbers = true)]
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
    #[arg(value_parser = entry, allow_negative_numbers = true)]
    pub(crate) from: Option<u64>,

    /// End at this entry
    #[arg(long, value_name = "SEQ")]
    #[arg(value_parser = entry, allow_negative_numbers = true)]
    pub(crate) to: Option<u64>,

    /// Print only the last so many
    #[arg(long, short = 'n', value_name = "N")]
    #[arg(value_parser = at_least_one::<usize>, allow_negative_numbers = true)]
    pub(crate) last: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct Search {
    /// The words; all must be there. Words in quotation marks must follow each other
    #[arg(required = true, value_name = "WORDS")]
    pub(crate) words: Vec<String>,

    /// Only in this conversation
    #[arg(long = "in", value_name = "ID")]
    pub(crate) conversation: Option<ConversationArgument>,

    /// Only of this agent, by number, or by name together with --in
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,

    /// Show at most so many
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    #[arg(value_parser = at_least_one::<usize>, allow_negative_numbers = true)]
    pub(crate) limit: usize,
}

#[derive(Debug, Args)]
pub(crate) struct Fork {
    #[arg(value_name = "ID", help = CONVERSATION_HELP)]
    pub(crate) conversation: ConversationArgument,

    /// The last entry to share [default: the last entry]
    #[arg(long, value_name = "SEQ")]
    #[arg(value_parser = entry, allow_negative_numbers = true)]
    pub(crate) at: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct Rewind {
    #[arg(value_name = "ID", help = CONVERSATION_HELP)]
    pub(crate) conversation: ConversationArgument,

    /// Go back to this entry
    #[arg(long, value_name = "SEQ", group = "where")]
    #[arg(value_parser = entry, allow_negative_numbers = true)]
    pub(crate) to: Option<u64>,

    /// Go back so many turns [default: 1]
    #[arg(long, value_name = "N", group = "where")]
    #[arg(value_parser = at_least_one::<u32>, allow_negative_numbers = true)]
    pub(crate) turns: Option<u32>,

    /// Go back to before the first input
    #[arg(long, group = "where")]
    pub(crate) reset: bool,

    /// Undo the last rewind
    #[arg(long, group = "where")]
    pub(crate) undo: bool,
}

#[derive(Debug, Args)]
#[command(
    override_usage = "threadline policy [OPTIONS] [ID] [allow|ask|deny TOOL [PARAMETER=PATTERN]...]"
)]
pub(crate) struct Policy {
    /// The conversation, then the rule to set: allow, ask or deny, a tool, PARAMETER=PATTERN
    #[arg(value_name = "ID | RULE")]
    pub(crate) words: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Recap {
    #[arg(value_name = "ID", help = CONVERSATION_HELP)]
    pub(crate) conversation: ConversationArgument,

    /// What the recap should keep; can be given several times
    #[arg(long, value_name = "WHAT", conflicts_with = "undo")]
    pub(crate) keep: Vec<String>,

    /// What the recap can leave out; can be given several times
    #[arg(long, value_name = "WHAT", conflicts_with = "undo")]
    pub(crate) forget: Vec<String>,

    /// Take the newest recap back
    #[arg(long)]
    pub(crate) undo: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Export {
    #[arg(value_name = "ID", help = CONVERSATION_HELP)]
    pub(crate) conversation: ConversationArgument,

    /// Write to this file; `-` for standard output, which is the default
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Write over a file that is there already
    #[arg(long, requires = "output")]
    pub(crate) force: bool,

    /// Export only up to this entry
    #[arg(long, value_name = "SEQ", conflicts_with = "move")]
    #[arg(value_parser = entry, allow_negative_numbers = true)]
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

    /// Vouch for the file: its rules, approvals and workspace count here, and a conversation that
    /// was moved continues exactly where it stopped once you resume it
    #[arg(long, conflicts_with = "as_new")]
    pub(crate) trusted: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SetWorkspace {
    #[arg(value_name = "ID", help = CONVERSATION_HELP)]
    pub(crate) conversation: ConversationArgument,

    /// Bind the conversation to this folder; approvals that are open become void
    #[arg(long, value_name = "PATH")]
    pub(crate) set: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Verify {
    #[arg(value_name = "ID", help = CONVERSATION_HELP, required_unless_present = "all", conflicts_with = "all")]
    pub(crate) conversation: Option<ConversationArgument>,

    /// Verify every conversation
    #[arg(long)]
    pub(crate) all: bool,

    /// Also check the rules, sums, outline, attachments, search index, inbox and snapshots
    #[arg(long)]
    pub(crate) deep: bool,
}

/// Tools for developers of threadline.
#[derive(Debug, Subcommand)]
pub(crate) enum Dev {
    /// Generate a realistic conversation, the same for the same seed
    #[command(after_help = "\
Example:
  threadline dev generate --entries 500 --agents 3 --seed 7")]
    Generate(Generate),
}

#[derive(Debug, Args)]
pub(crate) struct Generate {
    /// How many entries
    #[arg(long, value_name = "N", default_value_t = 200)]
    #[arg(value_parser = at_least_one::<u64>, allow_negative_numbers = true)]
    pub(crate) entries: u64,

    /// How many agents
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) agents: u32,

    /// The seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}
