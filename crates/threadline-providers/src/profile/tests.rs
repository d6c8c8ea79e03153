//! What is known of models: by their names, by their endpoints, by what the user says.

use threadline_core::history::fact::Money;
use threadline_core::provider::{ThinkingSupport, ToolSupport};

use super::description::dollars;
use super::*;
use crate::quirks::{IdRule, SystemRole, ThinkingBack, ToolChoiceSupport};

fn of(provider: &str, model: &str) -> Described {
    let endpoint = Endpoint::usual(provider).unwrap();
    let dialect = endpoint.dialect().unwrap();
    describe(&endpoint, dialect, model, &Description::default()).unwrap()
}

#[test]
fn the_rows_can_be_read() {
    let rows = read(ROWS).unwrap();
    for row in &rows {
        assert!(!row.names.is_empty());
        for provider in &row.providers {
            assert!(endpoint::known(provider).is_some(), "{provider} is no provider");
        }
    }
    assert!(read("[[models]]\nnames = [\"x\"]\nwindow = 5").is_err());
    assert!(read("[[models]]\nnames = [\"x\"]\nquirks = { odd = 5 }").is_err());
    assert!(read("[[models]]\nnames = [\"x\"]\ncounter = \"mine\"").is_err());
}

#[test]
fn what_a_model_can_do_goes_by_its_name() {
    let effort = |can_be_off| ThinkingSupport::Effort { can_be_off };
    for (provider, model, window, thinking, temperature) in [
        ("openai", "gpt-4", 8_192, ThinkingSupport::Never, true),
        ("openai", "gpt-4o-mini", 128_000, ThinkingSupport::Never, true),
        ("openai", "gpt-5-mini", 400_000, effort(false), false),
        ("openai", "gpt-5.1", 400_000, effort(true), false),
        ("openai", "GPT-5.6-sol", 1_050_000, effort(true), false),
        ("openai", "gpt-9", 400_000, effort(true), false),
        ("openai", "ft:somebodys", 8_192, ThinkingSupport::Never, true),
        ("anthropic", "claude-sonnet-5", 1_000_000, effort(true), false),
        ("anthropic", "claude-opus-5-5", 1_000_000, effort(false), false),
        ("anthropic", "claude-sonnet-4-6", 200_000, effort(true), true),
        ("anthropic", "claude-3-5-haiku-latest", 200_000, ThinkingSupport::Never, true),
        ("gemini", "gemini-3-pro-preview", 1_048_576, effort(false), true),
        ("openrouter", "anthropic/claude-sonnet-4.6", 200_000, effort(true), true),
        ("openrouter", "google/gemini-3-pro", 1_048_576, effort(false), true),
        ("ollama", "llama9:7b", 4_096, ThinkingSupport::Never, true),
        ("vllm", "Qwen/Qwen3-8B", 8_192, ThinkingSupport::Always, true),
    ] {
        let profile = of(provider, model).profile;
        assert_eq!(profile.window_tokens, window, "{provider} {model}");
        assert_eq!(profile.thinking, thinking, "{provider} {model}");
        assert_eq!(profile.temperature, temperature, "{provider} {model}");
        assert!(u64::from(profile.output_cap_tokens) < profile.window_tokens);
    }
    let budget = ThinkingSupport::Budget { least_tokens: 128, most_tokens: 32_768 };
    assert_eq!(of("gemini", "gemini-2.5-pro").profile.thinking, budget);
    assert_eq!(&*of("openai", "gpt-4").profile.counter, "cl100k");
    assert_eq!(&*of("openai", "gpt-4.1").profile.counter, "o200k");
}

#[test]
fn the_wire_goes_by_the_endpoint_and_the_name() {
    assert_eq!(of("openai", "o3").quirks.system_role, SystemRole::Developer);
    assert_eq!(of("openai", "gpt-4o").quirks.system_role, SystemRole::System);
    assert!(of("openai", "gpt-5.5").quirks.tools_need_no_effort);
    assert!(!of("openai", "gpt-5.2").quirks.tools_need_no_effort);
    assert!(of("anthropic", "claude-sonnet-5-5").quirks.preserved_thinking);
    assert!(of("anthropic", "claude-next-9").quirks.preserved_thinking);
    assert!(!of("anthropic", "claude-sonnet-5").quirks.preserved_thinking);
    assert!(of("gemini", "gemini-3-flash").quirks.signatures_required);
    assert!(!of("gemini", "gemini-2.5-flash").quirks.thinking_level);
    assert_eq!(of("mistral", "mistral-large-latest").quirks.ids, IdRule::NineAlphanumeric);
    assert_eq!(of("ollama", "qwen3:8b").quirks.tool_choice, ToolChoiceSupport::Never);
    assert!(of("deepseek", "deepseek-chat").quirks.thinking_back_required);
    // What a relay passes on is spoken to as the relay wants it.
    let relayed = of("openrouter", "openai/gpt-5.5").quirks;
    assert_eq!(relayed.system_role, SystemRole::System);
    assert_eq!(relayed.thinking_back, ThinkingBack::ReasoningDetails);
}

#[test]
fn a_name_tells_whose_a_model_is() {
    assert!(
        has("openai", "gpt-4o") && has("anthropic", "claude-9") && has("mistral", "mistral-small")
    );
    for (provider, model) in [
        ("openai", "gpt-oss:20b"),
        ("deepseek", "deepseek-r1:8b"),
        ("openai", "claude-9"),
        ("groq", "anything"),
        ("openai", ""),
    ] {
        assert!(!has(provider, model), "{provider} {model}");
    }
}

#[test]
fn a_chat_takes_no_media_in_results() {
    let endpoint = Endpoint::usual("openai").unwrap();
    let in_results = |dialect| {
        let described = describe(&endpoint, dialect, "gpt-5", &Description::default()).unwrap();
        described.profile.media.iter().any(|media| media.in_results)
    };
    assert!(in_results(Dialect::OpenAiResponses));
    assert!(!in_results(Dialect::OpenAiChat));
}

#[test]
fn what_the_user_says_beats_all_else() {
    let own: Description = toml::from_str(
        "window_tokens = 3000
         tools = \"none\"
         prices = [{ input = \"1\", output = \"2.5\" }]
         quirks = { system_role = \"system\" }",
    )
    .unwrap();
    let endpoint = Endpoint::usual("openai").unwrap();
    let described = describe(&endpoint, Dialect::OpenAiChat, "gpt-5", &own).unwrap();
    assert_eq!(described.profile.window_tokens, 3_000);
    assert_eq!(described.profile.output_cap_tokens, 1_500);
    assert_eq!(described.profile.tools, ToolSupport::None);
    assert_eq!(described.profile.prices[0].output, Money(2_500_000_000));
    assert_eq!(described.quirks.system_role, SystemRole::System);
    assert!(described.quirks.effort);
    for wrong in [
        "window_tokens = 0",
        "factor_percent = 101",
        "quirks = { ids = \"any\" }",
        "prices = [{ input = \"1,5\", output = \"2\" }]",
        "prices = [{ input = \"1\", output = \"2\" }, { input = \"1\", output = \"2\" }]",
    ] {
        let own: Description = toml::from_str(wrong).unwrap();
        assert!(own.check().is_err(), "{wrong}");
    }
}

#[test]
fn dollars_are_exact() {
    for (text, billionths) in [
        ("0", 0),
        ("2", 2_000_000_000),
        ("0.5", 500_000_000),
        ("0.000000001", 1),
        ("18446744073", 18_446_744_073_000_000_000),
    ] {
        assert_eq!(dollars(text), Ok(Money(billionths)), "{text}");
    }
    for text in ["", ".", "1.", ".5", "-1", "1e3", "1,5", "0.0000000001", "18446744074", "$1", " 1"]
    {
        assert!(dollars(text).is_err(), "{text}");
    }
}
