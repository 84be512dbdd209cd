package approval

import (
	"context"
	"fmt"
	"math"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// errStopped answers an agent that asks while it is stopped. It does not say why.
func errStopped() error {
	return fault.New(fault.Forbidden,
		"a person has stopped this agent or its key: nothing is asked for it until a person revives it")
}

// errEnded answers who would approve a request from before its agent or key was stopped.
func errEnded() error {
	return fault.New(fault.Conflict,
		"the kill switch has stopped this agent or its key since, so that the request has ended")
}

// refuseStopped refuses a request of an agent or key that is stopped now.
func (s *Service) refuseStopped(ctx context.Context, tx *database.Tx, asked Request) error {
	if s.sources.Ended == nil {
		return nil
	}
	before, err := s.sources.Ended(ctx, tx, asked.OrgID, asked.AgentID, asked.KeyID)
	if err == nil && before == math.MaxInt64 {
		err = errStopped()
	}
	return err
}

// requireKey refuses to approve what the key that asked cannot use any more: approvals are for that key alone.
func (s *Service) requireKey(ctx context.Context, tx *database.Tx, r *Request) error {
	if s.sources.KeyEnded == nil {
		return nil
	}
	ended, err := s.sources.KeyEnded(ctx, tx, r.KeyID)
	if err == nil && ended {
		err = fault.New(fault.Conflict, "the key that asked has been revoked, replaced or has expired since: no call could "+
			"use this approval. The agent asks again with its new key")
	}
	return err
}

// isEnded reports whether a request is from before an index; one that is not positive ends none.
func (r *Request) isEnded(before int64) bool { return before > 0 && r.OpenedAt < before }

// withdraw shows requests as the kill switch left them: a pending one that it has ended is cancelled, and an approval
// that no call has used permits nothing. What it ended is a matter of the log: rows follow later.
func (s *Service) withdraw(ctx context.Context, reader database.Reader, requests []Request) error {
	if s.sources.Ended == nil {
		return nil
	}
	type holder struct{ agentID, keyID string }
	known := map[holder]int64{}
	for i := range requests {
		r := &requests[i]
		if !r.canBeWithdrawn() {
			continue
		}
		of := holder{r.AgentID, r.KeyID}
		before, ok := known[of]
		if !ok {
			var err error
			if before, err = s.sources.Ended(ctx, reader, r.OrgID, r.AgentID, r.KeyID); err != nil {
				return err
			}
			known[of] = before
		}
		if r.Withdrawn = r.isEnded(before); r.Withdrawn && r.Status == Pending {
			r.Status = Cancelled
		}
	}
	return nil
}

func (s *Service) withdrawOne(ctx context.Context, reader database.Reader, r *Request) error {
	one := []Request{*r}
	err := s.withdraw(ctx, reader, one)
	*r = one[0]
	return err
}

// canBeWithdrawn reports whether a kill changes anything about a request: nobody rejected or cancelled it, and no
// call has run by it.
func (r *Request) canBeWithdrawn() bool {
	switch r.Status {
	case Pending:
		return true
	case Approved:
		return !r.grant.used && r.CoveredBy == ""
	case Cancelled:
		return r.DecidedBy == "" // by the kill switch
	}
	return false
}

// shownTo is a request as a caller sees it: an agent must not run a call by an approval that was withdrawn.
func (r Request) shownTo(p principal.Principal) Request {
	if r.Withdrawn && r.Status == Approved && p.Kind == principal.Key {
		r.Status = Cancelled
	}
	return r
}

// ended reports whether a standing approval counts no more for a call: it was given before what ends it, or for a plan
// that has other steps since it was asked for.
func (a *StandingApproval) ended(ctx context.Context, r database.Reader, c Call) (bool, error) {
	if c.Since <= 0 && (a.Scope != Plan || c.PlanSince <= 0) {
		return false, nil
	}
	asked, given, err := a.entries(ctx, r)
	return c.Since > 0 && given < c.Since || a.Scope == Plan && asked < c.PlanSince, err
}

// entries are the log's entries by which a standing approval was asked for and given; -1: not known.
func (a *StandingApproval) entries(ctx context.Context, r database.Reader) (asked, given int64, err error) {
	err = r.QueryRow(ctx, `
		SELECT COALESCE(opened_at_entry, -1), COALESCE(decided_at_entry, -1)
		FROM approval_request
		WHERE org_id = $1 AND id = $2`, a.OrgID, a.RequestID).Scan(&asked, &given)
	return asked, given, database.Wrap(err, "read when a standing approval was given")
}

// hasEnded reports whether the kill switch has ended a standing approval.
func (s *Service) hasEnded(ctx context.Context, r database.Reader, a *StandingApproval) (bool, error) {
	if s.sources.Ended == nil {
		return false, nil
	}
	before, err := s.sources.Ended(ctx, r, a.OrgID, a.AgentID, a.KeyID)
	if err != nil {
		return false, err
	}
	return a.ended(ctx, r, Call{Since: before})
}

// withdrawSlice is how many requests are looked at, and cancelled, at a time.
const withdrawSlice = 50

// Withdraw marks the pending requests that the kill switch has ended, and records and announces it. Nobody can approve
// them, marked or not. Replicas may run it at the same time; one of them marks each request.
func (s *Service) Withdraw(ctx context.Context) error {
	for after := ""; ; {
		found, err := selectBeforeStops(ctx, s.db, after)
		if err != nil {
			return err
		}
		if err := s.withdraw(ctx, s.db, found); err != nil {
			return err
		}
		for i := range found {
			after = found[i].ID
			if !found[i].Withdrawn {
				continue
			}
			if err := s.cancelWithdrawn(ctx, &found[i]); err != nil {
				return fmt.Errorf("withdraw request %s: %w", found[i].ID, err)
			}
		}
		if len(found) < withdrawSlice {
			return nil
		}
	}
}

// selectBeforeStops reads pending requests of organizations that have stopped an agent, a key or everything since, in
// the order of their ids.
func selectBeforeStops(ctx context.Context, r database.Reader, after string) ([]Request, error) {
	found, err := database.Collect(ctx, r, scanRequest, `SELECT `+columns+tables+`
		WHERE r.status = 'pending' AND r.id > $1 AND EXISTS (
			SELECT 1 FROM agent_stop s
			WHERE s.org_id = r.org_id AND s.scope IN ('agent', 'organization', 'key')
				AND s.position > COALESCE(r.opened_at_entry, -1)
		)
		ORDER BY r.id
		LIMIT $2`, after, withdrawSlice)
	return found, database.Wrap(err, "find requests from before a kill")
}

// cancelWithdrawn marks one request, unless somebody else has.
func (s *Service) cancelWithdrawn(ctx context.Context, r *Request) error {
	return s.write(ctx, r.OrgID, func(ctx context.Context, tx *database.Tx) error {
		changed, err := tx.Exec(ctx, `
			UPDATE approval_request
			SET status = 'cancelled', decided_at = $3
			WHERE org_id = $1 AND id = $2 AND status = 'pending'`, r.OrgID, r.ID, database.Micros(tx.Now()))
		if err != nil || changed != 1 {
			return err
		}
		if err := s.announce(ctx, tx, r.OrgID, r.ID, EventCancelled, ""); err != nil {
			return err
		}
		appended, err := s.log.Append(ctx, tx, audit.Entry{
			Log:         audit.LogOf(r.OrgID),
			Action:      cancelled,
			Actor:       principal.Operator(),
			Subject:     audit.Subject{Type: "approval", ID: r.ID},
			Observation: true,
			Payload:     recorded{Tool: r.Server + "." + r.Tool, Kind: r.Kind, Needed: r.Needed, Withdrawn: true},
		})
		if err != nil {
			return err
		}
		return noteEntry(ctx, tx, r, "decided_at_entry", appended)
	})
}
