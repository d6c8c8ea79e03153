//! The tools, the files they work with, and calls that are hostile to one of them.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use tempfile::TempDir;
use threadline_core::clock::Timestamp;
use threadline_core::history::entry::Entry;
use threadline_core::history::fact::{Digest, Input};
use threadline_core::history::metadata::Metadata;
use threadline_core::id::{AgentId, CallId, ConversationId, EntryId, Seq, TenantId};
use threadline_core::store::{Direction, Predecessor, StoreError};
use threadline_core::tool::{
    Cancel, FileChange, FileLog, NotRecorded, Progress, ProgressReport, RecordChange, Schema,
    ThreadReader, Tool, ToolContext, ToolOutcome, ToolSpec,
};
use threadline_core::widget::{Change, Widget, WidgetCall};
use threadline_tools::calculator::Calculator;
use threadline_tools::files::{self, Workspace};
use threadline_tools::recall::Recall;
use threadline_tools::widgets::board::Board;
use threadline_tools::widgets::clock::Clock;
use threadline_tools::widgets::notebook::Notebook;
use threadline_tools::widgets::resources::Resources;
use tokio::runtime::Runtime;

/// About the most that a model's answer can have.
const LONG: usize = 900 * 1024;
/// As large as a file may be that is edited.
const LARGE: usize = 16 * 1024 * 1024;

/// A call, and what is in `file.txt` when it is made.
pub(crate) struct Call {
    pub(crate) arguments: String,
    pub(crate) file: Contents,
}

/// What a file holds: a text, so many times.
pub(crate) type Contents = (&'static str, usize);

impl Call {
    pub(crate) fn new(arguments: String) -> Self {
        Self { arguments, file: ("a\n", 1) }
    }

    fn with(arguments: &Value, file: Contents) -> Self {
        Self { arguments: arguments.to_string(), file }
    }
}

/// Calls that are hostile to one tool.
pub(crate) fn hostile(tool: &str) -> Vec<Call> {
    let path = "file.txt";
    let plain = |arguments: Value| Call::with(&arguments, ("a\n", 1));
    match tool {
        "edit_file" => {
            let edit = |find: &str, with: &str, all: bool, file| {
                let arguments = json!({ "path": path, "find": find, "with": with, "all": all });
                Call::with(&arguments, file)
            };
            vec![
                edit("a", &"b".repeat(LONG), true, ("a", LARGE)),
                edit("a", &"b\n".repeat(LONG / 2), true, ("a\r\n", LARGE / 3)),
                edit("\n", "x\n", true, ("\n", LARGE)),
                edit("\n", "x\n", true, ("\n", LARGE / 2)),
                edit("\n", "", true, ("\r\n", LARGE / 2)),
                edit("\n", "\n\n", true, ("\r\n", LARGE / 4)),
                edit("a", "", true, ("a", LARGE)),
                edit("ab", "c", false, ("ab", LARGE / 2)),
                edit(&"a".repeat(LONG), "b", false, ("a", LARGE)),
                edit(&("a".repeat(LONG) + "b"), "c", false, ("a", LARGE)),
                edit(&"a\n".repeat(LONG / 2), "c", false, ("a\n", LONG)),
                edit("a", "b", true, ("a", LARGE + 1)),
                edit("0", "1", true, ("0\n1\n2\n3\n", LARGE / 8)),
            ]
        }
        "write_file" => {
            let write = |text: String, file| {
                Call::with(&json!({ "path": path, "text": text, "content": text }), file)
            };
            vec![
                write("\n".repeat(LONG), ("\n", LARGE)),
                write("x\n".repeat(LONG / 2), ("\r\n", LARGE / 2)),
                write("x".repeat(LONG), ("y\n", 3 * LARGE)),
            ]
        }
        "read_file" => {
            let read = |offset: u64, limit: u64, file| {
                Call::with(&json!({ "path": path, "offset": offset, "limit": limit }), file)
            };
            vec![
                read(1, u64::MAX, ("x", 4 * LARGE)),
                read(u64::MAX, 1, ("\n", 4 * LARGE)),
                read(1 << 40, u64::MAX, ("雨\n", LARGE)),
                read(1, 2000, ("\u{1}", LARGE)),
            ]
        }
        "list_files" => vec![
            plain(json!({ "path": "many" })),
            plain(json!({ "depth": u64::MAX, "offset": u64::MAX })),
            plain(json!({ "depth": 1000, "offset": 19_000 })),
            plain(json!({ "path": "many/".repeat(LONG / 5) })),
        ],
        "search_files" => {
            let search = |text: &str, regex: bool, file| {
                Call::with(&json!({ "text": text, "regex": regex, "path": path }), file)
            };
            let line = ("ab", 2 * 1024 * 1024);
            vec![
                search("(a*)*c", true, line),
                search("(?:[ab]*a){20}[ab]{100}c", true, line),
                search(r"(?:\w{1000}){1000}", true, line),
                search("((a{100}){100}){100}", true, line),
                search(r"(?i)\p{L}{300}\d", true, line),
                search(&"(".repeat(4000), true, line),
                search(&"a|".repeat(2000), true, line),
                search(&".*".repeat(2000), true, line),
                search(&"ab".repeat(2000), false, line),
                search("a", true, ("a\n", 2 * 1024 * 1024)),
                Call::with(&json!({ "text": "a", "names": "**/".repeat(160) }), line),
                Call::with(&json!({ "text": "a", "names": "*a".repeat(250) }), line),
                Call::with(
                    &json!({ "text": "a", "names": "{a,".repeat(160), "offset": u64::MAX }),
                    line,
                ),
            ]
        }
        "calculator" => [
            "9^9^9^9^9".to_owned(),
            "9^".repeat(2_000) + "9",
            "(".repeat(4_096),
            "(".repeat(2_000) + "1" + &")".repeat(2_000),
            "-".repeat(4_095) + "1",
            "sqrt(".repeat(800) + "2",
            "9".repeat(4_096),
            "1e999999999".to_owned(),
            "1e-999999999".to_owned(),
            "0.".to_owned() + &"3".repeat(4_000),
            "round(1/3, 999999999999)".to_owned(),
            "round(1e300, -999999999)".to_owned(),
            "max(".to_owned() + &"1,".repeat(2_000) + "1)",
            "2 % 1e-300 ^ 99".to_owned(),
            "1+".repeat(LONG / 2) + "1",
            "(".repeat(LONG),
        ]
        .into_iter()
        .map(|expression| plain(json!({ "expression": expression })))
        .collect(),
        "recall" => vec![
            plain(json!({ "seq": 7, "page": u64::MAX })),
            plain(json!({ "seq": i64::MAX, "page": 1 })),
            plain(json!({ "seq": 7, "page": 70 })),
            plain(json!({ "query": "rain ".repeat(200) })),
            plain(json!({ "query": "\"".repeat(1_000) })),
            plain(json!({ "query": "雨".repeat(300) })),
        ],
        "task_add" => vec![
            plain(json!({ "titles": vec!["x"; 100_000] })),
            plain(json!({ "titles": ["x".repeat(LONG)] })),
        ],
        _ => Vec::new(),
    }
}

/// The tools in one folder, with one state for all calls.
pub(crate) struct Bench {
    runtime: Runtime,
    folder: TempDir,
    tools: BTreeMap<String, Arc<dyn Tool>>,
}

/// What came of a call.
pub(crate) enum Came {
    /// The arguments do not fit the schema, and the tool says so, too.
    Refused,
    Success,
    Failed,
}

impl fmt::Display for Came {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refused => "refused",
            Self::Success => "success",
            Self::Failed => "failed",
        })
    }
}

fn widgets() -> Vec<Box<dyn Widget>> {
    vec![
        Box::new(Clock::new()),
        Box::new(Board::new()),
        Box::new(Resources::new()),
        Box::new(Notebook::new()),
    ]
}

fn widget_tools() -> Vec<ToolSpec> {
    widgets().iter().flat_map(|widget| widget.tools()).collect()
}

impl Bench {
    /// The names of all tools.
    pub(crate) fn tools() -> Vec<String> {
        let own = Self::new().tools.into_keys();
        own.chain(widget_tools().into_iter().map(|spec| spec.name.to_string())).collect()
    }

    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Arc::new(Workspace::open(folder.path()).unwrap());
        let mut tools = files::tools(&workspace);
        tools.extend([Arc::new(Calculator::new()) as Arc<dyn Tool>, Arc::new(Recall::new())]);
        let named = |tool: Arc<dyn Tool>| (tool.spec().name.to_string(), tool);
        let tools = tools.into_iter().map(named).collect();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(1)
            .build()
            .unwrap();
        Self { runtime, folder, tools }
    }

    fn spec(&self, tool: &str) -> ToolSpec {
        let own = self.tools.get(tool).map(|tool| tool.spec().clone());
        own.or_else(|| widget_tools().into_iter().find(|spec| &*spec.name == tool)).unwrap()
    }

    /// The schema of a tool's arguments.
    pub(crate) fn schema(&self, tool: &str) -> Value {
        serde_json::from_str(&self.spec(tool).schema).unwrap()
    }

    /// Writes what a call works with.
    pub(crate) fn prepare(&self, (text, times): &Contents) {
        fs::write(self.folder.path().join("file.txt"), text.repeat(*times)).unwrap();
        let many = self.folder.path().join("many");
        if !many.exists() {
            fs::create_dir(&many).unwrap();
            let name = "n".repeat(200);
            for number in 0..20_000 {
                fs::File::create(many.join(format!("{name}{number}"))).unwrap();
            }
        }
    }

    /// Makes a call as a driver does, and once more without its check of the arguments.
    pub(crate) fn call(&self, tool: &str, raw: &str) -> Came {
        let spec = self.spec(tool);
        let schema = Schema::new(&spec.schema).unwrap();
        let validated = schema.validate(raw);
        if let Err(refused) = &validated {
            let told = refused.to_string();
            assert!(!told.is_empty() && told.len() < 64 * 1024, "{} bytes", told.len());
        }
        let is_refused = validated.is_err();
        let arguments = validated.map_or_else(|_| raw.into(), |validated| validated.text);
        let came = match self.tools.get(tool) {
            Some(tool) => self.run(&**tool, &arguments),
            None => change(tool, &arguments),
        };
        if is_refused { Came::Refused } else { came }
    }

    fn run(&self, tool: &dyn Tool, arguments: &str) -> Came {
        let context = context();
        let outcome = self.runtime.block_on(tool.call(arguments, &context));
        let sections = &outcome.result().sections;
        let bytes: usize = sections.iter().map(|section| section.text.len()).sum();
        assert!(bytes > 0 && bytes < 256 * 1024, "an answer of {bytes} bytes");
        // What became of it is found out within the same bounds.
        drop(self.runtime.block_on(tool.reconcile(arguments, &context)));
        match outcome {
            ToolOutcome::Success(_) => Came::Success,
            ToolOutcome::Failed(_) => Came::Failed,
            ToolOutcome::NoAnswer(_) => panic!("no clear outcome"),
        }
    }
}

/// Calls a widget that has as much in it as it takes.
fn change(tool: &str, arguments: &str) -> Came {
    let mut widgets = widgets();
    let has = |widget: &dyn Widget| widget.tools().iter().any(|spec| &*spec.name == tool);
    let widget = widgets.iter_mut().find(|widget| has(&***widget)).unwrap();
    for text in ["x\n".repeat(15_000), "雨".repeat(300)] {
        let fill = match widget.name() {
            "notebook" => ("notebook_append", json!({ "text": text })),
            "board" => ("task_add", json!({ "titles": vec!["a title of some length"; 50] })),
            _ => ("resource_put", json!({ "key": "a", "text": text })),
        };
        change_by(&mut **widget, fill.0, &fill.1.to_string());
    }
    change_by(&mut **widget, tool, arguments)
}

fn change_by(widget: &mut dyn Widget, tool: &str, arguments: &str) -> Came {
    let (call, by, at) = (context().call, AgentId(1), Timestamp::default());
    match widget.call(&WidgetCall { tool, arguments, call, by, at }) {
        Ok(reply) => {
            for text in &reply.changes {
                widget.apply(&Change { text, seq: Seq(2), by, at }).unwrap();
            }
            drop(widget.encode());
            Came::Success
        }
        Err(refusal) => {
            assert!(!refusal.result.is_empty());
            Came::Failed
        }
    }
}

fn context() -> ToolContext {
    ToolContext {
        conversation: ConversationId(TenantId::NIL.0),
        agent: AgentId(1),
        call: CallId { output: Seq(1_000), index: 0 },
        attempt: 1,
        effect_key: "key".into(),
        at: Timestamp::default(),
        thread: Arc::new(Long),
        cancel: Cancel::new(),
        progress: Arc::new(Long),
        files: FileLog {
            recorder: Arc::new(Long),
            recorded: Vec::new(),
            predecessor: Predecessor::Gone,
        },
    }
}

#[async_trait]
impl RecordChange for Long {
    async fn record(&self, _change: FileChange) -> Result<(), NotRecorded> {
        Ok(())
    }
}

/// A thread of long entries, each of which has every word.
struct Long;

fn entry(seq: Seq) -> Entry {
    Entry {
        seq,
        id: EntryId(TenantId::NIL.0),
        at: Timestamp::default(),
        agent: AgentId(1),
        cause: None,
        metadata: Metadata::new(),
        // One entry is as long as entries are; a search goes over many shorter ones.
        fact: Input::from_person(&*"rain 雨 \" rain\n".repeat(if seq == Seq(7) {
            LONG / 16
        } else {
            1_000
        }))
        .into(),
    }
}

#[async_trait]
impl ThreadReader for Long {
    async fn entry(&self, seq: Seq) -> Result<Option<Entry>, StoreError> {
        Ok((seq.0 < 1_000).then(|| entry(seq)))
    }

    async fn page(&self, from: Seq, _: Direction, _: usize) -> Result<Vec<Entry>, StoreError> {
        Ok(if from.0 > 1 { vec![entry(from)] } else { Vec::new() })
    }

    async fn search(
        &self,
        _: &str,
        before: Option<Seq>,
        most: usize,
    ) -> Result<Vec<Seq>, StoreError> {
        let before = before.map_or(1_000, |before| before.0);
        Ok((1..before).rev().take(most).map(Seq).collect())
    }

    async fn attachment(
        &self,
        _: Seq,
        _: Digest,
        _: u64,
        most: usize,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(Some(vec![b'x'; most]))
    }
}

impl Progress for Long {
    fn report(&self, _: ProgressReport) {}
}
