//! `threadline list`.

use threadline_core::clock::{Clock as _, Timestamp};
use threadline_core::history::batch::State;
use threadline_core::history::one_line;
use threadline_core::store::{Conversation, Filter, Hold, Listing, Origin, Sort};

use crate::args::{InState, List, SortBy};
use crate::compose::Parts;
use crate::json;
use crate::view::{Line, View, counted};

/// How much of a title or message a list shows, in characters.
const TITLE_CAP: usize = 60;
/// The width below which an id and a title do not share a line.
const NARROW: usize = 60;
/// How far what belongs to a conversation is moved in.
const INDENT: &str = "    ";

pub(crate) async fn run(parts: &Parts, arguments: &List, view: &mut View) -> anyhow::Result<()> {
    let sort = match arguments.sort {
        SortBy::Active => Sort::Active,
        SortBy::Created => Sort::Created,
    };
    let after = match &arguments.after {
        Some(meant) => Some(parts.find(meant).await?.cursor(sort)),
        None => None,
    };
    // One more than asked for tells whether there are more.
    let most = arguments.limit.saturating_add(1);
    let listing = Listing { filter: filter(arguments), sort, after, most };
    let mut conversations = parts.store.list(&listing).await?;
    let more = conversations.len() > arguments.limit;
    conversations.truncate(arguments.limit);
    if view.json {
        return print_json(&conversations, more, view);
    }
    if conversations.is_empty() {
        view.line(&Line::new().plain(nothing(parts, arguments, &listing.filter).await?))?;
        return Ok(());
    }
    print(&conversations, parts, view)?;
    if let (true, Some(last)) = (more, conversations.last()) {
        view.line(
            &Line::new().dim(format!("there are more; to see them add --after {}", last.id)),
        )?;
    }
    Ok(())
}

/// What to say where no conversation is listed.
async fn nothing(parts: &Parts, arguments: &List, filter: &Filter) -> anyhow::Result<&'static str> {
    if arguments.after.is_some() {
        return Ok("no more conversations");
    }
    let any = Listing { filter: Filter::All, sort: Sort::Active, after: None, most: 1 };
    Ok(match filter {
        _ if parts.store.list(&any).await?.is_empty() => {
            "no conversations yet; `threadline` begins one"
        }
        Filter::Current => "all conversations are archived; --archived shows them",
        Filter::Archived | Filter::All | Filter::State(_) | Filter::Label(_) => {
            "no such conversations; --all shows what there is"
        }
    })
}

fn filter(arguments: &List) -> Filter {
    match (&arguments.label, arguments.state) {
        (Some(label), _) => Filter::Label(label.clone()),
        (None, Some(InState::Resting)) => Filter::State(State::Resting),
        (None, Some(InState::Working)) => Filter::State(State::Working),
        (None, Some(InState::Waiting)) => Filter::State(State::Waiting),
        (None, None) if arguments.archived => Filter::Archived,
        (None, None) if arguments.all => Filter::All,
        (None, None) => Filter::Current,
    }
}

/// Prints conversations for people.
pub(crate) fn print(
    conversations: &[Conversation],
    parts: &Parts,
    view: &mut View,
) -> anyhow::Result<()> {
    let now = parts.clock.now();
    let narrow = view.width().is_some_and(|width| width < NARROW);
    for conversation in conversations {
        let sums = &conversation.sums;
        let title = match (&sums.title, &sums.last_message) {
            (Some(title), _) => one_line(title, TITLE_CAP),
            (None, Some(message)) => one_line(&message.text, TITLE_CAP),
            (None, None) if conversation.damage.is_some() => "(cannot be read)".to_owned(),
            (None, None) => "(nothing said yet)".to_owned(),
        };
        let id = Line::new().name(conversation.id.to_string());
        if narrow {
            view.line(&id)?;
            view.row(Line::new().plain(INDENT).bold(title))?;
        } else {
            view.row(id.plain("  ").bold(title))?;
        }
        view.remarks(&remarks(conversation, now), INDENT)?;
    }
    Ok(())
}

/// What there is to say of a conversation, in a few words each.
pub(crate) fn remarks(conversation: &Conversation, now: Timestamp) -> Vec<String> {
    let sums = &conversation.sums;
    let mut remarks = vec![
        ago(conversation.active_at, now),
        counted(conversation.head.0, "entry", "entries"),
        counted(sums.messages, "message", "messages"),
    ];
    if sums.state != State::Resting {
        remarks.push(sums.state.name().to_owned());
    }
    if let Some((parent, seq)) = conversation.forked_from {
        remarks.push(format!("forked from {parent} at {seq}"));
    }
    match conversation.origin {
        Origin::Own => {}
        Origin::Copy => remarks.push("copy".to_owned()),
        Origin::Imported => remarks.push("not trusted".to_owned()),
    }
    match conversation.hold {
        Some(Hold::Imported) => remarks.push("imported, not resumed yet".to_owned()),
        Some(Hold::Parked { deaths }) => {
            remarks.push(format!("parked: its driver died {deaths} times at the same step"));
        }
        None => {}
    }
    if conversation.moved_away {
        remarks.push("moved away".to_owned());
    }
    if sums.archived {
        remarks.push("archived".to_owned());
    }
    remarks.extend(sums.labels.iter().map(|label| format!("#{label}")));
    if let Some(damage) = &conversation.damage {
        remarks.push(format!("damaged: {damage}"));
    }
    remarks
}

/// Prints conversations for programs.
pub(crate) fn print_json(
    conversations: &[Conversation],
    more: bool,
    view: &mut View,
) -> anyhow::Result<()> {
    let mut list = view.list("conversations", &json::Nothing {})?;
    for conversation in conversations {
        list.push(&json::Conversation::from(conversation))?;
    }
    list.end(&json::More { more })?;
    Ok(())
}

/// How long ago something was, in words.
fn ago(then: Timestamp, now: Timestamp) -> String {
    let minutes = now.millis_since(then) / 60_000;
    match minutes {
        0 => "just now".to_owned(),
        1..60 => format!("{minutes} min ago"),
        60..1440 => format!("{} h ago", minutes / 60),
        _ => then.to_string().chars().take(10).collect(),
    }
}
