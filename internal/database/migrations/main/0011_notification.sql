-- How far the approval events of an organization were told on.
CREATE TABLE notification_cursor (
  org_id TEXT   PRIMARY KEY REFERENCES organization (id),
  event  BIGINT NOT NULL              -- number of the last event that was told
);

-- What a person finds in the application.
CREATE TABLE notification (
  id         TEXT   PRIMARY KEY,
  org_id     TEXT   NOT NULL REFERENCES organization (id),
  user_id    TEXT   NOT NULL REFERENCES user_account (id),
  cause      TEXT   NOT NULL,         -- what happened once is told once: event/12, webhook/...
  kind       TEXT   NOT NULL,         -- approval.opened, ..., webhook.disabled
  subject_id TEXT   NOT NULL,         -- the request, or the webhook
  title      TEXT   NOT NULL,
  risk       TEXT   NOT NULL,         -- of the request; '': none
  created_at BIGINT NOT NULL,
  read_at    BIGINT
);
CREATE UNIQUE INDEX notification_once ON notification (org_id, user_id, cause);
CREATE INDEX notification_by_time ON notification (org_id, user_id, created_at, id);
CREATE INDEX notification_unread ON notification (org_id, user_id, created_at, id) WHERE read_at IS NULL;
CREATE INDEX notification_by_subject ON notification (org_id, subject_id) WHERE read_at IS NULL;
CREATE INDEX notification_by_age ON notification (created_at);

-- What a person wants to be told by mail, and when they last were. Without a row
-- they want it, and were not.
CREATE TABLE notification_reader (
  org_id    TEXT   NOT NULL REFERENCES organization (id),
  user_id   TEXT   NOT NULL REFERENCES user_account (id),
  mail_off  BIGINT NOT NULL,          -- 1: no mail
  mailed_at BIGINT NOT NULL,          -- 0: never
  PRIMARY KEY (org_id, user_id)
);

-- Requests that the next mail to a person names.
CREATE TABLE notification_mail (
  org_id     TEXT   NOT NULL REFERENCES organization (id),
  user_id    TEXT   NOT NULL REFERENCES user_account (id),
  request_id TEXT   NOT NULL,
  title      TEXT   NOT NULL,
  expires_at BIGINT NOT NULL,         -- of the request
  created_at BIGINT NOT NULL,
  PRIMARY KEY (org_id, user_id, request_id)
);

-- Targets that are told of events. URL and secret are sealed: whoever has the URL
-- of an incoming webhook can write there.
CREATE TABLE webhook (
  id              TEXT   PRIMARY KEY,
  org_id          TEXT   NOT NULL REFERENCES organization (id),
  name            TEXT   NOT NULL,
  kind            TEXT   NOT NULL,    -- generic, slack, teams
  target          TEXT   NOT NULL,    -- scheme and host, to be shown
  url             BYTEA  NOT NULL,    -- sealed
  secret          BYTEA  NOT NULL,    -- sealed
  events          TEXT   NOT NULL,    -- kinds, with commas between
  send_arguments  BIGINT NOT NULL,    -- 1: those of calls are sent, redacted and cut
  created_at      BIGINT NOT NULL,
  created_by      TEXT   NOT NULL,
  updated_at      BIGINT NOT NULL,
  delivered_at    BIGINT,             -- the last success
  failing_since   BIGINT,             -- NULL: the last delivery succeeded
  disabled_at     BIGINT,             -- NULL: it is sent to
  disabled_reason TEXT   NOT NULL,
  disabled_told   BIGINT NOT NULL,    -- 1: who administers was told, or did it
  next_number     BIGINT NOT NULL,    -- of the next delivery
  retry_at        BIGINT NOT NULL,    -- not before
  lease_holder    TEXT   NOT NULL,    -- the process that sends now
  lease_until     BIGINT NOT NULL
);
CREATE INDEX webhook_by_organization ON webhook (org_id, created_at, id);
CREATE INDEX webhook_untold ON webhook (org_id) WHERE disabled_told = 0;

-- What is or was sent to a target, in the order of its numbers.
CREATE TABLE webhook_delivery (
  id           TEXT   PRIMARY KEY,
  webhook_id   TEXT   NOT NULL REFERENCES webhook (id) ON DELETE CASCADE,
  org_id       TEXT   NOT NULL REFERENCES organization (id),
  number       BIGINT NOT NULL,
  event        BIGINT NOT NULL,       -- its number; 0: a test
  kind         TEXT   NOT NULL,
  request_id   TEXT   NOT NULL,
  body         TEXT   NOT NULL,
  status       TEXT   NOT NULL,       -- waiting, delivered, dead
  attempts     BIGINT NOT NULL,
  http_status  BIGINT NOT NULL,       -- of the last try; 0: no answer
  problem      TEXT   NOT NULL,       -- of the last try; '': none
  created_at   BIGINT NOT NULL,
  queued_at    BIGINT NOT NULL,       -- when it was made or replayed: its day begins then
  attempted_at BIGINT,
  done_at      BIGINT                 -- delivered or dead
);
CREATE UNIQUE INDEX webhook_delivery_by_number ON webhook_delivery (webhook_id, number);
CREATE INDEX webhook_delivery_waiting ON webhook_delivery (webhook_id, number) WHERE status = 'waiting';
CREATE INDEX webhook_delivery_dead ON webhook_delivery (webhook_id) WHERE status = 'dead';
CREATE INDEX webhook_delivery_by_time ON webhook_delivery (webhook_id, created_at, id);
CREATE INDEX webhook_delivery_by_request ON webhook_delivery (org_id, request_id);
CREATE INDEX webhook_delivery_by_age ON webhook_delivery (done_at) WHERE done_at IS NOT NULL;
