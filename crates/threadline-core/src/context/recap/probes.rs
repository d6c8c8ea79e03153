//! Probes: names and numbers of a text that a recap of it should not lose.

use std::collections::{BTreeMap, BTreeSet};

/// The most probes of a text.
pub const PROBES_CAP: usize = 40;
/// The most open tasks among them.
const TASKS_CAP: usize = 10;
/// How much of an open task is looked for, in characters.
const TASK_CAP_CHARS: usize = 60;
/// The shortest and the longest name that is looked for, in characters.
const NAME_CHARS: std::ops::RangeInclusive<usize> = 3..=80;
/// The most words of a quoted name.
const QUOTED_WORDS: usize = 4;

/// Open tasks, paths, ids, quoted names and repeated numbers of a text, each once: tasks first,
/// then what is named most often.
pub fn probes(text: &str) -> Vec<String> {
    let tasks = tasks(text);
    let mut counted: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let names = words(text).chain(quoted(text));
    let mut numbers: BTreeSet<&str> = BTreeSet::new();
    for (place, name) in names.enumerate() {
        let (name, number) = match name {
            Name::Word => continue,
            Name::Named(name) => (name, false),
            Name::Number(name) => (name, true),
        };
        let known = counted.entry(name).or_insert((0, place));
        known.0 += 1;
        if number {
            numbers.insert(name);
        }
    }
    let mut ranked: Vec<(&str, (usize, usize))> = counted.into_iter().collect();
    // A number that comes once is likely to be a detail.
    ranked.retain(|(name, (times, _))| *times > 1 || !numbers.contains(name));
    ranked.sort_by_key(|(_, (times, first))| (usize::MAX - times, *first));
    let names = ranked.into_iter().map(|(name, _)| name.to_owned());
    let mut found: Vec<String> = Vec::new();
    for probe in tasks.into_iter().chain(names) {
        if found.len() >= PROBES_CAP {
            break;
        }
        if !found.contains(&probe) {
            found.push(probe);
        }
    }
    found
}

/// A word, by whether it should be looked for.
enum Name<'a> {
    Word,
    Named(&'a str),
    Number(&'a str),
}

/// The words of a text, by what they are.
fn words(text: &str) -> impl Iterator<Item = Name<'_>> {
    let parts = text.split(|c: char| c.is_whitespace() || "\"'`()[]{}<>,;|=".contains(c));
    parts.filter(|word| !word.is_empty()).map(|word| {
        let word = word.trim_matches(|c: char| ".:!?*_".contains(c));
        if !NAME_CHARS.contains(&word.chars().count()) {
            return if is_number(word) { Name::Number(word) } else { Name::Word };
        }
        if is_number(word) {
            Name::Number(word)
        } else if is_path(word) || is_id(word) {
            Name::Named(word)
        } else {
            Name::Word
        }
    })
}

/// A number of at least two digits.
fn is_number(word: &str) -> bool {
    let digits = word.chars().filter(char::is_ascii_digit).count();
    digits >= 2 && word.chars().all(|c| c.is_ascii_digit() || ".,%:-".contains(c))
}

/// A path, or a file with an ending.
fn is_path(word: &str) -> bool {
    let letters = word.chars().any(char::is_alphabetic);
    let parts = word.split('/').filter(|part| !part.is_empty()).count();
    let ending = word.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty()
            && (1..=5).contains(&ending.len())
            && ending.chars().all(|c| c.is_ascii_alphanumeric())
            && ending.chars().any(|c| c.is_ascii_alphabetic())
    });
    letters && ((word.contains('/') && parts >= 2) || ending)
}

/// Letters and digits together, such as a ticket, a host, a hash.
fn is_id(word: &str) -> bool {
    let digit = word.chars().any(|c| c.is_ascii_digit());
    let letter = word.chars().any(char::is_alphabetic);
    let plain = word.chars().all(|c| c.is_alphanumeric() || "-_#.:@/".contains(c));
    digit && (letter || word.starts_with('#')) && plain && word.chars().count() >= 4
}

/// Short texts between quotation marks.
fn quoted(text: &str) -> impl Iterator<Item = Name<'_>> {
    let lines = text.lines();
    lines.flat_map(|line| {
        let odd = |mark: char| line.split(mark).skip(1).step_by(2);
        odd('"').chain(odd('`')).filter_map(move |name| {
            let name = name.trim();
            let words = name.split_whitespace().count();
            let fits = NAME_CHARS.contains(&name.chars().count()) && words <= QUOTED_WORDS;
            let says = name.chars().any(char::is_alphabetic) && !name.contains([':', '{', '}']);
            (fits && says).then_some(Name::Named(name))
        })
    })
}

/// What is said to be still open.
fn tasks(text: &str) -> Vec<String> {
    let open = |line: &str| -> Option<String> {
        let line = line.trim_start();
        let marks = ["- [ ]", "* [ ]", "TODO:", "TODO", "todo:"];
        let task = marks.iter().find_map(|mark| line.strip_prefix(mark))?.trim();
        let task: String = task.chars().take(TASK_CAP_CHARS).collect();
        (!task.is_empty()).then(|| task.trim_end().to_owned())
    };
    text.lines().filter_map(open).take(TASKS_CAP).collect()
}
