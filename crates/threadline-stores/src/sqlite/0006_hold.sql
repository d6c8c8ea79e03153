-- Whether nothing runs before a person resumes it, how often unattended drivers died in a row at the
-- same entry, and for whom and at which entry the lease was taken last.
ALTER TABLE conversation ADD COLUMN held INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversation ADD COLUMN deaths INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversation ADD COLUMN unattended INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversation ADD COLUMN lease_head INTEGER;
