//! An entry as words alone: for a quote of what is pinned, and for what a recap is written from.

use std::sync::Arc;

use super::Level;
use crate::history::by_seq::BySeq;
use crate::history::entry::Entry;
use crate::history::fact::{Block, Fact};
use crate::history::sections::shared;

/// What an entry says at a level, without thinking. Blocks and results stand apart by `between`;
/// results are those among the entries that it seals.
pub(super) fn words_of(
    fact: &Fact,
    entries: &BySeq<Arc<Entry>>,
    level: Level,
    between: &str,
) -> String {
    let words: Vec<String> = match fact {
        Fact::Input(input) => vec![shared(&input.sections, level).as_ref().to_owned()],
        Fact::Output(output) => {
            let words = output.blocks.iter().filter_map(|block| match block {
                Block::Thinking(_) => None,
                Block::Text(said) => Some(said.text.as_ref().to_owned()),
                Block::ToolCall(call) => Some(format!("→ {} {}", call.name, call.arguments)),
                Block::Foreign(foreign) => Some(foreign.text.as_ref().to_owned()),
            });
            words.collect()
        }
        Fact::ToolResults(sealed) => {
            let results = sealed.results.iter();
            let finished = results.filter_map(|seq| entries.get(*seq)?.fact.as_tool_finished());
            let told = |text: Arc<str>, name: &str| format!("{name}: {text}");
            finished.map(|done| told(shared(&done.result, level), &done.name)).collect()
        }
        Fact::AgentJoined(_)
        | Fact::AgentLeft(_)
        | Fact::InstructionSet(_)
        | Fact::InvocationStarted(_)
        | Fact::InvocationFailed(_)
        | Fact::ToolStarted(_)
        | Fact::ToolFinished(_)
        | Fact::ApprovalAsked(_)
        | Fact::ApprovalGiven(_)
        | Fact::PolicySet(_)
        | Fact::WidgetChanged(_)
        | Fact::AgentCalled(_)
        | Fact::AgentReturned(_)
        | Fact::TimerSet(_)
        | Fact::TimerCleared(_)
        | Fact::TurnEnded(_)
        | Fact::Recap(_)
        | Fact::Pinned(_)
        | Fact::Described(_)
        | Fact::Rewound(_)
        | Fact::Forked(_)
        | Fact::Moved(_)
        | Fact::WorkspaceSet(_)
        | Fact::FileChanged(_)
        | Fact::AuthorityReset(_)
        | Fact::Note(_)
        | Fact::Unrecognised(_) => vec![crate::history::gist(fact)],
    };
    let mut words = words.join(between);
    words.truncate(words.trim_end().len());
    words
}
