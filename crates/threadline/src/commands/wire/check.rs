//! `threadline wire check`: whether a request's body keeps the rules of its protocol.

use std::process::ExitCode;

use anyhow::Context as _;
use serde::Serialize;
use threadline_testing::validator::{Server, WireDialect, check, rules};

use crate::args::WireCheck;
use crate::view::{Line, View, counted};

/// A broken rule.
#[derive(Serialize)]
struct Broken {
    rule: &'static str,
    path: String,
    found: String,
}

/// What is told at the end.
#[derive(Serialize)]
struct Verdict {
    ok: bool,
    rules: usize,
}

pub(crate) fn run(arguments: &WireCheck, view: &mut View) -> anyhow::Result<ExitCode> {
    let body = super::read(&arguments.file)?;
    let dialect = WireDialect::named(arguments.dialect.dialect().name());
    let dialect = dialect.context("there are no rules for this protocol")?;
    let broken: Vec<Broken> = check(dialect, &Server::default(), &body)
        .into_iter()
        .map(|found| Broken { rule: found.rule, path: found.path, found: found.found })
        .collect();
    let (ok, rules) = (broken.is_empty(), rules(dialect).len());
    if view.json {
        let mut list = view.list("violations", &crate::json::Nothing {})?;
        for one in &broken {
            list.push(one)?;
        }
        list.end(&Verdict { ok, rules })?;
    } else {
        for Broken { rule, path, found } in &broken {
            let path = if path.is_empty() { "the body" } else { path };
            let line = Line::new().bad(path).plain(format!(": {found} "));
            view.line(&line.dim(format!("({rule})")))?;
        }
        let told = counted(u64::try_from(rules)?, "rule", "rules");
        if ok {
            view.line(&Line::new().good(format!("it keeps all {told} of {}", dialect.name())))?;
        }
    }
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
