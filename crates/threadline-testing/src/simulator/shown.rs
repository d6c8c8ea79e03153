//! What models are shown: no orphans, nothing that was broken off, whatever is durable.

use threadline_core::context::plan::Ask;
use threadline_core::context::{Body, Context, Part, Source, render};
use threadline_core::drive::Gather;
use threadline_core::history::fact::Block;
use threadline_core::id::{AgentId, CallId};

use super::answer::tags;
use super::check::text_of;
use super::world::World;

impl World {
    /// Whatever is durable can be shown to a model.
    pub(super) fn check_prefix(&mut self, agent: AgentId) {
        let history = self.store.history().clone();
        let ask = Ask::bare(agent, 1_000_000);
        match self.store.gather(&Gather { history, unstored: None, ask, catalogue: None }) {
            Ok(material) => self.check_context(&render(&material, &[])),
            Err(error) => self.fail("I-15", error.to_string()),
        }
    }

    /// What a model is about to be shown: no orphans, nothing that was broken off.
    pub(super) fn check_context(&mut self, context: &Context) {
        let mut parts = context.parts.iter().peekable();
        while let Some(part) = parts.next() {
            let next = parts.peek().map(|next| &next.body);
            if let Some(orphan) = orphan(part, next) {
                return self.fail("I-15", orphan);
            }
            if let Body::Results(_) = part.body {
                return self.fail("I-15", "results stand alone".to_owned());
            }
            if let Body::Output(output) = &part.body
                && output.blocks.iter().any(|block| matches!(block, Block::ToolCall(_)))
            {
                parts.next();
            }
            let broken = self.first_broken(part);
            if let Some(number) = broken {
                return self.fail("I-19", format!("broken answer {number} is shown to a model"));
            }
        }
    }

    fn first_broken(&self, part: &Part) -> Option<u64> {
        let is_broken = |number: &u64| self.check.partial.contains(number);
        match &part.body {
            Body::Input(input) => tags(&input.text).find(is_broken),
            Body::Output(output) => {
                output.blocks.iter().flat_map(|block| tags(text_of(block))).find(is_broken)
            }
            Body::Results(_) => None,
        }
    }
}

/// What is wrong with a part and the one after it, if anything is.
fn orphan(part: &Part, next: Option<&Body>) -> Option<String> {
    let (Body::Output(output), Source::Entry(seq)) = (&part.body, part.source) else { return None };
    let calls = output.blocks.iter().filter(|block| matches!(block, Block::ToolCall(_))).count();
    if calls == 0 {
        return None;
    }
    let Some(Body::Results(results)) = next else {
        return Some(format!("the calls of output {seq} have no results"));
    };
    let wanted = (0..).map(|index| CallId::new(seq, index)).take(calls);
    let answered = results.results.iter().map(|result| result.call);
    (!wanted.eq(answered)).then(|| format!("output {seq} has {calls} calls and other results"))
}
