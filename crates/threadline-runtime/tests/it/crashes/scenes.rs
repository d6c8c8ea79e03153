//! Scenes: short conversations that use every kind of step, and what people do in them.

use threadline_core::drive::Limits;
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::{Answer, Approver, Fact, Input};
use threadline_core::id::{AgentId, Seq};
use threadline_core::inbox::{Body, Command, Item, Mode};
use threadline_runtime::NewAgent;

use super::office;
use crate::house::assistant;

/// A conversation in which people do things, one after the other.
#[derive(Clone)]
pub(crate) struct Scene {
    pub(crate) name: &'static str,
    pub(crate) agents: Vec<NewAgent>,
    pub(crate) script: String,
    pub(crate) acts: Vec<Act>,
    pub(crate) limits: Limits,
    /// Tools whose results depend on when the process died, beside those that run once.
    pub(crate) loose: &'static [&'static str],
}

/// What someone does, and when.
#[derive(Clone, Copy)]
pub(crate) struct Act {
    key: &'static str,
    pub(crate) when: When,
    pub(crate) what: What,
}

#[derive(Clone, Copy)]
pub(crate) enum When {
    /// At once.
    Now,
    /// When all is quiet.
    Rest,
    /// When the history is so.
    Has(fn(&[Entry]) -> bool),
}

#[derive(Clone, Copy)]
pub(crate) enum What {
    Say(&'static str),
    SayToAll(&'static str),
    Steer(&'static str),
    Cancel,
    Rewind(u64),
    /// Answers the n-th question of all, agent by agent.
    Answer(usize, Answer),
    /// The same in another process.
    AnswerElsewhere(usize, Answer),
    /// Lets time go by, in minutes.
    Pass(u64),
}

impl Act {
    /// What is put into the inbox, given what the history has by then.
    pub(crate) fn items(&self, agents: usize, entries: &[Entry]) -> Vec<Item> {
        let (mode, body) = match self.what {
            What::Pass(_) => return Vec::new(),
            What::Say(text) | What::SayToAll(text) => {
                (Mode::Queue, Body::Input(Input::from_person(text)))
            }
            What::Steer(text) => (Mode::Steer, Body::Input(Input::from_person(text))),
            What::Cancel => (Mode::Queue, Body::Cancel),
            What::Rewind(to) => (Mode::Queue, Body::Command(Command::Rewind { to: Seq(to) })),
            What::Answer(nth, answer) | What::AnswerElsewhere(nth, answer) => {
                let asked = entries.iter().filter_map(|entry| match &entry.fact {
                    Fact::ApprovalAsked(asked) => Some((entry.agent, asked)),
                    _ => None,
                });
                let mut asked: Vec<_> = asked.collect();
                asked.sort_by_key(|(agent, _)| *agent);
                let asked = asked[nth].1;
                let by = Approver::Person { name: None };
                let (call, digest) = (asked.call, asked.digest);
                (Mode::Queue, Body::Approval { call, digest, answer, by })
            }
        };
        let item = Item { client_key: self.key.into(), to: None, mode, due: None, body };
        match self.what {
            What::SayToAll(_) => item.to_each((AgentId::FIRST.0..).take(agents).map(AgentId)),
            _ => vec![item],
        }
    }
}

pub(super) fn act(key: &'static str, when: When, what: What) -> Act {
    Act { key, when, what }
}

fn starts(entries: &[Entry]) -> bool {
    entries.iter().any(|entry| matches!(entry.fact, Fact::ToolStarted(_)))
}

fn asks_model(entries: &[Entry]) -> bool {
    entries.iter().any(|entry| matches!(entry.fact, Fact::InvocationStarted(_)))
}

/// A scene of one input and what a model does about it.
fn of(name: &'static str, turn: &str) -> Scene {
    let go = act("k1", When::Now, What::Say("go"));
    with(name, turn, vec![go])
}

/// A scene of some acts. At its end something is said, so that all before it is shown once more.
fn with(name: &'static str, turns: &str, mut acts: Vec<Act>) -> Scene {
    acts.push(act("end", When::Rest, What::Say("the end")));
    let script = format!("turn when \"go\"\n{turns}\nturn when \"the end\"\n say That was all.\n");
    let mut agent = assistant();
    agent.joined.tools.retain(|tool| &**tool != "calculator");
    let agents = vec![agent];
    Scene { name, agents, script, acts, limits: Limits::default(), loose: &[] }
}

/// All scenes.
pub(crate) fn all() -> Vec<Scene> {
    let mut scenes = answers();
    scenes.extend(calls());
    scenes.extend(people());
    scenes.extend(office::scenes());
    scenes
}

/// What models do.
fn answers() -> Vec<Scene> {
    vec![
        of("plain answer", "say Hello.\n usage 120 30\n cost 5000"),
        of("thinking", "think What could it be?\n state abc\n say It is so.\n usage 10 20"),
        of("cut-off answer", "say It is\n stop length"),
        of("refusal", "say No.\n stop refusal"),
        of("failed and asked again", "fail busy after 1 slow down\nagain\n say At last.\n cost 7"),
        of("broken off", "say half\n ends\nagain\n say Whole."),
        of("given up", "fail unauthorised no key"),
        of("paused", "say One moment.\n stop paused\nthen\n say Here it is."),
        of(
            "empty answer to results",
            "call read {\"do\":\"1\"}\nthen\n stop done\nthen\n say So it is.",
        ),
        with(
            "queued inputs",
            "call write {\"do\":\"until told\"}\nthen\n say First.\nturn else\n say {input}, too.",
            vec![
                act("k1", When::Now, What::Say("go")),
                act("k2", When::Now, What::Say("this")),
                act("k3", When::Now, What::Say("that")),
            ],
        ),
    ]
}

/// What becomes of calls.
fn calls() -> Vec<Scene> {
    let limited = |name, limits| {
        let turn = "call read {\"do\":\"1\"}\nthen\n call read {\"do\":\"1\"}\nthen\n \
            call read {\"do\":\"1\"}\nthen\n say Never said.";
        Scene { limits, ..of(name, turn) }
    };
    let limits = Limits::default();
    vec![
        of("one call", "call read {\"do\":\"1\"}\nthen\n say {results}"),
        of("one call that runs once", "call pay {\"do\":\"1\"}\nthen\n say Paid."),
        of(
            "three calls side by side",
            "call read {\"do\":\"1\"}\n call write {\"do\":\"2\"}\n call pay {\"do\":\"3\"}\n\
             then\n say All done.",
        ),
        of(
            "calls one after the other",
            "call pay {\"do\":\"1\"}\nthen\n call write {\"do\":\"2\"}\nthen\n \
             call pay {\"do\":\"3\"}\nthen\n say All done.",
        ),
        of(
            "widgets",
            "call notebook_append {\"text\":\"milk\"}\n call notebook_append {\"text\":\"bread\"}\n\
             call pay {\"do\":\"1\"}\nthen\n call notebook_append {\"text\":\"salt\"}\nthen\n \
             say {screen}",
        ),
        of(
            "calls that cannot run",
            "call nothing {}\n call read {\"do\":7}\n call read not json\n \
             call pay {\"do\":\"1\"}\n cut pay {\"do\":\"\n stop length\nthen\n say I see.",
        ),
        of(
            "calls that fail",
            "call read {\"do\":\"fail\"}\n call write {\"do\":\"panic\"}\n \
             call pay {\"do\":\"fail\"}\nthen\n say I see.",
        ),
        limited("the limit of steps", Limits { steps: 2, ..limits }),
        limited("the limit of equal calls", Limits { same_call: 2, ..limits }),
    ]
}

/// What people do in between.
fn people() -> Vec<Scene> {
    let go = act("k1", When::Now, What::Say("go"));
    vec![
        with(
            "allowed and declined",
            "call ask {\"do\":\"1\"}\n call ask {\"do\":\"2\"}\n call read {\"do\":\"3\"}\nthen\n \
             say I see.",
            vec![
                go,
                act("a1", When::Rest, What::Answer(0, Answer::Allow)),
                act("a2", When::Rest, What::Answer(1, Answer::Deny)),
            ],
        ),
        with(
            "cancelled while a model answers",
            "say It begins\n hang",
            vec![go, act("c1", When::Has(asks_model), What::Cancel)],
        ),
        Scene {
            loose: &["read", "write"],
            ..with(
                "cancelled while tools run",
                "call read {\"do\":\"until stopped\"}\n call pay {\"do\":\"until stopped\"}\n \
                 call write {\"do\":\"until stopped\"}",
                vec![go, act("c1", When::Has(starts), What::Cancel)],
            )
        },
        with(
            "steered",
            "call read {\"do\":\"until told\"}\nthen\n say Never said.\nturn else\n say {input}.",
            vec![
                go,
                act("k2", When::Has(starts), What::Say("afterwards")),
                act("k3", When::Has(starts), What::Steer("rather this")),
            ],
        ),
        with(
            "rewound",
            "call pay {\"do\":\"1\"}\n call notebook_append {\"text\":\"paid\"}\nthen\n say Paid.\n\
             turn else\n call notebook_append {\"text\":\"again\"}\nthen\n say {screen}",
            vec![
                go,
                act("r1", When::Rest, What::Rewind(2)),
                act("k2", When::Rest, What::Say("what do you know?")),
            ],
        ),
        with("nothing to cancel", "say Hello.", vec![go, act("c1", When::Rest, What::Cancel)]),
    ]
}
