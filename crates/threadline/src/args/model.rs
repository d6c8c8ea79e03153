//! The commands about models and the connections to them.

use std::path::PathBuf;

use clap::Args;

use super::file;

#[derive(Debug, Args)]
pub(crate) struct Models {
    /// Show every model that is known by name, and every provider
    #[arg(long)]
    pub(crate) all: bool,
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
    /// Test the connection to this model, with a request of one word
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
}
