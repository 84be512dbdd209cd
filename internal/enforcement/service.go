package enforcement

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"writ/internal/agent"
	"writ/internal/agent/lease"
	"writ/internal/approval"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/intent"
	"writ/internal/intent/scope"
	"writ/internal/mcp"
	"writ/internal/organization"
	"writ/internal/policy"
	"writ/internal/policy/engine"
	"writ/internal/principal"
	"writ/internal/verdict"
)

// People finds the members of organizations.
type People interface {
	PartyOf(ctx context.Context, orgID, userID, address string) (organization.Party, error)
}

// Keys checks whether a key is still valid.
type Keys interface {
	// Holder is the caller behind a key, or an Unauthenticated fault.
	Holder(ctx context.Context, keyID string) (principal.Principal, error)
}

// Agents knows the registered agents.
type Agents interface {
	// StandingOf is what is registered of an agent that calls with a key. It changes only with the organization's log.
	StandingOf(ctx context.Context, orgID, agentID, keyID string) (agent.Standing, error)
	// Attest is until when a certificate and a key prove that a call is of an agent. It changes only with time and the
	// organization's log.
	Attest(ctx context.Context, orgID, agentID, keyID, certificateID string) (until time.Time, ok bool, err error)
	// Saw notes within a decision's transaction that an agent has called.
	Saw(ctx context.Context, tx *database.Tx, of agent.Sighting, host string) error
	// Counted counts a decision for trips within its transaction, behind its entry.
	Counted(ctx context.Context, tx *database.Tx, orgID string, c agent.Counting, denied bool) error
	// LeaseLife is how long leases of an organization may be; zero: none are given.
	LeaseLife(ctx context.Context, orgID string) (time.Duration, error)
	// AddLease stores and records a lease, and gives the index of its entry.
	AddLease(ctx context.Context, tx *database.Tx, by principal.Principal, l *lease.Lease) (int64, error)
	// BudgetsKnown reports whether what the agents of an organization have spent is known.
	BudgetsKnown(orgID string) bool
}

// Servers knows the registered MCP servers.
type Servers interface {
	// StandingOf is what decisions must know of an organization's servers. It changes only with the organization's log.
	StandingOf(ctx context.Context, orgID string) (*mcp.Standing, error)
}

// Service makes decisions. A process needs one, whose caches all requests share.
type Service struct {
	db        *database.DB
	log       *audit.Log
	policies  *policy.Service
	plans     *intent.Service
	scopes    *scope.Service
	approvals *approval.Service
	people    People
	keys      Keys
	agents    Agents
	mcp       Servers
	logger    *slog.Logger

	counters counters
	parties  cache[partyKey, party]
	sessions cache[sessionKey, intent.Current]
	holders  cache[holderKey, keyStatus]
	settings cache[string, Settings]
	standing cache[standingKey, agent.Standing]
	classes  cache[string, Classes]

	certificates cache[certificateKey, certificate]

	servers cache[string, *mcp.Standing]
}

// Options are what a Service is made of: the areas that it composes.
type Options struct {
	Database  *database.DB
	Log       *audit.Log
	Policies  *policy.Service
	Plans     *intent.Service
	Scopes    *scope.Service
	Approvals *approval.Service
	People    People
	Keys      Keys
	Agents    Agents
	Servers   Servers
	Logger    *slog.Logger
}

// New makes a Service.
func New(o Options) *Service {
	return &Service{
		db:        o.Database,
		log:       o.Log,
		policies:  o.Policies,
		plans:     o.Plans,
		scopes:    o.Scopes,
		approvals: o.Approvals,
		people:    o.People,
		keys:      o.Keys,
		agents:    o.Agents,
		mcp:       o.Servers,
		logger:    o.Logger,
	}
}

// maxAttempts is how often a call is judged because something changed, or a limit was spent, before it was recorded.
// Then it is denied.
const maxAttempts = 8

// Decide judges a call of a key. It never fails: a call that cannot be judged or recorded is denied with a reason.
func (s *Service) Decide(ctx context.Context, p principal.Principal, r Request) Answer {
	if !p.HasScope(principal.Enforce) || p.OrgID == "" {
		return refuseUnrecorded(r.Server, "",
			"decisions are made for an API key of the scope enforce, in an organization")
	}
	c := s.read(ctx, p, r)
	var o outcome
	current, err := s.retry(func(fresh bool) (attempt, error) {
		v, d := s.prepare(ctx, c, fresh)
		var err error
		o, err = s.commit(ctx, c, v, d)
		return o.attempt, err
	})
	if err == nil && !current {
		busy := refuse(policy.ByDefault, "busy", "what the call is judged by keeps changing: try again")
		o, err = s.commit(ctx, c, nil, s.final(ctx, c, busy, true))
	}
	if err != nil {
		return s.unrecorded(ctx, c, err)
	}
	return s.answer(ctx, c, &o)
}

// attempt is the result of judging and recording once.
type attempt struct {
	stale    bool // something changed between the two, so nothing was recorded
	restored bool // the log was restored from a backup, so that its generations cannot be compared
}

// retry judges until nothing changes between judging and recording, and reports whether it succeeded. All attempts but
// the first need a fresh view.
func (s *Service) retry(judge func(fresh bool) (attempt, error)) (current bool, err error) {
	for n := range maxAttempts {
		done, err := judge(n > 0)
		if err != nil || !done.stale {
			return err == nil, err
		}
		if done.restored {
			s.plans.Forget()
		}
	}
	return false, nil
}

// prepare judges the call before the transaction.
func (s *Service) prepare(ctx context.Context, c *call, fresh bool) (*view, candidate) {
	if c.problem != "" {
		return nil, s.final(ctx, c, refuse(policy.ByDefault, "call", c.problem), false)
	}
	v, err := s.loadView(ctx, c, fresh)
	if err == nil {
		err = v.broken
	}
	if err != nil {
		s.logFailure(ctx, "judge a call", err)
		return nil, s.final(ctx, c, refuse(policy.ByDefault, "unavailable", unavailableReason(err)), true)
	}
	return v, s.judge(ctx, c, v)
}

// final is a deny without a view. It counts for trips as every call; ours says that the server and not the caller is
// the cause, so that it is no denial of theirs.
func (s *Service) final(ctx context.Context, c *call, d engine.Decision, ours bool) candidate {
	f := candidate{Decision: d, final: true, ours: ours}
	st, err := s.agents.StandingOf(ctx, c.by.OrgID, "", c.by.KeyID)
	if err != nil {
		s.logFailure(ctx, "count a call", err)
		return f // denied all the same
	}
	f.counting = st.Counting
	return f
}

// commit settles the candidate in one transaction.
func (s *Service) commit(ctx context.Context, c *call, v *view, d candidate) (o outcome, err error) {
	err = s.write(ctx, c.by.OrgID, func(ctx context.Context, tx *database.Tx) (err error) {
		o, err = s.settle(ctx, tx, c, v, d)
		return err
	})
	return o, err
}

// write changes an organization's log with the priority of decisions.
func (s *Service) write(
	ctx context.Context, orgID string, do func(ctx context.Context, tx *database.Tx) error,
) error {
	return s.db.Write(ctx, database.Change{Lane: database.Urgent, Logs: []string{audit.LogOf(orgID)}, Do: do})
}

// answer is the answer to a decision that was committed.
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
		Grounding:  o.grounded.Doubts,
		Session:    o.session,
	}
	if o.Verdict == verdict.Allow {
		a.Confine, a.Oblige = o.Confine, o.Oblige
	}
	if o.caller != nil {
		a.AgentID, a.SessionID = o.caller.Agent.ID, o.caller.Session.ID
	}
	a.Reason = cmp.Or(o.agentMessage, a.Reason)
	if o.plan != nil {
		a.PlanID, a.PlanRoot = o.plan.ID, o.plan.Root
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

// unrecorded is the answer if the commit failed. The record may have been written all the same, but the call is denied.
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
