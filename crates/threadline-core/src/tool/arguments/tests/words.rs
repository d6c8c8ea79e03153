//! The words of schemas, each with what fits it and what does not.

use super::*;

/// A schema, what fits it, and what does not, with what is told of that.
type Row = (&'static str, &'static [&'static str], &'static [(&'static str, &'static str)]);

#[test]
fn every_word_of_a_schema_is_checked() {
    let table: &[Row] = &[
        (
            r#"{"type":"string","pattern":"^[a-z]+$"}"#,
            &[r#""abc""#],
            &[(r#""aBc""#, "expected text that matches the pattern ^[a-z]+$, got \"aBc\"")],
        ),
        (
            r#"{"multipleOf":3}"#,
            &["9", "-3.0", "\"text\""],
            &[("10", "expected a multiple of 3, got 10")],
        ),
        (
            r#"{"multipleOf":0.1}"#,
            &["0.3", "7"],
            &[("0.35", "expected a multiple of 0.1, got 0.35")],
        ),
        (
            r#"{"uniqueItems":true}"#,
            &["[1,2,\"1\",[1]]"],
            &[
                ("[1,1.0]", "[1]: expected an item that is not in the list before, got 1.0"),
                (
                    r#"[{"a":1,"b":2},{"b":2,"a":1}]"#,
                    "[1]: expected an item that is not in the list before, got {\"b\":2,\"a\":1}",
                ),
            ],
        ),
        (
            r#"{"minProperties":1,"maxProperties":2,"additionalProperties":true}"#,
            &[r#"{"a":1}"#],
            &[
                ("{}", "expected at least 1 parameter, got {}"),
                (
                    r#"{"a":1,"b":2,"c":3}"#,
                    "expected at most 2 parameters, got {\"a\":1,\"b\":2,\"c\":3}",
                ),
            ],
        ),
        (
            r#"{"prefixItems":[{"type":"integer"},{"type":"string"}],"items":{"type":"boolean"}}"#,
            &["[1]", r#"[1,"a",true]"#],
            &[("[1,\"a\",[]]", "[2]: expected boolean, got []")],
        ),
        (
            r#"{"items":[{"type":"integer"}],"additionalItems":false}"#,
            &["[1]"],
            &[("[1,2]", "[1]: expected nothing here, got 2")],
        ),
        (
            r#"{"patternProperties":{"^x-":{"type":"string"}},"additionalProperties":false}"#,
            &[r#"{"x-a":"b"}"#],
            &[(r#"{"x-a":[]}"#, ".x-a: expected string, got []")],
        ),
        (
            r#"{"propertyNames":{"enum":["a","b"]},"additionalProperties":true}"#,
            &[r#"{"a":1}"#],
            &[(r#"{"c":1}"#, ".c: expected a name that is one of \"a\", \"b\", got \"c\"")],
        ),
        (
            r#"{"not":{"type":"string"}}"#,
            &["1"],
            &[("\"a\"", "expected anything but string, got \"a\"")],
        ),
        (r#"{"const":{"a":[1]}}"#, &[r#"{"a":[1.0]}"#], &[("1", "expected {\"a\":[1]}, got 1")]),
        ("false", &[], &[("1", "expected nothing here, got 1")]),
        ("true", &["1", "null", "[{}]"], &[]),
        (
            r##"{"allOf":[{"$ref":"#/definitions/a~1b"},{"minimum":3}]}"##,
            &["3"],
            &[("2", "expected at least 3, got 2"), ("[]", "expected integer, got []")],
        ),
        (
            r##"{"$ref":"#/$defs/tree"}"##,
            &[r#"{"left":{"left":{}},"right":{}}"#],
            &[(r#"{"left":{"left":{"right":[]}}}"#, ".left.left.right: expected object, got []")],
        ),
        (
            r##"{"$ref":"#/$defs/tree","required":["left"]}"##,
            &[r#"{"left":{}}"#],
            &[("{}", ".left: expected a value, but it is missing")],
        ),
    ];
    for (word, fits, fails) in table {
        let schema = format!(
            r##"{{"properties":{{"p":{word}}},"definitions":{{"a/b":{{"type":"integer"}}}},
            "$defs":{{"tree":{{"type":"object","properties":{{
                "left":{{"$ref":"#/$defs/tree"}},"right":{{"$ref":"#/$defs/tree"}}}}}}}}}}"##
        );
        for value in *fits {
            let raw = format!(r#"{{"p":{value}}}"#);
            assert_eq!(lines(&schema, &raw), [format!("ok {raw}")], "{word}");
            assert_eq!(strict_lines(&schema, &raw), [format!("ok {raw}")], "{word}");
        }
        for (value, expected) in *fails {
            let raw = format!(r#"{{"p":{value}}}"#);
            let colon = if expected.starts_with(['[', '.']) { "" } else { ": " };
            assert_eq!(lines(&schema, &raw), [format!("p{colon}{expected}")], "{word}");
            assert_eq!(strict_lines(&schema, &raw), [format!("p{colon}{expected}")], "{word}");
        }
    }
}

#[test]
fn a_chain_of_references_is_no_deeper_than_one() {
    let defs = (0..5000).map(|n| {
        let next = n + 1;
        format!(r##""d{n}":{{"properties":{{"a":{{"$ref":"#/$defs/d{next}"}}}}}}"##)
    });
    let defs = defs.collect::<Vec<_>>().join(",");
    let schema =
        format!(r##"{{"$ref":"#/$defs/d0","$defs":{{{defs},"d5000":{{"type":"integer"}}}}}}"##);
    assert_eq!(
        lines(&schema, r#"{"a":{"a":{"b":1}}}"#),
        [r#"ok {"a":{"a":{"b":1}}}"#, "a.a.b: unknown parameter",]
    );
    let parts = vec!["true"; 20_000].join(",");
    let refused = Schema::new(&format!(r#"{{"allOf":[{parts}]}}"#)).unwrap_err();
    assert!(refused.message.contains("more than 10000 parts"), "{refused}");
}
