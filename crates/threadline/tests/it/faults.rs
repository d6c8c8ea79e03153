//! Faults of the system: a call of the program to the system fails, at any of its occurrences.
//! Nothing that was acknowledged is lost, nothing is done twice, and what is said of it is true.
//!
//! `strace` injects the faults. `THREADLINE_FIRE_FAULTS` says how many there are of each kind of
//! run, `THREADLINE_FIRE_SEED` which: see "Tests under fire" in `CONTRIBUTING.md`.

use std::fs;
use std::process::Command;

use threadline_testing::ids::Choices;

use crate::home::{Home, Ran, TALK, export_of, remark};
use crate::kills::knob;
use crate::stories::WEATHER;

/// The calls that fail, and how. Those that wake threads of the program or unlock files are not among
/// them: they do not fail.
const CALLS: &[(&str, &[&str])] = &[
    ("fsync", &["EIO", "ENOSPC"]),
    ("fdatasync", &["EIO", "ENOSPC"]),
    ("pwrite64", &["EIO", "ENOSPC", "EINTR", "EAGAIN"]),
    ("pread64", &["EIO", "EINTR"]),
    ("openat", &["EIO", "ENOSPC", "EACCES", "EINTR"]),
    ("ftruncate", &["EIO", "ENOSPC", "EACCES"]),
    ("rename", &["EIO", "ENOSPC", "EACCES"]),
    ("renameat", &["EIO", "ENOSPC", "EACCES"]),
    ("read", &["EIO", "EINTR", "EAGAIN"]),
];
/// How long a run may take, in seconds.
const TIME_LIMIT_S: &str = "120";
/// The last occurrence of a call that fails.
const LAST: u64 = 24;

/// A fault: which call fails, how, and at which of its occurrences in each thread.
struct Fault {
    call: &'static str,
    error: &'static str,
    when: u64,
}

impl Fault {
    fn any(choices: &mut Choices) -> Self {
        let (call, errors) = CALLS[choices.index(CALLS.len())];
        let error = errors[choices.index(errors.len())];
        // Most of what can go wrong happens early; a few calls occur often.
        let last = if choices.percent(50) { 4 } else { LAST };
        Self { call, error, when: 1 + choices.below(last) }
    }

    /// Runs the program with this fault; none if it hit the system's loader before the program.
    fn run(&self, home: &Home, arguments: &[&str]) -> Option<Ran> {
        let Self { call, error, when } = self;
        let mut command = Command::new("timeout");
        command.args([
            "-s",
            "KILL",
            TIME_LIMIT_S,
            "strace",
            "-f",
            "-qq",
            "--seccomp-bpf",
            "-o",
            "strace.log",
        ]);
        command.args(["-e", &format!("trace={call}"), "-e", "signal=none"]);
        command.args(["-e", &format!("inject={call}:error={error}:when={when}")]);
        let program = home.command(arguments);
        command.arg(program.get_program()).args(program.get_args());
        command.env_clear().current_dir(home.path("."));
        command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("PATH", "/usr/bin:/bin").stdin(std::process::Stdio::null());
        let output = command.output().unwrap();
        assert!(output.status.code().is_some(), "{self}: it was killed: {output:?}");
        let ran = home.ran(output);
        let loader = ran.code == 127 || ran.err.contains("shared librar");
        (!loader).then_some(ran)
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} fails with {} at {}", self.call, self.error, self.when)
    }
}

/// Whether `strace` can be used here. It is an error if it must be there and is not.
#[expect(clippy::disallowed_methods, reason = "whether strace must be there")]
fn has_strace() -> bool {
    let traced = Command::new("strace").args(["-f", "-qq", "-o", "/dev/null", "true"]).status();
    let works = traced.is_ok_and(|status| status.success());
    if !works {
        let required = std::env::var("THREADLINE_TEST_REQUIRE").unwrap_or_default();
        assert!(!required.contains("strace"), "strace must be installed, and may trace");
        remark("skipped: strace is not installed, or may not trace here");
    }
    works
}

/// Has runs fail in many ways. `check` looks at a home after each, and at what was printed.
fn faults(kind: u64, home: impl Fn() -> Home, arguments: &[&str], check: impl Fn(&Home, &Ran)) {
    if !has_strace() {
        return;
    }
    let count = knob("THREADLINE_FIRE_FAULTS", 6);
    let mut choices = Choices::new(knob("THREADLINE_FIRE_SEED", 1) * 100 + kind);
    let (mut done, mut failed) = (0, 0);
    while done < count {
        let fault = Fault::any(&mut choices);
        let home = home();
        let Some(ran) = fault.run(&home, arguments) else { continue };
        done += 1;
        failed += u64::from(ran.code != 0);
        let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            is_true(&fault, &ran);
            check(&home, &ran);
            home.run(&["verify", "--all", "--deep"]).ok();
            home.run(&["resume", "--all"]).ok();
            check(&home, &ran);
            home.run(&["verify", "--all", "--deep"]).ok();
        }));
        if let Err(panic) = checked {
            remark(&format!("{arguments:?}: {fault}: {ran:#?}"));
            std::panic::resume_unwind(panic);
        }
    }
    remark(&format!("{arguments:?}: {done} faults, {failed} made it fail"));
}

/// What is said of a fault is true, and says what to do.
fn is_true(fault: &Fault, ran: &Ran) {
    let said = &ran.err;
    assert!(!said.contains("panicked"), "{said}");
    assert!(!said.contains("backup"), "a fault is no damage: {said}");
    assert!(!said.contains("another program"), "a fault is no damage: {said}");
    if fault.error != "ENOSPC" {
        assert!(!said.contains("disk is full"), "{said}");
    }
    if ran.code != 0 {
        assert!(!said.trim().is_empty(), "it fails without a word");
    }
}

fn id_of(ran: &Ran) -> Option<String> {
    ran.err.lines().find_map(|line| line.strip_prefix("conversation ")).map(str::to_owned)
}

#[test]
fn a_sum_survives_faults() {
    faults(1, Home::new, &["run", "add 2 and 3"], |home, ran| {
        if let Some(id) = id_of(ran) {
            let inputs = home.bodies(&id, "input").len();
            assert!(inputs <= 1, "{inputs}");
            assert!(ran.code != 0 || inputs == 1);
        }
        if ran.code == 0 {
            assert!(ran.out.contains('5'), "{}", ran.out);
            let answers = home.bodies(&id_of(ran).unwrap(), "output");
            assert!(answers.last().unwrap().to_string().contains('5'), "{answers:?}");
        }
    });
}

#[test]
fn an_effect_survives_faults() {
    let home = || {
        let home = Home::new();
        home.follows(
            "turn\n call dev_once {\"line\":\"x\"}\nthen\n say done\nturn else\n say done\n",
        );
        home
    };
    faults(2, home, &["run", "go"], |home, ran| {
        let times = home.ledger().len();
        assert!(times <= 1, "it was done {times} times");
        if ran.code == 0 {
            let finished = home.bodies(&id_of(ran).unwrap(), "tool_finished");
            let success = finished.iter().filter(|body| body["status"] == "success").count();
            assert!(success <= times, "{finished:?}");
        }
    });
}

#[test]
fn an_edit_survives_faults() {
    let (before, after) = ("one\ntwo\nthree\n", "one\n2\nthree\n");
    let home = || {
        let home = Home::new();
        home.follows(
            "turn\n call edit_file {\"path\":\"list\",\"old\":\"two\",\"new\":\"2\"}\nthen\n say done\n\
             turn else\n say done\n",
        );
        let config = String::from_utf8(home.read(".config/threadline/config.toml")).unwrap();
        let allowed = "[[policy]]\ntool = \"edit_file\"\nverdict = \"allow\"\n";
        home.write(".config/threadline/config.toml", config + allowed);
        home.write("list", before);
        home
    };
    faults(3, home, &["run", "go"], |home, ran| {
        let text = fs::read_to_string(home.path("list")).unwrap();
        assert!(text == before || text == after, "half an edit: {text:?}");
        let Some(id) = id_of(ran) else { return };
        for finished in home.bodies(&id, "tool_finished") {
            match finished["status"].as_str().unwrap() {
                "success" => assert_eq!(text, after),
                "failed" => assert_eq!(text, before),
                _ => {}
            }
        }
    });
}

#[test]
fn an_import_survives_faults() {
    let home = || {
        let home = Home::new();
        home.write("talk", export_of(WEATHER));
        home
    };
    faults(4, home, &["import", "talk"], |home, ran| {
        let listed = home.run(&["list", "--all", "--json"]).json();
        let all = listed["conversations"].as_array().unwrap();
        assert!(all.iter().all(|one| one["id"] == TALK && one["entries"] == 14), "{all:?}");
        assert!(ran.code != 0 || all.len() == 1, "it was told that it is here");
        // Once more, without a fault, it is here whatever became of it.
        home.run(&["import", "talk"]).ok();
    });
}

#[test]
fn an_export_survives_faults() {
    let home = || Home::with(WEATHER);
    faults(5, home, &["export", TALK, "-o", "copy"], |home, ran| {
        let whole = home.run(&["export", TALK]).bytes;
        match fs::read(home.path("copy")) {
            Ok(copy) => assert_eq!(copy, whole, "half an export"),
            Err(_) => assert_ne!(ran.code, 0, "it was told that it is there"),
        }
    });
}
