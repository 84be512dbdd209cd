-- The tool as a report called it, where its server was split off. Empty: as in the column tool.
ALTER TABLE execution ADD COLUMN called TEXT NOT NULL DEFAULT '';
