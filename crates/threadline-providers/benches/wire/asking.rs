//! Asking the server through `Wired`, as the runtime does.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::StreamExt as _;
use threadline_core::context::{Body, Context, InputPart, Part, Source, System};
use threadline_core::history::fact::{CallOptions, Invocation, Purpose};
use threadline_core::history::sections::Level;
use threadline_core::id::Seq;
use threadline_core::provider::{
    AnswerForm, Assembler, Delta, Profile, Progress, Provider as _, Request, Target, ToolChoice,
};
use threadline_core::tool::Catalogue;
use threadline_providers::access::Access;
use threadline_providers::dialect::Dialect;
use threadline_providers::http::{Http, Timeouts};
use threadline_providers::quirks::Quirks;
use threadline_providers::wired::Wired;
use threadline_testing::bench::Outcome;

/// A provider and what it is asked.
pub(crate) struct Asking {
    wired: Wired,
    request: Request,
}

impl Asking {
    /// Asks under this base URL, over connections of its own.
    pub(crate) fn new(base: &str) -> Outcome<Self> {
        let http = Http::new(Timeouts::default()).map_err(|failed| failed.message)?;
        let access = Access {
            dialect: Dialect::OpenAiChat,
            url: format!("{base}/chat/completions"),
            headers: Vec::new(),
            key: None,
            quirks: Quirks::default(),
        };
        let accesses = BTreeMap::from([(Arc::from("test"), Arc::new(access))]);
        Ok(Self { wired: Wired::new(http, accesses, None), request: request() })
    }

    /// One answer, put together as it comes; `begun` is told when its first piece is there. The
    /// pieces that came, and their bytes.
    pub(crate) async fn ask(&self, begun: impl FnOnce()) -> Outcome<(usize, usize)> {
        let mut stream = self.wired.invoke(self.request.clone());
        let mut assembler = Assembler::default();
        let (mut pieces, mut bytes) = (0, 0);
        let mut begun = Some(begun);
        let mut progress = Progress::More;
        while let Some(delta) = stream.next().await {
            let delta = delta?;
            progress = assembler.push(&delta)?;
            if let Delta::Fragment { text, .. } = &delta {
                pieces += 1;
                bytes += text.len();
                if let Some(begun) = begun.take() {
                    begun();
                }
            }
        }
        if progress != Progress::Finished {
            return Err("an answer broke off".into());
        }
        drop(assembler.finish());
        Ok((pieces, bytes))
    }
}

fn request() -> Request {
    let text = "Tell me of the lighthouse, in a few words.".into();
    let input = InputPart { text, attachments: Vec::new(), screen: None };
    let body = Body::Input(input);
    let part = Part { source: Source::Entry(Seq(1)), level: Level::Live, tokens: 0, body };
    let system = System { text: "You are concise.".into(), ..System::default() };
    Request {
        target: Arc::new(Target {
            name: "test".into(),
            invocation: Invocation {
                provider: "test".into(),
                endpoint: "here".into(),
                account: None,
                dialect: Dialect::OpenAiChat.name().into(),
                model: "test".into(),
            },
            profile: Profile::unknown(),
            unusable: None,
        }),
        purpose: Purpose::Step,
        context: Arc::new(Context { system, parts: vec![part] }),
        media: BTreeMap::new(),
        catalogue: Arc::new(Catalogue::default()),
        choice: ToolChoice::Free,
        form: AnswerForm::Text,
        options: CallOptions::default(),
        cache_key: None,
    }
}
