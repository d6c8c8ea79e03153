//! The notebook as the live screen shows it.

use super::screen::section;
use super::wish::strip;

/// What stands above the notebook on the screen.
const HEADING: &str = "Notebook";

/// The notebook's text, as much of it as can be seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Notebook {
    text: String,
    /// Whether that is all of it.
    pub(super) whole: bool,
}

/// A change that strikes something out: a text that is there once, and what stays of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Strike {
    pub(super) find: String,
    pub(super) with: String,
}

/// What comes of looking for something to strike out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// It is there.
    One(Strike),
    /// These lines could be meant.
    Several(Vec<String>),
    /// It is not there.
    Nothing,
}

impl Notebook {
    /// The notebook on a screen, if the screen has one.
    pub(super) fn on(screen: &str) -> Option<Self> {
        let mut lines = section(screen, HEADING)?.into_iter();
        let first = lines.find(|line| !line.trim().is_empty())?;
        let fence = first.bytes().take_while(|byte| *byte == b'`').count();
        if fence < 3 {
            return Some(Self { text: String::new(), whole: first.trim() == "(empty)" });
        }
        let fence = "`".repeat(fence);
        let mut closed = false;
        let shown = lines.by_ref().take_while(|line| {
            closed = line.trim_end() == fence;
            !closed
        });
        let text = shown.collect::<Vec<_>>().join("\n");
        // How to read on stands right behind the fence.
        let goes_on = lines.next().is_some_and(|line| line.starts_with('['));
        Some(Self { text, whole: closed && !goes_on })
    }

    /// What is written down: its lines without list marks, those about something if it is given.
    pub(super) fn lines(&self, about: Option<&str>) -> Vec<&str> {
        let lines = self.text.lines().map(bare).filter(|line| !line.is_empty());
        lines.filter(|line| about.is_none_or(|about| contains(line, about))).collect()
    }

    /// How to strike out what someone means.
    pub(super) fn strike(&self, what: &str) -> Found {
        if self.text.trim().is_empty() {
            return Found::Nothing;
        }
        let everything = ["everything", "all", "it all", "all of it", "all of that"];
        if self.whole && everything.iter().any(|all| what.eq_ignore_ascii_case(all)) {
            return Found::One(Strike { find: self.text.clone(), with: String::new() });
        }
        let lines = self.text.split('\n').collect::<Vec<_>>();
        let places = |meant: &dyn Fn(&str) -> bool| {
            let found = lines.iter().enumerate().filter(|(_, line)| meant(line));
            found.map(|(place, _)| place).collect::<Vec<_>>()
        };
        let looser = ["the ", "my ", "your ", "a ", "an "].iter().find_map(|it| strip(what, it));
        let ways: [&dyn Fn(&str) -> bool; 3] =
            [&|line| same(line, what), &|line| contains(line, what), &|line| {
                looser.is_some_and(|what| contains(line, what))
            }];
        let found = ways.iter().map(|meant| places(meant)).find(|places| !places.is_empty());
        match &*found.unwrap_or_default() {
            [] => Found::Nothing,
            [place] => Found::One(self.strike_line(&lines, *place)),
            // The same line twice: one of them will do.
            [place, others @ ..] if others.iter().all(|it| lines.get(*it) == lines.get(*place)) => {
                Found::One(self.strike_line(&lines, *place))
            }
            several => {
                let lines = several.iter().filter_map(|place| lines.get(*place));
                Found::Several(lines.map(|line| bare(line).to_owned()).collect())
            }
        }
    }

    /// The notebook after a change.
    pub(super) fn after(&self, strike: &Strike) -> Self {
        Self { text: self.text.replacen(&strike.find, &strike.with, 1), whole: self.whole }
    }

    /// Strikes out a line and its line end. Lines around it are taken along until the text to be
    /// found is there only once.
    fn strike_line(&self, lines: &[&str], place: usize) -> Strike {
        let (mut from, mut to) = (place, place);
        loop {
            let around = lines.iter().enumerate().take(to + 1).skip(from);
            let stays = around.clone().filter(|(at, _)| *at != place).map(|(_, line)| *line);
            let with = stays.collect::<Vec<_>>().join("\n");
            let mut find = around.map(|(_, line)| *line).collect::<Vec<_>>().join("\n");
            if from == to && to + 1 < lines.len() {
                find.push('\n');
            } else if from == to && from > 0 {
                find.insert(0, '\n');
            }
            let widest = from == 0 && to + 1 >= lines.len();
            if widest || self.is_once(&find) {
                return Strike { find, with };
            }
            if from > 0 { from -= 1 } else { to += 1 }
        }
    }

    /// Whether a text is there once, places that overlap counted too.
    fn is_once(&self, find: &str) -> bool {
        let places = self
            .text
            .char_indices()
            .filter(|(at, _)| self.text.get(*at..).is_some_and(|rest| rest.starts_with(find)));
        places.take(2).count() == 1
    }
}

/// A line without its list mark.
fn bare(line: &str) -> &str {
    let line = line.trim();
    ["- ", "* "].iter().find_map(|mark| strip(line, mark)).unwrap_or(line)
}

/// Whether a line says just this.
pub(super) fn same(line: &str, what: &str) -> bool {
    bare(line).trim_end_matches('.').to_lowercase() == what.trim_end_matches('.').to_lowercase()
}

/// Whether a line has these words, whole: tea is not in steak.
pub(super) fn contains(line: &str, what: &str) -> bool {
    let (line, what) = (line.to_lowercase(), what.to_lowercase());
    line.match_indices(&*what).any(|(at, _)| {
        let (before, found) = line.split_at_checked(at).unwrap_or_default();
        let after = found.split_at_checked(what.len()).unwrap_or_default().1;
        let is_within = |c: char| c.is_ascii_alphanumeric();
        !before.ends_with(is_within) && !after.starts_with(is_within)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn notebook(text: &str) -> Notebook {
        Notebook { text: text.to_owned(), whole: true }
    }

    fn shown(text: &str) -> String {
        format!(
            "# [Live Screen]\n\n## Clock\n\nnoon\n\n## Notebook\n\n````\n{text}\n````\n\n## X\n"
        )
    }

    #[test]
    fn it_is_read_from_the_screen() {
        assert_eq!(Notebook::on(&shown("a\n```\nb")), Some(notebook("a\n```\nb")));
        assert_eq!(Notebook::on("## Notebook\n\n(empty)"), Some(notebook("")));
        assert_eq!(Notebook::on("## Clock\n\nnoon"), None);
        assert_eq!(Notebook::on(""), None);
    }

    #[test]
    fn what_is_not_shown_is_missed() {
        let part = |text: &str| Some(Notebook { whole: false, ..notebook(text) });
        let more = "## Notebook\n\n```\na\nb\n```\n[2 more lines: notebook_read with line 3]";
        assert_eq!(Notebook::on(more), part("a\nb"));
        assert_eq!(Notebook::on("## Notebook\n\n```\ncut of"), part("cut of"));
        assert_eq!(Notebook::on("## Notebook\n\n(9 lines, 900 bytes: notebook_read)"), part(""));
        let found = Notebook::on(more).map(|notebook| notebook.strike("everything"));
        assert_eq!(found, Some(Found::Nothing));
    }

    #[test]
    fn what_is_struck_out_is_there_once() {
        let strike = |text: &str, what: &str| match notebook(text).strike(what) {
            Found::One(strike) => notebook(text).after(&strike).text,
            other => format!("{other:?}"),
        };
        assert_eq!(strike("I like tea", "i like tea"), "");
        assert_eq!(strike("a\nb\nc", "b"), "a\nc");
        assert_eq!(strike("a\nb\nc", "c"), "a\nb");
        assert_eq!(strike("green tea\ntea\nteapot", "tea"), "green tea\nteapot");
        assert_eq!(strike("teapot\ntea", "tea"), "teapot");
        assert_eq!(strike("tea\ntea", "tea"), "tea");
        assert_eq!(strike("ba\nba\nb", "b"), "ba\nba");
        assert_eq!(strike("a\nb", "everything"), "");
        assert_eq!(strike("- I like tea.\n- b", "like TEA"), "- b");
        assert_eq!(strike("a\nb", "x"), "Nothing");
        assert_eq!(strike("I like steak", "tea"), "Nothing");
        assert_eq!(strike("the cat is called Tom\nb", "my cat"), "b");
        assert_eq!(strike("我喜欢茶\nb", "茶"), "b");
        assert_eq!(strike("", "everything"), "Nothing");
        assert_eq!(strike("red tea\nblack tea", "tea"), r#"Several(["red tea", "black tea"])"#);
    }

    proptest! {
        #[test]
        fn striking_a_line_out_leaves_the_others(
            lines in proptest::collection::vec("[ab]{1,3}", 1..6),
            place in any::<prop::sample::Index>(),
        ) {
            let text = lines.join("\n");
            let line = place.get(&lines).as_str();
            let Found::One(strike) = notebook(&text).strike(line) else {
                return Err(TestCaseError::fail("a line that is there is found"));
            };
            let left = text.replacen(&strike.find, &strike.with, 1);
            let mut left = left.lines().map(str::to_owned).collect::<Vec<_>>();
            left.push(line.to_owned());
            let mut expected = lines.clone();
            left.sort();
            expected.sort();
            prop_assert_eq!(left, expected);
        }
    }
}
