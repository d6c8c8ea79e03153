//! A server that cuts a prompt and says nothing: found by what it reports to have read.

use crate::context::{Body, Context, Part};
use crate::history::fact::{Block, Usage};

/// A prompt was cut if less than this share of it was read, in percent, and so much is missing.
const READ_PERCENT: u128 = 60;
const MISSING_TOKENS: u64 = 1_000;
/// No window is as small as this: a server that reports less leaves out what it had in a cache.
const LEAST_READ_TOKENS: u64 = 512;

/// The tokens that a request takes at the least, by a model's own count, whoever encodes it.
///
/// What an encoder may leave out or shrink is not in it: media, thoughts, what only another
/// provider understands, and the tools.
pub(super) fn least_sent(context: &Context, factor_percent: u32) -> u64 {
    let parts = context.parts.iter().filter(|part| is_sent_whole(part));
    let tokens = parts.map(|part| u128::from(part.tokens)).sum::<u128>();
    let tokens = tokens + u128::from(context.system.tokens);
    u64::try_from(tokens * u128::from(factor_percent) / 100).unwrap_or(u64::MAX)
}

fn is_sent_whole(part: &Part) -> bool {
    match &part.body {
        Body::Input(input) => input.attachments.is_empty(),
        Body::Output(output) => output.blocks.iter().all(|block| match block {
            Block::Text(_) | Block::ToolCall(_) => true,
            Block::Thinking(_) | Block::Foreign(_) => false,
        }),
        Body::Results(results) => results.results.iter().all(|one| one.attachments.is_empty()),
    }
}

/// Whether an answer was made from a part of what was sent, by what was reported to be read.
///
/// Nothing can be told where nothing was reported, or where what came from a cache is left out.
pub(super) fn is_cut(sent_tokens: u64, usage: &Usage) -> bool {
    let read = usage.input;
    let cached_is_in = usage.cached_input.is_none_or(|cached| cached <= read);
    read >= LEAST_READ_TOKENS
        && cached_is_in
        && u128::from(read) * 100 < u128::from(sent_tokens) * READ_PERCENT
        && sent_tokens - read >= MISSING_TOKENS
}

/// What people are told of a cut prompt.
pub(super) fn words(sent_tokens: u64, read_tokens: u64) -> String {
    format!(
        "only {read_tokens} of about {sent_tokens} tokens were read: the server cut the prompt \
         without saying so; let it read more, or set window_tokens of this model to \
         {read_tokens}"
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::context::{InputPart, Level, OutputPart, Source, System};
    use crate::history::fact::{Attachment, Digest, Invocation, Stop, ThinkingBlock};
    use crate::id::Seq;

    fn usage(input: u64, cached_input: Option<u64>) -> Usage {
        Usage { input, cached_input, ..Usage::default() }
    }

    #[test]
    fn much_less_read_than_sent_is_a_cut() {
        for (sent, read, cached, cut) in [
            (10_000, 4_096, None, true),
            (10_000, 5_999, None, true),
            (10_000, 6_000, None, false),
            (10_000, 12_000, None, false),
            // Nothing was reported.
            (10_000, 0, None, false),
            // A report without what was cached says nothing; one with it does.
            (10_000, 2_000, Some(8_000), false),
            (10_000, 4_000, Some(3_000), true),
            (10_000, 200, None, false),
            // Too little is missing to tell.
            (1_500, 600, None, false),
            (1_700, 700, None, true),
            (0, 600, None, false),
            (u64::MAX, 1_000, None, true),
            (u64::MAX, u64::MAX, None, false),
        ] {
            assert_eq!(is_cut(sent, &usage(read, cached)), cut, "{read} of {sent}, {cached:?}");
        }
    }

    fn part(tokens: u32, body: Body) -> Part {
        Part { source: Source::Entry(Seq(1)), level: Level::Live, tokens, body }
    }

    fn input(attachments: Vec<Attachment>) -> Body {
        Body::Input(InputPart { text: "hi".into(), attachments, screen: None })
    }

    #[test]
    fn what_may_be_left_out_does_not_count_as_sent() {
        let image = Attachment {
            digest: Digest::of(b"image"),
            size: 5,
            media_type: "image/png".into(),
            name: None,
            extent: None,
        };
        let thought = Body::Output(OutputPart {
            invocation: Invocation {
                provider: "p".into(),
                endpoint: "e".into(),
                account: None,
                dialect: "d".into(),
                model: "m".into(),
            },
            blocks: vec![Block::Thinking(ThinkingBlock { text: "hm".into(), state: None })],
            stop: Stop::Done,
        });
        let context = Context {
            system: System { entry: None, text: Arc::from("be brief"), tokens: 10 },
            parts: vec![
                part(1_000, input(vec![image])),
                part(100, input(Vec::new())),
                part(5_000, thought),
            ],
        };
        assert_eq!(least_sent(&context, 100), 110);
        assert_eq!(least_sent(&context, 150), 165);
    }

    #[test]
    fn the_words_name_both_numbers_and_the_setting() {
        let words = words(10_000, 4_096);
        for word in ["4096", "10000", "window_tokens"] {
            assert!(words.contains(word), "{words}");
        }
    }
}
