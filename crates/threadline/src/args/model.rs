//! The commands about models, the connections to them, and tools.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use threadline_providers::dialect::Dialect;

use super::number::entry;
use super::{ConversationArgument, file};

#[derive(Debug, Args)]
pub(crate) struct Models {
    /// Show every model that is known by name, and every provider
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Tools {
    /// The agent, of those in the config [default: assistant]
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Trust {
    /// The file [default: the threadline.toml of this folder or of one above it]
    #[arg(value_name = "FILE", value_parser = file())]
    pub(crate) file: Option<PathBuf>,

    /// Trust it no longer
    #[arg(long)]
    pub(crate) remove: bool,
}

#[derive(Debug, Default, Args)]
pub(crate) struct Doctor {
    /// Test the connection to this model: its key, its server, and whether it is listed there
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
}

/// What is said over the wire.
#[derive(Debug, Subcommand)]
pub(crate) enum Wire {
    /// Print the request that a model would be sent
    ///
    /// Method, address, headers and body, exactly, but without the key. Nothing is sent.
    #[command(after_help = "\
Examples:
  threadline wire encode --model claude-sonnet-5-5
  threadline wire encode --model openai/gpt-5-mini last --at 120 --json")]
    Encode(WireEncode),
    /// Read a captured answer, and print what it says
    #[command(after_help = "\
Examples:
  threadline wire decode --dialect anthropic answer.sse
  curl … | threadline wire decode --dialect openai-chat --json -")]
    Decode(WireDecode),
    /// Check a request's body by the rules of its protocol
    ///
    /// Exits with 1 if one is broken.
    #[command(after_help = "\
Example:
  threadline wire check --dialect openai-responses body.json")]
    Check(WireCheck),
}

#[derive(Debug, Args)]
pub(crate) struct WireEncode {
    /// The conversation: its id, the beginning of it, or `last` [default: last]
    #[arg(value_name = "ID")]
    pub(crate) conversation: Option<ConversationArgument>,

    /// The model, as `threadline models` lists it, or ENDPOINT/MODEL
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: String,

    /// As the conversation was at this entry [default: as it is now]
    #[arg(long, value_name = "SEQ")]
    #[arg(value_parser = entry, allow_negative_numbers = true)]
    pub(crate) at: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct WireDecode {
    /// The protocol
    #[arg(long, value_enum)]
    pub(crate) dialect: DialectArgument,

    /// A stream of events as it came, or one event in a line; `-` for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct WireCheck {
    /// The protocol
    #[arg(long, value_enum)]
    pub(crate) dialect: DialectArgument,

    /// The body; `-` for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

/// A protocol, by its name.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum DialectArgument {
    /// Chat Completions, which many servers speak
    #[value(name = "openai-chat")]
    OpenAiChat,
    /// Responses
    #[value(name = "openai-responses")]
    OpenAiResponses,
    /// Messages
    Anthropic,
    /// generateContent
    Gemini,
}

impl DialectArgument {
    /// The protocol.
    pub(crate) const fn dialect(self) -> Dialect {
        match self {
            Self::OpenAiChat => Dialect::OpenAiChat,
            Self::OpenAiResponses => Dialect::OpenAiResponses,
            Self::Anthropic => Dialect::Anthropic,
            Self::Gemini => Dialect::Gemini,
        }
    }
}
