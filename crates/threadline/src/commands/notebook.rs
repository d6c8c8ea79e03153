//! `threadline notebook`: what an agent remembers, who wrote it, and another text instead.

mod kept;

use std::io::{self, Read as _};
use std::path::Path;

use anyhow::Context as _;
use serde::Serialize;
use threadline_core::id::{AgentId, Seq};
use threadline_core::inbox::Command;
use threadline_tools::widgets::notebook::{NAME, Notebook};

pub(super) use self::kept::{Kept, Origin, aligned};
use super::show::find_agent;
use crate::args;
use crate::compose::Parts;
use crate::view::{Line, View, counted, remark};

/// The most that is read of a text: a notebook holds far less.
const READ_CAP_BYTES: u64 = 1024 * 1024;

pub(crate) async fn run(
    parts: &Parts,
    arguments: &args::Notebook,
    view: &mut View,
) -> anyhow::Result<()> {
    let meant = arguments.conversation.as_deref().unwrap_or("last");
    let id = parts.find(meant).await?.id;
    let agent = match &arguments.agent {
        Some(meant) => Some(find_agent(meant, &parts.store.agents(id).await?)?),
        None => None,
    };
    anyhow::ensure!(agent != Some(AgentId::CONVERSATION), "0 is the conversation, not an agent");
    let kept = Kept::open(parts, id, agent).await?;
    match wanted(arguments)? {
        Some(text) => {
            let seq = set(parts, &kept, &text).await?;
            tell_set(&Kept::open(parts, id, Some(kept.agent)).await?, seq, view)
        }
        None if arguments.blame => {
            let origins = kept.origins(parts).await?;
            tell_blame(&kept, &origins, view)
        }
        None => tell(&kept, view),
    }
}

/// What the notebook is to say, if it is to be changed.
fn wanted(arguments: &args::Notebook) -> anyhow::Result<Option<String>> {
    let text = match (&arguments.set, &arguments.set_file) {
        _ if arguments.clear => return Ok(Some(String::new())),
        (Some(text), _) => text.clone(),
        (None, Some(path)) => read(path)?,
        (None, None) => return Ok(None),
    };
    anyhow::ensure!(!text.trim().is_empty(), "the text is blank; --clear empties the notebook");
    Ok(Some(text))
}

/// Reads a text from a file, or from standard input.
fn read(path: &Path) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    let (name, read) = if path == Path::new("-") {
        let name = "standard input".to_owned();
        (name, io::stdin().lock().take(READ_CAP_BYTES + 1).read_to_end(&mut bytes))
    } else {
        let file = std::fs::File::open(path);
        let read = file.and_then(|file| file.take(READ_CAP_BYTES + 1).read_to_end(&mut bytes));
        (path.display().to_string(), read)
    };
    read.with_context(|| format!("could not read {name}"))?;
    let bytes_read = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    anyhow::ensure!(bytes_read <= READ_CAP_BYTES, "{name} is far too long for a notebook");
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        anyhow::anyhow!("{name} is not UTF-8 text: byte {at} does not fit; convert it first")
    })
}

/// Has a notebook say something else, and gives the entry that says so; none if it does already.
async fn set(parts: &Parts, kept: &Kept, text: &str) -> anyhow::Result<Option<Seq>> {
    let change = Notebook::set(text)?;
    if kept.says(&change) {
        return Ok(None);
    }
    let Kept { id, agent, .. } = *kept;
    let command = Command::ChangeWidget { widget: NAME.into(), change };
    super::change::change(parts, id, Some(agent), command).await.map(Some)
}

/// What `--json` prints.
#[derive(Serialize)]
struct Told<'a> {
    id: String,
    agent: u32,
    name: &'a str,
    text: &'a str,
    bytes: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    seq: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blame: Option<&'a [Origin]>,
}

impl<'a> Told<'a> {
    fn new(kept: &'a Kept) -> Self {
        let text = kept.notebook.text();
        let (id, agent, bytes) = (kept.id.to_string(), kept.agent.0, text.len());
        Self { id, agent, name: &kept.name, text, bytes, seq: None, blame: None }
    }
}

fn tell(kept: &Kept, view: &mut View) -> anyhow::Result<()> {
    if view.json {
        return Ok(view.value(&Told::new(kept))?);
    }
    match kept.notebook.text() {
        // It is no text of the notebook: who pipes that on wants nothing.
        "" => remark(&empty(&kept.name)),
        text => view.text(text, "")?,
    }
    Ok(())
}

fn empty(name: &str) -> String {
    format!("the notebook of {name} is empty")
}

fn tell_set(kept: &Kept, seq: Option<Seq>, view: &mut View) -> anyhow::Result<()> {
    if view.json {
        return Ok(view.value(&Told { seq: seq.map(|seq| seq.0), ..Told::new(kept) })?);
    }
    let told = match (seq, kept.notebook.text()) {
        (None, _) => format!("the notebook of {} reads so already", kept.name),
        (Some(seq), "") => format!("{} since entry {seq}", empty(&kept.name)),
        (Some(seq), text) => {
            let lines = counted(u64::try_from(text.lines().count())?, "line", "lines");
            let bytes = counted(u64::try_from(text.len())?, "byte", "bytes");
            format!("the notebook of {} has {lines}, {bytes} since entry {seq}", kept.name)
        }
    };
    Ok(view.line(&Line::new().dim(told))?)
}

fn tell_blame(kept: &Kept, origins: &[Origin], view: &mut View) -> anyhow::Result<()> {
    if view.json {
        return Ok(view.value(&Told { blame: Some(origins), ..Told::new(kept) })?);
    }
    if origins.is_empty() {
        return tell(kept, view);
    }
    for (head, text) in aligned(origins) {
        view.line(&Line::new().dim(head).plain("  ").plain(text))?;
    }
    let look = format!("to look at an entry: threadline show {} --all --from N --to N", kept.id);
    Ok(view.line(&Line::new().dim(look))?)
}
