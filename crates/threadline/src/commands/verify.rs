//! `threadline verify`.

use std::process::ExitCode;
use std::sync::Arc;

use threadline_core::id::Seq;
use threadline_core::store::verify::{
    Depth, FINDINGS_CAP, Finding, Report, compare_contexts, verify,
};
use threadline_core::store::{Conversation, Filter, Listing, OpenError, Sort, StoreError};
use threadline_core::widget::Registry;

use crate::args::Verify;
use crate::compose::Parts;
use crate::json;
use crate::view::{Line, Progress, View, counted, grouped};
use threadline::built_in_widgets;

/// How many conversations are listed at a time.
const PAGE: usize = 200;

pub(crate) async fn run(
    parts: &Parts,
    arguments: &Verify,
    view: &mut View,
) -> anyhow::Result<ExitCode> {
    let depth = if arguments.deep { Depth::Deep } else { Depth::Chain };
    let mut reports = Vec::new();
    if let Some(meant) = &arguments.conversation {
        let conversation = parts.find(meant).await?;
        reports.push(one(parts, &conversation, depth, view).await?);
    } else {
        let mut after = None;
        loop {
            let listing = Listing { filter: Filter::All, sort: Sort::Created, after, most: PAGE };
            let page = parts.store.list(&listing).await?;
            let Some(last) = page.last() else { break };
            after = Some(last.cursor(Sort::Created));
            for conversation in &page {
                reports.push(one(parts, conversation, depth, view).await?);
            }
        }
    }
    let unsound = reports.iter().filter(|(_, report)| !report.is_sound()).count();
    if view.json {
        print_json(&reports, view)?;
    } else if arguments.all {
        let all = counted(u64::try_from(reports.len())?, "conversation", "conversations");
        let verdict = match (reports.len(), unsound) {
            (0, _) => "there is nothing to verify".to_owned(),
            (_, 0) => format!("{all}: all sound"),
            (_, unsound) => format!("{all}: {unsound} not sound"),
        };
        view.line(&Line::new().plain(verdict))?;
    }
    Ok(if unsound == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn one(
    parts: &Parts,
    conversation: &Conversation,
    depth: Depth,
    view: &mut View,
) -> anyhow::Result<(Conversation, Report)> {
    let mut progress = Progress::new("verified", Some(conversation.head.0), view);
    let (id, counter) = (conversation.id, Arc::new(parts.counter));
    let verified = verify(&*parts.store, id, depth, counter, &mut |n| progress.at(n)).await;
    drop(progress);
    let mut report = match (verified, &conversation.damage) {
        // One whose id cannot be read is found by no other name.
        (Err(StoreError::NotFound(_)), Some(damage)) => {
            let finding = Finding { seq: Seq::ZERO, what: damage.clone() };
            Report { findings: vec![finding], ..Report::default() }
        }
        (report, _) => report?,
    };
    if depth == Depth::Deep && report.is_sound() {
        report.findings = compare(parts, conversation).await?;
    }
    if !view.json {
        print(conversation, &report, view)?;
    }
    Ok((conversation.clone(), report))
}

/// Compares what models see with the snapshots that are kept and without them.
async fn compare(parts: &Parts, conversation: &Conversation) -> anyhow::Result<Vec<Finding>> {
    let (store, id, at) = (&*parts.store, conversation.id, conversation.head);
    let registry = Arc::new(Registry::new(built_in_widgets())?);
    match compare_contexts(store, id, at, &parts.counter, &registry).await {
        // A change of a widget that only a newer version understands: all else is compared.
        Err(OpenError::Widget { .. }) => {
            Ok(compare_contexts(store, id, at, &parts.counter, &Arc::default()).await?)
        }
        findings => Ok(findings?),
    }
}

fn print(conversation: &Conversation, report: &Report, view: &mut View) -> anyhow::Result<()> {
    let line = Line::new().name(conversation.id.to_string()).plain("  ");
    let entries = counted(report.entries, "entry", "entries");
    let line = if report.is_sound() {
        line.good("sound").dim(format!("  {entries}, {} bytes", grouped(report.bytes)))
    } else {
        line.bad("not sound").dim(format!("  {entries}"))
    };
    view.line(&line)?;
    for finding in &report.findings {
        let about = match finding.seq {
            Seq::ZERO => String::new(),
            seq => format!("entry {seq}: "),
        };
        view.line(&Line::new().plain(format!("  {about}{}", finding.what)))?;
    }
    if let Some(sound) = sound_before(report) {
        let id = conversation.id;
        let save = format!("threadline export {id} --at {sound} -o FILE");
        view.line(&Line::new().dim(format!("  what comes before can be saved: {save}")))?;
    }
    if report.findings.len() >= FINDINGS_CAP {
        view.line(&Line::new().dim(format!("  only the first {FINDINGS_CAP} findings are told")))?;
    }
    if report.index_skipped {
        let text =
            "  the search index lags behind and was not compared: the file cannot be written now";
        view.line(&Line::new().dim(text))?;
    }
    if report.unrecognised > 0 {
        let text = counted(report.unrecognised, "entry is", "entries are");
        view.line(&Line::new().dim(format!("  {text} of a newer version: kept, not understood")))?;
    }
    Ok(())
}

/// The last entry before the first that something is wrong with.
fn sound_before(report: &Report) -> Option<Seq> {
    let first = report.findings.iter().map(|finding| finding.seq).min()?;
    Some(first.before()).filter(|seq| *seq > Seq::ZERO)
}

fn print_json(reports: &[(Conversation, Report)], view: &mut View) -> anyhow::Result<()> {
    #[derive(serde::Serialize)]
    struct Told<'a> {
        id: String,
        sound: bool,
        entries: u64,
        bytes: u64,
        unrecognised: u64,
        findings: Vec<Found<'a>>,
    }
    #[derive(serde::Serialize)]
    struct Found<'a> {
        seq: u64,
        what: &'a str,
    }
    let mut list = view.list("conversations", &json::Nothing {})?;
    for (conversation, report) in reports {
        let findings =
            report.findings.iter().map(|f| Found { seq: f.seq.0, what: &f.what }).collect();
        list.push(&Told {
            id: conversation.id.to_string(),
            sound: report.is_sound(),
            entries: report.entries,
            bytes: report.bytes,
            unrecognised: report.unrecognised,
            findings,
        })?;
    }
    list.end(&json::Nothing {})?;
    Ok(())
}
