//! Options, tools and forms in, fields out.

use serde_json::Value;
use threadline_core::history::fact::Thinking;
use threadline_core::provider::{AnswerForm, ThinkingSupport, ToolChoice, ToolSupport};

use super::asked::{Case, PLAIN, SCHEMA, line, two_calls};
use crate::json::{Json, get};
use crate::quirks::{
    EffortField, IdRule, MaxTokensField, Quirks, SystemRole, ThinkingBack, ToolChoiceSupport,
};

#[test]
fn tools_are_chosen_as_far_as_the_server_can_be_told() {
    let choices = [
        ToolChoice::Free,
        ToolChoice::Never,
        ToolChoice::Some,
        ToolChoice::Only("files.read".into()),
    ];
    let supports =
        [ToolChoiceSupport::Full, ToolChoiceSupport::NotForced, ToolChoiceSupport::Never];
    let mut told = Vec::new();
    for support in supports {
        for choice in choices.clone() {
            let case = Case::new()
                .says("Hi.")
                .tools(&[("files.read", PLAIN, false)])
                .quirks(|quirks| quirks.tool_choice = support)
                .chooses(choice.clone());
            let body: Json = serde_json::from_slice(&case.encoded().body).unwrap();
            let fields = body.members().unwrap();
            let tools = get(fields, "tools").map_or(0, |tools| tools.items().len());
            let choice = format!("{choice:?} of {tools}");
            let sent = get(fields, "tool_choice").map_or("-".to_owned(), line);
            told.push(format!("{support:?}: {choice}: {sent}: {}.", case.repairs()));
        }
    }
    insta::assert_snapshot!(told.join("\n"), @r#"
    Full: Free of 1: -: .
    Full: Never of 1: "none": .
    Full: Some of 1: "required": .
    Full: Only("files.read") of 1: {"type":"function","function":{"name":"files_read"}}: .
    NotForced: Free of 1: -: .
    NotForced: Never of 1: "none": .
    NotForced: Some of 1: -: the model cannot be made to call a tool: it is left to itself.
    NotForced: Only("files.read") of 1: -: the model cannot be made to call a tool: it is left to itself.
    Never: Free of 1: -: .
    Never: Never of 0: -: .
    Never: Some of 1: -: the model cannot be made to call a tool: it is left to itself.
    Never: Only("files.read") of 1: -: the model cannot be made to call a tool: it is left to itself.
    "#);
    let none = Case::new().says("Hi.").chooses(ToolChoice::Some).quirks(|q| q.parallel_flag = true);
    insta::assert_snapshot!(none.rest(), @r#"{"stream_options":{"include_usage":true}}"#);
}

#[test]
fn a_tool_is_strict_only_in_its_own_schema() {
    let case = |strict_tools| {
        Case::new()
            .says("Hi.")
            .tools(&[("held", SCHEMA, true), ("other", PLAIN, true), ("free", SCHEMA, false)])
            .quirks(|quirks| quirks.strict_field = true)
            .profile(|profile| profile.strict_tools = strict_tools)
    };
    let strict = |case: &Case| {
        let body: Value = serde_json::from_slice(&case.encoded().body).unwrap();
        let tools = body["tools"].as_array().unwrap().clone();
        tools
            .iter()
            .map(|tool| tool["function"]["strict"].to_string())
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(strict(&case(true)), "true false false");
    assert_eq!(strict(&case(false)), "false false false");
    assert_eq!(strict(&case(true).quirks(|quirks| quirks.strict_field = false)), "null null null");
}

#[test]
fn an_answer_can_be_held_to_a_form() {
    let case = || {
        let mut case = Case::new().says("Hi.").profile(|profile| profile.json_answers = true);
        case.request.form = AnswerForm::Json { name: "a form!".into(), schema: SCHEMA.into() };
        case
    };
    insta::assert_snapshot!(case().rest(), @r#"{"response_format":{"type":"json_schema","json_schema":{"name":"a_form_","schema":{"type":"object","properties":{"at":{"type":"string"}},"required":["at"],"additionalProperties":false}}},"stream_options":{"include_usage":true}}"#);
    insta::assert_snapshot!(case().quirks(|quirks| quirks.strict_field = true).rest(), @r#"{"response_format":{"type":"json_schema","json_schema":{"name":"a_form_","schema":{"type":"object","properties":{"at":{"type":"string"}},"required":["at"],"additionalProperties":false},"strict":true}},"stream_options":{"include_usage":true}}"#);
    let cannot = case().profile(|profile| profile.json_answers = false);
    insta::assert_snapshot!(format!("{} {}", cannot.rest(), cannot.repairs()), @r#"{"stream_options":{"include_usage":true}} the model cannot be held to a form: it is not told of it"#);
}

#[test]
fn efforts_are_told_in_the_servers_words() {
    let thinking = [
        None,
        Some(Thinking::Off),
        Some(Thinking::Adaptive),
        Some(Thinking::Low),
        Some(Thinking::High),
        Some(Thinking::Budget { tokens: 8_000 }),
    ];
    let told = |field, support, tools: &[(&str, &str, bool)], no_effort| {
        let each = thinking.map(|thinking| {
            let case = Case::new()
                .says("Hi.")
                .tools(tools)
                .options(|options| options.thinking = thinking)
                .profile(|profile| profile.thinking = support)
                .quirks(|quirks| {
                    quirks.effort_field = field;
                    quirks.tools_need_no_effort = no_effort;
                });
            let body: Value = serde_json::from_slice(&case.encoded().body).unwrap();
            format!("{}/{}", body["reasoning_effort"], body["reasoning"])
        });
        each.join(" ")
    };
    let (effort, always) = (ThinkingSupport::Effort { can_be_off: true }, ThinkingSupport::Always);
    let budget = ThinkingSupport::Budget { least_tokens: 1_024, most_tokens: 4_000 };
    let stubborn = ThinkingSupport::Effort { can_be_off: false };
    let lines = [
        told(EffortField::ReasoningEffort, effort, &[], false),
        told(EffortField::ReasoningEffort, stubborn, &[], true),
        told(EffortField::ReasoningEffort, always, &[], false),
        told(EffortField::ReasoningEffort, effort, &[("look", PLAIN, false)], true),
        told(EffortField::Reasoning, effort, &[], false),
        told(EffortField::Reasoning, budget, &[], false),
        told(EffortField::None, effort, &[], false),
    ];
    insta::assert_snapshot!(lines.join("\n"), @r#"
    null/null "none"/null null/null "low"/null "high"/null "medium"/null
    null/null "low"/null null/null "low"/null "high"/null "medium"/null
    null/null null/null null/null null/null null/null null/null
    "none"/null "none"/null "none"/null "none"/null "none"/null "none"/null
    null/null null/{"effort":"none"} null/null null/{"effort":"low"} null/{"effort":"high"} null/{"effort":"medium"}
    null/null null/{"effort":"low"} null/null null/{"effort":"low"} null/{"effort":"high"} null/{"max_tokens":4000}
    null/null null/null null/null null/null null/null null/null
    "#);
}

#[test]
fn options_go_in_the_fields_that_the_server_knows() {
    let case = || {
        Case::new().says("Hi.").tools(&[("look", PLAIN, false)]).options(|options| {
            options.max_output_tokens = Some(5_000);
            options.temperature_thousandths = Some(700);
        })
    };
    let rest = |case: Case| {
        let rest: Json = serde_json::from_str(&case.rest()).unwrap();
        let mut rest = rest.members().unwrap().clone();
        rest.retain(|(key, _)| key != "tools");
        line(&Json::Object(rest))
    };
    insta::assert_snapshot!(rest(case()), @r#"{"max_tokens":1000,"stream_options":{"include_usage":true}}"#);
    let newer = case().profile(|profile| profile.temperature = true).quirks(|quirks| {
        quirks.max_tokens_field = MaxTokensField::MaxCompletionTokens;
        quirks.parallel_flag = true;
        quirks.cache_key = true;
    });
    insta::assert_snapshot!(rest(newer), @r#"{"parallel_tool_calls":true,"max_completion_tokens":1000,"temperature":0.7,"prompt_cache_key":"conversation/agent","stream_options":{"include_usage":true}}"#);
    let one_by_one = case()
        .profile(|profile| {
            profile.tools = ToolSupport::OneByOne;
            profile.temperature = true;
        })
        .quirks(|quirks| {
            quirks.parallel_flag = true;
            quirks.no_temperature = true;
        });
    insta::assert_snapshot!(rest(one_by_one), @r#"{"parallel_tool_calls":false,"max_tokens":1000,"stream_options":{"include_usage":true}}"#);
}

#[test]
fn each_family_of_servers_has_its_accent() {
    let asked = |change: fn(&mut Quirks)| {
        let case = two_calls("mine")
            .system("Be terse.")
            .screen("12:00")
            .tools(&[("look", PLAIN, false)])
            .options(|options| {
                options.max_output_tokens = Some(64);
                options.thinking = Some(Thinking::Low);
            })
            .quirks(change);
        format!("{}\n{}", case.messages(), case.rest())
    };
    let openai = asked(|quirks| {
        quirks.system_role = SystemRole::Developer;
        quirks.max_tokens_field = MaxTokensField::MaxCompletionTokens;
        quirks.tools_need_no_effort = true;
        quirks.parallel_flag = true;
        quirks.strict_field = true;
        quirks.cache_key = true;
        quirks.content_parts = true;
    });
    insta::assert_snapshot!(openai, @r#"
    {"role":"developer","content":"Be terse."}
    {"role":"user","content":"Look."}
    {"role":"assistant","content":"Looking.","tool_calls":[{"id":"theirs_a","type":"function","function":{"name":"look","arguments":"{\"at\":\"a\"}"}},{"id":"theirs_b","type":"function","function":{"name":"files_read","arguments":"{}"}}]}
    {"role":"tool","tool_call_id":"theirs_a","content":"a dog"}
    {"role":"tool","tool_call_id":"theirs_b","content":"ERROR: no such file"}
    {"role":"user","content":"12:00"}
    {"tools":[{"type":"function","function":{"name":"look","description":"does it","parameters":{"type":"object","properties":{"at":{"type":"string"}}},"strict":false}}],"parallel_tool_calls":true,"max_completion_tokens":64,"reasoning_effort":"none","prompt_cache_key":"conversation/agent","stream_options":{"include_usage":true}}
    "#);
    let deepseek = asked(|quirks| {
        quirks.thinking_back = ThinkingBack::ReasoningContent;
        quirks.thinking_back_required = true;
        quirks.tool_choice = ToolChoiceSupport::NotForced;
    });
    insta::assert_snapshot!(deepseek, @r#"
    {"role":"system","content":"Be terse."}
    {"role":"user","content":"Look."}
    {"role":"assistant","content":"Looking.","reasoning_content":"Both.","tool_calls":[{"id":"theirs_a","type":"function","function":{"name":"look","arguments":"{\"at\":\"a\"}"}},{"id":"theirs_b","type":"function","function":{"name":"files_read","arguments":"{}"}}]}
    {"role":"tool","tool_call_id":"theirs_a","content":"a dog"}
    {"role":"tool","tool_call_id":"theirs_b","content":"ERROR: no such file"}
    {"role":"user","content":"12:00"}
    {"tools":[{"type":"function","function":{"name":"look","description":"does it","parameters":{"type":"object","properties":{"at":{"type":"string"}}}}}],"max_tokens":64,"stream_options":{"include_usage":true}}
    "#);
    let mistral = asked(|quirks| {
        quirks.thinking_back = ThinkingBack::ContentPart;
        quirks.user_after_tool = false;
        quirks.ids = IdRule::NineAlphanumeric;
        quirks.stream_options = false;
    });
    insta::assert_snapshot!(mistral, @r#"
    {"role":"system","content":"Be terse."}
    {"role":"user","content":"Look."}
    {"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"Both."}]},{"type":"text","text":"Looking."}],"tool_calls":[{"id":"000000002","type":"function","function":{"name":"look","arguments":"{\"at\":\"a\"}"}},{"id":"010000002","type":"function","function":{"name":"files_read","arguments":"{}"}}]}
    {"role":"tool","tool_call_id":"000000002","content":"a dog"}
    {"role":"tool","tool_call_id":"010000002","content":"ERROR: no such file\n\n12:00"}
    {"tools":[{"type":"function","function":{"name":"look","description":"does it","parameters":{"type":"object","properties":{"at":{"type":"string"}}}}}],"max_tokens":64}
    "#);
    let openrouter = asked(|quirks| {
        quirks.thinking_back = ThinkingBack::ReasoningDetails;
        quirks.effort_field = EffortField::Reasoning;
    });
    insta::assert_snapshot!(openrouter, @r#"
    {"role":"system","content":"Be terse."}
    {"role":"user","content":"Look."}
    {"role":"assistant","content":"Looking.","reasoning_details":[{"type":"reasoning.text","text":"Both."}],"tool_calls":[{"id":"theirs_a","type":"function","function":{"name":"look","arguments":"{\"at\":\"a\"}"}},{"id":"theirs_b","type":"function","function":{"name":"files_read","arguments":"{}"}}]}
    {"role":"tool","tool_call_id":"theirs_a","content":"a dog"}
    {"role":"tool","tool_call_id":"theirs_b","content":"ERROR: no such file"}
    {"role":"user","content":"12:00"}
    {"tools":[{"type":"function","function":{"name":"look","description":"does it","parameters":{"type":"object","properties":{"at":{"type":"string"}}}}}],"max_tokens":64,"reasoning":{"effort":"low"},"stream_options":{"include_usage":true}}
    "#);
    let ollama = asked(|quirks| {
        quirks.thinking_back = ThinkingBack::Reasoning;
        quirks.effort_field = EffortField::ReasoningEffort;
        quirks.tool_choice = ToolChoiceSupport::Never;
    });
    insta::assert_snapshot!(ollama, @r#"
    {"role":"system","content":"Be terse."}
    {"role":"user","content":"Look."}
    {"role":"assistant","content":"Looking.","reasoning":"Both.","tool_calls":[{"id":"theirs_a","type":"function","function":{"name":"look","arguments":"{\"at\":\"a\"}"}},{"id":"theirs_b","type":"function","function":{"name":"files_read","arguments":"{}"}}]}
    {"role":"tool","tool_call_id":"theirs_a","content":"a dog"}
    {"role":"tool","tool_call_id":"theirs_b","content":"ERROR: no such file"}
    {"role":"user","content":"12:00"}
    {"tools":[{"type":"function","function":{"name":"look","description":"does it","parameters":{"type":"object","properties":{"at":{"type":"string"}}}}}],"max_tokens":64,"reasoning_effort":"low","stream_options":{"include_usage":true}}
    "#);
}
