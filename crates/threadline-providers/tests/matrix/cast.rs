//! The models of the matrix, and what their services refuse, written down by hand.

use std::sync::Arc;

use threadline_core::provider::Target;
use threadline_providers::dialect::Dialect;
use threadline_providers::endpoint::Endpoint;
use threadline_providers::profile::{self, Description};
use threadline_providers::quirks::Quirks;
use threadline_testing::validator::{AnthropicVersion, Server};

/// A model that histories come from and go to.
pub(crate) struct Actor {
    pub(crate) dialect: Dialect,
    pub(crate) target: Arc<Target>,
    pub(crate) quirks: Quirks,
    /// What its service takes: not derived from what we know as its quirks.
    pub(crate) server: Server,
}

/// Every model of the matrix.
pub(crate) fn all() -> Vec<Actor> {
    let chat = |provider, model, server| actor(provider, Dialect::OpenAiChat, model, server);
    let responses =
        |provider, model, server| actor(provider, Dialect::OpenAiResponses, model, server);
    let claude = |model, server| actor("anthropic", Dialect::Anthropic, model, server);
    let gemini = |model, server| actor("gemini", Dialect::Gemini, model, server);
    let plain = || Server { developer_role: false, ..Server::default() };
    let old = || Server { anthropic_version: AnthropicVersion::V2023, ..Server::default() };
    let strict = || Server { sampling_refused: true, forced_choice_refused: true, ..old() };
    let second = || Server {
        signatures_required: false,
        result_parts: false,
        thinking_level: false,
        ..Server::default()
    };
    vec![
        chat("openai", "gpt-4.1", Server::default()),
        chat("openai", "gpt-5.6", reasoning(true)),
        chat("openai", "o4-mini", reasoning(false)),
        chat("mistral", "mistral-large-latest", mistral()),
        chat("mistral", "magistral-medium-latest", mistral()),
        chat("deepseek", "deepseek-reasoner", deepseek()),
        chat("ollama", "qwen3:8b", ollama()),
        chat("vllm", "some-model", with_fields(plain(), &["reasoning"])),
        chat("llama.cpp", "smollm2", with_fields(plain(), &["reasoning_content"])),
        chat("groq", "openai/gpt-oss-120b", with_fields(plain(), &["reasoning"])),
        chat("openrouter", "anthropic/claude-sonnet-4.5", openrouter()),
        responses("openai", "gpt-5.6", Server { sampling_refused: true, ..Server::default() }),
        responses("openai", "gpt-4.1", Server::default()),
        claude("claude-opus-5-5", strict()),
        claude("claude-sonnet-4-6", old()),
        claude("claude-haiku-4-5", old()),
        gemini("gemini-3-pro-preview", Server { result_parts: true, ..Server::default() }),
        gemini("gemini-2.5-flash", second()),
    ]
}

fn reasoning(tools_need_no_effort: bool) -> Server {
    let (max_tokens_refused, sampling_refused) = (true, true);
    Server { max_tokens_refused, sampling_refused, tools_need_no_effort, ..Server::default() }
}

fn mistral() -> Server {
    Server {
        nine_char_ids: true,
        user_after_tool: false,
        developer_role: false,
        part_types: vec!["thinking".to_owned()],
        ..Server::default()
    }
}

fn deepseek() -> Server {
    let server = Server {
        thinking_required_back: true,
        forced_choice_refused: true,
        developer_role: false,
        media: Vec::new(),
        ..Server::default()
    };
    with_fields(server, &["reasoning_content"])
}

fn ollama() -> Server {
    let media = ["image/png", "image/jpeg", "image/webp"].map(str::to_owned).to_vec();
    let server =
        Server { tool_content_text_only: true, developer_role: false, media, ..Server::default() };
    with_fields(server, &["reasoning"])
}

fn openrouter() -> Server {
    let extra_fields = vec!["reasoning".to_owned(), "usage".to_owned()];
    let server = Server { developer_role: false, extra_fields, ..Server::default() };
    with_fields(server, &["reasoning", "reasoning_details"])
}

fn with_fields(server: Server, fields: &[&str]) -> Server {
    Server { message_fields: fields.iter().map(|field| (*field).to_owned()).collect(), ..server }
}

fn actor(provider: &str, dialect: Dialect, model: &str, server: Server) -> Actor {
    let endpoint = Endpoint::usual(provider).expect("a provider that is known");
    let described = profile::describe(&endpoint, dialect, model, &Description::default());
    let described = described.expect("a model that can be described");
    let target = Target {
        name: format!("{provider}/{model}").into(),
        invocation: endpoint.invocation(dialect, model),
        profile: described.profile,
        unusable: None,
    };
    Actor { dialect, target: Arc::new(target), quirks: described.quirks, server }
}
