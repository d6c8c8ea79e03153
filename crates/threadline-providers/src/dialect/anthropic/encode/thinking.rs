//! How much a model thinks, and what that leaves for its answer.

use threadline_core::history::fact::Thinking;
use threadline_core::provider::{Repair, Request, ThinkingSupport};

use super::super::wire::body::{Block, Display, Message, Role, ThinkingConfig};
use super::repair;
use crate::quirks::Quirks;

/// The least that thinking can be given.
const LEAST_BUDGET: u32 = 1_024;

/// With how much effort it answers, if it is told.
type Level = Option<&'static str>;

/// How much a model thinks and answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Effort {
    pub(super) config: Option<ThinkingConfig>,
    pub(super) level: Level,
    pub(super) max_tokens: u32,
}

impl Effort {
    /// Whether the request itself asks for thinking.
    pub(super) const fn asks(&self) -> bool {
        matches!(
            self.config,
            Some(ThinkingConfig::Enabled { .. } | ThinkingConfig::Adaptive { .. })
        )
    }

    /// Whether the model may think, asked or by itself.
    pub(super) fn may_think(&self, support: ThinkingSupport) -> bool {
        let by_itself = match support {
            ThinkingSupport::Always | ThinkingSupport::Effort { .. } => self.config.is_none(),
            ThinkingSupport::Never | ThinkingSupport::Budget { .. } => false,
        };
        self.asks() || by_itself
    }
}

/// Decides how much a model thinks, by what it can and by what is asked of it.
pub(super) fn effort(
    request: &Request,
    quirks: &Quirks,
    messages: &[Message<'_>],
    repairs: &mut Vec<Repair>,
) -> Effort {
    let profile = &request.target.profile;
    let cap = profile.output_cap_tokens.max(1);
    let max_tokens = request.options.max_output_tokens.unwrap_or(cap).clamp(1, cap);
    let display = quirks.thinking_display.then_some(Display::Summarized);
    let plain = |config| Effort { config, level: None, max_tokens };
    match (profile.thinking, request.options.thinking) {
        (ThinkingSupport::Never | ThinkingSupport::Always, _) => plain(None),
        (ThinkingSupport::Effort { can_be_off }, asked) => {
            let (config, level) = by_effort(can_be_off, asked, display, repairs);
            let level = level.filter(|_| quirks.effort);
            Effort { config, level, max_tokens }
        }
        (ThinkingSupport::Budget { .. }, None) => plain(None),
        (ThinkingSupport::Budget { .. }, Some(Thinking::Off)) => {
            plain(Some(ThinkingConfig::Disabled))
        }
        (ThinkingSupport::Budget { least_tokens, most_tokens }, Some(asked)) => {
            if !begins_with_thinking(messages) {
                let what = "thinking is off until the calls that were made without it are done";
                repairs.push(repair(None, what));
                return plain(Some(ThinkingConfig::Disabled));
            }
            let least = least_tokens.max(LEAST_BUDGET);
            let budget = budget(asked).clamp(least, most_tokens.max(least));
            by_budget(budget, max_tokens, cap, display, repairs)
        }
    }
}

fn by_effort(
    can_be_off: bool,
    asked: Option<Thinking>,
    display: Option<Display>,
    repairs: &mut Vec<Repair>,
) -> (Option<ThinkingConfig>, Level) {
    let adaptive = Some(ThinkingConfig::Adaptive { display });
    match asked {
        // Left to itself: what cannot be off is only asked to be shown.
        None if can_be_off => (None, None),
        None | Some(Thinking::Adaptive) => (adaptive, None),
        Some(Thinking::Off) if can_be_off => (Some(ThinkingConfig::Disabled), None),
        Some(Thinking::Off) => {
            repairs.push(repair(None, "a model that always thinks is asked for little of it"));
            (adaptive, Some("low"))
        }
        Some(Thinking::Low) => (adaptive, Some("low")),
        Some(Thinking::Medium) => (adaptive, Some("medium")),
        Some(Thinking::High) => (adaptive, Some("high")),
        Some(Thinking::Budget { tokens: ..=4_096 }) => (adaptive, Some("low")),
        Some(Thinking::Budget { tokens: ..=16_384 }) => (adaptive, Some("medium")),
        Some(Thinking::Budget { .. }) => (adaptive, Some("high")),
    }
}

/// What a level comes to in tokens.
const fn budget(asked: Thinking) -> u32 {
    match asked {
        Thinking::Off => 0,
        Thinking::Low => 2_048,
        Thinking::Adaptive | Thinking::Medium => 8_192,
        Thinking::High => 24_576,
        Thinking::Budget { tokens } => tokens,
    }
}

/// Thinking counts as part of the answer: the cap is raised for it, or it gets less.
fn by_budget(
    wanted: u32,
    asked: u32,
    cap: u32,
    display: Option<Display>,
    repairs: &mut Vec<Repair>,
) -> Effort {
    let max_tokens = if wanted < asked { asked } else { asked.saturating_add(wanted).min(cap) };
    // The answer itself keeps what was asked for it, or at least a quarter of all.
    let kept = asked.min(max_tokens / 4);
    let budget_tokens = wanted.min(max_tokens - kept);
    if budget_tokens < LEAST_BUDGET {
        repairs.push(repair(None, "there is no room for thinking in so short an answer"));
        let config = Some(ThinkingConfig::Disabled);
        return Effort { config, level: None, max_tokens: asked };
    }
    if max_tokens > asked {
        repairs.push(repair(None, "the answer's cap is raised by what thinking may take"));
    }
    let config = Some(ThinkingConfig::Enabled { budget_tokens, display });
    Effort { config, level: None, max_tokens }
}

/// Whether every message of an open tool loop begins with thinking: with a budget, the protocol
/// wants that, and what another model did or what was dropped does not.
fn begins_with_thinking(messages: &[Message<'_>]) -> bool {
    let is_open = |message: &&Message<'_>| match message.role {
        Role::User => message.content.iter().any(Block::is_result),
        Role::Assistant => true,
    };
    let open = messages.iter().rev().take_while(is_open);
    let mut said = open.filter(|message| message.role == Role::Assistant);
    said.all(|message| message.content.first().is_some_and(Block::is_thinking))
}
