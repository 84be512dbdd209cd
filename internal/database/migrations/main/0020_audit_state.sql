-- What the entries of a log say that is needed without reading them all: the digest of the active policies; of System's, how
-- many logs there are and where they were anchored last. The seal is of it and the checkpoint, by a key that is not in here.
ALTER TABLE audit_head ADD COLUMN state TEXT NOT NULL DEFAULT '';
ALTER TABLE audit_head ADD COLUMN seal TEXT NOT NULL DEFAULT ''; -- '' before there were any
