//! Pipes: output that is not read to its end, or cannot be written.

use std::fs::OpenOptions;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use crate::home::{Home, TALK};
use crate::stories::WEATHER;

/// Reads one line of what the program prints, then no more.
fn first_line(home: &Home, arguments: &[&str]) -> (String, i32, String) {
    let mut command = home.command(arguments);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::with_capacity(64, child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let output = child.wait_with_output().unwrap();
    (line, output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn who_stops_reading_is_not_told_of_an_error() {
    let home = Home::new();
    // More than fits into a pipe.
    home.run(&["dev", "generate", "--entries", "400"]).ok();
    for arguments in [
        &["show", "last", "--all"][..],
        &["export", "last"],
        &["search", "the", "-n", "400"],
        &["show", "--help"],
    ] {
        let (line, code, told) = first_line(&home, arguments);
        assert!(line.len() > 10, "{arguments:?}: {line:?}");
        assert_eq!((code, &*told), (0, ""), "{arguments:?}");
    }
}

#[test]
fn an_answer_that_nobody_reads_is_kept() {
    let home = Home::new();
    home.follows("turn else\n huge 200000\n");
    for arguments in [&["run", "go"][..], &["run", "go", "--json"], &["resume", "last"]] {
        let mut child = home.command(arguments).stdout(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        assert_eq!(child.wait().unwrap().code(), Some(0), "{arguments:?}");
        let listed = home.run(&["list", "--json"]).json();
        assert_eq!(listed["conversations"][0]["messages"], 2);
    }
    let mut command = home.command(&["chat"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    drop(child.stdin.take().unwrap().write_all(b"one\ntwo\nthree\n"));
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(told.starts_with("to come back: "), "{told}");
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    let home = Home::with(WEATHER);
    for arguments in [&["list"][..], &["show", TALK, "--json"], &["export", TALK]] {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = home.command(arguments).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains("could not write the "), "{told}");
    }
}

#[test]
fn colours_are_for_terminals() {
    let home = Home::with(WEATHER);
    let coloured = home.run_with(&[("CLICOLOR_FORCE", "1")], &["list"]).ok();
    assert!(coloured.contains("\u{1b}[36m"), "{coloured:?}");
    for variables in [&[][..], &[("NO_COLOR", "1")]] {
        let plain = home.run_with(variables, &["list"]).ok();
        assert!(!plain.contains('\u{1b}'), "{plain:?}");
    }
}
