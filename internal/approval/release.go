package approval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/names"
	"writ/internal/principal"
	"writ/internal/toolname"
)

// Question asks whether a call was approved, without its arguments.
type Question struct {
	Tool   string
	Amount float64
	Email  string
}

// Release is a grant that a question used up.
type Release struct {
	Request       Request
	DecisionID    string
	ApproverID    string
	ApproverEmail string
	ApproverRole  string
}

// FindReleasable is the one request that a question can only mean, if it was
// approved as it was asked; else nil. The client runs the call on our word, so one
// single request of that key and tool must be open, for the same person and amount.
func (s *Service) FindReleasable(
	ctx context.Context, reader database.Reader, p principal.Principal, q Question, now time.Time,
) (*Request, error) {
	if !p.HasScope(principal.RequestDelegation) || p.OrgID == "" {
		return nil, fault.New(fault.Forbidden, "this is asked with an API key of the scope %s, in an organization",
			principal.RequestDelegation)
	}
	if !names.Valid(q.Tool) || !names.Valid(q.Email) || toolname.TooManyReadings(q.Tool) {
		return nil, nil // no such request
	}
	email := strings.ToLower(strings.TrimSpace(q.Email))
	open, err := findOpen(ctx, reader, p, q.tools(), email, now)
	if err != nil || len(open) != 1 {
		return nil, err
	}
	if open, err = stillValid(ctx, reader, s.sources.Role, open); err != nil || len(open) != 1 {
		return nil, err
	}
	r := &open[0]
	if !q.names(r.Call) || !r.Granted(now) || len(r.editedDigest) > 0 || r.Email != email ||
		r.Amount == nil || *r.Amount != q.Amount {
		return nil, nil
	}
	return r, nil
}

// findOpen is selectOpen for all tools that may be meant. Two are enough.
func findOpen(
	ctx context.Context, reader database.Reader, p principal.Principal, tools []string, email string, now time.Time,
) (open []Request, err error) {
	for _, tool := range tools {
		found, err := selectOpen(ctx, reader, p, tool, email, now)
		if open = append(open, found...); err != nil || len(open) > 1 {
			return open, err
		}
	}
	return open, nil
}

// tools are those that the question may be about: the name itself, and every end of it before which a client may have
// written the server.
func (q *Question) tools() []string {
	called := strings.TrimSpace(q.Tool)
	_, tool := toolname.Resolve(called, "", "")
	tools := []string{tool}
	add := func(tool string) {
		if !slices.Contains(tools, tool) {
			tools = append(tools, tool)
		}
	}
	for _, n := range toolname.Readings(called) {
		add(n.Tool)
	}
	for _, n := range toolname.Guesses(called) {
		if toolname.Spells(called, n) { // with a dot
			add(n.Tool)
		}
	}
	return tools
}

// names reports whether a call is one that the question may mean. A name without a server may mean any.
func (q *Question) names(c Call) bool {
	called := strings.TrimSpace(q.Tool)
	return c.Tool == called || toolname.Spells(called, toolname.Name{Server: c.Server, Tool: c.Tool})
}

// Release uses up the grant of a request for a decision, within its transaction.
func (s *Service) Release(ctx context.Context, tx *database.Tx, r *Request, decisionID string) (*Release, error) {
	if s.sources.Address == nil {
		return nil, errors.New("release a grant: nothing here knows the approver")
	}
	email, err := s.sources.Address(ctx, tx, r.DecidedBy)
	if err != nil {
		return nil, fmt.Errorf("find who approved request %s: %w", r.ID, err)
	}
	used, err := s.Consume(ctx, tx, r, decisionID)
	if err == nil && !used {
		err = fmt.Errorf("release the grant of request %s: it was used at the same time", r.ID)
	}
	if err != nil {
		return nil, err
	}
	r.grant.used = true
	return &Release{
		Request:       *r,
		DecisionID:    decisionID,
		ApproverID:    r.DecidedBy,
		ApproverEmail: email,
		ApproverRole:  r.DecidedRole,
	}, nil
}

// Announce tells of the grant of a request that the proxy will use, and uses nothing up.
func (s *Service) Announce(ctx context.Context, reader database.Reader, r *Request) (*Release, error) {
	if s.sources.Address == nil {
		return nil, errors.New("tell of a grant: nothing here knows the approver")
	}
	email, err := s.sources.Address(ctx, reader, r.DecidedBy)
	if err != nil {
		return nil, fmt.Errorf("find who approved request %s: %w", r.ID, err)
	}
	return &Release{Request: *r, ApproverID: r.DecidedBy, ApproverEmail: email, ApproverRole: r.DecidedRole}, nil
}

// MarkExecuted notes that the client reports the call as run, and closes an unused
// grant. Reporting it again changes nothing.
func (s *Service) MarkExecuted(ctx context.Context, p principal.Principal, id string) (Request, error) {
	if !p.HasScope(principal.RequestDelegation) || p.OrgID == "" {
		return Request{}, fault.New(fault.Forbidden,
			"an API key of an organization with the scope %s is needed to report this",
			principal.RequestDelegation)
	}
	var r Request
	err := s.write(ctx, p.OrgID, func(ctx context.Context, tx *database.Tx) (err error) {
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
	})
	if err != nil {
		return Request{}, err
	}
	return r, nil
}
