//! How large an image or a document is, read from its first bytes.
//!
//! Only what is needed is looked at: the head of an image, the markers before the frame of a JPEG,
//! the page objects of a PDF. Whatever is not as it should be has no extent.

use crate::history::fact::Extent;

impl Extent {
    /// The extent of what these bytes are: a PNG, JPEG, GIF or WebP image or a PDF document, whatever
    /// they are said to be.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', rest @ ..] => png(rest),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', rest @ ..] => gif(rest),
            [0xFF, 0xD8, rest @ ..] => jpeg(rest),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', rest @ ..] => webp(rest),
            _ => pdf(bytes),
        }
    }
}

/// An image without a width or a height is none.
fn pixels(width: u32, height: u32) -> Option<Extent> {
    (width > 0 && height > 0).then_some(Extent::Pixels { width, height })
}

fn png(rest: &[u8]) -> Option<Extent> {
    match rest {
        [_, _, _, _, b'I', b'H', b'D', b'R', w0, w1, w2, w3, h0, h1, h2, h3, ..] => pixels(
            u32::from_be_bytes([*w0, *w1, *w2, *w3]),
            u32::from_be_bytes([*h0, *h1, *h2, *h3]),
        ),
        _ => None,
    }
}

fn gif(rest: &[u8]) -> Option<Extent> {
    match rest {
        [w0, w1, h0, h1, ..] => pixels(
            u32::from(u16::from_le_bytes([*w0, *w1])),
            u32::from(u16::from_le_bytes([*h0, *h1])),
        ),
        _ => None,
    }
}

/// Goes from marker to marker until the one that begins the frame.
fn jpeg(mut rest: &[u8]) -> Option<Extent> {
    loop {
        rest = match rest {
            // Bytes that fill up, and markers that stand alone.
            [0xFF, rest @ ..] if rest.first() == Some(&0xFF) => rest,
            [0xFF, 0x01 | 0xD0..=0xD7, rest @ ..] => rest,
            // Tables whose numbers lie among those of frames; the image's data; its end.
            [0xFF, 0xC4 | 0xC8 | 0xCC, rest @ ..] => after_segment(rest)?,
            [0xFF, 0xD9 | 0xDA, ..] => return None,
            [0xFF, 0xC0..=0xCF, _, _, _precision, h0, h1, w0, w1, ..] => {
                return pixels(
                    u32::from(u16::from_be_bytes([*w0, *w1])),
                    u32::from(u16::from_be_bytes([*h0, *h1])),
                );
            }
            [0xFF, _, rest @ ..] => after_segment(rest)?,
            _ => return None,
        };
    }
}

/// What follows a segment that begins with its length, of which the length is part.
fn after_segment(segment: &[u8]) -> Option<&[u8]> {
    match segment {
        [high, low, ..] => {
            let length = usize::from(u16::from_be_bytes([*high, *low]));
            segment.get(length.max(2)..)
        }
        _ => None,
    }
}

/// Its three forms: lossy, lossless, and with a head of its own.
fn webp(rest: &[u8]) -> Option<Extent> {
    let (name, rest) = rest.split_first_chunk::<4>()?;
    let (_length, chunk) = rest.split_first_chunk::<4>()?;
    match (name, chunk) {
        (b"VP8 ", [_, _, _, 0x9D, 0x01, 0x2A, w0, w1, h0, h1, ..]) => {
            // The upper two bits are a scale that changes nothing about the image.
            let side = |low: u8, high: u8| u32::from(u16::from_le_bytes([low, high]) & 0x3FFF);
            pixels(side(*w0, *w1), side(*h0, *h1))
        }
        (b"VP8L", [0x2F, b0, b1, b2, b3, ..]) => {
            let bits = u32::from_le_bytes([*b0, *b1, *b2, *b3]);
            pixels((bits & 0x3FFF) + 1, ((bits >> 14) & 0x3FFF) + 1)
        }
        (b"VP8X", [_flags, _, _, _, w0, w1, w2, h0, h1, h2, ..]) => pixels(
            u32::from_le_bytes([*w0, *w1, *w2, 0]) + 1,
            u32::from_le_bytes([*h0, *h1, *h2, 0]) + 1,
        ),
        _ => None,
    }
}

/// How far into a file the head of a PDF may begin.
const PDF_HEAD_BYTES: usize = 1024;

/// The objects that are pages. Documents that pack them away have no extent, and pages that were
/// replaced by newer ones count too.
fn pdf(bytes: &[u8]) -> Option<Extent> {
    let head = bytes.get(..PDF_HEAD_BYTES).unwrap_or(bytes);
    if !head.windows(5).any(|five| five == b"%PDF-") {
        return None;
    }
    let pages = bytes
        .windows(5)
        .enumerate()
        .filter(|(at, five)| *five == b"/Type" && bytes.get(at + 5..).is_some_and(names_a_page));
    match u32::try_from(pages.count()).unwrap_or(u32::MAX) {
        0 => None,
        pages => Some(Extent::Pages(pages)),
    }
}

/// Whether a type, as written after its key, is that of a page: not of the tree of `/Pages`, nor
/// of a `/PageLabel`.
fn names_a_page(rest: &[u8]) -> bool {
    match rest.trim_ascii_start() {
        [b'/', b'P', b'a', b'g', b'e', after @ ..] => {
            after.first().is_none_or(|next| !next.is_ascii_alphanumeric())
        }
        _ => false,
    }
}
