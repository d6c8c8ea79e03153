//! Deleting a conversation. Its rows go at once; its entries follow in small slices when the writer is
//! idle, like the leftovers of an import.

use rusqlite::{Connection, OptionalExtension as _, params};
use threadline_core::id::{ConversationId, Seq};
use threadline_core::store::StoreError;

use super::conversation::{Open, conversation_id};
use super::error::Failure;
use super::lease::Taker;
use super::number::entry_id;
use super::run_file::Living;
use super::sweep;

/// Deletes a conversation, unless others share its entries or a living owner holds it.
pub(super) fn delete(
    connection: &Connection,
    taker: &Taker<'_>,
    id: ConversationId,
    living: &mut Living<'_>,
) -> Result<(), Failure> {
    let Open { num, .. } = Open::get(connection, taker.tenant, id)?;
    taker.check_free(connection, num, living)?;
    if let Some(by) = sharing(connection, num)? {
        return Err(StoreError::Shared { id, by }.into());
    }
    sweep::forget_extras(connection, num)?;
    for sql in [
        "DELETE FROM label WHERE conversation = ?1",
        "DELETE FROM segment WHERE conversation = ?1",
        "DELETE FROM unindexed WHERE log IN (SELECT num FROM log WHERE conversation = ?1)",
        "UPDATE log SET staged = '' WHERE conversation = ?1",
        "DELETE FROM conversation WHERE num = ?1",
    ] {
        connection.prepare_cached(sql)?.execute([num])?;
    }
    connection
        .prepare_cached("DELETE FROM snapshot WHERE id BETWEEN ?1 AND ?2")?
        .execute([entry_id(num, Seq::ZERO), entry_id(num, Seq(u64::MAX))])?;
    Ok(())
}

/// Another conversation that reads entries which this one wrote.
fn sharing(connection: &Connection, num: i64) -> rusqlite::Result<Option<ConversationId>> {
    connection
        .prepare_cached(
            "SELECT other.id FROM log
             CROSS JOIN segment INDEXED BY segment_log ON segment.log = log.num
             CROSS JOIN conversation AS other ON other.num = segment.conversation
             WHERE log.conversation = ?1 AND segment.conversation <> ?1
             ORDER BY other.id LIMIT 1",
        )?
        .query_row(params![num], |row| Ok(conversation_id(row.get(0)?)))
        .optional()
}
