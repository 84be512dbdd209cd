-- Codes by which organizations are referred. One for each; they are no secrets.
CREATE TABLE referral_code (
  code          TEXT   PRIMARY KEY,
  org_id        TEXT   NOT NULL UNIQUE REFERENCES organization (id),
  made_by       TEXT   NOT NULL REFERENCES user_account (id),
  created_at    BIGINT NOT NULL
);

-- Which organization was referred by which: once, for good.
CREATE TABLE referral (
  org_id        TEXT   PRIMARY KEY REFERENCES organization (id),
  referrer_id   TEXT   NOT NULL REFERENCES organization (id),
  claimed_by    TEXT   NOT NULL REFERENCES user_account (id),
  claimed_at    BIGINT NOT NULL
);
CREATE INDEX referral_by_referrer ON referral (referrer_id);

-- The credit of organizations, entry by entry: the balance is their sum.
CREATE TABLE credit (
  id            TEXT   PRIMARY KEY,
  org_id        TEXT   NOT NULL REFERENCES organization (id),
  cents         BIGINT NOT NULL,
  kind          TEXT   NOT NULL,        -- referral
  subject       TEXT   NOT NULL,        -- what it is for: the organization that was referred
  created_at    BIGINT NOT NULL,
  UNIQUE (kind, subject)
);
CREATE INDEX credit_by_org ON credit (org_id, created_at, id);
