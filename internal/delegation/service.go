package delegation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// Approvers counts the members of an organization who may approve, within a
// transaction. The app composes it of organizations.
type Approvers func(ctx context.Context, r database.Reader, orgID string) (int, error)

// Service decides and expires requests for approval.
type Service struct {
	db        *database.DB
	approvers Approvers
}

// New makes a service. Without approvers nobody approves what they asked for.
func New(db *database.DB, approvers Approvers) *Service {
	return &Service{db: db, approvers: approvers}
}

// What the audit log says of a request.
const (
	voted     = "approval.voted" // a yes that is not enough yet
	approved  = "approval.approved"
	rejected  = "approval.rejected"
	cancelled = "approval.cancelled"
)

type recorded struct {
	Tool         string `json:"tool"`
	Kind         Kind   `json:"kind"`
	Note         string `json:"note,omitzero"`
	Votes        int    `json:"votes,omitzero"`
	Needed       int    `json:"needed"`
	SelfApproved bool   `json:"selfApproved,omitzero"`
}

// Approve says yes. With the last yes that is needed the call may run once.
func (s *Service) Approve(ctx context.Context, p principal.Principal, id, note string) (Request, error) {
	return s.decide(ctx, p, id, note, func(ctx context.Context, tx *database.Tx, r *Request) (string, recorded, error) {
		self, err := s.maySayYes(ctx, tx, p, r)
		if err != nil {
			return "", recorded{}, err
		}
		votes, err := addVote(ctx, tx, r.ID, p.UserID)
		if err != nil {
			return "", recorded{}, err
		}
		entry := recorded{Votes: votes, SelfApproved: self}
		if votes < r.Needed {
			return voted, entry, nil
		}
		r.SelfApproved, r.Status = self, Approved
		return approved, entry, insertGrant(ctx, tx, r)
	})
}

// Reject says no: until the request expires, the call is denied with the note.
func (s *Service) Reject(ctx context.Context, p principal.Principal, id, note string) (Request, error) {
	return s.decide(ctx, p, id, note, func(_ context.Context, _ *database.Tx, r *Request) (string, recorded, error) {
		if p.UserID != r.OwnerID { // one's own agent may always be stopped
			if err := mayDecide(p, r); err != nil {
				return "", recorded{}, err
			}
		}
		r.Status = Rejected
		return rejected, recorded{}, nil
	})
}

// Cancel takes a request back, by the key that opened it or its owner.
func (s *Service) Cancel(ctx context.Context, p principal.Principal, id string) (Request, error) {
	return s.change(ctx, p, id, "", func(_ context.Context, _ *database.Tx, r *Request) (string, recorded, error) {
		byKey := p.Kind == principal.Key && p.KeyID == r.KeyID && p.HasScope(principal.RequestDelegation)
		byOwner := p.Kind == principal.User && p.UserID == r.OwnerID
		if !byKey && !byOwner {
			return "", recorded{}, noSuchRequest()
		}
		r.Status = Cancelled
		return cancelled, recorded{}, nil
	})
}

// step changes a pending request and says what is recorded of it.
type step func(ctx context.Context, tx *database.Tx, r *Request) (action string, entry recorded, err error)

// decide is change for people: no key of any scope answers a request.
func (s *Service) decide(ctx context.Context, p principal.Principal, id, note string, do step) (Request, error) {
	if p.Kind != principal.User {
		return Request{}, fault.New(fault.Forbidden, "only a person may answer a request for approval")
	}
	if len(note) > maxNote || !utf8.ValidString(note) || strings.ContainsRune(note, 0) {
		return Request{}, fault.Field("note", "must be at most %d bytes of text", maxNote)
	}
	return s.change(ctx, p, id, note, do)
}

// change runs a step on a request that still waits. The status is written by
// compare-and-set, so that of two answers one wins.
func (s *Service) change(ctx context.Context, p principal.Principal, id, note string, do step) (Request, error) {
	if p.OrgID == "" {
		return Request{}, fault.New(fault.Forbidden, "requests for approval belong to an organization")
	}
	var after Request
	err := s.db.Write(ctx, database.Change{Logs: []string{audit.LogOf(p.OrgID)}, Do: func(ctx context.Context, tx *database.Tx) error {
		r, err := selectRequest(ctx, tx, p.OrgID, id)
		if err != nil {
			return err
		}
		if r.Status != Pending || !tx.Now().Before(r.ExpiresAt) {
			return decided(r)
		}
		action, entry, err := do(ctx, tx, &r)
		if err != nil {
			return err
		}
		r.Note = note
		if err := updateStatus(ctx, tx, &r); err != nil {
			return err
		}
		after = r
		entry.Tool, entry.Kind, entry.Note, entry.Needed = r.Server+"."+r.Tool, r.Kind, note, r.Needed
		_, err = audit.Append(ctx, tx, audit.Entry{
			Log: audit.LogOf(p.OrgID), Action: action, Actor: p, Subject: audit.Subject{Type: "approval", ID: r.ID}, Payload: entry,
		})
		return err
	}})
	if err != nil {
		return Request{}, err
	}
	return after, nil
}

func decided(r Request) error {
	if r.Status == Pending {
		r.Status = Expired
	}
	return fault.New(fault.Conflict, "the request was answered before: it is %s", r.Status)
}

// maySayYes refuses who may not approve, and reports whether it is the owner of
// the key who approves a hold for lack of anybody else.
func (s *Service) maySayYes(ctx context.Context, tx *database.Tx, p principal.Principal, r *Request) (self bool, err error) {
	own := p.UserID == r.OwnerID
	if r.Kind == Ask {
		if !own {
			return false, fault.New(fault.Forbidden, "this is asked of the person the agent works for")
		}
		return false, nil
	}
	if err := mayDecide(p, r); err != nil || !own {
		return false, err
	}
	if s.approvers == nil {
		return false, errOwnRequest()
	}
	others, err := s.approvers(ctx, tx, r.OrgID)
	if err != nil {
		return false, fmt.Errorf("count who may approve: %w", err)
	}
	if others != 1 {
		return false, errOwnRequest()
	}
	return true, nil
}

func errOwnRequest() error {
	return fault.New(fault.Forbidden, "your own key asks: somebody else must approve")
}

// mayDecide admits who may approve and has the role that the rule wants, or a
// higher one.
func mayDecide(p principal.Principal, r *Request) error {
	if err := p.Require(principal.DecideApprovals); err != nil {
		return err
	}
	roles := principal.Roles()
	if r.Role != "" && slices.Index(roles, p.Role) > slices.Index(roles, principal.Role(r.Role)) {
		return fault.New(fault.Forbidden, "this needs an approver with the role %s", r.Role)
	}
	return nil
}

// Get is a request of the caller's organization; to a key, one that it opened.
func (s *Service) Get(ctx context.Context, p principal.Principal, id string) (Request, error) {
	r, err := selectRequest(ctx, s.db, p.OrgID, id)
	if err != nil {
		return Request{}, err
	}
	switch {
	case p.Kind == principal.Key && p.KeyID == r.KeyID:
	case p.Kind == principal.User && (p.UserID == r.OwnerID || p.May(principal.DecideApprovals)):
	default:
		return Request{}, noSuchRequest()
	}
	if r.Status == Pending && !s.db.Now().Before(r.ExpiresAt) {
		r.Status = Expired
	}
	return r, nil
}

const expireSlice = 500

// Expire marks the requests that nobody answered in time, a slice at a time. Time
// itself has ended them already.
func (s *Service) Expire(ctx context.Context) error {
	for more := true; more; {
		err := s.db.Write(ctx, database.Change{Logs: []string{expireLock}, Do: func(ctx context.Context, tx *database.Tx) error {
			changed, err := expirePending(ctx, tx, expireSlice)
			more = changed == expireSlice
			return err
		}})
		if err != nil {
			return fmt.Errorf("expire requests for approval: %w", err)
		}
	}
	return nil
}

// expireLock has replicas that expire take turns.
const expireLock = "delegation/expire"
