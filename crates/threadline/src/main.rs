//! The program: parse, compose, run, report errors with hints.

mod args;
mod commands;
mod compose;
mod config;
mod json;
mod log;
mod near;
mod offer;
mod outage;
mod report;
mod talk;
mod view;
mod words;

use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser as _;

use crate::args::{Arguments, Command};
use crate::config::Config;
use crate::view::View;

/// What one thread makes is often let go by another: entries are decoded by some and folded by one,
/// batches are proposed by some and written by one. The system's allocator has them wait for each
/// other.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return report::usage(&error),
    };
    let json = arguments.global.json;
    run(arguments).unwrap_or_else(|error| report::failure(&error, json))
}

fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let drives = arguments.command.as_ref().is_none_or(Command::uses_models);
    let config = Config::load(&arguments.global, drives)?;
    for note in &config.notes {
        view::note(note, arguments.global.json);
    }
    if let Some(wanted) = &config.log {
        log::start(wanted, &config.data_folder)?;
    }
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let mut view = View::new(arguments.global.json);
    let outcome = runtime.block_on(commands::run(arguments.command, &config, &mut view));
    // What was printed before an error is still to be seen, and before it.
    let finished = view.finish().context("could not write the output");
    let code = outcome?;
    finished.map(|()| code)
}
