//! Bare `threadline`: what there is and what can be done with it.

use threadline_core::store::{Filter, Listing, Sort};

use super::list;
use crate::compose::Parts;
use crate::config::Config;
use crate::view::{Line, View};

pub(crate) async fn run(parts: &Parts, config: &Config, view: &mut View) -> anyhow::Result<()> {
    let listing = Listing { filter: Filter::Current, sort: Sort::Active, after: None, most: 10 };
    let conversations = parts.store.list(&listing).await?;
    if view.json {
        return list::print_json(&conversations, false, view);
    }
    view.line(
        &Line::new()
            .bold("threadline")
            .plain(" keeps conversations with agents as append-only histories."),
    )?;
    view.line(&Line::new().dim(format!("database: {}", config.db.display())))?;
    view.line(&Line::new())?;
    if conversations.is_empty() {
        view.line(
            &Line::new().plain("There are no conversations yet. To look around, make one up:"),
        )?;
        view.line(&Line::new())?;
        view.line(&Line::new().name("  threadline dev generate"))?;
        view.line(&Line::new().name("  threadline show last"))?;
    } else {
        list::print(&conversations, parts, view)?;
        view.line(&Line::new())?;
        view.line(&Line::new().plain("To read the newest: ").name("threadline show last"))?;
    }
    view.line(&Line::new())?;
    view.line(&Line::new().plain("All commands: ").name("threadline --help"))?;
    Ok(())
}
