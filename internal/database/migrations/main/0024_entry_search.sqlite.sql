-- Entries are found by session and by server as well, and refusals by what decided. The index by session also counts the
-- allowed calls of a session, as before.
DROP INDEX audit_entry_by_session;
CREATE INDEX audit_entry_by_session ON audit_entry (log, session, recorded_at, position, verdict) WHERE session IS NOT NULL;
CREATE INDEX audit_entry_by_server ON audit_entry (log, server, recorded_at, position) WHERE server IS NOT NULL;
CREATE INDEX audit_entry_by_decider ON audit_entry (log, json_extract(record, '$.policy'), recorded_at, position) WHERE verdict <> 'allow';
