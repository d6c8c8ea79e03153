//! A conversation with the served model, and what was seen of each of its turns.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;
use threadline::core::drive::Notice;
use threadline::core::history::entry::Entry;
use threadline::core::history::fact::{CallOptions, Fact, Input, Output};
use threadline::core::id::{ConversationId, Seq};
use threadline::core::inbox::Body;
use threadline::core::provider::{Delta, Target};
use threadline::core::store::verify::{Depth, verify};
use threadline::core::tokens::O200k;
use threadline::core::tool::Tool;
use threadline::providers::access::Access;
use threadline::providers::dialect::Dialect;
use threadline::providers::endpoint::Endpoint;
use threadline::providers::http::{Http, Timeouts};
use threadline::providers::models::StaticModels;
use threadline::providers::profile::{Description, describe};
use threadline::providers::wired::Wired;
use threadline::runtime::{News, Runtime, Watcher};
use threadline::{Setup, item, sqlite};

use crate::server::Server;

/// The dialects that the server speaks.
pub(crate) const DIALECTS: [Dialect; 3] =
    [Dialect::OpenAiChat, Dialect::OpenAiResponses, Dialect::Anthropic];
/// The model's tokens for 100 of ours, in plain English.
pub(crate) const FACTOR_PERCENT: u32 = 110;
/// Who the model is told to be.
const INSTRUCTION: &str = "You are a helpful assistant.";

/// A conversation with the served model.
pub(crate) struct Talk {
    pub(crate) runtime: Runtime,
    pub(crate) id: ConversationId,
    watcher: Watcher,
    _folder: Option<TempDir>,
}

/// What was seen of a turn.
#[derive(Default)]
pub(crate) struct Turn {
    pub(crate) entries: Vec<Arc<Entry>>,
    pub(crate) deltas: Vec<Delta>,
}

/// The parts of a runtime over a file: the served model, a target for each dialect.
pub(crate) fn setup(server: &Server, window_tokens: u64, file: &Path) -> Setup {
    let endpoint = Endpoint {
        base_url: server.base_url(),
        dialects: DIALECTS.to_vec(),
        ..Endpoint::usual("llama.cpp").unwrap()
    };
    let own = Description {
        window_tokens: Some(window_tokens),
        factor_percent: Some(FACTOR_PERCENT),
        ..Description::default()
    };
    let (mut targets, mut accesses) = (Vec::new(), BTreeMap::new());
    for dialect in DIALECTS {
        let described = describe(&endpoint, dialect, "smollm2", &own).unwrap();
        let name: Arc<str> = dialect.name().into();
        targets.push(Target {
            name: Arc::clone(&name),
            invocation: endpoint.invocation(dialect, "smollm2"),
            profile: described.profile,
            unusable: None,
        });
        let access = Access {
            dialect,
            url: endpoint.url(dialect, "smollm2"),
            headers: Vec::new(),
            key: None,
            quirks: described.quirks,
        };
        accesses.insert(name, Arc::new(access));
    }
    let mut setup = Setup::offline(sqlite(file).unwrap());
    let http = Http::new(Timeouts::default()).unwrap();
    setup.provider = Arc::new(Wired::new(http, accesses, None));
    setup.models = Arc::new(StaticModels::new(targets));
    (setup.tools, setup.widgets) = (Vec::new(), Vec::new());
    setup.limits.recaps = false;
    // One more than a tighter plan needs: all else that fails is a bug.
    setup.limits.attempts = 2;
    setup.limits.steps = 4;
    setup
}

/// Short answers, the same every time.
pub(crate) fn options(max_output_tokens: u32) -> CallOptions {
    CallOptions {
        max_output_tokens: Some(max_output_tokens),
        temperature_thousandths: Some(0),
        ..CallOptions::default()
    }
}

impl Talk {
    /// A new conversation with an agent that has these tools and answers at most so much.
    pub(crate) async fn begin(
        server: &Server,
        tools: Vec<Arc<dyn Tool>>,
        max_output_tokens: u32,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("live.db");
        let mut setup = setup(server, crate::server::CONTEXT_TOKENS, &file);
        setup.tools = tools;
        let mut assistant = setup.assistant(INSTRUCTION);
        assistant.joined.options = options(max_output_tokens);
        let runtime = setup.runtime().unwrap();
        let id = runtime.create(&[assistant]).await.unwrap();
        Self { _folder: Some(folder), ..Self::go_on(runtime, id, Seq::ZERO) }
    }

    /// A conversation that is there, after an entry.
    pub(crate) fn go_on(runtime: Runtime, id: ConversationId, after: Seq) -> Self {
        let watcher = runtime.watch(id, after);
        Self { runtime, id, watcher, _folder: None }
    }

    /// Says something in a dialect, and sees the turn to its end.
    pub(crate) async fn say(&mut self, dialect: Dialect, text: &str) -> Turn {
        self.submit(dialect, text).await;
        let mut turn = Turn::default();
        while !turn.is_over() {
            self.see(&mut turn).await;
        }
        turn
    }

    /// Says something in a dialect.
    pub(crate) async fn submit(&self, dialect: Dialect, text: &str) {
        let route = Some(dialect.name().into());
        let input = Input { route, ..Input::from_person(text) };
        self.runtime.submit(self.id, &item(Body::Input(input))).await.unwrap();
    }

    /// Sees one thing more.
    pub(crate) async fn see(&mut self, turn: &mut Turn) {
        match self.watcher.next().await.unwrap() {
            News::Notice(Notice::Entry(entry)) => turn.entries.push(entry),
            News::Notice(Notice::Delta { delta, .. }) => turn.deltas.push(delta),
            News::Notice(Notice::State { .. } | Notice::Stalled(_)) | News::Progress { .. } => {}
        }
    }

    /// Ends the driving, and looks whether all that is stored is true.
    pub(crate) async fn end(self) {
        self.runtime.stop().await;
        let store = &*self.runtime.world().store;
        let counter = Arc::new(O200k);
        let report = verify(store, self.id, Depth::Deep, counter, &mut |_| {}).await.unwrap();
        assert!(report.is_sound(), "{:?}", report.findings);
        assert_eq!(report.unrecognised, 0);
    }
}

impl Turn {
    fn is_over(&self) -> bool {
        self.entries.last().is_some_and(|last| match &last.fact {
            Fact::Output(output) => output.calls().next().is_none(),
            Fact::TurnEnded(_) => true,
            _ => false,
        })
    }

    /// What was recorded, kind by kind, from the input on.
    pub(crate) fn kinds(&self) -> Vec<&str> {
        let kinds = self.entries.iter().map(|entry| entry.fact.kind());
        kinds.skip_while(|kind| *kind != "input").collect()
    }

    /// The answers, in order.
    pub(crate) fn outputs(&self) -> Vec<&Output> {
        let outputs = self.entries.iter().filter_map(|entry| match &entry.fact {
            Fact::Output(output) => Some(output),
            _ => None,
        });
        outputs.collect()
    }

    /// The pieces of text that streamed, in order.
    pub(crate) fn fragments(&self) -> Vec<&str> {
        let fragments = self.deltas.iter().filter_map(|delta| match delta {
            Delta::Fragment { text, .. } => Some(&**text),
            _ => None,
        });
        fragments.collect()
    }
}
