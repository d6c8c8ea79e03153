//! How a Gemini model is told to think.

use threadline_core::history::fact::Thinking;
use threadline_core::provider::ThinkingSupport;

use super::wire::ThinkingConfig;
use crate::quirks::Quirks;

/// The budgets of little, some and much effort.
const EFFORT_TOKENS: [u32; 3] = [1_024, 8_192, 24_576];
/// Leaves the budget to the model.
const DYNAMIC: i64 = -1;

/// What is said of thinking; nothing to a model that does not think.
pub(super) fn config(
    support: ThinkingSupport,
    thinking: Option<Thinking>,
    quirks: &Quirks,
) -> Option<ThinkingConfig> {
    let shown = ThinkingConfig { include_thoughts: true, ..ThinkingConfig::default() };
    let told = match (support, thinking) {
        (ThinkingSupport::Never, _) => return None,
        (ThinkingSupport::Always, _) | (_, None) => shown,
        (ThinkingSupport::Effort { .. } | ThinkingSupport::Budget { .. }, Some(thinking)) => {
            if quirks.thinking_level {
                ThinkingConfig { thinking_level: level(thinking), ..shown }
            } else {
                let thinking_budget = Some(budget(support, thinking));
                // Thoughts cannot be asked for where there are none.
                let include_thoughts = thinking_budget != Some(0);
                ThinkingConfig { thinking_budget, include_thoughts, ..shown }
            }
        }
    };
    Some(told)
}

/// The level; none leaves it to the model. It cannot be told not to think at all.
const fn level(thinking: Thinking) -> Option<&'static str> {
    let [low, medium, _] = EFFORT_TOKENS;
    match thinking {
        Thinking::Adaptive => None,
        Thinking::Off => Some("MINIMAL"),
        Thinking::Low => Some("LOW"),
        Thinking::Medium => Some("MEDIUM"),
        Thinking::High => Some("HIGH"),
        Thinking::Budget { tokens } if tokens <= low => Some("LOW"),
        Thinking::Budget { tokens } if tokens <= medium => Some("MEDIUM"),
        Thinking::Budget { .. } => Some("HIGH"),
    }
}

/// The budget, within what the model can be given.
fn budget(support: ThinkingSupport, thinking: Thinking) -> i64 {
    let [low, medium, high] = EFFORT_TOKENS;
    let tokens = match thinking {
        Thinking::Adaptive => return DYNAMIC,
        Thinking::Off => 0,
        Thinking::Low => low,
        Thinking::Medium => medium,
        Thinking::High => high,
        Thinking::Budget { tokens } => tokens,
    };
    match support {
        ThinkingSupport::Budget { least_tokens, most_tokens } => {
            tokens.min(most_tokens).max(least_tokens).into()
        }
        ThinkingSupport::Effort { can_be_off: false } if tokens == 0 => DYNAMIC,
        ThinkingSupport::Never | ThinkingSupport::Always | ThinkingSupport::Effort { .. } => {
            tokens.into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLASH: ThinkingSupport = ThinkingSupport::Budget { least_tokens: 0, most_tokens: 20_000 };
    const PRO: ThinkingSupport = ThinkingSupport::Budget { least_tokens: 128, most_tokens: 32_768 };
    const EFFORT: ThinkingSupport = ThinkingSupport::Effort { can_be_off: false };

    fn told(support: ThinkingSupport, thinking: Option<Thinking>, by_level: bool) -> String {
        let quirks = Quirks { thinking_level: by_level, ..Quirks::default() };
        serde_json::to_string(&config(support, thinking, &quirks)).unwrap()
    }

    #[test]
    fn a_budget_stays_within_what_the_model_takes() {
        let told = |support, thinking| told(support, Some(thinking), false);
        assert_eq!(told(FLASH, Thinking::Off), r#"{"thinkingBudget":0}"#);
        assert_eq!(told(PRO, Thinking::Off), r#"{"thinkingBudget":128,"includeThoughts":true}"#);
        let high = r#"{"thinkingBudget":20000,"includeThoughts":true}"#;
        assert_eq!(told(FLASH, Thinking::High), high);
        let dynamic = r#"{"thinkingBudget":-1,"includeThoughts":true}"#;
        assert_eq!(told(FLASH, Thinking::Adaptive), dynamic);
        assert_eq!(told(EFFORT, Thinking::Off), dynamic);
        let some = r#"{"thinkingBudget":700,"includeThoughts":true}"#;
        assert_eq!(told(PRO, Thinking::Budget { tokens: 700 }), some);
    }

    #[test]
    fn a_level_comes_without_a_budget() {
        let level = |thinking| level(thinking);
        assert_eq!(level(Thinking::Off), Some("MINIMAL"));
        assert_eq!(level(Thinking::Budget { tokens: 500 }), Some("LOW"));
        assert_eq!(level(Thinking::Budget { tokens: 5_000 }), Some("MEDIUM"));
        assert_eq!(level(Thinking::Budget { tokens: 50_000 }), Some("HIGH"));
        let low = r#"{"thinkingLevel":"LOW","includeThoughts":true}"#;
        assert_eq!(told(EFFORT, Some(Thinking::Low), true), low);
        assert_eq!(told(EFFORT, Some(Thinking::Adaptive), true), r#"{"includeThoughts":true}"#);
    }

    #[test]
    fn what_cannot_be_told_is_not() {
        assert_eq!(told(ThinkingSupport::Never, Some(Thinking::High), true), "null");
        let shown = r#"{"includeThoughts":true}"#;
        assert_eq!(told(ThinkingSupport::Always, Some(Thinking::High), false), shown);
        assert_eq!(told(EFFORT, None, true), shown);
    }
}
