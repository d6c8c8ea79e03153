//! The person: sends things, sends them twice, cancels, goes back, answers or does not.

use std::collections::BTreeSet;
use std::sync::Arc;

use threadline_core::history::fact::{Answer, Approver, Digest, Input, PolicySet, Verdict};
use threadline_core::id::{AgentId, CallId, Seq};
use threadline_core::inbox::{Body, Command, Item, Mode};

use super::chaos::Mood;
use super::mark::Mark;
use super::notebook::NOTEBOOK;
use super::world::{Happening, World};
use super::{Course, gear, rules, team};

/// What the person does.
#[derive(Clone, Debug)]
pub(super) enum Act {
    /// Says something.
    Say { text: &'static str, mode: Mode },
    /// Stops the turn of an agent.
    Cancel,
    /// Stops the turn of this agent.
    CancelOf(AgentId),
    /// Goes back to before the newest turn.
    Undo,
    /// Goes back to anywhere.
    GoBack,
    /// Sets the instruction.
    Instruct,
    /// Notes a number.
    Note,
    /// Takes some tools away from the first agent.
    TakeTools,
    /// Lets an agent join, for the first time or again.
    Join(usize),
    /// Lets an agent go.
    Dismiss,
    /// Says something to all agents.
    SayToAll,
    /// Keeps an entry whole.
    Pin,
    /// Always allows one tool.
    AlwaysAllow,
    /// Sets some rule.
    SetRule,
    /// Says what is always to become of calls like this one.
    Always { call: CallId, answer: Answer },
    /// Asks for a recap.
    Recap,
    /// Takes a recap back.
    UndoRecap,
    /// Answers a question.
    Answer { call: CallId, digest: Digest, answer: Answer },
    /// Withdraws the newest message that waits.
    Withdraw,
    /// Replaces the newest message that waits.
    Edit,
    /// Sends a letter, for the first time or again.
    Post(usize),
}

/// What the person wrote, and what was acknowledged.
#[derive(Default)]
pub(super) struct Person {
    letters: Vec<Item>,
    acknowledged: BTreeSet<usize>,
    /// How much is still to be done.
    open: usize,
    /// Where the conversation stood when it began: there is no going back before it.
    pub(super) begins_after: Seq,
    /// Whether the turn that never ends was cancelled.
    cancelled: bool,
}

impl Person {
    pub(super) fn is_done(&self) -> bool {
        self.open == 0
    }

    /// What was acknowledged.
    pub(super) fn acknowledged(&self) -> impl Iterator<Item = &Item> {
        self.acknowledged.iter().filter_map(|letter| self.letters.get(*letter))
    }
}

impl World {
    /// Plans what the person does by itself.
    pub(super) fn plan_person(&mut self) {
        let say = |text| Act::Say { text, mode: Mode::Queue };
        match self.course {
            Course::Directed(_) => {
                for (ms, text) in [(10, "first"), (2_000, "second"), (4_000, "third")] {
                    self.will_act(ms, say(text));
                }
            }
            Course::Drawn => {
                for _ in 0..self.swarm.inputs {
                    let ms = self.draws.person.below(12_000);
                    let mode =
                        if self.draws.person.percent(30) { Mode::Steer } else { Mode::Queue };
                    self.will_act(ms, Act::Say { text: "do it", mode });
                    self.plan_more(ms);
                }
            }
        }
    }

    fn plan_more(&mut self, ms: u64) {
        let soon = ms + self.draws.person.below(400);
        let later = ms + self.draws.person.below(5_000);
        let acts = [
            (18, soon, Act::Cancel),
            (8, later, Act::Cancel),
            (14, later, Act::Undo),
            (10, soon, Act::GoBack),
            (10, later, Act::GoBack),
            (8, later, Act::Instruct),
            (8, later, Act::Note),
            (4, later, Act::TakeTools),
            (4, later, Act::Dismiss),
            (3, soon, Act::AlwaysAllow),
            (6, soon, Act::SetRule),
            (4, later, Act::SetRule),
            (6, later, Act::Recap),
            (10, soon, Act::Withdraw),
            (10, soon, Act::Edit),
            // Once there may be one.
            (5, later + 4_000, Act::UndoRecap),
        ];
        for (percent, ms, act) in acts {
            if self.draws.person.percent(percent) {
                self.will_act(ms, act);
            }
        }
        if self.swarm.team {
            self.plan_team(ms);
        }
    }

    /// What only people do who have several agents.
    fn plan_team(&mut self, ms: u64) {
        let [soon, later] = [1_500, 6_000].map(|within| ms + self.draws.person.below(within));
        let who = self.draws.person.index(team::NAMES.len());
        let acts = [
            (12, soon, Act::SayToAll),
            (20, later, Act::Join(who)),
            (10, later, Act::Dismiss),
            (5, later, Act::Pin),
            (6, later, Act::TakeTools),
        ];
        for (percent, ms, act) in acts {
            if self.draws.person.percent(percent) {
                self.will_act(ms, act);
            }
        }
    }

    /// Whom something is for: mostly the primary agent, else any that is or was there.
    fn addressee(&mut self) -> Option<AgentId> {
        let drawn = matches!(self.course, Course::Drawn);
        if !drawn || !self.draws.person.percent(45) {
            return None;
        }
        let known: Vec<AgentId> = self.store.history().state().agents.keys().copied().collect();
        self.draws.person.pick(&known).copied()
    }

    fn will_act(&mut self, ms: u64, act: Act) {
        self.person.open += 1;
        self.later(ms, Happening::Person(act));
    }

    /// The person does something.
    pub(super) fn act(&mut self, act: &Act) {
        let mut to = self.addressee();
        let mut due = None;
        let first = self.person.begins_after;
        let (mode, body) = match *act {
            Act::Post(letter) => return self.post(letter),
            Act::Withdraw => return self.withdraw(),
            Act::Edit => return self.edit(),
            Act::Say { text, mode } => {
                if matches!(self.course, Course::Drawn) && self.draws.person.percent(8) {
                    self.hit(Mark::NotYetDue);
                    due = Some(self.wall().plus_millis(self.draws.person.below(3_000)));
                }
                // In a world of several models, some want a certain one, or one that is not there.
                let routes = ["one", "two", "two", "nowhere"];
                let route = matches!(self.course, Course::Drawn) && self.draws.person.percent(4);
                let route = route.then(|| self.draws.person.pick(&routes).copied()).flatten();
                if route.is_some() {
                    self.hit(Mark::Rerouted);
                }
                let route = route.map(Arc::from);
                (mode, Body::Input(Input { route, ..Input::from_person(text) }))
            }
            Act::TakeTools => {
                let lesser =
                    if self.swarm.team { team::lesser_member() } else { gear::lesser_agent() };
                (Mode::Queue, Body::Command(Command::Join(lesser)))
            }
            Act::Join(index) => (Mode::Queue, Body::Command(Command::Join(team::member(index)))),
            Act::Dismiss => {
                to = to.or(Some(AgentId(2)));
                (Mode::Queue, Body::Command(Command::Leave))
            }
            Act::SayToAll => return self.say_to_all(),
            Act::Pin => {
                let seq = Seq(1 + self.draws.person.below(self.store.head().0));
                (Mode::Queue, Body::Command(Command::Pin { seq, on: true }))
            }
            Act::AlwaysAllow => {
                let (tool, verdict) = ("send_asked".into(), Verdict::Allow);
                let policy = PolicySet { tool, arguments: None, verdict };
                (Mode::Queue, Body::Command(Command::SetPolicy(policy)))
            }
            Act::SetRule => {
                let policy = rules::set(&mut self.draws.person);
                (Mode::Queue, Body::Command(Command::SetPolicy(policy)))
            }
            Act::Always { call, answer } => {
                let verdict = match answer {
                    Answer::Allow => Verdict::Allow,
                    Answer::Deny => Verdict::Deny,
                };
                let tool = self.written(call).map(|(tool, _)| tool).unwrap_or_default();
                let policy = PolicySet { tool, arguments: None, verdict };
                (Mode::Queue, Body::Command(Command::SetPolicy(policy)))
            }
            Act::Cancel => (Mode::Queue, Body::Cancel),
            Act::CancelOf(agent) => {
                to = Some(agent);
                (Mode::Queue, Body::Cancel)
            }
            Act::Undo => {
                let turn = self.store.history().state().last_turn;
                let to = turn.map_or(first, Seq::before).max(first);
                (Mode::Queue, Body::Command(Command::Rewind { to }))
            }
            Act::GoBack => {
                let to = Seq(first.0 + self.draws.person.below(self.store.head().0 - first.0 + 1));
                (Mode::Queue, Body::Command(Command::Rewind { to }))
            }
            Act::Instruct => {
                (Mode::Queue, Body::Command(Command::Instruct { text: "be brief".into() }))
            }
            Act::Note => {
                let (widget, change) = (NOTEBOOK.into(), "by hand".into());
                (Mode::Queue, Body::Command(Command::ChangeWidget { widget, change }))
            }
            Act::Recap => {
                let hints = vec!["Keep the numbers.".to_owned()];
                (Mode::Queue, Body::Command(Command::Recap { hints }))
            }
            Act::UndoRecap => (Mode::Queue, Body::Command(Command::UndoRecap)),
            Act::Answer { call, digest, answer } => {
                let by = Approver::Person { name: None };
                (Mode::Queue, Body::Approval { call, digest, answer, by })
            }
        };
        let client_key: Arc<str> = format!("key-{}", self.person.letters.len()).into();
        self.write(Item { client_key, to, mode, due, body });
    }

    fn write(&mut self, item: Item) {
        let letter = self.person.letters.len();
        self.note("letter", 0, || {
            format!("the person writes {} to {:?}: {:?}", item.client_key, item.to, item.body)
        });
        self.person.letters.push(item);
        self.post(letter);
    }

    /// The newest message that waits, among the letters.
    fn waiting_message(&self) -> Option<usize> {
        let waiting = self.store.waiting();
        let message = waiting.iter().rev().find(|(_, item)| matches!(item.body, Body::Input(_)))?;
        self.person.letters.iter().position(|item| item.client_key == message.1.client_key)
    }

    fn withdraw(&mut self) {
        self.person.open -= 1;
        let Some(letter) = self.waiting_message() else { return };
        let key = self.person.letters.get(letter).map(|item| Arc::clone(&item.client_key));
        if key.is_some_and(|key| self.store.withdraw(&key)) {
            self.hit(Mark::Withdrawn);
            self.note("letter", 0, || format!("the person withdraws letter {letter}"));
        }
    }

    fn edit(&mut self) {
        self.person.open -= 1;
        let Some(letter) = self.waiting_message() else { return };
        let Some(item) = self.person.letters.get_mut(letter) else { return };
        if let Body::Input(input) = &mut item.body {
            *input = Input { sections: Input::from_person("do it well").sections, ..input.clone() };
        }
        let item = item.clone();
        if self.store.edit(&item) {
            self.hit(Mark::Edited);
            self.note("letter", 0, || format!("the person edits letter {letter}"));
            self.tell_driver();
        }
    }

    /// The same is said to every agent that is there.
    fn say_to_all(&mut self) {
        let key = format!("key-{}", self.person.letters.len());
        let mode = if self.draws.person.percent(30) { Mode::Steer } else { Mode::Queue };
        let body = Body::Input(Input::from_person("all of you"));
        let item = Item { client_key: key.into(), to: None, mode, due: None, body };
        let agents = self.store.history().state().agents.iter();
        let agents = agents.filter(|(_, agent)| agent.present).map(|(id, _)| *id);
        let items = item.to_each(agents.collect::<Vec<_>>());
        self.person.open += items.len();
        self.person.open -= 1;
        for item in items {
            self.write(item);
        }
    }

    /// Sends a letter. Until it is acknowledged it is sent again, under the same key.
    fn post(&mut self, letter: usize) {
        let Some(item) = self.person.letters.get(letter).cloned() else { return };
        let fault = self.draws.person.percent(self.swarm.person);
        let odd = self.draws.person.below(3);
        if fault && odd < 2 {
            if odd == 1 && !self.take_letter(&item) {
                return;
            }
            self.hit(Mark::SendLost);
            let ms = 100 + self.latency();
            return self.later(ms, Happening::Person(Act::Post(letter)));
        }
        if !self.take_letter(&item) {
            return;
        }
        if self.person.acknowledged.insert(letter) {
            // Some send again what was already acknowledged.
            if self.draws.person.percent(self.swarm.person) {
                let ms = self.draws.person.below(6_000);
                return self.later(ms, Happening::Person(Act::Post(letter)));
            }
        }
        self.person.open -= 1;
    }

    /// The store takes a letter in, and whoever drives is told.
    fn take_letter(&mut self, item: &Item) -> bool {
        if self.store.has(&item.client_key) {
            self.hit(Mark::SentTwice);
        }
        if let Err(why) = self.store.enqueue(item) {
            self.fail("I-10", why);
            return false;
        }
        if self.draws.person.percent(self.swarm.silent) {
            // It comes from another process: whoever drives finds it by looking.
            self.hit(Mark::FoundByLook);
            return true;
        }
        self.tell_driver();
        true
    }

    /// Passes the waiting items to the worker that holds the lease.
    fn tell_driver(&mut self) {
        let held = self.store.lease.map(|(fence, _)| fence);
        let driving = self.workers.iter().position(|w| w.fence.is_some() && w.fence == held);
        if let Some(worker) = driving {
            self.tell_waiting(worker);
        }
    }

    /// The person is asked whether a call may run: mostly there is an answer, in time or too late.
    pub(super) fn is_asked(&mut self, call: CallId, digest: Digest) {
        let directed = matches!(self.course, Course::Directed(_));
        let (answer, ms) = match self.draws.person.below(100) {
            _ if directed => (Answer::Allow, 50),
            0..=44 => (Answer::Allow, 20 + self.draws.person.below(2_000)),
            45..=59 => (Answer::Deny, 20 + self.draws.person.below(2_000)),
            60..=79 => (Answer::Allow, 5_500),
            _ => return,
        };
        // Who is asked too often says so for good, with the answer or instead of it.
        let always = !directed && self.draws.person.percent(15);
        if !always || self.draws.person.percent(50) {
            self.will_act(ms, Act::Answer { call, digest, answer });
        }
        if always {
            self.hit(Mark::SaidAlways);
            self.will_act(ms, Act::Always { call, answer });
        }
    }

    /// A call runs: now and then that is more than was wanted.
    pub(super) fn sees_run(&mut self, agent: AgentId, call: CallId) {
        let drawn = matches!(self.course, Course::Drawn) && !self.calm;
        let percent = if self.swarm.mood == Mood::Eager { 30 } else { 8 };
        if drawn && self.draws.person.percent(percent) {
            let ms = self.draws.person.below(200);
            self.will_act(ms, Act::CancelOf(agent));
        }
        if drawn && self.draws.person.percent(3) {
            let ms = self.draws.person.below(200);
            self.will_act(ms, Act::Always { call, answer: Answer::Deny });
        }
    }

    /// An agent calls another: now and then someone thinks better of it.
    pub(super) fn sees_agent_called(&mut self, caller: AgentId, child: AgentId) {
        if !matches!(self.course, Course::Drawn) || self.calm {
            return;
        }
        let ms = self.draws.person.below(250);
        match self.draws.person.below(100) {
            0..=8 => self.will_act(ms, Act::CancelOf(caller)),
            9..=14 => self.will_act(ms, Act::CancelOf(child)),
            15..=17 => self.will_act(ms, Act::GoBack),
            18 => self.will_act(ms, Act::TakeTools),
            _ => {}
        }
    }

    /// In the fixed conversation, the answer that never ends is cancelled.
    pub(super) fn sees_endless_answer(&mut self) {
        if matches!(self.course, Course::Directed(_)) && !self.person.cancelled {
            self.person.cancelled = true;
            self.will_act(300, Act::Cancel);
        }
    }
}
