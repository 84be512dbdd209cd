-- What a request's call needed beside its rule, so that a standing approval of that rule would not let it run: somebody who
-- sees its values (doubted), or its step, which was added to the plan later (widens).
ALTER TABLE approval_request ADD COLUMN doubted BIGINT NOT NULL DEFAULT 0;
ALTER TABLE approval_request ADD COLUMN widens  BIGINT NOT NULL DEFAULT 0;

-- Nobody has seen the arguments of what a client asked for without them.
UPDATE approval_request SET arguments_from = 'unknown' WHERE requested_via = 'request' AND LENGTH(digest) = 0;
