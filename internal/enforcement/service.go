package enforcement

import (
	"context"
	"log/slog"
	"time"

	"writ/internal/approval"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/intent"
	"writ/internal/organization"
	"writ/internal/policy"
	"writ/internal/policy/engine"
	"writ/internal/principal"
)

// People tells who the members of organizations are.
type People interface {
	PartyOf(ctx context.Context, orgID, userID, address string) (organization.Party, error)
}

// Keys tells whether a key is still good.
type Keys interface {
	// Holder is the caller behind a key, or an Unauthenticated fault.
	Holder(ctx context.Context, keyID string) (principal.Principal, error)
}

// Service decides. Make one a process: what it remembers is shared by all
// requests.
type Service struct {
	db        *database.DB
	log       *audit.Log
	policies  *policy.Service
	plans     *intent.Service
	approvals *approval.Service
	people    People
	keys      Keys
	logger    *slog.Logger

	counters counters
	parties  cache[partyKey, party]
	holders  cache[holderKey, keyStatus]
	settings cache[string, Settings]
}

// New makes a service of the areas it composes.
func New(
	db *database.DB, log *audit.Log, policies *policy.Service, plans *intent.Service,
	approvals *approval.Service, people People, keys Keys, logger *slog.Logger,
) *Service {
	return &Service{
		db:        db,
		log:       log,
		policies:  policies,
		plans:     plans,
		approvals: approvals,
		people:    people,
		keys:      keys,
		logger:    logger,
	}
}

// tries is how often a call is judged anew because something changed, or a limit
// was spent, between judging and recording. Each try sees a newer state; a call
// that is overtaken so often is denied.
const tries = 8

// Decide judges a call for the key that makes it. It never fails: what cannot be
// judged or recorded is denied, with the reason.
func (s *Service) Decide(ctx context.Context, p principal.Principal, r Request) Answer {
	if !p.HasScope(principal.Enforce) || p.OrgID == "" {
		return refuseUnrecorded(r.Server, "", "decisions are made for an API key of the scope enforce, in an organization")
	}
	c := s.read(ctx, p, r)
	var o outcome
	current, err := s.untilCurrent(func(fresh bool) (attempt, error) {
		v, d := s.prepare(ctx, c, fresh)
		var err error
		o, err = s.commit(ctx, c, v, d)
		return o.attempt, err
	})
	if err == nil && !current {
		busy := refuse(policy.ByDefault, "busy", "what the call is judged by keeps changing: try again")
		o, err = s.commit(ctx, c, nil, final(busy))
	}
	if err != nil {
		return s.unrecorded(ctx, c, err)
	}
	return s.answer(ctx, c, &o)
}

// attempt is what became of one try to judge and to record. Stale: what it was
// judged by changed before it was recorded, and nothing was.
type attempt struct {
	stale    bool
	restored bool // the log was, so that its generations cannot be compared
}

// untilCurrent judges until nothing changed between judging and recording, and
// reports whether it came to that. All but the first try need a fresh view.
func (s *Service) untilCurrent(judge func(fresh bool) (attempt, error)) (current bool, err error) {
	for try := range tries {
		done, err := judge(try > 0)
		if err != nil || !done.stale {
			return err == nil, err
		}
		if done.restored {
			s.plans.Forget()
		}
	}
	return false, nil
}

// prepare judges the call by what is known before the transaction.
func (s *Service) prepare(ctx context.Context, c *call, fresh bool) (*view, candidate) {
	if c.problem != "" {
		return nil, final(refuse(policy.ByDefault, "call", c.problem))
	}
	v, err := s.loadView(ctx, c, fresh)
	if err == nil {
		err = v.broken
	}
	if err != nil {
		s.logFailure(ctx, "judge a call", err)
		return nil, final(refuse(policy.ByDefault, "unavailable", whyNot(err)))
	}
	return v, s.judge(ctx, c, v)
}

func final(d engine.Decision) candidate { return candidate{Decision: d, final: true} }

// commit settles the candidate in one transaction that waits in the lane of
// decisions.
func (s *Service) commit(ctx context.Context, c *call, v *view, d candidate) (o outcome, err error) {
	err = s.write(ctx, c.by.OrgID, func(ctx context.Context, tx *database.Tx) (err error) {
		o, err = s.settle(ctx, tx, c, v, d)
		return err
	})
	return o, err
}

// write changes an organization's log in the lane of decisions.
func (s *Service) write(
	ctx context.Context, orgID string, do func(ctx context.Context, tx *database.Tx) error,
) error {
	return s.db.Write(ctx, database.Change{Lane: database.Urgent, Logs: []string{audit.LogOf(orgID)}, Do: do})
}

// answer tells what was committed.
func (s *Service) answer(ctx context.Context, c *call, o *outcome) Answer {
	s.counters.count(o.Verdict)
	a := Answer{
		Ruling:     o.Ruling,
		DecisionID: c.id,
		Step:       o.step,
		Server:     o.server,
		ApprovalID: o.approvalID(),
		Approvers:  o.Approvers,
		Recorded:   true,
	}
	if o.agentMessage != "" {
		a.Reason = o.agentMessage
	}
	if o.plan != nil {
		a.PlanID = o.plan.ID
	}
	receipt, err := o.appended.Receipt()
	if err != nil {
		s.logFailure(ctx, "give a receipt", err)
	} else {
		a.Receipt = &receipt
	}
	a.Duration = time.Since(c.started)
	return a
}

// unrecorded is the answer where the record could not be written: no record, no
// allow. Perhaps it was written and only the word of it was lost; the call is
// denied all the same.
func (s *Service) unrecorded(ctx context.Context, c *call, err error) Answer {
	s.counters.unrecorded.Add(1)
	s.logFailure(ctx, "record a decision", err)
	reason := "the decision could not be recorded, so the call is denied: try again"
	if fault.Is(err, fault.Unavailable) {
		reason = "the record cannot be written right now, so the call is denied: try again later"
	}
	a := refuseUnrecorded(c.request.Server, "unrecorded", reason)
	a.Duration = time.Since(c.started)
	return a
}

func refuseUnrecorded(server, rule, reason string) Answer {
	return Answer{Ruling: refuse(policy.ByDefault, rule, reason).Ruling, Step: -1, Server: server}
}

func (s *Service) logFailure(ctx context.Context, what string, err error) {
	s.logger.WarnContext(ctx, "a call was denied or had no receipt, because of a failure", "doing", what, "error", err)
}
