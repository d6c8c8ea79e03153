//! Long answers as the vendors stream them, generated: thinking, text in pieces of a few words, and
//! calls whose arguments come in many pieces, over and over.
//!
//! The fields are those of real events, and so are their lengths. Same dialect and size, same bytes.

use serde_json::{Value, json};
use threadline_providers::dialect::Dialect;

/// Pieces of thinking, of text and of arguments in one section of an answer.
const PIECES: (usize, usize, usize) = (60, 160, 60);

const WORDS: [&str; 24] = [
    "the",
    "lighthouse",
    "keeps",
    "a",
    "log",
    "of",
    "every",
    "ship",
    "that",
    "passes",
    "at",
    "night",
    "—",
    "including",
    "naïve",
    "\"quoted\"",
    "ones,",
    "and\n",
    "writes",
    "it",
    "down",
    "again",
    "`code`",
    "tomorrow.",
];

/// An answer of about this many bytes.
pub(crate) fn answer(dialect: Dialect, bytes: usize) -> Vec<u8> {
    let mut answer = Answer { dialect, out: Vec::new(), words: 1, events: 0, blocks: 0 };
    answer.begin();
    while answer.out.len() < bytes {
        answer.section();
    }
    answer.end();
    answer.out
}

struct Answer {
    dialect: Dialect,
    out: Vec<u8>,
    /// The state of what chooses words.
    words: u64,
    events: u64,
    blocks: u64,
}

/// What a piece is of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Thinking,
    Text,
    Call,
}

impl Answer {
    fn section(&mut self) {
        let (thoughts, texts, arguments) = PIECES;
        self.block(Of::Thinking, thoughts);
        self.block(Of::Text, texts);
        self.block(Of::Call, arguments);
    }

    fn block(&mut self, of: Of, count: usize) {
        let pieces: Vec<String> = match of {
            Of::Thinking | Of::Text => (0..count).map(|_| self.some_words()).collect(),
            Of::Call => self.arguments(count),
        };
        match self.dialect {
            Dialect::OpenAiChat => self.chat(of, &pieces),
            Dialect::OpenAiResponses => self.responses(of, &pieces),
            Dialect::Anthropic => self.anthropic(of, &pieces),
            Dialect::Gemini => self.gemini(of, &pieces),
        }
        self.blocks += 1;
    }

    fn begin(&mut self) {
        match self.dialect {
            Dialect::OpenAiChat => {
                self.chat_delta(&json!({"role": "assistant", "content": "", "refusal": null}));
            }
            Dialect::OpenAiResponses => {
                let response = response("in_progress", &Value::Null);
                self.named("response.created", json!({"response": response}));
            }
            Dialect::Anthropic => {
                let usage = json!({"input_tokens": 812, "cache_creation_input_tokens": 0,
                    "cache_read_input_tokens": 640, "output_tokens": 1});
                let message = json!({"id": "msg_01QC4g3HwBThD4BaNtBckFDJ", "type": "message",
                    "role": "assistant", "model": "claude-sonnet-4-5-20250929", "content": [],
                    "stop_reason": null, "stop_sequence": null, "usage": usage});
                self.named("message_start", json!({"message": message}));
            }
            Dialect::Gemini => {}
        }
    }

    fn end(&mut self) {
        match self.dialect {
            Dialect::OpenAiChat => {
                let choice = json!({"index": 0, "delta": {}, "logprobs": null,
                    "finish_reason": "tool_calls"});
                self.chat_chunk(&json!([choice]), &Value::Null);
                let usage = json!({"prompt_tokens": 812, "completion_tokens": 5120,
                    "total_tokens": 5932, "prompt_tokens_details": {"cached_tokens": 640}});
                self.chat_chunk(&json!([]), &usage);
                self.out.extend_from_slice(b"data: [DONE]\n\n");
            }
            Dialect::OpenAiResponses => {
                let usage = json!({"input_tokens": 812, "output_tokens": 5120,
                    "input_tokens_details": {"cached_tokens": 640}, "total_tokens": 5932});
                // The vendor repeats the whole answer here. One event of megabytes would measure
                // little but that: the other side reads it anew with every chunk.
                self.named(
                    "response.completed",
                    json!({"response": response("completed", &usage)}),
                );
            }
            Dialect::Anthropic => {
                let delta = json!({"stop_reason": "tool_use", "stop_sequence": null});
                let usage = json!({"output_tokens": 5120});
                self.named("message_delta", json!({"delta": delta, "usage": usage}));
                self.named("message_stop", json!({}));
            }
            Dialect::Gemini => self.gemini_part(&json!({"text": ""}), Some("STOP")),
        }
    }

    fn chat(&mut self, of: Of, pieces: &[String]) {
        let call = self.blocks / 3;
        if of == Of::Call {
            let function = json!({"name": "write_file", "arguments": ""});
            let begun = json!({"index": call, "id": format!("call_{call:024}"),
                "type": "function", "function": function});
            self.chat_delta(&json!({"tool_calls": [begun]}));
        }
        for piece in pieces {
            self.chat_delta(&match of {
                Of::Thinking => json!({"content": null, "reasoning_content": piece}),
                Of::Text => json!({"content": piece}),
                Of::Call => {
                    json!({"tool_calls": [{"index": call, "function": {"arguments": piece}}]})
                }
            });
        }
    }

    fn chat_delta(&mut self, delta: &Value) {
        let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": null});
        self.chat_chunk(&json!([choice]), &Value::Null);
    }

    fn chat_chunk(&mut self, choices: &Value, usage: &Value) {
        let padding = self.padding();
        let data = format!(
            "{{\"id\":\"chatcmpl-DcLQgbFetadY4JFl0fHK0g7OYsCOL\",\
             \"object\":\"chat.completion.chunk\",\"created\":1778031210,\
             \"model\":\"gpt-4o-mini-2024-07-18\",\"service_tier\":\"default\",\
             \"system_fingerprint\":\"fp_57133166c6\",\"choices\":{choices},\
             \"usage\":{usage},\"obfuscation\":\"{padding}\"}}"
        );
        self.event(None, &data);
    }

    fn responses(&mut self, of: Of, pieces: &[String]) {
        let place = self.blocks;
        let whole = pieces.concat();
        let id = format!("msg_0a63f40a2632b74300699f8818e5648196a8fa65{place:08}");
        let item = |status: &str, said: &str| match of {
            Of::Thinking => json!({"id": id, "type": "reasoning", "summary":
                [{"type": "summary_text", "text": said}], "encrypted_content": "gAAAAABpPDIa"}),
            Of::Text => json!({"id": id, "type": "message", "status": status, "role": "assistant",
                "content": [{"type": "output_text", "annotations": [], "text": said}]}),
            Of::Call => json!({"id": id, "type": "function_call", "status": status,
                "call_id": format!("call_{place:024}"), "name": "write_file", "arguments": said}),
        };
        let begun = json!({"output_index": place, "item": item("in_progress", "")});
        self.named("response.output_item.added", begun);
        let (kind, part) = match of {
            Of::Thinking => ("response.reasoning_summary_text", "summary_index"),
            Of::Text => ("response.output_text", "content_index"),
            Of::Call => ("response.function_call_arguments", "content_index"),
        };
        for piece in pieces {
            let padding = self.padding();
            let mut data = json!({"item_id": id, "output_index": place, "delta": piece,
                "obfuscation": padding});
            if let (true, Some(members)) = (of != Of::Call, data.as_object_mut()) {
                members.insert(part.to_owned(), 0.into());
            }
            self.named(&format!("{kind}.delta"), data);
        }
        let last = if of == Of::Call { "arguments" } else { "text" };
        let mut data = json!({"item_id": id, "output_index": place, part: 0});
        if let Some(members) = data.as_object_mut() {
            members.insert(last.to_owned(), whole.as_str().into());
        }
        self.named(&format!("{kind}.done"), data);
        let done = json!({"output_index": place, "item": item("completed", &whole)});
        self.named("response.output_item.done", done);
    }

    fn anthropic(&mut self, of: Of, pieces: &[String]) {
        let index = self.blocks;
        let block = match of {
            Of::Thinking => json!({"type": "thinking", "thinking": "", "signature": ""}),
            Of::Text => json!({"type": "text", "text": ""}),
            Of::Call => json!({"type": "tool_use", "id": format!("toolu_{index:024}"),
                "name": "write_file", "input": {}}),
        };
        self.named("content_block_start", json!({"index": index, "content_block": block}));
        for piece in pieces {
            let delta = match of {
                Of::Thinking => json!({"type": "thinking_delta", "thinking": piece}),
                Of::Text => json!({"type": "text_delta", "text": piece}),
                Of::Call => json!({"type": "input_json_delta", "partial_json": piece}),
            };
            self.named("content_block_delta", json!({"index": index, "delta": delta}));
        }
        if of == Of::Thinking {
            let signed = json!({"type": "signature_delta", "signature": "EqQBCgIYAhIk".repeat(30)});
            self.named("content_block_delta", json!({"index": index, "delta": signed}));
        }
        self.named("content_block_stop", json!({"index": index}));
    }

    /// Calls come whole here.
    fn gemini(&mut self, of: Of, pieces: &[String]) {
        if of == Of::Call {
            let arguments: Value = serde_json::from_str(&pieces.concat()).unwrap_or_default();
            let call = json!({"name": "write_file", "args": arguments});
            let signature = "CiMBjz1rX25KieIB".repeat(40);
            self.gemini_part(&json!({"functionCall": call, "thoughtSignature": signature}), None);
            return;
        }
        for piece in pieces {
            let part = match of {
                Of::Thinking => json!({"text": piece, "thought": true}),
                Of::Text | Of::Call => json!({"text": piece}),
            };
            self.gemini_part(&part, None);
        }
    }

    fn gemini_part(&mut self, part: &Value, finish: Option<&str>) {
        let finish =
            finish.map(|reason| format!("\"finishReason\":\"{reason}\",")).unwrap_or_default();
        let count = self.events * 6;
        let total = count + 812;
        let data = format!(
            "{{\"candidates\":[{{\"content\":{{\"parts\":[{part}],\"role\":\"model\"}},{finish}\
             \"index\":0}}],\"usageMetadata\":{{\"promptTokenCount\":812,\
             \"candidatesTokenCount\":{count},\"totalTokenCount\":{total},\
             \"promptTokensDetails\":[{{\"modality\":\"TEXT\",\"tokenCount\":812}}],\
             \"thoughtsTokenCount\":185}},\"modelVersion\":\"gemini-3-pro-preview\",\
             \"responseId\":\"bH6LaZW8Fp_3nsEPqtaSwQ4\"}}"
        );
        self.event(None, &data);
    }

    /// An event whose name is in its data too, and stands first there.
    fn named(&mut self, name: &str, data: Value) {
        let number = self.events;
        let mut text = vec![format!("{{\"type\":\"{name}\"")];
        if self.dialect == Dialect::OpenAiResponses {
            text.push(format!(",\"sequence_number\":{number}"));
        }
        let Value::Object(members) = data else { return };
        for (key, value) in members {
            text.push(format!(",\"{key}\":{value}"));
        }
        text.push("}".to_owned());
        self.event(Some(name), &text.concat());
    }

    fn event(&mut self, name: Option<&str>, data: &str) {
        if let Some(name) = name {
            self.out.extend_from_slice(format!("event: {name}\n").as_bytes());
        }
        self.out.extend_from_slice(format!("data: {data}\n\n").as_bytes());
        self.events += 1;
    }

    fn some_words(&mut self) -> String {
        let count = 2 + self.number(4);
        (0..count).flat_map(|_| [" ", self.word()]).collect()
    }

    /// The arguments of a call that writes a file, in this many pieces.
    fn arguments(&mut self, count: usize) -> Vec<String> {
        let mut pieces = vec!["{\"path\":\"notes/log.md\",".to_owned(), "\"text\":\"".to_owned()];
        while pieces.len() + 1 < count {
            let words = Value::from(self.some_words()).to_string();
            let inner = words.strip_prefix('"').and_then(|words| words.strip_suffix('"'));
            pieces.extend(inner.map(str::to_owned));
        }
        pieces.push("\"}".to_owned());
        pieces
    }

    /// What the vendor hides the lengths of pieces with.
    fn padding(&mut self) -> &'static str {
        let length = self.number(12);
        "g9SWm2h6JlVzwl".get(..length).unwrap_or_default()
    }

    fn word(&mut self) -> &'static str {
        let place = self.number(WORDS.len());
        WORDS.get(place).copied().unwrap_or_default()
    }

    /// A number below another.
    fn number(&mut self, below: usize) -> usize {
        self.words = self.words.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(self.words >> 33).unwrap_or(0) % below
    }
}

fn response(status: &str, usage: &Value) -> Value {
    json!({"id": "resp_0a63f40a2632b74300699f8818e5648196a8fa657ae8091421", "object": "response",
        "created_at": 1_772_062_745, "status": status, "model": "gpt-5.3-codex", "output": [],
        "service_tier": "auto", "usage": usage})
}
