//! A damaged conversation harms only itself: fifty in one database, one of them damaged in one of
//! many ways, and every command on all of them, on a healthy one and on the damaged one.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use rusqlite::Connection;
use serde_json::Value;
use threadline::{Ending, Setup, ask, item, sqlite};
use threadline_core::history::Stamp;
use threadline_core::history::fact::{Attachment, Input};
use threadline_core::history::record::Record;
use threadline_core::id::{ConversationId, Seq};
use threadline_core::inbox::Body;
use threadline_core::store::{DueFilter, Page, Storage, past};
use threadline_core::tokens::O200k;

use crate::home::{Home, Ran};

/// How many conversations there are, the damaged one and its fork among them.
const ALL: usize = 50;

/// A way to damage a conversation.
struct Way {
    name: &'static str,
    /// The statements that damage the file. `:num` is replaced by the number of the conversation.
    sql: &'static [&'static str],
    harm: Harm,
}

/// What a damaged conversation can no longer do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Harm {
    /// Nothing: what was damaged is not needed, or is written again.
    None,
    /// An entry that it shares with its fork is not what was written, and is part of its context.
    Entry,
    /// An attachment of an entry is not what was stored.
    Attachment,
    /// What is known of it cannot be read: it is not driven.
    Row,
    /// What waits for it cannot be read: it is not driven.
    Inbox,
    /// What is derived from its entries is wrong; only `verify --deep` need see it.
    Derived,
}

const SAYS: &str = "id >> 36 = :num AND CAST(body AS TEXT) LIKE '%add 40 and 2%' AND
                    CAST(envelope AS TEXT) LIKE '%\"input\"%'";

/// Every way, by what is damaged.
const WAYS: &[Way] = &[
    Way {
        name: "a flipped byte of a body",
        sql: &["UPDATE entry SET body =
                  CAST(replace(CAST(body AS TEXT), 'add 40 and 2', 'add 90 and 2') AS BLOB)
                WHERE :says"],
        harm: Harm::Entry,
    },
    Way {
        name: "a truncated body",
        sql: &["UPDATE entry SET body = substr(body, 1, length(body) / 2) WHERE :says"],
        harm: Harm::Entry,
    },
    Way {
        name: "garbage for an envelope",
        sql: &["UPDATE entry SET envelope = x'00ff80' WHERE :says"],
        harm: Harm::Entry,
    },
    Way {
        name: "another hash",
        sql: &["UPDATE entry SET hash = zeroblob(32) WHERE :says"],
        harm: Harm::Entry,
    },
    Way {
        name: "a hash that is too short",
        sql: &["UPDATE entry SET hash = x'00' WHERE :says"],
        harm: Harm::Entry,
    },
    Way { name: "a missing entry", sql: &["DELETE FROM entry WHERE :says"], harm: Harm::Entry },
    Way {
        name: "a changed attachment",
        sql: &[
            "UPDATE chunk SET bytes = zeroblob(14) WHERE bytes = CAST('a list of teas' AS BLOB)",
        ],
        harm: Harm::Attachment,
    },
    Way {
        name: "a missing piece of an attachment",
        sql: &["DELETE FROM chunk WHERE bytes = CAST('a list of teas' AS BLOB)"],
        harm: Harm::Attachment,
    },
    Way {
        name: "garbage for an inbox item",
        sql: &["UPDATE inbox SET item = x'7b' WHERE conversation = :num AND taken_seq IS NULL"],
        harm: Harm::Inbox,
    },
    Way {
        name: "another digest of an inbox item",
        sql: &[
            "UPDATE inbox SET digest = zeroblob(32) WHERE conversation = :num AND taken_seq IS NULL",
        ],
        harm: Harm::Inbox,
    },
    Way {
        name: "garbage for a summary",
        sql: &["UPDATE conversation SET last_kind = 77 WHERE num = :num"],
        harm: Harm::Row,
    },
    Way {
        name: "garbage for labels",
        sql: &["UPDATE conversation SET labels = '{' WHERE num = :num"],
        harm: Harm::Row,
    },
    Way {
        name: "a title that is no text",
        sql: &["UPDATE conversation SET title = CAST(x'ff' AS TEXT) WHERE num = :num"],
        harm: Harm::Row,
    },
    Way {
        name: "a last message that is no text",
        sql: &["UPDATE conversation SET last_text = CAST(x'ff' AS TEXT) WHERE num = :num"],
        harm: Harm::Row,
    },
    Way {
        name: "no such state",
        sql: &["UPDATE conversation SET state = 77 WHERE num = :num"],
        harm: Harm::Row,
    },
    Way {
        name: "neither archived nor not",
        sql: &["UPDATE conversation SET archived = 7 WHERE num = :num"],
        harm: Harm::Row,
    },
    Way {
        name: "no such origin",
        sql: &["UPDATE conversation SET origin = 9 WHERE num = :num"],
        harm: Harm::Row,
    },
    Way {
        name: "half a parent",
        sql: &["UPDATE conversation SET forked_from = x'00' WHERE num = :num"],
        harm: Harm::Row,
    },
    Way {
        name: "garbage for the hash of the head",
        sql: &["UPDATE conversation SET head_hash = x'00' WHERE num = :num"],
        harm: Harm::Row,
    },
    Way {
        name: "a head that is too low",
        sql: &["UPDATE conversation SET head_seq = 3 WHERE num = :num"],
        harm: Harm::Row,
    },
    Way {
        name: "the log of another",
        sql: &["UPDATE conversation SET tail_log = tail_log - 1 WHERE num = :num"],
        harm: Harm::Row,
    },
    Way {
        name: "garbage for a lease",
        sql: &["UPDATE conversation SET claim = x'00', owner = CAST(x'ff' AS TEXT),
                  run = CAST(x'ff' AS TEXT), lease_until = 9000000000000000000 WHERE num = :num"],
        harm: Harm::None,
    },
    Way {
        name: "garbage for an agent",
        sql: &["UPDATE agent SET last_kind = 99 WHERE conversation = :num"],
        harm: Harm::Derived,
    },
    Way {
        name: "garbage for a snapshot",
        sql: &["UPDATE snapshot SET body = x'00' WHERE id >> 36 = :num"],
        harm: Harm::None,
    },
    Way {
        name: "garbage for the place of a snapshot",
        sql: &["UPDATE snapshot SET hash = x'00', fold_version = -1 WHERE id >> 36 = :num"],
        harm: Harm::None,
    },
    Way {
        name: "garbage for outline rows",
        sql: &["UPDATE entry SET kind = 99 WHERE id >> 36 = :num AND kind IS NOT NULL"],
        harm: Harm::Derived,
    },
    Way {
        name: "no outline rows",
        sql: &["UPDATE entry SET kind = NULL WHERE id >> 36 = :num"],
        harm: Harm::Derived,
    },
];

/// Fifty conversations of which one is to be damaged.
struct Fifty {
    home: Home,
    damaged: String,
    fork: String,
    healthy: Vec<String>,
    /// The entry of the damaged one that entries' ways damage.
    entry: u64,
}

impl Fifty {
    fn new() -> Self {
        let home = Home::new();
        let path = home.database();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (damaged, fork, healthy, entry) = runtime.block_on(async {
            let setup = Setup::offline(sqlite(&path).unwrap());
            let assistant = [setup.assistant("You help with sums.")];
            let runtime = setup.runtime().unwrap();
            let store = &*runtime.world().store;
            let mut healthy = Vec::new();
            for number in 2..ALL {
                let id = runtime.create(&assistant).await.unwrap();
                healthy.push(id);
                if number < 5 {
                    answered(&ask(&runtime, id, &format!("add {number} and 3")).await.unwrap());
                }
            }
            // The damaged one is the newest, so that it comes first everywhere.
            let damaged = runtime.create(&assistant).await.unwrap();
            answered(&ask(&runtime, damaged, "remember that I like tea").await.unwrap());
            answered(&ask(&runtime, damaged, "add 40 and 2").await.unwrap());
            let input = Input { attachments: vec![attachment(store).await], ..said("add 5 and 6") };
            runtime.submit(damaged, &item(Body::Input(input))).await.unwrap();
            drop(runtime.settled(damaged).await);
            let fork = forked(store, damaged).await;
            let page = store.read(damaged, &Page::forward(Seq(1), 100)).await.unwrap();
            let says = |record: &Record| {
                let entry = record.open().unwrap();
                let text = String::from_utf8_lossy(&record.body).into_owned();
                (entry.fact.kind() == "input" && text.contains("add 40 and 2"))
                    .then_some(entry.seq.0)
            };
            let entry = page.iter().find_map(says).unwrap();
            // What comes now waits for `resume --all`.
            runtime.stop().await;
            // The rows of all conversations are brought up to their last entries.
            assert_eq!(store.claim_due(0, 1, &DueFilter::default()).await.unwrap(), []);
            for id in [healthy[0], damaged, healthy[1]] {
                store.enqueue(id, &item(Body::Input(said("add 7 and 8")))).await.unwrap();
            }
            (damaged, fork, healthy, entry)
        });
        let healthy = healthy.iter().map(ToString::to_string).collect();
        Self { home, damaged: damaged.to_string(), fork: fork.to_string(), healthy, entry }
    }

    fn damage(&self, way: &Way) {
        let file = Connection::open(self.home.database()).unwrap();
        let id: ConversationId = self.damaged.parse().unwrap();
        let num: i64 = file
            .query_row("SELECT num FROM conversation WHERE id = ?1", [id.0.as_bytes()], |row| {
                row.get(0)
            })
            .unwrap();
        file.execute_batch(
            "DROP TRIGGER entry_is_never_changed; DROP TRIGGER entry_is_never_removed;",
        )
        .unwrap();
        for sql in way.sql {
            let sql = sql.replace(":says", SAYS).replace(":num", &num.to_string());
            let changed = file.execute(&sql, []).unwrap();
            assert!(changed > 0, "{}: {sql} changed nothing", way.name);
        }
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        self.home.run(arguments)
    }
}

fn said(text: &str) -> Input {
    Input::from_person(text)
}

fn answered(ending: &Ending) {
    assert!(matches!(ending, Ending::Answered { .. }), "{ending:?}");
}

async fn attachment(store: &dyn Storage) -> Attachment {
    let upload = store.begin_upload().await.unwrap();
    store.upload(upload, b"a list of teas".to_vec()).await.unwrap();
    Attachment {
        digest: store.finish_upload(upload).await.unwrap(),
        size: 14,
        media_type: "text/plain".into(),
        name: None,
        extent: None,
    }
}

async fn forked(store: &dyn Storage, id: ConversationId) -> ConversationId {
    let head = store.conversation(id).await.unwrap().head;
    let (clock, ids) = (threadline::SystemClock, threadline::RandomIds);
    let at = threadline_core::clock::Clock::now(&clock);
    let (history, aftermath) = past(store, id, head, &O200k).await.unwrap();
    let stamp = Stamp { at, ids: &ids, counter: &O200k };
    let proposed = history.propose_fork(id, &aftermath, stamp).unwrap();
    let fork = ConversationId::new(at, &ids);
    store.create(fork, Some((id, head)), &proposed.batch).await.unwrap();
    fork
}

/// The ids in a list of objects.
fn ids(list: &Value, keep: impl Fn(&Value) -> bool) -> Vec<&str> {
    let list = list.as_array().unwrap().iter().filter(|one| keep(one));
    list.map(|one| one["id"].as_str().unwrap()).collect()
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:#?}"))
}

fn check(way: &Way) {
    let fifty = Fifty::new();
    fifty.damage(way);
    lists_all(&fifty, way);
    verifies_all(&fifty, way);
    looks_at_all(&fifty);
    damaged_one_is_stopped(&fifty, way);
    resumes_all(&fifty, way);
    healthy_ones_work(&fifty);
}

fn lists_all(fifty: &Fifty, way: &Way) {
    let listed = json(&fifty.run(&["list", "--all", "--json", "-n", "100"]));
    let all = &listed["conversations"];
    assert_eq!(all.as_array().unwrap().len(), ALL, "{}", way.name);
    let damaged = ids(all, |one| one["damage"].is_string());
    let row = way.harm == Harm::Row
        && way.name != "the log of another"
        && way.name != "a head that is too low";
    assert_eq!(damaged, if row { vec![&*fifty.damaged] } else { vec![] }, "{}", way.name);
    let text = fifty.run(&["list", "-n", "100"]).ok();
    assert!(text.contains(&fifty.damaged), "{}: {text}", way.name);
    assert_eq!(text.contains("damaged: "), row, "{}: {text}", way.name);
}

fn verifies_all(fifty: &Fifty, way: &Way) {
    for deep in [false, true] {
        let arguments = ["verify", "--all", "--json", "--deep"];
        let ran = fifty.run(&arguments[..if deep { 4 } else { 3 }]);
        let unsound = ids(&json(&ran)["conversations"], |one| one["sound"] == false)
            .iter()
            .map(|id| (*id).to_owned())
            .collect::<Vec<_>>();
        let expected: &[&String] = match (way.harm, deep) {
            (Harm::None, _) | (Harm::Attachment | Harm::Inbox | Harm::Derived, false) => &[],
            (Harm::Entry, _) | (Harm::Attachment, true) => &[&fifty.fork, &fifty.damaged],
            (Harm::Derived, true) if way.name.contains("outline") => &[&fifty.fork, &fifty.damaged],
            (Harm::Row, _) if way.name == "the log of another" => &[],
            (Harm::Row, _) | (Harm::Inbox | Harm::Derived, true) => &[&fifty.damaged],
        };
        assert_eq!(unsound.iter().collect::<Vec<_>>(), expected, "{}, deep {deep}", way.name);
        assert_eq!(ran.code, i32::from(!expected.is_empty()), "{}: {ran:#?}", way.name);
        assert_eq!(json(&ran)["conversations"].as_array().unwrap().len(), ALL);
    }
}

/// Other commands that look at all conversations.
fn looks_at_all(fifty: &Fifty) {
    let doctor = json(&fifty.run(&["doctor", "--json"]));
    let checks = doctor["checks"].as_array().unwrap();
    let of = |what: &str| checks.iter().find(|check| check["what"] == what).unwrap();
    assert_eq!(of("open")["ok"], true, "{doctor:#}");
    let conversations = of("conversations");
    assert!(conversations["detail"].as_str().unwrap().contains("50 conversations"), "{doctor:#}");
    let named = conversations["detail"].as_str().unwrap().contains(&fifty.damaged);
    assert_eq!(conversations["ok"] == false, named, "{doctor:#}");
    let found = fifty.run(&["search", "add", "--json", "-n", "100"]);
    let hits = json(&found)["hits"].as_array().unwrap().clone();
    for healthy in &fifty.healthy[..3] {
        let of_it = hits.iter().filter(|hit| hit["conversation"] == **healthy).count();
        assert!(of_it > 0, "{found:#?}");
    }
    fifty.run(&["show", "last"]).ok();
    fifty.run(&["search", "add"]).ok();
}

fn healthy_ones_work(fifty: &Fifty) {
    let healthy = &*fifty.healthy[2];
    for arguments in [
        &["show", healthy][..],
        &["show", healthy, "--all"],
        &["context", healthy],
        &["export", healthy],
        &["notebook", healthy],
        &["agents", healthy],
        &["approve", healthy],
        &["policy", healthy],
        &["search", "add", "--in", healthy],
        &["verify", healthy, "--deep"],
        &["fork", healthy],
        &["rewind", healthy],
        &["rewind", healthy, "--undo"],
        &["run", "add 1 and 1", "--continue", healthy],
        &["resume", healthy],
    ] {
        let ran = fifty.run(arguments);
        assert_eq!(ran.code, 0, "{arguments:?}: {ran:#?}");
    }
}

/// What is damaged is never sent to a model, exported or forked, and says why.
fn damaged_one_is_stopped(fifty: &Fifty, way: &Way) {
    for id in [&*fifty.damaged, &*fifty.fork] {
        let is_fork = id == fifty.fork;
        let entries_before = fifty.run(&["show", id, "--all", "--json"]);
        assert_eq!(entries_before.code, 0, "{}: {entries_before:#?}", way.name);
        let marked = entries_before.out.contains("\"changed\":true");
        assert_eq!(marked, way.harm == Harm::Entry, "{}: {}", way.name, entries_before.out);
        let text = fifty.run(&["show", id, "--all"]).ok();
        assert_eq!(text.contains("\n! entry "), way.harm == Harm::Entry, "{}: {text}", way.name);
        let fails = |arguments: &[&str]| {
            let ran = fifty.run(arguments);
            assert_ne!(ran.code, 0, "{}: {arguments:?}: {ran:#?}", way.name);
            let told = format!("{}{}", ran.out, ran.err);
            assert!(told.contains(id) || told.contains("entry "), "{arguments:?}: {ran:#?}");
            ran
        };
        match way.harm {
            Harm::Entry => {
                let told = fails(&["context", id]).err;
                assert!(told.contains("entry "), "{}: {told}", way.name);
                fails(&["export", id]);
                fails(&["fork", id]);
                fails(&["fork", id, "--at", &fifty.entry.to_string()]);
                fails(&["rewind", id, "--to", &fifty.entry.to_string()]);
                fails(&["run", "add 1 and 2", "--continue", id]);
                fails(&["verify", id]);
            }
            Harm::Attachment => {
                fails(&["export", id]);
                fails(&["verify", id, "--deep"]);
            }
            Harm::Row | Harm::Inbox if !is_fork => {
                fails(&["run", "add 1 and 2", "--continue", id]);
            }
            Harm::Derived if way.name.contains("outline") => {
                fails(&["context", id]);
            }
            Harm::None | Harm::Row | Harm::Inbox | Harm::Derived => {}
        }
    }
}

fn resumes_all(fifty: &Fifty, way: &Way) {
    let ran = fifty.run(&["resume", "--all", "--json"]);
    let resumed = json(&ran)["conversations"].clone();
    let answered = ids(&resumed, |one| one["ending"] == "answered");
    for healthy in &fifty.healthy[..2] {
        assert!(answered.contains(&&**healthy), "{}: {ran:#?}", way.name);
    }
    let refused = ids(&resumed, |one| one["ending"] == "refused");
    let due = ids(&resumed, |one| one["id"] == *fifty.damaged);
    match way.harm {
        // Something was said to both of them before.
        Harm::Entry => {
            assert_eq!(refused, [&*fifty.damaged, &*fifty.fork], "{}: {ran:#?}", way.name);
            assert_ne!(ran.code, 0, "{}", way.name);
        }
        Harm::Inbox => {
            assert_eq!(refused, [&*fifty.damaged], "{}: {ran:#?}", way.name);
            assert_ne!(ran.code, 0, "{}", way.name);
        }
        Harm::Row => {
            // One that is in no state there is has nothing that could go on.
            assert_eq!(refused, due, "{}: {ran:#?}", way.name);
        }
        Harm::None | Harm::Attachment => {
            assert!(answered.contains(&&*fifty.damaged), "{}: {ran:#?}", way.name);
        }
        Harm::Derived => {}
    }
}

/// A test for each way, so that they run side by side and name what fails.
macro_rules! ways {
    ($($test:ident: $name:literal),* $(,)?) => {
        $(
            #[test]
            fn $test() {
                check(WAYS.iter().find(|way| way.name == $name).unwrap());
            }
        )*

        #[test]
        fn every_way_has_a_test() {
            let tested = [$($name),*];
            let names: Vec<_> = WAYS.iter().map(|way| way.name).collect();
            assert_eq!(names, tested);
        }
    };
}

ways! {
    a_flipped_byte: "a flipped byte of a body",
    a_truncated_body: "a truncated body",
    an_envelope: "garbage for an envelope",
    another_hash: "another hash",
    a_short_hash: "a hash that is too short",
    a_missing_entry: "a missing entry",
    an_attachment: "a changed attachment",
    a_piece: "a missing piece of an attachment",
    an_inbox_item: "garbage for an inbox item",
    an_inbox_digest: "another digest of an inbox item",
    a_summary: "garbage for a summary",
    labels: "garbage for labels",
    a_title: "a title that is no text",
    a_last_message: "a last message that is no text",
    a_state: "no such state",
    an_archive: "neither archived nor not",
    an_origin: "no such origin",
    a_parent: "half a parent",
    a_head: "garbage for the hash of the head",
    a_low_head: "a head that is too low",
    a_log: "the log of another",
    a_lease: "garbage for a lease",
    an_agent: "garbage for an agent",
    a_snapshot: "garbage for a snapshot",
    a_snapshot_place: "garbage for the place of a snapshot",
    outline_rows: "garbage for outline rows",
    no_outline_rows: "no outline rows",
}

/// `watch` drives the others, names the damaged one, and stays.
#[test]
fn watch_drives_the_others() {
    for name in ["a flipped byte of a body", "garbage for an inbox item", "garbage for a summary"] {
        let way = WAYS.iter().find(|way| way.name == name).unwrap();
        let fifty = Fifty::new();
        fifty.damage(way);
        let mut command = fifty.home.command(&["watch", "--json"]);
        let mut watch = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        for healthy in &fifty.healthy[..2] {
            let answers = || fifty.run(&["search", "15", "--in", healthy, "--json"]).out;
            let mut tries = 0;
            while !answers().contains("output") {
                tries += 1;
                assert!(tries < 300, "{name}: {}", answers());
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        assert!(watch.try_wait().unwrap().is_none(), "{name}: it has ended");
        let pid = watch.id().to_string();
        std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap();
        let output = watch.wait_with_output().unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{name}: {out}");
        let lines: Vec<Value> =
            out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let failed = lines.iter().filter(|line| line["what"] == "failed").collect::<Vec<_>>();
        assert!(!failed.is_empty(), "{name}: {out}");
        assert!(failed.iter().all(|line| line["id"] == *fifty.damaged), "{name}: {out}");
        assert!(failed.len() <= 3, "{name}: it is told again and again: {out}");
    }
}
