//! Tests of edits as functions.

use proptest::prelude::*;

use super::*;

fn after(before: &str, find: &str, with: &str) -> String {
    applied(before, find, with, false).unwrap().after
}

#[test]
fn a_text_that_is_there_once_is_replaced() {
    assert_eq!(after("a\nb\nc\n", "b", "B"), "a\nB\nc\n");
    assert_eq!(after("a\nb\nc\n", "b\n", ""), "a\nc\n");
    assert_eq!(after("雨", "雨", "雪"), "雪");
    let applied = applied("a\nb\nc\nb\n", "b", "", true).unwrap();
    assert_eq!(applied, Applied { after: "a\n\nc\n\n".into(), count: 2, line: 2 });
}

#[test]
fn lines_end_as_those_of_the_file_do() {
    assert_eq!(after("a\r\nb\r\n", "a\nb", "x\ny\nz"), "x\r\ny\r\nz\r\n");
    assert_eq!(after("a\nb\n", "a\r\nb", "x\r\ny"), "x\ny\n");
    assert_eq!(after("a\r\nb", "a\r\nb", "x\r\ny"), "x\r\ny");
    assert_eq!(after("one line", "one", "a\r\nb"), "a\nb line");
    // Where they are mixed they end as the text that was found does.
    assert_eq!(after("a\r\nb\nc\nd\n", "a\nb", "x\ny"), "x\r\ny\nc\nd\n");
    assert_eq!(after("a\r\nb\nc\nd\n", "c\nd", "x\ny"), "a\r\nb\nx\ny\n");
    assert_eq!(after("a\r\nb\nc\nd\n", "d", "x\ny"), "a\r\nb\nc\nx\ny\n");
    assert_eq!(after("a\r\nb\r\nc\nd", "d", "x\ny"), "a\r\nb\r\nc\nx\r\ny");
    // No half of a line end is taken, and one place is one place whichever way it ends.
    assert_eq!(after("a\r\nb\nc\n", "\nb", "\nx"), "a\r\nx\nc\n");
    assert!(applied("a\r\nb\na\nb\n", "a\nb", "x", false).is_err());
    let both = applied("a\r\nb\na\nb\n", "a\nb", "x\ny", true).unwrap();
    assert_eq!((&*both.after, both.count), ("x\r\ny\nx\ny\n", 2));
    assert_eq!(after("a\r\n", "a", "\rb"), "\rb\r\n");
}

#[test]
fn what_cannot_be_replaced_is_told_with_what_can() {
    let refused = |before, find| applied(before, find, "x", false).unwrap_err();
    assert_eq!(
        refused("let a = 1;\nlet b = 2;\n", "let b = 3;"),
        "it does not have this text, exactly as it is written; the nearest there is:\n\
         line 2: let b = 2;\nline 1: let a = 1;"
    );
    assert_eq!(
        refused("a X\nb X\n", "X"),
        "the text is in it 2 times; give more of what is around the one that is meant, or all to \
         replace every one:\nline 1: …a X b X…\nline 2: …a X b X…"
    );
    // Two places that overlap are two places.
    assert!(refused("aaa", "aa").contains("2 times"));
    assert!(refused("", "a").contains("empty"));
    assert!(refused("a", "").contains("nothing to find"));
    assert!(applied("a", "b", "x", true).is_err());
}

#[test]
fn a_result_above_the_cap_is_refused_before_it_is_built() {
    // 64 GiB: building it first would end the process.
    let (before, with) = ("a".repeat(64 * 1024), "b".repeat(1024 * 1024));
    assert_eq!(
        applied(&before, "a", &with, true).unwrap_err(),
        "it would have 68.7 GB, and only files of up to 16.7 MB are edited"
    );
    // The size is exact, also where lines end with two bytes.
    let cap = usize::try_from(FILE_CAP_BYTES).unwrap();
    let with = "\n".repeat(cap / 2);
    let fits = applied("x\r\ny\r\n", "x\r\ny\r\n", &with, false).unwrap();
    assert_eq!(fits.after.len(), cap);
    assert!(applied("x\r\ny\r\n", "x\r\ny\r\n", &format!("{with}z"), false).is_err());
    let expected = "xyz\r\n".len();
    let applied = applied("a\r\n", "a\n", "xyz\n", true).unwrap();
    assert_eq!((applied.after.len(), applied.after.capacity()), (expected, expected));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Nothing but the text changes, whichever way lines end.
    #[test]
    fn only_the_text_is_replaced(before in "[ab\r\n]{0,12}", find in "[ab\r\n]{1,4}") {
        let plain = !normal(&find).contains('\r') && !normal(&before).contains('\r');
        if let Ok(Applied { after, .. }) = applied(&before, &find, "c", true)
            && plain
        {
            let expected = normal(&before).replace(&normal(&find), "c");
            prop_assert_eq!(normal(&after), expected);
        }
    }
}
