//! Settings: the config file, the environment, the command line, the log.

use insta::assert_snapshot;

use crate::home::Home;
use crate::stories::WEATHER;

const CONFIG: &str = ".config/threadline/config.toml";

/// Which database the program says that it uses.
fn database(home: &Home, variables: &[(&str, &str)], arguments: &[&str]) -> String {
    let checked = home.run_with(variables, &[arguments, &["doctor"]].concat()).shown();
    let line = checked.lines().find_map(|line| line.strip_prefix("ok     database ")).unwrap();
    line.split(", ").next().unwrap().trim().to_owned()
}

#[test]
fn the_command_line_beats_the_environment_which_beats_the_file() {
    let home = Home::new();
    assert_eq!(database(&home, &[], &[]), "~/.local/share/threadline/threadline.db");
    home.write(CONFIG, "db = \"from-file.db\"\n");
    // What a file names is beside that file.
    assert_eq!(database(&home, &[], &[]), "~/.config/threadline/from-file.db");
    let environment = [("THREADLINE_DB", "from-environment.db")];
    assert_eq!(database(&home, &environment, &[]), "from-environment.db");
    assert_eq!(database(&home, &environment, &["--db", "from-flag.db"]), "from-flag.db");
}

#[test]
fn folders_are_where_the_desktop_says() {
    let home = Home::new();
    let data = home.path("data");
    let variables = [("XDG_DATA_HOME", data.to_str().unwrap())];
    assert_eq!(database(&home, &variables, &[]), "~/data/threadline/threadline.db");
    assert!(data.join("threadline/threadline.db").exists());
    assert!(!home.database().exists());
}

#[test]
fn another_config_file_can_be_named() {
    let home = Home::new();
    home.write("other.toml", "db = \"other.db\"\n");
    assert_eq!(database(&home, &[], &["--config", "other.toml"]), "other.db");
    assert_eq!(database(&home, &[("THREADLINE_CONFIG", "other.toml")], &[]), "other.db");
    assert_snapshot!(home.run(&["--config", "missing.toml", "list"]).fails(1), @"error: could not read the config file missing.toml: No such file or directory (os error 2)");
}

#[test]
fn a_mistake_in_the_config_file_is_told() {
    let home = Home::new();
    home.write(CONFIG, "db = \"x.db\"\ncolour = \"red\"\n");
    assert_snapshot!(home.run(&["list"]).fails(1), @"error: could not understand the config file ~/.config/threadline/config.toml: line 2: colour: unknown field `colour`, expected one of `db`, `log`, `model`, `route`, `endpoints`, `models`, `routes`, `agents`, `limits`, `policy`, `dev`");
    home.write(CONFIG, "db = 3\n");
    let told = home.run(&["list", "--json"]).fails(1);
    assert!(
        told.starts_with("{\"error\":{\"message\":\"could not understand the config file ~/"),
        "{told}"
    );
}

#[test]
fn an_empty_name_is_told() {
    let home = Home::new();
    assert_snapshot!(home.run_with(&[("THREADLINE_DB", "")], &["list"]).fails(2), @r#"
    error: invalid value '' for '--db <FILE>': it is empty; name a file, or unset the variable

    For more information, try '--help'.
    "#);
}

#[test]
fn without_a_home_a_database_can_be_named() {
    let home = Home::new();
    let mut command = home.command(&["--db", "here.db", "list"]);
    assert!(command.env_remove("HOME").output().unwrap().status.success());
    assert!(home.path("here.db").exists());
}

/// What is in the log, without the times.
fn logged(home: &Home) -> Vec<String> {
    let log = home.path(".local/share/threadline/threadline.log");
    let text = std::fs::read_to_string(log).unwrap_or_default();
    text.lines().map(|line| line.split_once(' ').unwrap().1.trim_start().to_owned()).collect()
}

#[test]
fn nothing_is_logged_unless_asked() {
    let home = Home::with(WEATHER);
    home.run(&["rewind", "last"]).ok();
    home.run_with(&[("THREADLINE_LOG", "")], &["list"]).ok();
    assert!(!home.path(".local/share/threadline/threadline.log").exists());
}

#[test]
fn the_log_is_written_by_category() {
    let home = Home::with(WEATHER);
    home.run_with(&[("THREADLINE_LOG", "History")], &["rewind", "last"]).ok();
    let first = logged(&home);
    assert!(first[0].starts_with("INFO History: opened the store"), "{first:#?}");
    assert!(first.iter().any(|line| line.starts_with("DEBUG History: appends")), "{first:#?}");
    // A level keeps the rest out, and what was logged before stays.
    home.run(&["--log", "history=info", "rewind", "last", "--undo"]).ok();
    let second = logged(&home);
    assert_eq!(second[..first.len()], first);
    assert!(second[first.len()..].iter().all(|line| line.starts_with("INFO ")), "{second:#?}");
    // Another category has nothing to say of the store.
    home.run_with(&[("THREADLINE_LOG", "History")], &["--log", "Tools,Widgets", "list"]).ok();
    assert_eq!(logged(&home), second);
    // The file can ask for it too.
    home.write(CONFIG, "log = \"all\"\n");
    home.run(&["list"]).ok();
    assert!(logged(&home).len() > second.len());
}

#[test]
fn the_log_does_nothing_to_a_terminal() {
    let home = Home::new();
    home.run(&["--log", "all", "--db", "x\u{1b}[2J\n\u{202e}.db", "list"]).ok();
    let log = logged(&home);
    assert!(log.iter().any(|line| line.ends_with("path=x␛[2J <U+202E>.db")), "{log:#?}");
}

#[test]
fn a_category_that_is_not_there_is_told() {
    let home = Home::new();
    let fails = |log: &str| home.run_with(&[("THREADLINE_LOG", log)], &["list"]).fails(1);
    assert_snapshot!(fails("Histories"), @r#"error: there is no log category "Histories"; there are History, Provider, Tools, StateMachine, Widgets and all"#);
    assert_snapshot!(fails("History=loud"), @r#"error: there is no log level "loud"; there are off, error, warn, info, debug and trace"#);
}
