-- Whether a person is asked where only a text says what a call does.
ALTER TABLE enforcement_settings ADD COLUMN grounding TEXT NOT NULL DEFAULT 'observe';          -- off, observe, ask
ALTER TABLE enforcement_settings ADD COLUMN unplanned_before_text TEXT NOT NULL DEFAULT 'hold'; -- hold, allow

-- What tools of an organization do, and kinds of their arguments, as JSON. One without a row has stated none.
CREATE TABLE tool_classes (
  org_id     TEXT   PRIMARY KEY REFERENCES organization (id),
  classes    TEXT   NOT NULL,
  updated_at BIGINT NOT NULL
);

-- 1: the plan was declared before any running text, so that its goal and values are the user's.
ALTER TABLE plan ADD COLUMN grounds BIGINT NOT NULL DEFAULT 0;

-- Why a call is in doubt, as JSON without values. '': it is not
ALTER TABLE approval_request ADD COLUMN grounding TEXT NOT NULL DEFAULT '';

-- A session, else a context, else a key with its user and agent: what is known belongs to one of them.
CREATE TABLE known_scope (
  id           TEXT   PRIMARY KEY,      -- SHA-256 over what it stands for, hex
  org_id       TEXT   NOT NULL REFERENCES organization (id),
  revision     BIGINT NOT NULL,         -- raised by every change of what is known
  spoken       BIGINT NOT NULL,         -- 1: running text was reported
  dropped      BIGINT NOT NULL,         -- 1: older outputs are gone
  prompt_bytes BIGINT NOT NULL,
  used_at      BIGINT NOT NULL
);
CREATE INDEX known_scope_by_use ON known_scope (used_at);

-- The user's words.
CREATE TABLE known_prompt (
  id         TEXT   PRIMARY KEY,
  scope_id   TEXT   NOT NULL REFERENCES known_scope (id) ON DELETE CASCADE,
  plan_id    TEXT   NOT NULL,           -- that was declared with them; '': none
  position   BIGINT NOT NULL,           -- of their entry in the organization's log
  sealed     BYTEA  NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE INDEX known_prompt_by_scope ON known_prompt (scope_id);
CREATE INDEX known_prompt_by_plan ON known_prompt (plan_id) WHERE plan_id <> '';

-- Allowed calls, and what their tools returned once that was reported.
CREATE TABLE known_output (
  id            TEXT   PRIMARY KEY,     -- of the decision
  org_id        TEXT   NOT NULL REFERENCES organization (id),
  scope_id      TEXT   NOT NULL REFERENCES known_scope (id) ON DELETE CASCADE,
  base_id       TEXT   NOT NULL,        -- the scope of its key, user and agent
  number        BIGINT NOT NULL,        -- the revision that added it
  key_id        TEXT   NOT NULL,
  plan_id       TEXT   NOT NULL,
  tool          TEXT   NOT NULL,
  wire_name     TEXT   NOT NULL,        -- server and tool in the one name harnesses give MCP tools
  digest        BYTEA  NOT NULL,        -- of the arguments; empty: unknown
  state         BIGINT NOT NULL,        -- 0: awaited, 1: known, 2: unknown
  size          BIGINT NOT NULL,        -- of the output
  decided       BIGINT NOT NULL,        -- the decision's position in the log
  reported      BIGINT NOT NULL,        -- the report's; -1: none
  sealed_call   BYTEA  NOT NULL,
  sealed_output BYTEA  NOT NULL
);
CREATE INDEX known_output_by_scope ON known_output (scope_id, number);
CREATE INDEX known_output_awaited ON known_output (org_id, key_id, plan_id, number) WHERE state = 0;
CREATE INDEX known_output_by_decision ON known_output (org_id, decided);
CREATE INDEX known_output_by_report ON known_output (org_id, reported) WHERE reported >= 0;
