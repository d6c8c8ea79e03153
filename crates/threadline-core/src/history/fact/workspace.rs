//! Facts about the folder a conversation works in, changes to its files, and withdrawn authority.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Attachment, Digest, is_default};
use crate::id::CallId;

/// The folder that the conversation works in. Tools that touch files run only there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceSet {
    /// The canonical path of the folder. The path decides whether two workspaces are the same.
    pub path: Arc<str>,
    /// The device of the folder when it was set, as evidence that it is still the same folder.
    #[serde(default, skip_serializing_if = "is_default")]
    pub device: Option<u64>,
    /// The inode of the folder when it was set, as further evidence.
    #[serde(default, skip_serializing_if = "is_default")]
    pub inode: Option<u64>,
}

/// A tool is about to change a file. The entry is durable before the file is written, so that a
/// later process can find out whether the change was made, and restore the content before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileChanged {
    /// The call that changes it.
    pub call: CallId,
    /// The file, relative to the workspace.
    pub path: Arc<str>,
    /// Digest of the content before; none if the file does not exist.
    #[serde(default, skip_serializing_if = "is_default")]
    pub before: Option<Digest>,
    /// Digest of the content after; none if the file is removed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub after: Option<Digest>,
    /// The content before, unless there was none or it is over the cap.
    #[serde(default, skip_serializing_if = "is_default")]
    pub content: Option<Attachment>,
}

/// The first local entry of an imported conversation: policies and approvals before it confer
/// nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuthorityReset {}
