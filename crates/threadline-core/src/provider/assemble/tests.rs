//! Rules of streams one by one, and properties over any stream.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use crate::history::fact::Digest;
use crate::history::metadata::Value;
use crate::provider::Prepared;

fn prepared() -> Delta {
    let body_digest = Digest::of(b"body");
    Delta::Prepared(Prepared { body_digest, encoder_version: 1, repairs: Vec::new() })
}

fn started() -> Delta {
    Delta::Started(Metadata::new())
}

fn finished() -> Delta {
    Delta::Finished { stop: Stop::Done, metadata: Metadata::new() }
}

fn begin(block: u32, kind: BlockKind) -> Delta {
    Delta::Begin { block: BlockIndex(block), kind }
}

fn text(block: u32) -> Delta {
    begin(block, BlockKind::Text)
}

fn call(block: u32, name: &str, provider_id: Option<&str>) -> Delta {
    let provider_id = provider_id.map(Arc::from);
    begin(block, BlockKind::ToolCall { name: name.into(), provider_id })
}

fn fragment(block: u32, text: &str) -> Delta {
    Delta::Fragment { block: BlockIndex(block), text: text.into() }
}

fn state(block: u32, state: &str) -> Delta {
    Delta::State { block: BlockIndex(block), state: state.into() }
}

fn end(block: u32) -> Delta {
    Delta::End { block: BlockIndex(block) }
}

fn said(text: &str) -> Block {
    Block::Text(Text { text: text.into(), state: None })
}

fn called(name: &str, arguments: &str, complete: bool) -> ToolCall {
    ToolCall {
        name: name.into(),
        arguments: arguments.into(),
        repaired: None,
        provider_id: None,
        complete,
        state: None,
    }
}

fn push_all(assembler: &mut Assembler, deltas: &[Delta]) -> Result<Progress, Broken> {
    deltas.iter().try_fold(Progress::More, |_, delta| assembler.push(delta))
}

/// What becomes of an answer of these deltas that begins and ends as it should.
fn answer(deltas: &[Delta]) -> Assembled {
    let mut assembler = Assembler::default();
    let whole = [&[prepared(), started()], deltas, &[finished()]].concat();
    assert_eq!(push_all(&mut assembler, &whole), Ok(Progress::Finished));
    assembler.finish().unwrap()
}

#[test]
fn every_rule_is_named_when_it_is_broken() {
    let table: &[(&[Delta], Broken)] = &[
        (&[started()], Broken::NotPrepared),
        (&[finished()], Broken::NotPrepared),
        (&[prepared(), prepared()], Broken::PreparedTwice),
        (&[prepared(), started(), prepared()], Broken::PreparedTwice),
        (&[prepared(), text(0)], Broken::NotStarted),
        (&[prepared(), finished()], Broken::NotStarted),
        (&[prepared(), Delta::Cost(Money(1))], Broken::NotStarted),
        (&[prepared(), started(), started()], Broken::StartedTwice),
        (&[prepared(), started(), text(1)], Broken::OutOfOrder { next: 0, begun: 1 }),
        (&[prepared(), started(), text(0), text(0)], Broken::OutOfOrder { next: 1, begun: 0 }),
        (&[prepared(), started(), fragment(0, "x")], Broken::NotOpen { block: 0 }),
        (&[prepared(), started(), state(u32::MAX, "x")], Broken::NotOpen { block: u32::MAX }),
        (&[prepared(), started(), text(0), end(0), end(0)], Broken::NotOpen { block: 0 }),
        (&[prepared(), started(), text(0), end(0), state(0, "s")], Broken::NotOpen { block: 0 }),
        (&[prepared(), started(), finished(), finished()], Broken::AfterEnd),
        (&[prepared(), started(), finished(), fragment(0, "x")], Broken::AfterEnd),
    ];
    for (deltas, broken) in table {
        let mut assembler = Assembler::default();
        let (last, before) = deltas.split_last().unwrap();
        assert!(push_all(&mut assembler, before).is_ok(), "{deltas:?}");
        assert_eq!(assembler.push(last), Err(*broken), "{deltas:?}");
        assert_eq!(assembler.push(&finished()), Err(*broken), "it stays broken: {deltas:?}");
        assert!(assembler.finish().is_err(), "{deltas:?}");
    }
}

#[test]
fn blocks_that_are_open_at_once_keep_their_order_and_their_pieces() {
    let answer = answer(&[
        begin(0, BlockKind::Thinking),
        fragment(0, "hm"),
        call(1, "add", None),
        fragment(1, "{\"a\":"),
        call(2, "read", None),
        fragment(2, "{\"path\""),
        fragment(0, "m"),
        fragment(1, "1}"),
        end(1),
        state(0, "old"),
        state(0, "signature"),
        fragment(2, ":\"x\"}"),
        end(0),
        end(2),
    ]);
    let thought = ThinkingBlock { text: "hmm".into(), state: Some("signature".into()) };
    assert_eq!(
        answer.blocks,
        [
            Block::Thinking(thought),
            Block::ToolCall(called("add", "{\"a\":1}", true)),
            Block::ToolCall(called("read", "{\"path\":\"x\"}", true)),
        ]
    );
}

#[test]
fn a_call_that_is_not_ended_is_incomplete_however_whole_it_looks() {
    let answer = answer(&[text(0), fragment(0, "so"), call(1, "add", None), fragment(1, "{}")]);
    assert_eq!(answer.blocks, [said("so"), Block::ToolCall(called("add", "{}", false))]);
}

#[test]
fn arguments_and_provider_ids_are_kept_as_sent() {
    let raw = "{ \"a\": 1e0, \"a\": 2,\n";
    let answer = answer(&[
        call(0, "add", Some("same")),
        end(0),
        call(1, "add", Some("same")),
        fragment(1, raw),
        end(1),
    ]);
    let twice = |arguments| {
        let provider_id = Some("same".into());
        Block::ToolCall(ToolCall { provider_id, ..called("add", arguments, true) })
    };
    assert_eq!(answer.blocks, [twice(""), twice(raw)]);
}

#[test]
fn only_what_says_nothing_at_all_is_left_out() {
    let answer = answer(&[
        text(0),
        end(0),
        begin(1, BlockKind::Thinking),
        text(2),
        state(2, "cited"),
        end(2),
        text(3),
        fragment(3, " "),
        begin(4, BlockKind::Foreign { kind: "search".into() }),
        end(4),
    ]);
    let foreign = Foreign { kind: "search".into(), text: "".into(), state: "".into() };
    assert_eq!(
        answer.blocks,
        [
            Block::Text(Text { text: "".into(), state: Some("cited".into()) }),
            said(" "),
            Block::Foreign(foreign),
        ]
    );
}

#[test]
fn later_numbers_replace_earlier_ones_whatever_they_are() {
    let most = Usage { input: u64::MAX, output: u64::MAX, ..Usage::default() };
    let first = Usage { input: 1, reasoning: Some(7), ..Usage::default() };
    let answer = answer(&[
        Delta::Usage(first),
        Delta::Cost(Money(5)),
        Delta::Usage(most),
        Delta::Cost(Money(u64::MAX)),
    ]);
    assert_eq!((answer.usage, answer.cost), (most, Some(Money(u64::MAX))));
}

#[test]
fn what_was_told_at_both_ends_is_kept() {
    let told = |key, value: &str| Metadata::fitted([(key, Value::Text(value.to_owned()))]);
    let mut assembler = Assembler::default();
    let end = Delta::Finished { stop: Stop::Length, metadata: told("tier", "batch") };
    let deltas = [prepared(), Delta::Started(told("request_id", "r1")), end];
    assert_eq!(push_all(&mut assembler, &deltas), Ok(Progress::Finished));
    let answer = assembler.finish().unwrap();
    assert_eq!(answer.metadata, told("request_id", "r1").joined(&told("tier", "batch")));
    assert_eq!(answer.stop, Stop::Length);
}

#[test]
fn a_stream_that_breaks_off_leaves_what_had_streamed() {
    let usage = Usage { input: 3, ..Usage::default() };
    let mut assembler = Assembler::default();
    let deltas = [
        prepared(),
        started(),
        Delta::Usage(usage),
        text(0),
        fragment(0, "half a"),
        call(1, "add", None),
        fragment(1, "{\"a"),
    ];
    assert_eq!(push_all(&mut assembler, &deltas), Ok(Progress::More));
    let partial = Partial {
        streamed: vec![said("half a"), Block::ToolCall(called("add", "{\"a", false))],
        usage: Some(usage),
        cost: None,
        metadata: Metadata::new(),
    };
    assert_eq!(assembler.partial(), partial);
    assert_eq!(assembler.finish(), Err(partial));
}

#[test]
fn an_answer_over_the_limit_is_cut_where_it_went_over() {
    let mut assembler = Assembler::new(BLOCK_BYTES + 10);
    let fits = [prepared(), started(), text(0), fragment(0, "12345678\n")];
    assert_eq!(push_all(&mut assembler, &fits), Ok(Progress::More));
    let too_large = Broken::TooLarge { limit_bytes: BLOCK_BYTES + 10 };
    assert_eq!(assembler.push(&fragment(0, "x")), Err(too_large));
    assert_eq!(too_large.kind(), FailureKind::Protocol);
    assert_eq!(assembler.partial().streamed, [said("12345678\n")]);
}

#[test]
fn a_state_that_is_replaced_no_longer_counts() {
    let mut assembler = Assembler::new(BLOCK_BYTES + 5);
    let deltas = [prepared(), started(), text(0), state(0, "12345"), state(0, "54321")];
    assert_eq!(push_all(&mut assembler, &deltas), Ok(Progress::More));
    assert!(assembler.push(&state(0, "123456")).is_err());
    let kept = Block::Text(Text { text: "".into(), state: Some("54321".into()) });
    assert_eq!(assembler.partial().streamed, [kept]);
}

#[test]
fn the_bytes_of_a_text_are_those_it_is_written_with() {
    let text = (0..=0x2fff).filter_map(char::from_u32).collect::<String>();
    assert_eq!(json_bytes(&text) + 2, serde_json::to_string(&text).unwrap().len());
}

/// Any delta, with blocks near enough to be hit.
fn any_delta() -> impl Strategy<Value = Delta> {
    let block = || prop_oneof![4 => 0..4_u32, 1 => any::<u32>()];
    prop_oneof![
        1 => Just(prepared()),
        1 => Just(started()),
        1 => Just(finished()),
        6 => (block(), any_kind()).prop_map(|(block, kind)| begin(block, kind)),
        6 => (block(), any::<String>()).prop_map(|(block, text)| fragment(block, &text)),
        2 => (block(), any::<String>()).prop_map(|(block, text)| state(block, &text)),
        2 => block().prop_map(end),
        1 => (any::<u64>(), any::<u64>())
            .prop_map(|(input, output)| Delta::Usage(Usage { input, output, ..Usage::default() })),
        1 => any::<u64>().prop_map(|cost| Delta::Cost(Money(cost))),
    ]
}

fn any_kind() -> impl Strategy<Value = BlockKind> {
    prop_oneof![
        Just(BlockKind::Thinking),
        Just(BlockKind::Text),
        (any::<String>(), option::of(any::<String>())).prop_map(|(name, id)| {
            BlockKind::ToolCall { name: name.into(), provider_id: id.map(Into::into) }
        }),
        any::<String>().prop_map(|kind| BlockKind::Foreign { kind: kind.into() }),
    ]
}

/// Sequences that go on for a while: half of them begin as they should.
fn any_stream() -> impl Strategy<Value = Vec<Delta>> {
    let deltas = || vec(any_delta(), 0..24);
    prop_oneof![
        deltas(),
        deltas().prop_map(|deltas| [vec![prepared(), started()], deltas].concat()),
    ]
}

/// A block that some stream is made of. What says nothing is not kept, and is not made here.
fn any_block() -> impl Strategy<Value = Block> {
    let state = || option::of(".{0,6}").prop_map(|state| state.map(Opaque::from));
    prop_oneof![
        (".{1,12}", state()).prop_map(|(text, state)| {
            Block::Thinking(ThinkingBlock { text: text.into(), state })
        }),
        (".{1,12}", state())
            .prop_map(|(text, state)| { Block::Text(Text { text: text.into(), state }) }),
        (".{0,6}", ".{0,12}", option::of(".{0,4}"), any::<bool>(), state()).prop_map(
            |(name, arguments, id, complete, state)| {
                Block::ToolCall(ToolCall {
                    name: name.into(),
                    arguments: arguments.into(),
                    repaired: None,
                    provider_id: id.map(Into::into),
                    complete,
                    state,
                })
            }
        ),
        (".{0,6}", ".{0,12}", ".{0,6}").prop_map(|(kind, text, state)| {
            Block::Foreign(Foreign { kind: kind.into(), text: text.into(), state: state.into() })
        }),
    ]
}

/// The deltas of one block, its text cut into pieces of so many characters.
fn stream_of(place: u32, block: &Block, piece: usize) -> Vec<Delta> {
    let (kind, text, of_state, ended) = match block {
        Block::Thinking(it) => (BlockKind::Thinking, &it.text, it.state.clone(), true),
        Block::Text(it) => (BlockKind::Text, &it.text, it.state.clone(), true),
        Block::ToolCall(it) => {
            let (name, provider_id) = (Arc::clone(&it.name), it.provider_id.clone());
            let kind = BlockKind::ToolCall { name, provider_id };
            (kind, &it.arguments, it.state.clone(), it.complete)
        }
        Block::Foreign(it) => {
            let kind = BlockKind::Foreign { kind: Arc::clone(&it.kind) };
            (kind, &it.text, Some(Arc::clone(&it.state)), true)
        }
    };
    let characters = text.chars().collect::<Vec<_>>();
    let pieces = characters.chunks(piece).map(|piece| fragment(place, &String::from_iter(piece)));
    let replaced = of_state.is_some().then(|| state(place, "an earlier state"));
    let last = of_state.map(|text| state(place, &text));
    let end = ended.then(|| end(place));
    [begin(place, kind)].into_iter().chain(replaced).chain(pieces).chain(last).chain(end).collect()
}

/// All the streams as one: which goes on next is drawn, but blocks begin in their order.
fn mix(streams: Vec<Vec<Delta>>, draws: &[Index]) -> Vec<Delta> {
    let mut waiting = streams.into_iter().map(Vec::into_iter).collect::<Vec<_>>();
    let mut mixed = Vec::new();
    let mut begun = 0;
    let mut draws = draws.iter().cycle();
    while waiting.iter().any(|stream| stream.len() > 0) {
        let choices = waiting.len().min(begun + 1);
        let drawn = draws.next().map_or(0, |draw| draw.index(choices));
        let chosen = (0..choices).map(|step| (drawn + step) % choices);
        let next = chosen.into_iter().find(|place| waiting[*place].len() > 0).unwrap();
        begun = begun.max(next + 1);
        mixed.extend(waiting[next].next());
    }
    mixed
}

proptest! {
    #[test]
    fn no_sequence_of_deltas_makes_it_panic(stream in any_stream(), limit in 0..2048_usize) {
        let mut assembler = Assembler::new(limit);
        let mut finished = false;
        for delta in &stream {
            let before = assembler.partial();
            match assembler.push(delta) {
                Ok(progress) => finished = progress == Progress::Finished,
                Err(_) => {
                    finished = false;
                    prop_assert_eq!(assembler.partial(), before, "what had streamed is kept");
                }
            }
            let written = serde_json::to_string(&assembler.partial().streamed).unwrap();
            prop_assert!(written.len() <= limit + 2, "{} bytes", written.len());
        }
        let partial = assembler.partial();
        match assembler.finish() {
            Ok(assembled) => {
                prop_assert!(finished);
                prop_assert_eq!(assembled.blocks, partial.streamed);
            }
            Err(left) => {
                prop_assert!(!finished);
                prop_assert_eq!(left, partial);
            }
        }
    }

    #[test]
    fn a_stream_gives_back_the_blocks_that_made_it(
        blocks in vec(any_block(), 0..5),
        piece in 1..6_usize,
        draws in vec(any::<Index>(), 1..40),
    ) {
        let streams = (0..).zip(&blocks).map(|(place, block)| stream_of(place, block, piece));
        let mixed = mix(streams.collect(), &draws);
        let mut assembler = Assembler::default();
        let begun = [vec![prepared(), started()], mixed].concat();
        prop_assert_eq!(push_all(&mut assembler, &begun), Ok(Progress::More));
        prop_assert_eq!(&assembler.partial().streamed, &blocks);
        prop_assert!(assembler.clone().finish().is_err(), "without its end it is no answer");
        prop_assert_eq!(assembler.push(&finished()), Ok(Progress::Finished));
        prop_assert_eq!(assembler.finish().unwrap().blocks, blocks);
    }
}
