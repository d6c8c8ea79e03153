//! The notebook against a model: random scripts give the same text, or both refuse.

use std::collections::BTreeSet;

use super::*;

/// The notebook as plainly as it can be told.
#[derive(Default)]
struct Model(String);

impl Model {
    fn append(&self, text: &str) -> Option<String> {
        let text = kept(text);
        if text.is_empty() {
            return None;
        }
        if self.0.is_empty() {
            return Some(text.trim_start_matches('\n').to_owned());
        }
        let between = if text.starts_with('\n') { "" } else { "\n" };
        Some(format!("{}{between}{text}", self.0))
    }

    fn replace(&self, find: &str, with: &str, anchor: Option<&str>) -> Option<String> {
        let find = line_feeds(find);
        let at = self.one(&find, anchor)?;
        Some(self.without(at, at + find.len(), with))
    }

    fn span(&self, start: &str, end: &str, with: &str, anchor: Option<&str>) -> Option<String> {
        let (start, end) = (line_feeds(start), line_feeds(end));
        let at = self.one(&start, anchor)?;
        let until = self.places(&end).into_iter().find(|place| *place >= at + start.len())?;
        Some(self.without(at, until + end.len(), with))
    }

    /// Where a text is that is there once, or the first one after the first anchor.
    fn one(&self, wanted: &str, anchor: Option<&str>) -> Option<usize> {
        let places = self.places(wanted);
        let Some(anchor) = anchor.map(line_feeds) else {
            return if places.len() == 1 { places.first().copied() } else { None };
        };
        let from = self.0.find(&anchor)? + anchor.len();
        places.into_iter().find(|place| *place >= from)
    }

    fn places(&self, wanted: &str) -> Vec<usize> {
        let here = |at: &usize| self.0.is_char_boundary(*at) && self.0[*at..].starts_with(wanted);
        (0..self.0.len()).filter(here).filter(|_| !wanted.is_empty()).collect()
    }

    /// Something in the place of some bytes; a line that a deletion leaves blank goes as well.
    fn without(&self, from: usize, to: usize, with: &str) -> String {
        let (head, gone, tail) = (&self.0[..from], &self.0[from..to], &self.0[to..]);
        let with = line_feeds(with);
        let text = format!("{head}{with}{tail}");
        let mut lines: Vec<&str> = text.split('\n').collect();
        let line = head.matches('\n').count();
        let within_lines = !gone.starts_with('\n') && !gone.ends_with('\n');
        if with.is_empty() && within_lines && lines[line].trim().is_empty() {
            lines.remove(line);
        }
        lines.join("\n").trim_end_matches([' ', '\t', '\n']).to_owned()
    }
}

fn line_feeds(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

fn kept(text: &str) -> String {
    let text = if text.trim().is_empty() { "" } else { text };
    line_feeds(text).trim_end_matches([' ', '\t', '\n']).to_owned()
}

#[derive(Clone, Debug)]
enum Step {
    Append(String),
    Replace(String, String, Option<String>),
    Span(String, String, String, Option<String>),
    Set(String),
    Nonsense(&'static str, &'static str),
}

impl Step {
    /// The text after it, and the model's; none where it is refused.
    fn take(&self, notebook: &mut Notebook, model: &Model, seq: Seq) -> [Option<String>; 2] {
        let (tool, arguments, expected) = match self {
            Self::Append(text) => {
                (APPEND, serde_json::json!({ "text": text }).to_string(), model.append(text))
            }
            Self::Replace(find, with, anchor) => (
                REPLACE,
                serde_json::json!({ "find": find, "with": with, "anchor": anchor }).to_string(),
                model.replace(find, with, anchor.as_deref()),
            ),
            Self::Span(start, end, with, anchor) => (
                REPLACE_SPAN,
                serde_json::json!({ "start": start, "end": end, "with": with, "anchor": anchor })
                    .to_string(),
                model.span(start, end, with, anchor.as_deref()),
            ),
            Self::Set(text) => {
                let change = Notebook::set(text).ok();
                let taken = change.map(|change| {
                    apply(notebook, &change, seq);
                    notebook.text().to_owned()
                });
                return [taken, Some(kept(text)).filter(|text| fits(text))];
            }
            Self::Nonsense(tool, arguments) => (*tool, (*arguments).to_owned(), None),
        };
        let call = CallId { output: Seq(1), index: 0 };
        let (by, at) = (AgentId(1), Timestamp::default());
        let call = WidgetCall { tool, arguments: &arguments, call, by, at };
        let taken = notebook.call(&call).ok().map(|reply| {
            for change in &reply.changes {
                apply(notebook, change, seq);
            }
            notebook.text().to_owned()
        });
        [taken, expected.filter(|text| fits(text))]
    }
}

fn fits(text: &str) -> bool {
    text.len() <= TEXT_CAP_BYTES
}

fn apply(notebook: &mut Notebook, change: &str, seq: Seq) {
    let change = Change { text: change, seq, by: AgentId(1), at: Timestamp::default() };
    notebook.apply(&change).unwrap();
}

/// Steps that often have something to do with the text.
fn step() -> impl Strategy<Value = Step> {
    let text = || prop_oneof!["[ab \n\r`雨]{0,12}", "([a-h]{1,2}\n){0,6}", "`{0,6}[ab]`{0,6}"];
    let find = || prop_oneof!["[ab \n雨\r]{0,3}", "[a-h]{1,2}"];
    let anchor = || prop::option::of("[ab\n]{0,2}");
    let long = (TEXT_CAP_BYTES / 2..TEXT_CAP_BYTES + 9).prop_map(|bytes| "x".repeat(bytes));
    prop_oneof![
        30 => text().prop_map(Step::Append),
        40 => (find(), text(), anchor()).prop_map(|(f, w, a)| Step::Replace(f, w, a)),
        10 => (find(), anchor()).prop_map(|(f, a)| Step::Replace(f, String::new(), a)),
        40 => (find(), find(), text(), anchor()).prop_map(|(s, e, w, a)| Step::Span(s, e, w, a)),
        20 => (find(), find()).prop_map(|(s, e)| Step::Span(s, e, String::new(), Some(String::new()))),
        10 => text().prop_map(Step::Set),
        5 => Just(Step::Set(String::new())),
        3 => long.clone().prop_map(Step::Append),
        1 => long.prop_map(Step::Set),
        2 => Just(Step::Nonsense(APPEND, "{}")),
        2 => Just(Step::Nonsense(REPLACE, r#"{"find":"a"}"#)),
        2 => Just(Step::Nonsense(REPLACE_SPAN, r#"{"start":"a","end":7,"with":""}"#)),
        2 => Just(Step::Nonsense("notebook_burn", "[")),
    ]
}

/// Which entries each line may be of after a change: one where that can be told without doubt.
fn allowed(before: &[(Seq, String)], after: &[&str], by: Seq) -> Vec<BTreeSet<Seq>> {
    let distinct = |lines: &[&str]| lines.iter().collect::<BTreeSet<_>>().len() == lines.len();
    let old: Vec<&str> = before.iter().map(|(_, line)| &**line).collect();
    let stayed = |lines: &[&str], others: &[&str]| -> Vec<String> {
        let lines = lines.iter().filter(|line| others.contains(line));
        lines.map(|line| (*line).to_owned()).collect()
    };
    let in_order = stayed(&old, after) == stayed(after, &old);
    let certain = distinct(&old) && distinct(after) && in_order;
    let of = |line: &&str| {
        let same = before.iter().filter(|(_, old)| old == line).map(|(seq, _)| *seq);
        let mut seqs: BTreeSet<Seq> = same.collect();
        if seqs.is_empty() || !certain {
            seqs.insert(by);
        }
        seqs
    };
    after.iter().map(of).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn it_does_what_the_model_does(steps in prop::collection::vec(step(), 1..25)) {
        let (mut notebook, mut model) = (Notebook::new(), Model::default());
        for (seq, step) in (1..).map(Seq).zip(&steps) {
            let before: Vec<(Seq, String)> =
                notebook.blame().map(|(seq, line)| (seq, line.to_owned())).collect();
            let unchanged = model.0.clone();
            let [taken, expected] = step.take(&mut notebook, &model, seq);
            prop_assert_eq!(&taken, &expected, "{:?} on {:?}", step, model.0);
            model.0 = expected.unwrap_or(unchanged);

            let text = notebook.text();
            prop_assert_eq!(text, &model.0, "what is refused changes nothing");
            prop_assert!(!text.contains('\r') && !text.ends_with([' ', '\t', '\n']));
            let lines: Vec<&str> = text.lines().collect();
            let blamed: Vec<&str> = notebook.blame().map(|(_, line)| line).collect();
            prop_assert_eq!(&blamed, &lines, "every line has its entry");
            for ((blamed, line), allowed) in notebook.blame().zip(allowed(&before, &lines, seq)) {
                prop_assert!(
                    allowed.contains(&blamed),
                    "{:?} is of {:?}, not of {} after {:?}: {:?}", line, allowed, blamed, step, before
                );
            }
            let shown = screen(&notebook, 2 * TEXT_CAP_BYTES);
            if !text.is_empty() {
                let fence = shown.lines().nth(2).unwrap();
                prop_assert!(fence.len() >= 3 && fence.chars().all(|c| c == '`'), "{}", shown);
                prop_assert!(!text.contains(fence), "{:?} holds {}", text, fence);
                prop_assert_eq!(&shown, &format!("## Notebook\n\n{fence}\n{text}\n{fence}"));
            }
        }
        let mut decoded = Notebook::new();
        decoded.decode(&notebook.encode()).unwrap();
        prop_assert_eq!(decoded, notebook);
    }
}
