//! What becomes of calls: questions, starts, results, widgets, other agents, waiting.

use std::sync::Arc;

use threadline_core::history::Proposal;
use threadline_core::history::fact::{
    Address, AgentCalled, AgentReturned, Answer, ApprovalAsked, ApprovalGiven, Approver, Authority,
    CallMode, Digest, Effect, Input, Sender, Status, TimerSet, ToolFinished, ToolStarted,
    WidgetChanged,
};
use threadline_core::history::sections::Section;
use threadline_core::history::state::{Agent, OpenCall, OpenOutput};
use threadline_core::id::{AgentId, CallId};

use super::scene::{Scene, propose};

/// What running a tool again would do; none for those that are recorded rather than run.
fn effect(tool: &str) -> Option<Effect> {
    match tool {
        "read_file" | "search" | "fetch" => Some(Effect::Read),
        "write_file" => Some(Effect::Idempotent),
        "edit_file" | "shell" => Some(Effect::Once),
        _ => None,
    }
}

impl Scene<'_> {
    /// A call that a model makes: a tool and its arguments.
    pub(super) fn call(&mut self) -> (Arc<str>, Arc<str>) {
        let path = format!("src/{}.rs", self.write().word());
        let words = self.write().phrase();
        let (tool, arguments) = match self.choices.below(100) {
            0..25 => ("read_file", format!("{{\"path\":\"{path}\"}}")),
            25..38 => ("search", format!("{{\"query\":\"{words}\",\"most\":20}}")),
            38..46 => ("fetch", format!("{{\"url\":\"https://example.org/{words}\"}}")),
            46..56 => {
                let text = self.write().sentence();
                ("write_file", format!("{{\"path\":\"{path}\",\"text\":\"{text}\"}}"))
            }
            56..64 => ("edit_file", format!("{{\"path\":\"{path}\",\"find\":\"{words}\"}}")),
            64..78 => ("shell", format!("{{\"command\":\"cargo test {words}\"}}")),
            78..88 => ("notebook_write", format!("{{\"text\":\"{words}\"}}")),
            88..92 => ("wait", format!("{{\"seconds\":{}}}", 1 + self.choices.below(600))),
            92..94 => ("no_such_tool", "{\"broken\":".to_owned()),
            _ if self.options.agents > 1 => ("call_agent", format!("{{\"task\":\"{words}\"}}")),
            _ => ("read_file", format!("{{\"path\":\"{path}\"}}")),
        };
        (tool.into(), arguments.into())
    }

    /// Something happens to the unfinished calls of an output.
    pub(super) fn move_calls(&mut self, id: AgentId, open: &OpenOutput) -> Vec<Proposal> {
        let ready: Vec<(CallId, &OpenCall)> = open
            .calls()
            .filter(|(_, call)| call.finished.is_none())
            .filter(|(_, call)| !call.asks().is_some_and(|child| self.is_in_turn(child)))
            .collect();
        let fresh =
            |call: &OpenCall| call.complete && call.started.is_none() && call.approval.is_none();
        let together: Vec<Proposal> = ready
            .iter()
            .filter(|(_, call)| fresh(call))
            .filter_map(|(call_id, call)| Some(start(id, *call_id, call, effect(&call.name)?)))
            .collect();
        if together.len() > 1 && self.choices.percent(40) {
            return together;
        }
        match self.choices.pick(&ready) {
            Some((call_id, call)) => self.move_call(id, *call_id, call),
            None => vec![self.note()],
        }
    }

    fn move_call(&mut self, id: AgentId, call_id: CallId, call: &OpenCall) -> Vec<Proposal> {
        if !call.complete {
            return vec![self.finish(
                id,
                call_id,
                call,
                Status::Failed,
                Some("cut off by the output limit"),
            )];
        }
        match &*call.name {
            "notebook_write" => self.change_widget(id, call_id, call),
            "wait" => self.wait(id, call_id, call),
            "call_agent" => self.call_agent(id, call_id, call),
            name => match effect(name) {
                Some(effect) => self.run(id, call_id, call, effect),
                None => vec![self.finish(
                    id,
                    call_id,
                    call,
                    Status::Failed,
                    Some("there is no such tool"),
                )],
            },
        }
    }

    fn run(
        &mut self,
        id: AgentId,
        call_id: CallId,
        call: &OpenCall,
        effect: Effect,
    ) -> Vec<Proposal> {
        if let Some(started) = call.started {
            let again = started.effect != Effect::Once && started.attempt < 3;
            return match self.choices.below(100) {
                // A process died while it ran.
                0..5 if again => vec![start(id, call_id, call, effect)],
                0..5 if started.effect == Effect::Once => {
                    vec![self.finish(id, call_id, call, Status::Unknown, Some("no answer"))]
                }
                0..15 => {
                    vec![self.finish(id, call_id, call, Status::Failed, Some("exit status 1"))]
                }
                _ => vec![self.finish(id, call_id, call, Status::Success, None)],
            };
        }
        let digest = Digest::of(call_id.to_string().as_bytes());
        match call.approval {
            None if effect == Effect::Once && self.choices.percent(30) => {
                let until = self.now.plus_millis(600_000);
                let asked = ApprovalAsked { call: call_id, digest, until, default: Answer::Deny };
                vec![propose(id, asked).because_of(call_id.output)]
            }
            Some(approval) => match approval.answer {
                None => {
                    let yes = self.choices.percent(75);
                    let answer = if yes { Answer::Allow } else { Answer::Deny };
                    let by = match self.choices.below(10) {
                        0 if !yes => Approver::Timer,
                        1 if !yes => Approver::NewMessage,
                        _ => Approver::Person { name: Some("ada".into()) },
                    };
                    let given = ApprovalGiven { call: call_id, digest, answer, by };
                    vec![propose(id, given).because_of(approval.asked)]
                }
                Some(Answer::Allow) => vec![start(id, call_id, call, effect)],
                Some(Answer::Deny) => {
                    vec![self.finish(id, call_id, call, Status::Skipped, Some("denied"))]
                }
            },
            None => vec![start(id, call_id, call, effect)],
        }
    }

    fn change_widget(&mut self, id: AgentId, call_id: CallId, call: &OpenCall) -> Vec<Proposal> {
        let changed = WidgetChanged {
            widget: "notebook".into(),
            change: format!("{{\"set\":\"{}\"}}", self.write().phrase()).into(),
            call: Some(call_id),
        };
        vec![
            propose(id, changed).because_of(call_id.output),
            self.finish(id, call_id, call, Status::Success, None),
        ]
    }

    fn wait(&mut self, id: AgentId, call_id: CallId, call: &OpenCall) -> Vec<Proposal> {
        if call.timer.is_some() {
            return vec![self.finish(id, call_id, call, Status::Success, None)];
        }
        let when = self.now.plus_millis(1000 + self.choices.below(600_000));
        let text = self.write().phrase().into();
        vec![propose(id, TimerSet { when, every_ms: None, call: Some(call_id), text })]
    }

    fn call_agent(&mut self, id: AgentId, call_id: CallId, call: &OpenCall) -> Vec<Proposal> {
        if let Some(child) = call.asks() {
            let ended = self.history.agent(child).and_then(|agent| agent.row).unwrap_or_default();
            let returned = AgentReturned { call: call_id, child, ended };
            return vec![
                propose(id, returned).because_of(ended),
                self.finish(id, call_id, call, Status::Success, None),
            ];
        }
        let others = |agent: &Agent| !agent.in_turn();
        let Some(child) = self.addressee(others).filter(|child| *child != id) else {
            return vec![self.finish(id, call_id, call, Status::Skipped, Some("everyone is busy"))];
        };
        let ask = self.choices.percent(80);
        let mode = if ask { CallMode::Ask } else { CallMode::Send };
        let input = Input {
            from: Sender::Agent { agent: id, call: ask.then_some(call_id) },
            to: Address::Agent(child),
            ..Input::from_person(self.write().question())
        };
        let mut proposals = vec![
            propose(id, AgentCalled { call: call_id, child, mode }).because_of(call_id.output),
            propose(child, input).because_of(call_id.output),
        ];
        if !ask {
            proposals.push(self.finish(id, call_id, call, Status::Success, None));
        }
        proposals
    }

    fn finish(
        &mut self,
        id: AgentId,
        call_id: CallId,
        call: &OpenCall,
        status: Status,
        error: Option<&str>,
    ) -> Proposal {
        let result = match status {
            Status::Success => self.write().result(),
            Status::Failed | Status::Skipped | Status::Unknown => self.write().sentence(),
        };
        let mended = status == Status::Success && self.choices.percent(5);
        let finished = ToolFinished {
            call: call_id,
            name: Arc::clone(&call.name),
            status,
            result: vec![Section::text(result)],
            attachments: self.attachments(5),
            elapsed_ms: self.choices.below(20_000),
            warnings: if mended { vec!["count: text read as a number".to_owned()] } else { vec![] },
            error: error.map(str::to_owned),
        };
        let cause = call.started.map_or(call_id.output, |started| started.seq);
        propose(id, finished).because_of(cause)
    }

    fn is_in_turn(&self, agent: AgentId) -> bool {
        self.history.agent(agent).is_some_and(Agent::in_turn)
    }
}

fn start(id: AgentId, call_id: CallId, call: &OpenCall, effect: Effect) -> Proposal {
    let approval = call.approval.map(|approval| Authority::Approval(approval.asked));
    let started = ToolStarted {
        call: call_id,
        attempt: call.started.map_or(1, |started| started.attempt + 1),
        effect,
        effect_key: call_id.to_string().into(),
        authority: approval.unwrap_or_else(|| Authority::Rule("default".into())),
        arguments: None,
    };
    propose(id, started).because_of(call_id.output)
}
