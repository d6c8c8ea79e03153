//! `threadline search`.

use anyhow::Context as _;
use threadline_core::id::AgentId;
use threadline_core::search;
use threadline_core::store::{Hit, Query};

use super::show::find_agent;
use crate::args::Search;
use crate::compose::Parts;
use crate::json;
use crate::view::{Line, View};

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
        let (kind, text_found) = text_of(parts, hit).await?;
        let rewound = if hit.rewound { "~" } else { " " };
        let line = Line::new()
            .dim(format!("{rewound}{:>6}  {kind:<KIND_WIDTH$}  ", hit.seq))
            .plain(search::snippet(&text_found, &text, SNIPPET_CHARS));
        view.row(line)?;
    }
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

async fn text_of(parts: &Parts, hit: &Hit) -> anyhow::Result<(String, String)> {
    let records = parts.store.records(hit.conversation, &[hit.seq]).await?;
    let record = records.first().context("an entry that was found is gone")?;
    let entry = record.open()?;
    Ok((entry.fact.kind().to_owned(), search::text_of(&entry).unwrap_or_default()))
}

async fn print_json(
    parts: &Parts,
    hits: &[Hit],
    more: bool,
    view: &mut View,
) -> anyhow::Result<()> {
    #[derive(serde::Serialize)]
    struct Found<'a> {
        conversation: String,
        entry: json::EntryLine<'a>,
    }
    let mut list = view.list("hits", &json::Nothing {})?;
    for hit in hits {
        let records = parts.store.records(hit.conversation, &[hit.seq]).await?;
        let record = records.first().context("an entry that was found is gone")?;
        let entry = record.open()?;
        let entry = json::EntryLine::new(&entry, record, hit.rewound);
        list.push(&Found { conversation: hit.conversation.to_string(), entry })?;
    }
    list.end(&json::More { more })?;
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
