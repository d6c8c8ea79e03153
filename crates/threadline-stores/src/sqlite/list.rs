//! Lists of conversations: pages of an index, or merges of a few.

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
        conversations.push(listed(row)?);
    }
    Ok(conversations)
}

/// The query of a list. What is not archived is three runs of one index, by state; SQLite merges
/// such runs without sorting.
fn sql(filter: &Filter, sort: Sort) -> String {
    let at = match sort {
        Sort::Active => "active_at",
        Sort::Created => "created_at",
    };
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
    let runs = runs.into_iter().map(|(archived, state)| run_sql(at, archived, state));
    let runs: Vec<_> = runs.collect();
    format!(
        "SELECT {LISTED} FROM ({} ORDER BY {at} DESC, id DESC LIMIT ?4) AS page
         CROSS JOIN conversation c ON c.num = page.num",
        runs.join(" UNION ALL ")
    )
}

fn run_sql(at: &str, archived: bool, state: State) -> String {
    let (archived, state) = (i64::from(archived), state_number(state));
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
