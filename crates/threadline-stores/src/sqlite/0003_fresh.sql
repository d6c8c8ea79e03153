-- Fresh entries lie in the order they came, with a small index of where each is: those that come
-- together from many conversations are on the same pages.
INSERT INTO entry SELECT * FROM fresh ORDER BY id;
DROP VIEW entries;
DROP TABLE fresh;
CREATE TABLE fresh (
  record        INTEGER PRIMARY KEY,
  id            INTEGER NOT NULL,
  agent         INTEGER NOT NULL,
  kind          INTEGER,
  live          INTEGER,
  recent        INTEGER,
  gist_tokens   INTEGER,
  recent_sum    INTEGER,
  live_sum_more INTEGER,
  previous_back INTEGER,
  turn_back     INTEGER,
  exchange      INTEGER,
  counter       INTEGER,
  results       BLOB,
  gist          TEXT
) STRICT;
CREATE UNIQUE INDEX fresh_id ON fresh (id);
-- In the order of the columns of entry.
CREATE VIEW moving AS
  SELECT id, record, agent, kind, live, recent, gist_tokens, recent_sum, live_sum_more,
         previous_back, turn_back, exchange, counter, results, gist
  FROM fresh;
CREATE VIEW entries AS SELECT * FROM entry UNION ALL SELECT * FROM moving;

CREATE TRIGGER fresh_is_never_changed BEFORE UPDATE OF id, record, agent ON fresh
BEGIN
  SELECT RAISE(ABORT, 'entries are never changed');
END;
CREATE TRIGGER fresh_is_only_moved BEFORE DELETE ON fresh
WHEN NOT EXISTS (SELECT 1 FROM entry WHERE id = OLD.id AND record = OLD.record)
BEGIN
  SELECT RAISE(ABORT, 'entries are never removed');
END;

-- The entries of agents other than the first, by agent: one that has few of many would find each
-- of its outline rows on a page of its own. `entry` has them without those rows.
CREATE TABLE thread (
  id            INTEGER NOT NULL,
  record        INTEGER NOT NULL,
  agent         INTEGER NOT NULL,
  kind          INTEGER,
  live          INTEGER,
  recent        INTEGER,
  gist_tokens   INTEGER,
  recent_sum    INTEGER,
  live_sum_more INTEGER,
  previous_back INTEGER,
  turn_back     INTEGER,
  exchange      INTEGER,
  counter       INTEGER,
  results       BLOB,
  gist          TEXT,
  PRIMARY KEY (agent, id)
) STRICT, WITHOUT ROWID;
CREATE VIEW threads AS SELECT * FROM thread UNION ALL SELECT * FROM moving;

INSERT INTO thread SELECT * FROM entry WHERE agent <> 1;
UPDATE entry SET kind = NULL, live = NULL, recent = NULL, gist_tokens = NULL, recent_sum = NULL,
  live_sum_more = NULL, previous_back = NULL, turn_back = NULL, exchange = NULL, counter = NULL,
  results = NULL, gist = NULL
WHERE agent <> 1;
DROP INDEX entry_agent;

CREATE TRIGGER thread_is_never_changed BEFORE UPDATE OF id, record, agent ON thread
BEGIN
  SELECT RAISE(ABORT, 'entries are never changed');
END;
CREATE TRIGGER thread_is_never_removed BEFORE DELETE ON thread
WHEN (SELECT staged FROM log WHERE num = OLD.id >> 36) IS NULL
BEGIN
  SELECT RAISE(ABORT, 'entries are never removed');
END;
