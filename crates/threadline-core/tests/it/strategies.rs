//! Arbitrary entries: every kind of fact, with everything it can carry.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;
use threadline_core::clock::Timestamp;
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::{
    Address, AgentCalled, AgentJoined, AgentLeft, AgentReturned, Answer, ApprovalAsked,
    ApprovalGiven, Approver, Attachment, Authority, AuthorityReset, Block, CallMode, CallOptions,
    Described, Detail, Digest, Effect, EndReason, Extent, Fact, FailureKind, FileChanged, Foreign,
    Forked, Input, InstructionSet, Invocation, InvocationFailed, InvocationStarted, Limit, Money,
    Moved, Note, Output, Pinned, PolicySet, ProjectionOptions, Purpose, Recap, Rewound, Sender,
    Status, Stop, Text, Thinking, ThinkingBlock, TimerCleared, TimerSet, ToolCall, ToolFinished,
    ToolResults, ToolStarted, TurnEnded, Unrecognised, Usage, Verdict, WidgetChanged, WorkspaceSet,
};
use threadline_core::history::metadata::{Metadata, Value};
use threadline_core::history::sections::{Section, Shorter};
use threadline_core::id::{AgentId, BroadcastId, CallId, ConversationId, EntryId, Seq};
use uuid::Uuid;

/// The same cases in every run.
pub(crate) fn seeded(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(0x7468_7265_6164),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Text of all scripts, with line ends, quotation marks and worse.
pub(crate) fn text() -> impl Strategy<Value = String> {
    let character = prop_oneof![
        4 => proptest::char::range(' ', '~'),
        2 => select(vec!['\n', '\r', '\t', '"', '\\', '\0', '\u{2028}', '\u{feff}', '\u{301}', 'İ', 'ß']),
        2 => proptest::char::range('一', '龥'),
        1 => any::<char>(),
    ];
    vec(character, 0..24).prop_map(String::from_iter)
}

/// A section with any levels, whether or not they fit its text.
pub(crate) fn section() -> impl Strategy<Value = Section> {
    (of(shared()), shared(), shorter(), shorter()).prop_map(|(title, text, recent, gist)| Section {
        title,
        text,
        recent,
        gist,
    })
}

/// An entry with any fact.
pub(crate) fn entry() -> impl Strategy<Value = Entry> {
    (any::<u64>(), uuid(), timestamp(), any::<u32>(), of(seq()), metadata(), fact()).prop_map(
        |(seq, id, at, agent, cause, metadata, fact)| Entry {
            seq: Seq(seq),
            id: EntryId(id),
            at,
            agent: AgentId(agent),
            cause,
            metadata,
            fact,
        },
    )
}

/// Any fact.
pub(crate) fn fact() -> BoxedStrategy<Fact> {
    prop_oneof![
        about_agents(),
        about_messages(),
        about_invocations(),
        about_calls(),
        about_course()
    ]
    .boxed()
}

fn about_agents() -> BoxedStrategy<Fact> {
    let sight = (
        of(any::<u64>()),
        of(select(vec![Detail::Lean, Detail::Normal, Detail::Full])),
        of(any::<bool>()),
    );
    let options = (of(any::<u32>()), of(any::<u32>()), of(thinking()), sight).prop_map(
        |(max_output_tokens, temperature_thousandths, thinking, sight)| CallOptions {
            max_output_tokens,
            temperature_thousandths,
            thinking,
            window_tokens: sight.0,
            detail: sight.1,
            screen: sight.2,
        },
    );
    let names = || vec(shared(), 0..3);
    let joined = (shared(), shared(), of(shared()), options, names(), names(), any::<bool>())
        .prop_map(|(name, description, route, options, tools, widgets, primary)| {
            AgentJoined { name, description, route, options, tools, widgets, primary }.into()
        });
    prop_oneof![
        joined,
        text().prop_map(|reason| AgentLeft { reason }.into()),
        shared().prop_map(|text| InstructionSet { text }.into()),
    ]
    .boxed()
}

fn about_messages() -> BoxedStrategy<Fact> {
    let sender = prop_oneof![
        (of(shared()), of(shared())).prop_map(|(name, channel)| Sender::Person { name, channel }),
        (agent(), of(call())).prop_map(|(agent, call)| Sender::Agent { agent, call }),
        Just(Sender::System),
        seq().prop_map(|set| Sender::Timer { set }),
    ];
    let address =
        prop_oneof![Just(Address::Primary), agent().prop_map(Address::Agent), Just(Address::All),];
    let input = (
        vec(section(), 0..3),
        vec(attachment(), 0..2),
        sender,
        address,
        of(shared()),
        of(shared()),
        of(uuid().prop_map(BroadcastId)),
    )
        .prop_map(|(sections, attachments, from, to, route, client_key, broadcast)| {
            Input { sections, attachments, from, to, route, client_key, broadcast }.into()
        });
    let stop = select(vec![Stop::Done, Stop::Length, Stop::Refusal, Stop::Blocked, Stop::Paused]);
    let output = (vec(block(), 0..4), invocation(), stop, usage(), of(money())).prop_map(
        |(blocks, invocation, stop, usage, cost)| {
            Output { blocks, invocation, stop, usage, cost }.into()
        },
    );
    prop_oneof![input, output].boxed()
}

fn about_invocations() -> BoxedStrategy<Fact> {
    let purpose = select(vec![Purpose::Step, Purpose::Recap, Purpose::Title]);
    let detail = select(vec![Detail::Lean, Detail::Normal, Detail::Full]);
    let options = (any::<u64>(), any::<u64>(), any::<u64>(), any::<u32>(), detail, any::<bool>())
        .prop_map(
            |(window_tokens, reserve_tokens, capacity_tokens, factor_percent, detail, screen)| {
                ProjectionOptions {
                    window_tokens,
                    reserve_tokens,
                    capacity_tokens,
                    factor_percent,
                    detail,
                    screen,
                }
            },
        );
    let digests = (of(digest()), digest(), digest());
    let started =
        (invocation(), purpose, options, any::<u64>(), digests, any::<u32>(), any::<u32>(), text())
            .prop_map(
                |(
                    invocation,
                    purpose,
                    options,
                    estimate_tokens,
                    digests,
                    projection,
                    encoder,
                    why,
                )| {
                    InvocationStarted {
                        invocation,
                        purpose,
                        options,
                        estimate_tokens,
                        catalogue: digests.0,
                        context_digest: digests.1,
                        body_digest: digests.2,
                        projection_version: projection,
                        encoder_version: encoder,
                        why,
                    }
                    .into()
                },
            );
    let kind = select(vec![
        FailureKind::Busy,
        FailureKind::ContextTooLong,
        FailureKind::Unauthorised,
        FailureKind::QuotaSpent,
        FailureKind::Refused,
        FailureKind::Protocol,
        FailureKind::Unreachable,
        FailureKind::Cancelled,
    ]);
    let streamed = vec(block(), 0..3);
    let failed = (
        seq(),
        kind,
        text(),
        any::<bool>(),
        (of(any::<u64>()), of(any::<u64>())),
        streamed,
        of(usage()),
        of(money()),
    )
        .prop_map(
            |(
                started,
                kind,
                message,
                retry,
                (retry_after_ms, limit_tokens),
                streamed,
                usage,
                cost,
            )| {
                InvocationFailed {
                    started,
                    kind,
                    message,
                    retry,
                    retry_after_ms,
                    limit_tokens,
                    streamed,
                    usage,
                    cost,
                }
                .into()
            },
        );
    prop_oneof![started, failed].boxed()
}

fn about_calls() -> BoxedStrategy<Fact> {
    let effect = select(vec![Effect::Read, Effect::Idempotent, Effect::Once]);
    let authority =
        prop_oneof![shared().prop_map(Authority::Rule), seq().prop_map(Authority::Approval),];
    let started = (call(), any::<u32>(), effect, shared(), authority, of(shared())).prop_map(
        |(call, attempt, effect, effect_key, authority, arguments)| {
            ToolStarted { call, attempt, effect, effect_key, authority, arguments }.into()
        },
    );
    let status = select(vec![Status::Success, Status::Failed, Status::Skipped, Status::Unknown]);
    let (result, attachments) = (vec(section(), 0..3), vec(attachment(), 0..2));
    let warnings = vec(text(), 0..2);
    let finished =
        (call(), shared(), status, result, attachments, any::<u64>(), warnings, of(text()))
            .prop_map(|(call, name, status, result, attachments, elapsed_ms, warnings, error)| {
                ToolFinished {
                    call,
                    name,
                    status,
                    result,
                    attachments,
                    elapsed_ms,
                    warnings,
                    error,
                }
                .into()
            });
    let answer = || select(vec![Answer::Allow, Answer::Deny]);
    let approver = prop_oneof![
        of(shared()).prop_map(|name| Approver::Person { name }),
        Just(Approver::Timer),
        Just(Approver::NewMessage),
    ];
    let verdict = select(vec![Verdict::Allow, Verdict::Ask, Verdict::Deny]);
    prop_oneof![
        (seq(), vec(seq(), 0..4), of(text())).prop_map(|(output, results, execute_error)| {
            ToolResults { output, results, execute_error }.into()
        }),
        started,
        finished,
        (call(), digest(), timestamp(), answer()).prop_map(|(call, digest, until, default)| {
            ApprovalAsked { call, digest, until, default }.into()
        }),
        (call(), digest(), answer(), approver).prop_map(|(call, digest, answer, by)| {
            ApprovalGiven { call, digest, answer, by }.into()
        }),
        (shared(), of(shared()), verdict).prop_map(|(tool, arguments, verdict)| {
            PolicySet { tool, arguments, verdict }.into()
        }),
        (shared(), shared(), of(call()))
            .prop_map(|(widget, change, call)| { WidgetChanged { widget, change, call }.into() }),
        (call(), agent(), select(vec![CallMode::Ask, CallMode::Send]))
            .prop_map(|(call, child, mode)| AgentCalled { call, child, mode }.into()),
        (call(), agent(), seq()).prop_map(|(call, child, ended)| AgentReturned {
            call,
            child,
            ended
        }
        .into()),
    ]
    .boxed()
}

fn about_course() -> BoxedStrategy<Fact> {
    let limits =
        [Limit::Steps, Limit::Calls, Limit::SameCall, Limit::Tokens, Limit::Money, Limit::Depth];
    let mut reasons = limits.map(EndReason::Limit).to_vec();
    reasons.extend([
        EndReason::Cancelled,
        EndReason::Failed,
        EndReason::DoesNotFit,
        EndReason::Withdrawn,
    ]);
    let spent = || (of(usage()), of(money()));
    let recap = (seq(), seq(), of(shared()), vec(text(), 0..2), vec(text(), 0..2), spent())
        .prop_map(|(from, to, text, hints, dropped, (usage, cost))| {
            let asked = !hints.is_empty();
            Recap { from, to, text, hints, asked, dropped, usage, cost }.into()
        });
    let conversation = uuid().prop_map(ConversationId);
    prop_oneof![
        (timestamp(), of(any::<u64>()), of(call()), shared()).prop_map(
            |(when, every_ms, call, text)| { TimerSet { when, every_ms, call, text }.into() }
        ),
        seq().prop_map(|timer| TimerCleared { timer }.into()),
        (select(reasons), text(), of(shared())).prop_map(|(reason, detail, by)| TurnEnded {
            reason,
            detail,
            by
        }
        .into()),
        recap,
        (seq(), any::<bool>()).prop_map(|(seq, on)| Pinned { seq, on }.into()),
        (of(shared()), of(vec(shared(), 0..3)), of(any::<bool>()), spent()).prop_map(
            |(title, labels, archived, (usage, cost))| {
                Described { title, labels, archived, usage, cost }.into()
            }
        ),
        seq().prop_map(|to| Rewound { to }.into()),
        (conversation, seq(), digest())
            .prop_map(|(from, seq, hash)| Forked { from, seq, hash }.into()),
        of(shared()).prop_map(|to| Moved { to }.into()),
        (shared(), of(any::<u64>()), of(any::<u64>()))
            .prop_map(|(path, device, inode)| WorkspaceSet { path, device, inode }.into()),
        (call(), shared(), of(digest()), of(digest()), of(attachment())).prop_map(
            |(call, path, before, after, content)| {
                FileChanged { call, path, before, after, content }.into()
            }
        ),
        Just(AuthorityReset {}.into()),
        (shared(), shared()).prop_map(|(category, text)| Note { category, text }.into()),
        ("x_[a-z]{1,8}", vec(any::<u8>(), 0..24))
            .prop_map(|(kind, body)| Fact::Unrecognised(Unrecognised { kind, body })),
    ]
    .boxed()
}

/// Any block of an output.
pub(crate) fn block() -> BoxedStrategy<Block> {
    prop_oneof![
        (shared(), of(shared()))
            .prop_map(|(text, state)| Block::Thinking(ThinkingBlock { text, state })),
        (shared(), of(shared())).prop_map(|(text, state)| Block::Text(Text { text, state })),
        (shared(), shared(), of(shared()), of(shared()), any::<bool>(), of(shared())).prop_map(
            |(name, arguments, repaired, provider_id, complete, state)| {
                Block::ToolCall(ToolCall {
                    name,
                    arguments,
                    repaired,
                    provider_id,
                    complete,
                    state,
                })
            }
        ),
        (shared(), shared(), shared()).prop_map(|(kind, text, state)| Block::Foreign(Foreign {
            kind,
            text,
            state
        })),
    ]
    .boxed()
}

/// Any invocation.
pub(crate) fn invocation() -> impl Strategy<Value = Invocation> {
    (shared(), shared(), of(shared()), shared(), shared()).prop_map(
        |(provider, endpoint, account, dialect, model)| Invocation {
            provider,
            endpoint,
            account,
            dialect,
            model,
        },
    )
}

fn usage() -> impl Strategy<Value = Usage> {
    let some = || of(any::<u64>());
    (any::<u64>(), any::<u64>(), some(), some(), some(), any::<bool>()).prop_map(
        |(input, output, cached_input, cache_write, reasoning, estimated)| Usage {
            input,
            output,
            cached_input,
            cache_write,
            reasoning,
            estimated,
        },
    )
}

fn thinking() -> impl Strategy<Value = Thinking> {
    prop_oneof![
        Just(Thinking::Off),
        Just(Thinking::Adaptive),
        Just(Thinking::Low),
        Just(Thinking::Medium),
        Just(Thinking::High),
        any::<u32>().prop_map(|tokens| Thinking::Budget { tokens }),
    ]
}

/// Any attachment.
pub(crate) fn attachment() -> impl Strategy<Value = Attachment> {
    (digest(), any::<u64>(), shared(), of(shared()), of(extent())).prop_map(
        |(digest, size, media_type, name, extent)| Attachment {
            digest,
            size,
            media_type,
            name,
            extent,
        },
    )
}

fn extent() -> impl Strategy<Value = Extent> {
    prop_oneof![
        any::<(u32, u32)>().prop_map(|(width, height)| Extent::Pixels { width, height }),
        any::<u32>().prop_map(Extent::Pages),
    ]
}

fn shorter() -> impl Strategy<Value = Shorter> {
    prop_oneof![
        Just(Shorter::Same),
        (0..40_u32, 0..40_u32).prop_map(|(head, tail)| Shorter::Cut { head, tail }),
        (any::<u32>(), any::<u32>()).prop_map(|(head, tail)| Shorter::Cut { head, tail }),
        shared().prop_map(Shorter::Own),
    ]
}

fn metadata() -> impl Strategy<Value = Metadata> {
    let value = prop_oneof![
        any::<bool>().prop_map(Value::Flag),
        any::<i64>().prop_map(Value::Number),
        text().prop_map(Value::Text),
    ];
    vec(("[a-z][a-z0-9_]{0,8}", value), 0..4).prop_map(|values| Metadata::checked(values).unwrap())
}

/// Any text, shared.
pub(crate) fn shared() -> impl Strategy<Value = Arc<str>> {
    text().prop_map(Arc::from)
}

fn uuid() -> impl Strategy<Value = Uuid> {
    any::<u128>().prop_map(Uuid::from_u128)
}

fn digest() -> impl Strategy<Value = Digest> {
    any::<[u8; 32]>().prop_map(Digest)
}

fn timestamp() -> impl Strategy<Value = Timestamp> {
    any::<i64>().prop_map(Timestamp::from_micros)
}

/// Any place.
pub(crate) fn seq() -> impl Strategy<Value = Seq> {
    any::<u64>().prop_map(Seq)
}

fn agent() -> impl Strategy<Value = AgentId> {
    any::<u32>().prop_map(AgentId)
}

/// Any call.
pub(crate) fn call() -> impl Strategy<Value = CallId> {
    (seq(), any::<u32>()).prop_map(|(output, index)| CallId::new(output, index))
}

fn money() -> impl Strategy<Value = Money> {
    any::<u64>().prop_map(Money)
}
