package database

import "github.com/google/uuid"

// NewID makes an id: a UUIDv7 in lower case, whose text sorts by time on every
// database and collation.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// IsID reports whether text has the form of our ids. Other texts need no query.
func IsID(text string) bool {
	id, err := uuid.Parse(text)
	return err == nil && id.String() == text
}
