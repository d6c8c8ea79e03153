//! Tests of redaction: every encoded form, and secrets split at any byte.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use proptest::prelude::*;

use super::*;

const KEY: &str = "sk-Ab/9+\"x?_\\Zq-0123";

fn redactor() -> Redactor {
    Redactor::new([("KEY", KEY), ("OTHER", "0123456789abcdef")])
}

#[test]
fn a_secret_is_found_in_every_form() {
    let redactor = redactor();
    let percent = |upper: bool, all: bool| -> String {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        let form = |byte: u8| match (upper, all || !plain(byte)) {
            (_, false) => char::from(byte).to_string(),
            (true, true) => format!("%{byte:02X}"),
            (false, true) => format!("%{byte:02x}"),
        };
        KEY.bytes().map(form).collect()
    };
    let each = |form: fn(u8) -> String| KEY.bytes().map(form).collect::<String>();
    let hex = each(|byte| format!("{byte:02x}"));
    let json = serde_json::to_string(KEY).unwrap();
    let units = each(|byte| format!("\\u{byte:04x}"));
    for form in [
        KEY.to_owned(),
        hex.to_uppercase(),
        hex,
        percent(false, false),
        percent(true, false),
        percent(false, true),
        percent(true, true),
        json.trim_matches('"').to_owned(),
        json.trim_matches('"').replace('/', "\\/"),
        units,
    ] {
        let text = format!("it is {form}, twice: {form}");
        assert_eq!(
            redactor.redact(&text),
            "it is [redacted: KEY], twice: [redacted: KEY]",
            "{form}"
        );
    }
}

#[test]
fn a_secret_is_found_within_a_longer_text_in_base64() {
    let redactor = redactor();
    for engine in [STANDARD, URL_SAFE] {
        assert_eq!(redactor.redact(&engine.encode(KEY)), "[redacted: KEY]");
        for before in ["", "x", "xy", "Bearer "] {
            let text = engine.encode(format!("{before}{KEY} and more"));
            let redacted = redactor.redact(&text);
            assert!(redacted.contains("[redacted: KEY]"), "{before}: {redacted}");
            // What is left of the key at its ends is less than a character of it.
            let left = redacted.replace("[redacted: KEY]", "").len();
            assert!(left <= engine.encode(format!("{before} and more")).len() + 4, "{redacted}");
        }
    }
}

#[test]
fn short_values_and_other_texts_stay() {
    let redactor = Redactor::new([("SHORT", "1234567"), ("A", "12345678")]);
    assert_eq!(redactor.redact("1234567 and 1234567"), "1234567 and 1234567");
    assert_eq!(redactor.redact("12345678"), "[redacted: A]");
    assert!(Redactor::new([("SHORT", "")]).is_empty());
    assert!(matches!(redactor.redact("雨 nothing 雨"), Cow::Borrowed(_)));
    assert_eq!(redactor.redact("雨12345678雨"), "雨[redacted: A]雨");
}

#[test]
fn names_can_stand_anywhere() {
    let redactor = Redactor::new([("/srv/x/\"my\nkey\"", "0123456789")]);
    assert_eq!(redactor.redact("0123456789"), "[redacted: _srv_x__my_key_]");
    assert_eq!(Redactor::new([("", "0123456789")]).redact("0123456789"), "[redacted: key]");
    assert!(!format!("{redactor:?}").contains("0123456789"));
}

#[test]
fn secrets_become_known_one_by_one() {
    let secrets = Secrets::default();
    assert!(secrets.redactor().is_empty());
    secrets.declare("KEY");
    let text = "it says [redacted: KEY] here";
    assert_eq!(secrets.redactor().placeholder_in(text).map(|name| &**name), Some("KEY"));
    assert_eq!(secrets.redactor().placeholder_in("[redacted: by law]"), None);
    secrets.add("KEY", KEY);
    let before = secrets.redactor();
    secrets.add("KEY", KEY);
    assert!(Arc::ptr_eq(&before, &secrets.redactor()));
    assert_eq!(secrets.redactor().redact(KEY), "[redacted: KEY]");
    // A key that changes often does not make it grow for ever.
    for number in 0..200 {
        secrets.add("KEY", &format!("{KEY}{number:03}"));
    }
    assert_eq!(secrets.redactor().secrets.len(), SECRETS_CAP);
    assert_eq!(secrets.redactor().redact(&format!("{KEY}199")), "[redacted: KEY]");
}

#[test]
fn a_secret_within_another_does_not_uncover_it() {
    let redactor = Arc::new(Redactor::new([("IN", "ABCDEFGH"), ("OUT", "xxABCDEFGHyy")]));
    let mut stream = RedactStream::new(redactor);
    let mut out = stream.push_text("xxABCDEFGH");
    out.push_str(&stream.push_text("yy!"));
    out.push_str(&stream.finish_text());
    assert_eq!(out, "[redacted: OUT]!");
    assert!(stream.found());
}

#[test]
fn little_is_held_back() {
    let mut stream = RedactStream::new(Arc::new(redactor()));
    assert_eq!(stream.push_text("hello, this is tex"), "hello, this is tex");
    assert_eq!(stream.push_text("t s"), "t ");
    assert_eq!(stream.push_text("o long"), "so long");
    assert!(!stream.found());
}

proptest! {
    #[test]
    fn where_a_text_is_cut_makes_no_difference(
        parts in prop::collection::vec(
            prop_oneof![
                Just(KEY.to_owned()),
                Just("0123456789abcdef".to_owned()),
                Just(STANDARD.encode(KEY)),
                "[s0雨 ]{0,4}".prop_map(|text| text),
                (1..KEY.len()).prop_map(|at| KEY[..at].to_owned()),
            ],
            0..6,
        ),
        cuts in prop::collection::vec(0_usize..200, 0..8),
    ) {
        let text = parts.concat();
        let redactor = Arc::new(redactor());
        let mut stream = RedactStream::new(Arc::clone(&redactor));
        let mut cuts: Vec<usize> = cuts.iter().map(|at| text.floor_char_boundary(*at)).collect();
        cuts.sort_unstable();
        let (mut out, mut from) = (String::new(), 0);
        for at in cuts.into_iter().chain([text.len()]) {
            out.push_str(&stream.push_text(&text[from..at]));
            from = at;
        }
        out.push_str(&stream.finish_text());
        prop_assert_eq!(&out, &redactor.redact(&text));
        prop_assert!(!out.contains(KEY) && !out.contains("0123456789abcdef"));
    }
}
