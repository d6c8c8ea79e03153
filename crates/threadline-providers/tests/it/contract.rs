//! The contract of dialects: every one of them passes the common suite.

mod anthropic;
mod gemini;
mod openai_chat;
mod openai_responses;

use threadline_core::history::fact::Invocation;
use threadline_core::provider::{Delta, Request};
use threadline_providers::dialect::{Dialect, decoder, encode};
use threadline_providers::failed::Failed;
use threadline_providers::names::Names;
use threadline_providers::quirks::{Quirks, ThinkingBack};
use threadline_providers::sse::{Event, Frame, Sse, TooLarge};
use threadline_testing::provider_suite::{Beat, Heard, Skip, Voice, answers, requests};

/// The events of a story in a dialect, or why it cannot be said.
type Tell = fn(&[Beat]) -> Result<Vec<String>, &'static str>;

/// A dialect under test.
struct Speaker {
    dialect: Dialect,
    tell: Tell,
}

const SPEAKERS: [Speaker; 4] = [
    Speaker { dialect: Dialect::OpenAiChat, tell: openai_chat::tell },
    Speaker { dialect: Dialect::OpenAiResponses, tell: |story| Ok(openai_responses::tell(story)) },
    Speaker { dialect: Dialect::Anthropic, tell: anthropic::tell },
    Speaker { dialect: Dialect::Gemini, tell: gemini::tell },
];

/// All that cannot be said. A line more is a promise less: it needs its reason.
const SKIPS: [(&str, &str, &str); 7] = [
    ("openai-chat", "an unknown block", openai_chat::NO_BLOCKS),
    ("anthropic", "a text that is filtered", anthropic::NO_FILTER),
    ("gemini", "calls that are mixed", gemini::WHOLE_CALLS),
    ("gemini", "broken arguments", gemini::OBJECTS),
    ("gemini", "a thought that is not shown", gemini::SIGNED_PARTS),
    ("openai-chat", "an unknown block goes back", openai_chat::NO_BLOCKS),
    ("openai-responses", "an unknown block goes back", openai_responses::KNOWN_ITEMS),
];

#[test]
fn every_dialect_keeps_the_contract() {
    let mut skips: Vec<Skip> = SPEAKERS.iter().flat_map(|speaker| answers(speaker)).collect();
    let voices = SPEAKERS.iter().map(|speaker| speaker as &dyn Voice).collect::<Vec<_>>();
    skips.extend(requests(&voices));
    let known = SKIPS.map(|(dialect, story, why)| Skip { dialect: dialect.into(), story, why });
    assert_eq!(skips, known);
}

impl Voice for Speaker {
    fn invocation(&self) -> Invocation {
        let name = self.dialect.name();
        Invocation {
            provider: name.into(),
            endpoint: "here".into(),
            account: None,
            dialect: name.into(),
            model: "model".into(),
        }
    }

    fn tell(&self, story: &[Beat]) -> Result<Vec<String>, &'static str> {
        (self.tell)(story)
    }

    fn read(&self, chunks: &[&[u8]]) -> Heard {
        let mut deltas = Vec::new();
        let failed = self.deltas(chunks, &mut deltas).err().map(|failed| failed.kind);
        Heard { deltas, failed }
    }

    fn takes_unknown_back(&self) -> Result<(), &'static str> {
        match self.dialect {
            Dialect::OpenAiChat | Dialect::Anthropic | Dialect::Gemini => Ok(()),
            Dialect::OpenAiResponses => Err(openai_responses::KNOWN_ITEMS),
        }
    }

    fn encode(&self, request: &Request) -> Vec<u8> {
        let quirks = Quirks { thinking_back: ThinkingBack::ReasoningDetails, ..Quirks::default() };
        encode(self.dialect, request, &quirks).body
    }
}

impl Speaker {
    /// As whoever reads an answer does: nothing is read after its end, and nothing after a failure.
    fn deltas(&self, chunks: &[&[u8]], deltas: &mut Vec<Delta>) -> Result<(), Failed> {
        let mut decode = decoder(self.dialect, Names::default());
        let mut sse = Sse::default();
        let mut each = |frame: Frame<'_>| {
            let (Frame::Event(Event { data, .. }) | Frame::Cut(Event { data, .. })) = frame else {
                return Ok(());
            };
            if is_over(deltas) { Ok(()) } else { decode.event(data, deltas).map_err(Stopped::By) }
        };
        let mut read = chunks.iter().try_for_each(|chunk| sse.push(chunk, &mut each));
        if read.is_ok() {
            read = sse.end(&mut each);
        }
        match read {
            Ok(()) if is_over(deltas) => Ok(()),
            Ok(()) => decode.end(deltas),
            Err(Stopped::By(failed)) => Err(failed),
            Err(Stopped::TooLarge(error)) => panic!("{error}"),
        }
    }
}

fn is_over(deltas: &[Delta]) -> bool {
    matches!(deltas.last(), Some(Delta::Finished { .. }))
}

/// Why a stream was not read on.
enum Stopped {
    By(Failed),
    TooLarge(TooLarge),
}

impl From<TooLarge> for Stopped {
    fn from(error: TooLarge) -> Self {
        Self::TooLarge(error)
    }
}
