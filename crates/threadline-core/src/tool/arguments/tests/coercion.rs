//! What is taken as what, beyond the table of kinds: names, tokens, what is not there.

use super::*;

#[test]
fn names_and_tokens_are_known_in_any_case_if_only_one_can_be_meant() {
    let schema = r#"{"properties":{
        "query":{"type":"string"},"Limit":{"type":"integer"},"limit":{"type":"integer"},
        "order":{"enum":["newest","oldest","OLDEST"]},"straße":{"type":"string"}},
        "additionalProperties":false}"#;
    let table: &[(&str, &[&str])] = &[
        (
            r#"{"Query":"rain","order":"NEWEST"}"#,
            &[
                r#"ok {"query":"rain","order":"newest"}"#,
                "Query: took it as the parameter query",
                "order: took \"NEWEST\" as \"newest\"",
            ],
        ),
        // An exact name wins, and what is given twice is not touched.
        (
            r#"{"query":"rain","QUERY":"snow"}"#,
            &[
                r#"ok {"query":"rain"}"#,
                "QUERY: dropped: no parameter but query, order, Limit, limit, straße",
            ],
        ),
        (
            r#"{"Query":"rain","QUERY":"snow"}"#,
            &[
                "ok {}",
                "Query: dropped: no parameter but query, order, Limit, limit, straße",
                "QUERY: dropped: no parameter but query, order, Limit, limit, straße",
            ],
        ),
        (
            r#"{"LIMIT":3}"#,
            &["ok {}", "LIMIT: dropped: no parameter but Limit, limit, query, order, straße"],
        ),
        (r#"{"Limit":3,"limit":4}"#, &[r#"ok {"Limit":3,"limit":4}"#]),
        (r#"{"order":"OLDEST"}"#, &[r#"ok {"order":"OLDEST"}"#]),
        (
            r#"{"order":"Oldest"}"#,
            &["order: expected one of \"newest\", \"oldest\", \"OLDEST\", got \"Oldest\""],
        ),
        (r#"{"STRAßE":"a"}"#, &[r#"ok {"straße":"a"}"#, "STRAßE: took it as the parameter straße"]),
    ];
    for (raw, expected) in table {
        assert_eq!(lines(schema, raw), *expected, "{raw}");
    }
}

#[test]
fn what_is_known_in_other_letters_is_checked_as_what_it_was_meant_for() {
    let schema = r#"{"properties":{"limit":{"type":"integer"}}}"#;
    assert_eq!(lines(schema, r#"{"LIMIT":"ten"}"#), ["limit: expected integer, got \"ten\""]);
    assert_eq!(
        strict_lines(schema, r#"{"LIMIT":"ten"}"#),
        [r#"ok {"LIMIT":"ten"}"#, "LIMIT: unknown parameter"]
    );
}

#[test]
fn where_other_members_are_welcome_their_names_are_their_own() {
    for others in ["true", r#"{"type":"string"}"#] {
        let schema = format!(
            r#"{{"properties":{{"host":{{"type":"string"}}}},"additionalProperties":{others}}}"#
        );
        assert_eq!(lines(&schema, r#"{"Host":"a"}"#), [r#"ok {"Host":"a"}"#]);
    }
}

#[test]
fn null_is_nothing_where_there_need_be_nothing() {
    let schema = r#"{"properties":{
        "a":{"type":"string"},"b":{"type":"string"},"c":{"type":["string","null"]},
        "d":{"anyOf":[{"type":"object"},{"type":"null"}]},"e":{}},
        "required":["a"]}"#;
    assert_eq!(
        lines(schema, r#"{"a":"x","b":null,"c":null,"d":null,"e":null}"#),
        [r#"ok {"a":"x","c":null,"d":null,"e":null}"#, "b: took null as not given"]
    );
    assert_eq!(lines(schema, r#"{"a":null}"#), ["a: expected string, got null"]);
    assert_eq!(strict_lines(schema, r#"{"a":"","b":null}"#), ["b: expected string, got null"]);
}

#[test]
fn unknown_parameters_are_told_and_dropped_only_where_they_must_not_be() {
    let open = r#"{"properties":{"a":{"type":"object"}}}"#;
    assert_eq!(
        lines(open, r#"{"a":{"free":1},"b":2}"#),
        [r#"ok {"a":{"free":1},"b":2}"#, "b: unknown parameter"]
    );
    let closed = r#"{"properties":{"limit":{},"offset":{}},"additionalProperties":false}"#;
    assert_eq!(
        lines(closed, r#"{"ofset":2}"#),
        ["ok {}", "ofset: dropped: no parameter but offset, limit"]
    );
    assert_eq!(
        strict_lines(closed, r#"{"ofset":2}"#),
        ["ofset: expected no parameter but limit, offset, got 2"]
    );
    let none = r#"{"properties":{},"additionalProperties":false}"#;
    assert_eq!(lines(none, r#"{"a":2}"#), ["ok {}", "a: dropped: no parameters here"]);
}

#[test]
fn what_stays_stays_as_it_was_written() {
    let schema = r#"{"properties":{"n":{"type":"integer"},"version":{"type":"string"},"x":{}}}"#;
    assert_eq!(
        lines(schema, r#"{"x":12345678901234567890.50,"n":"3","version":1.10}"#),
        [
            r#"ok {"x":12345678901234567890.50,"n":3,"version":"1.10"}"#,
            "n: took \"3\" as the integer 3",
            "version: took 1.10 as the text \"1.10\"",
        ]
    );
}

#[test]
fn the_arguments_themselves_may_be_a_text_that_holds_them() {
    let schema = r#"{"properties":{"a":{"type":"string"}},"required":["a"]}"#;
    let table: &[(&str, &[&str])] = &[
        (
            r#""{\"a\":\"x\"}""#,
            &[r#"ok {"a":"x"}"#, r#"took "{\"a\":\"x\"}" as the object that it holds"#],
        ),
        (r#""""#, &["a: expected string, but it is missing"]),
        (r#""{\"a\":\"x\"""#, &[r#"expected object, got "{\"a\":\"x\"""#]),
        (
            r#"{"a":"x"}{"a":"y"}"#,
            &["the arguments are not valid JSON: expected nothing more at line 1 column 10"],
        ),
        (
            r#"{"a":"x""#,
            &["the arguments are not valid JSON: it is cut off: the object that begins at line 1 \
               column 1 is not closed"],
        ),
    ];
    for (raw, expected) in table {
        assert_eq!(lines(schema, raw), *expected, "{raw}");
    }
}

#[test]
fn texts_in_texts_do_not_get_deeper_than_json_may_be() {
    let schema = r##"{"$ref":"#/$defs/a","$defs":{"a":{"type":"object",
        "properties":{"a":{"$ref":"#/$defs/a"}}}}}"##;
    let nested = |depth: usize, inner: &str| {
        format!("{}{inner}{}", r#"{"a":"#.repeat(depth), "}".repeat(depth))
    };
    let deep = nested(100, &super::super::json::quoted(&nested(100, "{}")));
    let told = lines(schema, &deep).concat();
    assert!(told.contains("nested deeper than 127 levels"), "{told}");
    let fits = nested(60, &super::super::json::quoted(&nested(60, "{}")));
    assert_eq!(lines(schema, &fits).first(), Some(&format!("ok {}", nested(120, "{}"))));
}
