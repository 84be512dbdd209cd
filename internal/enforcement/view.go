package enforcement

import (
	"context"
	"errors"
	"fmt"

	"writ/internal/agent"
	"writ/internal/audit"
	"writ/internal/fault"
	"writ/internal/intent"
	"writ/internal/intent/plan"
	"writ/internal/intent/scope"
	"writ/internal/mcp"
	"writ/internal/policy"
	"writ/internal/toolcall"
)

// view is what a call is judged by at one generation of its organization's log. All of it is cached, so that most
// decisions read nothing before their transaction.
type view struct {
	policies policy.Snapshot
	broken   error // if policies has no set: one of them cannot be used
	settings Settings
	key      keyStatus
	org      toolcall.Org
	agent    agent.Standing // of the agent that calls
	// certificate is that of the caller.
	certificate certificate
	unknown     bool          // whether the agent has spent its budget
	owner       toolcall.User // of the key
	user        toolcall.User // the one that the call names, else the owner

	plan      *plan.Declared // presented by the call, or declared by its session; nil: none
	presented plan.Presented
	bySession bool           // the call presents no plan, so that its session's counts
	session   intent.Current // of the session, where it matters
	// Of a delegated plan: who delegated it and those it came from, the nearest first; the steps that the call fits in
	// each of them; and the plan whose sub-tree a published SDK shows.
	delegators []*delegator
	chain      [][]int
	enveloped  *plan.Declared

	known   *scope.State // of the call's session; nil: it does not matter
	classes Classes
	servers *mcp.Standing // of the organization's MCP servers
}

// loadView loads what a call is judged by, from caches unless fresh.
func (s *Service) loadView(ctx context.Context, c *call, fresh bool) (*view, error) {
	v := &view{presented: c.request.Presented}
	known := false
	if !fresh {
		v.policies, known = s.policies.Cached(c.by.OrgID)
	}
	var err error
	if !known {
		v.policies, err = s.policies.Snapshot(ctx, c.by.OrgID)
		if _, ok := errors.AsType[*policy.BrokenError](err); ok {
			v.broken = err
		} else if err != nil {
			return nil, err
		}
	}
	// The rest is read after the policies, so that none of it is older.
	if err := s.loadKey(ctx, c, v); err != nil {
		return nil, err
	}
	if c.by.Kind == "" { // the plan's token is the only credential
		if v.key.holder == nil {
			return v, nil
		}
		c.by = *v.key.holder
	}
	if v.settings, err = s.settingsAt(ctx, c.by.OrgID, v.policies.Version); err != nil {
		return nil, err
	}
	if err := s.loadPlan(ctx, c, v, fresh); err != nil {
		return nil, err
	}
	if err := s.loadPeople(ctx, c, v); err != nil {
		return nil, err
	}
	if err := s.loadAgent(ctx, c, v); err != nil {
		return nil, err
	}
	if err := s.loadDelegators(ctx, c, v); err != nil {
		return nil, err
	}
	if err := s.loadCertificate(ctx, c, v); err != nil {
		return nil, err
	}
	if v.servers, err = s.serversAt(ctx, c.by.OrgID, v.policies.Version); err != nil {
		return nil, err
	}
	if err := s.endPlan(ctx, c, v); err != nil {
		return nil, err
	}
	return v, s.loadKnown(ctx, c, v)
}

// loadCurrent loads a fresh view whose policies are not broken.
func (s *Service) loadCurrent(ctx context.Context, c *call) (*view, error) {
	v, err := s.loadView(ctx, c, true)
	if err != nil {
		return nil, err
	}
	return v, v.broken
}

// loadPlan finds the plan of the call. A call that presents none is judged by the last plan of its session, which it
// could otherwise evade.
func (s *Service) loadPlan(ctx context.Context, c *call, v *view, fresh bool) (err error) {
	v.bySession = v.presented.IsZero() && !c.request.TokenRequired && c.request.SessionID != ""
	if v.asksSession(c) {
		if v.session, err = s.sessionOf(ctx, c, fresh); err != nil {
			return err
		}
	}
	if v.bySession {
		v.presented.PlanID = v.session.PlanID
	}
	if v.presented.IsZero() {
		return nil
	}
	v.plan, err = s.plans.Find(ctx, c.by.OrgID, v.policies.Generation, v.presented)
	if err != nil {
		return fmt.Errorf("find the plan of a call: %w", err)
	}
	if v.bySession && v.plan != nil {
		v.presented.Signature = v.plan.Signature // the session is the proof
	}
	return s.loadEnvelope(ctx, c, v)
}

// asksSession reports whether the call is judged by what its session has declared, or by the turn that it states.
func (v *view) asksSession(c *call) bool {
	return v.bySession || c.request.Turn != 0 && c.request.SessionID != ""
}

type sessionKey struct{ orgID, keyID, sessionID string }

// sessionOf is what the calls of a session are judged by, from the cache unless fresh. What is cached may be
// old, because neither a new plan nor a new turn raises the generation: the decision's transaction compares
// it.
func (s *Service) sessionOf(ctx context.Context, c *call, fresh bool) (intent.Current, error) {
	key := sessionKey{c.by.OrgID, c.by.KeyID, c.request.SessionID}
	if !fresh {
		if known, ok := s.sessions.get(key, audit.Version{}); ok {
			return known, nil
		}
	}
	current, err := intent.OfSession(ctx, s.db.Prepared(), key.orgID, key.keyID, key.sessionID)
	if err == nil {
		s.sessions.put(key, audit.Version{}, current)
	}
	return current, err
}

// loadPeople finds the owner of the key and the member that the call names.
func (s *Service) loadPeople(ctx context.Context, c *call, v *view) error {
	owner, err := s.party(ctx, c.by.OrgID, c.by.UserID, "", v.policies.Version)
	if err != nil {
		return err
	}
	v.org = toolcall.Org{ID: c.by.OrgID, Name: owner.orgName}
	v.owner = owner.user
	v.owner.ID = c.by.UserID
	id, address := c.request.UserID, c.request.UserEmail
	if c.request.UserOfPlan && id == "" && address == "" && v.plan != nil {
		of := Request{UserID: stated(v.plan.Binding.UserID), UserEmail: stated(v.plan.Binding.Email)}
		of.readEmail()
		id, address = of.UserID, of.UserEmail
	}
	if id == "" && address == "" {
		v.user = v.owner
		return nil
	}
	named, err := s.party(ctx, c.by.OrgID, id, address, v.policies.Version)
	if err != nil {
		return err
	}
	v.user = named.user
	if v.user.ID == "" {
		v.user = toolcall.User{ID: id, Email: address} // not a member: as the client says
	}
	return nil
}

// party is a member of an organization, as conditions see people.
type party struct {
	orgName string
	user    toolcall.User // zero: no member has that id or address
}

type partyKey struct{ orgID, userID, address string }

func (s *Service) party(ctx context.Context, orgID, userID, address string, at audit.Version) (party, error) {
	key := partyKey{orgID, userID, address}
	if known, ok := s.parties.get(key, at); ok {
		return known, nil
	}
	found, err := s.people.PartyOf(ctx, orgID, userID, address)
	if err != nil && !(address != "" && fault.Is(err, fault.NotFound)) {
		return party{}, fmt.Errorf("find the user of a call: %w", err)
	}
	m := found.Member
	p := party{found.OrgName, toolcall.User{ID: m.UserID, Email: m.Email, Role: string(m.Role)}}
	s.parties.put(key, at, p)
	return p, nil
}

// unavailableReason is the reason of a deny if the view could not be loaded. The operator finds the cause in the log.
func unavailableReason(err error) string {
	broken, ok := errors.AsType[*policy.BrokenError](err)
	switch {
	case ok && broken.PolicyID == "":
		return "the stored policies are not those that the audit log tells of, so nothing is allowed: an administrator must " +
			"activate them again, or the operator restore a backup"
	case ok:
		return fmt.Sprintf("version %d of policy %s cannot be used, so nothing is allowed: an administrator must replace it", broken.Version, broken.PolicyID)
	}
	return "this server could not read what the call is judged by: try again"
}
