//! Live screens as they were attached: those of each agent's newest turn.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{ChangeRefused, Widgets};
use crate::clock::Timestamp;
use crate::history::History;
use crate::history::entry::Entry;
use crate::history::fact::Fact;
use crate::history::state::Agent;
use crate::id::{AgentId, Seq};
use crate::tokens::TokenCounter;

/// A live screen and the entry it was attached to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attached {
    /// The input that began the turn, or results in it.
    pub seq: Seq,
    /// The screen, heading included.
    pub text: Arc<str>,
    /// The tokens it takes.
    pub tokens: u32,
}

/// The screens of each agent's newest turn, oldest first.
///
/// What a model was shown stays as it was sent until the next turn begins; then all of it goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Screens(BTreeMap<AgentId, Arc<Vec<Attached>>>);

impl Screens {
    /// The screens of an agent's newest turn.
    pub(super) fn of(&self, agent: AgentId) -> &[Attached] {
        self.0.get(&agent).map_or(&[], |attached| attached)
    }

    fn last(&self, agent: AgentId) -> Option<&Attached> {
        self.of(agent).last()
    }
}

/// What becomes of an agent's screens by one fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Showing {
    begins: bool,
    pub(super) screen: Option<(Arc<str>, u32)>,
}

impl Widgets {
    /// What becomes of an agent's screens when a fact follows a history; none if nothing does.
    ///
    /// A screen is attached to the input that begins a turn, and within it to results if it has
    /// changed since. It shows the time of the entry.
    pub fn showing(
        &self,
        history: &History,
        agent: AgentId,
        fact: &Fact,
        at: Timestamp,
        counter: &dyn TokenCounter,
    ) -> Option<Showing> {
        let taken_back = |agent: &Agent| agent.open_calls().any(|(_, call)| call.withdrawn);
        // A timer that wakes the agent has fired when the agent reads its screen.
        let (begins, fired) = match fact {
            Fact::Input(_) if history.agent(agent)?.in_turn() => return None,
            Fact::Input(input) => (true, input.from.timer()),
            // Calls that were taken back are sealed for the record: no model reads on from there.
            Fact::ToolResults(_) if history.agent(agent).is_some_and(taken_back) => return None,
            Fact::ToolResults(_) => (false, None),
            Fact::AgentJoined(_)
            | Fact::AgentLeft(_)
            | Fact::InstructionSet(_)
            | Fact::Output(_)
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
            | Fact::Unrecognised(_) => return None,
        };
        let text = self.screen(history, agent, at, fired);
        let last = self.screens.last(agent).filter(|_| !begins);
        let new = text.filter(|text| last.is_none_or(|last| *last.text != **text));
        let screen = new.map(|text| (counter.count(&text), Arc::from(text)));
        let screen = screen.map(|(tokens, text)| (text, tokens));
        (begins || screen.is_some()).then_some(Showing { begins, screen })
    }

    /// Takes in what became of an agent's screens by an entry.
    pub fn show(&mut self, agent: AgentId, seq: Seq, showing: Showing) {
        let attached = Arc::make_mut(self.screens.0.entry(agent).or_default());
        if showing.begins {
            attached.clear();
        }
        if let Some((text, tokens)) = showing.screen {
            attached.push(Attached { seq, text, tokens });
        }
    }

    /// Takes in an entry that follows a history on its path: a widget's change, and the screen
    /// that is attached to it.
    pub fn follow(
        &mut self,
        history: &History,
        entry: &Entry,
        counter: &dyn TokenCounter,
    ) -> Result<(), ChangeRefused> {
        self.apply(entry)?;
        if let Some(showing) = self.showing(history, entry.agent, &entry.fact, entry.at, counter) {
            self.show(entry.agent, entry.seq, showing);
        }
        Ok(())
    }

    /// The live screens of an agent's newest turn, oldest first.
    pub fn screens(&self, agent: AgentId) -> &[Attached] {
        self.screens.of(agent)
    }
}
