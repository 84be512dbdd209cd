package mcp

import (
	"context"
	"maps"
	"slices"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/mcp/definition"
	"writ/internal/principal"
)

// Replaced are the MCP servers of a database that a backup replaces.
type Replaced struct {
	servers map[string]Server // by id: what a denial needs
	known   map[string]bool   // the organizations that the replaced database has
}

// ReadReplaced reads the MCP servers of all organizations from an SQLite database that a backup replaces. One of an
// earlier Writ has none.
func ReadReplaced(ctx context.Context, r database.Reader) (Replaced, error) {
	has, err := database.ReplacedHas(ctx, r, "mcp_server", "id", "org_id", "name", "status", "reason", "registered_by",
		"decided_by")
	if err != nil || !has {
		return Replaced{}, err
	}
	before := Replaced{map[string]Server{}, map[string]bool{}}
	all, err := database.Collect(ctx, r, func(row database.Scanner) (s Server, err error) {
		err = row.Scan(&s.ID, &s.OrgID, &s.Name, &s.Status, &s.Reason, &s.RegisteredBy, &s.DecidedBy)
		return s, err
	}, `SELECT id, org_id, name, status, reason, registered_by, decided_by FROM mcp_server`)
	if err != nil {
		return Replaced{}, database.Wrap(err, "read the MCP servers")
	}
	for _, s := range all {
		before.servers[s.ID] = s
	}
	organizations, err := database.Collect(ctx, r, database.Column[string], `SELECT id FROM organization`)
	for _, id := range organizations {
		before.known[id] = true
	}
	return before, database.Wrap(err, "read the organizations")
}

// RefuseAgain removes and denies the MCP servers that were removed or denied since the backup, and counts them. What
// was denied under a name that the backup does not know is denied there, too.
func RefuseAgain(ctx context.Context, tx *database.Tx, log *audit.Log, before Replaced) (refused int, err error) {
	s := &Service{Options: Options{Log: log}}
	restored, err := database.Collect(ctx, tx, scanServer, serverColumns+`ORDER BY s.org_id, s.name`)
	if err != nil {
		return 0, database.Wrap(err, "read the MCP servers")
	}
	for i := range restored {
		here := &restored[i]
		was, still := before.servers[here.ID]
		switch {
		case !before.known[here.OrgID]:
			continue
		case !still:
			err = s.removeAgain(ctx, tx, here)
		case was.Status == Denied && here.Status != Denied:
			err = s.denyAgain(ctx, tx, here, was)
		default:
			continue
		}
		if err != nil {
			return 0, err
		}
		refused++
	}
	unknown, err := s.denyUnknown(ctx, tx, before)
	return refused + unknown, err
}

func (s *Service) removeAgain(ctx context.Context, tx *database.Tx, here *Server) error {
	if err := remove(ctx, tx, here.ID); err != nil {
		return err
	}
	return s.recordAgain(ctx, tx, removed, here)
}

func (s *Service) denyAgain(ctx context.Context, tx *database.Tx, here *Server, was Server) error {
	now := tx.Now()
	here.Status, here.DecidedBy, here.DecidedAt, here.Reason = Denied, was.DecidedBy, &now, was.Reason
	if err := update(ctx, tx, here); err != nil {
		return err
	}
	return s.recordAgain(ctx, tx, updated, here)
}

// denyUnknown denies the names that the replaced database denies and the backup does not know.
func (s *Service) denyUnknown(ctx context.Context, tx *database.Tx, before Replaced) (denied int, err error) {
	here, err := database.Collect(ctx, tx, database.Column[string], `SELECT id FROM organization`)
	if err != nil {
		return 0, database.Wrap(err, "read the organizations")
	}
	for _, id := range slices.Sorted(maps.Keys(before.servers)) {
		was := before.servers[id]
		if was.Status != Denied || !slices.Contains(here, was.OrgID) {
			continue
		}
		if _, err := findNamed(ctx, tx, was.OrgID, was.Name); err == nil {
			continue
		} else if !fault.Is(err, fault.NotFound) {
			return 0, err
		}
		now := tx.Now()
		was.CreatedAt, was.DecidedAt, was.Auth.Type = now, &now, definition.AuthNone
		if err := insert(ctx, tx, &was); err != nil {
			return 0, err
		}
		if err := s.recordAgain(ctx, tx, registered, &was); err != nil {
			return 0, err
		}
		denied++
	}
	return denied, nil
}

func (s *Service) recordAgain(ctx context.Context, tx *database.Tx, action string, of *Server) error {
	payload := of.payload()
	payload["restored"] = true
	return s.record(ctx, tx, principal.Operator(), action, of, payload, false)
}
