//! A project's file: what a folder may say about the agents that work in it.
//!
//! Whoever writes a project's files is not whoever runs this program. So a project may choose among
//! what the user has, give agents instructions, tighten limits, and have more calls asked about or
//! denied. Anything else is refused, unless the user trusts this exact file.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use threadline_core::history::fact::Digest;
use toml::de::{DeTable, DeValue};

use super::explain;
use super::file::File;
use super::trust::Trusted;

/// What a project's file is called.
pub(crate) const NAME: &str = "threadline.toml";
/// What marks the root of a repository, beyond which no file is looked for.
const ROOT_MARKS: [&str; 4] = [".git", ".hg", ".jj", ".svn"];
/// The most folders that are looked through.
const FOLDERS_CAP: usize = 64;
/// The longest file that is read.
const CAP_BYTES: u64 = 1024 * 1024;

/// A project's file.
#[derive(Debug)]
pub(crate) struct Project {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// Whether the user trusts it.
    pub(crate) trusted: bool,
    /// What it says.
    pub(crate) file: File,
}

/// The project's file of a folder: in it, or above it up to the root of its repository.
pub(crate) fn find(folder: &Path) -> Option<PathBuf> {
    for folder in folder.ancestors().take(FOLDERS_CAP) {
        let path = folder.join(NAME);
        if path.is_file() {
            return Some(path);
        }
        if ROOT_MARKS.iter().any(|mark| folder.join(mark).exists()) {
            return None;
        }
    }
    None
}

/// Reads a project's file; refused if it says more than it may.
pub(super) fn read(path: &Path, trusted: &Trusted) -> anyhow::Result<Project> {
    let wrong = |wrong: String| anyhow!("could not use {}: {wrong}", path.display());
    let text = text(path)?;
    let digest = Digest::of(text.as_bytes());
    let trusted = trusted.has(path, digest);
    if !trusted {
        let table = explain::parse(&text).map_err(wrong)?;
        if let Some(more) = beyond(&text, table.get_ref()).into_iter().next() {
            bail!(
                "could not use {}: {more}: a project may only choose a model or a route, give agents instructions, tighten limits, and set rules that ask or deny; if you trust this file: threadline trust {}",
                path.display(),
                path.display()
            );
        }
    }
    let file: File = explain::read(&text).map_err(wrong)?;
    Ok(Project { path: path.to_path_buf(), trusted, file })
}

/// What a file would be allowed if it were trusted, a line for each.
pub(crate) fn asks_for(text: &str) -> Result<Vec<String>, String> {
    explain::read::<File>(text)?;
    let table = explain::parse(text)?;
    Ok(beyond(text, table.get_ref()))
}

/// The text of a file.
pub(crate) fn text(path: &Path) -> anyhow::Result<String> {
    let could_not = || format!("could not read {}", path.display());
    let length = path.metadata().with_context(could_not)?.len();
    if length > CAP_BYTES {
        bail!("{} is longer than 1 MiB: this is no config file", path.display());
    }
    std::fs::read_to_string(path).with_context(could_not)
}

/// What a file says beyond what a project may, by its line and key.
fn beyond(text: &str, table: &DeTable<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for (key, value) in table {
        let told = |name: &str, at: usize| format!("line {}: {name}", explain::line_of(text, at));
        match (key.get_ref().as_ref(), value.get_ref()) {
            ("model" | "route" | "limits", _) => {}
            ("policy", DeValue::Array(rules)) => {
                let verdicts = rules.iter().filter_map(|rule| match rule.get_ref() {
                    DeValue::Table(rule) => rule.get_key_value("verdict"),
                    _ => None,
                });
                let loose = verdicts.filter(|(_, verdict)| {
                    !verdict.get_ref().as_str().is_some_and(|text| matches!(text, "ask" | "deny"))
                });
                found.extend(
                    loose.map(|(key, _)| {
                        (key.span().start, told("policy.verdict", key.span().start))
                    }),
                );
            }
            ("agents", DeValue::Table(agents)) => {
                for (agent, says) in agents {
                    let DeValue::Table(says) = says.get_ref() else { continue };
                    // A file that is not trusted names no others to be read.
                    let is_modest = |key: &str, value: &DeValue<'_>| match key {
                        "instruction" => !value.as_str().is_some_and(|text| text.starts_with('@')),
                        key => matches!(key, "description" | "route" | "primary" | "join"),
                    };
                    let more = says
                        .iter()
                        .filter(|(key, value)| !is_modest(key.get_ref(), value.get_ref()));
                    found.extend(more.map(|(key, _)| {
                        let name = format!("agents.{}.{}", agent.get_ref(), key.get_ref());
                        (key.span().start, told(&name, key.span().start))
                    }));
                }
            }
            (name, DeValue::Table(inner)) => {
                for key in inner.keys() {
                    let name = format!("{name}.{}", key.get_ref());
                    found.push((key.span().start, told(&name, key.span().start)));
                }
            }
            (name, _) => found.push((key.span().start, told(name, key.span().start))),
        }
    }
    found.sort();
    found.into_iter().map(|(_, told)| told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_may_choose_instruct_and_tighten() {
        let modest = "model = \"m\"\nroute = \"r\"\n[agents.a]\ninstruction = \"Be brief.\"\nroute = \"plan\"\n[limits]\nsteps = 3\n[[policy]]\ntool = \"shell\"\nverdict = \"deny\"\n[[policy]]\ntool = \"*\"\nverdict = \"ask\"\n";
        assert_eq!(asks_for(modest), Ok(Vec::new()));
        for (text, wanted) in [
            ("db = \"x\"", "line 1: db"),
            (
                "[endpoints.x]\nbase_url = \"http://evil\"\ndialect = \"openai-chat\"",
                "line 1: endpoints.x",
            ),
            ("\n[models.x]\nwindow_tokens = 5", "line 2: models.x"),
            ("[routes.x]\nmodels = []", "line 1: routes.x"),
            ("[agents.x]\ntools = []", "line 2: agents.x.tools"),
            ("[agents.x]\ninstruction = \"@/etc/passwd\"", "line 2: agents.x.instruction"),
            ("[dev]\nscript = \"x\"", "line 2: dev.script"),
            (
                "[[policy]]\ntool = \"a\"\nverdict = \"deny\"\n[[policy]]\ntool = \"*\"\nverdict = \"allow\"",
                "line 6: policy.verdict",
            ),
        ] {
            assert_eq!(asks_for(text), Ok(vec![wanted.to_owned()]), "{text}");
        }
    }
}
