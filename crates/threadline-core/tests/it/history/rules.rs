//! Every rule, each broken by a story.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use threadline_core::clock::Timestamp;
use threadline_core::history::fact::{
    AgentJoined, Fact, Forked, Note, Pinned, PolicySet, Recap, Rewound, TimerSet, ToolStarted,
    Verdict,
};
use threadline_core::history::metadata::Metadata;
use threadline_core::history::rule::Rule;
use threadline_core::history::{
    AGENTS_CAP, Aftermath, Counts, History, PINS_CAP, POLICIES_CAP, Proposal, RECAPS_CAP, Refused,
    Stamp, TIMERS_CAP,
};
use threadline_core::id::{AgentId, ConversationId, Seq};
use threadline_core::tokens::Estimator;
use threadline_testing::ids::SeededIds;
use threadline_testing::notation::{self, Mistake};
use uuid::Uuid;

use super::story;

/// Stories whose last line breaks a rule.
const STORIES: &[&str] = &[
    "user to #7: nobody is here",
    "@ a joins\n@ a leaves\nuser: nobody is here any more",
    "! #3 note {\"category\":\"x\",\"text\":\"of nobody\"}",
    "@ a joins\n! #3 pinned {\"seq\":1,\"on\":true}",
    "@ a#0 joins",
    "@ a joins\n! #1 described {\"title\":\"of the conversation\"}",
    "@ a joins\n! #1 policy_set {\"tool\":\"x\",\"verdict\":\"ask\"}",
    "@ a joins\n! #1 moved {}",
    "@ a joins\n@ a#2 joins",
    "! #1 agent_joined {\"name\":\" \"}",
    "@ a joins\nuser: \" \\n\"",
    "@ a joins\nuser: do it\na: → x {}\nuser: and that",
    "@ a joins\nuser: do it\na: → x {}\na ends cancelled",
    "@ a joins\na: unasked",
    "@ a joins\na asks",
    "@ a joins\n! #0 described {\"title\":\"dear\",\"cost\":9223372036854775808}",
    "@ a joins\nuser: hello\na: hello\na: hello again",
    "@ a joins\nuser: hello\na: → x {}\na asks",
    "@ a joins\nuser: hello\na failed busy",
    "@ a joins\nuser: hello\na asks\na failed busy\na failed busy",
    "@ a joins\nuser: hello\na asks\na asks\na failed busy {\"started\":3}",
    "@ a joins\nx c1.0 starts read",
    "@ a joins\nuser: do it\na: → x {}\nx c3.1 starts read",
    "@ a joins\n@ b joins\nuser: do it\na: → x {}\nx c4.0@b ok: done",
    "@ a joins\nuser: do it\na: → x {}\ny c3.0 ok: done",
    "@ a joins\nuser: do it\na: → x {}\nx c3.0 ok: done\nx c3.0 ok: done again",
    "@ a joins\nuser: do it\na: → x {}\nx c3.0 ok: done\nx c3.0 starts read",
    "@ a joins\nuser: do it\na (length): → x! {\"a\nx c3.0 starts read",
    "@ a joins\nuser: do it\na: → x {}\nx c3.0 starts read {\"attempt\":2}",
    "@ a joins\nuser: do it\na: → x {}\nx c3.0 starts once\nx c3.0 starts once",
    "@ a joins\nuser: do it\na: → x {}\nx c3.0 starts read\nx c3.0 skipped",
    "@ a joins\nuser: do it\na: → x {}\nx c3.0 unknown",
    "@ a joins\nuser: do it\na: → x {}\n! #1 file_changed {\"call\":\"c3.0\",\"path\":\"a.txt\"}",
    "@ a joins\nuser: do it\na: → x {}\nx c3.0 starts once\nx c3.0 ok: done\n! #1 file_changed {\"call\":\"c3.0\",\"path\":\"a.txt\"}",
    "@ a joins\n! #1 workspace_set {\"path\":\"/srv\"}",
    "@ a joins\n! #1 authority_reset {}",
    "@ a joins\nuser: do it\na results",
    "@ a joins\nuser: do it\na: → x {} | y {}\nx c3.0 ok: done\na results",
    "@ a joins\nuser: do it\na: → x {} | y {}\nx c3.0 ok: 1\ny c3.1 ok: 2\na results {\"results\":[5,4]}",
    "@ a joins\nuser: do it\na: → x {}\nx c3.0 ok: 1\na results {\"output\":2}",
    "@ a joins\nuser: do it\na: → x {}\nx c3.0 allowed",
    "@ a joins\nuser: do it\na: → x {}\nx c3.0 asked until +1m\nx c3.0 asked until +1m",
    "@ a joins\nuser: do it\na: → x {}\nx c3.0 asked until +1m\nx c3.0 denied\nx c3.0 allowed",
    "@ a joins\nuser: do it\na: → x {}\nx c3.0 starts read\nx c3.0 asked until +1m",
    "@ a joins\nuser: do it\na: → call_agent {}\na c3.0 calls a",
    "@ a joins\n@ b joins\nuser to b: be busy\nuser: do it\na: → call_agent {}\na c5.0 calls b",
    "@ a joins\nuser: do it\n@ a leaves",
    "@ a joins\n@ b joins\nuser: do it\na: → call_agent {}\nb returns to c4.0",
    "@ a joins\n@ b joins\nuser: do it\na: → call_agent {}\na c4.0 sends b\nb returns to c4.0",
    "@ a joins\na ends cancelled",
    "@ a joins\ntimer 1 cleared",
    "@ a joins\na timer +1m: once\ntimer 2 to a: once\ntimer 2 to a: again",
    "@ a joins\npin 2",
    "@ a joins\npin 0",
    "@ a joins\na recap 1..2: the future",
    "@ a joins\na recap 0..1: before the beginning",
    "@ a joins\n@ b joins\nuser: do it\na: → call_agent {}\na c4.0 calls b\nb returns to c4.0 {\"ended\":6}",
];

#[test]
fn each_rule_is_broken_by_a_story() {
    let mut seen = BTreeSet::new();
    let mut messages = String::new();
    for text in STORIES {
        let rule = broken(notation::parse(text).map(drop).map_err(|error| {
            assert_eq!(error.line, text.lines().count(), "{error}\n{text}");
            error.mistake
        }));
        writeln!(messages, "{rule}").unwrap();
        seen.insert(name(&rule));
    }
    for rule in [too_many_pins(), dense(), needs_past(), fork(), withdrawn(), metadata()] {
        writeln!(messages, "{rule}").unwrap();
        seen.insert(name(&rule));
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), NAMES);
    insta::assert_snapshot!(messages, @r#"
    agent 7 is not in the conversation
    agent 1 is not in the conversation
    agent 3 is not in the conversation
    agent 3 is not in the conversation
    agent 0 is the conversation itself and cannot join
    this kind of fact belongs to the conversation, agent 0, not to agent 1
    this kind of fact belongs to the conversation, agent 0, not to agent 1
    this kind of fact belongs to the conversation, agent 0, not to agent 1
    the name "a" is empty or taken by another agent
    the name " " is empty or taken by another agent
    an input has a section that is not blank, or an attachment
    the calls of output 3 are not sealed: no input lands before they are
    the calls of output 3 are not sealed: no input lands before they are
    an output answers an input or sealed results; nothing waits for one
    an output answers an input or sealed results; nothing waits for one
    a cost of 9223372036854775808 billionths of a dollar cannot be right
    an output answers an input or sealed results; nothing waits for one
    an output answers an input or sealed results; nothing waits for one
    invocation 0 is not under way
    invocation 3 is not under way
    invocation 3 is not under way
    call c1.0 is not open
    call c3.1 is not open
    call c4.0 is not open
    call c3.0 is of the tool "x", not of "y"
    call c3.0 is finished already
    call c3.0 is finished already
    call c3.0 was cut off and cannot start
    call c3.0: expected attempt 1
    call c3.0 has an effect that must happen once, and was started already
    call c3.0 cannot be Skipped: it was started
    call c3.0 cannot be Unknown: it was not started
    call c3.0 was not started
    call c3.0 is finished already
    this kind of fact belongs to the conversation, agent 0, not to agent 1
    this kind of fact belongs to the conversation, agent 0, not to agent 1
    no output's calls are open to be sealed
    results answer the calls of output 3, in their order, each finished
    results answer the calls of output 3, in their order, each finished
    results answer the calls of output 3, in their order, each finished
    call c3.0 has no open question, or has one already
    call c3.0 has no open question, or has one already
    call c3.0 has no open question, or has one already
    call c3.0 has no open question, or has one already
    agent 1 is in the middle of a turn, or is the caller itself
    agent 2 is in the middle of a turn, or is the caller itself
    agent 1 is in the middle of a turn, or is the caller itself
    call c4.0 did not call that agent
    call c4.0 did not call that agent
    no turn is under way
    there is no timer 1
    there is no timer 2
    there is no entry 2 to speak of
    there is no entry 0 to speak of
    there is no entry 2 to speak of
    there is no entry 0 to speak of
    there is no entry 6 to speak of
    no more than 256 pins in one conversation
    entries are dense: expected 2
    a rewind to entry 1 needs the state the history had there
    a fork names the entry it follows
    call c3.0 was withdrawn by a rewind, fork or copy and cannot start
    metadata keys are snake_case, not "Loud"
    "#);
}

#[test]
fn there_are_so_many_of_each_and_no_more() {
    let conversation = |_| AgentId::CONVERSATION;
    let messages = [
        too_many_pins(),
        too_many(conversation, |_| policy().into(), POLICIES_CAP),
        too_many(conversation, |_| timer().into(), TIMERS_CAP),
        too_many(|_| AgentId(1), |n| recap(n).into(), RECAPS_CAP),
        too_many_agents(),
    ]
    .map(|rule| rule.to_string());
    insta::assert_snapshot!(messages.join("\n"), @"
    no more than 256 pins in one conversation
    no more than 1024 rules in one conversation
    no more than 1024 timers in one conversation
    no more than 1024 recaps in one conversation
    no more than 1024 agents in one conversation
    ");
}

#[test]
fn what_is_not_a_matter_of_rules_is_refused_too() {
    let told = story("@ a joins\nuser: hello");
    let history = told.history();
    let ids = SeededIds::new(1);
    let stamp = Stamp { at: told.now(), ids: &ids, counter: &Estimator };
    let nothing = history.propose([], stamp).unwrap_err();
    let note = |text: String| {
        let fact = Note { category: "x".into(), text: text.into() };
        Proposal::new(AgentId::CONVERSATION, fact, &Estimator)
    };
    let many = history.propose((0..65).map(|_| note("x".to_owned())), stamp).unwrap_err();
    let large = history.propose([note("x".repeat(1 << 20))], stamp).unwrap_err();
    let future = told.history_at(Seq(1)).unwrap();
    let future = future.propose_rewind(history, &Aftermath::default(), stamp).unwrap_err();
    let all = [nothing, many, large, future].map(|refused| refused.to_string());
    insta::assert_snapshot!(all.join("\n"), @"
    a batch has 1 to 64 entries and at most 4194304 bytes
    a batch has 1 to 64 entries and at most 4194304 bytes
    could not write entry 3
    the past given ends at entry 2, not at 1
    ");
}

#[test]
fn an_entry_of_a_newer_version_can_be_read_but_not_gone_on_from() {
    let told = story("@ a joins\nuser: hello\na: hello");
    let mut history = told.history_at(Seq(1)).unwrap().clone();
    let mut entry = told.entries().nth(1).unwrap().clone();
    entry.fact = Fact::from_body("telepathy", b"{}");
    let hash = history.head_hash();
    history.apply(&entry, hash, Counts::default()).unwrap();
    // The answer to what is not understood breaks a rule that cannot be judged any more.
    let state = history.state().clone();
    let answer = told.entries().nth(2).unwrap();
    history.apply(answer, hash, Counts::default()).unwrap();
    assert_eq!((history.state(), history.head()), (&state, Seq(3)));
    let ids = SeededIds::new(1);
    let stamp = Stamp { at: told.now(), ids: &ids, counter: &Estimator };
    let proposal = Proposal::new(AgentId(1), answer.fact.clone(), &Estimator);
    let refused = history.propose([proposal], stamp).unwrap_err();
    insta::assert_snapshot!(refused, @"entry 2 is of a newer version of threadline: this history can be read but not driven");
}

/// What breaks once there are `cap` of what a fact makes, with another number for each.
fn too_many(agent: fn(u64) -> AgentId, fact: fn(u64) -> Fact, cap: usize) -> Rule {
    let told = story("@ a joins");
    let mut history = told.history().clone();
    let ids = SeededIds::new(1);
    let stamp = Stamp { at: told.now(), ids: &ids, counter: &Estimator };
    let propose = |n| Proposal::new(agent(n), fact(n), &Estimator);
    let cap = u64::try_from(cap).unwrap();
    for first in (1..=cap).step_by(64) {
        let next = (first..=cap.min(first + 63)).map(propose);
        history = history.propose(next, stamp).unwrap().history;
    }
    broken(history.propose([propose(cap + 1)], stamp).map(drop).map_err(Mistake::Refused))
}

fn too_many_pins() -> Rule {
    let pinned = |n| Pinned { seq: Seq(n), on: true }.into();
    too_many(|_| AgentId::CONVERSATION, pinned, PINS_CAP)
}

fn too_many_agents() -> Rule {
    let joined =
        |n: u64| AgentJoined { name: n.to_string().into(), ..AgentJoined::default() }.into();
    too_many(|n| AgentId(u32::try_from(n).unwrap()), joined, AGENTS_CAP)
}

fn policy() -> PolicySet {
    PolicySet { tool: "x".into(), arguments: None, verdict: Verdict::Ask }
}

fn timer() -> TimerSet {
    TimerSet { when: Timestamp::default(), every_ms: None, call: None, text: "".into() }
}

fn recap(n: u64) -> Recap {
    let text = Some("x".into());
    Recap {
        from: Seq(n),
        to: Seq(n),
        text,
        asked: false,
        hints: Vec::new(),
        dropped: Vec::new(),
        usage: None,
        cost: None,
    }
}

fn dense() -> Rule {
    let told = story("@ a joins");
    let entry = told.entries().next().unwrap();
    let mut history = told.history().clone();
    let hash = history.head_hash();
    history.apply(entry, hash, Counts::default()).unwrap_err().rule
}

fn needs_past() -> Rule {
    propose(story("@ a joins").history(), Rewound { to: Seq(1) })
}

fn fork() -> Rule {
    let told = story("@ a joins");
    let history = told.history();
    let from = ConversationId(Uuid::nil());
    propose(history, Forked { from, seq: Seq(7), hash: history.head_hash() })
}

/// Between a rewind and what settles it, a call that was open is, but must not start.
fn withdrawn() -> Rule {
    let told = story("@ a joins\nuser: do it\na: → x {}\nx c3.0 starts read\nrewind 3");
    let Some(Fact::ToolStarted(started)) = told.entries().nth(3).map(|entry| entry.fact.clone())
    else {
        panic!("the fourth entry starts a tool");
    };
    propose(told.history_at(Seq(5)).unwrap(), ToolStarted { attempt: 1, ..started })
}

fn metadata() -> Rule {
    let metadata: Metadata = serde_json::from_str("{\"Loud\":1}").unwrap();
    let told = story("@ a joins");
    let fact = told.entries().next().unwrap().fact.clone();
    let proposal = Proposal { metadata, ..Proposal::new(AgentId(1), fact, &Estimator) };
    refuse(told.history(), proposal)
}

fn propose(history: &History, fact: impl Into<Fact>) -> Rule {
    let fact = fact.into();
    let agent = match fact {
        Fact::ToolStarted(_) => AgentId::FIRST,
        _ => AgentId::CONVERSATION,
    };
    refuse(history, Proposal::new(agent, fact, &Estimator))
}

fn refuse(history: &History, proposal: Proposal) -> Rule {
    let ids = SeededIds::new(1);
    let stamp = Stamp { at: Timestamp::default(), ids: &ids, counter: &Estimator };
    broken(history.propose([proposal], stamp).map(drop).map_err(Mistake::Refused))
}

fn broken(told: Result<(), Mistake>) -> Rule {
    match told.unwrap_err() {
        Mistake::Refused(Refused::Rule(broken)) => broken.rule,
        mistake => panic!("not refused by a rule: {mistake}"),
    }
}

/// The names of all rules, in order.
const NAMES: [&str; 30] = [
    "attempt",
    "call_name",
    "conversation",
    "cost",
    "cut_off",
    "dense",
    "empty_input",
    "finished",
    "fork",
    "metadata",
    "name",
    "needs_past",
    "no_entry",
    "no_timer",
    "no_turn",
    "not_called",
    "not_invoking",
    "not_open",
    "not_resting",
    "not_started",
    "present",
    "question",
    "reserved",
    "started_once",
    "too_many",
    "unasked",
    "unsealed",
    "withdrawn",
    "wrong_results",
    "wrong_status",
];

fn name(rule: &Rule) -> &'static str {
    match rule {
        Rule::Dense { .. } => "dense",
        Rule::Present(_) => "present",
        Rule::Reserved => "reserved",
        Rule::Conversation(_) => "conversation",
        Rule::Name(_) => "name",
        Rule::TooMany { .. } => "too_many",
        Rule::EmptyInput => "empty_input",
        Rule::Unsealed(_) => "unsealed",
        Rule::Unasked => "unasked",
        Rule::Cost(_) => "cost",
        Rule::NotInvoking(_) => "not_invoking",
        Rule::NotOpen(_) => "not_open",
        Rule::CallName { .. } => "call_name",
        Rule::Finished(_) => "finished",
        Rule::CutOff(_) => "cut_off",
        Rule::Withdrawn(_) => "withdrawn",
        Rule::Attempt { .. } => "attempt",
        Rule::NotStarted(_) => "not_started",
        Rule::StartedOnce(_) => "started_once",
        Rule::WrongStatus { .. } => "wrong_status",
        Rule::WrongResults { .. } => "wrong_results",
        Rule::Question(_) => "question",
        Rule::NotResting(_) => "not_resting",
        Rule::NotCalled(_) => "not_called",
        Rule::NoTurn => "no_turn",
        Rule::NoTimer(_) => "no_timer",
        Rule::NoEntry(_) => "no_entry",
        Rule::NeedsPast(_) => "needs_past",
        Rule::Fork => "fork",
        Rule::Metadata(_) => "metadata",
    }
}
