-- A used proof is looked up by its key alone: without row numbers it is one tree, and each call writes one page less.
ALTER TABLE delegation_proof RENAME TO delegation_proof_before;
CREATE TABLE delegation_proof (
  plan_id    TEXT   NOT NULL,
  nonce      BYTEA  NOT NULL,
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (plan_id, nonce)
) WITHOUT ROWID;
INSERT INTO delegation_proof SELECT plan_id, nonce, expires_at FROM delegation_proof_before;
DROP TABLE delegation_proof_before;
