//! The commands: one verb each.

mod agent;
mod agents;
mod approve;
mod cancel;
mod change;
mod chat;
mod context;
mod dev;
mod doctor;
mod export;
mod fork;
mod import;
mod list;
mod models;
mod notebook;
mod policy;
mod question;
mod recap;
mod resume;
mod rewind;
mod run;
mod search;
mod send;
mod show;
mod tools;
mod trust;
mod verify;
mod watch;
mod wire;
mod workspace;

use std::process::ExitCode;
use std::time::Duration;

use crate::args::{Chat, Command, Dev, Wire};
use crate::compose::Parts;
use crate::config::Config;
use crate::outage::{Outage, is_locked};
use crate::view::{View, remark};

/// How long to wait before a locked database is opened again.
const OPEN_AGAIN: Duration = Duration::from_secs(1);

/// Runs a command.
pub(crate) async fn run(
    command: Option<Command>,
    config: &Config,
    view: &mut View,
) -> anyhow::Result<ExitCode> {
    // The doctor looks at the database before it trusts it, and others have no use for one.
    match &command {
        Some(Command::Doctor(arguments)) => return doctor::run(config, arguments, view).await,
        Some(Command::Models(arguments)) => {
            models::run(config, arguments, view).await?;
            return Ok(ExitCode::SUCCESS);
        }
        Some(Command::Trust(arguments)) => {
            trust::run(config, arguments, view)?;
            return Ok(ExitCode::SUCCESS);
        }
        Some(Command::Wire(Wire::Decode(arguments))) => {
            wire::decode::run(arguments, view)?;
            return Ok(ExitCode::SUCCESS);
        }
        Some(Command::Wire(Wire::Check(arguments))) => return wire::check::run(arguments, view),
        _ => {}
    }
    let parts = if command.as_ref().is_some_and(only_reads) {
        let parts = Parts::open_to_read(config)?;
        if let Some(why) = &parts.only_to_read {
            remark(&format!("the database is opened only to be read: {why}"));
        }
        parts
    } else if matches!(command, None | Some(Command::Chat(_) | Command::Watch(_))) {
        open_once_unlocked(config).await?
    } else {
        Parts::open(config)?
    };
    match command {
        None => return chat::run(&parts, config, &Chat::default(), view).await,
        Some(Command::Chat(arguments)) => {
            return chat::run(&parts, config, &arguments, view).await;
        }
        Some(Command::Run(arguments)) => return run::run(&parts, config, &arguments, view).await,
        Some(Command::Resume(arguments)) => {
            return resume::run(&parts, config, &arguments, view).await;
        }
        Some(Command::Watch(arguments)) => {
            return watch::run(&parts, config, &arguments, view).await;
        }
        Some(Command::Send(arguments)) => send::run(&parts, &arguments, view).await?,
        Some(Command::Approve(arguments)) => {
            approve::run(&parts, config, &arguments, view).await?;
        }
        Some(Command::Cancel(arguments)) => cancel::run(&parts, config, &arguments, view).await?,
        Some(Command::Agents(arguments)) => agents::run(&parts, config, &arguments, view).await?,
        Some(Command::List(arguments)) => list::run(&parts, &arguments, view).await?,
        Some(Command::Show(arguments)) => show::run(&parts, &arguments, view).await?,
        Some(Command::Context(arguments)) => {
            context::run(&parts, config, &arguments, view).await?;
        }
        Some(Command::Notebook(arguments)) => notebook::run(&parts, &arguments, view).await?,
        Some(Command::Search(arguments)) => search::run(&parts, &arguments, view).await?,
        Some(Command::Fork(arguments)) => fork::run(&parts, &arguments, view).await?,
        Some(Command::Recap(arguments)) => recap::run(&parts, config, &arguments, view).await?,
        Some(Command::Policy(arguments)) => policy::run(&parts, config, &arguments, view).await?,
        Some(Command::Rewind(arguments)) => rewind::run(&parts, &arguments, view).await?,
        Some(Command::Export(arguments)) => export::run(&parts, &arguments, view).await?,
        Some(Command::Import(arguments)) => import::run(&parts, &arguments, view).await?,
        Some(Command::Workspace(arguments)) => workspace::run(&parts, &arguments, view).await?,
        Some(Command::Tools(arguments)) => tools::run(&parts, config, &arguments, view)?,
        Some(Command::Verify(arguments)) => return verify::run(&parts, &arguments, view).await,
        Some(Command::Wire(Wire::Encode(arguments))) => {
            wire::encode::run(&parts, config, &arguments, view).await?;
        }
        Some(
            Command::Doctor(_)
            | Command::Models(_)
            | Command::Trust(_)
            | Command::Wire(Wire::Decode(_) | Wire::Check(_)),
        ) => {}
        Some(Command::Dev(Dev::Generate(arguments))) => {
            dev::generate(&parts, &arguments, view).await?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Opens the database; waits while another process has it locked.
async fn open_once_unlocked(config: &Config) -> anyhow::Result<Parts> {
    let mut outage = Outage::default();
    loop {
        match Parts::open(config) {
            Err(error) if is_locked(&error) => outage.note(error)?,
            opened => {
                outage.end();
                return opened;
            }
        }
        tokio::time::sleep(OPEN_AGAIN).await;
    }
}

/// Whether a command needs no more than to read the database.
fn only_reads(command: &Command) -> bool {
    match command {
        Command::List(_)
        | Command::Show(_)
        | Command::Context(_)
        | Command::Search(_)
        | Command::Verify(_)
        | Command::Doctor(_)
        | Command::Models(_)
        | Command::Tools(_)
        | Command::Trust(_)
        | Command::Wire(_) => true,
        Command::Export(export) => !export.r#move,
        Command::Notebook(notebook) => !notebook.changes(),
        Command::Workspace(workspace) => workspace.set.is_none(),
        Command::Chat(_)
        | Command::Run(_)
        | Command::Resume(_)
        | Command::Watch(_)
        | Command::Send(_)
        | Command::Approve(_)
        | Command::Cancel(_)
        | Command::Agents(_)
        | Command::Fork(_)
        | Command::Recap(_)
        | Command::Policy(_)
        | Command::Rewind(_)
        | Command::Import(_)
        | Command::Dev(_) => false,
    }
}
