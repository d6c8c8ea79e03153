//! Replies about files of the workspace.

use serde_json::Value;

use super::{READ_FILE, Writing};
use crate::guide::wish::FileWish;

const LIST: &str = "list_files";
const SEARCH: &str = "search_files";
const WRITE: &str = "write_file";
const EDIT: &str = "edit_file";

impl Writing<'_> {
    /// Does what is wanted of files.
    pub(super) fn act_on_files(&mut self, wish: &FileWish) {
        let text = |text: &String| Value::from(text.as_str());
        let place = |path: &Option<String>| path.as_ref().map(|path| ("path", text(path)));
        match wish {
            FileWish::List(folder) => self.call(LIST, place(folder).as_slice()),
            FileWish::Lines { path, from, limit } => {
                let limit = limit.map(|limit| ("limit", limit.into()));
                let page = [("path", text(path)), ("offset", (*from).into())];
                self.call(READ_FILE, &page.into_iter().chain(limit).collect::<Vec<_>>());
            }
            FileWish::Search { text: what, path } => {
                let what = [("text", text(what))];
                self.call(SEARCH, &what.into_iter().chain(place(path)).collect::<Vec<_>>());
            }
            FileWish::Write { path, text: written } => {
                self.call(WRITE, &[("path", text(path)), ("text", text(written))]);
            }
            FileWish::Edit { path, find, with, all } => {
                let edit = [("path", text(path)), ("find", text(find)), ("with", text(with))];
                let all = all.then(|| ("all", true.into()));
                self.call(EDIT, &edit.into_iter().chain(all).collect::<Vec<_>>());
            }
        }
    }
}
