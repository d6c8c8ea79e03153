//! The page on the history format shows an export, byte by byte as it is written.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use threadline_core::clock::Timestamp;
use threadline_core::history::batch::Batch;
use threadline_core::history::fact::{AgentJoined, Attachment, Digest, Fact, Input, Moved};
use threadline_core::history::record::GENESIS;
use threadline_core::history::{History, Proposal, Proposed, Stamp};
use threadline_core::id::{AgentId, ConversationId, IdSource};
use threadline_core::inbox::{Body, Item, Mode};
use threadline_core::tokens::Estimator;
use threadline_core::transfer::line::{LINE_CAP_BYTES, Line, PART_CAP_BYTES, Part};

use crate::format::{PAGE, blocks, part};

const TALK: &str = "018bcfe5-6800-7000-8000-00000000000c";
const FILE: &[u8] = b"Oslo: rain\n";

/// Ids that count.
struct Counted(AtomicU8);

impl IdSource for Counted {
    fn random(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        let number = self.0.fetch_add(1, Ordering::Relaxed) + 1;
        bytes[9] = number;
        bytes[15] = number;
        bytes
    }
}

fn follow(history: &History, fact: impl Into<Fact>, agent: AgentId, ids: &Counted) -> Proposed {
    let at = "2026-03-04T09:15:00.000120Z".parse::<Timestamp>().unwrap();
    let stamp = Stamp { at, ids, counter: &Estimator };
    history.propose([Proposal::new(agent, fact, &Estimator)], stamp).unwrap()
}

/// A conversation of three entries that was moved, with an attachment and an inbox item.
fn example() -> Vec<Line> {
    let planner = AgentJoined {
        name: "planner".into(),
        description: "".into(),
        route: None,
        options: threadline_core::history::fact::CallOptions::default(),
        tools: Vec::new(),
        widgets: Vec::new(),
        primary: true,
    };
    let digest = Digest::of(FILE);
    let attachment = Attachment {
        digest,
        size: 11,
        media_type: "text/plain".into(),
        name: Some("oslo.txt".into()),
        extent: None,
    };
    let input = Input { attachments: vec![attachment], ..Input::from_person("what does it say?") };
    let ids = Counted(AtomicU8::new(0));
    let Proposed { batch: first, history } = follow(&History::new(), planner, AgentId::FIRST, &ids);
    let Proposed { batch: second, history } = follow(&history, input, AgentId::FIRST, &ids);
    let to: Option<Arc<str>> = Some("the laptop".into());
    let Proposed { batch: third, history } =
        follow(&history, Moved { to }, AgentId::CONVERSATION, &ids);
    let entry = |batch: Batch| Line::Entry((*batch.entries[0].record).clone());
    let waiting = Item {
        client_key: "k-7".into(),
        to: None,
        mode: Mode::Queue,
        due: None,
        body: Body::Input(Input::from_person("and tomorrow?")),
    };
    vec![
        Line::Header(TALK.parse::<ConversationId>().unwrap()),
        entry(first),
        Line::Attachment(Part { digest, size: 11, offset: 0, bytes: FILE.to_vec() }),
        entry(second),
        entry(third),
        Line::Waiting(waiting),
        Line::End(history.head(), history.head_hash()),
    ]
}

#[test]
fn the_example_is_what_is_written() {
    let mut bytes = Vec::new();
    for line in example() {
        line.write(&mut bytes).unwrap();
    }
    let written = String::from_utf8(bytes).unwrap();
    assert_eq!(blocks(part("### An example")), [written.trim_end()]);
}

#[test]
fn the_example_is_read_and_its_chain_holds() {
    let shown = blocks(part("### An example"));
    let lines: Vec<Line> =
        shown[0].lines().map(|line| Line::parse(line.as_bytes()).unwrap()).collect();
    assert_eq!(lines, example());
    let mut previous = GENESIS;
    for line in &lines {
        if let Line::Entry(record) = line {
            assert!(record.follows(previous));
            previous = record.hash;
        }
    }
}

#[test]
fn the_caps_are_those_of_the_program() {
    assert_eq!(LINE_CAP_BYTES, 16 * 1024 * 1024);
    assert_eq!(PART_CAP_BYTES, 8 * 1024 * 1024);
    for cap in ["16 MiB", "8 MiB", "10,000"] {
        assert!(PAGE.contains(cap), "{cap}");
    }
}
