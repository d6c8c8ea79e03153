//! Carrying a conversation to another store: `.threadline.jsonl`, line by line, in bounded memory.
//!
//! An export holds the records verbatim and nothing of the moment it was made in: export, import
//! and export again gives the same bytes.

mod export;
mod import;
pub mod line;

pub use export::{ExportError, Exported, Move, export, export_move};
pub use import::{Import, ImportError, Imported, Voided, Wrong, import};
