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

func orNone(diff []definition.Change) []definition.Change {
	if diff == nil {
		return []definition.Change{}
	}
	return diff
}
