//! Patterns over texts, and paths made plain.

use std::borrow::Cow;

/// Whether a text fits a pattern, in which `*` stands for any run of characters. Takes time
/// linear in both.
pub(super) fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// A text that may be a path, without what leads nowhere: `.`, `//`, `a/..`. By its letters only:
/// what links there are on a disk is not known here. The scheme and host of an address stay.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains('/') {
        return Cow::Borrowed(text);
    }
    let (host, path) = text.split_at(host_end(text));
    let rooted = path.starts_with('/');
    let mut kept: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => match kept.last() {
                Some(&"..") => kept.push(part),
                Some(_) => {
                    kept.pop();
                }
                // There is nothing above a root.
                None if rooted => {}
                None => kept.push(part),
            },
            part => kept.push(part),
        }
    }
    let root = if rooted { "/" } else { "" };
    let path = format!("{root}{}", kept.join("/"));
    let path = if path.is_empty() && host.is_empty() { ".".to_owned() } else { path };
    Cow::Owned(format!("{host}{path}"))
}

/// Where the scheme and host of an address end; at the beginning of what is none.
fn host_end(text: &str) -> usize {
    let Some(scheme) = text.find("://") else { return 0 };
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | '*');
    if scheme == 0 || !text.chars().take(scheme).all(is_scheme) {
        return 0;
    }
    let host = scheme + "://".len();
    let rest = text.get(host..).unwrap_or_default();
    host + rest.find('/').unwrap_or(rest.len())
}
