//! `threadline dev`: tools for developers of threadline.

use threadline_testing::generator::{Generator, GeneratorOptions, fill};

use crate::args::Generate;
use crate::compose::Parts;
use crate::view::{Line, Progress, View, counted};

/// `threadline dev generate`: a realistic conversation.
pub(crate) async fn generate(
    parts: &Parts,
    arguments: &Generate,
    view: &mut View,
) -> anyhow::Result<()> {
    #[derive(serde::Serialize)]
    struct Generated {
        id: String,
        entries: u64,
    }
    let mut generator = Generator::new(GeneratorOptions::mixed(arguments.seed, arguments.agents));
    let id = parts.new_id();
    let mut progress = Progress::new("generated", Some(arguments.entries), view);
    fill(&*parts.store, id, &mut generator, arguments.entries, |batch| progress.at(batch.head().0))
        .await?;
    drop(progress);
    let entries = generator.history().head().0;
    if view.json {
        view.value(&Generated { id: id.to_string(), entries })?;
    } else {
        let what = counted(entries, "entry", "entries");
        view.line(&Line::new().name(id.to_string()).plain(format!("  {what}")))?;
        view.line(&Line::new().dim(format!("to read it: threadline show {id}")))?;
    }
    Ok(())
}
