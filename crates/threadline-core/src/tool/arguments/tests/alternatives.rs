//! One of several: which is meant, what is told if none is, and that it ends.

use super::*;

/// As a Rust enum with a tag becomes.
const SHAPE: &str = r#"{"properties":{"shape":{"oneOf":[
    {"type":"object","properties":{"kind":{"const":"circle"},"radius":{"type":"number"}},
     "required":["kind","radius"]},
    {"type":"object","properties":{"kind":{"const":"square"},"side":{"type":"number"}},
     "required":["kind","side"]},
    {"type":"string"}]}},"required":["shape"]}"#;

#[test]
fn what_fits_as_it_is_wins_then_what_can_be_mended() {
    let table: &[(&str, &[&str])] = &[
        (r#"{"shape":"round"}"#, &[r#"ok {"shape":"round"}"#]),
        (
            r#"{"shape":{"kind":"square","side":"3"}}"#,
            &[
                r#"ok {"shape":{"kind":"square","side":3}}"#,
                "shape.side: took \"3\" as the number 3",
            ],
        ),
        (
            r#"{"shape":{"kind":"Circle","radius":2,"colour":"red"}}"#,
            &[
                r#"ok {"shape":{"kind":"circle","radius":2,"colour":"red"}}"#,
                "shape.kind: took \"Circle\" as \"circle\"",
                "shape.colour: unknown parameter",
            ],
        ),
        // The tag tells which was meant.
        (r#"{"shape":{"kind":"square","side":[]}}"#, &["shape.side: expected number, got []"]),
        (r#"{"shape":{"kind":"square"}}"#, &["shape.side: expected number, but it is missing"]),
        (
            r#"{"shape":{"kind":"star"}}"#,
            &["shape: expected object with kind, radius or object with kind, side or string, got \
               {\"kind\":\"star\"}"],
        ),
        (r#"{"shape":7}"#, &[r#"ok {"shape":"7"}"#, "shape: took 7 as the text \"7\""]),
        (
            "{}",
            &[
                "shape: expected object with kind, radius or object with kind, side or string, but it \
               is missing",
            ],
        ),
    ];
    for (raw, expected) in table {
        assert_eq!(lines(SHAPE, raw), *expected, "{raw}");
    }
    assert_eq!(
        strict_lines(SHAPE, r#"{"shape":{"kind":"square","side":"3"}}"#),
        ["shape.side: expected number, got \"3\""]
    );
}

#[test]
fn only_one_is_one() {
    let schema = r#"{"properties":{"n":{"oneOf":[{"type":"integer"},{"minimum":5}]}}}"#;
    assert_eq!(lines(schema, r#"{"n":3}"#), [r#"ok {"n":3}"#]);
    assert_eq!(lines(schema, r#"{"n":5.5}"#), [r#"ok {"n":5.5}"#]);
    assert_eq!(lines(schema, r#"{"n":6}"#), ["n: expected only one of integer or a value, got 6"]);
}

#[test]
fn what_loses_nothing_is_taken_first() {
    let schema = r#"{"properties":{"p":{"anyOf":[
        {"type":"object","properties":{"a":{"type":"integer"}},"additionalProperties":false},
        {"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},
         "additionalProperties":false}]}}}"#;
    assert_eq!(
        lines(schema, r#"{"p":{"a":"1","b":2}}"#),
        [r#"ok {"p":{"a":1,"b":2}}"#, "p.a: took \"1\" as the integer 1"]
    );
    assert_eq!(
        lines(schema, r#"{"p":{"a":1,"c":2}}"#),
        [r#"ok {"p":{"a":1}}"#, "p.c: dropped: no parameter but a"]
    );
}

#[test]
fn parts_of_one_object_may_be_said_in_several_places() {
    let schema = r##"{"properties":{"a":{"type":"integer"}},
        "allOf":[{"$ref":"#/$defs/b"}],
        "oneOf":[{"properties":{"c":{"type":"integer"}},"required":["c"]},
                 {"properties":{"d":{"type":"integer"}},"required":["d"]}],
        "$defs":{"b":{"properties":{"b":{"type":"integer"}}}}}"##;
    assert_eq!(
        lines(schema, r#"{"a":"1","b":"2","c":"3","x":4}"#),
        [
            r#"ok {"a":1,"b":2,"c":3,"x":4}"#,
            "a: took \"1\" as the integer 1",
            "b: took \"2\" as the integer 2",
            "c: took \"3\" as the integer 3",
            "x: unknown parameter",
        ]
    );
}

#[test]
fn what_is_mended_for_one_part_must_fit_the_others() {
    let schema = r#"{"properties":{"p":{"type":"string","anyOf":[{"type":"integer"}]}}}"#;
    assert_eq!(lines(schema, r#"{"p":"3"}"#), ["p: expected string, got 3"]);
}

#[test]
fn alternatives_within_alternatives_come_to_an_end() {
    // Both ways lead on, so that what does not fit at the end doubles the work at every step.
    let way = r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/w"}},"required":["a"]}"##;
    let schema = format!(
        r##"{{"properties":{{"a":{{"$ref":"#/$defs/w"}}}},
        "$defs":{{"w":{{"anyOf":[{way},{way},{{"type":"integer"}}]}}}}}}"##
    );
    let raw = |inner: &str| format!("{}{inner}{}", r#"{"a":"#.repeat(100), "}".repeat(100));
    assert_eq!(lines(&schema, &raw("1")), [format!("ok {}", raw("1"))]);
    let refused = Schema::new(&schema).unwrap().validate(&raw("[]")).unwrap_err();
    assert_eq!(refused, ArgumentsRefused::Tangled);
    assert_eq!(
        lines(&schema, r#"{"a":{"a":{"a":"1"}}}"#),
        [r#"ok {"a":{"a":{"a":1}}}"#, "a.a.a: took \"1\" as the integer 1"]
    );
}

#[test]
fn what_is_nested_deep_on_both_sides_does_not_exhaust_the_stack() {
    let mut way = r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/w"}}}"##.to_owned();
    for level in 0..30 {
        let word = ["allOf", "anyOf", "oneOf"][level % 3];
        way = format!(r#"{{"{word}":[{way}]}}"#);
    }
    let schema =
        format!(r##"{{"properties":{{"a":{{"$ref":"#/$defs/w"}}}},"$defs":{{"w":{way}}}}}"##);
    let raw = format!("{}{{}}{}", r#"{"a":"#.repeat(120), "}".repeat(120));
    let schema = Schema::new(&schema).unwrap();
    for refused in [schema.validate(&raw), schema.validate_strictly(&raw)] {
        assert_eq!(refused, Err(ArgumentsRefused::Tangled));
    }
}
