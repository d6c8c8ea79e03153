//! What a model said goes back to it, and to the others: whatever it was, a request is made of it.

use std::sync::Arc;

use threadline_core::context::{Body, Context, InputPart, OutputPart, Part, Source, System};
use threadline_core::history::fact::{Block, CallOptions, Invocation, Stop};
use threadline_core::history::sections::Level;
use threadline_core::id::Seq;
use threadline_core::provider::{Profile, Request, Target};
use threadline_core::tool::Catalogue;
use threadline_providers::dialect::{Dialect, encode};
use threadline_providers::quirks::{Quirks, ThinkingBack};

/// Sends blocks that came in one dialect to a model of each, the one they came from too.
///
/// # Panics
///
/// If a body is no JSON, or is another one the second time.
pub(crate) fn send(from: Dialect, blocks: Vec<Block>) {
    let output = OutputPart { invocation: invocation(from), blocks, stop: Stop::Done };
    let parts = [input(1), Body::Output(output), input(3)];
    let parts = parts.into_iter().zip(1..).map(|(body, seq)| Part {
        source: Source::Entry(Seq(seq)),
        level: Level::Live,
        tokens: 0,
        body,
    });
    let context = Arc::new(Context { system: System::default(), parts: parts.collect() });
    let quirks = Quirks { thinking_back: ThinkingBack::ReasoningDetails, ..Quirks::default() };
    for to in Dialect::ALL {
        let target = Target {
            name: "fuzz".into(),
            invocation: invocation(to),
            profile: Profile::unknown(),
            unusable: None,
        };
        let mut request =
            Request::recap(Arc::new(target), Arc::clone(&context), CallOptions::default());
        request.catalogue = Arc::new(Catalogue::default());
        let body = encode(to, &request, &quirks).body;
        let read = serde_json::from_slice::<serde_json::Value>(&body);
        assert!(read.is_ok(), "{}", String::from_utf8_lossy(&body));
        assert!(body == encode(to, &request, &quirks).body, "the same request is the same body");
    }
}

fn input(number: u64) -> Body {
    let text = format!("question {number}").into();
    Body::Input(InputPart { text, attachments: Vec::new(), screen: None })
}

fn invocation(dialect: Dialect) -> Invocation {
    Invocation {
        provider: "fuzz".into(),
        endpoint: "here".into(),
        account: None,
        dialect: dialect.name().into(),
        model: "fuzz".into(),
    }
}
