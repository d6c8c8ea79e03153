//! Titled text at three levels of detail that share their text.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// How much of something is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// One line: what it is and how much of it there is.
    Gist,
    /// The parts worth keeping for a while: head and tail, a diff, a summary.
    Recent,
    /// The whole.
    Live,
}

/// One value for each level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Levels<T> {
    /// For the whole.
    pub live: T,
    /// For the shortened form.
    pub recent: T,
    /// For the one line.
    pub gist: T,
}

impl<T: Copy> Levels<T> {
    /// The same value for all three.
    pub const fn all(value: T) -> Self {
        Self { live: value, recent: value, gist: value }
    }

    /// The value for one level.
    pub const fn at(&self, level: Level) -> T {
        match level {
            Level::Live => self.live,
            Level::Recent => self.recent,
            Level::Gist => self.gist,
        }
    }
}

/// A text longer than this is cut at [`Level::Recent`] unless its maker gave a shorter form.
pub const RECENT_CAP_BYTES: usize = 4096;
/// How much of the cap goes to the head of a text; the rest goes to its tail.
const RECENT_HEAD_BYTES: usize = 3072;
/// The longest gist, before the word on how much there is.
pub const GIST_CAP_BYTES: usize = 96;
/// How long the word on how much there is may well be.
const GIST_END_BYTES: usize = 32;

/// A titled text at three levels of detail.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Section {
    /// Its heading, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Arc<str>>,
    /// The whole text.
    pub text: Arc<str>,
    /// What is shown of it after the turn it belongs to.
    #[serde(default, skip_serializing_if = "Shorter::is_same")]
    pub recent: Shorter,
    /// What is shown of it in one line.
    #[serde(default, skip_serializing_if = "Shorter::is_same")]
    pub gist: Shorter,
}

/// A shorter form of a text: often a part of it, so that nothing is stored twice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Shorter {
    /// As the next higher level.
    #[default]
    Same,
    /// So many bytes of the whole text's head and tail.
    Cut {
        /// Bytes kept at the start.
        head: u32,
        /// Bytes kept at the end.
        tail: u32,
    },
    /// A text of its own, from a maker that knows its data.
    Own(Arc<str>),
}

impl Shorter {
    fn is_same(&self) -> bool {
        *self == Self::Same
    }
}

impl Section {
    /// An untitled text with derived levels.
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self { title: None, text: text.into(), recent: Shorter::Same, gist: Shorter::Same }
            .derived()
    }

    /// A titled text with derived levels.
    pub fn titled(title: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> Self {
        Self { title: Some(title.into()), ..Self::text(text) }
    }

    /// A text whose maker gives all three levels.
    pub fn levels(
        live: impl Into<Arc<str>>,
        recent: impl Into<Arc<str>>,
        gist: impl Into<Arc<str>>,
    ) -> Self {
        let (text, recent, gist) = (live.into(), recent.into(), gist.into());
        let gist = if gist == recent { Shorter::Same } else { Shorter::Own(gist) };
        let recent = if recent == text { Shorter::Same } else { Shorter::Own(recent) };
        Self { title: None, text, recent, gist }
    }

    /// This section with the levels its maker left out: head and tail, and a first line.
    #[must_use]
    pub fn derived(mut self) -> Self {
        if self.recent.is_same() && self.text.len() > RECENT_CAP_BYTES {
            let head = floor_boundary(&self.text, RECENT_HEAD_BYTES);
            let tail =
                ceil_boundary(&self.text, self.text.len() - (RECENT_CAP_BYTES - RECENT_HEAD_BYTES));
            self.recent = Shorter::Cut { head: to_u32(head), tail: to_u32(self.text.len() - tail) };
        }
        if self.gist.is_same() && !is_one_short_line(&self.text) {
            let line = self.text.trim_start();
            let skipped = self.text.len() - line.len();
            let end = line.find('\n').unwrap_or(line.len()).min(GIST_CAP_BYTES);
            let head = floor_boundary(&self.text, skipped + end);
            self.gist = Shorter::Cut { head: to_u32(head), tail: 0 };
        }
        self
    }

    /// The text at a level, without the title.
    pub fn at(&self, level: Level) -> Cow<'_, str> {
        match level {
            Level::Live => Cow::Borrowed(&self.text),
            Level::Recent => match &self.recent {
                Shorter::Same => Cow::Borrowed(&self.text),
                Shorter::Cut { head, tail } => Cow::Owned(cut(&self.text, *head, *tail)),
                Shorter::Own(text) => Cow::Borrowed(text),
            },
            Level::Gist => match &self.gist {
                // A line end after a short line would make two lines of it.
                Shorter::Same => match self.at(Level::Recent) {
                    Cow::Borrowed(text) => Cow::Borrowed(text.trim_end()),
                    Cow::Owned(text) => Cow::Owned(text),
                },
                Shorter::Cut { head, .. } => Cow::Owned(first_line(&self.text, *head)),
                Shorter::Own(text) => Cow::Borrowed(text),
            },
        }
    }

    /// Whether there is nothing to read in it.
    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }
}

/// Sections as one text: as it is if there is one and it is untitled, else under their headings.
pub fn render(sections: &[Section], level: Level) -> Cow<'_, str> {
    if let [Section { title: None, .. }] = sections
        && let Some(only) = sections.first()
    {
        return only.at(level);
    }
    let mut text = String::new();
    for section in sections {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        if let Some(title) = &section.title {
            let _ = writeln!(text, "# {title}");
        }
        text.push_str(&section.at(level));
    }
    Cow::Owned(text)
}

/// Sections as one text that shares the section's own if it is just that.
pub fn shared(sections: &[Section], level: Level) -> Arc<str> {
    if let [Section { title: None, text, recent, .. }] = sections
        && (level == Level::Live || (level == Level::Recent && recent.is_same()))
    {
        return Arc::clone(text);
    }
    render(sections, level).into()
}

/// Head and tail of a text, with a line between them that says what is missing.
fn cut(text: &str, head: u32, tail: u32) -> String {
    let head = floor_boundary(text, to_usize(head));
    let tail = ceil_boundary(text, text.len().saturating_sub(to_usize(tail))).max(head);
    let (kept, rest) = text.split_at(head);
    let (left_out, end) = rest.split_at(tail - head);
    if left_out.is_empty() {
        return text.to_owned();
    }
    let gap = left_out.len();
    let mut shown = String::with_capacity(kept.len() + end.len() + 48);
    shown.push_str(kept);
    let _ = write!(shown, "\n[… {gap} bytes left out …]\n");
    shown.push_str(end);
    shown
}

/// The first words of a text in one line, and how much there is.
fn first_line(text: &str, head: u32) -> String {
    let head = floor_boundary(text, to_usize(head));
    let mut line = String::with_capacity(head + GIST_END_BYTES);
    for word in text.get(..head).unwrap_or_default().split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    let lines = lines(text);
    let bytes = text.len();
    if lines > 1 {
        let _ = write!(line, "… ({lines} lines, {bytes} bytes)");
    } else {
        let _ = write!(line, "… ({bytes} bytes)");
    }
    line
}

/// As many lines as `str::lines` gives. A byte can count the ends in 255 bytes, and the compiler
/// can count many such bytes at once.
fn lines(text: &str) -> usize {
    let among = |bytes: &[u8]| {
        bytes.iter().fold(0_u8, |ends, byte| ends.wrapping_add(u8::from(*byte == b'\n')))
    };
    let ends: usize = text.as_bytes().chunks(255).map(|bytes| usize::from(among(bytes))).sum();
    ends + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

fn is_one_short_line(text: &str) -> bool {
    text.len() <= GIST_CAP_BYTES && !text.trim_end().contains('\n')
}

/// The last character boundary at or before `index`.
pub(crate) fn floor_boundary(text: &str, index: usize) -> usize {
    text.floor_char_boundary(index)
}

fn ceil_boundary(text: &str, index: usize) -> usize {
    text.ceil_char_boundary(index)
}

fn to_u32(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

fn to_usize(bytes: u32) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_line_is_the_same_at_every_level() {
        let section = Section::text("hello");
        assert_eq!(section.recent, Shorter::Same);
        assert_eq!(section.gist, Shorter::Same);
        assert_eq!(section.at(Level::Gist), "hello");
    }

    #[test]
    fn a_long_text_is_cut_and_says_so() {
        let section = Section::text("雨 line\n".repeat(2000));
        let recent = section.at(Level::Recent);
        assert!(recent.len() <= RECENT_CAP_BYTES + 64, "{}", recent.len());
        assert!(recent.contains("bytes left out"));
        assert_eq!(section.at(Level::Gist), "雨 line… (2000 lines, 18000 bytes)");
    }

    #[test]
    fn lines_are_counted_as_they_are_read() {
        for text in [
            "",
            "\n",
            "one",
            "one\n",
            "one\ntwo",
            "one\r\n\r\ntwo\n\n",
            "\n\n雨",
            &"\n".repeat(999),
        ] {
            assert_eq!(lines(text), text.lines().count(), "{text:?}");
        }
    }

    #[test]
    fn cuts_that_do_not_fit_the_text_are_harmless() {
        let section = Section {
            title: None,
            text: "雨雨".into(),
            recent: Shorter::Cut { head: 1, tail: 900 },
            gist: Shorter::Cut { head: 4, tail: 4 },
        };
        assert_eq!(section.at(Level::Recent), "雨雨");
        assert_eq!(section.at(Level::Gist), "雨… (6 bytes)");
    }

    #[test]
    fn sections_render_under_their_titles() {
        assert_eq!(render(&[Section::text("just this")], Level::Live), "just this");
        assert_eq!(
            render(&[Section::titled("A", "one"), Section::text("two")], Level::Live),
            "# A\none\n\ntwo"
        );
    }
}
