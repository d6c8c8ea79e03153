//! `threadline search`.

use anyhow::Context as _;
use threadline_core::id::AgentId;
use threadline_core::search;
use threadline_core::store::{Hit, Query};

use super::show::{Read, find_agent, read_at};
use crate::args::Search;
use crate::compose::Parts;
use crate::json;
use crate::view::{Line, View, counted, remark};

/// How many characters of an entry are shown around a hit.
const SNIPPET_CHARS: usize = 100;
/// As wide as the kinds that are found most.
const KIND_WIDTH: usize = 13;

pub(crate) async fn run(parts: &Parts, arguments: &Search, view: &mut View) -> anyhow::Result<()> {
    let conversation = match &arguments.conversation {
        Some(meant) => Some(parts.find(meant).await?.id),
        None => None,
    };
    let agent =
        match (&arguments.agent, conversation) {
            (None, _) => None,
            (Some(meant), Some(id)) => Some(find_agent(meant, &parts.store.agents(id).await?)?),
            (Some(meant), None) => {
                let number = meant.parse().ok().map(AgentId);
                Some(number.context(
                    "without --in, give the agent's number: names belong to a conversation",
                )?)
            }
        };
    let text = query(&arguments.words);
    anyhow::ensure!(
        !search::phrases(&text).is_empty(),
        "there is no word to look for in {text:?}: words are made of letters and digits"
    );
    // One more than asked for tells whether there are more.
    let most = arguments.limit.saturating_add(1);
    let query = Query { text: text.clone(), conversation, agent, after: None, most };
    let mut hits = parts.store.search(&query).await?;
    let more = hits.len() > arguments.limit;
    hits.truncate(arguments.limit);
    if view.json {
        return print_json(parts, &hits, more, view).await;
    }
    if hits.is_empty() {
        view.line(&Line::new().plain(format!("nothing found for {text}")))?;
    }
    let mut shown = None;
    for hit in &hits {
        if shown != Some(hit.conversation) {
            let conversation = parts.store.conversation(hit.conversation).await?;
            let title = conversation.sums.title.unwrap_or_default();
            view.row(Line::new().name(hit.conversation.to_string()).plain("  ").bold(title))?;
            shown = Some(hit.conversation);
        }
        let rewound = if hit.rewound { "~" } else { " " };
        let line = Line::new();
        let line = match read(parts, hit).await? {
            Read::Entry { entry, changed, .. } => {
                let found = search::text_of(&entry).unwrap_or_default();
                let kind = entry.fact.kind();
                let line = line.dim(format!("{rewound}{:>6}  {kind:<KIND_WIDTH$}  ", hit.seq));
                let line = if changed { line.bad("(changed after it was written) ") } else { line };
                line.plain(search::snippet(&found, &text, SNIPPET_CHARS))
            }
            Read::Damaged { why, .. } => {
                line.dim(format!("{rewound}{:>6}  ", hit.seq)).bad(format!("cannot be read: {why}"))
            }
        };
        view.row(line)?;
    }
    tell_unsearched(parts).await?;
    if more {
        view.line(&Line::new().dim("there are more; to see them raise --limit"))?;
    }
    Ok(())
}

/// The words as one query: an argument of several words was put in quotation marks, which the
/// shell has taken away.
fn query(words: &[String]) -> String {
    let quoted = words.iter().map(|word| {
        let several = word.trim().contains(char::is_whitespace);
        if several && !word.contains(['"', '“', '”']) {
            format!("\"{word}\"")
        } else {
            word.clone()
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

async fn read(parts: &Parts, hit: &Hit) -> anyhow::Result<Read> {
    let mut found = read_at(&*parts.store, hit.conversation, &[hit.seq]).await?;
    found.pop().context("an entry that was found is gone")
}

/// Says how many entries were not searched, where the index lags behind and cannot be written.
async fn tell_unsearched(parts: &Parts) -> anyhow::Result<()> {
    let Some(audit) = parts.store.audit() else { return Ok(()) };
    let lag = audit.index_lag().await?;
    if lag > 0 {
        let entries = counted(lag, "entry is", "entries are");
        remark(&format!("{entries} not in the search index yet and could not be searched"));
    }
    Ok(())
}

async fn print_json(
    parts: &Parts,
    hits: &[Hit],
    more: bool,
    view: &mut View,
) -> anyhow::Result<()> {
    #[derive(serde::Serialize)]
    struct Found<T> {
        conversation: String,
        entry: T,
    }
    let mut list = view.list("hits", &json::Nothing {})?;
    for hit in hits {
        let conversation = hit.conversation.to_string();
        match read(parts, hit).await? {
            Read::Entry { entry, record, changed } => {
                let entry = json::EntryLine::new(&entry, &record, hit.rewound, changed);
                list.push(&Found { conversation, entry })?;
            }
            Read::Damaged { seq, why } => {
                let entry = json::Unreadable { seq: seq.0, changed: true, error: why };
                list.push(&Found { conversation, entry })?;
            }
        }
    }
    list.end(&json::More { more })?;
    tell_unsearched(parts).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_of_several_words_is_a_phrase() {
        let words =
            |words: &[&str]| query(&words.iter().map(|&w| w.to_owned()).collect::<Vec<_>>());
        assert_eq!(words(&["a", "b c", " d "]), "a \"b c\"  d ");
        assert_eq!(words(&["say \"b c\" d"]), "say \"b c\" d");
        assert_eq!(search::phrases(&words(&["slow query", "x"])).len(), 2);
    }
}
