-- Whether verify-step may allow a step by the arguments that its plan states, or holds it.
ALTER TABLE enforcement_settings ADD COLUMN planned_may_allow BIGINT NOT NULL DEFAULT 0; -- 1: as it would allow the call

-- Where the arguments of a request come from. '': from the call; plan: from its plan; unknown: nobody has seen them
ALTER TABLE approval_request ADD COLUMN arguments_from TEXT NOT NULL DEFAULT '';

-- Steps that were allowed by the arguments that their plan states.
CREATE TABLE plan_step_allowed (
  plan_id TEXT   NOT NULL REFERENCES plan (id) ON DELETE CASCADE,
  step    BIGINT NOT NULL,
  PRIMARY KEY (plan_id, step)
);

-- Verified steps are decisions, and few of them.
CREATE INDEX audit_entry_verified ON audit_entry (log, recorded_at, position) WHERE action = 'step.verified';
