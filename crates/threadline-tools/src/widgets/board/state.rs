//! The board's state as text: the counts in a line, then a line for each task.
//!
//! Titles and notes are lines without control characters, so tabs part them from the rest and
//! nothing needs to be escaped.

use std::fmt::Write as _;

use threadline_core::id::AgentId;

use super::{Board, ENDED_CAP, State, Task};

pub(super) fn encode(board: &Board) -> String {
    let mut text = format!("{}\t{}\n", board.done, board.dropped);
    for Task { number, title, state, added_by, note } in board.live.iter().chain(&board.ended) {
        let (word, by) = match state {
            State::Open => ("open", String::new()),
            State::Doing(by) => ("doing", by.to_string()),
            State::Done(by) => ("done", by.to_string()),
            State::Dropped(by) => ("dropped", by.to_string()),
        };
        let note = note.as_deref().unwrap_or_default();
        let _ = writeln!(text, "{number}\t{word}\t{by}\t{added_by}\t{title}\t{note}");
    }
    text
}

/// The board that has this state, if one can have it.
pub(super) fn decode(text: &str) -> Option<Board> {
    let mut lines = text.lines();
    let (done, dropped) = lines.next()?.split_once('\t')?;
    let mut board =
        Board { done: done.parse().ok()?, dropped: dropped.parse().ok()?, ..Board::new() };
    for line in lines {
        let task = task(line)?;
        match task.state {
            State::Open | State::Doing(_) => board.live.push(task),
            State::Done(_) | State::Dropped(_) => board.ended.push(task),
        }
    }
    // There is one text for a state, so what reads back as the same is not damaged.
    (sound(&board) && encode(&board) == text).then_some(board)
}

fn task(line: &str) -> Option<Task> {
    let parts = line.split('\t').collect::<Vec<_>>();
    let [number, state, by, added_by, title, note] = *parts else { return None };
    let who = || by.parse().ok().map(AgentId);
    Some(Task {
        number: number.parse().ok()?,
        title: title.into(),
        state: match state {
            "open" => State::Open,
            "doing" => State::Doing(who()?),
            "done" => State::Done(who()?),
            "dropped" => State::Dropped(who()?),
            _ => return None,
        },
        added_by: AgentId(added_by.parse().ok()?),
        note: Some(note).filter(|note| !note.is_empty()).map(Into::into),
    })
}

/// Whether such a board can have come about: within the caps, and each number given once.
fn sound(board: &Board) -> bool {
    let mut numbers =
        board.live.iter().chain(&board.ended).map(|task| task.number).collect::<Vec<_>>();
    numbers.sort_unstable();
    let once = numbers.windows(2).all(|pair| pair.first() != pair.last());
    let given = numbers.first().is_none_or(|first| *first > 0)
        && numbers.last().is_none_or(|last| *last <= board.last());
    let ended = |done: bool| {
        let of = |task: &&Task| matches!(task.state, State::Done(_)) == done;
        u32::try_from(board.ended.iter().filter(of).count()).unwrap_or(u32::MAX)
    };
    let all_ended = u64::from(board.done) + u64::from(board.dropped);
    let kept = u64::try_from(ENDED_CAP).unwrap_or(u64::MAX).min(all_ended);
    let counted = ended(true) <= board.done
        && ended(false) <= board.dropped
        && u64::try_from(board.ended.len()) == Ok(kept);
    once && given && counted && board.check().is_ok()
}
