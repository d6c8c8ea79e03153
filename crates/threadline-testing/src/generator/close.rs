//! Ending turns before they are done: by cancelling, and at the end of a history.

use std::sync::Arc;

use threadline_core::history::fact::{
    Effect, EndReason, FailureKind, InvocationFailed, Status, ToolFinished, ToolResults, TurnEnded,
};
use threadline_core::history::sections::Section;
use threadline_core::history::state::{OpenCall, Stage};
use threadline_core::history::{History, Proposal};
use threadline_core::id::{AgentId, CallId, Seq};

use super::scene::{Scene, propose};

/// How many entries it takes to bring all agents to rest.
pub(super) fn cost(history: &History) -> u64 {
    let agents = history.state().agents.values();
    agents
        .map(|agent| match &agent.stage {
            Stage::Resting => 0,
            Stage::Asked | Stage::Sealed { .. } => 1,
            Stage::Calling(open) => {
                let open = open.calls.iter().filter(|call| call.finished.is_none()).count();
                u64::try_from(open).unwrap_or(u64::MAX).saturating_add(2)
            }
        })
        .sum()
}

impl Scene<'_> {
    /// Brings all agents to rest with exactly [`cost`] entries.
    pub(super) fn close_all(&mut self) -> Vec<Proposal> {
        let agents: Vec<AgentId> = self.in_turn().collect();
        let mut proposals = Vec::new();
        for agent in agents {
            self.close(agent, EndReason::Cancelled, &mut proposals);
        }
        proposals
    }

    /// Cancels an agent's turn in one batch.
    pub(super) fn cancel(&mut self, id: AgentId) -> Vec<Proposal> {
        let mut proposals = Vec::new();
        if let Some(started) = self.history.agent(id).and_then(|agent| agent.invoking) {
            let failed = InvocationFailed {
                started,
                kind: FailureKind::Cancelled,
                message: "cancelled".to_owned(),
                retry: false,
                retry_after_ms: None,
                limit_tokens: None,
                streamed: Vec::new(),
                usage: None,
                cost: None,
            };
            proposals.push(propose(id, failed).because_of(started));
        }
        self.close(id, EndReason::Cancelled, &mut proposals);
        proposals
    }

    fn close(&self, id: AgentId, reason: EndReason, proposals: &mut Vec<Proposal>) {
        let Some(agent) = self.history.agent(id) else { return };
        if let Stage::Calling(open) = &agent.stage {
            let mut results = Vec::new();
            for (call_id, call) in open.calls() {
                let seq = call.finished.as_ref().map(|finished| finished.seq);
                results.push(seq.unwrap_or_else(|| {
                    proposals.push(propose(id, given_up(call_id, call)));
                    self.history.head().plus(u64::try_from(proposals.len()).unwrap_or(u64::MAX))
                }));
            }
            let output: Seq = open.output;
            proposals.push(propose(id, ToolResults { output, results, execute_error: None }));
        }
        let ended = TurnEnded { reason, detail: String::new(), by: Some(Arc::from("ada")) };
        proposals.push(propose(id, ended));
    }
}

/// The end of a call that is no longer waited for.
fn given_up(id: CallId, call: &OpenCall) -> ToolFinished {
    let (status, words) = match call.started.map(|started| started.effect) {
        None => (Status::Skipped, "not started: the turn was cancelled"),
        Some(Effect::Once) => (Status::Unknown, "started, outcome unknown: cancelled"),
        Some(Effect::Read | Effect::Idempotent) => (Status::Failed, "no answer: cancelled"),
    };
    ToolFinished {
        call: id,
        name: Arc::clone(&call.name),
        status,
        result: vec![Section::text(words)],
        attachments: Vec::new(),
        elapsed_ms: 0,
        warnings: Vec::new(),
        error: Some("cancelled".to_owned()),
    }
}
