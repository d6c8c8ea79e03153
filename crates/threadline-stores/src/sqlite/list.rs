//! Lists of conversations: pages of an index, or merges of a few.

use std::cmp::Reverse;

use rusqlite::{Connection, params};
use threadline_core::history::batch::State;
use threadline_core::store::{Conversation, Filter, Listing, Sort};

use super::conversation::{LISTED, listed, state_number};
use super::error::Failure;
use super::number::rows;

/// A page of conversations.
pub(super) fn list(
    connection: &Connection,
    tenant: i64,
    listing: &Listing,
) -> Result<Vec<Conversation>, Failure> {
    let (at, id) = match &listing.after {
        Some(cursor) => (cursor.at.micros(), *cursor.id.0.as_bytes()),
        None => (i64::MAX, [0xff; 16]),
    };
    let mut statement = connection.prepare_cached(&sql(&listing.filter, listing.sort))?;
    let most = rows(listing.most);
    let mut found = match &listing.filter {
        Filter::Label(label) => statement.query(params![tenant, at, id, most, label])?,
        Filter::Current | Filter::Archived | Filter::All | Filter::State(_) => {
            statement.query(params![tenant, at, id, most])?
        }
    };
    let mut conversations = Vec::new();
    while let Some(row) = found.next()? {
        conversations.push(listed(row));
    }
    match listing.filter {
        Filter::Current | Filter::All => {}
        Filter::Archived | Filter::State(_) | Filter::Label(_) => return Ok(conversations),
    }
    let mut statement = connection.prepare_cached(&stray_sql(listing.sort))?;
    let mut found = statement.query(params![tenant, at, id, most])?;
    while let Some(row) = found.next()? {
        conversations.push(listed(row));
    }
    conversations.sort_by_key(|conversation| Reverse(conversation.cursor(listing.sort)));
    conversations.truncate(listing.most);
    Ok(conversations)
}

/// Those whose row is damaged so that no other query finds them: they are in no state there is, or
/// neither archived nor not.
fn stray_sql(sort: Sort) -> String {
    let at = column(sort);
    let stray = |place: &str| {
        format!(
            "SELECT num, {at}, id FROM conversation
             WHERE tenant = ?1 AND {place} AND ({at}, id) < (?2, ?3)"
        )
    };
    let strays = [
        "archived < 0",
        "archived > 1",
        "archived = 0 AND state < 0",
        "archived = 0 AND state > 2",
        "archived = 1 AND state < 0",
        "archived = 1 AND state > 2",
    ];
    let strays: Vec<_> = strays.into_iter().map(stray).collect();
    format!(
        "SELECT {LISTED} FROM ({}) AS stray CROSS JOIN conversation c ON c.num = stray.num LIMIT ?4",
        strays.join(" UNION ALL ")
    )
}

/// The query of a list. What is not archived is three runs of one index, by state; SQLite merges
/// such runs without sorting.
fn sql(filter: &Filter, sort: Sort) -> String {
    let at = column(sort);
    let states = [State::Resting, State::Working, State::Waiting];
    let runs = match filter {
        Filter::Label(_) => return label_sql(at),
        Filter::Current => states.map(|state| (false, state)).to_vec(),
        Filter::Archived => states.map(|state| (true, state)).to_vec(),
        Filter::All => [false, true]
            .into_iter()
            .flat_map(|archived| states.map(|state| (archived, state)))
            .collect(),
        Filter::State(state) => vec![(false, *state), (true, *state)],
    };
    let runs = runs.into_iter().map(|(archived, state)| run_sql(sort, archived, state));
    let runs: Vec<_> = runs.collect();
    format!(
        "SELECT {LISTED} FROM ({} ORDER BY {at} DESC, id DESC LIMIT ?4) AS page
         CROSS JOIN conversation c ON c.num = page.num",
        runs.join(" UNION ALL ")
    )
}

/// The column of an order.
const fn column(sort: Sort) -> &'static str {
    match sort {
        Sort::Active => "active_at",
        Sort::Created => "created_at",
    }
}

fn run_sql(sort: Sort, archived: bool, state: State) -> String {
    let (archived, state) = (i64::from(archived), state_number(state));
    let at = column(sort);
    format!(
        "SELECT num, {at}, id FROM conversation
         WHERE tenant = ?1 AND archived = {archived} AND state = {state}
           AND ({at}, id) < (?2, ?3)"
    )
}

fn label_sql(at: &str) -> String {
    format!(
        "SELECT {LISTED} FROM label CROSS JOIN conversation c ON c.num = label.conversation
         WHERE label.tenant = ?1 AND label.label = ?5 AND (label.{at}, label.id) < (?2, ?3)
         ORDER BY label.{at} DESC, label.id DESC LIMIT ?4"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::tests::plan;

    /// Every list is found by an index, whole and in order.
    #[test]
    fn no_list_scans_or_sorts() {
        let mut filters =
            vec![Filter::Current, Filter::Archived, Filter::All, Filter::Label("work".to_owned())];
        filters.extend([State::Resting, State::Working, State::Waiting].map(Filter::State));
        for filter in filters {
            for sort in [Sort::Active, Sort::Created] {
                let plan = plan(&sql(&filter, sort));
                assert!(plan.contains("USING COVERING INDEX"), "{filter:?} {sort:?}\n{plan}");
                let merges = plan.contains("MERGE (UNION ALL)");
                assert_eq!(merges, !matches!(filter, Filter::Label(_)), "{plan}");
                for wrong in ["SCAN conversation", "SCAN c\n", "SCAN label", "TEMP B-TREE"] {
                    assert!(!plan.contains(wrong), "{filter:?} {sort:?}\n{plan}");
                }
            }
        }
    }
}
