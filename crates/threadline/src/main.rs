//! The program: parse, compose, run, report errors with hints.

mod args;
mod commands;
mod compose;
mod config;
mod json;
mod log;
mod view;

use std::io;
use std::process::ExitCode;

use clap::Parser as _;

use crate::args::Arguments;
use crate::config::Config;
use crate::view::{View, remark};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(arguments) {
        Ok(code) => code,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            remark(&format!("error: {}", chain(&error)));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let config = Config::load(&arguments.global)?;
    if let Some(wanted) = &config.log {
        log::start(wanted, &config.data_folder)?;
    }
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build()?;
    let mut view = View::new(arguments.global.json);
    runtime.block_on(commands::run(arguments.command, &config, &mut view))
}

/// An error and its causes, without those that only repeat what was said.
fn chain(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        if text.ends_with(&cause) {
            continue;
        }
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(&cause);
    }
    text
}

/// Whether whoever read our output has stopped reading: that is no failure of ours.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let is = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
    };
    error.chain().any(is)
}
