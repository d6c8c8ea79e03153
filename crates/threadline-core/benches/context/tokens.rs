//! Counting tokens: our o200k against others', one thread, texts of four kinds.
//!
//! Every text is counted once by each side, so that nothing is remembered from the same text; what
//! repeats within a text, repeats as it does in life.

mod peer;
mod texts;

use std::time::Duration;

use threadline_core::tokens::{O200k, TokenCounter as _};

use crate::{Outcome, Setting};
use peer::Python;
use texts::KINDS;
use threadline_testing::bench::{Report, Rounds, Target, fact, float, timed};

pub(crate) fn measure(setting: &Setting, report: &mut Report) -> Outcome<()> {
    let (rounds, size) = setting.of((5, 3_000_000), (1, 50_000));
    O200k::load();
    let rust = tiktoken_rs::o200k_base_singleton();
    let mut python = match &setting.python {
        Some(python) => Some(Python::begin(python, &crate::folder("tokens")?)?),
        None => None,
    };
    for (kind, write) in KINDS {
        let (mut ours, mut by_rust, mut by_python) =
            (Rounds::default(), Rounds::default(), Rounds::default());
        for round in 0..rounds {
            let text = write(round, size);
            let (count, took) = timed(|| O200k.count(&text));
            ours.add(speed(&text, took));
            let (expected, took) = timed(|| rust.encode_ordinary(&text).len());
            by_rust.add(speed(&text, took));
            same(kind, "tiktoken-rs", count, expected)?;
            if let Some(python) = &mut python {
                let (expected, took) = python.count(&text)?;
                by_python.add(speed(&text, took));
                same(kind, "Python", count, expected)?;
            }
        }
        if python.is_some() {
            let target = setting.of(Some(Target::AtLeast(2.0)), None);
            let what = format!("{kind}: ours / tiktoken of Python");
            report.ratio(&what, ours.median(), by_python.median(), "MB/s", target);
        }
        let what = format!("{kind}: ours / tiktoken-rs");
        report.ratio(&what, ours.median(), by_rust.median(), "MB/s", None);
    }
    if python.is_none() {
        fact("against Python", "SKIPPED: benches/peers/tokens installs tiktoken and measures");
    }
    Ok(())
}

fn speed(text: &str, took: Duration) -> f64 {
    float(text.len()) / 1e6 / took.as_secs_f64()
}

/// Speeds of different counts are not compared.
fn same(kind: &str, whose: &str, ours: u32, theirs: usize) -> Outcome<()> {
    if usize::try_from(ours)? != theirs {
        return Err(format!("{kind}: {ours} tokens, but {theirs} by {whose}").into());
    }
    Ok(())
}
