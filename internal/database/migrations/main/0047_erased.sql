-- The exact texts that are erased once their plans have ended.
CREATE INDEX plan_anchor_erased ON plan_anchor (plan_id) WHERE shown = '' AND length(sealed) > 0;
