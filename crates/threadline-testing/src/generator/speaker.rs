//! How models of the different protocols speak: what only one provider understands of an output,
//! and what models get wrong.

use std::sync::Arc;

use serde_json::json;
use threadline_core::history::fact::{Block, Foreign, Invocation, Stop, ThinkingBlock, ToolCall};

use super::scene::Scene;

/// Names that a model makes up and that not every wire takes.
const ODD_NAMES: [&str; 7] = [
    "functions.read_file",
    "read file",
    "文件",
    "9lives",
    "multi_tool_use.parallel",
    "",
    "a_name_that_is_longer_than_the_sixty_four_characters_that_are_taken_everywhere",
];

/// Arguments that are not the text of an object.
const ODD_ARGUMENTS: [&str; 7] = ["", " ", "{\"path\":", "[1,2]", "null", "\"a.rs\"", "{} {}"];

/// Ids that servers really give: repeated, long, or with signs that others do not take.
const ODD_IDS: [&str; 4] = [
    "call_0",
    "functions.read_file:0",
    "",
    "chatcmpl-tool-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
];

impl Scene<'_> {
    /// Turns an output of no model in particular into one of this one.
    pub(super) fn speak_like(&mut self, speaker: &Invocation, stop: Stop, blocks: &mut Vec<Block>) {
        let dialect = &*speaker.dialect;
        let thinks = matches!(blocks.first(), Some(Block::Thinking(_)));
        if thinks && self.choices.percent(15) {
            blocks.insert(0, Block::Thinking(ThinkingBlock { text: "".into(), state: None }));
        }
        for block in blocks.iter_mut() {
            match block {
                Block::Thinking(thinking) => thinking.state = self.thinking_state(dialect),
                Block::Text(text) => text.state = self.text_state(dialect),
                Block::ToolCall(call) => self.call_like(dialect, call),
                Block::Foreign(_) => {}
            }
        }
        blocks.retain(|block| !matches!(block, Block::Foreign(_)));
        let after_thinking =
            blocks.iter().take_while(|at| matches!(at, Block::Thinking(_))).count();
        if stop == Stop::Paused {
            blocks.extend(self.foreign(dialect).into_iter().take(1));
        } else if self.choices.percent(12) {
            let foreign = self.foreign(dialect);
            blocks.splice(after_thinking..after_thinking, foreign);
        }
    }

    /// What goes with a thought; the providers of a chat give nothing.
    fn thinking_state(&mut self, dialect: &str) -> Option<Arc<str>> {
        let opaque = self.write().opaque();
        let redacted = self.choices.percent(15);
        let state = match dialect {
            "anthropic" if redacted => json!({"redacted": opaque}).to_string(),
            "anthropic" => json!({"signature": opaque}).to_string(),
            "openai-responses" => {
                json!({"type": "reasoning", "summary": [], "encrypted_content": opaque}).to_string()
            }
            "gemini" => opaque,
            _ => return None,
        };
        // A stream that broke off left a thought without one.
        self.choices.percent(95).then(|| state.into())
    }

    /// What goes with a text.
    fn text_state(&mut self, dialect: &str) -> Option<Arc<str>> {
        let some = self.choices.percent(30);
        match dialect {
            "openai-responses" if some => Some("{\"phase\":\"commentary\"}".into()),
            "gemini" if some => Some(self.write().opaque().into()),
            _ => None,
        }
    }

    /// A call as this model makes it, now and then with something odd about it.
    fn call_like(&mut self, dialect: &str, call: &mut ToolCall) {
        if dialect == "gemini" {
            call.state = self.choices.percent(60).then(|| self.write().opaque().into());
            call.provider_id = call.provider_id.take().filter(|_| self.choices.percent(50));
        }
        let odd = |scene: &mut Self, from: &[&'static str], percent| {
            if scene.choices.percent(percent) { scene.choices.pick(from).copied() } else { None }
        };
        if let Some(id) = odd(self, &ODD_IDS, 20) {
            call.provider_id = Some(id.into());
        }
        if let Some(name) = odd(self, &ODD_NAMES, 6) {
            call.name = name.into();
        }
        if let Some(arguments) = odd(self, &ODD_ARGUMENTS, 8) {
            call.arguments = arguments.into();
        }
    }

    /// Blocks that only this model's provider understands.
    fn foreign(&mut self, dialect: &str) -> Vec<Block> {
        let id = format!("{:08x}", self.choices.any() >> 32);
        let query = self.write().phrase();
        let blocks = match dialect {
            "anthropic" => vec![
                (
                    "server_tool_use",
                    json!({"type": "server_tool_use", "id": format!("srvtoolu_{id}"),
                    "name": "web_search", "input": {"query": query}}),
                ),
                (
                    "web_search_tool_result",
                    json!({"type": "web_search_tool_result",
                    "tool_use_id": format!("srvtoolu_{id}"), "content": []}),
                ),
            ],
            "openai-responses" => vec![(
                "web_search_call",
                json!({"type": "web_search_call",
                "id": format!("ws_{id}"), "status": "completed",
                "action": {"type": "search", "query": query}}),
            )],
            "gemini" => vec![
                ("executableCode", json!({"executableCode": {"language": "PYTHON", "code": "1"}})),
                (
                    "codeExecutionResult",
                    json!({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}),
                ),
            ],
            _ => vec![("refusal", json!(query))],
        };
        let foreign = blocks.into_iter().map(|(kind, state)| {
            let text = format!("{kind}: {query}").into();
            Block::Foreign(Foreign { kind: kind.into(), text, state: state.to_string().into() })
        });
        foreign.collect()
    }
}
