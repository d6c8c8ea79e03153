//! Crashes: a process dies at any write of a conversation, and the next one goes on. What the
//! model is shown, the widgets and the sums are those of a life without a death; nothing that must
//! not be done twice is, and nothing that was said is lost.

mod office;
mod peers;
mod scenes;
mod seen;
mod stage;

use threadline_core::history::fact::Effect;
use threadline_testing::crashing_store::{Fault, Faults};

use self::scenes::Scene;
use self::seen::Seen;
use self::stage::{End, Stage};

/// More writes than any scene has.
const WRITES_CAP: u64 = 200;

/// A number from the environment, or else the usual one.
#[expect(clippy::disallowed_methods, reason = "these variables make the tests larger")]
fn knob(name: &str, usual: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is not a number: {text:?}")),
        Err(_) => usual,
    }
}

/// How many deaths to play where not all are played.
fn deaths() -> u64 {
    knob("THREADLINE_FIRE_DEATHS", 100)
}

/// The writes of a scene at which there is a fault: all of them, but for scenes with several
/// agents one of so many, another for each phase, unless many deaths are to be played.
fn writes(scene: &Scene, one_of: usize, phase: u64) -> impl Iterator<Item = u64> {
    let all = scene.agents.len() == 1 || deaths() > 1_000;
    let (step, first) = if all { (1, 1) } else { (one_of, 1 + phase % one_of as u64) };
    (first..WRITES_CAP).step_by(step)
}

/// Plays a scene with a fault at one write; none if there are less writes.
fn play(mut stage: Stage, nth: u64, fault: Fault) -> Option<(Stage, End)> {
    let store = Faults::at(stage.open(), nth, fault);
    let (end, writes) = stage.live(store);
    (writes >= nth).then_some((stage, end))
}

async fn calm(mut stage: Stage) -> Seen {
    stage.live_well();
    Seen::of(&mut stage).await
}

/// What is wrong once a scene is over, if anything.
async fn wrong(mut stage: Stage, end: End, calm: &Seen) -> Vec<String> {
    if end == End::Died {
        stage.live_well();
    }
    let seen = Seen::of(&mut stage).await;
    let wrong = seen.unlike(calm, end == End::Died, stage.scene.loose);
    wrong.into_iter().map(|what| format!("{what}\n{}", seen.story())).collect()
}

fn check(scene: &Scene, at: &impl std::fmt::Debug, wrong: &[String]) {
    assert!(wrong.is_empty(), "{:?}, {at:?}: {}", scene.name, wrong.join("\n\n"));
}

#[tokio::test]
async fn a_fault_at_any_write_changes_nothing() {
    let mut played = 0;
    for scene in scenes::all() {
        let calm = calm(Stage::in_memory(&scene, Effect::Once).await).await;
        for (phase, fault) in (0..).zip(Fault::ALL) {
            for nth in writes(&scene, 3, phase) {
                let stage = Stage::in_memory(&scene, Effect::Once).await;
                let Some((stage, end)) = play(stage, nth, fault) else { break };
                check(&scene, &(nth, fault), &wrong(stage, end, &calm).await);
                played += 1;
            }
        }
    }
    assert!(played > 1_500, "only {played} faults were played");
}

/// The same with files: what the process before held is free as soon as it is dead. Of the deaths,
/// as many are played as `THREADLINE_FIRE_DEATHS` says, spread over all scenes.
#[tokio::test]
async fn a_death_at_any_write_to_a_file_changes_nothing() {
    let most = deaths();
    let mut scenes = scenes::all();
    // A model that breaks off is asked again only after a second.
    scenes.retain(|scene| scene.name != "broken off");
    let of_each = most.div_ceil(2 * scenes.len() as u64);
    let mut played = 0;
    for scene in scenes {
        let mut stage = Stage::on_file(&scene).await;
        let writes = stage.live_well();
        let calm = Seen::of(&mut stage).await;
        for fault in Fault::DEATHS {
            // Another phase for each scene, so that all writes come about.
            let step = writes.div_ceil(of_each).max(1);
            let first = 1 + (played + scene.name.len() as u64) % step;
            for nth in (first..=writes).step_by(usize::try_from(step).unwrap()) {
                let stage = Stage::on_file(&scene).await;
                let Some((stage, end)) = play(stage, nth, fault) else { break };
                check(&scene, &(nth, fault), &wrong(stage, end, &calm).await);
                played += 1;
            }
        }
    }
    eprintln!("{played} deaths on files");
    assert!(played > most.min(600) * 2 / 3, "only {played} deaths were played");
}

/// The process that goes on dies as well.
#[tokio::test]
async fn two_deaths_at_any_two_writes_change_nothing() {
    let mut played = 0;
    for scene in scenes::all() {
        let some = ["three calls side by side", "widgets", "allowed and declined"];
        if scene.agents.len() == 1 && !some.contains(&scene.name) {
            continue;
        }
        let calm = calm(Stage::in_memory(&scene, Effect::Once).await).await;
        for nth in writes(&scene, 11, 3) {
            let fault = Fault::DEATHS[usize::from(nth % 2 == 0)];
            let mut over = true;
            for then in writes(&scene, 5, nth) {
                let stage = Stage::in_memory(&scene, Effect::Once).await;
                let Some((stage, End::Died)) = play(stage, nth, fault) else { break };
                over = false;
                let Some((stage, end)) = play(stage, then, Fault::DiesAfter) else { break };
                check(&scene, &(nth, fault, then), &wrong(stage, end, &calm).await);
                played += 1;
            }
            if over {
                break;
            }
        }
    }
    assert!(played > 500, "only {played} pairs of deaths were played");
}

/// A tool that says that it may run again, and must not, is found out by the same check.
#[tokio::test]
async fn an_effect_that_happens_twice_is_found() {
    let mut scenes = scenes::all();
    scenes.retain(|scene| scene.name == "one call that runs once");
    let scene = &scenes[0];
    let calm = calm(Stage::in_memory(scene, Effect::Idempotent).await).await;
    let mut found = 0;
    for nth in 1..WRITES_CAP {
        let stage = Stage::in_memory(scene, Effect::Idempotent).await;
        let Some((stage, end)) = play(stage, nth, Fault::DiesBefore) else { break };
        let wrong = wrong(stage, end, &calm).await;
        found += wrong.iter().filter(|what| what.contains("was done 2 times")).count();
    }
    assert!(found > 0, "a tool did its work twice and nobody saw it");
}

/// Wherever the process died, the conversation can be moved: the next request is the same.
#[tokio::test]
async fn a_move_at_any_write_changes_no_request() {
    let (mut bodies, mut contexts) = (0, 0);
    for scene in scenes::all() {
        let calm = calm(Stage::in_memory(&scene, Effect::Once).await).await;
        for nth in writes(&scene, 3, 1) {
            let fault = Fault::DEATHS[usize::from(nth % 2 == 0)];
            let stage = Stage::in_memory(&scene, Effect::Once).await;
            let Some((mut here, End::Died)) = play(stage, nth, fault) else { break };
            let stage = Stage::in_memory(&scene, Effect::Once).await;
            let Some((mut there, End::Died)) = play(stage, nth, fault) else { break };
            let head = here.head().await;
            there.move_away().await;
            here.live_well();
            there.live_well();
            let (stayed, moved) = (Seen::of(&mut here).await, Seen::of(&mut there).await);
            check(&scene, &(nth, fault), &moved.unlike(&calm, true, scene.loose));
            let (stayed, moved) = (stayed.next_asked(head), moved.next_asked(head));
            let Some((stayed, moved)) = stayed.zip(moved) else { continue };
            assert_eq!(stayed.body, moved.body, "{:?}, {:?}", scene.name, (nth, fault));
            bodies += 1;
            // What is recorded after the move has other numbers than without it, and a context
            // tells them.
            if !stayed.after_more {
                assert_eq!(stayed.context, moved.context, "{:?}, {:?}", scene.name, (nth, fault));
                contexts += 1;
            }
        }
    }
    assert!(bodies > 300 && contexts > 100, "{bodies} bodies and {contexts} contexts");
}

/// A conversation moves to another file.
#[tokio::test]
async fn a_move_to_another_file_changes_nothing() {
    for (index, scene) in scenes::all().into_iter().enumerate() {
        let calm = calm(Stage::on_file(&scene).await).await;
        let nth = 3 + index as u64 % 7;
        let stage = Stage::on_file(&scene).await;
        let Some((mut stage, End::Died)) = play(stage, nth, Fault::DiesAfter) else {
            panic!("{:?} has no {nth} writes", scene.name);
        };
        stage.move_away().await;
        check(&scene, &nth, &wrong(stage, End::Died, &calm).await);
    }
}
