//! What was attached: as media that the model takes, or as a line that names it.

use std::borrow::Cow;

use threadline_core::history::fact::Attachment;
use threadline_core::provider::{MediaSupport, Request};

use super::{Media, Piece};

/// Where an attachment goes.
pub(super) enum Place<'a> {
    /// Where it was attached.
    Here(Media<'a>),
    /// Into a user's turn: the model does not take it in a result.
    After(Media<'a>),
    /// Nowhere: it is only named.
    Named(String),
}

/// An attachment of an input.
pub(super) fn in_input<'a>(request: &'a Request, attachment: &'a Attachment) -> Piece<'a> {
    match taken(request, attachment) {
        Some((_, media)) => Piece::Media(media),
        None => Piece::Text(Cow::Owned(named(attachment, "not shown"))),
    }
}

/// An attachment of a result.
pub(super) fn in_result<'a>(
    request: &'a Request,
    attachment: &'a Attachment,
    may_follow: bool,
) -> Place<'a> {
    match taken(request, attachment) {
        Some((support, media)) if support.in_results => Place::Here(media),
        Some((_, media)) if may_follow => Place::After(media),
        Some(_) | None => Place::Named(named(attachment, "not shown")),
    }
}

/// The line that names an attachment.
pub(super) fn named(attachment: &Attachment, what: &str) -> String {
    let Attachment { media_type, size, .. } = attachment;
    match &attachment.name {
        Some(name) => format!("[{name}: {media_type}, {size} bytes, {what}]"),
        None => format!("[{media_type}, {size} bytes, {what}]"),
    }
}

/// The bytes, if they are at hand and the model takes their type.
fn taken<'a>(
    request: &'a Request,
    attachment: &'a Attachment,
) -> Option<(&'a MediaSupport, Media<'a>)> {
    let mut supports = request.target.profile.media.iter();
    let support = supports.find(|support| support.media_type == attachment.media_type)?;
    let bytes = request.media.get(&attachment.digest)?;
    if bytes.is_empty() || !is_what_it_says(&attachment.media_type, bytes) {
        return None;
    }
    let media_type = &*attachment.media_type;
    Some((support, Media { media_type, name: attachment.name.as_deref(), bytes }))
}

/// Whether bytes begin as their type wants: providers refuse a request for one that does not.
fn is_what_it_says(media_type: &str, bytes: &[u8]) -> bool {
    match media_type {
        "image/png" => bytes.starts_with(b"\x89PNG\r\n\x1a\n"),
        "image/jpeg" => bytes.starts_with(b"\xff\xd8\xff"),
        "image/gif" => bytes.starts_with(b"GIF8"),
        "image/webp" => bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP"),
        "application/pdf" => bytes.starts_with(b"%PDF-"),
        _ => true,
    }
}
