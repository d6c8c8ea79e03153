//! Any text is arguments that fit their schema as they are, or is refused with a reason.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use threadline_core::tool::Schema;

/// One of what tools want, and one that refers to itself.
static SCHEMAS: LazyLock<Vec<Schema>> = LazyLock::new(|| {
    let plain = r#"{"type":"object","properties":{
        "a":{"type":"integer","maximum":9},"b":{"type":"string","format":"date-time"},
        "c":{"type":"array","items":{"type":"boolean"}},"d":{"enum":["x","Y",7]},
        "e":{"type":["number","null"]}},"additionalProperties":false}"#;
    let nested = r##"{"type":"object","properties":{
        "a":{"anyOf":[{"type":"string","minLength":1},{"$ref":"#"},{"type":"null"}]},
        "b":{"oneOf":[{"type":"integer","multipleOf":3},{"type":"string","format":"uri"}]},
        "c":{"type":"array","items":{"$ref":"#"},"uniqueItems":true},
        "d":{"type":"object","additionalProperties":{"type":"number"}}},"required":["a"]}"##;
    [plain, nested].iter().filter_map(|schema| Schema::new(schema).ok()).collect()
});

fuzz_target!(|input: &[u8]| {
    let raw = String::from_utf8_lossy(input);
    assert_eq!(SCHEMAS.len(), 2);
    for schema in &*SCHEMAS {
        let strict = schema.validate_strictly(&raw);
        match schema.validate(&raw) {
            Ok(validated) => {
                let again = schema.validate(&validated.text);
                assert_eq!(again.map(|again| again.text).as_ref(), Ok(&validated.text));
                let strictly = schema.validate_strictly(&validated.text);
                assert_eq!(strictly.map(|fit| fit.text).as_ref(), Ok(&validated.text));
                let is_same = *validated.text == *raw || raw.trim().is_empty();
                assert!(is_same || !validated.warnings.is_empty(), "changed without a word");
            }
            Err(refused) => {
                assert!(!refused.to_string().is_empty());
                let fits = strict.is_ok_and(|strict| strict.warnings.is_empty());
                assert!(!fits, "what fits as it is fits");
            }
        }
    }
    if let Ok(schema) = Schema::new(&raw) {
        drop(schema.validate(r#"{"a":{"a":["1",{"b":null}]}}"#));
    }
});
