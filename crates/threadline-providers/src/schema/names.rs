//! Properties whose names a protocol does not take.

use crate::json::{Json, Members};

/// Words whose value is a schema, or a list of them.
const SCHEMAS: [&str; 14] = [
    "additionalProperties",
    "allOf",
    "anyOf",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "oneOf",
    "prefixItems",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];
/// Words whose value is schemas by name, beside `properties`.
const MAPS: [&str; 4] = ["$defs", "definitions", "dependentSchemas", "patternProperties"];

/// Takes out the properties whose names do not fit, and tells which. A name cannot be changed:
/// what comes back under it would be another argument.
pub(super) fn drop_odd(schema: &mut Members, fits: fn(&str) -> bool, dropped: &mut Vec<String>) {
    for (word, value) in schema.iter_mut() {
        match value {
            Json::Object(properties) if word == "properties" => {
                properties.retain(|(name, _)| {
                    let fit = fits(name);
                    if !fit && !dropped.contains(name) {
                        dropped.push(name.clone());
                    }
                    fit
                });
                drop_in_map(properties, fits, dropped);
            }
            Json::List(names) if word == "required" => {
                names.retain(|name| name.as_text().is_none_or(fits));
            }
            Json::Object(map) if MAPS.contains(&&**word) => drop_in_map(map, fits, dropped),
            Json::Object(schema) if SCHEMAS.contains(&&**word) => drop_odd(schema, fits, dropped),
            Json::List(all) if SCHEMAS.contains(&&**word) => {
                for one in all {
                    if let Json::Object(schema) = one {
                        drop_odd(schema, fits, dropped);
                    }
                }
            }
            _ => {}
        }
    }
}

fn drop_in_map(map: &mut Members, fits: fn(&str) -> bool, dropped: &mut Vec<String>) {
    for (_, value) in map {
        if let Json::Object(schema) = value {
            drop_odd(schema, fits, dropped);
        }
    }
}
