//! The parser against the standard, against a plain reading of it, and against any chunking.

use proptest::prelude::*;

use super::*;

/// A frame on its own.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Owned {
    Event(String, String),
    Comment,
    Stray(String),
    Cut(String, String),
    TooLarge,
}

impl From<Frame<'_>> for Owned {
    fn from(frame: Frame<'_>) -> Self {
        match frame {
            Frame::Event(Event { event, data }) => Self::Event(event.into(), data.into()),
            Frame::Comment => Self::Comment,
            Frame::Stray(line) => Self::Stray(line.into()),
            Frame::Cut(Event { event, data }) => Self::Cut(event.into(), data.into()),
        }
    }
}

fn read(cap: usize, chunks: &[&[u8]]) -> Vec<Owned> {
    let mut out = Vec::new();
    let mut sse = Sse::capped(cap);
    let mut each = |frame: Frame<'_>| {
        out.push(Owned::from(frame));
        Ok::<(), TooLarge>(())
    };
    let all = chunks.iter().try_for_each(|chunk| sse.push(chunk, &mut each));
    if all.and_then(|()| sse.end(&mut each)).is_err() {
        out.push(Owned::TooLarge);
    }
    out
}

/// The same with pieces of one size.
fn read_by(cap: usize, bytes: &[u8], size: usize) -> Vec<Owned> {
    read(cap, &bytes.chunks(size).collect::<Vec<_>>())
}

fn whole(text: &str) -> Vec<Owned> {
    read(EVENT_CAP_BYTES, &[text.as_bytes()])
}

fn event(event: &str, data: &str) -> Owned {
    Owned::Event(event.into(), data.into())
}

#[test]
fn the_standard_is_kept() {
    let rows: [(&str, Vec<Owned>); 15] = [
        ("data: a\n\n", vec![event("", "a")]),
        (
            "data:a\r\n\r\ndata: b\r\rdata:  c \n\n",
            vec![event("", "a"), event("", "b"), event("", " c ")],
        ),
        ("event: x\ndata: 1\ndata\ndata: 2\n\n", vec![event("x", "1\n\n2")]),
        ("event: x\nevent: y\ndata: 1\n\ndata: 2\n\n", vec![event("y", "1"), event("", "2")]),
        ("\u{feff}data: a\n\n", vec![event("", "a")]),
        (
            "data: a\n\n\u{feff}data: b\n\n",
            vec![event("", "a"), Owned::Stray("\u{feff}data: b".into())],
        ),
        (": alive\n:\n\n", vec![Owned::Comment, Owned::Comment]),
        ("id: 1\nretry: 5\nid\ndata: a\n\n", vec![event("", "a")]),
        ("event: ping\n\ndata:\n\ndata\n\n\n\n", vec![]),
        ("data: a: b\n\n", vec![event("", "a: b")]),
        ("{\"error\":1}\n", vec![Owned::Stray("{\"error\":1}".into())]),
        (
            "[{\r\n \"error\": 1}]",
            vec![Owned::Stray("[{".into()), Owned::Stray(" \"error\": 1}]".into())],
        ),
        ("database: no\n\n", vec![Owned::Stray("database: no".into())]),
        (
            "data: a\n\nevent: e\ndata: [DO",
            vec![event("", "a"), Owned::Cut("e".into(), "[DO".into())],
        ),
        ("data: a\n", vec![Owned::Cut(String::new(), "a".into())]),
    ];
    for (text, expected) in rows {
        assert_eq!(whole(text), expected, "{text:?}");
    }
}

#[test]
fn bytes_that_are_no_text_are_replaced() {
    let frames = read(100, &[&b"data: a\xF0\x9F"[..], b"\n\ndata: \xF0\x9F", b"\x98\x80\n\n"]);
    assert_eq!(frames, [event("", "a\u{fffd}"), event("", "😀")]);
}

#[test]
fn what_is_too_large_ends_the_stream_after_what_came_before() {
    let rows: [(&str, bool); 6] = [
        ("data: 1\n\ndata: 45678\n\n", false),
        ("data: 1\n\ndata: 456789\n\n", true),
        ("data: 1\n\ndata: 456789", true),
        ("data: 1\n\n: 34567890123", true),
        ("data: 1\n\ndata: 345\ndata: 678\n\n", false),
        ("data: 1\n\ndata: 345\ndata: 678\ndata: 9012\n\n", true),
    ];
    for (text, too_large) in rows {
        let bytes = text.as_bytes();
        let frames = read(11, &[bytes]);
        assert_eq!(frames.first(), Some(&event("", "1")), "{text:?}");
        assert_eq!(frames.contains(&Owned::TooLarge), too_large, "{text:?}: {frames:?}");
        assert_eq!(read_by(11, bytes, 1), frames, "{text:?}");
    }
}

#[test]
fn an_event_that_lies_whole_in_a_chunk_is_not_copied() {
    let chunk = b"event: e\ndata: abc\n\n";
    let bounds = chunk.as_ptr_range();
    let mut sse = Sse::default();
    let mut seen = 0;
    sse.push(chunk, |frame| {
        let Frame::Event(event) = frame else { panic!("{frame:?}") };
        assert!(bounds.contains(&event.data.as_ptr()) && bounds.contains(&event.event.as_ptr()));
        seen += 1;
        Ok::<(), TooLarge>(())
    })
    .unwrap();
    assert_eq!((seen, sse.line.capacity(), sse.kept.data.capacity()), (1, 0, 0));
}

#[test]
fn a_large_event_leaves_no_large_buffer() {
    let large = format!("data: {}\n\n", "x".repeat(1 << 20));
    let mut sse = Sse::default();
    for chunk in large.as_bytes().chunks(1000) {
        sse.push(chunk, |_| Ok::<(), TooLarge>(())).unwrap();
    }
    assert!(sse.line.capacity() + sse.kept.data.capacity() <= 2 * KEPT_BYTES);
}

#[test]
fn the_first_error_of_the_reader_ends_it() {
    #[derive(Debug, PartialEq)]
    struct Enough;
    impl From<TooLarge> for Enough {
        fn from(_: TooLarge) -> Self {
            Self
        }
    }
    let mut seen = 0;
    let ended = Sse::default().push(b"data: 1\n\ndata: 2\n\ndata: 3\n\n", |_| {
        seen += 1;
        if seen == 2 { Err(Enough) } else { Ok(()) }
    });
    assert_eq!((ended, seen), (Err(Enough), 2));
}

/// The standard, read word by word over the whole text.
fn plain(text: &str) -> Vec<Owned> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let (mut out, mut name, mut data) = (Vec::new(), String::new(), Vec::<String>::new());
    let lines: Vec<&str> = text.split('\n').collect();
    let (last, lines) = lines.split_last().unwrap();
    let mut line = |line: &str, out: &mut Vec<Owned>| {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
        match field {
            _ if line.is_empty() => {
                let (name, data) =
                    (std::mem::take(&mut name), std::mem::take(&mut data).join("\n"));
                if !data.is_empty() {
                    out.push(Owned::Event(name, data));
                }
            }
            "" => out.push(Owned::Comment),
            "data" => data.push(value),
            "event" => name = value,
            "id" | "retry" => {}
            _ => out.push(Owned::Stray(line.to_owned())),
        }
    };
    for one in lines {
        line(one, &mut out);
    }
    if !last.is_empty() {
        line(last, &mut out);
    }
    let data = data.join("\n");
    if !data.is_empty() {
        out.push(Owned::Cut(name, data));
    }
    out
}

fn streams() -> impl Strategy<Value = String> {
    let end = prop_oneof![Just("\n"), Just("\r\n"), Just("\r"), Just("\n\n"), Just("\r\r\n")];
    let field = prop::sample::select(vec![
        "data: ", "data: ", "data: ", "data:", "data", "event: ", "event", ": ", "id: ", "retry",
        "", "{", "\u{feff}",
    ]);
    let line = (field, "[a-z :é😀{}\"]{0,6}", end).prop_map(|(f, v, e)| format!("{f}{v}{e}"));
    let tail = prop_oneof![Just(""), Just("data: x"), Just("{"), Just("\r")];
    (prop::collection::vec(line, 0..16), tail).prop_map(|(lines, tail)| lines.concat() + tail)
}

proptest! {
    #[test]
    fn it_reads_what_a_plain_reader_reads(text in streams()) {
        prop_assert_eq!(whole(&text), plain(&text));
    }

    #[test]
    fn any_chunking_gives_the_same(text in streams(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12), cap in 6usize..64) {
        let bytes = text.as_bytes();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let chunks: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        prop_assert_eq!(read(cap, &chunks), read(cap, &[bytes]));
        prop_assert_eq!(read_by(cap, bytes, 1), read(cap, &[bytes]));
    }

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..400), size in 1usize..50) {
        prop_assert_eq!(read_by(64, &bytes, size), read(64, &[&bytes[..]]));
    }
}
