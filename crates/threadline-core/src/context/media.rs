//! Media: which attachments of a context a model is sent the bytes of.

use std::collections::BTreeSet;

use super::Context;
use crate::history::fact::Digest;
use crate::provider::Profile;

/// The most bytes of media that a request brings.
pub const MEDIA_CAP_BYTES: u64 = 20 * 1024 * 1024;

/// The attachments whose bytes a model takes: of types and sizes it knows, each once, the newest
/// first until a request would be too large. The rest are shown by name and size.
pub fn wanted_media(context: &Context, profile: &Profile) -> Vec<Digest> {
    let attachments: Vec<_> = context.attachments().collect();
    let (mut seen, mut wanted, mut left) = (BTreeSet::new(), Vec::new(), MEDIA_CAP_BYTES);
    for attachment in attachments.into_iter().rev() {
        let support = profile.media.iter().find(|m| m.media_type == attachment.media_type);
        let taken = support.is_some_and(|support| attachment.size <= support.cap_bytes);
        if !taken || !seen.insert(attachment.digest) {
            continue;
        }
        let Some(rest) = left.checked_sub(attachment.size) else { break };
        left = rest;
        wanted.push(attachment.digest);
    }
    wanted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::{Body, InputPart, Level, Part, ResultPart, ResultsPart, Source};
    use crate::history::fact::{Attachment, Status};
    use crate::id::{CallId, Seq};
    use crate::provider::MediaSupport;

    const MIB: u64 = 1024 * 1024;

    fn attachment(name: &str, media_type: &str, size: u64) -> Attachment {
        let (digest, extent) = (Digest::of(name.as_bytes()), None);
        Attachment { digest, size, media_type: media_type.into(), name: None, extent }
    }

    fn part(body: Body) -> Part {
        Part { source: Source::Entry(Seq(1)), level: Level::Live, tokens: 1, body }
    }

    fn input(attachments: Vec<Attachment>) -> Part {
        part(Body::Input(InputPart { text: "look".into(), attachments, screen: None }))
    }

    fn result(attachments: Vec<Attachment>) -> Part {
        let result = ResultPart {
            call: CallId::new(Seq(1), 0),
            name: "camera".into(),
            entry: Seq(2),
            status: Status::Success,
            text: "click".into(),
            attachments,
            level: Level::Live,
            tokens: 1,
        };
        part(Body::Results(ResultsPart { results: vec![result], screen: None }))
    }

    fn profile() -> Profile {
        let support = |media_type: &str, cap_bytes| MediaSupport {
            media_type: media_type.into(),
            cap_bytes,
            tokens: 100,
            in_results: false,
        };
        let media = vec![support("image/png", 8 * MIB), support("application/pdf", 30 * MIB)];
        Profile { media, ..Profile::unknown() }
    }

    fn names(parts: Vec<Part>, profile: &Profile) -> Vec<Digest> {
        wanted_media(&Context { parts, ..Context::default() }, profile)
    }

    #[test]
    fn what_a_model_takes_comes_the_newest_first_and_once() {
        let png = |name| attachment(name, "image/png", MIB);
        let parts = vec![
            input(vec![png("first"), png("second")]),
            result(vec![png("first"), attachment("film", "video/mp4", 10)]),
            input(vec![attachment("large", "image/png", 9 * MIB)]),
        ];
        let wanted = [Digest::of(b"first"), Digest::of(b"second")];
        assert_eq!(names(parts.clone(), &profile()), wanted);
        assert!(names(parts, &Profile::unknown()).is_empty());
    }

    #[test]
    fn a_request_brings_no_more_than_the_cap() {
        let pdf = |name, size| attachment(name, "application/pdf", size * MIB);
        let parts = vec![
            input(vec![pdf("oldest", 1)]),
            input(vec![pdf("old", 12)]),
            input(vec![pdf("new", 12)]),
        ];
        assert_eq!(names(parts, &profile()), [Digest::of(b"new")]);
        let whole = vec![input(vec![pdf("all", 20)])];
        assert_eq!(names(whole, &profile()), [Digest::of(b"all")]);
        let parts = vec![input(vec![pdf("too much", 21)])];
        assert!(names(parts, &profile()).is_empty());
    }
}
