//! Tests of what attachments take and of how large they are.

use proptest::prelude::*;

use super::*;
use crate::history::fact::Digest;

fn attachment(media_type: &str, size: u64, extent: Option<Extent>) -> Attachment {
    Attachment { digest: Digest([7; 32]), size, media_type: media_type.into(), name: None, extent }
}

fn by_all(attachment: &Attachment) -> [u32; 3] {
    MediaRule::ALL.map(|rule| tokens(attachment, rule))
}

#[test]
fn images_take_what_the_published_examples_say() {
    for (width, height, openai, anthropic, gemini) in [
        (1, 1, 255, 1, 258),
        (200, 200, 255, 64, 258),
        (384, 384, 255, 196, 258),
        (385, 10, 255, 14, 258),
        (512, 512, 255, 361, 258),
        (513, 512, 425, 361, 258),
        (1000, 1000, 765, 1296, 4 * 258),
        (1024, 1024, 765, 1369, 4 * 258),
        (1092, 1092, 765, 1521, 4 * 258),
        (1920, 1080, 1105, 2691, 6 * 258),
        (3000, 2000, 1105, 4704, 12 * 258),
        (2048, 4096, 1105, 4232, 18 * 258),
        (4096, 8192, 1105, 4232, 66 * 258),
        (1, 100_000, 765, 92, 131 * 258),
    ] {
        for (width, height) in [(width, height), (height, width)] {
            let image = attachment("image/png", 5, Some(Extent::Pixels { width, height }));
            let taken = by_all(&image);
            assert_eq!(taken, [openai, anthropic, gemini], "{width} x {height}");
            assert_eq!(Some(most(&image)), taken.into_iter().max());
        }
    }
}

#[test]
fn other_kinds_take_what_their_rule_says() {
    for (media_type, size, extent, expected) in [
        ("application/pdf", 9, Some(Extent::Pages(1)), [1765, 3000, 258]),
        ("Application/PDF; v=1", 9, Some(Extent::Pages(10)), [17_650, 30_000, 2580]),
        ("application/pdf", 0, None, [1765, 3000, 258]),
        ("application/pdf", 100_001, None, [3 * 1765, 9000, 774]),
        ("application/pdf", u64::MAX, None, [176_500, 300_000, 25_800]),
        ("image/jpeg", 9, None, [765, 4761, 9 * 258]),
        ("image/jpeg", 9, Some(Extent::Pages(3)), [765, 4761, 9 * 258]),
        ("audio/mpeg", 80_000, None, [100, 32, 320]),
        ("video/mp4", 1_250_000, None, [32, 32, 2630]),
        ("video/mp4", u64::MAX, None, [32, 32, u32::MAX]),
        ("text/plain; charset=utf-8", u64::MAX, None, [32; 3]),
        ("image/svg+xml", 9, Some(Extent::Pixels { width: 9000, height: 9000 }), [32; 3]),
        ("application/json", 9, None, [32; 3]),
        ("", 0, None, [32; 3]),
        ("image", 0, None, [32; 3]),
    ] {
        let attachment = attachment(media_type, size, extent);
        assert_eq!(by_all(&attachment), expected, "{media_type} of {size}");
        assert_eq!(Some(most(&attachment)), expected.into_iter().max());
    }
}

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x01\x02\0\0\x03\x04\x08\x06";
const GIF: &[u8] = b"GIF89a\x02\x01\x04\x03";
const JPEG: &[u8] =
    b"\xff\xd8\xff\xe0\0\x04AB\xff\xff\xc4\0\x03T\xff\xd0\xff\xc2\0\x11\x08\x03\x04\x01\x02\x03";
const WEBP_LOSSY: &[u8] = b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a\x02\x41\x04\x83";
const WEBP_LOSSLESS: &[u8] = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f\x01\xc1\xc0\0";
const WEBP_EXTENDED: &[u8] = b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\x10\0\0\0\x01\x01\0\x03\x03\0";
const PDF_OF_TWO: &[u8] = b"%PDF-1.7\n1 0 obj<</Type/Pages/Count 2/Kids[2 0 R 3 0 R]>>\n\
    2 0 obj<</Type /Page/Parent 1 0 R>>\n3 0 obj<</Type\r\n/Page\n>>\n4 0 obj<</Type/PageLabel>>";

#[test]
fn extents_are_read_from_heads() {
    let image = Some(Extent::Pixels { width: 258, height: 772 });
    for (name, bytes, expected) in [
        ("png", PNG, image),
        ("gif", GIF, image),
        ("jpeg", JPEG, image),
        ("lossy webp", WEBP_LOSSY, image),
        ("lossless webp", WEBP_LOSSLESS, image),
        ("extended webp", WEBP_EXTENDED, image),
        ("pdf", PDF_OF_TWO, Some(Extent::Pages(2))),
        ("pdf without pages", b"%PDF-1.7\n", None),
        ("no pdf", b"/Type /Page", None),
        ("png without width", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\0\0\0\x03\x04", None),
        ("jpeg that ends first", b"\xff\xd8\xff\xd9\xff\xc0\0\x11\x08\x03\x04\x01\x02", None),
        ("nothing", b"", None),
    ] {
        assert_eq!(Extent::of(bytes), expected, "{name}");
    }
}

#[test]
fn a_head_that_is_cut_has_no_extent() {
    for (bytes, needed) in [
        (PNG, 24),
        (GIF, 10),
        (JPEG, 25),
        (WEBP_LOSSY, 30),
        (WEBP_LOSSLESS, 25),
        (WEBP_EXTENDED, 30),
    ] {
        for end in 0..bytes.len() {
            let whole = end >= needed;
            assert_eq!(Extent::of(&bytes[..end]).is_some(), whole, "{end} of {bytes:?}");
        }
    }
}

#[test]
fn many_markers_and_pages_are_read_in_one_go() {
    let markers = [b"\xff\xd8".as_slice(), &b"\xff\xd0\xff\xe0\0\0".repeat(200_000)].concat();
    assert_eq!(Extent::of(&markers), None);
    let pages = [b"%PDF-1.7".as_slice(), &b"/Type /Page ".repeat(100_000)].concat();
    assert_eq!(Extent::of(&pages), Some(Extent::Pages(100_000)));
    let types = [b"%PDF-1.7".as_slice(), &b"/Type".repeat(200_000), &b" ".repeat(200_000)].concat();
    assert_eq!(Extent::of(&types), None);
}

fn head() -> impl Strategy<Value = Vec<u8>> {
    let heads = vec![PNG, GIF, JPEG, WEBP_LOSSY, WEBP_LOSSLESS, WEBP_EXTENDED, PDF_OF_TWO];
    (proptest::sample::select(heads), any::<prop::sample::Index>(), any::<Vec<u8>>()).prop_map(
        |(head, at, garbage)| {
            let at = at.index(head.len());
            [&head[..at], &garbage, &head[at..]].concat()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: proptest::test_runner::RngSeed::Fixed(0x0006_d656_4696_1000),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_bytes_have_an_extent_or_none(bytes in prop_oneof![head(), any::<Vec<u8>>()]) {
        if let Some(Extent::Pixels { width, height }) = Extent::of(&bytes) {
            prop_assert!(width > 0 && height > 0);
        }
    }

    #[test]
    fn any_attachment_takes_something_and_none_more_than_most(
        kind in proptest::sample::select(vec!["image/png", "application/pdf", "audio/a", "video/v", "x"]),
        size in any::<u64>(),
        pixels in any::<Option<(u32, u32)>>(),
        pages in any::<Option<u32>>(),
    ) {
        let pixels = pixels.map(|(width, height)| Extent::Pixels { width, height });
        let attachment = attachment(kind, size, pixels.or(pages.map(Extent::Pages)));
        for taken in by_all(&attachment) {
            prop_assert!(taken > 0 && taken <= most(&attachment));
        }
    }

    #[test]
    fn no_image_takes_more_than_its_provider_allows(width in any::<u32>(), height in any::<u32>()) {
        let image = attachment("image/png", 1, Some(Extent::Pixels { width, height }));
        prop_assert!(tokens(&image, MediaRule::OpenAi) <= 85 + 170 * 8);
        prop_assert!(tokens(&image, MediaRule::Anthropic) <= 4784);
    }
}
