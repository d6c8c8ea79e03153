//! A call that a person is asked about, wherever they are.

mod arguments;

use std::sync::Arc;

use threadline_core::clock::Timestamp;
use threadline_core::drive::Toolset;
use threadline_core::history::fact::{Answer, Approver, Digest, Effect, Fact, PolicySet, Verdict};
use threadline_core::id::{AgentId, CallId, ConversationId};
use threadline_core::inbox::Body;
use threadline_core::policy::Patterns;
use threadline_core::store;
use threadline_core::tool::{Handling, ToolSpec};

use self::arguments::{Shown, shown, text_of};
use crate::compose::Parts;
use crate::config::environment::variable;
use crate::view::{Line, View, counted};

/// A call that a person is asked about.
pub(super) struct Question {
    pub(super) call: CallId,
    /// Whose call it is.
    pub(super) agent: AgentId,
    /// What that agent is called.
    pub(super) name: Arc<str>,
    pub(super) tool: Arc<ToolSpec>,
    /// The very arguments that it would run with.
    pub(super) arguments: Arc<str>,
    pub(super) digest: Digest,
    /// What was mended in them.
    pub(super) warnings: Vec<String>,
    pub(super) until: Timestamp,
}

impl Question {
    /// What is asked about a call, if nobody has answered: with the arguments made once more from
    /// what the model wrote, as the driver made them.
    pub(super) async fn open(
        parts: &Parts,
        tools: &Toolset,
        id: ConversationId,
        call: CallId,
    ) -> anyhow::Result<Option<Self>> {
        let store = &*parts.store;
        let (_, history) = store::open(store, id, &parts.counter).await?;
        let asked = history.state().agents.iter().find_map(|(agent, state)| {
            let (_, open) = state.open_calls().find(|(open, _)| *open == call)?;
            Some((*agent, Arc::clone(&state.joined.name), open.approval?))
        });
        let asked = asked.filter(|(_, _, asked)| asked.answer.is_none());
        let Some((agent, name, asked)) = asked else { return Ok(None) };
        let made = store::verified_entry(store, id, call.output).await?;
        let Fact::Output(output) = made.fact else { return Ok(None) };
        let wanted = usize::try_from(call.index).ok().and_then(|n| output.calls().nth(n));
        let Some(wanted) = wanted else { return Ok(None) };
        let tool = tools.spec(&wanted.name).map(Arc::clone);
        let fit = tools.validate(&wanted.name, &wanted.arguments).and_then(Result::ok);
        let (Some(tool), Some(fit)) = (tool, fit) else {
            anyhow::bail!("call {call} asks for {}, which there is no more here", wanted.name);
        };
        anyhow::ensure!(
            Digest::of(fit.text.as_bytes()) == asked.digest,
            "call {call} was asked about with other arguments than it would run with now; it is not run"
        );
        Ok(Some(Self {
            call,
            agent,
            name,
            tool,
            arguments: fit.text,
            digest: asked.digest,
            warnings: fit.warnings,
            until: asked.until,
        }))
    }

    /// An answer to it, in someone's name.
    pub(super) fn answer(&self, answer: Answer, by: Option<Arc<str>>) -> Body {
        let by = Approver::Person { name: by };
        Body::Approval { call: self.call, digest: self.digest, answer, by }
    }

    /// The rule for calls like this one: the tool, and the very path if it has one. None if the
    /// rule would speak of more than that.
    pub(super) fn for_good(&self, verdict: Verdict) -> Option<PolicySet> {
        let tool = Arc::clone(&self.tool.name);
        let Some(path) = text_of(&self.arguments, "path") else {
            return Some(PolicySet { tool, arguments: None, verdict });
        };
        if path.contains('*') {
            return None;
        }
        let patterns = Patterns::new([("path".into(), path.into())]).ok()?;
        Some(PolicySet { tool, arguments: Some(patterns.text().into()), verdict })
    }

    /// Shows what is asked: the tool, what running it does, and the very arguments.
    pub(super) fn put(&self, id: ConversationId, view: &mut View) -> anyhow::Result<()> {
        let Self { call, tool, arguments, warnings, name, .. } = self;
        let wants =
            Line::new().bad("? ").name(&*tool.name).plain(format!(" of {name} wants to run; "));
        view.line(&wants.dim(self.effect()))?;
        let Shown { lines, left_out } = shown(arguments);
        for line in &lines {
            view.text(line, "  ")?;
        }
        if left_out > 0 {
            let bytes = counted(u64::try_from(left_out).unwrap_or(u64::MAX), "byte", "bytes");
            let seq = call.output;
            let see = format!("threadline show {id} --all --from {seq} --to {seq} --json");
            let told = format!("  {bytes} of it are not shown here; all of it: {see}");
            view.line(&Line::new().bad(told))?;
        }
        for warning in warnings {
            view.line(&Line::new().dim(format!("  {warning}")))?;
        }
        Ok(())
    }

    /// What running the tool does, in words.
    fn effect(&self) -> String {
        let does = match self.tool.handling {
            Handling::Recorded => "it changes nothing but this conversation",
            Handling::Run(rules) => match rules.effect {
                Effect::Read => "it only reads",
                Effect::Idempotent => "it has an effect, and may run again",
                Effect::Once => "it has an effect, and must run once only",
            },
        };
        match &self.tool.server {
            Some(server) => format!("{does}; on the server {server}"),
            None => does.to_owned(),
        }
    }
}

/// What whoever sits here is called, for the record.
pub(super) fn person() -> Option<Arc<str>> {
    let name = variable("USER").or_else(|| variable("LOGNAME")).or_else(|| variable("USERNAME"))?;
    let name = name.trim();
    (!name.is_empty()).then(|| name.into())
}
