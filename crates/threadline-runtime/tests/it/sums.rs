//! What is known of a conversation and its agents without reading it, after each write: where one
//! agent answers, and where one asks another.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use insta::assert_snapshot;
use threadline_core::clock::{Clock, Timestamp};
use threadline_core::drive::Limits;
use threadline_core::history::fact::{AgentJoined, Input};
use threadline_core::id::{Seq, TenantId};
use threadline_core::inbox::{Body, Mode};
use threadline_core::provider::{DeltaStream, Provider, Request};
use threadline_core::store::{Filter, Listing, Sort, Storage};
use threadline_providers::models::StaticModels;
use threadline_providers::scripted::Scripted;
use threadline_runtime::{NewAgent, Pace, Runtime};
use threadline_stores::memory::MemoryStore;
use threadline_stores::sqlite::{Durability, SqliteOptions, SqliteStore};
use threadline_testing::clock::ManualClock;
use threadline_testing::crashing_store::{Fault, Faults};
use threadline_testing::ids::SeededIds;

use crate::house::{Effects, item, world_of};

/// A model that takes a second to answer.
struct Slow {
    scripted: Scripted,
    clock: Arc<ManualClock>,
}

impl Provider for Slow {
    fn invoke(&self, request: Request) -> DeltaStream {
        self.clock.advance_ms(1_000);
        self.scripted.invoke(request)
    }
}

/// A conversation in which a person says something, once or more often.
struct Scenario {
    agents: &'static [&'static str],
    script: &'static str,
    says: &'static [&'static str],
}

impl Scenario {
    /// What is known after each write that changes it; a file knows the same, where it is asked.
    async fn told(&self) -> String {
        let in_memory = self.told_by(1, |clock, _| {
            let (clock, ids) = (Arc::clone(clock), Arc::new(SeededIds::new(1)));
            Arc::new(MemoryStore::new(TenantId::NIL, "test".to_owned(), clock, ids))
        });
        let on_file = self.told_by(6, |clock, folder| {
            let options = SqliteOptions {
                path: folder.join("store.db"),
                tenant: TenantId::NIL,
                owner: "test".to_owned(),
                clock: Arc::clone(clock) as Arc<dyn Clock>,
                ids: Arc::new(SeededIds::new(1)),
                vfs: None,
                durability: Durability::Full,
            };
            Arc::new(SqliteStore::open(options).unwrap())
        });
        let (in_memory, on_file) = (in_memory.await, on_file.await);
        for (head, known) in on_file {
            assert_eq!(in_memory.get(&head), Some(&known), "at entry {head}");
        }
        let mut told: Vec<String> = in_memory.into_values().collect();
        told.dedup();
        told.join("\n")
    }

    /// What is known after one of so many writes, by the newest entry.
    async fn told_by(
        &self,
        one_of: usize,
        store: impl Fn(&Arc<ManualClock>, &Path) -> Arc<dyn Storage>,
    ) -> BTreeMap<Seq, String> {
        let mut told = BTreeMap::new();
        for nth in (1..).step_by(one_of) {
            let folder = tempfile::tempdir().unwrap();
            let clock = Arc::new(ManualClock::new());
            let store = store(&clock, folder.path());
            let over = self.play(&store, &clock, nth).await;
            let (head, known) = known(&*store).await;
            told.insert(head, known);
            if over {
                break;
            }
        }
        told
    }

    /// Plays it until its n-th write is done; tells whether there was none.
    async fn play(&self, store: &Arc<dyn Storage>, clock: &Arc<ManualClock>, nth: u64) -> bool {
        let crashing = Arc::new(Faults::at(Arc::clone(store), nth, Fault::DiesAfter));
        let scripted = Scripted::new(self.script.parse().unwrap());
        let slow = Slow { scripted, clock: Arc::clone(clock) };
        let asked = (Arc::new(slow) as _, Arc::new(StaticModels::new([Scripted::target()])) as _);
        let limits = Limits::default();
        let storage = Arc::clone(&crashing) as Arc<dyn Storage>;
        // Nothing goes by the time that passes: every life has the same writes.
        let pace = Pace { linger_ms: 600_000, stop_ms: 200, ..Pace::default() };
        let world = world_of(asked, &storage, clock, &Effects::default(), limits);
        let runtime = Runtime::new(world.with_pace(pace));
        let played = async {
            let agents: Vec<NewAgent> = self.agents.iter().map(|name| agent(name)).collect();
            let id = runtime.create(&agents).await.unwrap();
            for (turn, text) in self.says.iter().enumerate() {
                let body = Body::Input(Input::from_person(*text));
                let item = item(&turn.to_string(), Mode::Queue, body);
                runtime.submit(id, &item).await.unwrap();
                runtime.settled(id).await;
            }
            runtime.stop().await;
        };
        tokio::select! {
            biased;
            () = crashing.0.died() => false,
            () = played => true,
        }
    }
}

fn agent(name: &str) -> NewAgent {
    let tools = ["call_agent", "read"];
    let joined = AgentJoined {
        name: name.into(),
        tools: tools.into_iter().map(Arc::from).collect(),
        primary: name == "A",
        ..AgentJoined::default()
    };
    NewAgent { joined, instruction: None }
}

/// What a store knows of its conversation without reading it.
async fn known(store: &dyn Storage) -> (Seq, String) {
    let (filter, sort) = (Filter::default(), Sort::default());
    let listing = Listing { filter, sort, after: None, most: 10 };
    let listed = store.list(&listing).await.unwrap();
    let [conversation] = &listed[..] else { panic!("{listed:?}") };
    let sums = &conversation.sums;
    let mut text = format!("{} messages, {}", sums.messages, sums.state.name());
    if let Some(last) = &sums.last_message {
        write!(text, ", {:?} {}: {}", last.kind, time(last.at), last.text).unwrap();
    }
    for agent in store.agents(conversation.id).await.unwrap() {
        let Some((kind, at)) = agent.last_interaction else { continue };
        let (name, many, doing) = (&agent.name, agent.interactions, &agent.state_description);
        write!(text, "\n  {name}: {many}, {kind:?} {}: {doing}", time(at)).unwrap();
    }
    (conversation.head, text)
}

fn time(at: Timestamp) -> String {
    at.to_string()[11..19].to_owned()
}

#[tokio::test]
async fn one_agent_answers() {
    let scenario = Scenario {
        agents: &["A"],
        script: r#"
            turn when 北京
              say 北京今天晴天，温度25°C
            turn when "each of"
              call read {"do":"Beijing"}
            then
              say Let me see once more.
              call read {"do":"Shanghai"}
            then
              say In the order in which you named them: sunny and rainy.
            turn when why
              fail unauthorised no key
        "#,
        says: &[
            "帮我查北京天气",
            "And how will it be tomorrow, in each of the cities that I named?",
            "why?",
        ],
    };
    assert_snapshot!(scenario.told().await, @r"
    0 messages, resting
    1 messages, working, Input 00:00:00: 帮我查北京天气
      A: 1, Input 00:00:00: input: 帮我查北京天气
    2 messages, resting, Answer 00:00:01: 北京今天晴天，温度25°C
      A: 2, Output 00:00:01: input: 帮我查北京天气 | output: 北京今天晴天，温度25°C
    3 messages, working, Input 00:00:01: And how will it be tomorrow, in each of the cities that I named?
      A: 3, Input 00:00:01: input: And how will it be tomorrow, in each of the cities …
    3 messages, working, Input 00:00:01: And how will it be tomorrow, in each of the cities that I named?
      A: 4, Output 00:00:02: input: And how will it be tomorrow, in each of the cities … | tool: read
    3 messages, working, Input 00:00:01: And how will it be tomorrow, in each of the cities that I named?
      A: 5, Output 00:00:03: input: And how will it be tomorrow, in each of the cities … | tool: read (×2) | output: Let me see once more.
    4 messages, resting, Answer 00:00:04: In the order in which you named them: sunny and rainy.
      A: 6, Output 00:00:04: input: And how will it be tomorrow, in each of the cities … | tool: read (×2) | output: In the order in which you named them: sunny and ra…
    5 messages, working, Input 00:00:04: why?
      A: 7, Input 00:00:04: input: why?
    5 messages, resting, Input 00:00:04: why?
      A: 8, Error 00:00:05: input: why?
    ");
}

#[tokio::test]
async fn one_agent_asks_another() {
    let scenario = Scenario {
        agents: &["A", "B"],
        script: r#"
            turn when 北京
              call call_agent {"name":"B","task":"look the weather up"}
            then
              say 北京今天晴天，温度25°C
            turn when weather
              call read {"do":"it"}
            then
              say sunny, 25 °C
        "#,
        says: &["帮我查北京天气"],
    };
    assert_snapshot!(scenario.told().await, @r"
    0 messages, resting
    1 messages, working, Input 00:00:00: 帮我查北京天气
      A: 1, Input 00:00:00: input: 帮我查北京天气
    1 messages, working, Input 00:00:00: 帮我查北京天气
      A: 2, Output 00:00:01: input: 帮我查北京天气 | tool: call_agent
      B: 1, Input 00:00:01: input: look the weather up
    1 messages, working, Input 00:00:00: 帮我查北京天气
      A: 2, Output 00:00:01: input: 帮我查北京天气 | tool: call_agent
      B: 2, Output 00:00:02: input: look the weather up | tool: read
    1 messages, working, Input 00:00:00: 帮我查北京天气
      A: 2, Output 00:00:01: input: 帮我查北京天气 | tool: call_agent
      B: 3, Output 00:00:03: input: look the weather up | tool: read | output: sunny, 25 °C
    2 messages, resting, Answer 00:00:04: 北京今天晴天，温度25°C
      A: 3, Output 00:00:04: input: 帮我查北京天气 | tool: call_agent | output: 北京今天晴天，温度25°C
      B: 3, Output 00:00:03: input: look the weather up | tool: read | output: sunny, 25 °C
    ");
}
