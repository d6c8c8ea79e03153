//! What is said to people about a reply: short, inert, without keys, and with what to do.

use threadline_core::history::fact::FailureKind;
use threadline_core::sanitise;

use super::header;
use super::said::{Odd, Said};

/// The longest message.
const MESSAGE_CAP_CHARS: usize = 300;
/// A word that begins so and is at least this long is a key.
const KEY_MIN_CHARS: usize = 8;
/// How keys begin.
const KEY_STARTS: [&str; 8] = ["sk-", "sk_", "AIza", "gsk_", "xai-", "pk-", "hf_", "nvapi-"];
/// A random word at least this long is a key, however it begins.
const RANDOM_MIN_CHARS: usize = 32;
/// What stands before the name of an error that says nothing else.
const NAMED: &str = "an error ";
/// What is said of an error that says nothing.
const WORDLESS: &str = "an error without any words";
/// What stands where a key stood.
pub(super) const HIDDEN: &str = "<redacted>";

/// What happened and what to do about it.
pub(super) fn message(
    status: Option<u16>,
    headers: &[(String, String)],
    kind: FailureKind,
    said: &Said,
) -> String {
    if let (Some(300..400), location) = (status, header(headers, "location")) {
        return moved(location);
    }
    let head = status.map_or_else(String::new, |status| format!("HTTP {status}: "));
    let tail = advice(status, kind);
    let room = MESSAGE_CAP_CHARS.saturating_sub(head.len() + tail.len());
    let own = match said.odd {
        None if said.message.is_empty() => {
            let named = said.code.as_ref().or(said.kind.as_ref());
            let room = room.saturating_sub(NAMED.len());
            named
                .map_or_else(|| WORDLESS.to_owned(), |name| format!("{NAMED}{}", short(name, room)))
        }
        None | Some(Odd::Text) => short(&said.message, room),
        Some(Odd::Empty) => "nothing was said about it".to_owned(),
        Some(Odd::Binary) => "what was said about it cannot be read".to_owned(),
        Some(Odd::Page) if said.message.is_empty() => "a web page came instead of an answer".into(),
        Some(Odd::Page) => format!(
            "a web page came instead of an answer, titled “{}”",
            short(&said.message, room.saturating_sub(60))
        ),
    };
    let own = own.trim_end_matches('.').trim();
    let own = if own.is_empty() { WORDLESS } else { own };
    format!("{head}{own}{tail}")
}

/// A stranger's text in one line of at most so many characters, without keys.
pub(super) fn short(text: &str, cap: usize) -> String {
    // Sanitising and hiding both may lengthen the text: it is cut before, for the time it takes,
    // and after, for the length that it has.
    let some: String = text.chars().take(cap.saturating_mul(4)).collect();
    let line = some.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = without_keys(&sanitise::line(&line));
    if line.chars().count() <= cap {
        return line;
    }
    let mut cut: String = line.chars().take(cap.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// Whether a text is a web page.
pub(super) fn is_page(text: &str) -> bool {
    let start: String = text.chars().take(200).collect::<String>().to_ascii_lowercase();
    start.starts_with("<!doctype html") || start.starts_with("<html") || start.contains("<head")
}

/// A page's title, or its first heading; empty if it has neither.
pub(super) fn title(page: &str) -> String {
    // Small letters are as long as the capitals they stand for, in ASCII.
    let small = page.to_ascii_lowercase();
    let between = |tag: &str| {
        let open = small.find(&format!("<{tag}"))?;
        let start = open + small.get(open..)?.find('>')? + 1;
        let end = start + small.get(start..)?.find("</")?;
        Some(page.get(start..end)?.trim().to_owned()).filter(|title| !title.is_empty())
    };
    between("title").or_else(|| between("h1")).unwrap_or_default()
}

/// A request was sent elsewhere, and does not go there: keys follow nobody.
fn moved(location: Option<&str>) -> String {
    location.map_or_else(
        || "the server points elsewhere without saying where; check the base URL".to_owned(),
        |to| {
            let to = short(without_query(to), 200);
            format!("the server points to {to}, which is not followed; set the base URL")
        },
    )
}

fn without_query(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or(url)
}

const fn advice(status: Option<u16>, kind: FailureKind) -> &'static str {
    match (kind, status) {
        (FailureKind::Unauthorised, Some(403)) => {
            "; check that the key may use this model, and that requests may come from here"
        }
        (FailureKind::Unauthorised, Some(407)) => "; check the credentials of the proxy",
        (FailureKind::Unauthorised, _) => "; check the key of this endpoint",
        (FailureKind::QuotaSpent, _) => "; add credit or raise the limit at the provider",
        (FailureKind::Refused, Some(404)) => "; check the model's name and the base URL",
        (FailureKind::Refused, Some(405)) => "; check the base URL",
        (
            FailureKind::Busy
            | FailureKind::ContextTooLong
            | FailureKind::Refused
            | FailureKind::Protocol
            | FailureKind::Unreachable
            | FailureKind::Cancelled,
            _,
        ) => "",
    }
}

/// A text with everything in it that looks like a key hidden.
fn without_keys(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let in_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '*' | '…');
    let mut rest = text;
    let mut after_bearer = false;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| in_word(c) != in_word(first)).unwrap_or(rest.len());
        let (piece, next) = rest.split_at_checked(end).unwrap_or((rest, ""));
        let secret = in_word(first) && (is_key(piece) || (after_bearer && piece.len() > 7));
        out.push_str(if secret { HIDDEN } else { piece });
        after_bearer = piece.eq_ignore_ascii_case("bearer") || (after_bearer && !in_word(first));
        rest = next;
    }
    out
}

fn is_key(word: &str) -> bool {
    let known = KEY_STARTS.iter().any(|start| word.starts_with(start));
    let has = |test: fn(&char) -> bool| word.chars().any(|c| test(&c));
    let mixed = has(char::is_ascii_uppercase) && has(char::is_ascii_lowercase);
    let hex = word.chars().all(|c| c.is_ascii_hexdigit());
    let random = has(char::is_ascii_digit) && (mixed || hex);
    let length = word.chars().count();
    (known && length >= KEY_MIN_CHARS) || (random && length >= RANDOM_MIN_CHARS)
}
