-- What is kept apart says which entry is the last message, not what it says: rows that are written
-- with every append are small. If it says none, the message is among the sums.
ALTER TABLE ahead ADD COLUMN last_seq INTEGER;
