//! How the task board is shown: on the live screen, page by page, and as what a call changed.

use std::fmt::Write as _;

use threadline_core::history::sections::Section;
use threadline_core::id::AgentId;
use threadline_core::widget::{AgentView, View};

use super::change::Recorded;
use super::{Board, LIST, State, Task};
use crate::text::plain;
use crate::widgets::answer::Done;
use crate::widgets::lines::fitted;

/// How many tasks there are of each state, but for those of which there are none.
pub(super) fn counts(board: &Board) -> String {
    let doing = board.live.iter().filter(|task| task.is_doing()).count();
    let count = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
    let counts = [
        (board.live.len() - doing, "open"),
        (doing, "doing"),
        (count(board.done), "done"),
        (count(board.dropped), "dropped"),
    ];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    counts.map(|(count, state)| format!("{count} {state}")).collect::<Vec<_>>().join(", ")
}

/// The board's part of the live screen: what is being done, then what is open, in order.
pub(super) fn fragment(board: &Board, view: &View<'_>) -> String {
    let heading = format!("## Tasks\n\n{}", counts(board));
    let doing = board.live.iter().filter(|task| task.is_doing());
    let open = board.live.iter().filter(|task| !task.is_doing());
    let tasks = doing.chain(open).map(|task| {
        let who = match task.state {
            State::Open if task.added_by == view.agent => String::new(),
            State::Open => format!(", from {}", name(task.added_by, view.agents)),
            State::Doing(by) | State::Done(by) | State::Dropped(by) => {
                format!(": {}", name(by, view.agents))
            }
        };
        line(task, &who)
    });
    fitted(&heading, &tasks.collect::<Vec<_>>(), view.cap_bytes, LIST)
}

/// Everything, for people.
pub(super) fn list(board: &Board, agents: &[AgentView<'_>]) -> String {
    everything(board, |task| match task.state {
        State::Open => String::new(),
        State::Doing(by) | State::Done(by) | State::Dropped(by) => agents
            .iter()
            .find(|agent| agent.id == by)
            .map_or_else(String::new, |agent| format!(": {}", plain(agent.name))),
    })
}

/// Everything, for an agent.
pub(super) fn all(board: &Board, reader: AgentId) -> String {
    everything(board, |task| match task.state {
        State::Doing(by) if by == reader => ": you".to_owned(),
        State::Doing(_) => ": another agent".to_owned(),
        State::Open | State::Done(_) | State::Dropped(_) => String::new(),
    })
}

/// The counts, the tasks in their order, and those that ended, the newest first.
fn everything(board: &Board, who: impl Fn(&Task) -> String) -> String {
    let mut text = counts(board);
    for task in board.live.iter().chain(board.ended.iter().rev()) {
        let _ = write!(text, "\n{}", line(task, &who(task)));
    }
    let listed = board.live.len() + board.ended.len();
    let gone = usize::try_from(board.last()).unwrap_or(usize::MAX).saturating_sub(listed);
    if gone > 0 {
        let _ = write!(text, "\n[{gone} that ended earlier are not kept]");
    }
    text
}

fn line(task: &Task, who: &str) -> String {
    let Task { number, title, state, note, .. } = task;
    let note = note.as_ref().map_or_else(String::new, |note| format!(" ({note})"));
    format!("- {number} [{}{who}] {title}{note}", state.word())
}

fn name(agent: AgentId, agents: &[AgentView<'_>]) -> String {
    let known = agents.iter().find(|known| known.id == agent);
    known.map_or_else(|| format!("agent {agent}"), |known| plain(known.name))
}

/// What a call changed: a sentence and a diff, a diff, a line.
pub(super) fn result(done: &Done<Recorded>, after: &Board) -> Section {
    let live = format!("{}; now {}\n{}", done.told, counts(after), done.diff);
    Section::levels(live, &*done.diff, &*done.gist)
}

/// That a call changed nothing.
pub(super) fn unchanged(done: &Done<Recorded>) -> Section {
    Section::text(&*done.told)
}
