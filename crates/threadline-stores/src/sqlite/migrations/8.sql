-- due_at covers unfinished turns too, and the search for due conversations needs two indexes. An index
-- finds the conversations that share a log.
DROP INDEX conversation_due;
UPDATE conversation SET due_at = min(active_at, coalesce(due_at, active_at))
WHERE state = 1 AND origin = 0 AND moved = 0;
CREATE INDEX conversation_due ON conversation (tenant, due_at, id) WHERE due_at <= active_at;
CREATE INDEX conversation_later ON conversation (tenant, due_at, id) WHERE due_at > active_at;
CREATE INDEX segment_log ON segment (log);
