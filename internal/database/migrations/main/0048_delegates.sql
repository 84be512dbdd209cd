-- Whether anything was delegated to an agent that has not called yet.
CREATE INDEX delegation_by_agent ON delegation (agent_id) WHERE agent_id <> '';
