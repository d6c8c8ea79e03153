//! What is asked beside the messages: thinking, choice, form, temperature.

use insta::assert_snapshot;
use threadline_core::history::fact::Thinking;

use super::*;

fn thinking(support: ThinkingSupport, asked: Option<Thinking>) -> Case {
    let mut case = Case::new().profile(|profile| profile.thinking = support).says("hi");
    case.quirks.effort = true;
    case.quirks.thinking_display = true;
    case.request.options.thinking = asked;
    case
}

/// A line for each thing that can be asked.
fn all(support: ThinkingSupport) -> String {
    let asked = [
        None,
        Some(Thinking::Off),
        Some(Thinking::Adaptive),
        Some(Thinking::Low),
        Some(Thinking::High),
        Some(Thinking::Budget { tokens: 500 }),
        Some(Thinking::Budget { tokens: 90_000 }),
    ];
    let mut told = String::new();
    for asked in asked {
        let fields = thinking(support, asked).fields();
        let name = asked.map_or_else(|| "None".to_owned(), |asked| format!("{asked:?}"));
        writeln!(told, "{name}\n  {}", fields.trim_end().replace('\n', "\n  ")).unwrap();
    }
    told
}

#[test]
fn thinking_by_effort() {
    assert_snapshot!(all(ThinkingSupport::Effort { can_be_off: true }), @r#"
    None
      max_tokens: 8000
    Off
      max_tokens: 8000
      thinking: {"type":"disabled"}
    Adaptive
      max_tokens: 8000
      thinking: {"display":"summarized","type":"adaptive"}
    Low
      max_tokens: 8000
      output_config: {"effort":"low"}
      thinking: {"display":"summarized","type":"adaptive"}
    High
      max_tokens: 8000
      output_config: {"effort":"high"}
      thinking: {"display":"summarized","type":"adaptive"}
    Budget { tokens: 500 }
      max_tokens: 8000
      output_config: {"effort":"low"}
      thinking: {"display":"summarized","type":"adaptive"}
    Budget { tokens: 90000 }
      max_tokens: 8000
      output_config: {"effort":"high"}
      thinking: {"display":"summarized","type":"adaptive"}
    "#);
    let always = thinking(ThinkingSupport::Effort { can_be_off: false }, None);
    assert_snapshot!(always.fields(), @r#"
    max_tokens: 8000
    thinking: {"display":"summarized","type":"adaptive"}
    "#);
    let off = thinking(ThinkingSupport::Effort { can_be_off: false }, Some(Thinking::Off));
    assert_snapshot!(off.fields(), @r#"
    max_tokens: 8000
    output_config: {"effort":"low"}
    thinking: {"display":"summarized","type":"adaptive"}
    mended: a model that always thinks is asked for little of it
    "#);
    let mut quiet = thinking(ThinkingSupport::Effort { can_be_off: true }, Some(Thinking::High));
    (quiet.quirks.effort, quiet.quirks.thinking_display) = (false, false);
    assert_snapshot!(quiet.fields(), @r#"
    max_tokens: 8000
    thinking: {"type":"adaptive"}
    "#);
}

#[test]
fn thinking_by_budget() {
    assert_snapshot!(all(BUDGET), @r#"
    None
      max_tokens: 8000
    Off
      max_tokens: 8000
      thinking: {"type":"disabled"}
    Adaptive
      max_tokens: 8000
      thinking: {"budget_tokens":6000,"display":"summarized","type":"enabled"}
    Low
      max_tokens: 8000
      thinking: {"budget_tokens":2048,"display":"summarized","type":"enabled"}
    High
      max_tokens: 8000
      thinking: {"budget_tokens":6000,"display":"summarized","type":"enabled"}
    Budget { tokens: 500 }
      max_tokens: 8000
      thinking: {"budget_tokens":1024,"display":"summarized","type":"enabled"}
    Budget { tokens: 90000 }
      max_tokens: 8000
      thinking: {"budget_tokens":6000,"display":"summarized","type":"enabled"}
    "#);
    for support in [ThinkingSupport::Never, ThinkingSupport::Always] {
        let case = thinking(support, Some(Thinking::High));
        assert!(!case.fields().contains("thinking"), "{support:?}");
    }
}

#[test]
fn a_budget_and_an_answer_share_what_the_model_may_say() {
    let mut told = String::new();
    for (max, cap, budget) in [
        (Some(20_000), 64_000, 8_000),
        (Some(1_000), 64_000, 8_000),
        (Some(1_000), 4_000, 8_000),
        (Some(1_000), 1_200, 8_000),
        (None, 64_000, 32_000),
        (Some(0), 64_000, 1_024),
    ] {
        let asked = Some(Thinking::Budget { tokens: budget });
        let mut case = thinking(BUDGET, asked).profile(|profile| profile.output_cap_tokens = cap);
        case.request.options.max_output_tokens = max;
        let fields = case.fields();
        writeln!(told, "{max:?} of {cap}, {budget}\n  {}", fields.replace('\n', "\n  ").trim_end())
            .unwrap();
    }
    assert_snapshot!(told, @r#"
    Some(20000) of 64000, 8000
      max_tokens: 20000
      thinking: {"budget_tokens":8000,"display":"summarized","type":"enabled"}
    Some(1000) of 64000, 8000
      max_tokens: 9000
      thinking: {"budget_tokens":8000,"display":"summarized","type":"enabled"}
      mended: the answer's cap is raised by what thinking may take
    Some(1000) of 4000, 8000
      max_tokens: 4000
      thinking: {"budget_tokens":3000,"display":"summarized","type":"enabled"}
      mended: the answer's cap is raised by what thinking may take
    Some(1000) of 1200, 8000
      max_tokens: 1000
      thinking: {"type":"disabled"}
      mended: there is no room for thinking in so short an answer
    None of 64000, 32000
      max_tokens: 64000
      thinking: {"budget_tokens":32000,"display":"summarized","type":"enabled"}
    Some(0) of 64000, 1024
      max_tokens: 1025
      thinking: {"budget_tokens":1024,"display":"summarized","type":"enabled"}
      mended: the answer's cap is raised by what thinking may take
    "#);
}

#[test]
fn a_loop_from_elsewhere_is_finished_without_budgeted_thinking() {
    let begun = |blocks: &[Told]| {
        let case = thinking(BUDGET, Some(Thinking::Low)).says("go").own(&[text("Yes.")]);
        case.says("go").own(blocks).results(&[(Status::Success, "1", &[])])
    };
    let call = calls("a", "look", "{}");
    assert_snapshot!(begun(std::slice::from_ref(&call)).fields(), @r#"
    max_tokens: 8000
    thinking: {"type":"disabled"}
    mended: thinking is off until the calls that were made without it are done
    "#);
    let own = begun(&[thinks("Hm.", SIGNED), call.clone()]);
    assert_snapshot!(own.fields(), @r#"
    max_tokens: 8000
    thinking: {"budget_tokens":2048,"display":"summarized","type":"enabled"}
    "#);
    let mixed = own.other(std::slice::from_ref(&call)).results(&[(Status::Success, "2", &[])]);
    assert!(mixed.fields().contains("disabled"));
    let done = mixed.other(&[text("Done.")]).says("next");
    assert!(done.fields().contains("enabled"), "a loop that is done does not count");
    let mut adaptive = begun(&[call]);
    adaptive =
        adaptive.profile(|profile| profile.thinking = ThinkingSupport::Effort { can_be_off: true });
    assert!(adaptive.fields().contains("adaptive"));
}

#[test]
fn tool_choices() {
    let mut told = String::new();
    let only = |name: &str| ToolChoice::Only(name.into());
    let choices =
        [ToolChoice::Free, ToolChoice::Never, ToolChoice::Some, only("files.read"), only("gone")];
    for choice in choices {
        for one_by_one in [false, true] {
            let mut case = Case::new().tools(&["look", "files.read"]).says("hi");
            if one_by_one {
                case = case.profile(|profile| profile.tools = ToolSupport::OneByOne);
            }
            case.request.choice = choice.clone();
            let fields = case.fields();
            let told_of = fields.lines().filter(|line| !line.starts_with("max_tokens"));
            let line = told_of.collect::<Vec<_>>().join("; ");
            writeln!(told, "{choice:?} {}: {line}", if one_by_one { 1 } else { 2 }).unwrap();
        }
    }
    assert_snapshot!(told, @r#"
    Free 2: 
    Free 1: tool_choice: {"disable_parallel_tool_use":true,"type":"auto"}
    Never 2: tool_choice: {"type":"none"}
    Never 1: tool_choice: {"type":"none"}
    Some 2: tool_choice: {"type":"any"}
    Some 1: tool_choice: {"disable_parallel_tool_use":true,"type":"any"}
    Only("files.read") 2: tool_choice: {"name":"files_read","type":"tool"}
    Only("files.read") 1: tool_choice: {"disable_parallel_tool_use":true,"name":"files_read","type":"tool"}
    Only("gone") 2: mended: the model is not forced to call a tool: it cannot be
    Only("gone") 1: tool_choice: {"disable_parallel_tool_use":true,"type":"auto"}; mended: the model is not forced to call a tool: it cannot be
    "#);
    let mut without = Case::new().says("hi");
    without.request.choice = ToolChoice::Some;
    assert!(!without.fields().contains("tool_choice"));
}

#[test]
fn a_model_that_thinks_is_forced_only_where_it_can_be() {
    let forced = |support, asked, quirk| {
        let mut case = thinking(support, asked).tools(&["look"]);
        case.request.choice = ToolChoice::Some;
        case.quirks.forced_choice_with_thinking = quirk;
        case.fields().contains(r#"tool_choice: {"type":"any"}"#)
    };
    let effort = ThinkingSupport::Effort { can_be_off: true };
    assert!(!forced(BUDGET, Some(Thinking::Low), false));
    assert!(forced(BUDGET, None, false));
    assert!(forced(BUDGET, Some(Thinking::Off), false));
    assert!(!forced(effort, None, false), "it may think by itself");
    assert!(forced(effort, Some(Thinking::Off), false));
    assert!(forced(effort, Some(Thinking::High), true));
    assert!(forced(ThinkingSupport::Never, None, false));
    assert!(!forced(ThinkingSupport::Always, None, false));
}

#[test]
fn a_temperature_only_where_it_is_taken() {
    let sent = |change: &dyn Fn(&mut Case)| {
        let mut case = thinking(BUDGET, None);
        case.request.options.temperature_thousandths = Some(700);
        change(&mut case);
        let body: Value = serde_json::from_slice(&case.encoded().body).unwrap();
        body.get("temperature").cloned()
    };
    assert_eq!(sent(&|_| {}), Some(0.7.into()));
    assert_eq!(
        sent(&|case| case.request.options.temperature_thousandths = Some(1_700)),
        Some(1.0.into())
    );
    assert_eq!(sent(&|case| case.quirks.no_temperature = true), None);
    assert_eq!(sent(&|case| case.quirks.anthropic_version = AnthropicVersion::V2026), None);
    assert_eq!(sent(&|case| case.request.options.thinking = Some(Thinking::Low)), None);
    assert_eq!(sent(&|case| case.request.options.thinking = Some(Thinking::Off)), Some(0.7.into()));
    let refuses = |case: &mut Case| {
        Arc::make_mut(&mut case.request.target).profile.temperature = false;
    };
    assert_eq!(sent(&refuses), None);
}

#[test]
fn the_form_of_an_answer() {
    let schema = r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}"#;
    let mut case = thinking(ThinkingSupport::Effort { can_be_off: true }, Some(Thinking::Low));
    case.request.form = AnswerForm::Json { name: "count".into(), schema: schema.into() };
    assert_snapshot!(case.fields(), @r#"
    max_tokens: 8000
    output_config: {"effort":"low","format":{"schema":{"additionalProperties":false,"properties":{"n":{"type":"integer"}},"required":["n"],"type":"object"},"type":"json_schema"}}
    thinking: {"display":"summarized","type":"adaptive"}
    "#);
    let asked = case.system("Be terse.").profile(|profile| profile.json_answers = false);
    assert_snapshot!(asked.fields(), @r#"
    max_tokens: 8000
    output_config: {"effort":"low"}
    system: [{"text":"Be terse.","type":"text"},{"cache_control":{"type":"ephemeral"},"text":"Answer with JSON alone that fits this schema:\n{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}},\"required\":[\"n\"],\"additionalProperties\":false}","type":"text"}]
    thinking: {"display":"summarized","type":"adaptive"}
    mended: the form of the answer is asked for in words
    "#);
}

#[test]
fn a_schema_that_is_no_plain_object_is_mended() {
    let mut case = Case::new().tools(&["look"]).says("hi");
    let mut spec = ToolSpec::clone(case.request.catalogue.get("look").unwrap());
    spec.schema = r#"{"anyOf":[{"properties":{"a":{}}}]}"#.into();
    case.request.catalogue = Arc::new(Catalogue::new(vec![Arc::new(spec)], 0).unwrap());
    let encoded = case.encoded();
    let body: Value = serde_json::from_slice(&encoded.body).unwrap();
    assert_eq!(body["tools"][0]["input_schema"]["type"], "object");
    assert_eq!(
        &*encoded.repairs[0].what,
        "tool look: the root of its schema is sent as a plain object"
    );
}

#[test]
fn a_model_is_held_to_a_strict_schema_if_it_can_be() {
    let strict = |text: &str, holds: bool| {
        let mut case = Case::new().tools(&["look"]).says("hi");
        case = case.profile(|profile| profile.strict_tools = holds);
        let mut spec = ToolSpec::clone(case.request.catalogue.get("look").unwrap());
        (spec.strict, spec.schema) = (true, text.into());
        case.request.catalogue = Arc::new(Catalogue::new(vec![Arc::new(spec)], 0).unwrap());
        let body: Value = serde_json::from_slice(&case.encoded().body).unwrap();
        body["tools"][0].get("strict").cloned()
    };
    let closed = r#"{"type":"object","properties":{},"required":[],"additionalProperties":false}"#;
    assert_eq!(strict(closed, true), Some(true.into()));
    assert_eq!(strict(closed, false), None);
    assert_eq!(strict(r#"{"type":"object","properties":{"a":{}}}"#, true), None);
}

#[test]
fn every_request_names_the_version_that_it_is_written_for() {
    let sent = |version| {
        let mut case = Case::new().says("hello");
        case.quirks.anthropic_version = version;
        case.encoded().headers
    };
    let header = |version: &str| [("anthropic-version", version.to_owned())];
    assert_eq!(sent(AnthropicVersion::V2023), header("2023-06-01"));
    assert_eq!(sent(AnthropicVersion::V2026), header("2026-10-21"));
}
