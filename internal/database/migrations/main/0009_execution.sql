-- What agents reported to have done. What went in and out is in the log alone,
-- where it can be erased. Empty text stands for what is not known.
CREATE TABLE execution (
  id          TEXT   PRIMARY KEY,
  org_id      TEXT   NOT NULL REFERENCES organization (id),
  position    BIGINT NOT NULL,          -- its entry in the organization's log
  row_hash    BYTEA  NOT NULL,          -- SHA-256 of the key and the report, which clients send more than once
  received_at BIGINT NOT NULL,
  executed_at BIGINT NOT NULL,          -- by the client's clock
  key_id      TEXT   NOT NULL,
  plan_id     TEXT   NOT NULL,
  session_id  TEXT   NOT NULL,
  agent_id    TEXT   NOT NULL,
  user_id     TEXT   NOT NULL,
  server      TEXT   NOT NULL,
  tool        TEXT   NOT NULL,          -- as the client names it
  step        BIGINT NOT NULL,          -- as the client counts; -1: none
  digest      BYTEA  NOT NULL,          -- HMAC-SHA-256 of the canonical, unredacted arguments
  status      TEXT   NOT NULL,          -- success, failed, blocked, unknown
  seq         BIGINT,                   -- where the client numbers its reports
  decision_id TEXT   NOT NULL           -- that allowed it; '' where none is known (yet)
);
CREATE UNIQUE INDEX execution_by_hash ON execution (org_id, row_hash);
CREATE UNIQUE INDEX execution_by_position ON execution (org_id, position);
CREATE INDEX execution_by_plan ON execution (org_id, plan_id) WHERE plan_id <> '';
CREATE INDEX execution_by_seq ON execution (org_id, key_id, agent_id, session_id, seq) WHERE seq IS NOT NULL;

-- Allowed calls whose outcome nobody has reported.
CREATE TABLE awaited_outcome (
  org_id      TEXT   NOT NULL REFERENCES organization (id),
  position    BIGINT NOT NULL,          -- of the decision
  decision_id TEXT   NOT NULL,
  decided_at  BIGINT NOT NULL,
  key_id      TEXT   NOT NULL,
  plan_id     TEXT   NOT NULL,
  session_id  TEXT   NOT NULL,
  agent_id    TEXT   NOT NULL,
  tool        TEXT   NOT NULL,
  wire_name   TEXT   NOT NULL,          -- server and tool in the one name harnesses give MCP tools
  digest      BYTEA  NOT NULL,
  overdue     BIGINT NOT NULL,          -- 1 once it took too long
  PRIMARY KEY (org_id, position)
);
CREATE INDEX awaited_outcome_by_tool ON awaited_outcome (org_id, key_id, tool, position);
CREATE INDEX awaited_outcome_by_wire_name ON awaited_outcome (org_id, key_id, wire_name, position);
CREATE INDEX awaited_outcome_by_time ON awaited_outcome (overdue, decided_at);

-- Products, or keys without one, that ever reported what they did.
CREATE TABLE reporter (
  org_id  TEXT   NOT NULL REFERENCES organization (id),
  product TEXT   NOT NULL,
  since   BIGINT NOT NULL,
  PRIMARY KEY (org_id, product)
);

-- The greatest number seen of each sequence of reports.
CREATE TABLE report_sequence (
  org_id     TEXT   NOT NULL REFERENCES organization (id),
  key_id     TEXT   NOT NULL,
  agent_id   TEXT   NOT NULL,
  session_id TEXT   NOT NULL,
  newest     BIGINT NOT NULL,
  PRIMARY KEY (org_id, key_id, agent_id, session_id)
);

-- How far an organization's log was reconciled.
CREATE TABLE reconciled (
  org_id   TEXT   PRIMARY KEY REFERENCES organization (id),
  position BIGINT NOT NULL              -- of the first entry that was not looked at
);

-- What does not fit together.
CREATE TABLE finding (
  id           TEXT   PRIMARY KEY,
  org_id       TEXT   NOT NULL REFERENCES organization (id),
  kind         TEXT   NOT NULL,         -- execution_without_decision, decision_without_outcome, sequence_gap
  found_at     BIGINT NOT NULL,
  happened_at  BIGINT NOT NULL,
  position     BIGINT NOT NULL,         -- the entry of the log it is about
  key_id       TEXT   NOT NULL,
  agent_id     TEXT   NOT NULL,
  session_id   TEXT   NOT NULL,
  plan_id      TEXT   NOT NULL,
  tool         TEXT   NOT NULL,
  decision_id  TEXT   NOT NULL,
  execution_id TEXT   NOT NULL,
  first_seq    BIGINT NOT NULL,         -- of a gap: what is missing
  last_seq     BIGINT NOT NULL,
  missing      BIGINT NOT NULL,         -- how many of them still are
  resolved_at  BIGINT                   -- when what was missing came after all
);
CREATE INDEX finding_by_time ON finding (org_id, found_at, id);
CREATE INDEX finding_by_kind ON finding (org_id, kind, found_at, id);
CREATE INDEX finding_by_decision ON finding (org_id, decision_id) WHERE decision_id <> '';
CREATE INDEX finding_by_gap ON finding (org_id, key_id, agent_id, session_id, last_seq) WHERE missing > 0;
