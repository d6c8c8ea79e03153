//! What it costs to make of a call's arguments what a tool can run with.
//!
//! `cargo bench -p threadline-core --bench arguments` measures; `-- --smoke`, or a run as a test,
//! does the same with small numbers, to see that everything runs. Both sides of a ratio are
//! measured in one run, in turns.

use std::hint::black_box;
use std::process::ExitCode;

use serde_json::Value;
use threadline_core::tool::{Schema, Validated};
use threadline_testing::bench::{self, Asked, Outcome, Part, Report, Rounds, Target, float, timed};

/// What is measured, by name.
const PARTS: [Part<Asked>; 2] = [("call", call), ("size", size)];

fn main() -> ExitCode {
    bench::main(&PARTS, Ok)
}

/// The schema of a search, as it is derived from Rust types.
const SCHEMA: &str = r##"{
    "type": "object",
    "properties": {
        "query": {"type": "string", "minLength": 1},
        "limit": {"type": "integer", "minimum": 1, "maximum": 100},
        "order": {"enum": ["newest", "oldest", "best"]},
        "exact": {"type": "boolean"},
        "since": {"type": ["string", "null"], "format": "date-time"},
        "filters": {"type": "array", "items": {"$ref": "#/$defs/filter"}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}}
    },
    "required": ["query", "filters"],
    "additionalProperties": false,
    "$defs": {
        "filter": {
            "type": "object",
            "properties": {
                "field": {"type": "string", "pattern": "^[a-z_.]+$"},
                "values": {"type": "array", "items": {"type": "string"}},
                "range": {"anyOf": [{"$ref": "#/$defs/range"}, {"type": "null"}]},
                "boost": {"type": "number"},
                "negate": {"type": "boolean"}
            },
            "required": ["field"],
            "additionalProperties": false
        },
        "range": {
            "type": "object",
            "properties": {"from": {"type": "integer"}, "to": {"type": "integer"}},
            "required": ["from", "to"]
        }
    }
}"##;

/// A call with so many filters: six are a kilobyte.
fn text(filters: usize) -> String {
    let filter = |place: usize| {
        format!(
            r#"{{"field": "meta.author", "values": ["Ada \"the first\"", "grace", "name {place}"],
            "range": {{"from": {place}, "to": {}}}, "boost": 1.25, "negate": false}}"#,
            place + 10
        )
    };
    let filters = (0..filters).map(filter).collect::<Vec<_>>().join(", ");
    format!(
        r#"{{"query": "what was decided about the budget", "limit": 20, "order": "newest",
        "exact": true, "since": "2025-01-31T09:00:00Z", "filters": [{filters}],
        "labels": {{"team": "north", "colour": "green"}}}}"#
    )
}

/// What a model writes that does not know the types so well.
fn loose(text: &str) -> String {
    text.replace("\"limit\": 20", "\"limit\": \"20\"")
        .replace("1.25", "\"1.25\"")
        .replace("newest", "Newest")
}

/// What a model writes for people.
fn almost_json(text: &str) -> String {
    text.replace("\"field\"", "field")
        .replace("false}", "False,}")
        .replace("green\"}", "green'}")
        .replace("\"green'", "'green'")
}

/// The microseconds that each of some things takes, in turns.
fn measured<const N: usize>(
    asked: &Asked,
    times: usize,
    things: [&dyn Fn() -> Outcome<()>; N],
) -> Outcome<[f64; N]> {
    let (rounds, times) = asked.of((31, times), (1, 1));
    let mut took = things.map(|_| Rounds::default());
    for _ in 0..rounds {
        for (thing, took) in things.iter().zip(&mut took) {
            let (done, time) = timed(|| (0..times).try_for_each(|_| thing()));
            done?;
            took.add(time.as_secs_f64() * 1e6 / float(times));
        }
    }
    Ok(took.map(|rounds| rounds.median()))
}

fn parsed(text: &str) -> Outcome<()> {
    black_box(serde_json::from_str::<Value>(black_box(text))?);
    Ok(())
}

fn validated(schema: &Schema, text: &str) -> Outcome<()> {
    black_box(schema.validate(black_box(text))?);
    Ok(())
}

/// A call of a kilobyte: valid, in need of coercion, in need of repair.
fn call(asked: &Asked, report: &mut Report) -> Outcome<()> {
    let schema = Schema::new(SCHEMA)?;
    let valid = text(6);
    let (loose, almost) = (loose(&valid), almost_json(&valid));
    let is_changed = |text: &str| -> Outcome<bool> {
        let Validated { text: given, warnings } = schema.validate(text)?;
        Ok(*given != *text && !warnings.is_empty())
    };
    if is_changed(&valid)? || !is_changed(&loose)? || !is_changed(&almost)? {
        return Err("the texts are not what they are measured as".into());
    }
    bench::fact("bytes of the valid call", valid.len());
    let [plain, ours, coerced, repaired, strict] = measured(
        asked,
        2000,
        [
            &|| parsed(&valid),
            &|| validated(&schema, &valid),
            &|| validated(&schema, &loose),
            &|| validated(&schema, &almost),
            &|| schema.validate_strictly(black_box(&valid)).map(|_| ()).map_err(Into::into),
        ],
    )?;
    let target = asked.of(Some(Target::AtMost(5.0)), None);
    report.ratio("valid / serde_json of it", ours, plain, "µs", target);
    report.ratio("valid, strictly / serde_json of it", strict, plain, "µs", None);
    report.ratio("coerced / serde_json of the valid one", coerced, plain, "µs", None);
    report.ratio("repaired / serde_json of the valid one", repaired, plain, "µs", None);
    Ok(())
}

/// A call of a megabyte against one of a kilobyte, for each byte.
fn size(asked: &Asked, report: &mut Report) -> Outcome<()> {
    let schema = Schema::new(SCHEMA)?;
    let (small, large) = (text(6), text(asked.of(6500, 60)));
    let mut add = |what: &str, small: (&str, f64), large: (&str, f64)| {
        let per_byte = |(text, micros): (&str, f64)| micros * 1e3 / float(text.len());
        let what = format!("{what}: a byte of {} KB / of 1 KB", large.0.len() / 1000);
        report.ratio(&what, per_byte(large), per_byte(small), "ns", None);
    };
    let [one] = measured(asked, 1000, [&|| parsed(&small)])?;
    let [many] = measured(asked, 1, [&|| parsed(&large)])?;
    add("serde_json", (&small, one), (&large, many));
    for (name, write) in [
        ("valid", str::to_owned as fn(&str) -> String),
        ("coerced", loose),
        ("repaired", almost_json),
    ] {
        let (small, large) = (write(&small), write(&large));
        let [one] = measured(asked, 1000, [&|| validated(&schema, &small)])?;
        let [many] = measured(asked, 1, [&|| validated(&schema, &large)])?;
        add(name, (&small, one), (&large, many));
    }
    Ok(())
}
