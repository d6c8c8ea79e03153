//! One step of an interleaving. Numbers choose among what is there when the step is taken.

use proptest::collection::vec;
use proptest::prelude::*;
use threadline_core::store::Origin;

/// One step.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    /// A conversation begins.
    Create,
    /// Facts are appended, on a history that may be outdated, under a lease that may be lost.
    Append { conversation: usize, lease: usize, what: What, outdated: bool, take: bool },
    /// A batch is appended once more.
    Again { batch: usize, lease: usize },
    /// A conversation goes back.
    Rewind { conversation: usize, lease: usize, to: usize },
    /// A conversation branches off another.
    Fork { conversation: usize, at: usize },
    /// An owner wants a lease.
    Acquire { owner: usize, conversation: usize, ttl_ms: u64 },
    /// An owner that nobody attends wants a lease.
    AcquireUnattended { owner: usize, conversation: usize },
    /// A conversation is taken off hold.
    LiftHold { conversation: usize },
    /// A lease is kept.
    Renew { lease: usize, ttl_ms: u64 },
    /// A lease is given back.
    Release { lease: usize },
    /// An owner takes what is due.
    Claim { owner: usize, most: usize },
    /// Something is put into an inbox.
    Enqueue { conversation: usize, key: u8, body: u8, due_ms: Option<u64> },
    /// A message that waits is replaced.
    Edit { conversation: usize, key: u8, body: u8 },
    /// A message that waits is withdrawn.
    Withdraw { conversation: usize, key: u8 },
    /// The newest conversation is deleted.
    Delete,
    /// A snapshot is kept.
    Snapshot { conversation: usize, for_good: bool },
    /// A conversation, or some of it, is taken in under a new id.
    TakeIn { conversation: usize, cut: usize, origin: Origin, waiting: Option<u8>, fate: Fate },
    /// What a conversation was taken in from has gone on, and so does it.
    FastForward { conversation: usize, origin: Origin, waiting: Option<u8>, fate: Fate },
    /// Time passes.
    Tick { millis: u64 },
    /// A process dies, or hangs, and another takes its place.
    Restart { owner: usize, hangs: bool },
    /// Something is looked for.
    Search { word: u8, conversation: Option<usize>, most: usize },
}

/// What is appended.
#[derive(Clone, Debug)]
pub(crate) enum What {
    Turn(u8),
    Say(u8),
    Call,
    Finish,
    Keyed { key: u8, body: u8 },
    Describe { label: u8, archived: bool },
    Timer { millis: u64 },
    Join,
    Move,
}

/// What becomes of an intake.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fate {
    Adopt,
    AdoptTwice,
    /// Another intake of the same is adopted first.
    Overtaken,
    Discard,
    Die,
}

/// Some steps; the first is a beginning.
pub(crate) fn ops(most: usize) -> impl Strategy<Value = Vec<Op>> {
    vec(op(), 1..most).prop_map(|mut ops| {
        ops.insert(0, Op::Create);
        ops
    })
}

fn op() -> impl Strategy<Value = Op> {
    let some = 0_usize..1000;
    let append = (some.clone(), some.clone(), what(), prop::bool::weighted(0.1), any::<bool>());
    let append = append.prop_map(|(conversation, lease, what, outdated, take)| Op::Append {
        conversation,
        lease,
        what,
        outdated,
        take,
    });
    let enqueue = (some.clone(), 0..4_u8, 0..2_u8, prop::option::of(0..100_000_u64));
    let take_in = (some.clone(), some.clone(), origin(), prop::option::of(0..4_u8), fate());
    prop_oneof![
        1 => Just(Op::Create),
        14 => append,
        3 => (some.clone(), some.clone()).prop_map(|(batch, lease)| Op::Again { batch, lease }),
        3 => (some.clone(), some.clone(), some.clone())
            .prop_map(|(conversation, lease, to)| Op::Rewind { conversation, lease, to }),
        2 => (some.clone(), some.clone())
            .prop_map(|(conversation, at)| Op::Fork { conversation, at }),
        3 => (0..2_usize, some.clone(), 1..60_000_u64)
            .prop_map(|(owner, conversation, ttl_ms)| Op::Acquire { owner, conversation, ttl_ms }),
        3 => (0..2_usize, some.clone())
            .prop_map(|(owner, conversation)| Op::AcquireUnattended { owner, conversation }),
        2 => some.clone().prop_map(|conversation| Op::LiftHold { conversation }),
        1 => (some.clone(), 1..60_000_u64)
            .prop_map(|(lease, ttl_ms)| Op::Renew { lease, ttl_ms }),
        2 => some.clone().prop_map(|lease| Op::Release { lease }),
        2 => (0..2_usize, 0..4_usize).prop_map(|(owner, most)| Op::Claim { owner, most }),
        4 => enqueue.prop_map(|(conversation, key, body, due_ms)| Op::Enqueue {
            conversation,
            key,
            body,
            due_ms
        }),
        2 => (some.clone(), 0..4_u8, 0..3_u8)
            .prop_map(|(conversation, key, body)| Op::Edit { conversation, key, body }),
        2 => (some.clone(), 0..4_u8)
            .prop_map(|(conversation, key)| Op::Withdraw { conversation, key }),
        1 => Just(Op::Delete),
        2 => (some.clone(), any::<bool>())
            .prop_map(|(conversation, for_good)| Op::Snapshot { conversation, for_good }),
        3 => take_in.prop_map(|(conversation, cut, origin, waiting, fate)| Op::TakeIn {
            conversation,
            cut,
            origin,
            waiting,
            fate
        }),
        4 => (some.clone(), origin(), prop::option::of(0..4_u8), fate()).prop_map(
            |(conversation, origin, waiting, fate)| Op::FastForward {
                conversation,
                origin,
                waiting,
                fate
            }
        ),
        2 => (0..30_000_u64).prop_map(|millis| Op::Tick { millis }),
        1 => (0..2_usize, any::<bool>())
            .prop_map(|(owner, hangs)| Op::Restart { owner, hangs }),
        1 => (0..4_u8, prop::option::of(some), 0..9_usize)
            .prop_map(|(word, conversation, most)| Op::Search { word, conversation, most }),
    ]
}

fn what() -> impl Strategy<Value = What> {
    prop_oneof![
        4 => (0..4_u8).prop_map(What::Turn),
        2 => (0..4_u8).prop_map(What::Say),
        2 => Just(What::Call),
        2 => Just(What::Finish),
        3 => (0..4_u8, 0..2_u8).prop_map(|(key, body)| What::Keyed { key, body }),
        1 => (0..3_u8, any::<bool>())
            .prop_map(|(label, archived)| What::Describe { label, archived }),
        1 => (0..100_000_u64).prop_map(|millis| What::Timer { millis }),
        1 => Just(What::Join),
        1 => Just(What::Move),
    ]
}

fn origin() -> impl Strategy<Value = Origin> {
    prop_oneof![Just(Origin::Own), Just(Origin::Copy), Just(Origin::Imported)]
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        4 => Just(Fate::Adopt),
        1 => Just(Fate::AdoptTwice),
        1 => Just(Fate::Overtaken),
        1 => Just(Fate::Discard),
        1 => Just(Fate::Die),
    ]
}
