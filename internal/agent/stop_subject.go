package agent

import (
	"context"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/toolname"
)

// requirePlan refuses the id of a plan that the organization does not have. Plans get their ids from the server, so
// nobody stops one ahead: whoever gave this id would believe that a plan is stopped which goes on.
func (s *Service) requirePlan(ctx context.Context, tx *database.Tx, orgID string, scope Scope, id string) error {
	if scope != OfPlan || s.sources.HasPlan == nil {
		return nil
	}
	known, err := s.sources.HasPlan(ctx, tx, orgID, id)
	if err == nil && !known {
		missing := fault.New(fault.NotFound, "subject: no such plan")
		missing.Details = []fault.Detail{{Field: "subject", Message: "no such plan"}}
		return missing
	}
	return err
}

// lookLimit is how long whoever stops something waits to hear whether its name was seen. A name can be read in many
// ways, each of which is looked up.
const lookLimit = 2 * time.Second

// isUnseen reports whether no decision is recorded about a server or tool that may be meant by a name, and the registry
// of MCP servers has none. A name may be stopped ahead, but is more often misspelled. It is looked up when the stop
// holds: a log that cannot be read, or is long, must not undo a stop, and then nothing is said.
func (s *Service) isUnseen(ctx context.Context, orgID string, scope Scope, subject string) bool {
	var meant []toolname.Meant
	switch scope {
	case OfServer:
		meant = []toolname.Meant{{Servers: toolname.StoppedServer(subject)}}
	case OfTool:
		meant = toolname.MeantBy(subject)
	default:
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	for _, m := range meant {
		seen, err := audit.HasDecided(ctx, s.db, audit.LogOf(orgID), m.Servers, m.Tools)
		if err == nil && !seen && s.sources.Lists != nil {
			seen, err = s.sources.Lists(ctx, s.db, orgID, m.Servers, m.Tools)
		}
		if err != nil || seen {
			return false
		}
	}
	return true
}
