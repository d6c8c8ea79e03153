//! What is hidden in a capture.

use std::fmt::Write as _;

/// What stands where a secret stood.
pub(super) const HIDDEN: &str = "<redacted>";
/// Headers that are secret by their names.
const SECRET_HEADERS: [&str; 5] =
    ["authorization", "proxy-authorization", "cookie", "set-cookie", "www-authenticate"];
/// Names of parameters and headers that hold secrets, by a word in them.
const SECRET_WORDS: [&str; 6] = ["key", "token", "secret", "password", "signature", "auth"];
/// Headers that have such a word and hold none.
const OPEN_WORDS: [&str; 2] = ["ratelimit", "rate-limit"];

/// A header's value, unless it is secret by its name.
pub(super) fn header<'a>(name: &str, value: &'a str) -> &'a str {
    let name = name.to_ascii_lowercase();
    let open = OPEN_WORDS.iter().any(|word| name.contains(word));
    let secret = SECRET_HEADERS.contains(&&*name) || SECRET_WORDS.iter().any(|w| name.contains(w));
    if secret && !open { HIDDEN } else { value }
}

/// The head of an answer, as it came but for its secrets.
pub(super) fn head(status: u16, headers: &[(String, String)]) -> String {
    let mut out = format!("HTTP {status}\r\n");
    for (name, value) in headers {
        // Writing to a string cannot fail.
        write!(out, "{name}: {}\r\n", header(name, value)).unwrap_or_default();
    }
    out.push_str("\r\n");
    out
}

/// An address without the user in it and without keys among its parameters.
pub(super) fn url(url: &str) -> String {
    let (front, query) = match url.split_once('?') {
        Some((front, query)) => (front, Some(query)),
        None => (url, None),
    };
    let mut out = without_user(front);
    if let Some(query) = query {
        let hide = |pair: &str| match pair.split_once('=') {
            Some((name, value)) => format!("{name}={}", header(name, value)),
            None => pair.to_owned(),
        };
        out.push('?');
        out.push_str(&query.split('&').map(hide).collect::<Vec<_>>().join("&"));
    }
    out
}

fn without_user(front: &str) -> String {
    let Some((scheme, rest)) = front.split_once("://") else { return front.to_owned() };
    let (host, path) =
        rest.split_at_checked(rest.find('/').unwrap_or(rest.len())).unwrap_or((rest, ""));
    match host.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://{HIDDEN}@{host}{path}"),
        None => front.to_owned(),
    }
}
