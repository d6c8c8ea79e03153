//! Contexts in, messages out.

use threadline_core::history::fact::{Block, Foreign, Status};

use super::asked::{Case, IMAGE, PDF, PLAIN, WAV, calls, line, sees, text, thinks, two_calls};
use crate::json::{Json, get};
use crate::quirks::ThinkingBack;

#[test]
fn plain_text() {
    let case = Case::new().system("Be terse.").says("Hi.");
    insta::assert_snapshot!(case.body(), @r#"
    {
      "model": "mine",
      "messages": [
        {
          "role": "system",
          "content": "Be terse."
        },
        {
          "role": "user",
          "content": "Hi."
        }
      ],
      "stream": true,
      "stream_options": {
        "include_usage": true
      }
    }
    "#);
    let bytes = String::from_utf8(case.encoded().body).unwrap();
    insta::assert_snapshot!(bytes, @r#"{"model":"mine","messages":[{"role":"system","content":"Be terse."},{"role":"user","content":"Hi."}],"stream":true,"stream_options":{"include_usage":true}}"#);
}

#[test]
fn media_go_with_the_text() {
    let attached = [IMAGE, (PDF, "application/pdf", None), (WAV, "audio/wav", None)];
    let case = Case::new().profile(sees).attaches("What is it?", &attached);
    insta::assert_snapshot!(case.messages(), @r#"{"role":"user","content":[{"type":"text","text":"What is it?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}},{"type":"file","file":{"filename":"document.pdf","file_data":"data:application/pdf;base64,JVBERi0xLjc="}},{"type":"input_audio","input_audio":{"data":"UklGRg==","format":"wav"}}]}"#);
    let named = [(PDF, "application/pdf", Some("a.pdf"))];
    insta::assert_snapshot!(Case::new().profile(sees).attaches("", &named).messages(), @r#"{"role":"user","content":[{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERi0xLjc="}}]}"#);
}

#[test]
fn calls_side_by_side_and_their_results() {
    let case = two_calls("mine").tools(&[("look", PLAIN, false), ("files.read", "{}", false)]);
    insta::assert_snapshot!(case.body(), @r#"
    {
      "model": "mine",
      "messages": [
        {
          "role": "user",
          "content": "Look."
        },
        {
          "role": "assistant",
          "content": "Looking.",
          "tool_calls": [
            {
              "id": "theirs_a",
              "type": "function",
              "function": {
                "name": "look",
                "arguments": "{\"at\":\"a\"}"
              }
            },
            {
              "id": "theirs_b",
              "type": "function",
              "function": {
                "name": "files_read",
                "arguments": "{}"
              }
            }
          ]
        },
        {
          "role": "tool",
          "tool_call_id": "theirs_a",
          "content": "a dog"
        },
        {
          "role": "tool",
          "tool_call_id": "theirs_b",
          "content": "ERROR: no such file"
        }
      ],
      "tools": [
        {
          "type": "function",
          "function": {
            "name": "look",
            "description": "does it",
            "parameters": {
              "type": "object",
              "properties": {
                "at": {
                  "type": "string"
                }
              }
            }
          }
        },
        {
          "type": "function",
          "function": {
            "name": "files_read",
            "description": "does it",
            "parameters": {
              "type": "object",
              "properties": {}
            }
          }
        }
      ],
      "stream": true,
      "stream_options": {
        "include_usage": true
      }
    }
    "#);
    insta::assert_snapshot!(case.repairs(), @"tool files.read: the root of its schema is sent as a plain object");
    let silent = Case::new()
        .says("Look.")
        .output("mine", vec![calls("a", "look", "{}")])
        .results(&[(Status::Unknown, "", &[])]);
    insta::assert_snapshot!(silent.messages(), @r#"
    {"role":"user","content":"Look."}
    {"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"look","arguments":"{}"}}]}
    {"role":"tool","tool_call_id":"a","content":"ERROR: it failed and said nothing"}
    "#);
}

#[test]
fn thinking_goes_back_to_its_origin_only() {
    let forms = [
        ThinkingBack::Nowhere,
        ThinkingBack::ReasoningContent,
        ThinkingBack::Reasoning,
        ThinkingBack::ReasoningDetails,
        ThinkingBack::ContentPart,
    ];
    let said = |model: &str, back, required| {
        let case = two_calls(model).quirks(|quirks| {
            quirks.thinking_back = back;
            quirks.thinking_back_required = required;
        });
        let message = case.messages().lines().nth(1).unwrap().to_owned();
        let message: Json = serde_json::from_str(&message).unwrap();
        let mut message = message.members().unwrap().clone();
        assert_eq!(get(&message, "tool_calls").unwrap().items().len(), 2);
        message.retain(|(key, _)| key != "tool_calls" && key != "role");
        format!("{back:?}: {}", line(&Json::Object(message)))
    };
    let own = forms.map(|back| said("mine", back, false)).join("\n");
    insta::assert_snapshot!(own, @r#"
    Nowhere: {"content":"Looking."}
    ReasoningContent: {"content":"Looking.","reasoning_content":"Both."}
    Reasoning: {"content":"Looking.","reasoning":"Both."}
    ReasoningDetails: {"content":"Looking.","reasoning_details":[{"type":"reasoning.text","text":"Both."}]}
    ContentPart: {"content":[{"type":"thinking","thinking":[{"type":"text","text":"Both."}]},{"type":"text","text":"Looking."}]}
    "#);
    let foreign = forms.map(|back| said("other", back, false)).join("\n");
    insta::assert_snapshot!(foreign, @r#"
    Nowhere: {"content":"Looking."}
    ReasoningContent: {"content":"Looking."}
    Reasoning: {"content":"Looking."}
    ReasoningDetails: {"content":"Looking."}
    ContentPart: {"content":"Looking."}
    "#);
    let required = forms.map(|back| said("other", back, true)).join("\n");
    insta::assert_snapshot!(required, @r#"
    Nowhere: {"content":"Looking."}
    ReasoningContent: {"content":"Looking.","reasoning_content":""}
    Reasoning: {"content":"Looking.","reasoning":""}
    ReasoningDetails: {"content":"Looking."}
    ContentPart: {"content":"Looking."}
    "#);
    let bare = Case::new()
        .says("Hi.")
        .output("mine", vec![thinks("Hm.", None), text("Yes."), text("And no.")])
        .says("So?")
        .quirks(|quirks| quirks.thinking_back = ThinkingBack::ReasoningDetails);
    insta::assert_snapshot!(bare.messages(), @r#"
    {"role":"user","content":"Hi."}
    {"role":"assistant","content":"Yes.\n\nAnd no.","reasoning":"Hm."}
    {"role":"user","content":"So?"}
    "#);
}

#[test]
fn what_only_others_understand_is_left_out() {
    let foreign = |kind: &str, state: &str| {
        Block::Foreign(Foreign { kind: kind.into(), text: "".into(), state: state.into() })
    };
    let case = Case::new()
        .says("Hi.")
        .output("mine", vec![foreign("refusal", "\"No.\""), foreign("search", "{}")])
        .says("Why?");
    insta::assert_snapshot!(case.messages(), @r#"
    {"role":"user","content":"Hi."}
    {"role":"assistant","content":"No."}
    {"role":"user","content":"Why?"}
    "#);
}

#[test]
fn the_screen_comes_last() {
    let shown = || two_calls("mine").screen("# [Live Screen]\n\n12:00");
    insta::assert_snapshot!(shown().messages().lines().skip(2).collect::<Vec<_>>().join("\n"), @r##"
    {"role":"tool","tool_call_id":"theirs_a","content":"a dog"}
    {"role":"tool","tool_call_id":"theirs_b","content":"ERROR: no such file"}
    {"role":"user","content":"# [Live Screen]\n\n12:00"}
    "##);
    let appended = shown().quirks(|quirks| quirks.user_after_tool = false);
    insta::assert_snapshot!(appended.messages().lines().skip(2).collect::<Vec<_>>().join("\n"), @r#"
    {"role":"tool","tool_call_id":"theirs_a","content":"a dog"}
    {"role":"tool","tool_call_id":"theirs_b","content":"ERROR: no such file\n\n# [Live Screen]\n\n12:00"}
    "#);
    let first = || Case::new().says("Hi.").screen("12:00");
    insta::assert_snapshot!(first().messages(), @r#"{"role":"user","content":"Hi.\n\n12:00"}"#);
    insta::assert_snapshot!(first().quirks(|quirks| quirks.content_parts = true).messages(), @r#"{"role":"user","content":[{"type":"text","text":"Hi."},{"type":"text","text":"12:00"}]}"#);
    let one = Case::new().says("Hi.").quirks(|quirks| quirks.content_parts = true);
    insta::assert_snapshot!(one.messages(), @r#"{"role":"user","content":"Hi."}"#);
}

#[test]
fn media_of_results_follow_them_or_are_named() {
    let case = || {
        Case::new()
            .profile(sees)
            .says("Look.")
            .output("mine", vec![calls("a", "look", "{}")])
            .results(&[(Status::Success, "here", &[IMAGE])])
    };
    insta::assert_snapshot!(case().messages().lines().skip(2).collect::<Vec<_>>().join("\n"), @r#"
    {"role":"tool","tool_call_id":"a","content":"here\n[dog.png: image/png, 8 bytes, shown below]"}
    {"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]}
    "#);
    let named =
        case().attaches("And this?", &[IMAGE]).quirks(|quirks| quirks.user_after_tool = false);
    insta::assert_snapshot!(named.messages().lines().skip(2).collect::<Vec<_>>().join("\n"), @r#"{"role":"tool","tool_call_id":"a","content":"here\n[dog.png: image/png, 8 bytes, not shown]\n\nAnd this?\n\n[dog.png: image/png, 8 bytes, not shown]"}"#);
    insta::assert_snapshot!(named.repairs(), @"an attachment after results is only named: the server takes none there");
    let inside = case().profile(|profile| profile.media[0].in_results = true);
    insta::assert_snapshot!(inside.messages().lines().skip(2).collect::<Vec<_>>().join("\n"), @r#"{"role":"tool","tool_call_id":"a","content":[{"type":"text","text":"here"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]}"#);
}
