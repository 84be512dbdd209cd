package approval

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/intent/plan"
	"writ/internal/principal"
)

// Question asks whether a call was approved, by a client that tells nothing of
// its arguments.
type Question struct {
	Tool   string
	Amount float64
	Email  string
}

// Release is a grant that was given out on such a question.
type Release struct {
	Request       Request
	DecisionID    string
	ApproverID    string
	ApproverEmail string
	ApproverRole  string
}

// Releaser decides whether a grant may be given out, and records that it was.
type Releaser interface {
	// Denies reports whether a decision about a request's call would not take its
	// grant now, as of a generation of the organization's log.
	Denies(ctx context.Context, by principal.Principal, r *Request) (denied bool, generation int64, err error)
	// RecordRelease records, as a decision, that a request's grant lets its call run,
	// and gives the decision's id.
	RecordRelease(ctx context.Context, tx *database.Tx, by principal.Principal, r *Request) (string, error)
}

// CheckApproved answers a question without arguments, nil for no. A yes gives the
// grant out: the client runs the call on our word, and no decision can use the
// grant again. So it is said only where nothing else can be meant: one single
// request of that key and tool is alive, for the same person and amount, and it
// was approved as it was asked.
func (s *Service) CheckApproved(
	ctx context.Context, p principal.Principal, q Question, by Releaser,
) (*Release, error) {
	if !p.HasScope(principal.RequestDelegation) || p.OrgID == "" {
		return nil, fault.New(fault.Forbidden, "this is asked with an API key of the scope %s, in an organization",
			principal.RequestDelegation)
	}
	if !isName(q.Tool) || !isName(q.Email) {
		return nil, nil // nobody has asked for that
	}
	q.Email = strings.ToLower(strings.TrimSpace(q.Email))
	found, err := s.findReleasable(ctx, s.db, p, q, s.db.Now())
	if err != nil || found == nil {
		return nil, err
	}
	denied, generation, err := by.Denies(ctx, p, found)
	if err != nil || denied {
		return nil, wrapped("give out the grant of request "+found.ID, err)
	}
	var released *Release
	err = s.db.Write(ctx, database.Change{Lane: database.Urgent, Logs: []string{audit.LogOf(p.OrgID)}, Do: func(
		ctx context.Context, tx *database.Tx,
	) (err error) {
		released, err = s.release(ctx, tx, p, q, by, generation)
		return err
	}})
	if err != nil {
		return nil, err
	}
	return released, nil
}

// release gives the grant out and writes that down, in one transaction. Where
// anything changed in the organization since it was seen that nothing is denied,
// the answer is no for now: clients ask again.
func (s *Service) release(
	ctx context.Context, tx *database.Tx, p principal.Principal, q Question, by Releaser, seen int64,
) (*Release, error) {
	if generation, _, err := s.log.Stamp(ctx, tx, audit.LogOf(p.OrgID)); err != nil || generation != seen {
		return nil, err
	}
	r, err := s.findReleasable(ctx, tx, p, q, tx.Now())
	if err != nil || r == nil {
		return nil, err
	}
	if s.sources.Address == nil {
		return nil, errors.New("give a grant out: nothing here knows who approved it")
	}
	email, err := s.sources.Address(ctx, tx, r.DecidedBy)
	if err != nil {
		return nil, fmt.Errorf("find who approved request %s: %w", r.ID, err)
	}
	decision, err := by.RecordRelease(ctx, tx, p, r)
	if err != nil {
		return nil, fmt.Errorf("record that request %s is given out: %w", r.ID, err)
	}
	used, err := s.Consume(ctx, tx, r, decision)
	if err != nil {
		return nil, err
	}
	if !used {
		return nil, fmt.Errorf("give out the grant of request %s: it was used at the same time", r.ID)
	}
	r.grant.used = true
	return &Release{
		Request:       *r,
		DecisionID:    decision,
		ApproverID:    r.DecidedBy,
		ApproverEmail: email,
		ApproverRole:  r.DecidedRole,
	}, nil
}

// findReleasable is the one request that a question can only mean, if it was
// approved; else nil.
func (s *Service) findReleasable(
	ctx context.Context, reader database.Reader, p principal.Principal, q Question, now time.Time,
) (*Request, error) {
	server, tool := plan.ResolveName(q.Tool, "", "")
	_, _, named := plan.OwnName(q.Tool) // else any server may be meant
	alive, err := selectAlive(ctx, reader, p, tool, q.Email, now)
	if err != nil || len(alive) != 1 {
		return nil, err
	}
	if alive, err = stillValid(ctx, reader, s.sources.Role, alive); err != nil || len(alive) != 1 {
		return nil, err
	}
	r := &alive[0]
	if named && r.Server != server || !r.Granted(now) || len(r.editedDigest) > 0 || r.Email != q.Email ||
		r.Amount == nil || *r.Amount != q.Amount {
		return nil, nil
	}
	return r, nil
}

// MarkExecuted notes that the client says the call ran. What was not used of its
// grant is closed with it. Saying so again changes nothing.
func (s *Service) MarkExecuted(ctx context.Context, p principal.Principal, id string) (Request, error) {
	if !p.HasScope(principal.RequestDelegation) || p.OrgID == "" {
		return Request{}, fault.New(fault.Forbidden, "this is told with an API key of the scope %s, in an organization",
			principal.RequestDelegation)
	}
	var r Request
	err := s.db.Write(ctx, database.Change{Logs: []string{audit.LogOf(p.OrgID)}, Do: func(
		ctx context.Context, tx *database.Tx,
	) (err error) {
		if r, err = selectRequest(ctx, tx, p.OrgID, id); err != nil {
			return err
		}
		switch {
		case r.KeyID != p.KeyID:
			return noSuchRequest()
		case r.Status != Approved:
			return fault.Field("delegationId", "this request is not approved")
		case r.ExecutedAt != nil:
			return nil
		}
		if err := updateExecuted(ctx, tx, &r); err != nil {
			return err
		}
		_, err = s.log.Append(ctx, tx, audit.Entry{
			Log:         audit.LogOf(p.OrgID),
			Action:      "approval.executed",
			Actor:       p,
			Subject:     audit.Subject{Type: "approval", ID: r.ID},
			Observation: true,
			Payload:     recorded{Tool: r.Server + "." + r.Tool, Kind: r.Kind, Needed: r.Needed},
		})
		return err
	}})
	if err != nil {
		return Request{}, err
	}
	return r, nil
}
