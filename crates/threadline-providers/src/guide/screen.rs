//! The live screen: its sections, the clock and the lists that are on it.

/// The lines under a heading, up to the next one. What is between code fences is no heading.
pub(super) fn section<'a>(screen: &'a str, heading: &str) -> Option<Vec<&'a str>> {
    let mut found: Option<Vec<&str>> = None;
    let mut fence: Option<&str> = None;
    for line in screen.lines() {
        let title = line.strip_prefix("## ").filter(|_| fence.is_none());
        match (title, &mut found) {
            (Some(_), Some(_)) => break,
            (Some(title), None) if title.trim_end() == heading => found = Some(Vec::new()),
            (_, Some(lines)) => lines.push(line),
            (_, None) => {}
        }
        fence = match fence {
            Some(open) => Some(open).filter(|open| line.trim_end() != *open),
            None => opened(line),
        };
    }
    found
}

/// The fence that a line opens.
fn opened(line: &str) -> Option<&str> {
    let marks = line.bytes().take_while(|byte| *byte == b'`').count();
    line.get(..marks).filter(|_| marks >= 3)
}

/// A list of the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Listing<'a> {
    /// Its items, without their marks.
    pub(super) items: Vec<&'a str>,
    /// The line before them, if there is one.
    pub(super) head: Option<&'a str>,
    /// Whether those are all.
    pub(super) whole: bool,
}

impl<'a> Listing<'a> {
    /// The list under a heading, if the screen has one.
    pub(super) fn under(heading: &str, screen: &'a str) -> Option<Self> {
        let lines = section(screen, heading)?;
        let items = lines.iter().filter_map(|line| line.strip_prefix("- ")).collect::<Vec<_>>();
        let head = lines.iter().copied().find(|line| !line.trim().is_empty());
        let head = head.filter(|line| !line.starts_with(['-', '[']));
        // How to read on stands in brackets.
        let whole = !lines.iter().any(|line| line.starts_with('['));
        Some(Self { items, head, whole })
    }
}

/// What the clock of the screen says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clock<'a> {
    line: &'a str,
}

impl<'a> Clock<'a> {
    /// The clock on a screen, if the screen has one.
    pub(super) fn on(screen: &'a str) -> Option<Self> {
        let lines = section(screen, "Clock")?;
        let line = lines.into_iter().map(str::trim).find(|line| !line.is_empty())?;
        Some(Self { line })
    }

    /// The time as a sentence.
    pub(super) fn time(self) -> String {
        match self.parts() {
            Some((date, time, day)) => format!("It is {time} on {day}, {date}."),
            None => self.as_it_is(),
        }
    }

    /// The day as a sentence.
    pub(super) fn day(self) -> String {
        match self.parts() {
            Some((date, _, day)) => format!("It is {day}, {date}."),
            None => self.as_it_is(),
        }
    }

    /// The date, the time and the day of `2026-11-16 10:20 UTC, Monday`.
    fn parts(self) -> Option<(&'a str, &'a str, &'a str)> {
        let (moment, day) = self.line.split_once(", ")?;
        let (date, time) = moment.split_once(' ')?;
        let is_date = date.contains('-') && !time.is_empty() && !day.contains(' ');
        is_date.then_some((date, time, day))
    }

    fn as_it_is(self) -> String {
        format!("The clock says: {}", self.line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_end_where_the_next_begins() {
        let screen = "# [Live Screen]\n\n## Notebook\n\n```\n## Tasks\n- 1 [open] no\n```\n\n\
                      ## Tasks\n\n1 open\n- 1 [open] yes\n\n## Clock\n\nnoon";
        let notebook = section(screen, "Notebook").unwrap();
        assert_eq!(notebook, ["", "```", "## Tasks", "- 1 [open] no", "```", ""]);
        assert_eq!(section(screen, "Tasks").unwrap(), ["", "1 open", "- 1 [open] yes", ""]);
        assert_eq!(section(screen, "Clock").unwrap(), ["", "noon"]);
        assert_eq!(section(screen, "Nothing"), None);
        assert_eq!(section("## A\n\n````\n```\n## B\n````\n## B", "B"), Some(Vec::new()));
    }

    #[test]
    fn lists_say_whether_they_are_whole() {
        let whole = Listing::under("Tasks", "## Tasks\n\n2 open\n- a\n- b").unwrap();
        assert_eq!(whole, Listing { items: vec!["a", "b"], head: Some("2 open"), whole: true });
        let part = Listing::under("Shared", "## Shared\n\n- a\n[7 more: all]").unwrap();
        assert_eq!(part, Listing { items: vec!["a"], head: None, whole: false });
    }

    #[test]
    fn the_clock_is_told_as_far_as_it_is_understood() {
        let clock = |line: &str| {
            let screen = format!("## Clock\n\n{line}\n- a timer");
            let clock = Clock::on(&screen).unwrap();
            format!("{} {}", clock.time(), clock.day())
        };
        assert_eq!(
            clock("2026-11-16 10:20 UTC, Monday"),
            "It is 10:20 UTC on Monday, 2026-11-16. It is Monday, 2026-11-16."
        );
        assert_eq!(clock("noon"), "The clock says: noon The clock says: noon");
        assert_eq!(Clock::on("## Clock\n\n"), None);
    }
}
