-- The tables of a store. docs/store-schema.md explains them, with examples.
--
-- An entry has the number log << 36 | seq. A log is a run of entries that one conversation wrote. A
-- conversation reads through its segments, so that a fork shares logs and copies nothing. A
-- conversation has the number of its first log.

CREATE TABLE tenant (
  num INTEGER PRIMARY KEY,
  id  BLOB NOT NULL UNIQUE
) STRICT;

CREATE TABLE log (
  num          INTEGER PRIMARY KEY,
  conversation INTEGER NOT NULL,
  indexed_seq  INTEGER NOT NULL, -- the last entry in the search index
  staged       TEXT              -- the process that still imports it; '' for a leftover
) STRICT;
CREATE INDEX log_staged ON log (staged) WHERE staged IS NOT NULL;
-- Logs that a conversation got later than its first: search orders by conversation, not by log.
CREATE INDEX log_later ON log (num, conversation) WHERE conversation <> num;

-- Logs with entries that the search index does not have yet.
CREATE TABLE unindexed (
  log INTEGER PRIMARY KEY
) STRICT;

CREATE TABLE conversation (
  num         INTEGER PRIMARY KEY,
  id          BLOB NOT NULL,
  tenant      INTEGER NOT NULL,
  tail_log    INTEGER NOT NULL, -- where the next entry goes
  created_at  INTEGER NOT NULL,
  origin      INTEGER NOT NULL, -- 0 own, 1 copy, 2 imported
  forked_from BLOB,
  forked_seq  INTEGER,
  moved       INTEGER NOT NULL DEFAULT 0,
  held        INTEGER NOT NULL DEFAULT 0, -- imported and not resumed yet
  -- The head.
  head_seq    INTEGER NOT NULL,
  head_hash   BLOB NOT NULL,
  active_at   INTEGER NOT NULL,
  -- The lease.
  epoch       INTEGER NOT NULL DEFAULT 0,
  claim       BLOB,
  owner       TEXT,
  run         TEXT,
  lease_until INTEGER,
  unattended  INTEGER NOT NULL DEFAULT 0, -- whether the last owner was
  lease_head  INTEGER,                    -- the head when the last owner took the lease
  deaths      INTEGER NOT NULL DEFAULT 0, -- of unattended owners in a row at that head
  -- The summary.
  wake_at     INTEGER,
  due_at      INTEGER, -- since when or from when on there is something to do
  archived    INTEGER NOT NULL,
  state       INTEGER NOT NULL, -- 0 resting, 1 working, 2 waiting
  messages    INTEGER NOT NULL,
  cost        INTEGER NOT NULL,
  last_kind   INTEGER,
  last_at     INTEGER,
  labels      TEXT,
  title       TEXT,
  last_text   TEXT
) STRICT;
CREATE UNIQUE INDEX conversation_id ON conversation (tenant, id);
-- Every list is a merge of runs of these, by archived and state.
CREATE INDEX conversation_active ON conversation (tenant, archived, state, active_at, id);
CREATE INDEX conversation_created ON conversation (tenant, archived, state, created_at, id);
-- The first index has conversations that were due at their last entry, the second one those that become
-- due later.
CREATE INDEX conversation_due ON conversation (tenant, due_at, id) WHERE due_at <= active_at;
CREATE INDEX conversation_later ON conversation (tenant, due_at, id) WHERE due_at > active_at;

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
CREATE INDEX segment_log ON segment (log);

CREATE TABLE entry (
  id          INTEGER PRIMARY KEY, -- log << 36 | seq
  agent       INTEGER NOT NULL,    -- 0 is the conversation itself
  -- The outline row, if models see the entry. It can be derived from the record.
  kind        INTEGER,
  live        INTEGER, -- tokens at each level of detail
  recent      INTEGER,
  gist_tokens INTEGER,
  live_sum    INTEGER, -- of the thread up to here
  recent_sum  INTEGER,
  previous    INTEGER, -- the seq of the row before it in its thread
  turn        INTEGER, -- the seq of the row that began its turn
  exchange    INTEGER,
  counter     INTEGER, -- who counted the tokens
  results     TEXT,    -- the tokens of each tool result, as JSON
  gist        TEXT,
  -- The record.
  salt        BLOB NOT NULL,
  hash        BLOB NOT NULL,
  envelope    BLOB NOT NULL,
  body        BLOB NOT NULL
) STRICT;
-- The threads of agents other than the first, which usually has most entries.
CREATE INDEX entry_thread ON entry (agent) WHERE agent <> 1;

CREATE TRIGGER entry_is_never_changed
BEFORE UPDATE OF id, agent, salt, hash, envelope, body ON entry
BEGIN
  SELECT RAISE(ABORT, 'entries are never changed');
END;
CREATE TRIGGER entry_is_never_removed BEFORE DELETE ON entry
WHEN (SELECT staged FROM log WHERE num = OLD.id >> 36) IS NULL
BEGIN
  SELECT RAISE(ABORT, 'entries are never removed');
END;

CREATE TABLE rewind (
  id     INTEGER PRIMARY KEY, -- that of its entry
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

-- A row stays when its item is taken or withdrawn, so that a key is used once and numbers rise. A fork
-- also uses the rows of the conversations whose entries it shares.
CREATE TABLE inbox (
  num          INTEGER PRIMARY KEY,
  conversation INTEGER NOT NULL,
  client_key   TEXT NOT NULL,
  digest       BLOB NOT NULL,
  due          INTEGER,
  taken_seq    INTEGER, -- the entry it became; 0 if it was withdrawn
  item         BLOB
) STRICT;
CREATE UNIQUE INDEX inbox_key ON inbox (conversation, client_key);
CREATE INDEX inbox_waiting ON inbox (conversation, num, due) WHERE taken_seq IS NULL;

CREATE TABLE snapshot (
  id           INTEGER PRIMARY KEY, -- conversation << 36 | seq
  hash         BLOB NOT NULL,
  fold_version INTEGER NOT NULL,
  for_good     INTEGER NOT NULL,
  body         BLOB NOT NULL
) STRICT;

CREATE TABLE blob (
  num    INTEGER PRIMARY KEY,
  digest BLOB UNIQUE,
  size   INTEGER NOT NULL,
  staged TEXT -- the process that still uploads it; '' for a leftover
) STRICT;
CREATE INDEX blob_staged ON blob (staged) WHERE staged IS NOT NULL;

CREATE TABLE chunk (
  id    INTEGER PRIMARY KEY, -- blob << 20 | index; all but the last are of one size
  bytes BLOB NOT NULL
) STRICT;

-- The terms of an entry's text, joined by blanks, under the entry's number.
CREATE VIRTUAL TABLE words USING fts5(
  text, content='', columnsize=0, detail=full, tokenize='ascii'
);
CREATE VIRTUAL TABLE word_places USING fts5vocab(words, instance);
