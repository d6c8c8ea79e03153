//! What attachments take of a window, by the rules that providers publish.
//!
//! The rules are of whole families of models, so that the numbers are estimates for budgets; what a
//! provider reports is the truth. A family whose models differ is counted by the one that takes
//! more. What no rule can know, such as the pages of a document that cannot be read, is assumed
//! rather high: a window that is not quite full is better than a request that is refused.

mod extent;

use crate::history::fact::{Attachment, Extent};

/// The media type of PDF documents.
const PDF: &str = "application/pdf";
/// Drawings that are text. No provider takes them as images.
const SVG: &str = "image/svg+xml";

/// What an attachment takes that is not sent along: the line that names it.
const NAMED_TOKENS: u32 = 32;
/// The sides of an image of unknown size: a large screen.
const UNKNOWN_SIDE: u32 = 2048;
/// The bytes of a page of a document whose pages cannot be counted, and the most pages it is
/// taken to have: so many is the most that a request may bring.
const UNKNOWN_PAGE_BYTES: u64 = 50_000;
const UNKNOWN_PAGES_CAP: u64 = 100;
/// The bytes of a second of sound (64 kbit/s) and of film (1 Mbit/s): nothing tells their length.
const SOUND_SECOND_BYTES: u64 = 8_000;
const FILM_SECOND_BYTES: u64 = 125_000;

/// Whose rule attachments are counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaRule {
    /// Tiles of 512 pixels: 85 tokens, and 170 for each. A PDF page is its image and its text.
    /// Sound takes a token for a tenth of a second; film is not taken.
    OpenAi,
    /// Patches of 28 pixels, at most 4784 of them: that of the newer models. A PDF page takes up to
    /// 3000. Neither sound nor film is taken.
    Anthropic,
    /// Tiles of 768 pixels, 258 tokens each, and one for a small image or a PDF page. A second of
    /// sound takes 32 tokens, one of film 263.
    Gemini,
}

impl MediaRule {
    /// Every rule.
    pub const ALL: [Self; 3] = [Self::OpenAi, Self::Anthropic, Self::Gemini];
}

/// What an attachment takes by a rule. One that is only named takes a fixed small number.
pub fn tokens(attachment: &Attachment, rule: MediaRule) -> u32 {
    let taken = match Kind::of(&attachment.media_type) {
        Kind::Image => {
            let (width, height) = pixels(attachment);
            image(rule, width, height)
        }
        Kind::Document => page(rule) * pages(attachment),
        Kind::Sound => match rule {
            MediaRule::OpenAi => 10 * seconds(attachment, SOUND_SECOND_BYTES),
            MediaRule::Gemini => 32 * seconds(attachment, SOUND_SECOND_BYTES),
            MediaRule::Anthropic => return NAMED_TOKENS,
        },
        Kind::Film => match rule {
            MediaRule::Gemini => 263 * seconds(attachment, FILM_SECOND_BYTES),
            MediaRule::OpenAi | MediaRule::Anthropic => return NAMED_TOKENS,
        },
        Kind::Other => return NAMED_TOKENS,
    };
    u32::try_from(taken).unwrap_or(u32::MAX)
}

/// The most that an attachment takes by any of the rules: whichever model is asked next, it fits.
pub fn most(attachment: &Attachment) -> u32 {
    MediaRule::ALL.map(|rule| tokens(attachment, rule)).into_iter().max().unwrap_or(NAMED_TOKENS)
}

/// What an attachment is to a model.
#[derive(Clone, Copy)]
enum Kind {
    Image,
    Document,
    Sound,
    Film,
    /// Text and all else: models are told of it.
    Other,
}

impl Kind {
    fn of(media_type: &str) -> Self {
        let (essence, _parameters) = media_type.split_once(';').unwrap_or((media_type, ""));
        let essence = essence.trim().to_ascii_lowercase();
        match essence.split_once('/') {
            Some(_) if essence == PDF => Self::Document,
            Some(_) if essence == SVG => Self::Other,
            Some(("image", _)) => Self::Image,
            Some(("audio", _)) => Self::Sound,
            Some(("video", _)) => Self::Film,
            _ => Self::Other,
        }
    }
}

fn pixels(attachment: &Attachment) -> (u64, u64) {
    let (width, height) = match attachment.extent {
        Some(Extent::Pixels { width, height }) => (width, height),
        Some(Extent::Pages(_)) | None => (UNKNOWN_SIDE, UNKNOWN_SIDE),
    };
    (u64::from(width.max(1)), u64::from(height.max(1)))
}

fn pages(attachment: &Attachment) -> u64 {
    match attachment.extent {
        Some(Extent::Pages(pages)) => u64::from(pages.max(1)),
        Some(Extent::Pixels { .. }) | None => {
            attachment.size.div_ceil(UNKNOWN_PAGE_BYTES).clamp(1, UNKNOWN_PAGES_CAP)
        }
    }
}

fn seconds(attachment: &Attachment, of_bytes: u64) -> u64 {
    // More seconds than fit a number of tokens are all the same.
    attachment.size.div_ceil(of_bytes).clamp(1, u64::from(u32::MAX))
}

fn image(rule: MediaRule, width: u64, height: u64) -> u64 {
    let (long, short) = (width.max(height), width.min(height));
    match rule {
        MediaRule::OpenAi => openai_image(long, short),
        MediaRule::Anthropic => anthropic_image(long, short),
        MediaRule::Gemini => gemini_image(long, short),
    }
}

/// A page of a document. `OpenAI` publishes no number: it is the image of a page at full detail and
/// a thousand tokens of text.
fn page(rule: MediaRule) -> u64 {
    match rule {
        MediaRule::OpenAi => openai_image(994, 768) + 1_000,
        MediaRule::Anthropic => 3_000,
        MediaRule::Gemini => 258,
    }
}

/// Fitted into a square of 2048 pixels, then its short side to 768, then cut into tiles of 512.
fn openai_image(long: u64, short: u64) -> u64 {
    let (long, short) = match long {
        0..=2048 => (long, short),
        _ => (2048, scaled(short, 2048, long)),
    };
    let (long, short) = match short {
        0..=768 => (long, short),
        _ => (scaled(long, 768, short), 768),
    };
    85 + 170 * long.div_ceil(512) * short.div_ceil(512)
}

/// Made smaller, in proportion, until the long side has at most 2576 pixels and the whole at most
/// 4784 patches of 28 pixels.
fn anthropic_image(long: u64, short: u64) -> u64 {
    const SIDE_CAP: u64 = 2576;
    const PATCHES_CAP: u64 = 4784;
    let patches = |side: u64| side.div_ceil(28) * scaled(short, side, long).div_ceil(28);
    // The longest side that fits is looked for by halves: patches grow with the side.
    let (mut fits, mut beyond) = (1, long.min(SIDE_CAP) + 1);
    while beyond - fits > 1 {
        let middle = fits.midpoint(beyond);
        if patches(middle) <= PATCHES_CAP {
            fits = middle;
        } else {
            beyond = middle;
        }
    }
    patches(fits)
}

/// One tile for what fits 384 pixels, else as many of 768 as cover it.
fn gemini_image(long: u64, short: u64) -> u64 {
    let tiles = if long <= 384 { 1 } else { long.div_ceil(768) * short.div_ceil(768) };
    258 * tiles
}

/// A side in the proportion of another that was scaled, rounded, and at least one pixel.
fn scaled(side: u64, to: u64, from: u64) -> u64 {
    ((side * to + from / 2) / from).max(1)
}

#[cfg(test)]
mod tests;
