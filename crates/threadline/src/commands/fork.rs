//! `threadline fork`.

use threadline_core::history::History;
use threadline_core::id::Seq;
use threadline_core::store;

use crate::args::Fork;
use crate::compose::Parts;
use crate::view::{Line, View};

pub(crate) async fn run(parts: &Parts, arguments: &Fork, view: &mut View) -> anyhow::Result<()> {
    #[derive(serde::Serialize)]
    struct Forked {
        id: String,
        from: String,
        at: u64,
        entries: u64,
        timers_left: Vec<String>,
    }
    let parent = parts.find(&arguments.conversation).await?;
    let at = Seq(arguments.at.unwrap_or(parent.head.0));
    anyhow::ensure!(
        at >= Seq(1) && at <= parent.head,
        "there is no entry {at} to fork at; the entries are 1 to {}",
        parent.head
    );
    let (history, aftermath) =
        store::fork_base(&*parts.store, parent.id, at, &parts.counter).await?;
    let timers = pending_timers(&history);
    let proposed = history.propose_fork(parent.id, &aftermath, parts.stamp())?;
    let id = parts.new_id();
    parts.store.create(id, Some((parent.id, at)), &proposed.batch).await?;
    // A cache: it spares whoever opens the fork to fold what it shares.
    drop(parts.store.keep_snapshot(id, &proposed.history.to_snapshot(), false).await);
    if view.json {
        let forked = Forked {
            id: id.to_string(),
            from: parent.id.to_string(),
            at: at.0,
            entries: proposed.batch.head().0,
            timers_left: timers,
        };
        view.value(&forked)?;
    } else {
        view.line(
            &Line::new()
                .plain("forked at entry ")
                .plain(at.to_string())
                .plain(": ")
                .name(id.to_string()),
        )?;
        if !timers.is_empty() {
            view.line(&Line::new().plain("Pending timers stay with the parent:"))?;
            view.remarks(&timers, "  ")?;
        }
    }
    Ok(())
}

/// The timers that are pending where a fork branches off: they fire in the parent alone.
fn pending_timers(history: &History) -> Vec<String> {
    let timers = history.state().timers.values().filter(|timer| timer.set.call.is_none());
    timers.map(|timer| format!("{} {}", timer.set.when, timer.set.text).trim().to_owned()).collect()
}
