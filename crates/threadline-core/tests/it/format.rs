//! The page on the history format shows the golden files and nothing else.

use threadline_core::history::fact::{Digest, Fact};

use crate::golden;

pub(crate) const PAGE: &str = include_str!("../../../../docs/history-format.md");

/// The part of the page under a heading, up to the next heading of any level.
pub(crate) fn part(heading: &str) -> &'static str {
    let start = PAGE.find(&format!("\n{heading}\n")).expect(heading) + heading.len() + 2;
    let rest = &PAGE[start..];
    &rest[..rest.find("\n#").unwrap_or(rest.len())]
}

/// The code blocks of a part.
pub(crate) fn blocks(part: &str) -> Vec<&str> {
    part.split("```")
        .skip(1)
        .step_by(2)
        .filter_map(|block| block.split_once('\n'))
        .map(code)
        .collect()
}

fn code<'p>((_language, code): (&'p str, &'p str)) -> &'p str {
    code.trim_end_matches('\n')
}

#[test]
fn every_kind_is_shown_with_its_golden_body() {
    for kind in Fact::KINDS {
        let body = String::from_utf8(golden::read(kind).body).unwrap();
        assert_eq!(blocks(part(&format!("#### `{kind}`"))), [body], "{kind}");
    }
}

#[test]
fn no_kind_is_shown_that_is_not_there() {
    let shown: Vec<&str> = PAGE
        .lines()
        .filter_map(|line| line.strip_prefix("#### `").and_then(|kind| kind.strip_suffix('`')))
        .collect();
    assert_eq!(shown.len(), Fact::KINDS.len());
    assert!(shown.iter().all(|kind| Fact::KINDS.contains(kind)), "{shown:?}");
}

#[test]
fn the_worked_example_works() {
    let record = golden::read("pinned");
    let salted = [record.salt.as_slice(), &record.body].concat();
    let salt = format!("{:032x}", u128::from_be_bytes(record.salt));
    let expected = [
        ("previous", Digest([0; 32]).to_string()),
        ("envelope", String::from_utf8(record.envelope).unwrap()),
        ("salt", salt),
        ("body", String::from_utf8(record.body).unwrap()),
        ("body_hash", Digest::of(&salted).to_string()),
        ("hash", record.hash.to_string()),
    ];
    let example = blocks(part("## The chain"))[1];
    let lines: Vec<String> =
        expected.iter().map(|(name, value)| format!("{name:<11}{value}")).collect();
    assert_eq!(example, lines.join("\n"));
}

#[test]
fn a_newer_kind_is_shown_as_it_was_written() {
    let record = golden::read("unrecognised");
    let expected = [record.envelope, record.body].map(|bytes| String::from_utf8(bytes).unwrap());
    assert_eq!(blocks(part("## Kinds of a newer version")), expected);
}
