//! Tests of pages: bytes in, lines out.

use proptest::prelude::*;

use super::*;

const ALL: Wish = Wish { first: 1, most: PAGE_CAP_LINES };

fn page(bytes: &[u8], wish: Wish) -> Page {
    read(&mut &*bytes, wish, &|| false).unwrap()
}

fn lines(count: u64) -> String {
    (1..=count).map(|number| format!("line {number}")).collect::<Vec<_>>().join("\n") + "\n"
}

#[test]
fn the_lines_that_are_asked_for_come() {
    let table: &[(&str, u64, u64, &str, u64, u64)] = &[
        ("", 1, 10, "", 0, 0),
        ("\n", 1, 10, "", 1, 1),
        ("a", 1, 10, "a", 1, 1),
        ("a\n", 1, 10, "a", 1, 1),
        ("a\nb", 1, 10, "a\nb", 2, 2),
        ("a\n\nb\n", 1, 10, "a\n\nb", 3, 3),
        ("a\nb\nc\n", 2, 1, "b", 1, 3),
        ("a\nb\nc\n", 3, 9, "c", 1, 3),
        ("a\nb\nc", 4, 9, "", 0, 3),
        ("a\nb\nc\n", u64::MAX, u64::MAX, "", 0, 3),
        ("a\nb\n", 0, 0, "a", 1, 2),
        ("\u{FEFF}a\n", 1, 10, "a", 1, 1),
        ("雨\n雪\n", 1, 10, "雨\n雪", 2, 2),
    ];
    for (file, first, most, text, shown, total) in table {
        let page = page(file.as_bytes(), Wish { first: *first, most: *most });
        assert_eq!(
            (&*page.text, page.lines, page.total),
            (*text, *shown, Some(*total)),
            "{file:?}"
        );
        assert_eq!((page.cut, page.bad_bytes, page.crlf), (None, 0, false), "{file:?}");
    }
}

#[test]
fn pages_follow_each_other_and_none_is_too_long() {
    let file = lines(20_000);
    let (mut first, mut read) = (1, String::new());
    while first <= 20_000 {
        let page = page(file.as_bytes(), Wish { first, ..ALL });
        assert!(page.lines > 0 && page.lines <= PAGE_CAP_LINES);
        assert!(page.text.len() <= PAGE_CAP_BYTES);
        assert_eq!(page.total, Some(20_000));
        read.push_str(&page.text);
        read.push('\n');
        first += page.lines;
    }
    assert_eq!(read, file);
    let short = page("\n".repeat(5000).as_bytes(), ALL);
    assert_eq!((short.lines, short.total), (PAGE_CAP_LINES, Some(5000)));
}

#[test]
fn a_line_that_is_longer_than_a_page_is_cut_between_characters() {
    for pad in 0..4 {
        let long = format!("{}{}", "x".repeat(pad), "雨".repeat(PAGE_CAP_BYTES));
        let file = format!("short\n{long}\nlast\n");
        let first = page(file.as_bytes(), ALL);
        assert_eq!((&*first.text, first.lines, first.cut), ("short", 1, None));
        let second = page(file.as_bytes(), Wish { first: 2, ..ALL });
        assert!(long.starts_with(&second.text) && second.text.len() > PAGE_CAP_BYTES - 4);
        assert_eq!((second.lines, second.bad_bytes, second.total), (1, 0, Some(3)));
        assert_eq!(second.cut, Some(to_u64(long.len())));
        assert_eq!(page(file.as_bytes(), Wish { first: 3, ..ALL }).text, "last");
    }
}

#[test]
fn what_is_no_text_is_refused_or_marked() {
    let refused = |bytes: &[u8]| read(&mut &*bytes, ALL, &|| false).unwrap_err();
    assert!(matches!(refused(b"\x7fELF\0\0"), NotRead::Binary));
    assert!(matches!(refused(b"\xFF\xFEa\0"), NotRead::Utf16));
    assert!(matches!(refused(b"\xFE\xFF\0a"), NotRead::Utf16));

    let latin = page(b"caf\xE9\ncr\xE8me\n", ALL);
    assert_eq!((&*latin.text, latin.bad_bytes), ("caf\u{FFFD}\ncr\u{FFFD}me", 2));
    let half = page("雨".as_bytes().get(..2).unwrap(), ALL);
    assert_eq!((&*half.text, half.bad_bytes), ("\u{FFFD}", 2));
    let late = [lines(2000).as_bytes(), b"a\0b\n"].concat();
    let late = page(&late, Wish { first: 2001, ..ALL });
    assert_eq!((&*late.text, late.bad_bytes), ("a\u{FFFD}b", 1));
    let dos = page(b"a\r\nb\rc\r\n", ALL);
    assert_eq!((&*dos.text, dos.crlf, dos.bad_bytes), ("a\nb\rc", true, 0));
}

#[test]
fn an_endless_file_is_read_no_further_than_needed() {
    struct Endless(u64);
    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            buffer.fill(b'\n');
            self.0 += to_u64(buffer.len());
            Ok(buffer.len())
        }
    }
    let mut endless = Endless(0);
    let page = read(&mut endless, ALL, &|| false).unwrap();
    assert_eq!((page.lines, page.total), (PAGE_CAP_LINES, None));
    assert!(endless.0 < 2 * COUNT_CAP_BYTES);

    let asked = std::cell::Cell::new(0);
    let stopped = || {
        asked.set(asked.get() + 1);
        asked.get() > 3
    };
    let far = Wish { first: u64::MAX, ..ALL };
    assert!(matches!(read(&mut Endless(0), far, &stopped), Err(NotRead::Stopped)));
}

#[test]
fn what_the_system_says_is_told() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is gone"))
        }
    }
    let error = read(&mut Broken, ALL, &|| false).unwrap_err();
    assert!(matches!(error, NotRead::Failed(error) if error.to_string() == "the disk is gone"));
}

/// Gives a few bytes at a time.
struct Drips<'a>(&'a [u8], usize);

impl Read for Drips<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.1.min(buffer.len()).min(self.0.len());
        buffer[..bytes].copy_from_slice(&self.0[..bytes]);
        self.0 = &self.0[bytes..];
        Ok(bytes)
    }
}

proptest! {
    #[test]
    fn it_does_not_matter_in_which_pieces_a_file_comes(
        bytes in prop::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..600),
        drip in 1..50usize,
        first in 0..20u64,
        most in 0..20u64,
    ) {
        let wish = Wish { first, most };
        let whole = read(&mut &*bytes, wish, &|| false);
        let drips = read(&mut Drips(&bytes, drip), wish, &|| false);
        prop_assert_eq!(format!("{whole:?}"), format!("{drips:?}"));
    }

    #[test]
    fn all_pages_together_are_the_text(
        lines in prop::collection::vec("[^\r\n\0\u{FEFF}]{0,40}", 1..60),
        most in 1..9u64,
    ) {
        let file = lines.join("\n") + "\n";
        let (mut first, mut read) = (1, Vec::new());
        loop {
            let page = page(file.as_bytes(), Wish { first, most });
            if page.lines == 0 {
                break;
            }
            first += page.lines;
            read.push(page.text);
        }
        prop_assert_eq!(read.join("\n") + "\n", file);
    }
}
