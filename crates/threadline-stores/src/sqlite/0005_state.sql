-- Whether a conversation rests, works or waits is kept apart too: that changes twice in every turn.
ALTER TABLE ahead ADD COLUMN state INTEGER NOT NULL DEFAULT 0;
UPDATE ahead SET state = (SELECT state FROM conversation WHERE num = ahead.conversation);
