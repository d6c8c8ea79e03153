//! The server: what a rule depends on beside the dialect.

/// What a rule depends on beside the dialect: the service and the model behind it.
///
/// The default is each dialect's official service at its strictest with histories; what only
/// some of its models refuse in the settings is a switch that is off.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each switch is one fact about a server, and they go together in any way"
)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Top-level fields that it takes beyond the official ones.
    pub extra_fields: Vec<String>,
    /// Chat: fields of a message that it takes beyond the official ones: `reasoning_content`.
    pub message_fields: Vec<String>,
    /// Chat: types of content parts that it takes beyond the official ones: `thinking`.
    pub part_types: Vec<String>,
    /// The media types that it takes.
    pub media: Vec<String>,
    /// Whether media may be named by an address.
    pub remote_media: bool,
    /// The most bytes a body may have.
    pub body_cap: usize,
    /// Responses: the most bytes of an image as text.
    pub image_cap: usize,
    /// Responses: the most bytes of a file as text.
    pub file_cap: usize,
    /// Responses: the most characters of a result.
    pub result_cap: usize,
    /// The longest id of a call, if not the dialect's own.
    pub id_cap: Option<usize>,
    /// The longest name of a tool, if not the dialect's own.
    pub name_cap: Option<usize>,
    /// Chat: whether ids are exactly nine letters and digits, as Mistral wants them.
    pub nine_char_ids: bool,
    /// Chat: whether it knows the role `developer`.
    pub developer_role: bool,
    /// Chat: whether there may be one system message only, at the beginning.
    pub one_system: bool,
    /// Whether the roles have to alternate, beginning with the user.
    pub alternation: bool,
    /// Whether the last word may be the model's own.
    pub prefill: bool,
    /// Chat: whether a user message may follow a tool message, as it must not with Mistral.
    pub user_after_tool: bool,
    /// Chat: whether a tool message holds a string only, as with Ollama.
    pub tool_content_text_only: bool,
    /// Chat: whether a message with calls must say what was thought, as with `DeepSeek`.
    pub thinking_required_back: bool,
    /// Chat: whether `max_tokens` is refused, as by reasoning models.
    pub max_tokens_refused: bool,
    /// Chat: whether tools are refused unless the effort is `none`, as by gpt-5.4 and later.
    pub tools_need_no_effort: bool,
    /// Whether temperature and the like are refused.
    pub sampling_refused: bool,
    /// Whether a call cannot be forced.
    pub forced_choice_refused: bool,
    /// Chat: whether the path names the model, as with Azure's deployments.
    pub model_in_path: bool,
    /// Responses: whether the service keeps nothing, so that nothing may refer to what it kept.
    pub stateless: bool,
    /// Responses: whether a tool has to say whether it is strict.
    pub explicit_strict: bool,
    /// Responses: whether nothing may stand between calls and their outputs, as with `DeepSeek`.
    pub adjacent_results: bool,
    /// Anthropic: the version of the API that the request names.
    pub anthropic_version: AnthropicVersion,
    /// Anthropic: whether a message in the middle may have the role `system`.
    pub system_messages: bool,
    /// Gemini: whether calls of the current turn need a signature, as from Gemini 3 on.
    pub signatures_required: bool,
    /// Gemini: whether a result may carry media in parts of its own, as from Gemini 3 on.
    pub result_parts: bool,
    /// Gemini: whether thinking may be told by level, as from Gemini 3 on.
    pub thinking_level: bool,
}

/// A version of Anthropic's API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnthropicVersion {
    /// `2023-06-01`.
    V2023,
    /// `2026-10-21`, which refuses more.
    V2026,
}

/// The media types that all official services take.
const MEDIA: [&str; 5] = ["image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"];

const MIB: usize = 1024 * 1024;

impl Default for Server {
    fn default() -> Self {
        Self {
            extra_fields: Vec::new(),
            message_fields: Vec::new(),
            part_types: Vec::new(),
            media: MEDIA.map(str::to_owned).to_vec(),
            remote_media: false,
            body_cap: 32_000_000,
            image_cap: 20 * MIB,
            file_cap: 70 * MIB,
            result_cap: 10_485_760,
            id_cap: None,
            name_cap: None,
            nine_char_ids: false,
            developer_role: true,
            one_system: true,
            alternation: true,
            prefill: false,
            user_after_tool: true,
            tool_content_text_only: false,
            thinking_required_back: false,
            max_tokens_refused: false,
            tools_need_no_effort: false,
            sampling_refused: false,
            forced_choice_refused: false,
            model_in_path: false,
            stateless: true,
            explicit_strict: true,
            adjacent_results: false,
            anthropic_version: AnthropicVersion::V2026,
            system_messages: false,
            signatures_required: true,
            result_parts: false,
            thinking_level: true,
        }
    }
}

impl Server {
    /// The official service at its mildest: what it takes from some model in some way.
    ///
    /// For bodies of which nobody knows where they go.
    pub fn lenient() -> Self {
        Self {
            remote_media: true,
            one_system: false,
            alternation: false,
            prefill: true,
            stateless: false,
            explicit_strict: false,
            anthropic_version: AnthropicVersion::V2023,
            system_messages: true,
            signatures_required: false,
            result_parts: true,
            ..Self::default()
        }
    }
}
