//! Files of one folder, the workspace.
//!
//! Every path is opened relative to the folder's handle, by the system's own rule that it stay
//! beneath: no `..`, no absolute path, no link and no race leads out. What is changed is changed
//! by the handle of its folder, and no link is followed on the way there.

mod blocking;
mod change;
mod edit_file;
mod list_files;
mod page;
mod place;
mod read_file;
mod search_files;
mod told;
mod walk;
mod workspace;
mod write_file;

use std::sync::Arc;

use threadline_core::history::fact::Effect;
use threadline_core::tool::{RunRules, Tool};

pub use change::{FILE_CAP_BYTES, TEXT_CAP_BYTES};
pub use edit_file::EditFile;
pub use list_files::ListFiles;
pub use page::{PAGE_CAP_BYTES, PAGE_CAP_LINES};
pub use read_file::ReadFile;
pub use search_files::SearchFiles;
pub use workspace::Workspace;
pub use write_file::WriteFile;

/// All tools for the files of a workspace.
pub fn tools(workspace: &Arc<Workspace>) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(ReadFile::new(Arc::clone(workspace))),
        Arc::new(ListFiles::new(Arc::clone(workspace))),
        Arc::new(SearchFiles::new(Arc::clone(workspace))),
        Arc::new(WriteFile::new(Arc::clone(workspace))),
        Arc::new(EditFile::new(Arc::clone(workspace))),
    ]
}

/// The usual rules of an effect, for a tool that works in the conversation's folder.
const fn in_workspace(effect: Effect) -> RunRules {
    RunRules { in_workspace: true, ..RunRules::usual(effect) }
}

#[cfg(test)]
mod tests;
