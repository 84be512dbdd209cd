package mcp

import (
	"context"
	"time"

	"writ/internal/database"
	"writ/internal/principal"
)

// Check is how a server answered once.
type Check struct {
	At      time.Time
	Healthy bool
	Latency time.Duration
	Problem string
}

// maxChecks is how many checks a history has: some more than are made in a day.
const maxChecks = 200

// History reads a server and how it answered, the latest first.
func (s *Service) History(ctx context.Context, p principal.Principal, id string) (Server, []Check, error) {
	of, err := s.Get(ctx, p, id)
	if err != nil {
		return Server{}, nil, err
	}
	checks, err := database.Collect(ctx, s.db, func(row database.Scanner) (c Check, err error) {
		var micros int64
		err = row.Scan(database.ToTime(&c.At), database.ToBool(&c.Healthy), &micros, &c.Problem)
		c.Latency = time.Duration(micros) * time.Microsecond
		return c, err
	}, `
		SELECT at, healthy, latency, problem
		FROM mcp_check
		WHERE server_id = $1
		ORDER BY at DESC
		LIMIT $2`, of.ID, maxChecks)
	return of, checks, database.Wrap(err, "read how an MCP server answered")
}
