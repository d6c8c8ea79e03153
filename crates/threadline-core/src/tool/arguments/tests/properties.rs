//! What holds for any text.

use proptest::prelude::*;

use super::super::json::quoted;
use super::super::{json, repair};
use super::*;

/// Schemas that are near what the texts below hold.
fn schemas() -> Vec<Schema> {
    let recursive = r##"{"type":"object","properties":{
        "query":{"anyOf":[{"type":"string","minLength":1},{"$ref":"#"},{"type":"null"}]},
        "limit":{"oneOf":[{"type":"integer","multipleOf":3},{"enum":["all","None",7.5]}]},
        "filters":{"type":"array","items":{"$ref":"#"},"uniqueItems":true},
        "labels":{"type":"object","additionalProperties":{"type":["boolean","number"]}}},
        "additionalProperties":false}"##;
    let strings = r#"{"properties":{"query":{"type":"array","items":{"type":"array",
        "items":{"type":"string"}}},"x y":{"type":"string","format":"uri"},
        "LIMIT":{"type":"string","pattern":"^[0-9]"}},"patternProperties":{"^l":{"type":"integer"}},
        "required":["query"]}"#;
    [SEARCH, recursive, strings].iter().map(|schema| Schema::new(schema).unwrap()).collect()
}

/// Names of members, some of them in other letters than the schemas have them.
const NAMES: &[&str] = &["query", "limit", "filters", "labels", "x y", "Query", "LIMIT", "order"];

/// JSON of any shape, often near the schemas.
fn any_json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|flag| flag.to_string()),
        any::<i64>().prop_map(|number| number.to_string()),
        (0..20).prop_map(|number| format!("\"{number}\"")),
        any::<f64>().prop_map(|number| format!("{number:e}")),
        "\\PC{0,8}".prop_map(|text| quoted(&text)),
        Just(r#""{query: 'a', Limit: [3,]}""#.to_owned()),
        Just(r#""ALL""#.to_owned()),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4)
                .prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec((prop::sample::select(NAMES), inner), 0..4).prop_map(|members| {
                let members = members.iter().map(|(name, value)| format!("\"{name}\":{value}"));
                format!("{{{}}}", members.collect::<Vec<_>>().join(","))
            }),
        ]
    })
}

/// JSON as models write it for people.
fn almost_json() -> impl Strategy<Value = String> {
    (any_json(), prop::collection::vec((any::<prop::sample::Index>(), 0..12_usize), 0..4)).prop_map(
        |(mut text, changes)| {
            let put = [",", "'", "# x\n", "/*", "*/", "“", "\n", "\\", "\"", "}", "```", "None"];
            for (place, what) in changes {
                let at = text.floor_char_boundary(place.index(text.len() + 1));
                text.insert_str(at, put[what]);
            }
            text.replace("\":", ":").replace(":\"", ":")
        },
    )
}

/// What must hold of any text.
fn holds(raw: &str) {
    if let Ok(read) = json::read(raw) {
        let again = repair::read(raw).unwrap();
        assert_eq!(again.warnings().count(), 0, "{raw}");
        assert!(read.same(&again.value), "{raw}");
    } else if let Ok(repaired) = repair::read(raw) {
        assert!(repaired.warnings().count() > 0, "{raw}");
        json::read(&repaired.value.text()).unwrap();
    }
    if let Some(repaired) = repair_json(raw) {
        assert!(json::read(raw).is_err() && repaired.starts_with('{'), "{raw}");
        assert_eq!(repair_json(&repaired), None, "{raw}");
    }
    for schema in schemas() {
        let strict = schema.validate_strictly(raw);
        let validated = match schema.validate(raw) {
            Ok(validated) => validated,
            Err(refused) => {
                assert!(!refused.to_string().is_empty());
                // A parameter that is unknown as it is written may be known in other letters, and
                // then be wrong.
                assert!(!strict.is_ok_and(|strict| strict.warnings.is_empty()), "{raw}");
                continue;
            }
        };
        if strict.is_ok_and(|strict| strict.warnings.is_empty()) && !raw.trim().is_empty() {
            assert_eq!((&*validated.text, &*validated.warnings), (raw, [].as_slice()));
        }
        let is_unknown = |warning: &String| warning.ends_with(": unknown parameter");
        let again = schema.validate(&validated.text).unwrap();
        assert_eq!(again.text, validated.text);
        assert!(again.warnings.iter().all(is_unknown), "{raw}: {:?}", again.warnings);
        let strictly = schema.validate_strictly(&validated.text).unwrap();
        assert_eq!(strictly.text, validated.text);
        assert!(strictly.warnings.iter().all(is_unknown), "{raw}: {:?}", strictly.warnings);
        if *validated.text != *raw && !raw.trim().is_empty() {
            assert!(!validated.warnings.is_empty(), "{raw}: changed without a word");
        }
    }
}

proptest! {
    #[test]
    fn any_text_is_arguments_or_is_refused(raw in "\\PC*") {
        holds(&raw);
    }

    #[test]
    fn any_text_of_signs_is_arguments_or_is_refused(raw in "[-\\[\\]{}:,'\"`\\\\#/*n0-9.e \n“”]{0,40}") {
        holds(&raw);
    }

    #[test]
    fn any_json_is_arguments_or_is_refused(raw in any_json()) {
        holds(&raw);
    }

    #[test]
    fn anything_like_json_is_arguments_or_is_refused(raw in almost_json()) {
        holds(&raw);
    }

    #[test]
    fn any_text_is_a_schema_or_is_refused(schema in "\\PC*", like_one in any_json(), raw in any_json()) {
        for schema in [schema, like_one] {
            if let Ok(schema) = Schema::new(&schema) {
                drop(schema.validate(&raw));
            }
        }
    }
}
