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
        conversations.push(listed(connection, row)?);
    }
    let mut more = Vec::new();
    if !by_row(&listing.filter, listing.sort) {
        more.push(ahead_sql(&listing.filter, listing.sort));
    }
    match listing.filter {
        Filter::Current | Filter::All => more.push(stray_sql(&listing.filter, listing.sort)),
        Filter::Archived | Filter::State(_) | Filter::Label(_) => {}
    }
    if more.is_empty() {
        return Ok(conversations);
    }
    for sql in more {
        let mut statement = connection.prepare_cached(&sql)?;
        let mut found = statement.query(params![tenant, at, id, most])?;
        while let Some(row) = found.next()? {
            conversations.push(listed(connection, row)?);
        }
    }
    conversations.sort_by_key(|conversation| Reverse(conversation.cursor(listing.sort)));
    conversations.truncate(listing.most);
    Ok(conversations)
}

/// Whether a list and its order are those of the rows, even of those that lag behind. One with a
/// label never does, and no other changes its archive or its first moment.
fn by_row(filter: &Filter, sort: Sort) -> bool {
    match filter {
        Filter::Label(_) => true,
        Filter::State(_) => false,
        Filter::Current | Filter::Archived | Filter::All => sort == Sort::Created,
    }
}

/// Those that are ahead of their rows: about a thousand at most, and none once nothing is written.
fn ahead_sql(filter: &Filter, sort: Sort) -> String {
    let shown = match filter {
        Filter::Current => "AND c.archived <> 1".to_owned(),
        Filter::Archived => "AND c.archived = 1".to_owned(),
        Filter::State(state) => format!("AND ahead.state = {}", state_number(*state)),
        Filter::All | Filter::Label(_) => String::new(),
    };
    let at = match sort {
        Sort::Active => "ahead.active_at",
        Sort::Created => "c.created_at",
    };
    format!(
        "SELECT {LISTED} FROM ahead CROSS JOIN conversation c ON c.num = ahead.conversation
         WHERE c.tenant = ?1 AND ({at}, c.id) < (?2, ?3) {shown}
         ORDER BY {at} DESC, c.id DESC LIMIT ?4"
    )
}

/// Those whose row is damaged so that no other query finds them: they are in no state there is, or
/// neither archived nor not.
fn stray_sql(filter: &Filter, sort: Sort) -> String {
    let at = column(sort);
    let current = lags(filter, sort);
    let stray = |place: &str| {
        format!(
            "SELECT num, {at}, id FROM conversation
             WHERE tenant = ?1 AND {place} AND ({at}, id) < (?2, ?3) {current}"
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
    let runs = runs.into_iter().map(|(archived, state)| run_sql(filter, sort, archived, state));
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

fn run_sql(filter: &Filter, sort: Sort, archived: bool, state: State) -> String {
    let (archived, state) = (i64::from(archived), state_number(state));
    let current = lags(filter, sort);
    let at = column(sort);
    format!(
        "SELECT num, {at}, id FROM conversation
         WHERE tenant = ?1 AND archived = {archived} AND state = {state}
           AND ({at}, id) < (?2, ?3) {current}"
    )
}

/// The condition that leaves out rows that lag behind, where that matters.
fn lags(filter: &Filter, sort: Sort) -> &'static str {
    if by_row(filter, sort) {
        ""
    } else {
        "AND NOT EXISTS (SELECT 1 FROM ahead WHERE ahead.conversation = num)"
    }
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
