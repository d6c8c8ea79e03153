//! Tests of the tolerant reader: almost-JSON in, JSON and what was repaired out.

use super::*;

/// What is read, and what was repaired.
fn lines(text: &str) -> Vec<String> {
    match read(text) {
        Ok(repaired) => {
            let mut lines = vec![repaired.value.text()];
            lines.extend(repaired.warnings().map(|line| line.replace("repaired: ", "")));
            lines
        }
        Err(message) => vec![message],
    }
}

#[test]
fn almost_json_is_repaired_and_told() {
    let table: &[(&str, &[&str])] = &[
        ("{}", &["{}"]),
        (
            r#" {"a" : [1, -2.50e3, "x\u00e9\ud83d\ude00\n", true, null]} "#,
            &[r#"{"a":[1,-2.50e3,"xé😀\n",true,null]}"#],
        ),
        ("{\"a\":1,}", &[r#"{"a":1}"#, "trailing comma at line 1 column 7"]),
        ("[1,2, ]", &["[1,2]", "trailing comma at line 1 column 5"]),
        ("{\"a\":[1,],\n\"b\":2,}", &[r#"{"a":[1],"b":2}"#, "trailing comma at line 1 column 8"]),
        ("// x\n{/* y */\"a\":1 # z\n}", &[r#"{"a":1}"#, "comment at line 1 column 1"]),
        ("{} // that is all", &["{}", "comment at line 1 column 4"]),
        ("{'a':'it is \"so\"'}", &[r#"{"a":"it is \"so\""}"#, "single quotes at line 1 column 2"]),
        (r"{'a':'it\'s'}", &[r#"{"a":"it's"}"#, "single quotes at line 1 column 2"]),
        (r#"{"a":"it\'s"}"#, &[r#"{"a":"it's"}"#, "needless escape at line 1 column 9"]),
        ("{“a”:‘b’}", &[r#"{"a":"b"}"#, "curly quotes at line 1 column 2"]),
        (
            "{a:1,b-c:2,$d_1:3,雨:4}",
            &[r#"{"a":1,"b-c":2,"$d_1":3,"雨":4}"#, "unquoted key at line 1 column 2"],
        ),
        (
            "{true:true,null:None}",
            &[
                r#"{"true":true,"null":null}"#,
                "unquoted key at line 1 column 2",
                "Python's word for a value at line 1 column 17",
            ],
        ),
        ("[True, False]", &["[true,false]", "Python's word for a value at line 1 column 2"]),
        ("```json\n{\"a\":1}\n```", &[r#"{"a":1}"#, "code fence at line 1 column 1"]),
        ("\n````\n{}\n````\n", &["{}", "code fence at line 2 column 1"]),
        ("```{}```", &["{}", "code fence at line 1 column 1"]),
        (
            "{\"a\":\"b\n\tc\"}",
            &[r#"{"a":"b\n\tc"}"#, "line break or tab in a string at line 1 column 8"],
        ),
        ("\u{feff}{}", &["{}", "byte order mark at line 1 column 1"]),
    ];
    for (text, expected) in table {
        assert_eq!(lines(text), *expected, "{text}");
    }
}

#[test]
fn what_is_cut_off_is_never_made_whole() {
    let object = "it is cut off: the object that begins at line 1 column 1 is not closed";
    let table = [
        ("{", object),
        ("{\"a\"", object),
        ("{\"a\":", object),
        ("{\"a\":1", object),
        ("{\"a\":1,", object),
        ("{a", object),
        ("{\"a\":[1,2", "it is cut off: the list that begins at line 1 column 6 is not closed"),
        ("{\"a\":\"b", "it is cut off: the string that begins at line 1 column 6 is not closed"),
        ("{\"a\":\"b\\", "it is cut off: the string that begins at line 1 column 6 is not closed"),
        ("{\"a", "it is cut off: the string that begins at line 1 column 2 is not closed"),
        ("{'a", "it is cut off: the string that begins at line 1 column 2 is not closed"),
        ("{} /* a", "it is cut off: the comment that begins at line 1 column 4 is not closed"),
        ("```json\n{}", "it is cut off: its code fence is not closed"),
        ("```json\n{}\n``", "expected the end of the code fence at line 3 column 1"),
        ("", "it is cut off: expected a value at line 1 column 1"),
    ];
    for (text, expected) in table {
        assert_eq!(lines(text), [expected], "{text}");
    }
    // However a whole is cut, it is not read.
    let whole = "```json\n{\"a\": [1, 'b', {c: \"d\\u00e9\"}], // e\n\"f\": True,}\n```";
    assert_eq!(lines(whole)[0], r#"{"a":[1,"b",{"c":"dé"}],"f":true}"#);
    for (at, _) in whole.char_indices() {
        let told = lines(&whole[..at]).concat();
        assert!(told.starts_with("it is cut off") || told.starts_with("expected"), "{at}: {told}");
    }
}

#[test]
fn what_can_mean_several_things_is_refused() {
    let table = [
        ("{} {}", "expected nothing more at line 1 column 4"),
        ("{}\n[1]", "expected nothing more at line 2 column 1"),
        ("1 2", "expected nothing more at line 1 column 3"),
        ("Here it is: {}", "expected a value at line 1 column 1"),
        ("Here:\n```\n{}\n```", "expected a value at line 1 column 1"),
        ("```\n{}\n```\nThat is it.", "expected nothing more at line 4 column 1"),
        ("[1,,2]", "expected a value at line 1 column 4"),
        ("[,]", "expected a value at line 1 column 2"),
        ("{,}", "expected a key at line 1 column 2"),
        ("{\"a\" 1}", "expected `:` at line 1 column 6"),
        ("{\"a\":1 \"b\":2}", "expected `,` or `}` at line 1 column 8"),
        ("[1 2]", "expected `,` or `]` at line 1 column 4"),
        ("[1}", "expected `,` or `]` at line 1 column 3"),
        ("{\"a\":b}", "expected a value at line 1 column 6"),
        ("[01]", "expected a number that can be read at line 1 column 2"),
        ("[1e999]", "expected a number that can be read at line 1 column 2"),
        ("[1_000]", "expected a number that can be read at line 1 column 2"),
        ("[+1]", "expected a value at line 1 column 2"),
        ("[NaN]", "expected a value at line 1 column 2"),
        ("['it's']", "expected `,` or `]` at line 1 column 6"),
        (r#"["\d"]"#, "expected an escape that JSON has at line 1 column 3"),
        (r#"["\ud800"]"#, "expected an escape that is a character at line 1 column 3"),
        ("[\"\u{1}\"]", "expected no control character at line 1 column 3"),
        ("{a:1,\"a\":2}", "\"a\" is given twice at line 1 column 6"),
    ];
    for (text, expected) in table {
        assert_eq!(lines(text), [expected], "{text}");
    }
    let many = (0..100).map(|n| format!("k{n}:1")).collect::<Vec<_>>().join(",");
    assert_eq!(
        lines(&format!("{{{many},\nk50:1}}")),
        ["\"k50\" is given twice at line 2 column 1"]
    );
}

#[test]
fn it_is_no_deeper_than_json_may_be() {
    let nested =
        |depth: usize| format!("{}{}", "[".repeat(depth), ",]".repeat(depth).replacen(',', "", 1));
    assert!(read(&nested(127)).is_ok());
    let told = lines(&nested(128));
    assert_eq!(told, ["it is nested deeper than 127 levels at line 1 column 128"]);
    assert!(read(&"[".repeat(1_000_000)).is_err());
}
