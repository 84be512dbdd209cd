package database

import (
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Columns hold instants as microseconds, booleans as 0 or 1, and a missing text as
// NULL. The To functions give Scan a destination that reads such a column into
// Go's own type.

// ToTime reads an instant.
func ToTime(t *time.Time) sql.Scanner { return timeColumn{t} }

// ToOptionalTime reads an instant that may be NULL.
func ToOptionalTime(t **time.Time) sql.Scanner { return optionalTimeColumn{t} }

// ToBool reads 0 or 1.
func ToBool(b *bool) sql.Scanner { return boolColumn{b} }

// ToText reads a text. NULL is the empty string.
func ToText(s *string) sql.Scanner { return textColumn{s} }

type (
	timeColumn         struct{ t *time.Time }
	optionalTimeColumn struct{ t **time.Time }
	boolColumn         struct{ b *bool }
	textColumn         struct{ s *string }
)

// Scan implements sql.Scanner.
func (c timeColumn) Scan(value any) error {
	micros, err := integer(value)
	*c.t = Time(micros)
	return err
}

// Scan implements sql.Scanner.
func (c optionalTimeColumn) Scan(value any) error {
	*c.t = nil
	if value == nil {
		return nil
	}
	*c.t = new(time.Time)
	return timeColumn{*c.t}.Scan(value)
}

// Scan implements sql.Scanner.
func (c boolColumn) Scan(value any) error {
	n, err := integer(value)
	*c.b = n == 1
	return err
}

// Scan implements sql.Scanner.
func (c textColumn) Scan(value any) error {
	var text sql.NullString
	err := text.Scan(value)
	*c.s = text.String
	return err
}

func integer(value any) (int64, error) {
	n, ok := value.(int64)
	if !ok {
		return 0, fmt.Errorf("the column holds a %T, not an integer", value)
	}
	return n, nil
}

// Bit is how a boolean is stored.
func Bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// Column scans a row of one column, for Collect.
func Column[T any](row Scanner) (value T, err error) {
	err = row.Scan(&value)
	return value, err
}

// Wrap says what was being done when err occurred. A nil error stays nil.
func Wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
}

// OrMissing is Wrap for the read of one row: without a row the error is missing,
// which is nil where the row may be absent.
func OrMissing(err, missing error, format string, args ...any) error {
	if errors.Is(err, sql.ErrNoRows) {
		return missing
	}
	return Wrap(err, format, args...)
}
