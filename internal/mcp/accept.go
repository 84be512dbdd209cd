package mcp

import (
	"context"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/mcp/definition"
	"writ/internal/principal"
)

// Accept accepts a held tool as it is listed, which releases it. The hash says what the person has seen; if the tool is
// another by now, or somebody else has accepted it, that is a conflict. Of a tool that is gone, it forgets the pin.
func (s *Service) Accept(
	ctx context.Context, p principal.Principal, id, name, hash, reason string,
) (Tool, error) {
	if err := requireManager(p); err != nil {
		return Tool{}, err
	}
	reason, err := checkReason(reason)
	if err != nil {
		return Tool{}, err
	}
	var t Tool
	err = s.write(ctx, p.OrgID, func(ctx context.Context, tx *database.Tx) error {
		of, err := find(ctx, tx, p.OrgID, id)
		if err != nil {
			return err
		}
		if t, err = findTool(ctx, tx, of.ID, name); err != nil {
			return err
		}
		if err := t.refuseAccept(hash); err != nil {
			return err
		}
		was, diff := t.State, t.Diff()
		if t.State == Gone {
			err = deleteTool(ctx, tx, of.ID, name)
		} else {
			t.accept(p.UserID, tx.Now())
			err = updateTool(ctx, tx, &of, &t)
		}
		if err == nil {
			err = s.redefined(ctx, tx, p, &of)
		}
		if err == nil && !of.Health.Unreadable { // else all of its tools are held still
			err = s.notifyReleased(ctx, tx, &of)
		}
		if err != nil {
			return err
		}
		return s.record(ctx, tx, p, toolAccepted, &of, map[string]any{
			"name": of.Name, "tool": name, "state": string(was), "hash": t.Listed.Hash, "reason": reason,
			"diff": orNone(diff),
		}, false)
	})
	return t, err
}

// refuseAccept refuses what is not held, and what is not as a person has seen it.
func (t *Tool) refuseAccept(hash string) error {
	switch {
	case t.State == Listed:
		return fault.New(fault.Conflict, "the server is not approved: approving it accepts its tools")
	case !t.State.Holds() && hash == t.Accepted.Hash:
		return fault.New(fault.Conflict, "the tool is accepted already")
	case hash == "" && t.Listed.Hash != "": // the pin of a tool that is gone is forgotten without one
		return fault.Field("hash", "must be the hash of the tool as you have seen it")
	case hash != t.Listed.Hash:
		return fault.New(fault.Conflict, "the tool is not what you have seen: look at it again")
	}
	return nil
}

// Report compares what a stdio server lists on its developer's machine with its pins.
func (s *Service) Report(
	ctx context.Context, p principal.Principal, id string, found definition.Server,
) (Server, error) {
	if err := requireManager(p); err != nil {
		return Server{}, err
	}
	known, err := find(ctx, s.db, p.OrgID, id)
	if err != nil {
		return Server{}, err
	}
	offered := known.offered(found)
	offered.agreed = true
	var after Server
	err = s.write(ctx, p.OrgID, func(ctx context.Context, tx *database.Tx) error {
		of, err := find(ctx, tx, p.OrgID, known.ID)
		if err != nil {
			return err
		}
		if of.Transport != definition.Stdio {
			return fault.New(fault.Conflict, "the server is asked itself: only what a stdio server lists is reported")
		}
		if err := s.settleTools(ctx, tx, p, &of, offered); err != nil {
			return err
		}
		after, err = find(ctx, tx, p.OrgID, of.ID)
		return err
	})
	return after, err
}

// pinListed pins what a server lists, because a person approves the server, and says what that changes.
func (s *Service) pinListed(
	ctx context.Context, tx *database.Tx, p principal.Principal, of *Server,
) (changed []Difference, more int, err error) {
	if of.ListedHash == "" {
		return nil, 0, nil // nobody has seen a list: the first one is held when it comes
	}
	before, err := readTools(ctx, tx, of.ID)
	if err != nil {
		return nil, 0, err
	}
	var kept []Tool
	for _, t := range before {
		if t.Listed.Hash == "" {
			continue
		}
		if t.State != Pinned {
			t.accept(p.UserID, tx.Now())
		}
		kept = append(kept, t)
	}
	if err := replaceTools(ctx, tx, of, kept); err != nil {
		return nil, 0, err
	}
	changed, more = differences(before, kept)
	_, err = tx.Exec(ctx, `UPDATE mcp_server SET pinned = 1 WHERE id = $1`, of.ID)
	return changed, more, database.Wrap(err, "pin the tools of an MCP server")
}

// acceptListed accepts all held tools of a server as it lists them, because a person approves it again.
func (s *Service) acceptListed(
	ctx context.Context, tx *database.Tx, p principal.Principal, of *Server, reason string,
) error {
	changed, more, err := s.pinListed(ctx, tx, p, of)
	if err != nil {
		return err
	}
	return s.record(ctx, tx, p, toolsChanged, of, map[string]any{
		"name": of.Name, "tools": changed, "more": more, "listed": of.ListedHash, "reason": reason,
	}, false)
}

func orNone(diff []definition.Change) []definition.Change {
	if diff == nil {
		return []definition.Change{}
	}
	return diff
}
