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
