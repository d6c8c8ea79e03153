//! Where agents stand: turns, calls, agents and their settings, pins, recaps, timers, waking.

use threadline_core::history::batch::State;
use threadline_core::history::fact::FailureKind;
use threadline_core::history::state::Stage;
use threadline_core::id::{AgentId, Seq};

use super::{Story, agent, story};

fn at(told: &Story) -> (State, bool) {
    (told.history().state().state(), told.history().sums().wake_at.is_some())
}

/// Tells a line and gives the state after it.
fn after(told: &mut Story, line: &str) -> (State, bool) {
    told.tell(line).unwrap();
    at(told)
}

#[test]
fn a_conversation_rests_works_or_waits() {
    let mut told = story("@ a joins\n@ b joins");
    assert_eq!(at(&told), (State::Resting, false));
    assert_eq!(after(&mut told, "user: do it"), (State::Working, false));
    assert_eq!(
        after(&mut told, "a: → shell {} | wait {} | call_agent {}"),
        (State::Working, false)
    );
    assert_eq!(after(&mut told, "shell c4.0 asked until +10m"), (State::Working, true));
    assert_eq!(after(&mut told, "a timer +5m c4.1: up"), (State::Working, true));
    // All that is left waits: for a person, a time, and another agent that is itself at work.
    assert_eq!(after(&mut told, "a c4.2 calls b"), (State::Working, true));
    assert_eq!(after(&mut told, "a c4.2 to b: help"), (State::Working, true));
    assert_eq!(after(&mut told, "b: → wait {}"), (State::Working, true));
    assert_eq!(after(&mut told, "b timer +5m c9.0: up"), (State::Waiting, true));
    assert_eq!(after(&mut told, "wait c9.0 ok: up"), (State::Working, true));
    assert_eq!(after(&mut told, "b results"), (State::Working, true));
    // The answer is to be recorded.
    assert_eq!(after(&mut told, "b: done"), (State::Working, true));
    assert_eq!(after(&mut told, "b returns to c4.2"), (State::Working, true));
    assert_eq!(after(&mut told, "call_agent c4.2 ok: done"), (State::Waiting, true));
    assert_eq!(after(&mut told, "shell c4.0 allowed"), (State::Working, true));
    assert_eq!(after(&mut told, "shell c4.0 ok: done"), (State::Waiting, true));
    assert_eq!(after(&mut told, "wait c4.1 ok: up"), (State::Working, false));
    assert_eq!(after(&mut told, "a results"), (State::Working, false));
    assert_eq!(after(&mut told, "a: done"), (State::Resting, false));
}

#[test]
fn a_call_to_an_agent_that_waits_is_held_up() {
    let mut told = story("@ a joins\n@ b joins\nuser to a: go\nuser to b: go");
    told.tell("b: → wait {}\nb timer +5m c5.0: up").unwrap();
    // Whoever is not there and whoever calls itself is told so at once.
    for call in [r#"{"name":"c","task":"x"}"#, r#"{"name":"a","task":"x"}"#] {
        let mut told = story("@ a joins\n@ b joins\nuser to a: go\nuser to b: go");
        told.tell("b: → wait {}\nb timer +5m c5.0: up").unwrap();
        assert_eq!(after(&mut told, &format!("a: → call_agent {call}")), (State::Working, true));
    }
    let held_up = after(&mut told, r#"a: → call_agent {"name":"b","task":"x"}"#);
    assert_eq!(held_up, (State::Waiting, true));
    told.tell("wait c5.0 ok: up\nb results\nb: done").unwrap();
    assert_eq!(at(&told), (State::Working, false));
}

#[test]
fn a_circle_of_calls_is_not_held_up() {
    let mut told = story("@ a joins\n@ b joins\nuser to a: go\nuser to b: go");
    told.tell(r#"a: → call_agent {"name":"b","task":"x"}"#).unwrap();
    // One of the two is refused.
    let both = after(&mut told, r#"b: → call_agent {"name":"a","task":"y"}"#);
    assert_eq!(both, (State::Working, false));
}

#[test]
fn a_timer_wakes_nobody_who_is_in_a_turn_or_gone() {
    let mut told = story("@ a joins\n@ b joins\na timer +1h: up\nb timer +2h: up");
    let [first, second] = [3, 4].map(|seq| told.history().state().timers[&Seq(seq)].set.when);
    assert_eq!(told.history().sums().wake_at, Some(first));
    told.tell("user to a: go").unwrap();
    assert_eq!(told.history().sums().wake_at, Some(second));
    told.tell("a: done").unwrap();
    assert_eq!(told.history().sums().wake_at, Some(first));
    told.tell("@ a leaves").unwrap();
    assert_eq!(told.history().sums().wake_at, Some(second));
    assert_eq!(told.history().state().timers.len(), 1);
}

#[test]
fn an_answer_that_can_be_delivered_is_work() {
    let mut told = story("@ a joins\n@ b joins\nuser to a: go\na: → call_agent {}");
    told.tell("a c4.0 sends b\na c4.0 to b: help\ncall_agent c4.0 ok: sent\na results").unwrap();
    told.tell("b: done").unwrap();
    assert_eq!(at(&told), (State::Working, false));
    assert_eq!(after(&mut told, "a: → wait {}"), (State::Working, false));
    assert_eq!(after(&mut told, "a timer +5m c10.0: up"), (State::Working, true));
    assert_eq!(after(&mut told, "wait c10.0 ok: early\na results\na: on"), (State::Working, false));
    assert_eq!(after(&mut told, "b c4.0 to a: done"), (State::Working, false));
    assert!(told.history().state().replies.is_empty());
    assert_eq!(after(&mut told, "a: thanks"), (State::Resting, false));
}

#[test]
fn the_first_to_come_wakes() {
    let mut told = story("@ a joins\na timer +2h: later\na timer +1h: sooner");
    let sooner = told.history().state().timers[&Seq(3)].set.when;
    assert_eq!(told.history().sums().wake_at, Some(sooner));
    told.tell("timer 3 cleared").unwrap();
    let later = told.history().state().timers[&Seq(2)].set.when;
    assert_eq!(told.history().sums().wake_at, Some(later));
}

#[test]
fn a_paused_output_leaves_the_turn_as_it_was() {
    let mut told = story("@ a joins\nuser: write a book\na (paused): Chapter one.");
    assert_eq!(agent(&told, 1).stage, Stage::Asked);
    told.tell("a: → x {}\nx c4.0 ok: 1\na results\na (paused): Chapter two.").unwrap();
    assert_eq!(agent(&told, 1).stage, Stage::Sealed { answered_empty: false });
    told.tell("a: The end.").unwrap();
    assert_eq!(agent(&told, 1).stage, Stage::Resting);
    assert_eq!(agent(&told, 1).turn.as_ref().unwrap().progress.steps, 4);
}

#[test]
fn nothing_right_after_results_is_asked_for_once_more() {
    let mut told = story("@ a joins\nuser: look\na: → x {}\nx c3.0 ok: 1\na results\na:");
    assert_eq!(agent(&told, 1).stage, Stage::Sealed { answered_empty: true });
    assert_eq!(told.history().sums().messages, 1);
    told.tell("a:").unwrap();
    assert_eq!(agent(&told, 1).stage, Stage::Resting);
    assert_eq!(told.history().sums().messages, 2);
}

#[test]
fn nothing_in_answer_to_an_input_is_an_answer() {
    let told = story("@ a joins\nuser: do not answer\na:");
    assert_eq!(agent(&told, 1).stage, Stage::Resting);
}

#[test]
fn a_refusal_after_results_is_not_asked_for_again() {
    let told = story("@ a joins\nuser: look\na: → x {}\nx c3.0 ok: 1\na results\na (refusal):");
    assert_eq!(agent(&told, 1).stage, Stage::Resting);
}

#[test]
fn an_input_steers_between_the_seal_and_the_next_answer() {
    let told = story(
        "
@ a joins
user: look
a: → x {}
x c3.0 ok: 1
a results
user: look closer
",
    );
    let a = agent(&told, 1);
    assert_eq!((&a.stage, a.turn.as_ref().unwrap().start), (&Stage::Asked, Seq(2)));
    assert_eq!(told.history().state().last_turn, Some(Seq(2)));
    assert_eq!(told.history().state().first_input, Some(Seq(2)));
}

#[test]
fn open_calls_know_what_became_of_them() {
    let told = story(
        "
@ a joins
user: do it
a (length): → x {} | y {} | z! {\"a
x c3.0 starts read
x c3.0 starts read
y c3.1 asked until +10m
",
    );
    let calls: Vec<_> = agent(&told, 1).open_calls().collect();
    assert_eq!(calls[0].1.started.unwrap().attempt, 2);
    assert!(calls[1].1.approval.unwrap().answer.is_none());
    assert!(!calls[2].1.complete && calls[1].1.complete);
    assert_eq!(calls[2].0.to_string(), "c3.2");
    assert_eq!(told.history().results(AgentId(1)), None);
}

#[test]
fn failures_are_counted_until_something_goes_well() {
    let mut told =
        story("@ a joins\nuser: hello\na asks\na failed busy\na asks\na failed protocol");
    let failures = |told: &Story| agent(told, 1).turn.as_ref().unwrap().progress.failures;
    assert_eq!(failures(&told), 2);
    told.tell("a asks\na: → x {}").unwrap();
    assert_eq!(failures(&told), 0);
}

#[test]
fn a_turn_knows_which_models_failed_and_whether_for_good() {
    let mut told = story(
        "
@ a joins
user: hello
a asks
a failed busy {\"retry_after_ms\":9000000}
a asks
a failed unauthorised {\"usage\":{\"input\":7},\"cost\":5}
a asks
a failed context_too_long
a asks
a failed context_too_long
a asks
a failed cancelled
",
    );
    let turn = |told: &Story| agent(told, 1).turn.clone().unwrap();
    let failed: Vec<_> =
        turn(&told).progress.failed.into_iter().map(|f| (f.kind, f.lasting)).collect();
    let (busy, no) = (FailureKind::Busy, FailureKind::Unauthorised);
    let long = FailureKind::ContextTooLong;
    // A request that was too long is made shorter, once; being stopped says nothing of a model.
    assert_eq!(failed, [(busy, false), (no, true), (long, false), (long, true)]);
    assert_eq!(
        (turn(&told).progress.failures, turn(&told).spent.cost.0, turn(&told).spent.tokens),
        (5, 5, 7)
    );
    // Nobody waits for longer than five minutes.
    let at = told.entries().find(|entry| entry.seq == Seq(4)).unwrap().at;
    assert_eq!(turn(&told).progress.failed[0].not_before, Some(at.plus_millis(300_000)));
    told.tell("a asks\na: → x {}").unwrap();
    assert!(turn(&told).progress.failed.is_empty());
    assert_eq!(turn(&told).spent.cost.0, 5);
}

#[test]
fn a_turn_knows_the_window_that_a_model_read() {
    let mut told = story("@ a joins\nuser: hello\na asks");
    let options = |told: &Story| agent(told, 1).turn.as_ref().unwrap().frozen[0].options;
    let before = options(&told);
    assert!(before.window_tokens > 2_000, "{before:?}");
    told.tell("a failed context_too_long {\"usage\":{\"input\":2000}}").unwrap();
    let after = options(&told);
    assert_eq!((after.window_tokens, after.capacity_tokens), (2_000, before.capacity_tokens));
    assert!(after.reserve_tokens <= 500, "{after:?}");
}

#[test]
fn what_began_a_turn_says_which_route_it_takes() {
    let mut told = story("@ a joins\nuser {\"route\":\"plan\"}: hello");
    let route = |told: &Story| agent(told, 1).turn.as_ref().unwrap().setup.route.clone();
    assert_eq!(route(&told).as_deref(), Some("plan"));
    // One that comes before a model was asked has its say; a later one has none.
    told.tell("user {\"route\":\"review\"}: or rather").unwrap();
    told.tell("a asks\nuser {\"route\":\"late\"}: too late").unwrap();
    assert_eq!(route(&told).as_deref(), Some("review"));
    told.tell("a: done\nuser: again").unwrap();
    assert_eq!(route(&told), None);
}

#[test]
fn an_instruction_is_the_last_one_given() {
    let told = story("@ a joins\n@ a instruction: be brief\n@ a instruction: be very, very brief");
    let (seq, tokens) = agent(&told, 1).instruction.unwrap();
    assert_eq!(seq, Seq(3));
    assert!(tokens > 0);
}

#[test]
fn agents_come_and_go_and_change() {
    let mut told = story("@ a joins\n@ b joins primary tools=x");
    let state = |told: &Story| told.history().state().clone();
    assert_eq!(state(&told).primary(), Some(AgentId(2)));
    told.tell("@ a joins primary").unwrap();
    assert_eq!(state(&told).primary(), Some(AgentId(1)));
    assert!(!agent(&told, 2).joined.primary);
    // A new name, the same agent; its old name is free.
    told.tell("@ scout#2 joins\n@ b joins").unwrap();
    assert_eq!(state(&told).agent_named("scout"), Some(AgentId(2)));
    assert_eq!(state(&told).agent_named("b"), Some(AgentId(3)));
}

#[test]
fn who_has_left_is_known_and_may_come_back() {
    let mut told =
        story("@ a joins primary\n@ b joins\nuser: hello\na: hello\n@ a leaves: to rest");
    let state = told.history().state();
    assert_eq!((state.agent_named("a"), state.primary()), (None, Some(AgentId(2))));
    assert_eq!(told.history().agent_sums()[0].interactions, 2);
    told.tell("@ a joins\nuser to a: welcome").unwrap();
    assert_eq!(agent(&told, 1).interactions, 3);
}

#[test]
fn pins_are_set_and_taken_out() {
    let told = story("@ a joins\nuser: keep this\npin 2\npin 1\npin 1\nunpin 1\nunpin 1");
    assert_eq!(told.history().state().pins.iter().collect::<Vec<_>>(), [&Seq(2)]);
}

#[test]
fn a_recap_takes_the_place_of_those_within_it() {
    let mut told = story(
        "
@ a joins primary
@ b joins
user: one
a: two
b recap 3..4: of b
a recap 3..3: small
a recap 1..2: earlier
",
    );
    let ranges = |told: &Story| {
        let recaps = &told.history().state().recaps;
        recaps.iter().map(|r| (r.agent.0, r.from.0, r.to.0)).collect::<Vec<_>>()
    };
    assert_eq!(ranges(&told), [(1, 1, 2), (1, 3, 3), (2, 3, 4)]);
    told.tell("a recap 2..5: larger").unwrap();
    assert_eq!(ranges(&told), [(1, 1, 2), (1, 2, 5), (2, 3, 4)]);
    // Without a text it only takes back.
    told.tell("a recap 1..8").unwrap();
    assert_eq!(ranges(&told), [(2, 3, 4)]);
}

#[test]
fn a_timer_fires_once_or_again_and_again() {
    let mut told = story("@ a joins\na timer +1m: once\na timer +1m every 10m: often");
    let first = told.history().state().timers[&Seq(3)].set.when;
    told.tell("+ 1m\ntimer 2 to a: once\ntimer 3 to a: often").unwrap();
    let timers = &told.history().state().timers;
    assert_eq!(timers.keys().collect::<Vec<_>>(), [&Seq(3)]);
    assert_eq!(timers[&Seq(3)].set.when, first.plus_millis(600_000));
    told.tell("a: I looked\ntimer 3 cleared").unwrap();
    assert!(told.history().state().timers.is_empty());
}

#[test]
fn a_timer_that_was_missed_many_times_fires_once() {
    let mut told = story("@ a joins\na timer +1m every 10m: often");
    let first = told.history().state().timers[&Seq(2)].set.when;
    told.tell("+ 65m\ntimer 2 to a: often").unwrap();
    let next = told.history().state().timers[&Seq(2)].set.when;
    assert_eq!(next, first.plus_millis(7 * 600_000));
    assert!(next > told.now());
}

#[test]
fn a_timer_beside_a_turn_fires_only_between_calls() {
    let mut told = story("@ a joins\na timer +1m: look\nuser: hello\na: → x {}\n+ 2m");
    assert!(told.tell("timer 2 to a: look").is_err());
    assert_eq!(told.history().state().timers.len(), 1);
    told.tell("x c4.0 ok: 1\na results\ntimer 2 to a: look").unwrap();
    assert!(told.history().state().timers.is_empty());
}

#[test]
fn a_call_that_sends_does_so_once_and_waits_for_nobody() {
    let mut told = story(
        "
@ a joins primary
@ b joins
user: do it
a: → call_agent {}
a c4.0 sends b
a c4.0 to b: it
b: done by b
",
    );
    assert_eq!(told.history().state().state(), State::Working);
    assert!(told.tell("a c4.0 sends b").is_err());
    told.tell("call_agent c4.0 ok: sent\na results\na: sent").unwrap();
    // The answer is to be delivered.
    assert_eq!(told.history().state().state(), State::Working);
    told.tell("b c4.0 to a: done by b\na: good").unwrap();
    assert_eq!(told.history().state().state(), State::Resting);
}

#[test]
fn the_last_turn_is_that_of_whoever_began_it() {
    let mut told = story("@ a joins\n@ b joins\nuser: go\na: → call_agent {} | call_agent {}");
    told.tell("a c4.0 calls b\na c4.0 to b: help\nb: done\nb returns to c4.0").unwrap();
    told.tell("call_agent c4.0 ok: done\na c4.1 sends b\na c4.1 to b: help").unwrap();
    assert_eq!(told.history().state().last_turn, Some(Seq(3)));
    told.tell("call_agent c4.1 ok: sent\na results\na: done\nb: a rose").unwrap();
    let head = told.history().head();
    told.tell("b c4.1 to a: a rose").unwrap();
    assert_eq!(told.history().state().last_turn, Some(head.next()), "an answer begins a turn");
    told.tell("a: noted").unwrap();
    // One message to all is taken back as a whole.
    let first = told.history().head().next();
    let all = r#"{"broadcast":"00000000-0000-8000-8000-000000000001"}"#;
    told.tell(&format!("user to a {all}: all\nuser to b {all}: all")).unwrap();
    assert_eq!(told.history().state().last_turn, Some(first));
    told.tell("a: yes\nb: yes\nuser to b: more").unwrap();
    assert_eq!(told.history().state().last_turn, Some(told.history().head()));
}
