-- What is known of organizations at the payment provider. A row is made with the customer; revision rises with each
-- state that is stored, so that one whose fetch began before another was stored is fetched again.
CREATE TABLE billing_account (
  org_id          TEXT    PRIMARY KEY REFERENCES organization (id),
  customer_id     TEXT    NOT NULL UNIQUE,
  subscription_id TEXT    NOT NULL,
  price_id        TEXT    NOT NULL,
  status          TEXT    NOT NULL,       -- of the subscription, in the provider's words; '': there was none
  period_end      BIGINT,
  cancel_at_end   BOOLEAN NOT NULL,
  revision        BIGINT  NOT NULL,
  created_at      BIGINT  NOT NULL,
  updated_at      BIGINT  NOT NULL
);

-- Events that were taken, so that each counts once.
CREATE TABLE billing_event (
  id          TEXT   PRIMARY KEY,
  type        TEXT   NOT NULL,
  org_id      TEXT   REFERENCES organization (id), -- NULL: of a customer that is not ours
  received_at BIGINT NOT NULL
);
CREATE INDEX billing_event_by_receipt ON billing_event (received_at);

-- Credit that was taken from an organization's ledger for the provider.
CREATE TABLE billing_credit (
  id         TEXT   PRIMARY KEY,
  org_id     TEXT   NOT NULL REFERENCES organization (id),
  cents      BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  sent_at    BIGINT
);
CREATE INDEX billing_credit_by_org ON billing_credit (org_id, created_at);

CREATE TABLE billing_invoice (
  id         TEXT   PRIMARY KEY,
  org_id     TEXT   NOT NULL REFERENCES organization (id),
  number     TEXT   NOT NULL,
  status     TEXT   NOT NULL,
  currency   TEXT   NOT NULL,
  due_cents  BIGINT NOT NULL,
  paid_cents BIGINT NOT NULL,
  page       TEXT   NOT NULL,            -- addresses at the provider
  pdf        TEXT   NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE INDEX billing_invoice_by_org ON billing_invoice (org_id, created_at, id);
