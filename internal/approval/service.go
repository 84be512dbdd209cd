package approval

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// Sources are what approvals need of others. The app composes them. What is
// missing permits nothing.
type Sources struct {
	// Approvers counts the members of an organization who may approve, but for
	// some.
	Approvers func(ctx context.Context, r database.Reader, orgID string, except ...string) (int, error)
	// Role is what a person is in an organization now; empty: no member.
	Role RoleOf
	// Address is a person's e-mail address.
	Address func(ctx context.Context, r database.Reader, userID string) (string, error)
	// Digest is that of arguments in canonical JSON, under the organization's key.
	Digest func(ctx context.Context, orgID, canonical string) ([]byte, error)
}

// Service answers and expires requests for approval.
type Service struct {
	db      *database.DB
	log     *audit.Log
	sources Sources
	bell    *bell
}

// New makes a service. Make one a process: who waits is woken by it.
func New(db *database.DB, log *audit.Log, sources Sources) *Service {
	return &Service{db: db, log: log, sources: sources, bell: &bell{}}
}

// What the audit log says of a request.
const (
	voted     = "approval.voted" // a yes that is not enough yet
	approved  = "approval.approved"
	rejected  = "approval.rejected"
	cancelled = "approval.cancelled"
)

// eventOf is the event of what the log says.
var eventOf = map[string]EventKind{
	voted: EventVoted, approved: EventApproved, rejected: EventRejected, cancelled: EventCancelled,
}

type recorded struct {
	Tool         string `json:"tool"`
	Kind         Kind   `json:"kind"`
	Note         string `json:"note,omitzero"`
	Votes        int    `json:"votes,omitzero"`
	Needed       int    `json:"needed"`
	SelfApproved bool   `json:"selfApproved,omitzero"`
	Permits      string `json:"permits,omitzero"` // a wider yes, in words
	Allow        string `json:"temporaryAllow,omitzero"`
	Edited       string `json:"editedArguments,omitzero"`
}

// Approve says yes. With the last yes that is needed the call may run once, or
// what the scope says may run. Several who say yes must say the same.
func (s *Service) Approve(ctx context.Context, p principal.Principal, id string, yes Approval) (Request, error) {
	edit, err := s.readEdit(ctx, p, yes)
	if err != nil {
		return Request{}, err
	}
	return s.decide(ctx, p, id, yes.Note, func(
		ctx context.Context, tx *database.Tx, r *Request,
	) (string, recorded, error) {
		self, err := s.mayApprove(ctx, tx, p, r)
		if err != nil {
			return "", recorded{}, err
		}
		if err := r.agree(yes.Scope, edit); err != nil {
			return "", recorded{}, err
		}
		if err := addVote(ctx, tx, r.ID, p.UserID); err != nil {
			return "", recorded{}, err
		}
		votes, err := validVotes(ctx, tx, s.sources.Role, r)
		if err != nil {
			return "", recorded{}, err
		}
		entry := recorded{Votes: votes, SelfApproved: self, Edited: r.Edited}
		if !r.Scope.once() {
			entry.Permits = r.Scope.Words(*r)
		}
		r.SelfApproved = r.SelfApproved || self
		if votes < r.Needed {
			return voted, entry, nil
		}
		r.Status = Approved
		if r.Scope.once() {
			return approved, entry, insertGrant(ctx, tx, r)
		}
		allow := newStanding(r, p.UserID, tx.Now())
		entry.Allow = allow.ID
		return approved, entry, insertStanding(ctx, tx, &allow)
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
	err := s.db.Write(ctx, database.Change{Logs: []string{audit.LogOf(p.OrgID)}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
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
		if err := updateStatus(ctx, tx, p, &r); err != nil {
			return err
		}
		after = r
		entry.Tool, entry.Kind, entry.Note, entry.Needed = r.Server+"."+r.Tool, r.Kind, note, r.Needed
		if err := s.announce(ctx, tx, p.OrgID, r.ID, eventOf[action], p.ActorID()); err != nil {
			return err
		}
		// Decisions read answers in their own transactions and remember none: an entry
		// that had all of them judged anew would let who answers, or an agent that asks
		// and cancels, keep a whole organization from being answered.
		appended, err := s.log.Append(ctx, tx, audit.Entry{
			Log:         audit.LogOf(p.OrgID),
			Action:      action,
			Actor:       p,
			Subject:     audit.Subject{Type: "approval", ID: r.ID},
			Payload:     entry,
			Observation: true,
		})
		if err != nil {
			return err
		}
		return noteEntry(ctx, tx, &r, "decided_at_entry", appended)
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

// Get is a request of the caller's organization, with who said yes: to a key one
// that it opened, to a person one of their own keys or any they may answer.
func (s *Service) Get(ctx context.Context, p principal.Principal, id string) (Request, error) {
	r, err := s.Read(ctx, p.OrgID, id)
	if err != nil {
		return Request{}, err
	}
	if !sees(p, r) {
		return Request{}, noSuchRequest()
	}
	return r, nil
}

// sees reports whether a request is the caller's to see.
func sees(p principal.Principal, r Request) bool {
	switch {
	case p.OrgID == "" || p.OrgID != r.OrgID:
		return false
	case p.Kind == principal.Key:
		return p.KeyID == r.KeyID
	case p.Kind == principal.User:
		return p.UserID == r.OwnerID || p.May(principal.DecideApprovals)
	}
	return false
}

// Read is a request of an organization. It asks nobody's leave: it is for who
// follows the queue in the server's own name.
func (s *Service) Read(ctx context.Context, orgID, id string) (Request, error) {
	r, err := selectRequest(ctx, s.db, orgID, id)
	if err != nil {
		return Request{}, err
	}
	if r.Status == Pending && !s.db.Now().Before(r.ExpiresAt) {
		r.Status = Expired
	}
	if r.Votes, err = selectVotes(ctx, s.db, r.ID); err != nil {
		return Request{}, fmt.Errorf("read request %s: %w", id, err)
	}
	return r, nil
}
