//! Files of one folder, the workspace.
//!
//! Every path is opened relative to the folder's handle, by the system's own rule that it stay
//! beneath: no `..`, no absolute path, no link and no race leads out.

mod blocking;
mod page;
mod place;
mod read_file;
mod told;
mod workspace;

pub use page::{PAGE_CAP_BYTES, PAGE_CAP_LINES};
pub use read_file::ReadFile;
pub use workspace::Workspace;
