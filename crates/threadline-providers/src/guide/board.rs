//! The task board as the live screen shows it.

use super::notebook::{contains, same};
use super::screen::Listing;
use super::wish::{Which, strip};

/// The tasks that can be seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Board<'a> {
    tasks: Vec<Task<'a>>,
    /// How many there are of each state.
    counts: Option<&'a str>,
    /// Whether those are all that are open or being done.
    pub(super) whole: bool,
}

/// A task, as its line tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Task<'a> {
    number: u64,
    title: &'a str,
    line: &'a str,
}

impl<'a> Board<'a> {
    /// The board on a screen, if the screen has one.
    pub(super) fn on(screen: &'a str) -> Option<Self> {
        let Listing { items, head, whole } = Listing::under("Tasks", screen)?;
        let tasks = items.into_iter().filter_map(task).collect();
        Some(Self { tasks, counts: head, whole })
    }

    /// What is on it, in a sentence and a list.
    pub(super) fn told(&self) -> String {
        let counts = self.counts.map_or_else(String::new, |counts| format!(" ({counts})"));
        let lines = self.tasks.iter().map(|task| format!("- {}", task.line)).collect::<Vec<_>>();
        match &*lines {
            [] if self.whole => format!("No task is left to be done{counts}."),
            [] => format!("There are tasks{counts}."),
            lines => format!("These are the tasks{counts}:\n\n{}", lines.join("\n")),
        }
    }

    /// The number of the task that is meant, or a sentence that asks for it.
    pub(super) fn number(board: Option<&Self>, which: &Which) -> Result<u64, String> {
        let words = match which {
            Which::Number(number) => return Ok(*number),
            Which::Words(words) => words,
        };
        let Some(board) = board else {
            return Err("I see no tasks on my screen. Say `add a task: X` to add one.".to_owned());
        };
        match &*board.like(words) {
            [task] => Ok(task.number),
            [] if board.whole => {
                Err(format!("No task that is open or being done is like “{words}”."))
            }
            [] => Err(format!(
                "My screen does not show all of the tasks, and of those that I see none is like \
                 “{words}”. Please give its number; `list all tasks` tells it."
            )),
            several => {
                let lines = several.iter().map(|task| format!("- {}", task.line));
                let lines = lines.collect::<Vec<_>>().join("\n");
                Err(format!("Which of these tasks do you mean?\n\n{lines}"))
            }
        }
    }

    /// The tasks that words may mean, by the first way that finds any: the whole title, these
    /// words in it, or each of them somewhere.
    fn like(&self, words: &str) -> Vec<Task<'a>> {
        let bare = ["the ", "my ", "a ", "an "].iter().find_map(|small| strip(words, small));
        let bare = bare.unwrap_or(words);
        let each = |title: &str| bare.split_whitespace().all(|word| contains(title, word));
        let ways: [&dyn Fn(&str) -> bool; 3] =
            [&|title| same(title, words), &|title| contains(title, bare), &each];
        let found = ways.iter().map(|meant| {
            self.tasks.iter().filter(|task| meant(task.title)).copied().collect::<Vec<_>>()
        });
        let mut found = found.filter(|tasks| !tasks.is_empty());
        found.next().unwrap_or_default()
    }
}

/// The task of a line such as `2 [doing: ann] buy milk (at noon)`.
fn task(line: &str) -> Option<Task<'_>> {
    let (number, rest) = line.split_once(' ')?;
    let (_, title) = rest.strip_prefix('[')?.split_once("] ")?;
    Some(Task { number: number.parse().ok()?, title, line })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCREEN: &str = "## Tasks\n\n3 open, 1 doing, 2 done\n- 4 [doing: ann] buy milk\n\
                          - 3 [open] call Ann (at noon)\n- 5 [open, from ann] call Bob\n\
                          - 6 [open] milk";

    #[test]
    fn tasks_are_found_by_number_and_by_words() {
        let board = Board::on(SCREEN).unwrap();
        let number = |words: &str| Board::number(Some(&board), &Which::Words(words.to_owned()));
        assert_eq!(number("buy milk"), Ok(4));
        assert_eq!(number("milk"), Ok(6));
        assert_eq!(number("the Buy"), Ok(4));
        assert_eq!(number("noon call"), Ok(3));
        assert_eq!(
            number("call"),
            Err("Which of these tasks do you mean?\n\n- 3 [open] call Ann (at noon)\n\
                 - 5 [open, from ann] call Bob"
                .to_owned())
        );
        assert!(number("tea").unwrap_err().contains("“tea”"));
        assert_eq!(Board::number(None, &Which::Number(9)), Ok(9));
        assert!(Board::number(None, &Which::Words("tea".into())).is_err());
    }

    #[test]
    fn what_is_not_shown_is_missed() {
        let part = Board::on("## Tasks\n\n9 open\n- 1 [open] a\n[8 more: task_list]").unwrap();
        assert!(!part.whole);
        let missing = Board::number(Some(&part), &Which::Words("b".into())).unwrap_err();
        assert!(missing.contains("does not show all"), "{missing}");
        assert_eq!(
            Board::on("## Tasks\n\n2 done").unwrap().told(),
            "No task is left to be done (2 done)."
        );
        assert_eq!(Board::on("## Clock\n\nnoon"), None);
    }
}
