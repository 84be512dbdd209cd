package decode

import (
	"errors"
	"time"
)

var errInstant = errors.New("must be an ISO 8601 date and time")

// layouts are the forms of ISO 8601 that clients send. A time without a zone is UTC. Go accepts a fraction of a second
// wherever the layout has seconds.
var layouts = []string{
	"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04Z07:00",
}

// parseInstant reads an ISO 8601 date and time as microseconds since 1970.
func parseInstant(text string) (int64, error) {
	for _, layout := range layouts {
		if t, err := time.Parse(layout, text); err == nil {
			if year := t.UTC().Year(); year < 1 || year > 9999 {
				return 0, errInstant
			}
			return t.UnixMicro(), nil
		}
	}
	return 0, errInstant
}
