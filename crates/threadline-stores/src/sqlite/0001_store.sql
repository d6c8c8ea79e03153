-- The first form of the store.
--
-- An entry has the number log << 36 | seq. A log is
-- a run of entries that was written by one conversation; a conversation reads through its
-- segments, so that a fork shares logs and copies nothing.

CREATE TABLE tenant (
  num INTEGER PRIMARY KEY,
  id  BLOB NOT NULL UNIQUE
) STRICT;

-- staged: the run that is still writing this log; only then may its entries be deleted.
CREATE TABLE log (
  num          INTEGER PRIMARY KEY,
  conversation INTEGER NOT NULL,
  indexed_seq  INTEGER NOT NULL,
  staged       TEXT
) STRICT;
CREATE INDEX log_staged ON log (staged) WHERE staged IS NOT NULL;
-- Logs that a conversation got later than its first: search orders by conversation, not by log.
CREATE INDEX log_later ON log (num, conversation) WHERE conversation <> num;

-- Logs with entries that the search index does not have yet.
CREATE TABLE unindexed (
  log INTEGER PRIMARY KEY
) STRICT;

-- A conversation has the number of its first log.
CREATE TABLE conversation (
  num         INTEGER PRIMARY KEY,
  id          BLOB NOT NULL,
  tenant      INTEGER NOT NULL,
  head_seq    INTEGER NOT NULL,
  head_hash   BLOB NOT NULL,
  tail_log    INTEGER NOT NULL,
  created_at  INTEGER NOT NULL,
  active_at   INTEGER NOT NULL,
  origin      INTEGER NOT NULL,
  moved       INTEGER NOT NULL DEFAULT 0,
  epoch       INTEGER NOT NULL DEFAULT 0,
  claim       BLOB,
  owner       TEXT,
  run         TEXT,
  lease_until INTEGER,
  wake_at     INTEGER,
  due_at      INTEGER,
  archived    INTEGER NOT NULL,
  state       INTEGER NOT NULL,
  messages    INTEGER NOT NULL,
  cost        INTEGER NOT NULL,
  last_kind   INTEGER,
  last_at     INTEGER,
  forked_from BLOB,
  forked_seq  INTEGER,
  labels      TEXT,
  title       TEXT,
  last_text   TEXT
) STRICT;
CREATE UNIQUE INDEX conversation_id ON conversation (tenant, id);
-- Every list is a merge of these by archived and state, so that an append moves one index row.
CREATE INDEX conversation_active ON conversation (tenant, archived, state, active_at, id);
CREATE INDEX conversation_created ON conversation (tenant, archived, state, created_at, id);
CREATE INDEX conversation_due ON conversation (tenant, due_at, id) WHERE due_at IS NOT NULL;

CREATE TABLE label (
  tenant       INTEGER NOT NULL,
  label        TEXT NOT NULL,
  conversation INTEGER NOT NULL,
  id           BLOB NOT NULL,
  created_at   INTEGER NOT NULL,
  active_at    INTEGER NOT NULL,
  PRIMARY KEY (tenant, label, conversation)
) STRICT, WITHOUT ROWID;
CREATE INDEX label_active ON label (tenant, label, active_at, id);
CREATE INDEX label_created ON label (tenant, label, created_at, id);

-- A segment reaches up to the next one of its conversation; the last one is open.
CREATE TABLE segment (
  conversation INTEGER NOT NULL,
  from_seq     INTEGER NOT NULL,
  log          INTEGER NOT NULL,
  PRIMARY KEY (conversation, from_seq)
) STRICT, WITHOUT ROWID;

-- Records lie in the order they came in, whatever their conversation: what is written together
-- lies together.
CREATE TABLE record (
  num      INTEGER PRIMARY KEY,
  entry    INTEGER NOT NULL,
  envelope BLOB NOT NULL,
  body     BLOB NOT NULL,
  salt     BLOB NOT NULL,
  hash     BLOB NOT NULL
) STRICT;

-- Where an entry's record is, and its outline row if models see it. The outline can be rebuilt
-- from the record, and so could all of this.
CREATE TABLE entry (
  id            INTEGER PRIMARY KEY,
  record        INTEGER NOT NULL,
  agent         INTEGER NOT NULL,
  kind          INTEGER,
  live          INTEGER,
  recent        INTEGER,
  gist_tokens   INTEGER,
  recent_sum    INTEGER,
  live_sum_more INTEGER, -- than recent_sum
  previous_back INTEGER, -- how far back it is
  turn_back     INTEGER, -- how far back it is
  exchange      INTEGER,
  counter       INTEGER, -- who counted tokens
  results       BLOB,    -- the tokens of each
  gist          TEXT
) STRICT;
-- The first agent has most entries: its thread is found by looking through them.
CREATE INDEX entry_agent ON entry (agent) WHERE agent <> 1;

-- Entries that came last, until some hundred are moved to the others at once: conversations that
-- append at the same time share its few pages, where each has a page of its own among the others.
CREATE TABLE fresh (
  id            INTEGER PRIMARY KEY,
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
  gist          TEXT
) STRICT;
CREATE VIEW entries AS SELECT * FROM entry UNION ALL SELECT * FROM fresh;

CREATE TRIGGER record_is_never_changed BEFORE UPDATE ON record
BEGIN
  SELECT RAISE(ABORT, 'entries are never changed');
END;
CREATE TRIGGER record_is_never_removed BEFORE DELETE ON record
WHEN (SELECT staged FROM log WHERE num = OLD.entry >> 36) IS NULL
BEGIN
  SELECT RAISE(ABORT, 'entries are never removed');
END;
CREATE TRIGGER entry_is_never_changed BEFORE UPDATE OF id, record, agent ON entry
BEGIN
  SELECT RAISE(ABORT, 'entries are never changed');
END;
CREATE TRIGGER entry_is_never_removed BEFORE DELETE ON entry
WHEN (SELECT staged FROM log WHERE num = OLD.id >> 36) IS NULL
BEGIN
  SELECT RAISE(ABORT, 'entries are never removed');
END;

CREATE TRIGGER fresh_is_never_changed BEFORE UPDATE OF id, record, agent ON fresh
BEGIN
  SELECT RAISE(ABORT, 'entries are never changed');
END;
CREATE TRIGGER fresh_is_only_moved BEFORE DELETE ON fresh
WHEN NOT EXISTS (SELECT 1 FROM entry WHERE id = OLD.id AND record = OLD.record)
BEGIN
  SELECT RAISE(ABORT, 'entries are never removed');
END;

CREATE TABLE rewind (
  id     INTEGER PRIMARY KEY,
  to_seq INTEGER NOT NULL
) STRICT;

CREATE TABLE agent (
  conversation INTEGER NOT NULL,
  agent        INTEGER NOT NULL,
  name         TEXT NOT NULL,
  present      INTEGER NOT NULL,
  interactions INTEGER NOT NULL,
  last_kind    INTEGER,
  last_at      INTEGER,
  description  TEXT NOT NULL,
  PRIMARY KEY (conversation, agent)
) STRICT, WITHOUT ROWID;

-- A taken item keeps its key and digest, so that no key is taken twice, and its number, so that a
-- later one has a higher number. A fork also knows the keys that were taken in entries it shares.
CREATE TABLE inbox (
  num          INTEGER PRIMARY KEY,
  conversation INTEGER NOT NULL,
  client_key   TEXT NOT NULL,
  digest       BLOB NOT NULL,
  due          INTEGER,
  taken_seq    INTEGER,
  item         BLOB
) STRICT;
CREATE UNIQUE INDEX inbox_key ON inbox (conversation, client_key);
-- In the order they came; the earliest that is due is looked for among all that wait.
CREATE INDEX inbox_waiting ON inbox (conversation, num, due) WHERE taken_seq IS NULL;

-- A snapshot has the number conversation << 36 | seq.
CREATE TABLE snapshot (
  id           INTEGER PRIMARY KEY,
  hash         BLOB NOT NULL,
  fold_version INTEGER NOT NULL,
  for_good     INTEGER NOT NULL,
  body         BLOB NOT NULL
) STRICT;

-- staged: the run that is still uploading it; an empty one: a leftover to be removed.
CREATE TABLE blob (
  num    INTEGER PRIMARY KEY,
  digest BLOB UNIQUE,
  size   INTEGER NOT NULL,
  staged TEXT
) STRICT;
CREATE INDEX blob_staged ON blob (staged) WHERE staged IS NOT NULL;

-- A chunk has the number blob << 20 | index; all but the last of a blob are of one size.
CREATE TABLE chunk (
  id    INTEGER PRIMARY KEY,
  bytes BLOB NOT NULL
) STRICT;

-- The terms of an entry's text, joined by blanks, under the entry's number.
CREATE VIRTUAL TABLE words USING fts5(
  text, content='', columnsize=0, detail=full, tokenize='ascii'
);
CREATE VIRTUAL TABLE word_places USING fts5vocab(words, instance);
