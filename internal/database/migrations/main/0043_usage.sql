-- How many members an organization had, on each day (since 1970, UTC) on which that changed: the most at once, and at
-- the end. Other days are as the one before ended.
CREATE TABLE seat_day (
  org_id TEXT   NOT NULL REFERENCES organization (id) ON DELETE CASCADE,
  day    BIGINT NOT NULL,
  most   BIGINT NOT NULL,
  last   BIGINT NOT NULL,
  PRIMARY KEY (org_id, day)
);

-- Who left before is not known any more: those who are members are counted from the day on which the last one joined.
INSERT INTO seat_day (org_id, day, most, last)
SELECT o.id, MAX(m.joined_at) / 86400000000, count(*), count(*)
FROM organization o
JOIN organization_member m ON m.org_id = o.id
WHERE o.closed_at IS NULL
GROUP BY o.id;
