//! What happens beside turns: titles, pins, recaps, rules, timers, comings and goings.

use std::sync::Arc;

use threadline_core::history::Proposal;
use threadline_core::history::fact::{
    AgentLeft, Described, Input, InstructionSet, Note, Pinned, PolicySet, Purpose, Recap, Sender,
    TimerCleared, TimerSet, Verdict, WidgetChanged,
};
use threadline_core::history::sections::Section;
use threadline_core::history::state::Stage;
use threadline_core::id::{AgentId, Seq};

use super::scene::{Scene, propose};

/// How many pins, timers and recaps there are at most, so that the state stays small.
const FEW: usize = 8;
/// How many rules are set at most: rules are never taken back.
const RULES: usize = 24;

impl Scene<'_> {
    /// A remark.
    pub(super) fn note(&mut self) -> Proposal {
        let text = self.write().sentence().into();
        propose(AgentId::CONVERSATION, Note { category: "driver".into(), text })
    }

    /// A timer that is due fires.
    pub(super) fn due_timer(&mut self) -> Option<Vec<Proposal>> {
        let due = self.history.state().timers.iter().find(|(_, timer)| {
            let agent = self.history.agent(timer.agent);
            let listens = agent.is_some_and(|agent| match &agent.stage {
                Stage::Resting | Stage::Asked | Stage::Sealed { .. } => agent.present,
                Stage::Calling(_) => false,
            });
            timer.set.call.is_none() && timer.set.when <= self.now && listens
        });
        let (set, timer) = due?;
        let input = Input {
            sections: vec![Section::text(Arc::clone(&timer.set.text))],
            from: Sender::Timer { set: *set },
            ..Input::from_person("")
        };
        Some(vec![propose(timer.agent, input).because_of(*set)])
    }

    /// Something beside turns; some of it only when all rest.
    pub(super) fn aside(&mut self, at_rest: bool) -> Vec<Proposal> {
        let Some(agent) = self.addressee(|_| true) else { return vec![self.come_or_go()] };
        let head = self.history.head().0;
        match self.choices.below(if at_rest { 100 } else { 60 }) {
            0..10 => vec![self.note()],
            10..20 => vec![self.pin(head)],
            20..30 => vec![self.describe()],
            30..38 => vec![self.rule()],
            38..50 => vec![self.timer(agent)],
            50..60 => {
                let change = format!("{{\"set\":\"{}\"}}", self.write().phrase()).into();
                vec![propose(
                    agent,
                    WidgetChanged { widget: "notebook".into(), change, call: None },
                )]
            }
            60..72 => self.recap(agent, head),
            72..78 => {
                let text = self.write().sentence().into();
                vec![propose(agent, InstructionSet { text })]
            }
            78..84 => {
                let title: Arc<str> = self.write().phrase().into();
                let described = Described { title: Some(title), ..Described::default() };
                let asked = self.invoke(agent, Purpose::Title);
                let cause = self.history.head().next();
                vec![asked, propose(AgentId::CONVERSATION, described).because_of(cause)]
            }
            _ => vec![self.come_or_go()],
        }
    }

    fn pin(&mut self, head: u64) -> Proposal {
        let pins = &self.history.state().pins;
        let pinned = match pins.first() {
            Some(seq) if pins.len() >= FEW => Pinned { seq: *seq, on: false },
            Some(_) | None => Pinned { seq: Seq(1 + self.choices.below(head)), on: true },
        };
        propose(AgentId::CONVERSATION, pinned)
    }

    fn describe(&mut self) -> Proposal {
        let labels = ["work", "home", "release", "天气", "urgent"];
        let labels = labels.iter().filter(|_| self.choices.percent(30)).map(|l| Arc::from(*l));
        let labels = labels.collect();
        let described = match self.choices.below(3) {
            0 => Described { title: Some(self.write().phrase().into()), ..Described::default() },
            1 => Described { labels: Some(labels), ..Described::default() },
            _ => Described { archived: Some(false), ..Described::default() },
        };
        propose(AgentId::CONVERSATION, described)
    }

    fn rule(&mut self) -> Proposal {
        if self.history.ledger().policies.len() >= RULES {
            return self.note();
        }
        let verdicts = [Verdict::Allow, Verdict::Ask, Verdict::Deny];
        let policy = PolicySet {
            tool: self.one_of(&["shell", "edit_file", "write_*"]),
            arguments: self.choices.percent(40).then(|| Arc::from("cargo test*")),
            verdict: self.choices.pick(&verdicts).copied().unwrap_or(Verdict::Ask),
        };
        propose(AgentId::CONVERSATION, policy)
    }

    fn timer(&mut self, agent: AgentId) -> Proposal {
        let timers = &self.history.state().timers;
        let free = timers.iter().find(|(_, timer)| timer.set.call.is_none());
        if let Some((timer, _)) = free
            && (timers.len() >= FEW || self.choices.percent(30))
        {
            return propose(AgentId::CONVERSATION, TimerCleared { timer: *timer });
        }
        let set = TimerSet {
            when: self.now.plus_millis(60_000 + self.choices.below(12 * 3_600_000)),
            every_ms: self.choices.percent(30).then_some(3_600_000),
            call: None,
            text: self.write().sentence().into(),
        };
        propose(agent, set)
    }

    fn recap(&mut self, agent: AgentId, head: u64) -> Vec<Proposal> {
        if self.history.state().recaps.len() >= FEW {
            let all = Recap {
                from: Seq(1),
                to: self.history.head(),
                text: None,
                hints: Vec::new(),
                asked: false,
                dropped: Vec::new(),
                usage: None,
                cost: None,
            };
            let agents: Vec<AgentId> = self.present().map(|(id, _)| id).take(FEW).collect();
            return agents.into_iter().map(|id| propose(id, all.clone())).collect();
        }
        let from = Seq(1 + self.choices.below(head));
        let recap = Recap {
            from,
            to: from.plus(self.choices.below(200)).min(self.history.head()),
            text: Some(self.write().answer().into()),
            hints: if self.choices.percent(20) { vec!["keep the numbers".into()] } else { vec![] },
            asked: self.choices.percent(30),
            dropped: if self.choices.percent(20) { vec![self.write().phrase()] } else { vec![] },
            usage: None,
            cost: None,
        };
        vec![self.invoke(agent, Purpose::Recap), propose(agent, recap)]
    }

    /// An agent leaves or comes back, or the settings of one change.
    fn come_or_go(&mut self) -> Proposal {
        let absent = self.history.state().agents.iter().find(|(_, agent)| !agent.present);
        if let Some((id, _)) = absent {
            return propose(*id, self.joined(*id));
        }
        let agents: Vec<AgentId> = self.present().map(|(id, _)| id).collect();
        let Some(id) = self.choices.pick(&agents).copied() else { return self.note() };
        if id != AgentId::FIRST && self.choices.percent(50) {
            return propose(id, AgentLeft { reason: self.write().phrase() });
        }
        if agents.len() == 1 && self.choices.percent(20) {
            return propose(id, AgentLeft { reason: "to be back soon".to_owned() });
        }
        propose(id, self.joined(id))
    }
}
