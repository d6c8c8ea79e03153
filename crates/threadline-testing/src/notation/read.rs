//! Reading: from the words and the text of a line to a fact, with what they leave out taken from
//! what was said before.

use std::sync::Arc;

use serde_json::{Map, Value};
use threadline_core::history::fact::{
    Address, AgentCalled, AgentJoined, AgentLeft, AgentReturned, Answer, ApprovalAsked,
    ApprovalGiven, Approver, Authority, AuthorityReset, Block, CallMode, Described, Detail, Digest,
    Fact, Forked, Input, InstructionSet, Invocation, InvocationFailed, InvocationStarted, Moved,
    Note, Output, Pinned, PolicySet, ProjectionOptions, Purpose, Recap, Rewound, Sender, Stop,
    Text, TimerCleared, TimerSet, ToolCall, ToolFinished, ToolResults, ToolStarted, TurnEnded,
    Usage, WidgetChanged, WorkspaceSet,
};
use threadline_core::history::sections::Section;
use threadline_core::id::{AgentId, CallId};

use super::line::{Line, unquote};
use super::tracker::{Tracker, is_name};
use super::words::{millis, moment, reason, seq, status, value};

/// The fact of a line and its thread.
pub(super) fn fact(line: &Line<'_>, tracker: &Tracker) -> Result<(AgentId, Fact), String> {
    if let ["!", agent, kind] = &line.words[..] {
        let fact = from_body(kind, &line.rest)?;
        return Ok((tracker.agent(agent)?, fact));
    }
    let (agent, fact) = base(&line.words, line.text.as_deref(), tracker)?;
    if line.rest.is_empty() {
        return Ok((agent, fact));
    }
    let mut body = body(&fact);
    for (key, value) in &line.rest {
        if value.is_null() {
            body.remove(key);
        } else {
            body.insert(key.clone(), value.clone());
        }
    }
    Ok((agent, from_body(fact.kind(), &body)?))
}

/// A fact's body as a JSON object.
pub(super) fn body(fact: &Fact) -> Map<String, Value> {
    let body = fact.to_body().unwrap_or_default();
    serde_json::from_slice(&body).unwrap_or_default()
}

fn from_body(kind: &str, body: &Map<String, Value>) -> Result<Fact, String> {
    let json = serde_json::to_vec(body).map_err(|error| error.to_string())?;
    match Fact::from_body(kind, &json) {
        Fact::Unrecognised(_) => {
            Err(format!("what is in the braces does not fit a fact of the kind {kind}"))
        }
        fact => Ok(fact),
    }
}

/// The fact of words and a text, with everything else at its default.
pub(super) fn base(
    words: &[&str],
    text: Option<&str>,
    tracker: &Tracker,
) -> Result<(AgentId, Fact), String> {
    let reader = Reader { tracker, text };
    let conversation = |fact: Fact| Ok((AgentId::CONVERSATION, fact));
    match words {
        ["@", who, "joins", settings @ ..] => reader.joins(who, settings),
        ["@", who, "leaves"] => {
            Ok((tracker.agent(who)?, AgentLeft { reason: reader.text_or_empty()? }.into()))
        }
        ["@", who, "instruction"] => {
            Ok((tracker.agent(who)?, InstructionSet { text: reader.needed()? }.into()))
        }
        ["user"] => reader.input(tracker.primary(), person(), Address::Primary),
        ["user", "to", who] => {
            let agent = tracker.agent(who)?;
            reader.input(agent, person(), Address::Agent(agent))
        }
        ["system", "to", who] => {
            reader.input(tracker.agent(who)?, Sender::System, Address::Primary)
        }
        ["timer", set, "to", who] => {
            let from = Sender::Timer { set: seq(set)? };
            reader.input(tracker.agent(who)?, from, Address::Primary)
        }
        ["timer", timer, "cleared"] => conversation(TimerCleared { timer: seq(timer)? }.into()),
        ["policy", tool, verdict] => {
            let (tool, verdict) = (Arc::from(*tool), value(verdict, "verdict")?);
            conversation(PolicySet { tool, arguments: reader.text()?, verdict }.into())
        }
        ["note", category] => {
            conversation(Note { category: Arc::from(*category), text: reader.needed()? }.into())
        }
        ["described"] => {
            conversation(Described { title: reader.text()?, ..Described::default() }.into())
        }
        ["moved"] => conversation(Moved { to: reader.text()? }.into()),
        ["workspace"] => {
            let path = reader.needed()?;
            conversation(WorkspaceSet { path, device: None, inode: None }.into())
        }
        ["authority", "reset"] => conversation(AuthorityReset {}.into()),
        ["pin", entry] => conversation(Pinned { seq: seq(entry)?, on: true }.into()),
        ["unpin", entry] => conversation(Pinned { seq: seq(entry)?, on: false }.into()),
        ["rewind", to] => conversation(Rewound { to: seq(to)? }.into()),
        ["fork", from] => {
            let from = from.parse().map_err(|_| format!("{from:?} is no conversation's id"))?;
            let (seq, hash) = (tracker.head, Digest([0; 32]));
            conversation(Forked { from, seq, hash }.into())
        }
        [who, "asks", how @ ..] => reader.asks(tracker.agent(who)?, how),
        [who] => reader.output(tracker.agent(who)?, Stop::Done),
        [who, stop] if stop.starts_with('(') => {
            let stop = value(stop.trim_matches(['(', ')']), "way to stop")?;
            reader.output(tracker.agent(who)?, stop)
        }
        [who, "results"] => {
            let agent = tracker.agent(who)?;
            let (output, results) = tracker.results(agent);
            Ok((agent, ToolResults { output, results, execute_error: None }.into()))
        }
        [who, "failed", kind] => reader.invocation_failed(tracker.agent(who)?, kind),
        [who, "changes", widget, call @ ..] => {
            let call = optional_call(call)?;
            let (widget, change) = (Arc::from(*widget), reader.needed()?);
            Ok((tracker.agent(who)?, WidgetChanged { widget, change, call }.into()))
        }
        [who, "to", whom] => {
            let from = Sender::Agent { agent: tracker.agent(who)?, call: None };
            let agent = tracker.agent(whom)?;
            reader.input(agent, from, Address::Agent(agent))
        }
        [who, "returns", "to", call] => {
            let (child, (call, thread)) = (tracker.agent(who)?, reader.call(call)?);
            Ok((thread, AgentReturned { call, child, ended: tracker.ended(child) }.into()))
        }
        [who, call, "to", whom] => {
            let from = Sender::Agent { agent: tracker.agent(who)?, call: Some(call_id(call)?) };
            let agent = tracker.agent(whom)?;
            reader.input(agent, from, Address::Agent(agent))
        }
        [who, call, how @ ("calls" | "sends"), whom] => {
            let mode = if *how == "calls" { CallMode::Ask } else { CallMode::Send };
            let (call, child) = (call_id(call)?, tracker.agent(whom)?);
            Ok((tracker.agent(who)?, AgentCalled { call, child, mode }.into()))
        }
        [who, "timer", when, more @ ..] => reader.timer(tracker.agent(who)?, when, more),
        [who, "ends", why] => {
            let detail = reader.text_or_empty()?;
            Ok((tracker.agent(who)?, TurnEnded { reason: reason(why)?, detail, by: None }.into()))
        }
        [who, how @ ("recap" | "recap-asked"), range] => {
            let (from, to) = range.split_once("..").ok_or("a range of entries looks like 2..9")?;
            let recap = Recap {
                from: seq(from)?,
                to: seq(to)?,
                text: reader.text()?,
                hints: Vec::new(),
                asked: *how == "recap-asked",
                dropped: Vec::new(),
                usage: None,
                cost: None,
            };
            Ok((tracker.agent(who)?, recap.into()))
        }
        [tool, call, "starts", effect] => reader.tool_starts(tool, call, effect),
        [tool, call, "asked", "until", until] => reader.approval_asked(tool, call, until),
        [tool, call, answer @ ("allowed" | "denied")] => {
            let answer = if *answer == "allowed" { Answer::Allow } else { Answer::Deny };
            let (call, thread) = reader.call_of(tool, call)?;
            let digest =
                tracker.question(call).map_or_else(|| digest_of(call), |(_, digest)| digest);
            let by = Approver::Person { name: None };
            Ok((thread, ApprovalGiven { call, digest, answer, by }.into()))
        }
        [tool, call, word] if status(word).is_some() => reader.tool_finished(tool, call, word),
        _ => Err(format!("no fact is written as {:?}", words.join(" "))),
    }
}

struct Reader<'a> {
    tracker: &'a Tracker,
    text: Option<&'a str>,
}

impl Reader<'_> {
    /// The text, if there is one.
    fn text(&self) -> Result<Option<Arc<str>>, String> {
        let Some(written) = self.text else { return Ok(None) };
        if !written.starts_with('"') {
            return Ok(Some(Arc::from(written)));
        }
        match unquote(written)? {
            (text, None) => Ok(Some(text.into())),
            (_, Some(_)) => Err("only an output has calls".to_owned()),
        }
    }

    fn needed(&self) -> Result<Arc<str>, String> {
        self.text()?.ok_or_else(|| "expected a colon and a text".to_owned())
    }

    fn text_or_empty(&self) -> Result<String, String> {
        Ok(self.text()?.map(|text| (*text).to_owned()).unwrap_or_default())
    }

    fn sections(&self) -> Result<Vec<Section>, String> {
        Ok(self.text()?.map(Section::text).into_iter().collect())
    }

    /// A call and its thread, as in `c5.0` or `c5.0@coder`.
    fn call(&self, written: &str) -> Result<(CallId, AgentId), String> {
        match written.split_once('@') {
            Some((call, who)) => Ok((call_id(call)?, self.tracker.agent(who)?)),
            None => call_id(written).map(|call| (call, self.tracker.thread(call))),
        }
    }

    /// The same, checked to be a call of a tool.
    fn call_of(&self, tool: &str, written: &str) -> Result<(CallId, AgentId), String> {
        let (call, thread) = self.call(written)?;
        match self.tracker.tool(call) {
            Some(name) if **name != *tool => {
                Err(format!("call {call} is of {name}, not of {tool}"))
            }
            Some(_) | None => Ok((call, thread)),
        }
    }

    fn joins(&self, who: &str, settings: &[&str]) -> Result<(AgentId, Fact), String> {
        let (name, id) = match who.split_once('#') {
            Some((name, _)) => {
                (name, self.tracker.agent(who.get(name.len()..).unwrap_or_default())?)
            }
            None => (who, self.tracker.joining(who)),
        };
        if !is_name(name) {
            return Err(format!("{name:?} cannot be the name of an agent here"));
        }
        let list = |names: &str| names.split(',').map(Arc::from).collect();
        let description = self.text()?.unwrap_or_default();
        let mut joined = AgentJoined { name: name.into(), description, ..AgentJoined::default() };
        for setting in settings {
            match setting.split_once('=') {
                None if *setting == "primary" => joined.primary = true,
                Some(("tools", tools)) => joined.tools = list(tools),
                Some(("widgets", widgets)) => joined.widgets = list(widgets),
                Some(("route", route)) => joined.route = Some(route.into()),
                Some(_) | None => return Err(format!("an agent has no setting {setting:?}")),
            }
        }
        Ok((id, joined.into()))
    }

    fn input(&self, agent: AgentId, from: Sender, to: Address) -> Result<(AgentId, Fact), String> {
        let input = Input {
            sections: self.sections()?,
            attachments: Vec::new(),
            from,
            to,
            route: None,
            client_key: None,
            broadcast: None,
        };
        Ok((agent, input.into()))
    }

    fn asks(&self, agent: AgentId, how: &[&str]) -> Result<(AgentId, Fact), String> {
        let (target, purpose) = match how {
            [] => (None, Purpose::Step),
            ["for", purpose] => (None, value(purpose, "purpose")?),
            [target] => (Some(*target), Purpose::Step),
            [target, "for", purpose] => (Some(*target), value(purpose, "purpose")?),
            _ => return Err("expected a target such as scripted/m1, and for what".to_owned()),
        };
        let invocation = match target {
            None => self.invocation(agent),
            Some(target) => {
                let (provider, model) =
                    target.split_once('/').ok_or("a target looks like scripted/m1")?;
                at(provider, model)
            }
        };
        let started = InvocationStarted {
            invocation,
            purpose,
            options: ProjectionOptions {
                window_tokens: 200_000,
                reserve_tokens: 8192,
                capacity_tokens: 150_000,
                factor_percent: 100,
                detail: Detail::Normal,
                screen: true,
            },
            estimate_tokens: 0,
            catalogue: None,
            context_digest: Digest([0; 32]),
            body_digest: Digest([0; 32]),
            projection_version: 1,
            encoder_version: 1,
            why: String::new(),
        };
        Ok((agent, started.into()))
    }

    /// The model that an agent asked last.
    fn invocation(&self, agent: AgentId) -> Invocation {
        let asked = self.tracker.asked(agent).map(|(_, invocation)| invocation.clone());
        asked.unwrap_or_else(|| at("scripted", "m1"))
    }

    fn output(&self, agent: AgentId, stop: Stop) -> Result<(AgentId, Fact), String> {
        let written = self.text.ok_or("expected a colon and what the model said")?;
        let (text, calls) = unquote(written)?;
        let mut blocks = Vec::new();
        if !text.is_empty() || written.starts_with('"') {
            blocks.push(Block::Text(Text { text: text.into(), state: None }));
        }
        for call in calls.into_iter().flat_map(|calls| calls.split(" | ")) {
            blocks.push(Block::ToolCall(tool_call(call.trim())));
        }
        let (invocation, usage) = (self.invocation(agent), Usage::default());
        Ok((agent, Output { blocks, invocation, stop, usage, cost: None }.into()))
    }

    fn invocation_failed(&self, agent: AgentId, kind: &str) -> Result<(AgentId, Fact), String> {
        let failed = InvocationFailed {
            started: self.tracker.asked(agent).map(|(seq, _)| *seq).unwrap_or_default(),
            kind: value(kind, "way to fail")?,
            message: self.text_or_empty()?,
            retry: false,
            retry_after_ms: None,
            limit_tokens: None,
            streamed: Vec::new(),
            usage: None,
            cost: None,
        };
        Ok((agent, failed.into()))
    }

    fn timer(&self, agent: AgentId, when: &str, more: &[&str]) -> Result<(AgentId, Fact), String> {
        let (every, call) = match more {
            ["every", every, call @ ..] => (Some(millis(every)?), call),
            call => (None, call),
        };
        let set = TimerSet {
            when: moment(when, self.tracker.now)?,
            every_ms: every,
            call: optional_call(call)?,
            text: self.text()?.unwrap_or_default(),
        };
        Ok((agent, set.into()))
    }

    fn tool_starts(&self, tool: &str, call: &str, effect: &str) -> Result<(AgentId, Fact), String> {
        let (call, thread) = self.call_of(tool, call)?;
        let approval = self.tracker.question(call).map(|(asked, _)| Authority::Approval(asked));
        let started = ToolStarted {
            call,
            attempt: self.tracker.attempt(call),
            effect: value(effect, "effect")?,
            effect_key: call.to_string().into(),
            authority: approval.unwrap_or_else(|| Authority::Rule("default".into())),
            arguments: None,
        };
        Ok((thread, started.into()))
    }

    fn tool_finished(&self, tool: &str, call: &str, word: &str) -> Result<(AgentId, Fact), String> {
        let (call, thread) = self.call(call)?;
        let finished = ToolFinished {
            call,
            name: tool.into(),
            status: status(word).ok_or("there is no such status")?,
            result: self.sections()?,
            attachments: Vec::new(),
            elapsed_ms: 0,
            warnings: Vec::new(),
            error: None,
        };
        Ok((thread, finished.into()))
    }

    fn approval_asked(
        &self,
        tool: &str,
        call: &str,
        until: &str,
    ) -> Result<(AgentId, Fact), String> {
        let (call, thread) = self.call_of(tool, call)?;
        let until = moment(until, self.tracker.now)?;
        let (digest, default) = (digest_of(call), Answer::Deny);
        Ok((thread, ApprovalAsked { call, digest, until, default }.into()))
    }
}

/// A call as it is written: `name#id! arguments`, with the id and the mark of a cut left out
/// mostly.
fn tool_call(written: &str) -> ToolCall {
    let (name, arguments) = written.split_once(' ').unwrap_or((written, ""));
    let (name, complete) = match name.strip_suffix('!') {
        Some(name) => (name, false),
        None => (name, true),
    };
    let (name, id) = match name.split_once('#') {
        Some((name, id)) => (name, Some(Arc::from(id))),
        None => (name, None),
    };
    let (name, arguments) = (name.into(), arguments.into());
    ToolCall { name, arguments, repaired: None, provider_id: id, complete, state: None }
}

/// The target that is written `provider/model`.
fn at(provider: &str, model: &str) -> Invocation {
    let provider: Arc<str> = provider.into();
    Invocation {
        endpoint: Arc::clone(&provider),
        account: None,
        dialect: Arc::clone(&provider),
        model: model.into(),
        provider,
    }
}

fn person() -> Sender {
    Sender::Person { name: None, channel: None }
}

fn call_id(written: &str) -> Result<CallId, String> {
    written.parse().map_err(|error| format!("{error}"))
}

fn optional_call(words: &[&str]) -> Result<Option<CallId>, String> {
    match words {
        [] => Ok(None),
        [call] => call_id(call).map(Some),
        _ => Err(format!("expected a call or nothing, not {:?}", words.join(" "))),
    }
}

/// What stands for the digest of a call's arguments.
fn digest_of(call: CallId) -> Digest {
    Digest::of(call.to_string().as_bytes())
}
