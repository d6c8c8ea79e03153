//! Calls: whether they may begin, how they are run, and what is recorded of them.

use std::sync::{Arc, OnceLock};

use super::command::{Command, Run};
use super::event::Outcome;
use super::place::{Beside, Landed, NotPlaced, Sheet};
use super::planted::planted;
use super::setting::Known;
use super::step::CallStep;
use super::timing::{CLEAR_TIMER, SET_TIMER, WAIT};
use super::{Driver, Toolset};
use crate::history::entry::Entry;
use crate::history::fact::{
    Answer, ApprovalAsked, Approver, Authority, Block, CALL_AGENT, Digest, Effect, FileChanged,
    Output, Status, ToolCall, ToolFinished, ToolStarted, Verdict, WidgetChanged,
};
use crate::history::metadata::Metadata;
use crate::history::sections::Section;
use crate::history::settle::{Cause, Progress, settlement};
use crate::history::state::OpenCall;
use crate::id::{AgentId, CallId};
use crate::policy::{self, By, Decision};
use crate::tool::{ArgumentsRefused, Handling, RunRules, Validated, repair_json};
use crate::widget::{Reply, WidgetCall};

/// An open call as its model wrote it.
#[derive(Clone, Debug)]
pub(super) struct CallText {
    name: Arc<str>,
    raw: Arc<str>,
    /// The arguments as JSON, if they are not read as they were written.
    repaired: Option<Arc<str>>,
    /// What it was started with, if that differs.
    pub(super) ran_with: Option<Arc<str>>,
    /// The file changes that it recorded.
    pub(super) changes: Vec<FileChanged>,
    /// The arguments as its tool takes them, once they were checked: a call that waits for a slot is
    /// looked at on every event.
    validated: OnceLock<Result<Validated, ArgumentsRefused>>,
}

impl CallText {
    pub(super) fn new(call: &ToolCall) -> Self {
        Self {
            name: Arc::clone(&call.name),
            raw: Arc::clone(&call.arguments),
            repaired: call.repaired.clone(),
            ran_with: None,
            changes: Vec::new(),
            validated: OnceLock::new(),
        }
    }

    /// The arguments that its tool can run with, as they were recorded. What was odd about them is
    /// found in what the model wrote.
    fn validate(&self, known: &Known) -> Result<Validated, ArgumentsRefused> {
        self.validated.get_or_init(|| self.validate_now(known)).clone()
    }

    fn validate_now(&self, known: &Known) -> Result<Validated, ArgumentsRefused> {
        let Some(repaired) = &self.repaired else { return known.validate(&self.raw) };
        let validated = known.validate(repaired)?;
        let warnings = known.validate(&self.raw).map(|raw| raw.warnings).unwrap_or_default();
        Ok(Validated { warnings, ..validated })
    }

    /// The arguments, as they were written.
    pub(super) fn raw(&self) -> &str {
        &self.raw
    }

    /// An end in our own words.
    pub(super) fn finished(&self, id: CallId, status: Status, text: &str) -> ToolFinished {
        ToolFinished {
            call: id,
            name: Arc::clone(&self.name),
            status,
            result: vec![Section::text(text)],
            attachments: Vec::new(),
            elapsed_ms: 0,
            warnings: Vec::new(),
            error: None,
        }
    }
}

/// A call that runs, or that is looked into.
pub(super) struct Running {
    pub(super) agent: AgentId,
    effect: Effect,
    warnings: Vec<String>,
}

/// A call that is fit to begin.
struct Fit<'a> {
    known: &'a Known,
    arguments: Validated,
}

impl Driver {
    /// Moves a call on, as far as recording moves it.
    pub(super) fn place_call(
        &mut self,
        sheet: &mut Sheet<'_>,
        agent: AgentId,
        id: CallId,
        step: CallStep,
    ) {
        match step {
            CallStep::CutOff => {
                self.finish(sheet, agent, id, Status::Failed, "cut off by the output limit");
            }
            CallStep::Denied => {
                self.finish(sheet, agent, id, Status::Skipped, "not run: it was declined");
            }
            CallStep::Begin => self.begin(sheet, agent, id, None),
            CallStep::Allowed { until, .. } if until <= sheet.at => {
                let text = "not run: its approval was not used before it expired";
                self.finish(sheet, agent, id, Status::Skipped, text);
            }
            CallStep::Allowed { by, digest, until: _ } => {
                self.begin(sheet, agent, id, Some((Authority::Approval(by), digest)));
            }
            CallStep::Asked => self.answer_by_rule(sheet, agent, id),
            CallStep::Waits => {}
            CallStep::Started { attempt, effect } => {
                let ours = self.calls.is_running(id) || sheet.has_started(id);
                if !ours {
                    self.take_over(sheet, agent, id, attempt, effect);
                }
            }
        }
    }

    /// Begins a call that was not started, if it is fit and may.
    fn begin(
        &mut self,
        sheet: &mut Sheet<'_>,
        agent: AgentId,
        id: CallId,
        approved: Option<(Authority, Digest)>,
    ) {
        let setting = Arc::clone(&self.setting);
        let fit = match self.fit(&setting.tools, sheet, agent, id) {
            Ok(fit) => fit,
            Err(why) => return self.finish(sheet, agent, id, Status::Failed, &why),
        };
        let runs = matches!(fit.known.spec.handling, Handling::Run(_));
        let tool = &fit.known.spec.name;
        if runs && let Some(who) = Self::beyond(sheet.draft.history(), agent, tool) {
            let text = format!("not run: {who}, for whom you work, may not use {tool}");
            return self.finish(sheet, agent, id, Status::Skipped, &text);
        }
        let digest = Digest::of(fit.arguments.text.as_bytes());
        let decision = self.decide(sheet, &fit);
        let authority = match (decision.verdict, approved) {
            // Whoever may not, may not after an approval either.
            (Verdict::Deny, _) => {
                let text = format!("not run: a rule does not allow it ({})", decision.by);
                return self.finish(sheet, agent, id, Status::Skipped, &text);
            }
            (Verdict::Allow | Verdict::Ask, Some((authority, shown))) if shown == digest => {
                authority
            }
            (Verdict::Allow | Verdict::Ask, Some(_)) => {
                let text = "not run: its arguments are not those that were approved";
                return self.finish(sheet, agent, id, Status::Skipped, text);
            }
            (Verdict::Allow, None) => Authority::Rule(decision.by.to_string().into()),
            (Verdict::Ask, None) => {
                let until = sheet.at.plus_millis(setting.limits.approval_ms);
                let asked = ApprovalAsked { call: id, digest, until, default: Answer::Deny };
                sheet.place_for(agent, asked, id);
                return;
            }
        };
        match fit.known.spec.handling {
            Handling::Recorded => match &*fit.known.spec.name {
                CALL_AGENT => self.call_agent(sheet, agent, id, &fit.arguments),
                tool @ (WAIT | SET_TIMER | CLEAR_TIMER) => {
                    self.call_for_time(sheet, agent, id, tool, &fit.arguments);
                }
                _ => self.derive(sheet, agent, id, &fit.arguments),
            },
            Handling::Run(rules) => {
                self.start(sheet, agent, id, rules, authority, fit.arguments, 1);
            }
        }
    }

    /// What counts for a call.
    fn decide(&self, sheet: &Sheet<'_>, fit: &Fit<'_>) -> Decision {
        let call = policy::Call::new(&fit.known.spec, &fit.arguments.text);
        let operator = if planted!(ForgetOperator) { &[][..] } else { &self.setting.policy };
        policy::decide(&call, operator, &sheet.draft.history().ledger().policies)
    }

    /// Answers the question about a call by a rule that a person set since: who says "always" or
    /// "never" is not asked again about what is open.
    fn answer_by_rule(&self, sheet: &mut Sheet<'_>, agent: AgentId, id: CallId) {
        if sheet.draft.history().ledger().policies.is_empty() {
            return;
        }
        let setting = Arc::clone(&self.setting);
        let Ok(fit) = self.fit(&setting.tools, sheet, agent, id) else { return };
        let answer = match self.decide(sheet, &fit) {
            Decision { verdict: Verdict::Allow, by: By::Conversation(_) } => Answer::Allow,
            Decision { verdict: Verdict::Deny, by: By::Conversation(_) } => Answer::Deny,
            Decision { verdict: Verdict::Allow | Verdict::Ask | Verdict::Deny, .. } => return,
        };
        Self::answer(sheet, agent, id, answer, Approver::Person { name: None });
    }

    /// What a call needs to begin: a tool that the agent has, and arguments that fit it.
    fn fit<'a>(
        &self,
        tools: &'a Toolset,
        sheet: &Sheet<'_>,
        agent: AgentId,
        id: CallId,
    ) -> Result<Fit<'a>, String> {
        let text = self.texts_in(sheet, id).ok_or("the call is not known")?;
        let joined = sheet.draft.history().agent(agent).map(|agent| &agent.joined);
        let theirs = joined.map(|joined| self.setting.tools_of(joined)).unwrap_or_default();
        let known = tools
            .get(&text.name)
            .filter(|known| theirs.iter().any(|tool| tool.name == known.spec.name));
        let known = known.ok_or_else(|| {
            let names: Vec<&str> = theirs.iter().map(|tool| &*tool.name).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            format!("there is no tool named {:?}; there are: {names}", text.name)
        })?;
        let arguments = text.validate(known).map_err(|refused| refused.to_string())?;
        Ok(Fit { known, arguments })
    }

    /// Places the start of a call, if it may run beside those that run already.
    #[expect(clippy::too_many_arguments, reason = "each is a part of what is recorded")]
    fn start(
        &mut self,
        sheet: &mut Sheet<'_>,
        agent: AgentId,
        id: CallId,
        rules: RunRules,
        authority: Authority,
        arguments: Validated,
        attempt: u32,
    ) {
        let others = self.running_beside(sheet, agent, id);
        let alone = |rules: RunRules| !rules.side_by_side;
        if others.len() >= self.setting.limits.side_by_side
            || (!others.is_empty() && (alone(rules) || others.into_iter().any(alone)))
        {
            return;
        }
        let raw = self.texts_in(sheet, id).map(|text| Arc::clone(&text.raw));
        let started = ToolStarted {
            call: id,
            attempt,
            effect: rules.effect,
            effect_key: format!("{}/{id}", self.conversation).into(),
            authority,
            arguments: (raw != Some(Arc::clone(&arguments.text))).then_some(arguments.text),
        };
        sheet.place_for(agent, started, id);
    }

    /// The rules of the agent's other calls that run.
    fn running_beside(&self, sheet: &Sheet<'_>, agent: AgentId, id: CallId) -> Vec<RunRules> {
        let Some(agent) = sheet.draft.history().agent(agent) else { return Vec::new() };
        let runs = agent.open_calls().filter(|(other, call)| {
            *other != id && call.started.is_some() && call.finished.is_none()
        });
        runs.map(|(_, call)| match self.setting.tools.get(&call.name).map(|k| k.spec.handling) {
            Some(Handling::Run(rules)) => rules,
            Some(Handling::Recorded) | None => RunRules::usual(Effect::Once),
        })
        .collect()
    }

    /// Records what a widget makes of a call: its changes and its result, in one batch. Calls to
    /// widgets go in the order in which they were made, but for one that waits for a person: it
    /// holds up no other.
    fn derive(&mut self, sheet: &mut Sheet<'_>, agent: AgentId, id: CallId, arguments: &Validated) {
        let Some(state) = sheet.draft.history().agent(agent) else { return };
        let joined = Arc::clone(&state.joined);
        let is_recorded = |name: &str| self.setting.widgets.owner(&joined, name).is_some();
        let mut earlier = state.open_calls().take_while(|(other, _)| *other != id);
        let is_asked = |call: &OpenCall| call.approval.is_some_and(|asked| asked.answer.is_none());
        if earlier
            .any(|(_, call)| call.finished.is_none() && !is_asked(call) && is_recorded(&call.name))
        {
            return;
        }
        drop(earlier);
        let Some(text) = self.texts_in(sheet, id).cloned() else { return };
        let call = WidgetCall {
            tool: &text.name,
            arguments: &arguments.text,
            call: id,
            by: agent,
            at: sheet.at,
        };
        let Some((widget, reply)) = sheet.widgets.call(&joined, &call) else {
            let words = "no widget of this agent has this tool";
            return self.finish(sheet, agent, id, Status::Failed, words);
        };
        let (status, reply) = match reply {
            Ok(reply) => (Status::Success, reply),
            Err(refusal) => {
                let (result, metadata) = (refusal.result, refusal.metadata);
                (Status::Failed, Reply { result, metadata, ..Reply::default() })
            }
        };
        let changed =
            |change| WidgetChanged { widget: Arc::clone(&widget), change, call: Some(id) };
        let changes = reply.changes.into_iter().map(changed);
        let finished = ToolFinished {
            call: id,
            name: text.name,
            status,
            result: reply.result,
            attachments: reply.attachments,
            elapsed_ms: 0,
            warnings: arguments.warnings.clone(),
            error: None,
        };
        let before = sheet.mark();
        let placed = changes.into_iter().all(|changed| sheet.place_for(agent, changed, id))
            && Self::place_finished(sheet, agent, finished, Some(reply.metadata));
        if !placed {
            self.not_whole(sheet, before, agent, id, "not done: it changes too much at once");
        }
    }

    /// A call that an earlier process started and that has no end: run again what may run again,
    /// and find out about what may not.
    fn take_over(
        &mut self,
        sheet: &mut Sheet<'_>,
        agent: AgentId,
        id: CallId,
        attempt: u32,
        effect: Effect,
    ) {
        let setting = Arc::clone(&self.setting);
        let fit = self.fit(&setting.tools, sheet, agent, id);
        match (effect, fit) {
            (Effect::Once, Ok(fit)) => {
                let run = Run {
                    agent,
                    call: id,
                    tool: Arc::clone(&fit.known.spec),
                    arguments: self
                        .calls
                        .text(id)
                        .and_then(|text| text.ran_with.clone())
                        .unwrap_or(fit.arguments.text),
                    attempt,
                    effect_key: format!("{}/{id}", self.conversation).into(),
                    at: sheet.at,
                    changes: self
                        .calls
                        .text(id)
                        .map(|text| text.changes.clone())
                        .unwrap_or_default(),
                    predecessor: self.circumstances.predecessor,
                };
                let warnings = fit.arguments.warnings;
                self.calls.run(id, Running { agent, effect, warnings });
                let again = planted!(RunOnceAgain);
                self.commands.push(if again { Command::Run(run) } else { Command::Reconcile(run) });
            }
            (Effect::Once, Err(_)) => {
                let (status, text) = settlement(Progress::Started(effect), Cause::ProcessStopped);
                self.finish(sheet, agent, id, status, text);
            }
            (Effect::Read | Effect::Idempotent, Ok(fit)) => match fit.known.spec.handling {
                Handling::Run(rules) if attempt < setting.limits.call_attempts => {
                    let decision = self.decide(sheet, &fit);
                    let history = sheet.draft.history();
                    if let Some(who) = Self::beyond(history, agent, &fit.known.spec.name) {
                        let text = format!(
                            "no answer: it was stopped while it ran, and {who}, for whom you work, may not use it any more"
                        );
                        return self.finish(sheet, agent, id, Status::Failed, &text);
                    }
                    if decision.verdict == Verdict::Deny {
                        let text = format!(
                            "no answer: it was stopped while it ran, and a rule does not allow it to run again ({})",
                            decision.by
                        );
                        return self.finish(sheet, agent, id, Status::Failed, &text);
                    }
                    let authority = authority_of(sheet, agent, id, &decision);
                    let rules = RunRules { effect, ..rules };
                    self.start(sheet, agent, id, rules, authority, fit.arguments, attempt + 1);
                }
                Handling::Run(_) | Handling::Recorded => {
                    let text = format!("no answer: it was stopped {attempt} times while it ran");
                    self.finish(sheet, agent, id, Status::Failed, &text);
                }
            },
            (Effect::Read | Effect::Idempotent, Err(why)) => {
                self.finish(sheet, agent, id, Status::Failed, &why);
            }
        }
    }

    /// A call as it is run once its start is durable.
    pub(super) fn run_of(&self, entry: &Entry, started: &ToolStarted) -> Option<(Run, Running)> {
        let text = self.calls.text(started.call)?;
        let known = self.setting.tools.get(&text.name)?;
        let warnings = text.validate(known).map(|fit| fit.warnings).unwrap_or_default();
        let arguments = started.arguments.as_ref().unwrap_or(&text.raw);
        let run = Run {
            agent: entry.agent,
            call: started.call,
            tool: Arc::clone(&known.spec),
            arguments: Arc::clone(arguments),
            attempt: started.attempt,
            effect_key: Arc::clone(&started.effect_key),
            at: entry.at,
            changes: Vec::new(),
            predecessor: self.circumstances.predecessor,
        };
        Some((run, Running { agent: entry.agent, effect: started.effect, warnings }))
    }

    /// An output whose calls carry their arguments as they are read here, where that is not as the
    /// model wrote them: from then on nobody repairs them again.
    pub(super) fn with_repaired_calls(&self, mut output: Output) -> Output {
        for block in &mut output.blocks {
            let Block::ToolCall(call) = block else { continue };
            if call.complete && call.repaired.is_none() {
                call.repaired = self.repaired(call);
            }
        }
        output
    }

    fn repaired(&self, call: &ToolCall) -> Option<Arc<str>> {
        let known = self.setting.tools.get(&call.name);
        match known.map(|known| known.validate(&call.arguments)) {
            Some(Ok(validated)) => Some(validated.text).filter(|text| *text != call.arguments),
            Some(Err(_)) | None => repair_json(&call.arguments).map(Into::into),
        }
    }

    /// A running call announced a change of a file.
    pub(super) fn file_change(&mut self, change: FileChanged) {
        match self.calls.running(change.call) {
            Some(running) => {
                let agent = running.agent;
                self.landed.push_back(Landed::FileChange { agent, change });
            }
            None => self.commands.push(Command::ChangeRefused(change.call)),
        }
    }

    /// Records a change of a file before it is made.
    pub(super) fn place_file_change(
        &mut self,
        sheet: &mut Sheet<'_>,
        agent: AgentId,
        change: FileChanged,
    ) {
        let call = change.call;
        match sheet.place(agent, change.clone(), Beside::cause(call.output)) {
            Ok(_) => {}
            Err(NotPlaced::Full) => {
                self.landed.push_front(Landed::FileChange { agent, change });
            }
            Err(NotPlaced::Refused(_)) => self.commands.push(Command::ChangeRefused(call)),
        }
    }

    pub(super) fn ran(&mut self, id: CallId, outcome: Outcome) {
        if let Some(running) = self.calls.end(id) {
            self.land_outcome(id, running, outcome);
        }
    }

    pub(super) fn reconciled(&mut self, id: CallId, outcome: Option<Outcome>) {
        let Some(running) = self.calls.end(id) else { return };
        if let Some(outcome) = outcome {
            return self.land_outcome(id, running, outcome);
        }
        if let Some(text) = self.calls.text(id) {
            let (status, words) =
                settlement(Progress::Started(running.effect), Cause::ProcessStopped);
            let finished = text.finished(id, status, words);
            let agent = running.agent;
            self.landed.push_back(Landed::Finished { agent, finished, metadata: None });
        }
    }

    fn land_outcome(&mut self, id: CallId, running: Running, outcome: Outcome) {
        let Some(text) = self.calls.text(id) else { return };
        let result = outcome.outcome.result();
        let finished = ToolFinished {
            call: id,
            name: Arc::clone(&text.name),
            status: outcome.outcome.status(running.effect),
            result: result.sections.clone(),
            attachments: outcome.attachments,
            elapsed_ms: outcome.elapsed_ms,
            warnings: running.warnings,
            error: result.error.clone(),
        };
        let metadata = Some(outcome.metadata);
        self.landed.push_back(Landed::Finished { agent: running.agent, finished, metadata });
    }

    /// Ends a call in our own words.
    pub(super) fn finish(
        &self,
        sheet: &mut Sheet<'_>,
        agent: AgentId,
        id: CallId,
        status: Status,
        text: &str,
    ) {
        if let Some(written) = self.texts_in(sheet, id) {
            let finished = written.finished(id, status, text);
            Self::place_finished(sheet, agent, finished, None);
        }
    }

    /// Places the end of a call; a result that cannot be written is told about in its place.
    pub(super) fn place_finished(
        sheet: &mut Sheet<'_>,
        agent: AgentId,
        finished: ToolFinished,
        metadata: Option<Metadata>,
    ) -> bool {
        let id = finished.call;
        let smaller = ToolFinished {
            result: vec![Section::text("the result was too large to be recorded")],
            attachments: Vec::new(),
            warnings: Vec::new(),
            error: None,
            ..finished.clone()
        };
        sheet.place_or(agent, finished, smaller, metadata.unwrap_or_default(), id.output)
    }

    /// What a model wrote of a call: on record, or on the sheet.
    pub(super) fn texts_in<'a>(&'a self, sheet: &'a Sheet<'_>, id: CallId) -> Option<&'a CallText> {
        self.calls.text(id).or_else(|| sheet.texts.get(&id))
    }
}

/// Who allowed a call that was started before: whoever was asked, else the rule that counts now.
/// Where that one would ask, nothing more is done than was allowed then.
fn authority_of(sheet: &Sheet<'_>, agent: AgentId, id: CallId, now: &Decision) -> Authority {
    let agent = sheet.draft.history().agent(agent);
    let call = agent.and_then(|agent| agent.open_calls().find(|(open, _)| *open == id));
    match call.and_then(|(_, call)| call.approval?.given) {
        Some(given) => Authority::Approval(given),
        None if now.verdict == Verdict::Allow => Authority::Rule(now.by.to_string().into()),
        None => Authority::Rule("as it was started before".into()),
    }
}
