//! How much memory a call takes: a statement for each tool, which the test suite `memory` measures
//! with hostile arguments in a process that may have 1 GiB.

/// What tools take that hold a page and a state of a few kilobytes.
const SMALL_BYTES: u64 = 64 * 1024 * 1024;
/// What tools take that hold a file, its copies and a diff.
const FILES_BYTES: u64 = 256 * 1024 * 1024;

/// The most memory that one call of a tool takes beyond its arguments, in bytes; none for a tool
/// that is not of this crate.
///
/// It follows from the caps of each tool: of what it reads, of what it builds, and of what it
/// answers. A tool checks sizes before it builds anything.
pub fn cap_bytes(tool: &str) -> Option<u64> {
    match tool {
        "edit_file" | "write_file" => Some(FILES_BYTES),
        // The names of 200,000 files; a file of 4 MiB and a pattern of 3 MiB.
        "list_files" | "search_files" => Some(2 * SMALL_BYTES),
        "read_file" | "calculator" => Some(SMALL_BYTES),
        // An entry of 1 MiB and its words, one at a time.
        "recall" => Some(2 * SMALL_BYTES),
        "notebook_append" | "notebook_replace" | "notebook_replace_span" | "notebook_read" => {
            Some(SMALL_BYTES)
        }
        "task_add" | "task_start" | "task_finish" | "task_drop" | "task_move" | "task_list" => {
            Some(SMALL_BYTES)
        }
        "resource_put" | "resource_get" | "resource_list" | "resource_drop" => Some(SMALL_BYTES),
        _ => None,
    }
}
