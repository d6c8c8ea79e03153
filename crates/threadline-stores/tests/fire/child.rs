//! Child processes: the test binary runs itself again, and hears from it line by line.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStderr, Command, Stdio};

use super::witness::{Event, Witness};

const ARGUMENTS: &str = "THREADLINE_FIRE_CHILD";

/// A command that runs one of the ignored tests of this binary as a child.
pub(crate) fn command(test: &str, arguments: &[String]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(test_arguments(test)).env(ARGUMENTS, arguments.join("\n"));
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// What the test binary is told to run only this test.
pub(crate) fn test_arguments(test: &str) -> [&str; 4] {
    ["--exact", test, "--ignored", "--nocapture"]
}

/// What this process was told by the one that began it; none if it is no child.
#[expect(clippy::disallowed_methods, reason = "a child is told by its environment what to do")]
pub(crate) fn arguments() -> Option<Vec<String>> {
    let arguments = std::env::var(ARGUMENTS).ok()?;
    Some(arguments.split('\n').map(str::to_owned).collect())
}

/// Says something to the parent. A line is written at once, so that it is never half there.
pub(crate) fn tell(line: &str) {
    // A parent that is gone needs no answer.
    drop(std::io::stderr().write_all(format!("{line}\n").as_bytes()));
}

/// Tells the parent what it sees.
pub(crate) struct Telling;

impl Witness for Telling {
    fn see(&self, event: Event) {
        tell(&event.to_string());
    }
}

/// A child that is killed, at the latest, when this is dropped.
pub(crate) struct Running {
    child: Child,
    lines: BufReader<ChildStderr>,
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap());
        Self { child, lines }
    }

    /// What the child says next; none once it has ended.
    pub(crate) fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line.strip_suffix('\n').map(str::to_owned)
    }

    /// Reads until the child says this.
    pub(crate) fn until(&mut self, wanted: &str) {
        let mut said = Vec::new();
        while let Some(line) = self.line() {
            if line == wanted {
                return;
            }
            said.push(line);
        }
        panic!("the child never said {wanted:?}, but: {said:#?}");
    }

    /// Says something to the child.
    pub(crate) fn say(&mut self, line: &str) {
        let stdin = self.child.stdin.as_mut().unwrap();
        stdin.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
    }

    /// What the child still says until its end, and whether it ended well.
    pub(crate) fn rest(mut self) -> (Vec<String>, bool) {
        let mut lines = Vec::new();
        while let Some(line) = self.line() {
            lines.push(line);
        }
        let ended = self.child.wait().unwrap().success();
        (lines, ended)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that has ended cannot be killed, and need not be.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Waits until the parent says something.
pub(crate) fn wait() {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
}
