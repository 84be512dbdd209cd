package approval

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/intent/grounding"
	"writ/internal/principal"
)

// Sources are what approvals need of other areas. What is missing permits nothing.
type Sources struct {
	// Approvers counts the members of an organization who may approve, except some.
	Approvers func(ctx context.Context, r database.Reader, orgID string, except ...string) (int, error)
	// Role is a person's role in an organization now; empty: no member.
	Role RoleOf
	// Address is a person's e-mail address.
	Address func(ctx context.Context, r database.Reader, userID string) (string, error)
	// Digest hashes arguments in canonical JSON under the organization's key.
	Digest func(ctx context.Context, orgID, canonical string) ([]byte, error)
	// Ended is the index of the log before which requests of an agent and key have ended, because the kill switch
	// stopped them; -1: none have; while they are stopped, beyond every index; nil: nothing stops.
	Ended func(ctx context.Context, r database.Reader, orgID, agentID, keyID string) (int64, error)
	// KeyEnded reports whether a key is accepted no more; nil: all are.
	KeyEnded func(ctx context.Context, tx *database.Tx, keyID string) (bool, error)
	// Delegators are the owners of the keys that declared a plan, or delegated it; nil: nothing is delegated.
	Delegators func(ctx context.Context, r database.Reader, orgID, planID string) ([]string, error)
	// Class is what is stated about a tool: by the organization, else for a known harness; empty, or nil: nothing.
	Class func(ctx context.Context, r database.Reader, orgID, server, tool string) (grounding.Class, error)
	// Answered learns, within that change, that a request of an agent and key was approved or rejected; nil: nobody
	// does.
	Answered func(ctx context.Context, tx *database.Tx, orgID, agentID, keyID string, rejected bool) error
}

// Service answers and expires requests for approval.
type Service struct {
	db      *database.DB
	log     *audit.Log
	sources Sources
	bell    *bell
}

// New makes a service. A process needs exactly one: it wakes those who wait in it.
func New(db *database.DB, log *audit.Log, sources Sources) *Service {
	return &Service{db: db, log: log, sources: sources, bell: &bell{}}
}

// What the audit log says of a request.
const (
	voted     = "approval.voted" // more approvers are needed
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
	Withdrawn    bool   `json:"withdrawn,omitzero"` // by the kill switch
	Permits      string `json:"permits,omitzero"`   // what the approval permits, in words
	Allow        string `json:"temporaryAllow,omitzero"`
	Edited       string `json:"editedArguments,omitzero"`
}

// Approve adds a person's approval. With the last one that is needed the call may run
// once, or what the scope says may run. Several approvers must permit the same.
func (s *Service) Approve(ctx context.Context, p principal.Principal, id string, given Approval) (Request, error) {
	edit, err := s.readEdit(ctx, p, given)
	if err != nil {
		return Request{}, err
	}
	return s.decide(ctx, p, id, given.Note, func(
		ctx context.Context, tx *database.Tx, r *Request,
	) (string, recorded, error) {
		self, err := s.mayApprove(ctx, tx, p, r)
		if err != nil {
			return "", recorded{}, err
		}
		if err := s.requireKey(ctx, tx, r); err != nil {
			return "", recorded{}, err
		}
		if err := r.agree(given.Scope, edit); err != nil {
			return "", recorded{}, err
		}
		if err := addVote(ctx, tx, r.ID, p.UserID); err != nil {
			return "", recorded{}, err
		}
		votes, err := validVotes(ctx, tx, s.sources.Role, r)
		if err != nil {
			return "", recorded{}, err
		}
		entry := recorded{Votes: votes, SelfApproved: self, Edited: r.Edited, Permits: r.Scope.Words(*r)}
		r.SelfApproved = r.SelfApproved || self
		if votes < r.Needed {
			return voted, entry, nil
		}
		r.Status = Approved
		if r.Scope.once() {
			return approved, entry, insertGrant(ctx, tx, r)
		}
		standing := newStanding(r, p.UserID, tx.Now())
		entry.Allow = standing.ID
		return approved, entry, insertStanding(ctx, tx, &standing)
	})
}

// Reject has the call denied with the note until the request expires.
func (s *Service) Reject(ctx context.Context, p principal.Principal, id, note string) (Request, error) {
	return s.decide(ctx, p, id, note, func(_ context.Context, _ *database.Tx, r *Request) (string, recorded, error) {
		if p.UserID != r.OwnerID { // everybody may stop their own agent
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
	own := func(r *Request) error {
		byKey := p.Kind == principal.Key && p.KeyID == r.KeyID && p.HasScope(principal.RequestDelegation)
		byOwner := p.Kind == principal.User && p.UserID == r.OwnerID
		if !byKey && !byOwner {
			return noSuchRequest()
		}
		return nil
	}
	return s.change(ctx, p, id, "", own, func(_ context.Context, _ *database.Tx, r *Request) (string, recorded, error) {
		r.Status = Cancelled
		return cancelled, recorded{}, nil
	})
}

// step changes a pending request and says what to record.
type step func(ctx context.Context, tx *database.Tx, r *Request) (action string, entry recorded, err error)

// decide is change for people: no key of any scope answers a request.
func (s *Service) decide(ctx context.Context, p principal.Principal, id, note string, do step) (Request, error) {
	if p.Kind != principal.User {
		return Request{}, fault.New(fault.Forbidden, "only a person may answer a request for approval")
	}
	if len(note) > maxNote || !utf8.ValidString(note) || strings.ContainsRune(note, 0) {
		return Request{}, fault.Field("note", "must be at most %d bytes of text", maxNote)
	}
	visible := func(r *Request) error {
		if sees(p, *r) {
			return nil
		}
		return mayDecide(p, r)
	}
	return s.change(ctx, p, id, note, visible, do)
}

// change runs a step on a pending request. Callers whom may refuses do not learn whether it is still pending. The
// status is written by compare-and-set, so that of two answers one wins.
func (s *Service) change(
	ctx context.Context, p principal.Principal, id, note string, may func(r *Request) error, do step,
) (Request, error) {
	if p.OrgID == "" {
		return Request{}, fault.New(fault.Forbidden, "requests for approval belong to an organization")
	}
	var after Request
	err := s.write(ctx, p.OrgID, func(ctx context.Context, tx *database.Tx) error {
		r, err := selectRequest(ctx, tx, p.OrgID, id)
		if err != nil {
			return err
		}
		if err := may(&r); err != nil {
			return err
		}
		if err := s.withdrawOne(ctx, tx, &r); err != nil {
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
		err = s.settle(ctx, tx, p, &r, action, entry)
		after = r
		return err
	})
	if err != nil {
		return Request{}, err
	}
	return after, nil
}

// settle stores what became of a request, announces it and records it.
func (s *Service) settle(
	ctx context.Context, tx *database.Tx, p principal.Principal, r *Request, action string, entry recorded,
) error {
	if err := updateStatus(ctx, tx, p, r); err != nil {
		return err
	}
	entry.Tool, entry.Kind, entry.Note, entry.Needed = r.Server+"."+r.Tool, r.Kind, r.Note, r.Needed
	if err := s.announce(ctx, tx, p.OrgID, r.ID, eventOf[action], p.ActorID()); err != nil {
		return err
	}
	// An observation: decisions read answers in their own transactions and cache none.
	// Else an agent that asks and cancels would have all decisions judged again.
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
	if err := noteEntry(ctx, tx, r, "decided_at_entry", appended); err != nil {
		return err
	}
	if s.sources.Answered == nil || r.Status != Approved && r.Status != Rejected {
		return nil
	}
	return s.sources.Answered(ctx, tx, p.OrgID, r.AgentID, r.KeyID, r.Status == Rejected)
}

// write runs a change of an organization's log.
func (s *Service) write(
	ctx context.Context, orgID string, do func(ctx context.Context, tx *database.Tx) error,
) error {
	return s.db.Write(ctx, database.Change{Logs: []string{audit.LogOf(orgID)}, Do: do})
}

// requireLog refuses a transaction that does not hold the organization's log.
func requireLog(tx *database.Tx, doing, orgID string) error {
	if !tx.HoldsLog(audit.LogOf(orgID)) {
		return fmt.Errorf("%s: the change does not declare the log of organization %s", doing, orgID)
	}
	return nil
}

func decided(r Request) error {
	if r.Withdrawn {
		return errEnded()
	}
	if r.Status == Pending {
		r.Status = Expired
	}
	return fault.New(fault.Conflict, "the request was answered before: it is %s", r.Status)
}

// Get is a request with its votes: for a key one that it opened, for a person one of
// their own keys or any that they may answer.
func (s *Service) Get(ctx context.Context, p principal.Principal, id string) (Request, error) {
	r, err := s.Read(ctx, p.OrgID, id)
	if err != nil {
		return Request{}, err
	}
	if !sees(p, r) {
		return Request{}, noSuchRequest()
	}
	return r.shownTo(p), nil
}

// sees reports whether the caller may see a request.
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

// Read is a request of an organization. It checks no right: it is for the server itself.
func (s *Service) Read(ctx context.Context, orgID, id string) (Request, error) {
	r, err := selectRequest(ctx, s.db, orgID, id)
	if err != nil {
		return Request{}, err
	}
	if err := s.withdrawOne(ctx, s.db, &r); err != nil {
		return Request{}, fmt.Errorf("read request %s: %w", id, err)
	}
	if r.Status == Pending && !s.db.Now().Before(r.ExpiresAt) {
		r.Status = Expired
	}
	if r.Votes, err = selectVotes(ctx, s.db, r.ID); err != nil {
		return Request{}, fmt.Errorf("read request %s: %w", id, err)
	}
	return r, nil
}
