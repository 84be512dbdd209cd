package enforcement

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"writ/internal/agent"
	"writ/internal/agent/lease"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/names"
	"writ/internal/policy"
	"writ/internal/policy/engine"
	"writ/internal/principal"
	"writ/internal/redaction"
	"writ/internal/toolcall"
	"writ/internal/toolname"
	"writ/internal/verdict"
)

// LeaseRequest asks for a lease over some tools.
type LeaseRequest struct {
	AgentID, UserID, SessionID, Source string // as calls would state them
	Tools                              []lease.Tool
	Life                               time.Duration // zero: as long as the organization permits
}

// LeaseAnswer is a lease with its signed text, and the tools that are not in it.
type LeaseAnswer struct {
	agent.Lease
	Text    string
	Refused []RefusedTool
}

// RefusedTool is a tool that a lease was not given for, and why.
type RefusedTool struct {
	lease.Tool
	Reason string
}

// Lease gives a key a lease over the tools whose answer is allow whatever the arguments. It is judged and recorded as
// decisions are, so that no lease stands in the log behind the entry that stops its agent.
func (s *Service) Lease(ctx context.Context, p principal.Principal, r LeaseRequest) (LeaseAnswer, error) {
	if !p.HasScope(principal.Enforce) || p.OrgID == "" {
		return LeaseAnswer{}, fault.New(fault.Forbidden,
			"leases are given to an API key of the scope enforce, in an organization")
	}
	if err := r.check(); err != nil {
		return LeaseAnswer{}, err
	}
	// Whoever has the key uses the lease, with a certificate or without: rules that ask for one must not be met here.
	p.Attested = principal.Attestation{}
	c := callFor(p, Parties{AgentID: r.AgentID, UserID: r.UserID})
	c.request.SessionID, c.request.Source, c.request.Tool = r.SessionID, r.Source, r.Tools[0].Tool
	if c.readNames(); c.problem != "" {
		return LeaseAnswer{}, fault.New(fault.Invalid, "%s", c.problem)
	}
	var given LeaseAnswer
	current, err := s.retry(func(bool) (done attempt, err error) {
		given, done, err = s.tryLease(ctx, c, r)
		return done, err
	})
	if err == nil && !current {
		err = fault.New(fault.Unavailable, "what the lease is judged by keeps changing: try again")
	}
	if err != nil {
		return LeaseAnswer{}, err
	}
	return given, nil
}

// check names the field that is wrong.
func (r LeaseRequest) check() error {
	if len(r.Tools) == 0 || len(r.Tools) > agent.MaxLeaseTools {
		return fault.Field("tools", "must be 1 to %d", agent.MaxLeaseTools)
	}
	for i, tool := range r.Tools {
		if tool.Tool == "" || !names.Valid(tool.Tool) || !names.Valid(tool.Server) ||
			redaction.HoldsKey(tool.Tool) || redaction.HoldsKey(tool.Server) {
			return fault.Field(fmt.Sprintf("tools[%d]", i), "must name a tool, and its server where calls name it: at "+
				"most %d bytes each, without control characters and keys", names.MaxBytes)
		}
	}
	if r.Life < 0 || r.Life > agent.MaxLease || r.Life%time.Second != 0 {
		return fault.Field("seconds", "must be from 1 to %.0f", agent.MaxLease.Seconds())
	}
	return nil
}

// tryLease judges and records a lease once.
func (s *Service) tryLease(ctx context.Context, c *call, r LeaseRequest) (LeaseAnswer, attempt, error) {
	v, err := s.loadCurrent(ctx, c)
	if err != nil {
		if _, broken := errors.AsType[*policy.BrokenError](err); broken {
			err = fault.Wrap(err, fault.Unavailable, "%s", unavailableReason(err))
		}
		return LeaseAnswer{}, attempt{}, err
	}
	life, err := s.agents.LeaseLife(ctx, c.by.OrgID)
	if err != nil {
		return LeaseAnswer{}, attempt{}, err
	}
	given, err := c.judgeLease(v, r, life, s.db.Now())
	if err != nil {
		return LeaseAnswer{}, attempt{}, err
	}
	if given.Text, err = s.plans.SignLease(ctx, given.Sign); err != nil {
		return LeaseAnswer{}, attempt{}, err
	}
	var done attempt
	err = s.write(ctx, c.by.OrgID, func(ctx context.Context, tx *database.Tx) error {
		now, err := s.log.Version(ctx, tx, audit.LogOf(c.by.OrgID))
		if err != nil {
			return err
		}
		if done = (attempt{!v.policies.Covers(now), now.Epoch != v.policies.Epoch}); done.stale {
			return nil
		}
		given.Index, err = s.agents.AddLease(ctx, tx, c.by, &given.Lease.Lease)
		return err
	})
	return given, done, err
}

// judgeLease is the lease that the caller may have now, not signed yet.
func (c *call) judgeLease(v *view, r LeaseRequest, life time.Duration, now time.Time) (LeaseAnswer, error) {
	caller := c.toolcall(v, toolname.Name{}, -1, now)
	refused, ok := v.refuseCaller(caller)
	switch {
	case ok:
		return LeaseAnswer{}, fault.New(fault.Forbidden, "%s", refused.Reason)
	case life == 0:
		return LeaseAnswer{}, fault.New(fault.Forbidden, "this organization gives no leases")
	case c.needsPlan(v):
		return LeaseAnswer{}, fault.New(fault.Forbidden,
			"the calls are checked against a plan, so that no lease is given")
	}
	if r.Life > 0 {
		life = min(life, r.Life)
	}
	issued := now.Truncate(time.Second)
	given := LeaseAnswer{Lease: agent.Lease{Lease: lease.Lease{
		ID:      database.NewID(),
		OrgID:   c.by.OrgID,
		KeyID:   c.by.KeyID,
		AgentID: c.request.AgentID,
		UserID:  c.request.UserID,
		Issued:  issued,
		Expires: issued.Add(life),
	}}}
	if ends := v.key.holder.ExpiresAt; ends != nil && given.Expires.After(*ends) {
		given.Expires = ends.Truncate(time.Second) // a lease does not outlive its key
	}
	var why []string
	for _, tool := range r.Tools {
		if slices.Contains(given.Tools, tool) {
			continue
		}
		if reason := c.refuseLease(v, caller, tool); reason != "" {
			given.Refused = append(given.Refused, RefusedTool{tool, reason})
			why = append(why, tool.Tool+": "+reason)
			continue
		}
		given.Tools = append(given.Tools, tool)
	}
	if len(given.Tools) == 0 {
		return LeaseAnswer{}, fault.New(fault.Forbidden, "no lease is given: %s", strings.Join(why, "; "))
	}
	return given, nil
}

// refuseLease is why not every call of a tool is allowed, under all names that it may have; empty: each is.
func (c *call) refuseLease(v *view, caller *toolcall.Call, tool lease.Tool) string {
	if v.asks() {
		return "the organization asks a person where only a text says what a call does, so that every call must be asked about"
	}
	if tool.Server == "" && toolname.IsCut(tool.Tool) {
		return "the harness cut the name of the tool, so nobody can tell which tool it is"
	}
	candidates := v.candidates(tool.Tool, tool.Server, c.request.Source)
	for _, n := range toolname.Candidates(tool.Tool, tool.Server, "") {
		if !slices.Contains(candidates, n) {
			candidates = append(candidates, n)
		}
	}
	if refused, ok := v.refuseStopped(engine.Ask(*caller, candidates)); ok {
		return refused.Reason
	}
	if why := v.heldFor(engine.Ask(*caller, candidates)); why != "" {
		return why
	}
	set := v.policies.Set
	for _, by := range policy.Callers(set, caller) {
		switch f := set.ForeseeNamed(engine.Ask(*by, candidates)); {
		case !f.Certain && f.Doubt != "":
			return "the answer depends on the call, which may be " + f.Doubt
		case !f.Certain || f.Confine != nil:
			return "the answer depends on the call"
		case f.Verdict != verdict.Allow:
			return f.Reason
		}
	}
	return ""
}
