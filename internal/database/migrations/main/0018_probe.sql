-- What /ready writes to find out whether anything can be written.
CREATE TABLE probe (
	id     BIGINT NOT NULL PRIMARY KEY,
	filler TEXT   NOT NULL
);
