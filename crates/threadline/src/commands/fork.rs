//! `threadline fork`.

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
    }
    let parent = parts.find(&arguments.conversation).await?;
    let at = Seq(arguments.at.unwrap_or(parent.head.0));
    anyhow::ensure!(
        at >= Seq(1) && at <= parent.head,
        "there is no entry {at} to fork at; the entries are 1 to {}",
        parent.head
    );
    let (history, aftermath) = store::past(&*parts.store, parent.id, at, &parts.counter).await?;
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
    }
    Ok(())
}
