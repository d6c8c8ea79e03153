-- How far a conversation is ahead of its row: the row, its index and its agents' rows are not
-- written by every append, but brought up to date when fresh entries are moved.
CREATE TABLE ahead (
  conversation INTEGER PRIMARY KEY,
  head_seq     INTEGER NOT NULL,
  head_hash    BLOB NOT NULL,
  active_at    INTEGER NOT NULL,
  sums         BLOB NOT NULL, -- those that change with every append
  whose        INTEGER,       -- the agent that had to do with it
  agent        BLOB           -- and its sums
) STRICT;
