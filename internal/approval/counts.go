package approval

import (
	"context"
	"maps"
	"sync"

	"writ/internal/database"
)

// counts is how often this process committed each kind of event since it began, of all
// organizations together, for metrics.
type counts struct {
	mu sync.Mutex
	by map[EventKind]int64
}

func (c *counts) add(kind EventKind) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil {
		c.by = map[EventKind]int64{}
	}
	c.by[kind]++
}

// Counts is how often each kind of event happened in this process.
func (s *Service) Counts() map[EventKind]int64 {
	s.bell.counts.mu.Lock()
	defer s.bell.counts.mu.Unlock()
	return maps.Clone(s.bell.counts.by)
}

// Waiting counts the pending requests of all organizations.
func (s *Service) Waiting(ctx context.Context) (n int64, err error) {
	err = s.db.QueryRow(ctx, `
		SELECT COUNT(*)
		FROM approval_request
		WHERE status = 'pending' AND expires_at > $1`, database.Micros(s.db.Now())).Scan(&n)
	return n, database.Wrap(err, "count pending requests")
}
