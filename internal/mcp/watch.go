package mcp

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"net/url"
	"strings"
	"time"

	"writ/internal/database"
	"writ/internal/dispatch"
	"writ/internal/fault"
	"writ/internal/mcp/discovery"
	"writ/internal/names"
)

// WatchEvery is how often an approved server is asked, give or take a tenth: the window in which a change is not seen.
const WatchEvery = 10 * time.Minute

// How watching is paced.
const (
	atOnce    = 16                              // servers at a time, on each replica
	perOrg    = 4                               // of one organization
	pollEvery = time.Second                     // on every replica
	dueLimit  = 200                             // servers per poll
	leaseTime = discovery.MaxTime + time.Minute // longer than a check takes
	keepFor   = 3 * 24 * time.Hour              // how servers answered
	pruneStep = 5_000
)

// nextCheck is when a server is asked again: after WatchEvery, give or take a tenth, so that servers which
// were registered together are not asked together.
func nextCheck(id string, at time.Time) time.Duration {
	h := fnv.New32a()
	fmt.Fprint(h, id, at.UnixMicro())
	spread := WatchEvery / 5
	return WatchEvery - spread/2 + time.Duration(h.Sum32())%spread
}

func (s *Service) dispatcher() *dispatch.Dispatcher[Server] {
	return &dispatch.Dispatcher[Server]{
		Every: pollEvery, Concurrent: atOnce, PerOrganization: perOrg, Due: s.due,
		Target: func(of Server) dispatch.Target { return dispatch.Target{ID: of.ID, OrgID: of.OrgID} },
		Turn: func(ctx context.Context, of Server) error {
			if err := s.turn(ctx, of); err != nil {
				return fmt.Errorf("watch MCP server %s: %w", of.ID, err)
			}
			return nil
		},
	}
}

// Run watches servers until ctx ends, and reports what goes wrong on our side.
func (s *Service) Run(ctx context.Context, report func(error)) { s.watching.Run(ctx, report) }

// Watch asks every server that is due, once, and returns when all have answered or failed.
func (s *Service) Watch(ctx context.Context) error { return s.watching.Pass(ctx) }

// due lists the servers that are to be asked: a few of each organization, the longest waiting first. A time
// further ahead than we ever set was written before the clock was set back.
func (s *Service) due(ctx context.Context) ([]Server, error) {
	now := s.db.Now()
	due, err := database.Collect(ctx, s.db, scanServer, serverColumns+`
		JOIN (
			SELECT w.id AS due_id, ROW_NUMBER() OVER (PARTITION BY w.org_id ORDER BY w.check_at, w.id) AS turn
			FROM mcp_server w
			JOIN organization o ON o.id = w.org_id AND o.closed_at IS NULL
			WHERE w.watched = 1 AND (w.check_at <= $1 OR w.check_at > $2)
		) d ON d.due_id = s.id AND d.turn <= $3
		ORDER BY s.check_at, s.id
		LIMIT $4`, database.Micros(now), database.Micros(now.Add(2*WatchEvery)), perOrg, dueLimit)
	return due, database.Wrap(err, "list the MCP servers to ask")
}

// turn asks one server, unless another replica does.
func (s *Service) turn(ctx context.Context, of Server) error {
	taken := false
	err := s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		now := tx.Now()
		rows, err := tx.Exec(ctx, `
			UPDATE mcp_server
			SET check_at = $2
			WHERE id = $1 AND watched = 1 AND revision = $3 AND (check_at <= $4 OR check_at > $5)`,
			of.ID, database.Micros(now.Add(leaseTime)), of.revision, database.Micros(now),
			database.Micros(now.Add(2*WatchEvery)))
		taken = rows == 1
		return database.Wrap(err, "lease an MCP server")
	}})
	if err != nil || !taken {
		return err
	}
	if err := s.check(ctx, &of, cmp.Or(of.DecidedBy, of.RegisteredBy)); !fault.Is(err, fault.NotFound) {
		return err
	}
	return nil // it was removed meanwhile
}

// Prune forgets how servers answered long ago.
func (s *Service) Prune(ctx context.Context) error {
	for {
		var gone int64
		err := s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) (err error) {
			gone, err = tx.Exec(ctx, `
				DELETE FROM mcp_check
				WHERE (server_id, at) IN (SELECT server_id, at FROM mcp_check WHERE at < $1 LIMIT $2)`,
				database.Micros(tx.Now().Add(-keepFor)), pruneStep)
			return err
		}})
		if err != nil {
			return fmt.Errorf("forget how MCP servers answered: %w", err)
		}
		if gone < pruneStep {
			return nil
		}
	}
}

func isTLS(address string) bool { return strings.HasPrefix(strings.ToLower(address), "https://") }

// origin is the scheme, host and port of an address.
func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Scheme + "://" + u.Host)
}

func cutText(text string, most int) string { return names.Cut(text, most) }
