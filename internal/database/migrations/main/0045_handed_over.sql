-- A key that somebody handed over when they left. They know its secret, so that it ends soon (expires_at), unless the key
-- that replaces it comes first. That one expires when the key would have.
ALTER TABLE api_key ADD COLUMN handed_over_at BIGINT;
ALTER TABLE api_key ADD COLUMN next_expires_at BIGINT;
