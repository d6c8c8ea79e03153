//! What files, commands, tickets and people say in a simulated session.

use std::fmt::Write as _;

use threadline_core::tokens::{O200k, TokenCounter as _};
use threadline_testing::ids::Choices;

const WORDS: &[&str] = &[
    "invoice",
    "customer",
    "ledger",
    "retry",
    "rounding",
    "currency",
    "schedule",
    "tenant",
    "webhook",
    "payment",
    "refund",
    "balance",
    "discount",
    "session",
    "export",
    "archive",
    "cursor",
    "window",
    "token",
    "budget",
    "queue",
    "worker",
    "lease",
    "snapshot",
    "region",
    "shard",
    "replica",
    "migration",
    "column",
    "index",
    "header",
    "payload",
    "signature",
];

const AREAS: &[&str] = &["billing", "orders", "accounts", "notify", "search", "gateway", "jobs"];

const KINDS: &[&str] = &["total", "parse", "apply", "load", "merge", "check", "plan", "send"];

/// One of some words.
pub(crate) fn one(choices: &mut Choices, words: &'static [&'static str]) -> &'static str {
    choices.pick(words).copied().unwrap_or("invoice")
}

/// A file of the project.
pub(crate) fn path(choices: &mut Choices) -> String {
    let (area, word) = (one(choices, AREAS), one(choices, WORDS));
    let number = choices.below(40);
    format!("crates/{area}/src/{word}_{number:02}.rs")
}

/// Something that occurs once in the session: an id, a path, a number, a digest.
pub(crate) fn value(choices: &mut Choices) -> String {
    let any = choices.any();
    match any % 4 {
        0 => format!("{}-{:08x}", one(choices, WORDS), any >> 32),
        1 => format!("{}", 100_000_000 + (any >> 8) % 900_000_000),
        2 => format!("var/lib/{}/{:010x}.db", one(choices, AREAS), any >> 24),
        _ => format!("sha256:{any:016x}"),
    }
}

/// About so many tokens of something, line by line, with a fact in one of the lines.
pub(crate) fn lines(
    choices: &mut Choices,
    tokens: u64,
    fact: Option<&str>,
    line: fn(&mut Choices, u64) -> String,
) -> String {
    let mut lines = Vec::new();
    let (mut taken, mut number) = (0, 0);
    while taken < tokens {
        number += 1;
        let line = line(choices, number);
        // With the line's end.
        taken += u64::from(O200k.count(&line)) + 1;
        lines.push(line);
    }
    if let Some(fact) = fact {
        let place = choices.index(lines.len());
        lines.insert(place, fact.to_owned());
    }
    lines.join("\n")
}

pub(crate) fn code(choices: &mut Choices, number: u64) -> String {
    let (a, b, kind) = (one(choices, WORDS), one(choices, WORDS), one(choices, KINDS));
    let n = choices.below(5000);
    match choices.below(9) {
        0 => format!("pub fn {kind}_{a}({b}: &{}) -> Result<u64, Error> {{", capital(b)),
        1 => format!("    let {a} = self.{b}.{kind}({n})?;"),
        2 => format!("    if {a}.{b}() > {n} {{"),
        3 => format!("        return Err(Error::{}({a}));", capital(b)),
        4 => "    }".to_owned(),
        5 => "}".to_owned(),
        6 => format!("/// The {a} of a {b}, as {kind} leaves it; see rule {number}."),
        7 => format!("    {a}.push({}::new({b}, {n}));", capital(a)),
        _ => format!("    tracing::debug!({a} = %{b}, \"{kind} {n}\");"),
    }
}

pub(crate) fn log(choices: &mut Choices, number: u64) -> String {
    let (a, b, kind) = (one(choices, WORDS), one(choices, WORDS), one(choices, KINDS));
    let (second, micros) = (number % 60, choices.below(1_000_000));
    let level = ["INFO", "INFO", "INFO", "DEBUG", "WARN"];
    let level = choices.pick(&level).copied().unwrap_or("INFO");
    format!(
        "12:04:{second:02}.{micros:06} {level} {a}: could not {kind} {b} {}",
        choices.below(900)
    )
}

pub(crate) fn test(choices: &mut Choices, _: u64) -> String {
    let (area, a, kind) = (one(choices, AREAS), one(choices, WORDS), one(choices, KINDS));
    let verdict = if choices.percent(93) { "ok" } else { "FAILED" };
    format!(
        "test {area}::{a}::tests::{kind}_{}_{} ... {verdict}",
        one(choices, WORDS),
        choices.below(20)
    )
}

pub(crate) fn hit(choices: &mut Choices, _: u64) -> String {
    let (path, line) = (path(choices), choices.below(900));
    format!("{path}:{line}: {}", code(choices, line).trim())
}

pub(crate) fn prose(choices: &mut Choices, _: u64) -> String {
    let mut line = format!("The {}", one(choices, WORDS));
    for _ in 0..6 + choices.below(8) {
        let joint =
            one(choices, &["of the", "and", "before the", "for each", "without", "when the"]);
        let _ = write!(line, " {joint} {}", one(choices, WORDS));
    }
    line.push('.');
    line
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}
