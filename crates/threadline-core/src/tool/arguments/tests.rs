//! Tests of the arguments: raw text in, what to run with or all that is wrong out.

mod alternatives;
mod coercion;
mod kinds;
mod page;
mod properties;
mod words;

use super::*;

const SEARCH: &str = r#"{
    "type": "object",
    "title": "search",
    "properties": {
        "query": {"type": "string", "minLength": 2, "maxLength": 5},
        "order": {"enum": ["newest", "oldest"]},
        "limit": {"type": ["integer", "null"], "minimum": 1, "maximum": 100},
        "share": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        "exact": {"type": "boolean"},
        "filters": {"type": "array", "minItems": 1, "maxItems": 3, "items": {
            "type": "object",
            "properties": {"limit": {"type": "integer"}},
            "required": ["limit"],
            "additionalProperties": false
        }},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "extra": {"type": "object", "additionalProperties": true},
        "version": {"const": 1}
    },
    "required": ["query"]
}"#;

/// What comes of arguments, in lines.
fn lines(schema: &str, raw: &str) -> Vec<String> {
    told(Schema::new(schema).unwrap().validate(raw))
}

/// What comes of arguments if nothing may be mended, in lines.
fn strict_lines(schema: &str, raw: &str) -> Vec<String> {
    told(Schema::new(schema).unwrap().validate_strictly(raw))
}

fn told(outcome: Result<Validated, ArgumentsRefused>) -> Vec<String> {
    match outcome {
        Ok(validated) => {
            let mut lines = vec![format!("ok {}", validated.text)];
            lines.extend(validated.warnings);
            lines
        }
        Err(ArgumentsRefused::DoNotFit { problems, more: 0 }) => {
            problems.iter().map(ToString::to_string).collect()
        }
        Err(refused) => vec![refused.to_string()],
    }
}

#[test]
fn strictly_arguments_fit_or_every_problem_is_told_with_its_place() {
    let table: &[(&str, &[&str])] = &[
        (r#"{"query":"rain"}"#, &[r#"ok {"query":"rain"}"#]),
        (" {\"query\" : \"rain\"}\n", &["ok  {\"query\" : \"rain\"}\n"]),
        ("", &["query: expected string, but it is missing"]),
        (" \n", &["query: expected string, but it is missing"]),
        ("[1,2]", &["expected object, got [1,2]"]),
        ("null", &["expected object, got null"]),
        ("\"{}\"", &["expected object, got \"{}\""]),
        (
            r#"{"query":7,"limit":"ten","exact":"yes","order":"Newest","share":1}"#,
            &[
                "query: expected string, got 7",
                "limit: expected integer or null, got \"ten\"",
                "exact: expected boolean, got \"yes\"",
                "order: expected one of \"newest\", \"oldest\", got \"Newest\"",
                "share: expected less than 1, got 1",
            ],
        ),
        (
            r#"{"query":"rain","filters":[{"limit":1},{},{"limit":"ten","max":2}]}"#,
            &[
                "filters[1].limit: expected integer, but it is missing",
                "filters[2].limit: expected integer, got \"ten\"",
                "filters[2].max: expected no parameter but limit, got 2",
            ],
        ),
        (
            r#"{"query":"a","filters":[],"labels":{"a b":1,"雨":2},"version":2}"#,
            &[
                "query: expected at least 2 characters, got \"a\"",
                "filters: expected at least 1 item, got []",
                "labels[\"a b\"]: expected string, got 1",
                "labels.雨: expected string, got 2",
                "version: expected 1, got 2",
            ],
        ),
        (
            r#"{"query":"雨雨雨雨雨","version":1.0}"#,
            &[r#"ok {"query":"雨雨雨雨雨","version":1.0}"#],
        ),
        (
            r#"{"query":"雨雨雨雨雨雨"}"#,
            &["query: expected at most 5 characters, got \"雨雨雨雨雨雨\""],
        ),
        (r#"{"query":"rain","limit":0}"#, &["limit: expected at least 1, got 0"]),
        (r#"{"query":"rain","limit":101}"#, &["limit: expected at most 100, got 101"]),
        (r#"{"query":"rain","limit":1.0}"#, &["limit: expected integer or null, got 1.0"]),
        (r#"{"query":"rain","limit":null}"#, &[r#"ok {"query":"rain","limit":null}"#]),
        (
            r#"{"query":"rain","colour":"red","extra":{"a":1}}"#,
            &[r#"ok {"query":"rain","colour":"red","extra":{"a":1}}"#, "colour: unknown parameter"],
        ),
    ];
    for (raw, expected) in table {
        assert_eq!(strict_lines(SEARCH, raw), *expected, "{raw}");
    }
}

#[test]
fn strictly_what_is_not_one_json_value_is_refused_with_its_place() {
    let table = [
        ("{\"query\":", "EOF while parsing a value at line 1 column 9"),
        ("{\"query\":\"ra", "EOF while parsing a string at line 1 column 12"),
        ("{} {}", "trailing characters at line 1 column 4"),
        ("query=rain", "expected value at line 1 column 1"),
        ("{\"query\":\"a\",\"query\":\"b\"}", "\"query\" is given twice at line 1 column 20"),
    ];
    for (raw, expected) in table {
        let expected = format!("the arguments are not valid JSON: {expected}");
        assert_eq!(strict_lines(SEARCH, raw), [expected], "{raw}");
    }
}

#[test]
fn arguments_that_are_nested_too_deep_are_refused() {
    let open = r#"{"extra":"#;
    for depth in [200, 10_000, 1_000_000] {
        for raw in [open.repeat(depth), format!("{open}{}", "[".repeat(depth))] {
            let told = strict_lines(SEARCH, &raw).concat();
            assert!(told.contains("nested deeper than 127 levels at line 1"), "{told}");
            let told = lines(SEARCH, &raw).concat();
            assert!(told.contains("nested deeper than 127 levels at line 1"), "{told}");
        }
    }
    let deep = format!("{}1{}", "[".repeat(125), "]".repeat(125));
    let fits = format!(r#"{{"query":"rain","extra":{{"a":{deep}}}}}"#);
    assert_eq!(lines(SEARCH, &fits), [format!("ok {fits}")]);
}

#[test]
fn no_arguments_stand_for_an_empty_object() {
    for raw in ["", " ", "\n\t"] {
        assert_eq!(lines(r#"{"type":"object"}"#, raw), ["ok {}"]);
    }
}

#[test]
fn without_a_schema_only_an_object_that_is_not_json_is_repaired() {
    let table = [
        (r#"{"a":1,}"#, Some(r#"{"a":1}"#)),
        ("```json\n{a: [True, 1.10]}\n```", Some(r#"{"a":[true,1.10]}"#)),
        ("{\"a\":\"b\nc\"}", Some(r#"{"a":"b\nc"}"#)),
        (r#" {"a" : 1} "#, None),
        ("", None),
        ("[1,]", None),
        ("None", None),
        (r#"{"a":1"#, None),
        (r#"{"a":1,"a":2,}"#, None),
        (r#"{"a":"\ud83d"}"#, None),
    ];
    for (raw, expected) in table {
        assert_eq!(repair_json(raw).as_deref(), expected, "{raw}");
    }
}

#[test]
fn problems_and_what_came_are_told_within_bounds() {
    let many = format!(r#"{{"query":"rain","labels":{{{}}}}}"#, {
        let members = (0..50).map(|n| format!("\"k{n}\":{n}"));
        members.collect::<Vec<_>>().join(",")
    });
    let schema = Schema::new(SEARCH).unwrap();
    let Err(ArgumentsRefused::DoNotFit { problems, more }) = schema.validate_strictly(&many) else {
        panic!("50 labels are no strings");
    };
    assert_eq!((problems.len(), more), (PROBLEMS_CAP, 30));
    let refused = ArgumentsRefused::DoNotFit { problems, more };
    assert!(refused.to_string().ends_with("\n- and 30 more"));

    let long = format!(r#"{{"query":["{}"]}}"#, "雨".repeat(100_000));
    let told = lines(SEARCH, &long).concat();
    assert!(told.starts_with("query: expected string, got [\"雨雨") && told.ends_with('…'));
    assert!(told.len() < 200, "{}", told.len());

    let unknown = (0..50).map(|n| format!("\"k{n}\":{n}")).collect::<Vec<_>>().join(",");
    let told = lines(SEARCH, &format!(r#"{{"query":"rain",{unknown}}}"#));
    assert_eq!(told.len(), 1 + PROBLEMS_CAP + 1);
    assert_eq!(told.last().unwrap(), "and 30 more warnings");
}

#[test]
fn integers_are_compared_exactly() {
    let schema = r#"{"properties":{"n":{"maximum":9007199254740992}}}"#;
    assert_eq!(lines(schema, r#"{"n":9007199254740992}"#), [r#"ok {"n":9007199254740992}"#]);
    assert_eq!(
        lines(schema, r#"{"n":9007199254740993}"#),
        ["n: expected at most 9007199254740992, got 9007199254740993"]
    );
}

#[test]
fn a_schema_that_cannot_be_checked_is_refused() {
    let table = [
        ("", "it is not JSON: EOF while parsing a value at line 1 column 0"),
        ("[]", "a schema is an object, true or false"),
        (r#"{"type":"string"}"#, "arguments are an object: its type has to be \"object\""),
        (r#"{"type":"text"}"#, "at /type: there is no type \"text\""),
        (r#"{"type":[]}"#, "at /type: it names no type"),
        (r#"{"required":"a"}"#, "at /required: it has to be a list"),
        (r#"{"required":[1]}"#, "at /required: it has to be a list of strings"),
        (r#"{"properties":[]}"#, "at /properties: it has to be an object"),
        (r#"{"properties":{"a":7}}"#, "at /properties/a: a schema is an object, true or false"),
        (
            r#"{"properties":{"a":{"minLength":-1}}}"#,
            "at /properties/a/minLength: it has to be a whole number from 0",
        ),
        (r#"{"properties":{"a":{"anyOf":[]}}}"#, "at /properties/a/anyOf: there is none"),
        (
            r#"{"properties":{"a":{"contains":{}}}}"#,
            "at /properties/a/contains: \"contains\" cannot be checked yet; say it without",
        ),
        (
            r#"{"properties":{"a":{"pattern":"(?=a)"}}}"#,
            "at /properties/a/pattern: the pattern cannot be used: look-around, including \
             look-ahead and look-behind, is not supported",
        ),
        (
            r##"{"properties":{"a":{"$ref":"#/$defs/none"}}}"##,
            "at /properties/a/$ref: there is no \"#/$defs/none\" in the schema",
        ),
        (
            r#"{"properties":{"a":{"$ref":"https://example.org"}}}"#,
            "at /properties/a/$ref: \"https://example.org\" is no reference into this schema, as \
             #/$defs/…",
        ),
        (
            r##"{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"type":"object"},{"$ref":"#/$defs/a"}]}}}"##,
            "it refers to itself without going into the value, or nearly so",
        ),
        (
            r#"{"properties":{"a":{"multipleOf":0}}}"#,
            "at /properties/a/multipleOf: it has to be more than 0",
        ),
    ];
    for (schema, expected) in table {
        let expected = format!("the tool's schema cannot be used: {expected}");
        let refused = Schema::new(schema).unwrap_err().to_string();
        assert_eq!(refused, expected, "{schema}");
    }
}
