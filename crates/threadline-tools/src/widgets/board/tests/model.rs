//! The board against a naive model, over random scripts.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::*;

/// A board in the simplest form: tasks by number, and two lists of numbers.
#[derive(Default)]
struct Model {
    tasks: BTreeMap<u32, (String, &'static str, AgentId, Option<String>)>,
    order: Vec<u32>,
    ended: Vec<u32>,
}

/// What someone asks for.
#[derive(Clone, Debug)]
enum Ask {
    Add(Vec<String>, Option<u32>),
    /// The verb, the tasks, the note.
    Shift(&'static str, Vec<u32>, Option<String>),
    /// So many of the first are finished.
    FinishFirst(usize),
    Move(u32, Option<&'static str>, Option<u32>, Option<u32>),
}

impl Model {
    /// Does what is asked; none if it cannot be.
    fn does(&mut self, ask: &Ask, by: AgentId) -> Option<()> {
        match ask {
            Ask::Add(titles, before) => self.adds(titles, *before, by),
            Ask::Shift(tool, tasks, note) => self.shifts(tool, tasks, note.as_deref(), by),
            Ask::FinishFirst(count) => {
                let first = self.first(*count);
                self.shifts(FINISH, &first, None, by)
            }
            Ask::Move(task, to, before, after) => {
                let mut order = self.order.clone();
                order.remove(order.iter().position(|known| known == task)?);
                let place = |other: u32| {
                    self.order.iter().position(|known| *known == other)?;
                    // Next to itself is where it is.
                    let other = order.iter().position(|known| *known == other);
                    Some(other.ok_or(()))
                };
                let at = match (to, before, after) {
                    (Some("top"), None, None) => Ok(0),
                    (Some(_), None, None) => Ok(order.len()),
                    (None, Some(before), None) => place(*before)?,
                    (None, None, Some(after)) => place(*after)?.map(|at| at + 1),
                    _ => return None,
                };
                if let Ok(at) = at {
                    order.insert(at, *task);
                    self.order = order;
                }
                Some(())
            }
        }
    }

    fn first(&self, count: usize) -> Vec<u32> {
        self.order.iter().take(count).copied().collect()
    }

    fn adds(&mut self, titles: &[String], before: Option<u32>, by: AgentId) -> Option<()> {
        let titles =
            titles.iter().map(|title| title.split_whitespace().collect::<Vec<_>>().join(" "));
        let titles = titles.collect::<Vec<_>>();
        if titles.is_empty() || titles.iter().any(String::is_empty) {
            return None;
        }
        let mut at = match before {
            Some(before) => self.order.iter().position(|known| *known == before)?,
            None => self.order.len(),
        };
        for title in titles {
            if self.order.iter().any(|number| self.tasks[number].0 == title) {
                continue;
            }
            let number = u32::try_from(self.tasks.len()).unwrap() + 1;
            self.tasks.insert(number, (title, "open", by, None));
            self.order.insert(at, number);
            at += 1;
        }
        Some(())
    }

    fn shifts(&mut self, tool: &str, tasks: &[u32], note: Option<&str>, by: AgentId) -> Option<()> {
        let to = match tool {
            START => "doing",
            FINISH => "done",
            _ => "dropped",
        };
        let kept = &self.ended[self.ended.len().saturating_sub(ENDED_CAP)..];
        let so_already = |number: &u32| kept.contains(number) && self.tasks[number].1 == to;
        if tasks.is_empty() || !tasks.iter().all(|n| self.order.contains(n) || so_already(n)) {
            return None;
        }
        for number in tasks {
            if !self.order.contains(number) {
                continue;
            }
            let task = self.tasks.get_mut(number).unwrap();
            (task.1, task.2) = (to, by);
            if let Some(note) = note {
                task.3 = Some(note.to_owned());
            }
            if to != "doing" {
                self.order.retain(|known| known != number);
                self.ended.push(*number);
            }
        }
        Some(())
    }

    /// What a board has to be like.
    fn told(&self) -> (Vec<String>, Vec<String>) {
        let told = |number: &u32| {
            let (title, state, by, note) = &self.tasks[number];
            format!("{number} {title} {state} {by} {note:?}")
        };
        let kept = &self.ended[self.ended.len().saturating_sub(ENDED_CAP)..];
        (self.order.iter().map(told).collect(), kept.iter().map(told).collect())
    }
}

fn told(board: &Board) -> (Vec<String>, Vec<String>) {
    let told = |task: &Task| {
        let (state, by) = match task.state {
            State::Open => ("open", task.added_by),
            State::Doing(by) => ("doing", by),
            State::Done(by) => ("done", by),
            State::Dropped(by) => ("dropped", by),
        };
        format!("{} {} {state} {by} {:?}", task.number, task.title, task.note.as_deref())
    };
    (board.live.iter().map(told).collect(), board.ended.iter().map(told).collect())
}

fn asks() -> impl Strategy<Value = Ask> {
    let number = || prop_oneof![4 => 0..12u32, 1 => 0..90u32];
    let numbers = || prop::collection::vec(number(), 0..4);
    let tool = prop_oneof![Just(START), Just(FINISH), Just(DROP)];
    let to = prop::option::of(prop_oneof![Just("top"), Just("bottom")]);
    prop_oneof![
        3 => (prop::collection::vec("[a-c \n]{0,3}", 0..4), prop::option::weighted(0.3, number()))
            .prop_map(|(titles, before)| Ask::Add(titles, before)),
        2 => (0..u32::MAX, 1..30usize).prop_map(|(first, count)| {
            Ask::Add((0..count).map(|n| format!("{first} {n}")).collect(), None)
        }),
        4 => (tool, numbers(), prop::option::weighted(0.3, "[xy]{1,3}"))
            .prop_map(|(tool, tasks, note)| Ask::Shift(tool, tasks, note)),
        1 => (0..30usize).prop_map(Ask::FinishFirst),
        2 => (number(), to, prop::option::weighted(0.3, number()), prop::option::weighted(0.3, number()))
            .prop_map(|(task, to, before, after)| Ask::Move(task, to, before, after)),
        2 => (number(), number(), any::<bool>()).prop_map(|(task, other, before)| {
            let other = Some(other);
            let (before, after) = if before { (other, None) } else { (None, other) };
            Ask::Move(task, None, before, after)
        }),
    ]
}

fn arguments(ask: &Ask, model: &Model) -> (&'static str, serde_json::Value) {
    match ask {
        Ask::Add(titles, before) => (ADD, json!({ "titles": titles, "before": before })),
        Ask::Shift(tool, tasks, note) => (tool, json!({ "tasks": tasks, "note": note })),
        Ask::FinishFirst(count) => (FINISH, json!({ "tasks": model.first(*count) })),
        Ask::Move(task, to, before, after) => {
            (MOVE, json!({ "task": task, "to": to, "before": before, "after": after }))
        }
    }
}

proptest! {
    #[test]
    fn the_board_and_the_model_agree(
        script in prop::collection::vec((asks(), 1..3u32), 0..40),
        cap in 120..400usize,
    ) {
        let mut model = Model::default();
        let mut board = Board::new();
        let mut recorded = Vec::new();
        for (ask, by) in script {
            let by = AgentId(by);
            let (tool, arguments) = arguments(&ask, &model);
            let before = board.clone();
            let reply = super::ask(&board, tool, &arguments, by);
            prop_assert_eq!(&reply, &super::ask(&board, tool, &arguments, by), "the same again");
            prop_assert_eq!(&board, &before, "a call changes nothing by itself");
            prop_assert_eq!(reply.is_ok(), model.does(&ask, by).is_some(), "{:?}: {:?}", ask, reply);
            for change in reply.map(|reply| reply.changes).unwrap_or_default() {
                take(&mut board, &change, by).unwrap();
                prop_assert_ne!(&board, &before, "what changes nothing is not recorded");
                recorded.push((change, by));
            }
            prop_assert_eq!(told(&board), model.told(), "after {:?}", ask);
            prop_assert_eq!(usize::try_from(board.last()).unwrap(), model.tasks.len());
            prop_assert!(screen(&board, ADA, cap).len() <= cap);
        }
        let mut replayed = Board::new();
        for (change, by) in &recorded {
            take(&mut replayed, change, *by).unwrap();
        }
        prop_assert_eq!(&replayed, &board);
        prop_assert_eq!(replayed.encode(), board.encode());
        let mut decoded = of(&["something else"]);
        decoded.decode(&board.encode()).unwrap();
        prop_assert_eq!(&decoded, &board);
    }

    #[test]
    fn nothing_makes_it_panic(
        change in "\\PC*",
        state in prop::collection::vec(any::<u8>(), 0..60),
        lines in "([0-9]{1,2}\t){1,4}\\PC{0,9}\n",
        titles in prop::collection::vec("\\PC*", 0..4),
        cap in 0..300usize,
    ) {
        let mut board = of(&["a", "b"]);
        let before = board.clone();
        if take(&mut board, &change, ADA).is_err() {
            prop_assert_eq!(&board, &before);
        }
        for bytes in [state, lines.into_bytes()] {
            drop(board.decode(&WidgetState { version: 1, bytes }));
        }
        done(&mut board, ADA, ADD, &json!({ "titles": titles }));
        screen(&board, ADA, cap);
    }
}
