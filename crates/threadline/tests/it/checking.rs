//! Checking: verify and doctor.

use insta::assert_snapshot;
use rusqlite::Connection;

use crate::home::{Home, TALK};
use crate::stories::WEATHER;

/// Changes the database behind the program's back.
fn tamper(home: &Home, sql: &str) {
    let connection = Connection::open(home.database()).unwrap();
    connection.execute_batch(sql).unwrap();
}

/// Flips a bit in the body of an entry.
fn flip(home: &Home, entry: u32) {
    tamper(home, "DROP TRIGGER entry_is_never_changed");
    let connection = Connection::open(home.database()).unwrap();
    let place = format!("CAST(envelope AS TEXT) LIKE '{{\"seq\":{entry},%'");
    let read = format!("SELECT body FROM entry WHERE {place}");
    let mut body: Vec<u8> = connection.query_row(&read, [], |row| row.get(0)).unwrap();
    let last = body.iter().rposition(u8::is_ascii_alphanumeric).unwrap();
    body[last] ^= 1;
    let write = format!("UPDATE entry SET body = ?1 WHERE {place}");
    assert_eq!(connection.execute(&write, [body]).unwrap(), 1);
}

#[test]
fn what_is_as_it_was_written_is_sound() {
    let home = Home::with(WEATHER);
    assert_snapshot!(home.run(&["verify", TALK]).shown(), @"<talk>  sound  14 entries, 4,691 bytes");
    assert_snapshot!(home.run(&["verify", "--all", "--deep"]).shown(), @r#"
    <talk>  sound  14 entries, 4,691 bytes
    1 conversation: all sound
    "#);
    assert_snapshot!(home.run(&["verify", "last", "--json"]).shown(), @r#"{"conversations":[{"id":"<talk>","sound":true,"entries":14,"bytes":4691,"unrecognised":0,"findings":[]}]}"#);
    assert_eq!(home.run(&["verify"]).code, 2);
    assert_eq!(home.run(&["verify", TALK, "--all"]).code, 2);
}

#[test]
fn a_flipped_bit_is_found() {
    let home = Home::with(WEATHER);
    flip(&home, 8);
    assert_snapshot!(home.run(&["verify", TALK]).shown(), @r#"
    <talk>  not sound  14 entries
      entry 8: the record is not what was written: the chain breaks here
      what comes before can be saved: threadline export <talk> --at 7 -o FILE
    --- exit code 1
    "#);
    assert_snapshot!(home.run(&["verify", "--all"]).shown(), @r#"
    <talk>  not sound  14 entries
      entry 8: the record is not what was written: the chain breaks here
      what comes before can be saved: threadline export <talk> --at 7 -o FILE
    1 conversation: 1 not sound
    --- exit code 1
    "#);
    let json = home.run(&["verify", TALK, "--json"]);
    assert_eq!(json.code, 1);
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["conversations"][0]["sound"], false);
    assert_eq!(json["conversations"][0]["findings"][0]["seq"], 8);
    // What it says can be done can be done.
    home.run(&["export", TALK, "-o", "all"]).fails(1);
    home.run(&["export", TALK, "--at", "7", "-o", "sound"]).ok();
    home.run(&["import", "sound", "--as-new"]).ok();
}

#[test]
fn what_was_derived_wrongly_is_found_by_the_deeper_look() {
    let home = Home::with(WEATHER);
    tamper(&home, "UPDATE conversation SET messages = messages + 1");
    assert_eq!(home.run(&["verify", TALK]).code, 0);
    assert_snapshot!(home.run(&["verify", TALK, "--deep"]).shown(), @r#"
    <talk>  not sound  14 entries
      the sums are not what the history gives
    --- exit code 1
    "#);
}

#[test]
fn the_doctor_finds_all_well() {
    let home = Home::with(WEATHER);
    let shown = home.run(&["doctor"]).ok();
    let checks: Vec<&str> = shown.lines().filter_map(|line| line.strip_prefix("ok ")).collect();
    assert_eq!(checks.len(), 11, "{shown}");
    assert!(shown.contains("1 conversation\n"), "{shown}");
    let json = home.run(&["doctor", "--json"]).json();
    assert_eq!(json["ok"], true);
    assert!(json["checks"].as_array().unwrap().iter().all(|check| check["ok"] == true));
}

/// What the doctor finds wrong.
fn wrong(home: &Home) -> String {
    let ran = home.run(&["doctor"]);
    assert_eq!(ran.code, 1, "{ran:#?}");
    let json = home.run(&["doctor", "--json"]);
    assert_eq!(json.code, 1);
    assert!(json.out.ends_with("],\"ok\":false}\n"), "{}", json.out);
    let shown = ran.shown();
    shown.lines().filter(|line| line.starts_with("wrong")).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_doctor_tells_of_a_file_that_is_no_database() {
    let home = Home::new();
    home.write(
        ".local/share/threadline/threadline.db",
        "this is no database, it is a poem\n".repeat(99),
    );
    assert_snapshot!(wrong(&home), @"wrong  open          could not open the database ~/.local/share/threadline/threadline.db: the store is damaged: ~/.local/share/threadline/threadline.db cannot be read as a store (file is not a database); choose another path or restore a backup");
    assert_snapshot!(home.run(&["list"]).fails(1), @"error: could not open the database ~/.local/share/threadline/threadline.db: the store is damaged: ~/.local/share/threadline/threadline.db cannot be read as a store (file is not a database); choose another path or restore a backup");
}

#[test]
fn the_doctor_tells_of_a_damaged_index() {
    let home = Home::with(WEATHER);
    // A row is changed while its index looks away: no command stumbles over it.
    tamper(
        &home,
        "PRAGMA writable_schema = ON;
         CREATE TEMP TABLE kept AS
           SELECT * FROM sqlite_schema WHERE name = 'conversation_created';
         DELETE FROM sqlite_schema WHERE name = 'conversation_created';
         PRAGMA writable_schema = RESET;
         UPDATE conversation SET created_at = created_at + 1;
         PRAGMA writable_schema = ON;
         INSERT INTO sqlite_schema SELECT * FROM kept;
         PRAGMA writable_schema = RESET;",
    );
    let wrong = wrong(&home);
    assert!(wrong.starts_with("wrong  file          the file is damaged: "), "{wrong}");
    assert!(wrong.contains("threadline verify --all"), "{wrong}");
}

#[test]
fn the_doctor_tells_of_a_newer_database() {
    let home = Home::with(WEATHER);
    tamper(&home, "PRAGMA user_version = 99");
    assert_snapshot!(wrong(&home), @"wrong  open          could not open the database ~/.local/share/threadline/threadline.db: this store is of version 99, this program knows up to 8; use a newer threadline");
    assert_snapshot!(home.run(&["list", "--json"]).fails(1), @r#"{"error":{"message":"could not open the database ~/.local/share/threadline/threadline.db: this store is of version 99, this program knows up to 8; use a newer threadline"}}"#);
}

#[test]
fn the_doctor_tells_of_a_folder_in_the_place_of_the_database() {
    let home = Home::new();
    std::fs::create_dir_all(home.database()).unwrap();
    assert_snapshot!(wrong(&home), @"wrong  open          could not open the database ~/.local/share/threadline/threadline.db: could not open the store: ~/.local/share/threadline/threadline.db is a folder; name a file in it");
}

/// The queries of docs/store-schema.md run and find something.
#[test]
fn the_queries_of_the_schema_page_run() {
    let home = Home::new();
    home.run(&["run", "add 2 and 3"]).ok();
    let page = include_str!("../../../../docs/store-schema.md");
    let queries: Vec<&str> =
        page.split("```sql\n").skip(1).map(|part| part.split("```").next().unwrap()).collect();
    assert_eq!(queries.len(), 3);
    let connection = Connection::open(home.database()).unwrap();
    for query in queries {
        let found = connection.prepare(query).unwrap().exists([]).unwrap();
        assert!(found, "{query}");
    }
}
