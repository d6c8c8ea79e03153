//! What holds for every entry, every record and every text.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::Value;
use threadline_core::history::fact::{Digest, Fact};
use threadline_core::history::record::{GENESIS, Record};
use threadline_core::history::sections::{Level, Section, render};
use threadline_core::search;

use crate::golden;
use crate::strategies::{entry, fact, section, seeded, text};

const LEVELS: [Level; 3] = [Level::Live, Level::Recent, Level::Gist];

#[test]
fn the_strategies_make_every_kind() {
    let mut runner = TestRunner::new(seeded(1));
    let strategy = fact();
    let made: BTreeSet<String> = (0..2000)
        .map(|_| strategy.new_tree(&mut runner).unwrap().current().kind().to_owned())
        .collect();
    for kind in Fact::KINDS {
        assert!(made.contains(*kind), "{kind} is never made");
    }
}

proptest! {
    #![proptest_config(seeded(512))]

    #[test]
    fn an_entry_is_read_as_it_was_written(entry in entry(), salt: [u8; 16], previous: [u8; 32]) {
        let record = Record::seal(&entry, salt, Digest(previous)).unwrap();
        prop_assert!(record.follows(Digest(previous)));
        let read = record.open().unwrap();
        prop_assert_eq!(&read, &entry);
        prop_assert_eq!(Record::seal(&read, salt, Digest(previous)).unwrap(), record);
    }

    #[test]
    fn any_bytes_are_read_or_refused(
        envelope in vec(any::<u8>(), 0..64),
        body in vec(any::<u8>(), 0..64),
        name in select(Fact::KINDS),
    ) {
        let mut record = golden::read(name);
        record.body.clone_from(&body);
        let entry = record.open().unwrap();
        prop_assert_eq!(entry.fact.kind(), name);
        prop_assert_eq!(Record::seal(&entry, record.salt, GENESIS).unwrap().body, body);
        record.envelope = envelope;
        prop_assert!(record.open().is_err());
    }

    #[test]
    fn a_mangled_record_never_panics(
        name in select(Fact::KINDS),
        at: prop::sample::Index,
        byte: u8,
        cut: prop::sample::Index,
    ) {
        let golden = golden::read(name);
        for in_body in [false, true] {
            let mut record = golden.clone();
            let bytes = if in_body { &mut record.body } else { &mut record.envelope };
            let cut = cut.index(bytes.len());
            let at = at.index(bytes.len());
            bytes[at] = byte;
            drop(record.open());
            let bytes = if in_body { &mut record.body } else { &mut record.envelope };
            bytes.truncate(cut);
            drop(record.open());
        }
    }

    #[test]
    fn a_field_too_many_makes_a_fact_unrecognised(
        name in select(Fact::KINDS),
        field in "new_[a-z]{1,6}",
        wrong in select(vec![Value::Null, Value::Bool(true), serde_json::json!([[]]), serde_json::json!({"x": 1})]),
        which: prop::sample::Index,
    ) {
        let golden = golden::read(name);
        let body: serde_json::Map<String, Value> = serde_json::from_slice(&golden.body).unwrap();
        let mut more = body.clone();
        more.insert(field, wrong);
        prop_assert_unrecognised(&golden, &more)?;

        // No field holds such a list: whichever it is put in place of, the body is not understood.
        let mut other = body;
        let keys = other.keys().cloned().collect::<Vec<_>>();
        if !keys.is_empty() {
            other.insert(which.get(&keys).clone(), serde_json::json!([[[]]]));
            prop_assert_unrecognised(&golden, &other)?;
        }
    }

    #[test]
    fn any_section_has_every_level(sections in vec(section(), 0..4)) {
        for level in LEVELS {
            let rendered = render(&sections, level);
            for section in &sections {
                prop_assert!(rendered.contains(&*section.at(level)));
            }
        }
    }

    #[test]
    fn a_derived_gist_is_one_short_line(text in text(), times in 1..400_usize) {
        let section = Section::text(text.repeat(times));
        prop_assert_eq!(section.at(Level::Live), &*section.text);
        let gist = section.at(Level::Gist);
        prop_assert!(!gist.contains('\n'), "{gist:?}");
        prop_assert!(gist.len() <= 160, "{gist:?}");
        prop_assert!(section.at(Level::Recent).len() <= 4096 + 64);
        prop_assert_eq!(section.clone().derived(), section);
    }

    #[test]
    fn a_text_is_found_by_its_own_words(
        text in text(),
        times in 1..6_usize,
        from: prop::sample::Index,
        query in text(),
    ) {
        let text = text.repeat(times);
        let terms = search::terms(&text);
        prop_assert_eq!(search::joined_terms(&text), terms.join(" "));
        prop_assert!(search::matches(&terms, &search::phrases(&text.replace(['"', '“', '”'], " "))));
        for term in &terms {
            prop_assert!(term.len() <= search::TERM_CAP_BYTES);
            prop_assert_eq!(search::terms(term).concat(), term.clone(), "a term is its own term");
        }
        if !terms.is_empty() {
            let run = terms[from.index(terms.len())..].join(" ");
            let phrases = search::phrases(&format!("\"{run}\""));
            prop_assert!(search::matches(&terms, &phrases));
        }
        let _ = search::matches(&terms, &search::phrases(&query));
    }
}

/// Checks that a body is kept as it is and not understood.
fn prop_assert_unrecognised(
    golden: &Record,
    body: &serde_json::Map<String, Value>,
) -> Result<(), TestCaseError> {
    let body = serde_json::to_vec(body).unwrap();
    let record = Record { body: body.clone(), ..golden.clone() };
    let fact = record.open().unwrap().fact;
    let kept = matches!(&fact, Fact::Unrecognised(unrecognised) if unrecognised.body == body);
    prop_assert!(kept, "{fact:?}");
    Ok(())
}
