-- The last revision that did more than add a call: what was read before it must be read again.
ALTER TABLE known_scope ADD COLUMN rewritten BIGINT NOT NULL DEFAULT 0;
UPDATE known_scope SET rewritten = revision;
