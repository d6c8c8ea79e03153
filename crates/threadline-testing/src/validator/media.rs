//! Media in a body: images and documents, as they were declared and as they are.

use super::node::{Found, Node};
use super::server::Server;

/// A medium in a body.
#[derive(Clone, Debug)]
pub(super) struct Media<'a> {
    /// The part that holds it.
    pub(super) at: Node<'a>,
    /// What it holds.
    pub(super) source: Source<'a>,
}

/// Where a medium's bytes are.
#[derive(Clone, Debug)]
pub(super) enum Source<'a> {
    /// In the body, as base64.
    Inline {
        /// The declared type.
        media_type: &'a str,
        /// The base64.
        data: &'a str,
    },
    /// At an address.
    Remote(&'a str),
    /// With the provider, under an id, or in the body as plain text.
    Elsewhere,
    /// Nowhere: the part is not whole.
    Broken(&'static str),
}

impl<'a> Source<'a> {
    /// The source that an address names: one that holds the data itself, or one of the web.
    pub(super) fn of_address(address: &'a str) -> Self {
        let Some(rest) = address.strip_prefix("data:") else {
            return if address.starts_with("https://") || address.starts_with("http://") {
                Self::Remote(address)
            } else {
                Self::Broken("not a data address and not one of the web")
            };
        };
        match rest.split_once(";base64,") {
            Some((media_type, data)) => Self::Inline { media_type, data },
            None => Self::Broken("a data address without ;base64,"),
        }
    }

    /// The source of a declared type and its base64.
    pub(super) fn inline(media_type: Option<&'a str>, data: Option<&'a str>) -> Self {
        match (media_type, data) {
            (Some(media_type), Some(data)) => Self::Inline { media_type, data },
            (None, _) => Self::Broken("no media type"),
            (_, None) => Self::Broken("no data"),
        }
    }
}

/// Media that are not whole.
pub(super) fn not_whole(media: &[Media<'_>]) -> Vec<Found> {
    let broken = media.iter().filter_map(|medium| match medium.source {
        Source::Broken(why) => Some(medium.at.found(why)),
        Source::Inline { .. } | Source::Remote(_) | Source::Elsewhere => None,
    });
    broken.collect()
}

/// Media whose data is not base64.
pub(super) fn not_base64(media: &[Media<'_>]) -> Vec<Found> {
    let inline = media.iter().filter_map(Media::inline);
    inline
        .filter(|(_, _, data)| !is_base64(data))
        .map(|(at, ..)| at.found("the data is not base64"))
        .collect()
}

/// Media of a type that the server does not take.
pub(super) fn not_taken(media: &[Media<'_>], server: &Server) -> Vec<Found> {
    let inline = media.iter().filter_map(Media::inline);
    inline
        .filter(|(_, media_type, _)| !server.media.iter().any(|taken| taken == media_type))
        .map(|(at, media_type, _)| at.found(format_args!("{media_type} is not taken")))
        .collect()
}

/// Media whose bytes are of another type than was declared.
pub(super) fn not_as_declared(media: &[Media<'_>]) -> Vec<Found> {
    let mut found = Vec::new();
    for (at, media_type, data) in media.iter().filter_map(Media::inline) {
        // Other types have no beginning that would give them away.
        let known = SIGNS.iter().any(|(known, _)| *known == media_type);
        let actual = type_of(&head(data));
        if known && is_base64(data) && actual != Some(media_type) {
            let actual = actual.unwrap_or("something else");
            found.push(at.found(format_args!("declared as {media_type}, but it is {actual}")));
        }
    }
    found
}

/// Media at an address, if the server does not fetch them.
pub(super) fn not_here(media: &[Media<'_>], server: &Server) -> Vec<Found> {
    let remote = media.iter().filter_map(|medium| match medium.source {
        Source::Remote(address) => Some((&medium.at, address)),
        Source::Inline { .. } | Source::Elsewhere | Source::Broken(_) => None,
    });
    remote
        .filter(|_| !server.remote_media)
        .map(|(at, address)| at.found(format_args!("{address} would have to be fetched")))
        .collect()
}

impl<'a> Media<'a> {
    /// Where it is, its type and its data, if it is in the body.
    fn inline(&self) -> Option<(&Node<'a>, &'a str, &'a str)> {
        match self.source {
            Source::Inline { media_type, data } => Some((&self.at, media_type, data)),
            Source::Remote(_) | Source::Elsewhere | Source::Broken(_) => None,
        }
    }
}

/// How files of a type begin.
const SIGNS: [(&str, &[u8]); 5] = [
    ("image/png", b"\x89PNG\r\n\x1a\n"),
    ("image/jpeg", b"\xff\xd8\xff"),
    ("image/gif", b"GIF8"),
    ("image/webp", b"RIFF"),
    ("application/pdf", b"%PDF-"),
];

/// The type of a file that begins like this.
fn type_of(head: &[u8]) -> Option<&'static str> {
    let (media_type, _) = SIGNS.iter().find(|(_, sign)| head.starts_with(sign))?;
    // Sounds and films begin like that image, too.
    let real = *media_type != "image/webp" || head.get(8..12) == Some(b"WEBP".as_slice());
    real.then_some(media_type)
}

/// Whether a text is base64 with padding, of at least one byte.
fn is_base64(text: &str) -> bool {
    let bare = text.trim_end_matches('=');
    let padding = text.len() - bare.len();
    let unused_bits = match padding {
        0 => 0,
        1 => 0b11,
        2 => 0b1111,
        _ => return false,
    };
    let last = bare.bytes().next_back().and_then(sextet);
    !bare.is_empty()
        && text.len().is_multiple_of(4)
        && bare.bytes().all(|byte| sextet(byte).is_some())
        && last.is_some_and(|bits| bits & unused_bits == 0)
}

/// The first twelve bytes that base64 stands for.
fn head(text: &str) -> Vec<u8> {
    let sextets: Vec<u32> = text.bytes().take(16).map_while(sextet).collect();
    let mut bytes = Vec::new();
    for group in sextets.chunks(4) {
        let bits = group.iter().fold(0, |bits, sextet| (bits << 6) | sextet);
        let [_, first, second, third] = (bits << (6 * (4 - group.len()))).to_be_bytes();
        bytes.extend([first, second, third].into_iter().take(group.len().saturating_sub(1)));
    }
    bytes
}

/// The six bits that a character of base64 stands for.
fn sextet(byte: u8) -> Option<u32> {
    let bits = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_whole_groups_with_nothing_left_over() {
        for good in ["AAAA", "AA==", "AAA=", "+/09"] {
            assert!(is_base64(good), "{good}");
        }
        for bad in ["", "====", "A", "AA", "AAA", "A===", "AB==", "AAB=", "AA-_", "AA A", "AAAA\n"]
        {
            assert!(!is_base64(bad), "{bad}");
        }
    }

    #[test]
    fn the_head_is_what_the_text_stands_for() {
        assert_eq!(head("JVBERi0="), b"%PDF-");
        assert_eq!(head("iVBORw0KGgo="), b"\x89PNG\r\n\x1a\n");
        assert_eq!(type_of(b"RIFF1234WEBPVP8 "), Some("image/webp"));
        assert_eq!(type_of(b"RIFF1234WAVEfmt "), None);
    }
}
