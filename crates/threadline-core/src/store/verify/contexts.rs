//! Compares what models see with snapshots and without: a snapshot must make no difference.

use std::sync::Arc;

use super::Finding;
use crate::context::plan::{Ask, DoesNotFit};
use crate::context::{Context, render};
use crate::history::History;
use crate::id::{AgentId, ConversationId, Seq};
use crate::store::{OpenError, Store, gather, history_with_widgets_at, replayed_with_widgets_at};
use crate::tokens::TokenCounter;
use crate::widget::{Registry, Widgets};

/// The windows that are compared, in tokens: one that leaves out most of a long thread, and one
/// that shows most of it in full.
const WINDOWS: [u64; 2] = [8_192, 1_000_000];

/// Compares every agent's context from the store's snapshots with the one from the entries alone,
/// as the conversation is at an entry.
pub async fn compare_contexts(
    store: &dyn Store,
    id: ConversationId,
    at: Seq,
    counter: &dyn TokenCounter,
    registry: &Arc<Registry>,
) -> Result<Vec<Finding>, OpenError> {
    let stored = history_with_widgets_at(store, id, at, counter, registry).await?;
    let replayed = replayed_with_widgets_at(store, id, at, counter, registry).await?;
    let mut findings = Vec::new();
    for agent in replayed.0.state().agents.keys() {
        for window in WINDOWS {
            let ours = context(store, id, &stored, *agent, window).await?;
            if ours != context(store, id, &replayed, *agent, window).await? {
                let what =
                    format!("the context of agent {agent} is another with a snapshot than without");
                findings.push(Finding { seq: Seq::ZERO, what });
                break;
            }
        }
    }
    Ok(findings)
}

async fn context(
    store: &dyn Store,
    id: ConversationId,
    (history, widgets): &(History, Widgets),
    agent: AgentId,
    window: u64,
) -> Result<Result<Context, DoesNotFit>, OpenError> {
    let ask = Ask { screens: widgets.screens(agent).to_vec(), ..Ask::bare(agent, window) };
    let material = gather(store, id, history, &ask).await?;
    Ok(material.map(|material| render(&material, &ask.screens)))
}
