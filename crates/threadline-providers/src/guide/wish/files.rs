//! What people want of the files of the workspace.

use super::words::{after, before, is_any, parted, parted_last, quoted, strip, unquoted};

/// Something that someone wants of files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::guide) enum FileWish {
    /// Tell which files there are.
    List(Option<String>),
    /// Read some lines of a file.
    Lines { path: String, from: u64, limit: Option<u64> },
    /// Find a text in files.
    Search { text: String, path: Option<String> },
    /// Write a file.
    Write { path: String, text: String },
    /// Put a text in the place of another.
    Edit { path: String, find: String, with: String, all: bool },
}

/// A change to a text, wherever it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change<'a> {
    /// A text in the place of another, and where.
    Replace { find: &'a str, with: &'a str, place: &'a str },
    /// A text in the place of all from one text to another, and where.
    Span { start: &'a str, end: &'a str, with: &'a str, place: &'a str },
}

/// The wish of a text, which may end with what is to be written.
pub(super) fn wish(text: &str, begun: &str) -> Option<FileWish> {
    listing(text)
        .or_else(|| lines(text))
        .or_else(|| searching(text))
        .or_else(|| writing(text, begun))
        .or_else(|| editing(text))
}

fn listing(text: &str) -> Option<FileWish> {
    const ALL: [&str; 18] = [
        "ls",
        "files",
        "list files",
        "list the files",
        "list all files",
        "list files in",
        "list my files",
        "list the workspace",
        "show files",
        "show the files",
        "show me the files",
        "what files are there",
        "which files are there",
        "what files do you have",
        "what files do you see",
        "what files can you see",
        "what is in the workspace",
        "what's in the workspace",
    ];
    const SURE: [&str; 16] = [
        "list files in ",
        "list the files in ",
        "list the files of ",
        "list all files in ",
        "list the folder ",
        "list folder ",
        "show the files in ",
        "show me the files in ",
        "show files in ",
        "what files are there in ",
        "what files are in ",
        "which files are there in ",
        "which files are in ",
        "what is in the folder ",
        "what's in the folder ",
        "ls ",
    ];
    if is_any(text, &ALL) {
        return Some(FileWish::List(None));
    }
    if let Some(folder) = after(text, &SURE) {
        let here = ["the workspace", "workspace", "here", "it"];
        return if is_any(folder, &here) {
            Some(FileWish::List(None))
        } else {
            named(folder).map(|folder| FileWish::List(Some(folder)))
        };
    }
    let folder =
        after(text, &["list ", "what is in ", "what's in ", "show me ", "show ", "read "])?;
    let folder = named(folder).filter(|folder| folder.ends_with('/'))?;
    Some(FileWish::List(Some(folder)))
}

/// Some lines of a file: `read a.txt from line 20`, `read lines 3 to 9 of a.txt`.
fn lines(text: &str) -> Option<FileWish> {
    let rest = after(text, &["read me ", "read ", "show me ", "show "])?;
    if let Some((path, from)) = parted_last(rest, &[" from line ", " at line "]) {
        return Some(FileWish::Lines { path: named(path)?, from: counted(from)?, limit: None });
    }
    let (lines, path) =
        parted_last(after(rest, &["lines ", "line "])?, &[" of ", " in ", " from "])?;
    let path = named(path)?;
    let (first, last) = match parted(lines, &[" to ", " through ", "-"]) {
        Some((first, last)) => (counted(first)?, counted(last)?),
        None => (counted(lines)?, counted(lines)?),
    };
    let limit = last.checked_sub(first)?.checked_add(1)?;
    Some(FileWish::Lines { path, from: first, limit: Some(limit) })
}

fn counted(text: &str) -> Option<u64> {
    let digits = text.trim();
    let number = digits.starts_with(|c: char| c.is_ascii_digit()).then(|| digits.parse().ok());
    number.flatten().filter(|number| *number > 0)
}

fn searching(text: &str) -> Option<FileWish> {
    let found = |what: &str, path: Option<String>| {
        let text = unquoted(what).to_owned();
        Some(FileWish::Search { text, path })
    };
    if let Some(what) = after(text, &EVERYWHERE) {
        return found(what, None);
    }
    if let Some(what) = after(text, &["search for ", "grep for ", "grep "]) {
        let (what, path) = placed(what, |_| true).unwrap_or((what, None));
        return found(what, path);
    }
    if let Some(rest) = after(text, &["search through ", "search in ", "search "]) {
        let (place, what) = parted(rest, &[" for "])?;
        return found(what, Some(surely(place)?));
    }
    let rest = after(text, &["find ", "look for ", "where is ", "where's ", "where does it say "])?;
    let (what, path) = placed(rest, is_like_a_path)?;
    found(what, path)
}

const EVERYWHERE: [&str; 9] = [
    "search the files for ",
    "search all files for ",
    "search my files for ",
    "search files for ",
    "search the workspace for ",
    "search everywhere for ",
    "which files contain ",
    "which files mention ",
    "find the files with ",
];

/// A text and the place that is named after it: nothing for all files.
fn placed(text: &str, fits: fn(&str) -> bool) -> Option<(&str, Option<String>)> {
    const ALL: [&str; 9] = [
        "files",
        "the files",
        "all files",
        "my files",
        "any file",
        "the workspace",
        "workspace",
        "all of them",
        "everything",
    ];
    let (what, place) = parted_last(text, &[" in "])?;
    if is_any(place, &ALL) {
        return Some((what, None));
    }
    let path = surely(place).or_else(|| named(place).filter(|_| fits(place)))?;
    Some((what, Some(path)))
}

fn writing(text: &str, begun: &str) -> Option<FileWish> {
    // What follows a colon goes into the file as it is.
    const COLON: [&str; 4] = ["write to ", "write ", "create ", "save "];
    let given = after(begun, &COLON).and_then(|rest| {
        let (path, text) = parted(rest, &[": ", ":\n"])?;
        Some(FileWish::Write { path: surely(path)?, text: unquoted(text).to_owned() })
    });
    let with = || {
        let rest = after(begun, &["create ", "make "])?;
        let (path, text) = parted(rest, &[" with ", " containing ", " that says ", " saying "])?;
        let words = ["the text ", "the words ", "the content ", "the line ", "text "];
        let text = after(text, &words).unwrap_or(text);
        Some(FileWish::Write { path: surely(path)?, text: unquoted(text).to_owned() })
    };
    let into = || {
        let rest = after(text, &["write ", "save ", "store "])?;
        let (what, path) = parted_last(rest, &[" into ", " to ", " in ", " as "])?;
        Some(FileWish::Write { path: surely(path)?, text: unquoted(what).to_owned() })
    };
    given.or_else(with).or_else(into)
}

fn editing(text: &str) -> Option<FileWish> {
    if let Some(Change::Replace { find, with, place }) = change(text) {
        let every = after(find, &["all ", "every "]);
        let (find, all) = (every.unwrap_or(find), every.is_some());
        let (find, with) = (unquoted(find).to_owned(), unquoted(with).to_owned());
        return Some(FileWish::Edit { path: surely(place)?, find, with, all });
    }
    let (find, place) = parted_last(after(text, &["delete ", "remove "])?, &[" from "])?;
    let (find, with) = (unquoted(find).to_owned(), String::new());
    Some(FileWish::Edit { path: surely(place)?, find, with, all: false })
}

/// The change that a text tells: `replace X with Y in Z`, `change X to Y in Z`.
pub(super) fn change(text: &str) -> Option<Change<'_>> {
    let (rest, between) = match after(text, &["replace ", "substitute "]) {
        Some(rest) => (rest, &[" with ", " by "][..]),
        None => (after(text, &["change ", "edit "])?, &[" to ", " into "][..]),
    };
    let (what, place) = parted_last(rest, &[" in "])?;
    let span = strip(what, "all from ").or_else(|| strip(what, "from "));
    if let Some(span) = span.filter(|_| between.contains(&" with ")) {
        let (ends, with) = parted(span, between)?;
        let (start, end) = parted(ends, &[" up to ", " to "])?;
        return Some(Change::Span { start, end, with, place });
    }
    let (find, with) = parted(what, between)?;
    Some(Change::Replace { find, with, place })
}

/// A path that leaves no doubt: it looks like one, or is said to be a file or a folder.
fn surely(text: &str) -> Option<String> {
    const SAID: [&str; 7] = [
        "the new file ",
        "a new file ",
        "the file ",
        "a file ",
        "new file ",
        "file ",
        "the folder ",
    ];
    const CALLED: [&str; 3] = ["called ", "named ", "folder "];
    let said = after(text, &SAID);
    let rest = said.unwrap_or(text);
    let rest = after(rest, &CALLED).unwrap_or(rest);
    let sure = said.is_some() || is_like_a_path(rest);
    before(rest, &[" file"]).filter(|_| said.is_none()).map_or_else(
        || named(rest).filter(|_| sure),
        |path| named(path).filter(|_| is_like_a_path(path)),
    )
}

/// A file that someone wants to have read. Some words leave no doubt, others want a path that
/// looks like one.
pub(super) fn path(text: &str) -> Option<String> {
    const SURE: [&str; 6] =
        ["read me the file ", "read the file ", "read file ", "read me ", "read ", "cat "];
    const PERHAPS: [&str; 9] = [
        "show me the file ",
        "show the file ",
        "show me ",
        "show ",
        "open the file ",
        "open ",
        "what is in ",
        "what's in ",
        "print ",
    ];
    let sure = SURE.iter().find_map(|prefix| strip(text, prefix));
    let perhaps = || PERHAPS.iter().find_map(|prefix| strip(text, prefix));
    sure.and_then(named).or_else(|| {
        let rest = perhaps()?;
        is_like_a_path(rest).then(|| named(rest)).flatten()
    })
}

pub(super) fn is_like_a_path(text: &str) -> bool {
    text.contains(['.', '/', '\\', '`', '"', '\'', '“'])
}

/// The name of a file: one word, or several between quotation marks.
pub(super) fn named(text: &str) -> Option<String> {
    let text = text.trim();
    let vague = ["it", "this", "that", "me", "file", "something", "more"];
    let plain = !text.is_empty() && !text.contains(char::is_whitespace) && !vague.contains(&text);
    quoted(text).or(plain.then_some(text)).map(str::to_owned)
}
