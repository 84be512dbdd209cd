-- The people who run this installation. It gives no right in any organization.
CREATE TABLE operator (
  user_id       TEXT   PRIMARY KEY REFERENCES user_account (id),
  added_at      BIGINT NOT NULL
);

-- What people ask for who have no account yet. Anyone may: nothing in it is proven.
CREATE TABLE access_request (
  id            TEXT   PRIMARY KEY,
  email         TEXT   NOT NULL,
  name          TEXT   NOT NULL,
  company       TEXT   NOT NULL,
  message       TEXT   NOT NULL,
  status        TEXT   NOT NULL,        -- pending, approved, rejected
  created_at    BIGINT NOT NULL,
  decided_at    BIGINT,
  decided_by    TEXT   NOT NULL,        -- a user; '' while it is pending
  reason        TEXT   NOT NULL,        -- of a rejection
  org_id        TEXT   NOT NULL,        -- the organization that it became an invitation to; '' for none
  role          TEXT   NOT NULL,
  token_hash    BYTEA  UNIQUE,          -- of a permission to register; NULL for none
  token_ends_at BIGINT
);
CREATE UNIQUE INDEX access_request_pending ON access_request (email) WHERE status = 'pending';
CREATE INDEX access_request_by_email ON access_request (email, created_at);
CREATE INDEX access_request_by_time ON access_request (created_at, id);
CREATE INDEX access_request_by_status ON access_request (status, created_at, id);

-- Posts of the installation's blog. Markdown is stored, and rendered when it is read.
CREATE TABLE blog_post (
  id            TEXT   PRIMARY KEY,
  slug          TEXT   NOT NULL UNIQUE, -- names it in addresses
  title         TEXT   NOT NULL,
  summary       TEXT   NOT NULL,
  body          TEXT   NOT NULL,        -- Markdown
  revision      BIGINT NOT NULL,        -- grows with every change
  author_id     TEXT   NOT NULL,        -- who made it
  created_at    BIGINT NOT NULL,
  updated_at    BIGINT NOT NULL,
  published_at  BIGINT                  -- NULL: a draft
);
CREATE INDEX blog_post_by_time ON blog_post (created_at, id);
CREATE INDEX blog_post_published ON blog_post (published_at, id) WHERE published_at IS NOT NULL;
