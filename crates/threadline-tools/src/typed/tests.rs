//! Typed tools: their schemas, and what comes of calls.

use std::collections::BTreeMap;

use serde::Deserialize;
use threadline_core::history::sections::Section;
use threadline_core::tool::Schema;

use super::*;
use crate::testing::context;

/// Looks for flats.
///
/// Only in one city,
/// and not by price.
#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Search {
    /// how many rooms,
    /// at least
    rooms: Option<u8>,
    /// the city
    city: String,
    order: Option<Order>,
    /// what must be near
    near: Vec<Near>,
    share: f64,
    tags: Option<BTreeMap<String, i64>>,
    kind: Kind,
    #[serde(default)]
    loud: bool,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Order {
    /// the newest first
    Newest,
    /// the nearest first
    Nearest,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
enum Kind {
    Rent,
    Buy,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Near {
    what: String,
    metres: Option<u32>,
}

#[test]
fn a_type_becomes_a_plain_schema() {
    let spec = run::<Search>("search", Effect::Read);
    assert_eq!(&*spec.description, "Looks for flats.\n\nOnly in one city, and not by price.");
    insta::assert_snapshot!(&*spec.schema, @r#"{"type":"object","properties":{"city":{"description":"the city","type":"string"},"near":{"description":"what must be near","type":"array","items":{"type":"object","properties":{"what":{"type":"string"},"metres":{"type":"integer","minimum":0}},"required":["what"]}},"share":{"type":"number"},"kind":{"type":"string","enum":["Rent","Buy"]},"loud":{"type":"boolean","default":false},"order":{"description":"newest: the newest first; nearest: the nearest first","type":"string","enum":["newest","nearest"]},"rooms":{"description":"how many rooms, at least","type":"integer","maximum":255,"minimum":0},"tags":{"type":"object","additionalProperties":{"type":"integer"}}},"required":["city","near","share","kind"]}"#);
    Schema::new(&spec.schema).unwrap();
}

/// A thing and its parts.
#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Tree {
    name: String,
    parts: Vec<Self>,
}

#[test]
fn a_type_that_has_itself_within_it_is_written_once() {
    let spec = recorded::<Tree>("grow");
    insta::assert_snapshot!(&*spec.schema, @r##"{"type":"object","properties":{"name":{"type":"string"},"parts":{"type":"array","items":{"$ref":"#"}}},"required":["name","parts"]}"##);
    assert_eq!(spec.handling, Handling::Recorded);
}

/// Divides.
#[derive(Deserialize, JsonSchema)]
struct Divide {
    dividend: i64,
    divisor: i64,
}

#[tokio::test]
async fn a_function_is_called_with_its_arguments() {
    let divide = tool("divide", Effect::Once, async |arguments: Divide, context: ToolContext| {
        let quotient = arguments.dividend.checked_div(arguments.divisor);
        let quotient = quotient.ok_or_else(|| format!("call {} divides by 0", context.call))?;
        Ok::<_, String>(Section::levels(format!("= {quotient}"), quotient.to_string(), "divided"))
    });
    assert_eq!(divide.spec.verdict, Verdict::Ask);
    let call = async |arguments: &str| divide.call(arguments, &context()).await;

    let six = ToolResult {
        sections: vec![Section::levels("= 6", "6", "divided")],
        ..ToolResult::default()
    };
    assert_eq!(call(r#"{"dividend":12,"divisor":2}"#).await, ToolOutcome::Success(six));
    let told = |outcome: ToolOutcome| match outcome {
        ToolOutcome::Failed(result) => result.error.unwrap(),
        other => panic!("{other:?}"),
    };
    assert_eq!(told(call(r#"{"dividend":1,"divisor":0}"#).await), "call c1.0 divides by 0");
    let wrong = told(call(r#"{"dividend":"one"}"#).await);
    assert!(wrong.starts_with("the arguments do not fit: "), "{wrong}");
}

#[test]
fn rules_and_verdict_can_be_said() {
    let rules = RunRules { timeout_ms: 1_000, ..RunRules::usual(Effect::Idempotent) };
    let mut slow = tool("slow", rules, async |_: Divide, _| "done");
    slow.spec.verdict = Verdict::Allow;
    assert_eq!(slow.spec().handling, Handling::Run(rules));
}
