//! The page about arguments says what is so.

use super::*;

const PAGE: &str = include_str!("../../../../../../docs/arguments.md");

/// What stands in a code block of a kind, by its place among those.
fn block(kind: &str, place: usize) -> &'static str {
    let block = PAGE.split(&format!("```{kind}\n")).nth(place + 1).unwrap();
    block.split("\n```").next().unwrap()
}

/// The rows of the page's tables whose first cell is code, as their cells.
fn rows() -> Vec<Vec<&'static str>> {
    let rows = PAGE.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        row.trim_matches('|').split(" | ").map(|cell| cell.trim().trim_matches('`')).collect()
    })
    .collect()
}

#[test]
fn its_examples_come_out_as_it_says() {
    let schema = block("json", 0);
    let rows = rows();
    assert!(rows.len() > 15, "{rows:?}");
    for row in rows {
        let [raw, text, warning] = row[..] else { panic!("{row:?}") };
        let raw = raw.replace("⏎", "\n");
        assert_eq!(lines(schema, &raw), [format!("ok {text}"), warning.to_owned()]);
    }
}

#[test]
fn its_errors_read_as_it_says() {
    let refused = Schema::new(block("json", 0)).unwrap().validate(block("json", 1)).unwrap_err();
    assert_eq!(refused.to_string(), block("text", 0));
}
