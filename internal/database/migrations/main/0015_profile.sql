-- Profiles: policies as coding-agent plugins stage them. One that was proposed is
-- a version of a policy whose face is 'profile'; each person's proposals are the
-- versions of one such policy.
ALTER TABLE policy ADD COLUMN face TEXT NOT NULL DEFAULT ''; -- '' was written as a document
CREATE INDEX policy_face ON policy (org_id, face) WHERE face <> '';

-- What a person's plugins have staged last, and nobody has been asked about.
CREATE TABLE policy_profile_draft (
  org_id     TEXT   NOT NULL REFERENCES organization (id),
  owner_id   TEXT   NOT NULL,           -- the person, or the owner of the key
  name       TEXT   NOT NULL,
  profile    TEXT   NOT NULL,           -- canonical JSON
  hash       TEXT   NOT NULL,           -- hex SHA-256 of profile
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (org_id, owner_id)
);

CREATE TABLE policy_profile (
  id           TEXT   PRIMARY KEY,
  org_id       TEXT   NOT NULL REFERENCES organization (id),
  policy_id    TEXT   NOT NULL REFERENCES policy (id),
  version      BIGINT NOT NULL,
  owner_id     TEXT   NOT NULL,
  author_kind  TEXT   NOT NULL,         -- user, key
  author_id    TEXT   NOT NULL,
  name         TEXT   NOT NULL,
  reason       TEXT   NOT NULL,
  profile      TEXT   NOT NULL,         -- canonical JSON
  hash         TEXT   NOT NULL,         -- hex SHA-256 of profile
  state        TEXT   NOT NULL,         -- open, superseded, withdrawn, confirmed
  proposed_at  BIGINT NOT NULL,
  decided_by   TEXT   NOT NULL,         -- who confirmed or withdrew it; '' nobody yet
  decided_at   BIGINT,
  confirmation BIGINT NOT NULL,         -- number among the organization's confirmations, the last time; 0 never
  UNIQUE (policy_id, version)
);
CREATE INDEX policy_profile_by_org ON policy_profile (org_id, proposed_at, id);
CREATE UNIQUE INDEX policy_profile_open ON policy_profile (org_id, owner_id) WHERE state = 'open';
