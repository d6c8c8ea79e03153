//! A project's file: what a folder may say about the agents that work in it.
//!
//! Whoever writes a project's files is not whoever runs this program. So a project may choose among
//! what the user has, give agents instructions, tighten limits, and have more calls asked about or
//! denied. Its agents have at most the tools of the user's own agent, and none of them becomes the
//! one that people talk with. Anything else is refused, unless the user trusts this exact file.
//!
//! A file that belongs to another user is not read at all, and neither is a link of another user.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use threadline_core::history::fact::Digest;
use toml::de::{DeTable, DeValue};

use super::bounded_read::{self, NotRead, Owner, TextFile};
use super::explain;
use super::file::File;
use super::trust::{Location, Trusted};

/// What a project's file is called.
pub(crate) const NAME: &str = "threadline.toml";
/// What marks the root of a repository, beyond which no file is looked for.
const ROOT_MARKS: [&str; 4] = [".git", ".hg", ".jj", ".svn"];
/// The most folders that are looked through.
const FOLDERS_CAP: usize = 64;

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

/// A project's file that was read and not parsed yet.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    file: TextFile,
}

/// The project's file of a folder: in it, or above it up to the root of its repository. Files of
/// other users are passed over; `notes` says so.
pub(crate) fn find(folder: &Path, notes: &mut Vec<String>) -> anyhow::Result<Option<Source>> {
    for folder in folder.ancestors().take(FOLDERS_CAP) {
        let path = folder.join(NAME);
        match open(&path) {
            Ok(source) => return Ok(Some(source)),
            Err(NotRead::OtherOwner(uid)) => {
                notes.push(format!(
                    "ignored {}: it belongs to another user (uid {uid})",
                    path.display()
                ));
            }
            Err(error) if error.is_missing() || is_closed(&path) => {}
            Err(error) => return Err(unreadable(&path, error)),
        }
        if ROOT_MARKS.iter().any(|mark| folder.join(mark).exists()) {
            return Ok(None);
        }
    }
    Ok(None)
}

/// Whether the folder of a path may not be looked into.
fn is_closed(path: &Path) -> bool {
    let looked = path.symlink_metadata();
    looked.is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
}

/// The project's file at a path that the user named.
pub(crate) fn named(path: &Path) -> anyhow::Result<Source> {
    open(path).map_err(|error| unreadable(path, error))
}

fn open(path: &Path) -> Result<Source, NotRead> {
    let file = bounded_read::read_text(path, Owner::User)?;
    Ok(Source { path: path.to_path_buf(), file })
}

fn unreadable(path: &Path, error: NotRead) -> anyhow::Error {
    anyhow::Error::new(error).context(format!("could not read {}", path.display()))
}

impl Source {
    pub(crate) fn text(&self) -> &str {
        &self.file.text
    }

    pub(crate) fn digest(&self) -> Digest {
        Digest::of(self.file.text.as_bytes())
    }

    /// Where the file is, for trust: the place where it was found and the file that was read there.
    /// None if they cannot be told for sure.
    pub(crate) fn location(&self) -> Option<Location> {
        let location = Location::of(&self.path)?;
        // Between the two looks somebody may have put another file or link there.
        (bounded_read::identity_of(&location.real) == self.file.identity).then_some(location)
    }

    /// Parses the file; refused if it says more than it may.
    pub(super) fn parse(self, trusted: &Trusted) -> anyhow::Result<Project> {
        let path = &self.path;
        let wrong = |wrong: String| anyhow!("could not use {}: {wrong}", path.display());
        let digest = self.digest();
        let trusted = self.location().is_some_and(|location| trusted.has(&location, digest));
        if !trusted {
            let table = explain::parse(self.text()).map_err(wrong)?;
            if let Some(more) = beyond(self.text(), table.get_ref()).into_iter().next() {
                bail!(
                    "could not use {path}: {more}: a project may only choose a model or a route, give agents instructions, tighten limits, and set rules that ask or deny; if you trust this file: threadline trust {path}",
                    path = path.display(),
                );
            }
        }
        let file: File = explain::read(self.text()).map_err(wrong)?;
        Ok(Project { path: path.clone(), trusted, file })
    }
}

/// What a file would be allowed if it were trusted, a line for each.
pub(crate) fn asks_for(text: &str) -> Result<Vec<String>, String> {
    explain::read::<File>(text)?;
    let table = explain::parse(text)?;
    Ok(beyond(text, table.get_ref()))
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
                        key => matches!(key, "description" | "route" | "join"),
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
            ("[agents.x]\nprimary = true", "line 2: agents.x.primary"),
            ("[agents.x]\nprimary = false", "line 2: agents.x.primary"),
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
