-- How far the decisions of an organization's log are in telemetry. Moved in the
-- transaction that writes their spans, so that each is written once.
CREATE TABLE projected (
  org_id   TEXT   PRIMARY KEY,
  position BIGINT NOT NULL,                 -- of the first entry of the log that was not looked at
  epoch    BIGINT NOT NULL                  -- of the log, which a restore raises
);
