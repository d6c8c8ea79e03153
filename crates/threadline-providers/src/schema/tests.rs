//! What schemas become, and that nothing comes in that does not go out as an object.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn value(fitted: &Fitted) -> Value {
    serde_json::from_str(fitted.schema.get()).unwrap()
}

#[test]
fn a_schema_that_is_fine_is_sent_as_it_is_written() {
    let text = r##"{ "type":"object", "properties":{"b":{},"a":{"$ref":"#/$defs/x"}} }"##;
    for fitted in [json_schema(text), object_root(text)] {
        assert_eq!(fitted.schema.get(), text);
        assert!(fitted.changes.is_empty() && !fitted.empty);
    }
}

#[test]
fn what_is_no_object_is_sent_as_one_that_takes_anything() {
    for text in ["", "nonsense", "true", "[1]", r#"{"type":"array"}"#, r#"{"type":["string"]}"#] {
        for fitted in [json_schema(text), object_root(text), openapi_subset(text)] {
            assert_eq!(fitted.schema.get(), r#"{"type":"object","properties":{}}"#);
            assert!(fitted.empty && fitted.changes.len() == 1, "{text}");
        }
        assert!(strict(text).is_none(), "{text}");
    }
    let large = format!(r#"{{"type":"object","title":"{}"}}"#, "x".repeat(SCHEMA_CAP_BYTES));
    insta::assert_snapshot!(
        json_schema(&large).changes.join("; "),
        @"its schema is too large: it is sent as one that takes any object"
    );
    let deep = format!("{}{}", r#"{"items":"#.repeat(500), "}".repeat(500));
    assert_eq!(openapi_subset(&deep).changes.len(), 1);
}

#[test]
fn a_type_that_is_missing_or_one_of_several_is_said() {
    let fitted = json_schema(r#"{"properties":{"z":{},"a":{}}}"#);
    assert_eq!(fitted.schema.get(), r#"{"type":"object","properties":{"z":{},"a":{}}}"#);
    assert_eq!(fitted.changes, ["its schema now says that it is an object"]);
    let fitted = json_schema(r#"{"title":"t","type":["object","null"]}"#);
    assert_eq!(fitted.schema.get(), r#"{"title":"t","type":"object"}"#);
    assert!(fitted.empty);
}

#[test]
fn a_root_that_chooses_joins_or_refers_becomes_plain() {
    let fitted = object_root(
        r##"{"$ref":"#/$defs/base","oneOf":[
            {"properties":{"path":{"type":"string"}},"required":["path","mode"]},
            {"properties":{"url":{"type":"string"}},"required":["mode","url"]}],
            "allOf":[{"required":["x"]}],
            "$defs":{"base":{"type":"object","properties":{"mode":{"type":"string"}}}}}"##,
    );
    let expected = json!({"type": "object",
        "$defs": {"base": {"type": "object", "properties": {"mode": {"type": "string"}}}},
        "properties": {"mode": {"type": "string"}, "path": {"type": "string"},
            "url": {"type": "string"}},
        "required": ["x", "mode"]});
    assert_eq!(value(&fitted), expected);
    assert_eq!(fitted.changes, ["the root of its schema is sent as a plain object"]);
}

#[test]
fn openapi_says_null_values_types_and_references_in_its_own_way() {
    let fitted = openapi_subset(
        r##"{"$schema":"s","type":"object","additionalProperties":false,"required":["name","gone"],
        "properties":{
          "name":{"type":["string","null"],"format":"uri","description":"Whose."},
          "size":{"type":"integer","enum":[1,2],"minimum":1,"exclusiveMinimum":0},
          "kind":{"const":"file"},
          "maybe":{"anyOf":[{"$ref":"#/$defs/point"},{"type":"null"}]},
          "either":{"description":"Both.","oneOf":[{"type":"string"},{"type":"integer"}]},
          "both":{"type":["string","number"]},
          "list":{"type":"array"},
          "pair":{"type":"array","prefixItems":[{"type":"number"},{"type":"string"}]},
          "any":true},
        "$defs":{"point":{"type":"object","properties":{"x":{"type":"number"}},"required":["x"]}}}"##,
    );
    let expected = json!({"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string", "nullable": true, "description": "Whose."},
        "size": {"type": "integer", "minimum": 1, "description": "One of: 1, 2"},
        "kind": {"type": "string", "enum": ["file"]},
        "maybe": {"type": "object", "nullable": true, "required": ["x"],
            "properties": {"x": {"type": "number"}}},
        "either": {"anyOf": [{"type": "string", "description": "Both."},
            {"type": "integer", "description": "Both."}]},
        "both": {"anyOf": [{"type": "string"}, {"type": "number"}]},
        "list": {"type": "array", "items": {"type": "string"}},
        "pair": {"type": "array", "items": {"type": "number"}},
        "any": {"type": "string"},
    }});
    assert_eq!(value(&fitted), expected);
    insta::assert_snapshot!(fitted.changes.join("\n"), @r#"
    "additionalProperties" is left out of its schema
    "exclusiveMinimum" is left out of its schema
    values that are not texts are told in its description
    a choice of types is said as a choice of schemas
    a list with a schema for each place is said by that of its first
    any value is said to be a text
    "#);
}

#[test]
fn openapi_follows_a_schema_into_itself_only_so_far() {
    let tree =
        r##"{"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#"}}}}"##;
    let fitted = openapi_subset(tree);
    assert_eq!(fitted.schema.get().matches("children").count(), 6);
    assert!(!fitted.schema.get().contains("$ref"));
    assert_eq!(fitted.changes.last().unwrap(), "a reference in its schema was left out");
}

#[test]
fn references_that_multiply_are_bounded() {
    let many = vec![r##"{"$ref":"#"}"##; 300].join(",");
    let properties: Vec<String> = (0..300).map(|n| format!(r##""p{n}":{{"$ref":"#"}}"##)).collect();
    let all = format!(r#"{{"type":"object","allOf":[{many}]}}"#);
    let wide = format!(r#"{{"type":"object","properties":{{{}}}}}"#, properties.join(","));
    for text in [all, wide] {
        assert!(openapi_subset(&text).schema.get().len() < 1_000_000);
        assert!(object_root(&text).schema.get().len() < 1_000_000);
    }
}

#[test]
fn strict_requires_all_and_lets_the_optional_be_null() {
    let fitted = strict(
        r##"{"type":"object","required":["path"],"properties":{
          "path":{"type":"string","minLength":1},
          "mode":{"type":"string","enum":["r","w"]},
          "at":{"$ref":"#/$defs/point"},
          "how":{"anyOf":[{"type":"string"},{"type":"integer"}]},
          "tag":{"type":"string","const":"x"},
          "list":{"type":["array","null"],"items":{"type":"object","properties":{}}}},
        "$defs":{"point":{"type":"object","properties":{"x":{"type":"number"}},"required":["x"],
          "additionalProperties":false}}}"##,
    )
    .unwrap();
    let expected = json!({"type": "object", "additionalProperties": false,
        "required": ["path", "mode", "at", "how", "tag", "list"], "properties": {
        "path": {"type": "string"},
        "mode": {"type": ["string", "null"], "enum": ["r", "w", null]},
        "at": {"anyOf": [{"$ref": "#/$defs/point"}, {"type": "null"}]},
        "how": {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
        "tag": {"anyOf": [{"type": "string", "const": "x"}, {"type": "null"}]},
        "list": {"type": ["array", "null"], "items": {"type": "object", "properties": {},
            "required": [], "additionalProperties": false}}},
        "$defs": {"point": {"type": "object", "properties": {"x": {"type": "number"}},
            "required": ["x"], "additionalProperties": false}}});
    assert_eq!(value(&fitted), expected);
    insta::assert_snapshot!(fitted.changes.join("\n"), @r#"
    "minLength" is left out of its schema
    its schema now allows no other properties
    what is optional in its schema is required and may be null
    "#);
}

#[test]
fn strict_refuses_what_it_would_change() {
    let cases = [
        r#"{"anyOf":[{"type":"object"}]}"#,
        r#"{"type":"object","additionalProperties":true}"#,
        r#"{"type":"object","properties":{"a":{}}}"#,
        r#"{"type":"object","properties":{"a":true}}"#,
        r#"{"type":"object","properties":{"a":{"type":"object"}}}"#,
        r#"{"type":"object","properties":{"a":{"type":"array"}}}"#,
        r#"{"type":"object","properties":{"a":{"type":"array","items":[{"type":"string"}]}}}"#,
        r#"{"type":"object","properties":{"a":{"oneOf":[{"type":"string"}]}}}"#,
        r#"{"type":"object","patternProperties":{"^a":{"type":"string"}}}"#,
        r#"{"type":"object","properties":{"a":{"$ref":"https://example.com/s.json"}}}"#,
    ];
    for text in cases {
        assert!(strict(text).is_none(), "{text}");
    }
    let mut deep = r#"{"type":"string"}"#.to_owned();
    for _ in 0..7 {
        deep = format!(r#"{{"type":"object","properties":{{"a":{deep}}}}}"#);
    }
    assert!(strict(&deep).is_none());
    assert!(strict("{}").unwrap().empty);
}

#[test]
fn properties_with_names_that_are_not_taken_are_left_out() {
    let plain = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let text = r#"{"type":"object","required":["a","b-c"],"properties":{"a":{"type":"object",
        "properties":{"x y":{},"properties":{"$ref":"r"}}},"b-c":{}},
        "anyOf":[{"required":["b-c"]}],"$defs":{"d.e":{"properties":{"$":{}}}}}"#;
    let fitted = json_schema(text).with_names(plain);
    let expected = json!({"type": "object", "required": ["a"], "properties": {"a":
        {"type": "object", "properties": {"properties": {"$ref": "r"}}}},
        "anyOf": [{"required": []}], "$defs": {"d.e": {"properties": {}}}});
    assert_eq!(value(&fitted), expected);
    insta::assert_snapshot!(fitted.changes.join("\n"), @r#"
    "b-c" is left out of its schema: such a name is not taken
    "x y" is left out of its schema: such a name is not taken
    "$" is left out of its schema: such a name is not taken
    "#);
    let fine = r#"{ "type":"object","properties":{} }"#;
    assert_eq!(json_schema(fine).with_names(plain).schema.get(), fine);
}

/// Any JSON, made of the words of schemas so that they meet in odd ways.
fn schemas() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        "type",
        "properties",
        "required",
        "items",
        "anyOf",
        "oneOf",
        "allOf",
        "$ref",
        "$defs",
        "enum",
        "const",
        "description",
        "additionalProperties",
        "format",
        "prefixItems",
        "minimum",
        "a",
        "b",
        "nullable",
        "not",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3i64..4).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(vec![
            "object",
            "string",
            "null",
            "array",
            "#",
            "#/$defs/a",
            "#/properties/a",
            "a",
            "",
            "number",
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((words.clone(), inner), 0..6).prop_map(|members| {
                Value::Object(members.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())
            }),
        ]
    })
}

proptest! {
    #[test]
    fn any_schema_becomes_that_of_an_object(schema in schemas(), rooted in any::<bool>()) {
        let mut schema = schema;
        if let (Value::Object(members), true) = (&mut schema, rooted) {
            members.insert("type".to_owned(), "object".into());
        }
        let text = schema.to_string();
        let all = [
            Some(json_schema(&text)),
            Some(object_root(&text)),
            Some(openapi_subset(&text)),
            strict(&text),
        ];
        for fitted in all.into_iter().flatten() {
            let value = value(&fitted);
            prop_assert_eq!(&value["type"], "object", "{}", text);
        }
    }

    #[test]
    fn openapi_has_no_word_that_is_refused(schema in schemas()) {
        let text = json!({"type": "object", "properties": {"p": schema}}).to_string();
        let fitted = openapi_subset(&text);
        check_openapi(&value(&fitted))?;
    }

    #[test]
    fn any_text_is_taken(text in "\\PC{0,60}") {
        for fitted in [json_schema(&text), object_root(&text), openapi_subset(&text)] {
            prop_assert_eq!(&value(&fitted)["type"], "object");
        }
    }
}

/// What Gemini refuses, in words of its own.
fn check_openapi(schema: &Value) -> Result<(), TestCaseError> {
    let members = schema.as_object().unwrap();
    if let Some(choices) = members.get("anyOf") {
        prop_assert!(members.len() == 1 && choices.as_array().unwrap().len() > 1);
        return choices.as_array().unwrap().iter().try_for_each(check_openapi);
    }
    let types = ["string", "number", "integer", "boolean", "array", "object"];
    prop_assert!(types.contains(&members["type"].as_str().unwrap()));
    for (word, value) in members {
        match &**word {
            "type" | "title" | "description" | "pattern" | "format" => {
                prop_assert!(value.is_string());
            }
            "nullable" => prop_assert_eq!(value, true),
            "enum" => {
                prop_assert!(value.as_array().unwrap().iter().all(|v| v.as_str() != Some("")));
                prop_assert!(value.as_array().unwrap().iter().all(Value::is_string));
            }
            "items" => check_openapi(value)?,
            "properties" => value.as_object().unwrap().values().try_for_each(check_openapi)?,
            "required" => {
                for name in value.as_array().unwrap() {
                    prop_assert!(members["properties"].get(name.as_str().unwrap()).is_some());
                }
            }
            "minItems" | "maxItems" | "minLength" | "maxLength" | "minimum" | "maximum"
            | "minProperties" | "maxProperties" => prop_assert!(value.is_number()),
            other => prop_assert!(false, "{other}"),
        }
    }
    Ok(())
}
