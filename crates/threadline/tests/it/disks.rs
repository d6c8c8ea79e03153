//! Disks: a database that can only be read, a full disk, and one that another process has locked.
//! Commands that read work, and what runs on waits and goes on.
//!
//! Read-only and full file systems need a mount namespace of their own, and so root; without it
//! these tests are skipped with a message.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::home::{Home, Ran, TALK, remark};
use crate::stories::WEATHER;

/// Commands that only read, and what each must print.
const READING: &[(&[&str], &str)] = &[
    (&["list"], "Weather in Oslo"),
    (&["show", "last"], "It rains in Oslo."),
    (&["search", "oslo"], "what is the weather in Oslo?"),
    (&["verify", "--all", "--deep"], "all sound"),
    (&["context", "last"], "be brief"),
    (&["export", "last"], "\"end\""),
    (&["tools"], "calculator"),
    (&["models"], "guide"),
];

/// Runs a shell script in a mount namespace of its own, where `$PROGRAM` is the program; none if
/// that is not possible here.
fn in_namespace(home: &Home, script: &str) -> Option<Ran> {
    let mut mount = Command::new("unshare");
    mount.args(["-m", "mount", "-t", "tmpfs", "none", "/mnt"]);
    if !mount.output().is_ok_and(|output| output.status.success()) {
        remark("skipped: file systems cannot be mounted here");
        return None;
    }
    let program = home.command(&[] as &[&str]);
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-euc", script]).env_clear().current_dir(home.path("."));
    command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    command.env("PROGRAM", program.get_program()).stdin(Stdio::null());
    Some(home.ran(command.output().unwrap()))
}

/// The script that runs every reading command, and then one that must write.
fn read_all() -> String {
    let run = |(number, (arguments, _)): (usize, &(&[&str], &str))| {
        let arguments = arguments.join(" ");
        format!(
            "echo \"== {number}\"\n\
             \"$PROGRAM\" {arguments} 2>told-$$ || {{ \
             echo \"FAILED: {arguments}\"; cat told-$$; }}\n"
        )
    };
    READING.iter().enumerate().map(run).collect::<String>() + "rm told-$$\n"
}

fn check_read(ran: &Ran) {
    assert!(!ran.out.contains("FAILED"), "{ran:?}");
    for (number, (arguments, printed)) in READING.iter().enumerate() {
        let part = ran.out.split(&format!("== {number}\n")).nth(1).unwrap();
        let part = part.split("\n== ").next().unwrap();
        assert!(part.contains(printed), "{arguments:?} printed {part}");
    }
}

#[test]
fn a_read_only_file_system_can_be_read() {
    let home = Home::with(WEATHER);
    home.run(&["search", "oslo"]).ok();
    let mount = "mount --bind .local .local && mount -o remount,ro,bind .local\n";
    let write =
        "\"$PROGRAM\" run 'add 2 and 3' 2>&1 && echo WRITTEN; \"$PROGRAM\" doctor 2>&1 || true\n";
    let script = format!("{mount}{}echo '== end'\n{write}", read_all());
    let Some(ran) = in_namespace(&home, &script) else { return };
    check_read(&ran);
    let last = ran.out.split("== end\n").nth(1).unwrap();
    assert!(!last.contains("WRITTEN"), "{last}");
    assert!(last.contains("cannot be written"), "{last}");
    assert!(last.contains("can be read but not written"), "{last}");
}

#[test]
fn a_full_disk_can_be_read() {
    let home = Home::with(WEATHER);
    home.run(&["search", "oslo"]).ok();
    let mount = "cp -r .local/share/threadline full-$$ && \
                 mount -t tmpfs -o size=4m none .local/share/threadline && \
                 cp -r full-$$/. .local/share/threadline/ && rm -r full-$$\n\
                 dd if=/dev/zero of=.local/share/threadline/filler bs=4k 2>/dev/null || true\n";
    let write = "\"$PROGRAM\" run 'add 2 and 3' 2>&1 && echo WRITTEN; true\n";
    let script = format!("{mount}{}echo '== end'\n{write}", read_all());
    let Some(ran) = in_namespace(&home, &script) else { return };
    check_read(&ran);
    let last = ran.out.split("== end\n").nth(1).unwrap();
    assert!(!last.contains("WRITTEN"), "{last}");
    assert!(last.contains("full") || last.contains("has room"), "{last}");
}

/// A user who may read the file but not write it.
#[test]
fn a_file_of_another_user_can_be_read() {
    let home = Home::with(WEATHER);
    let folder = home.database().parent().unwrap().to_owned();
    // The log that another owner would need is not there once the last one has closed the file.
    for path in [home.path("."), home.path(".local"), home.path(".local/share"), folder] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::set_permissions(home.database(), fs::Permissions::from_mode(0o444)).unwrap();
    let mut nobody = Command::new("setpriv");
    nobody.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    let program = home.command(&["list"]);
    nobody.arg(program.get_program()).args(program.get_args());
    nobody.env_clear().envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let Ok(output) = nobody.current_dir("/").env("PATH", "/usr/bin").output() else {
        return remark("skipped: setpriv is not installed");
    };
    let ran = home.ran(output);
    if ran.err.contains("setpriv") || ran.code == 126 || ran.code == 127 {
        return remark(&format!("skipped: nobody else can run the program here: {ran:?}"));
    }
    assert!(ran.out.contains("Weather in Oslo"), "{ran:?}");
    assert!(ran.err.contains("opened only to be read"), "{ran:?}");
}

/// While another process has the file locked, reading commands still read.
#[test]
fn a_locked_database_can_be_read() {
    let home = Home::with(WEATHER);
    let locking = Connection::open(home.database()).unwrap();
    locking.execute_batch("BEGIN IMMEDIATE").unwrap();
    let ran = home.run(&["show", TALK]);
    assert!(ran.out.contains("It rains in Oslo."), "{ran:?}");
    assert!(ran.err.contains("locked"), "{ran:?}");
    locking.execute_batch("ROLLBACK").unwrap();
}

/// `watch` waits for a database that is locked for longer than it waits by itself, says so once, and
/// goes on.
#[test]
fn watch_survives_a_locked_database() {
    let home = Home::new();
    home.run(&["run", "add 1 and 1"]).ok();
    let mut command = home.command(&["watch", "--json"]);
    let locking = Connection::open(home.database()).unwrap();
    locking.busy_timeout(Duration::from_secs(5)).unwrap();
    locking.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut watch = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(watch.stderr.take().unwrap()).lines();
    let began = Instant::now();
    let line = told.next().unwrap().unwrap();
    assert!(line.contains("cannot be used now") && line.contains("locked"), "{line}");
    // It is tried again and again meanwhile.
    std::thread::sleep(Duration::from_secs(8).saturating_sub(began.elapsed()));
    locking.execute_batch("ROLLBACK").unwrap();
    let line = told.next().unwrap().unwrap();
    assert!(line.contains("can be used again"), "{line}");
    // Something waits, and the file is locked before it can be taken up.
    std::thread::sleep(Duration::from_millis(800));
    let pid = watch.id().to_string();
    let signal = |signal: &str| Command::new("kill").args([signal, &pid]).status().unwrap();
    signal("-STOP");
    home.run(&["send", "last", "add 40 and 2"]).ok();
    locking.execute_batch("BEGIN IMMEDIATE").unwrap();
    signal("-CONT");
    std::thread::sleep(Duration::from_secs(7));
    locking.execute_batch("ROLLBACK").unwrap();
    let mut out = BufReader::new(watch.stdout.take().unwrap()).lines();
    let answer = out.find(|line| line.as_ref().is_ok_and(|line| line.contains("\"answer\"")));
    assert!(answer.unwrap().unwrap().contains("42"));
    signal("-INT");
    assert_eq!(watch.wait().unwrap().code(), Some(0));
}

/// A chat in a pipe says that it could not keep a message, and takes the next.
#[test]
fn chat_survives_a_locked_database() {
    let home = Home::new();
    home.run(&["run", "add 1 and 1"]).ok();
    let mut command = home.command(&["chat", "last"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut chat = command.spawn().unwrap();
    let mut input = chat.stdin.take().unwrap();
    let mut out = BufReader::new(chat.stdout.take().unwrap()).lines();
    let mut told = BufReader::new(chat.stderr.take().unwrap()).lines();
    writeln!(input, "add 2 and 3").unwrap();
    assert!(out.next().unwrap().unwrap().contains('5'));
    let locking = Connection::open(home.database()).unwrap();
    locking.busy_timeout(Duration::from_secs(5)).unwrap();
    locking.execute_batch("BEGIN IMMEDIATE").unwrap();
    writeln!(input, "add 3 and 4").unwrap();
    let line = told.find(|line| line.as_ref().is_ok_and(|line| line.contains("not recorded yet")));
    assert!(line.is_some());
    locking.execute_batch("ROLLBACK").unwrap();
    writeln!(input, "add 40 and 2").unwrap();
    drop(input);
    let rest: Vec<String> = out.map(Result::unwrap).collect();
    assert!(rest.iter().any(|line| line.contains("42")), "{rest:?}");
    chat.wait().unwrap();
    home.run(&["verify", "--all", "--deep"]).ok();
}

/// `watch` waits while the disk is full, says so once, and goes on when there is room.
#[test]
fn watch_survives_a_full_disk() {
    let home = Home::new();
    home.run(&["run", "add 1 and 1"]).ok();
    let script = "\
        mkdir disk && cp -r .local/share/threadline/. disk-before 2>/dev/null || cp -r .local/share/threadline disk-before\n\
        mount -t tmpfs -o size=4m none disk && cp -r disk-before/. disk/\n\
        export THREADLINE_DB=$PWD/disk/threadline.db\n\
        \"$PROGRAM\" watch >out 2>told & WATCH=$!\n\
        sleep 1\n\
        \"$PROGRAM\" send last 'add 20 and 1' >sent 2>&1\n\
        dd if=/dev/zero of=disk/filler bs=1k 2>/dev/null || true\n\
        \"$PROGRAM\" send last 'add 40 and 2' >full 2>&1 || true\n\
        sleep 3\n\
        rm disk/filler\n\
        \"$PROGRAM\" send last 'add 50 and 3' >again 2>&1\n\
        for i in $(seq 100); do grep -q 53 out && break; sleep 0.2; done\n\
        kill -INT $WATCH; wait $WATCH\n\
        \"$PROGRAM\" verify --all --deep\n\
        echo '== out'; cat out; echo '== told'; cat told; echo '== full'; cat full\n";
    let Some(ran) = in_namespace(&home, script) else { return };
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains("all sound"), "{ran:?}");
    let out = ran.out.split("== out\n").nth(1).unwrap().split("== told").next().unwrap();
    assert!(out.contains("21") && out.contains("53"), "{ran:?}");
    let told = ran.out.split("== told\n").nth(1).unwrap().split("== full").next().unwrap();
    assert!(told.lines().filter(|line| line.contains("cannot be used now")).count() <= 3, "{told}");
    assert!(!told.contains("panicked"), "{told}");
}
