-- What a manifest says of the calls that the proxy carries out for its agent.
ALTER TABLE agent_manifest ADD COLUMN require_proofs BIGINT NOT NULL DEFAULT 1;         -- 0: its calls need not prove their step
ALTER TABLE agent_manifest ADD COLUMN proxy_timeout_seconds BIGINT NOT NULL DEFAULT 30;
ALTER TABLE agent_manifest ADD COLUMN proxy_retries BIGINT NOT NULL DEFAULT 3;

-- 1: a person has said that calls of the agent need not prove their step, where its manifest says so too.
ALTER TABLE agent ADD COLUMN proofs_optional BIGINT NOT NULL DEFAULT 0;
