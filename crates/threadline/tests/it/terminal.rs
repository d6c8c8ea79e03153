//! A chat in a terminal: what a person sees, and what the keys do.

use std::io::{Read as _, Write};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use insta::assert_snapshot;
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use crate::home::Home;

const CTRL_C: &str = "\u{3}";
const CTRL_D: &str = "\u{4}";

/// A terminal with the program in it.
struct Terminal {
    screen: Arc<Mutex<vt100::Parser>>,
    keys: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    _master: Box<dyn MasterPty + Send>,
}

impl Terminal {
    fn new(home: &Home, arguments: &[&str]) -> Self {
        let size = PtySize { rows: 30, cols: 80, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_threadline"));
        command.env_clear();
        command.env("HOME", home.path(""));
        command.env("TERM", "xterm-256color");
        command.cwd(home.path(""));
        command.args(arguments);
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let (rows, columns) = (30.try_into().unwrap(), 80.try_into().unwrap());
        let screen = Arc::new(Mutex::new(vt100::Parser::new(rows, columns, 0)));
        let mut output = pair.master.try_clone_reader().unwrap();
        let shown = Arc::clone(&screen);
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = output.read(&mut bytes) {
                shown.lock().unwrap().process(&bytes[..read]);
            }
        });
        let keys = pair.master.take_writer().unwrap();
        Self { screen, keys, child, _master: pair.master }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    fn shown(&self) -> String {
        let screen = self.screen.lock().unwrap().screen().contents();
        screen.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
    }

    /// Waits until the screen ends like this.
    fn until(&self, end: &str) -> String {
        self.wait(&|shown| shown.trim_end().ends_with(end))
    }

    /// Waits until the program says how to come back.
    fn until_end(&self) -> String {
        self.wait(&|shown| shown.contains("to come back: threadline chat "))
    }

    fn wait(&self, is: &dyn Fn(&str) -> bool) -> String {
        for _ in 0..6_000 {
            let shown = self.shown();
            if is(&shown) {
                return shown;
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("this stays:\n{}", self.shown());
    }

    fn exit_code(mut self) -> u32 {
        self.child.wait().unwrap().exit_code()
    }
}

/// A screen without what differs from run to run.
fn redacted(shown: &str) -> String {
    let is_id = |word: &str| word.len() == 36 && word.matches('-').count() == 4;
    let line = |line: &str| {
        let words = line.split(' ').map(|word| if is_id(word) { "<id>" } else { word });
        words.collect::<Vec<_>>().join(" ") + "\n"
    };
    shown.lines().map(line).collect()
}

#[test]
fn a_person_talks() {
    let home = Home::new();
    let mut terminal = Terminal::new(&home, &[]);
    terminal.until("›");
    terminal.press("add 2 and 3\r");
    terminal.until("2 + 3 = 5.\n\n›");
    terminal.press("/undo\r");
    terminal.until("--undo\n›");
    terminal.press(CTRL_D);
    let shown = redacted(&terminal.until_end());
    assert_snapshot!(shown, @"
    threadline keeps this conversation: kill it, and it goes on where it was.
    The built-in offline model guide answers. Try:
      add 2 and 3 · remember that I like tea · read README.md · help
    /help shows the commands, Ctrl-C stops an answer, Ctrl-D leaves.

    › add 2 and 3
    · calculator 2 + 3
    ✓ 2 + 3 = 5
    2 + 3 = 5.

    › /undo
    back at entry 3; 0 messages count now; to undo: threadline rewind <id> --undo
    ›
    to come back: threadline chat <id>
    ");
    assert_eq!(terminal.exit_code(), 0);
}

#[test]
fn an_answer_is_stopped_and_the_talk_goes_on() {
    let home = Home::new();
    home.follows("turn\n say Well, let me see\n hang\nturn else\n say Here I am.\n");
    let mut terminal = Terminal::new(&home, &[]);
    terminal.until("›");
    terminal.press("go\r");
    terminal.until("Well, let me");
    terminal.press(CTRL_C);
    terminal.until("· cancelled\n\n›");
    assert_eq!(home.bodies("last", "turn_ended")[0]["reason"], "cancelled");
    terminal.press("again\r");
    terminal.until("Here I am.\n\n›");
    // At the prompt it leaves.
    terminal.press(CTRL_C);
    terminal.until_end();
    assert_eq!(terminal.exit_code(), 0);
}

/// What a person is asked.
const ALLOW: &str = "allow it? y yes · n no · a always · d never · other words take over:";

#[test]
fn a_person_is_asked_about_a_call() {
    let home = Home::new();
    home.follows("turn\n call dev_ask {\"line\":\"a\\u001b[2Jb\"}\nthen\n say Done.\nturn\n call dev_ask {\"line\":\"one\\ntwo\"}\nthen\n say Not done.\n");
    let mut terminal = Terminal::new(&home, &[]);
    terminal.until("›");
    terminal.press("go\r");
    terminal.until(ALLOW);
    terminal.press("/frob\r");
    terminal.until(&format!("/help shows what there is\n  {ALLOW}"));
    terminal.press("y\r");
    terminal.until("Done.\n\n›");
    terminal.press("go\r");
    terminal.until(ALLOW);
    terminal.press("\r");
    let shown = terminal.until("Not done.\n\n›");
    assert_snapshot!(redacted(&shown), @r#"
    threadline keeps this conversation: kill it, and it goes on where it was.
    scripted answers. Try:
      add 2 and 3 · remember that I like tea · read README.md · help
    /help shows the commands, Ctrl-C stops an answer, Ctrl-D leaves.

    › go
    · dev_ask a␛[2Jb
    ? dev_ask of assistant wants to run; it has an effect, and must run once only
      line: "a\u001b[2Jb"
      always and never are about dev_ask in this conversation; no answer in 15 min means no
      allow it? y yes · n no · a always · d never · other words take over: /frob
    error: there is no command /frob; /help shows what there is
      allow it? y yes · n no · a always · d never · other words take over: y
    ✓ the line is added
    Done.

    › go
    · dev_ask one two
    ? dev_ask of assistant wants to run; it has an effect, and must run once only
      line:
        | one
        | two
      always and never are about dev_ask in this conversation; no answer in 15 min means no
      allow it? y yes · n no · a always · d never · other words take over:
    – dev_ask: not run: it was declined
    Not done.

    ›
    "#);
    assert_eq!(home.ledger().len(), 1);
    // Leaving in the middle of a question leaves it open.
    terminal.press("/exit\r");
    terminal.until_end();
    assert_eq!(terminal.exit_code(), 0);
}

#[test]
fn other_words_take_over_and_always_is_a_rule() {
    let home = Home::new();
    home.follows("turn\n call dev_ask {\"line\":\"a\"}\nturn\n say Rather this.\nturn\n call dev_ask {\"line\":\"b\"}\n call dev_ask {\"line\":\"c\"}\nthen\n say Both.\nturn\n call dev_ask {\"line\":\"d\"}\nthen\n say By rule.\nturn\n call dev_ask {\"line\":\"e\"}\nthen\n say Never.\n");
    let mut terminal = Terminal::new(&home, &[]);
    terminal.until("›");
    terminal.press("go\r");
    terminal.until(ALLOW);
    terminal.press("do something else\r");
    terminal.until("Rather this.\n\n›");
    assert_eq!(home.ledger().len(), 0);
    assert_eq!(home.bodies("last", "approval_given")[0]["by"], "new_message");
    terminal.press("go\r");
    terminal.until(ALLOW);
    terminal.press("a\r");
    terminal.until("Both.\n\n›");
    assert_eq!(home.ledger().len(), 2, "the other question is answered too");
    terminal.press("go\r");
    terminal.until("By rule.\n\n›");
    assert_eq!(home.ledger().len(), 3);
    let started = home.bodies("last", "tool_started");
    assert_eq!(started[2]["authority"]["rule"], "conversation: dev_ask");
    terminal.press("/policy deny dev_ask line=e*\r");
    terminal.until("dev_ask line=e* is denied in this conversation from now on\n›");
    terminal.press("go\r");
    let shown = terminal.until("Never.\n\n›");
    let told = "a rule does not allow it (conversation: dev_ask line=e*)";
    assert!(shown.contains(told), "{shown}");
    assert_eq!(home.ledger().len(), 3);
    terminal.press("/policy\r");
    let shown = terminal.until("else what a tool says of itself counts\n›");
    let rules = "  deny  dev_ask line=e*  conversation\n  allow dev_ask  conversation\n";
    assert!(shown.contains(rules), "{shown}");
    terminal.press(CTRL_D);
    terminal.until_end();
}

#[test]
fn what_was_not_asked_for_here_is_shown_at_the_prompt() {
    let home = Home::new();
    let mut terminal = Terminal::new(&home, &[]);
    terminal.until("›");
    terminal.press("wake me in 1 second: add 40 and 2\r");
    terminal.wait(&|shown| shown.contains("40 + 2 = 42.") && shown.trim_end().ends_with('›'));
    assert!(home.run(&["send", "last", "add 4 and 5"]).ok().contains("taken in"));
    terminal.wait(&|shown| shown.contains("› add 4 and 5") && shown.contains("4 + 5 = 9."));
    home.run(&["notebook", "last", "--set", "tea"]).ok();
    terminal.wait(&|shown| shown.contains("· the notebook was changed by hand"));
    home.run(&["agents", "last", "add", "ada"]).ok();
    terminal.wait(&|shown| shown.contains("· ada joined"));
    terminal.press("@ada add 1 and 2\r");
    terminal.wait(&|shown| shown.contains("ada: 1 + 2 = 3."));
    home.run(&["rewind", "last"]).ok();
    terminal.wait(&|shown| shown.contains("· back at entry"));
    terminal.press(CTRL_D);
    terminal.until_end();
}

#[test]
fn a_question_that_is_answered_elsewhere_is_settled_here() {
    let home = Home::new();
    home.follows("turn\n call dev_ask {\"line\":\"x\"}\nthen\n say done\n");
    let mut terminal = Terminal::new(&home, &[]);
    terminal.until("›");
    terminal.press("go\r");
    terminal.until("take over:");
    let listed = home.run(&["approve", "last", "--json"]).json();
    let call = listed["questions"][0]["call"].as_str().unwrap();
    assert!(home.run(&["approve", "last", call]).ok().contains("taken in"));
    terminal
        .wait(&|shown| shown.contains("it was settled elsewhere") && shown.contains("\ndone\n"));
    assert_eq!(home.ledger().len(), 1);
    terminal.press(CTRL_D);
    terminal.until_end();
}
