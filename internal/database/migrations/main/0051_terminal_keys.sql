-- The session that a terminal got beside its key: the key ends with it. Not a foreign key: a session that ended by age is
-- removed, and leaves the key.
ALTER TABLE api_key ADD COLUMN session_id TEXT;
CREATE INDEX api_key_of_terminal ON api_key (owner_id) WHERE session_id IS NOT NULL;

-- A key and its session are made in one change, whose rows carry the same instant.
UPDATE api_key SET session_id = (
  SELECT MIN(s.id) FROM user_session s WHERE s.user_id = api_key.owner_id AND s.created_at = api_key.created_at
) WHERE hidden = 0 AND ' ' || scopes || ' ' LIKE '% cli %' AND made_by IS NULL AND revoked_at IS NULL;
