package enforcement

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"writ/internal/approval"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/intent/grounding"
	"writ/internal/intent/plan"
	"writ/internal/intent/scope"
	"writ/internal/policy"
	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/principal"
	"writ/internal/toolcall"
	"writ/internal/toolname"
	"writ/internal/verdict"
)

// CheckApproved releases the grant of an approved call to a client that does not send the arguments, or returns nil. A
// released grant is used up, because the client then runs the call. So it is released only if a decision about the
// call would use it now. If anything changed meanwhile the result is nil, and clients ask again.
func (s *Service) CheckApproved(
	ctx context.Context, p principal.Principal, q approval.Question,
) (released *approval.Release, err error) {
	found, err := s.approvals.FindReleasable(ctx, s.db, p, q, s.db.Now())
	if err != nil || found == nil {
		return nil, err
	}
	v, usable, err := s.wouldUse(ctx, p, found)
	if err != nil || !usable {
		return nil, err
	}
	if found.Via == approval.ViaProxy {
		return s.approvals.Announce(ctx, s.db, found) // the client has the proxy call again, which uses it
	}
	named, err := s.planNamed(ctx, v, found)
	if err != nil {
		return nil, err
	}
	err = s.write(ctx, p.OrgID, func(ctx context.Context, tx *database.Tx) (err error) {
		released, err = s.release(ctx, tx, p, q, v, named)
		return err
	})
	if err != nil {
		return nil, err // released may be set although the commit failed
	}
	return released, nil
}

// release records a decision that uses the grant, unless anything changed since the call was judged.
func (s *Service) release(
	ctx context.Context, tx *database.Tx, p principal.Principal, q approval.Question, v *view, named *plan.Declared,
) (*approval.Release, error) {
	now, err := s.log.Version(ctx, tx, audit.LogOf(p.OrgID))
	if err != nil || now != v.policies.Version {
		return nil, err
	}
	r, err := s.approvals.FindReleasable(ctx, tx, p, q, tx.Now())
	if err != nil || r == nil {
		return nil, err
	}
	c, appended, err := s.recordRelease(ctx, tx, p, r, v)
	if err == nil {
		err = s.rememberRelease(ctx, tx, c, v, named, appended)
	}
	if err != nil {
		return nil, fmt.Errorf("record that the grant of request %s is released: %w", r.ID, err)
	}
	return s.approvals.Release(ctx, tx, r, c.id)
}

// planNamed is the plan that the request names, whoever compared the call with it: what the call returns belongs to the
// plan's session; nil: there is none, or it is not the key's.
func (s *Service) planNamed(ctx context.Context, v *view, r *approval.Request) (*plan.Declared, error) {
	if r.PlanID == "" || v.settings.Grounding == GroundingOff {
		return nil, nil
	}
	found, err := s.plans.Find(ctx, r.OrgID, v.policies.Generation, plan.Presented{PlanID: r.PlanID})
	if err != nil || found == nil || found.Binding.KeyID != r.KeyID {
		return nil, err
	}
	return found, nil
}

// rememberRelease adds the call of a released grant to what is known of its session. Nobody sees its arguments, so that
// its output stays unknown.
func (s *Service) rememberRelease(
	ctx context.Context, tx *database.Tx, c *call, v *view, named *plan.Declared, appended *audit.Appended,
) error {
	if !v.asks() && (named == nil || v.settings.Grounding != GroundingObserve) {
		return nil
	}
	return s.scopes.Allow(ctx, tx, c.scopeKey(&view{plan: named}), scope.Call{
		DecisionID: c.id,
		Tool:       c.request.Tool,
		Class:      grounding.Write,
		Position:   appended.Index,
	})
}

// wouldUse reports whether a decision about a request's call would use its grant now, and by which view. It judges the
// call by its arguments if the request has them all, and otherwise by what any rule about the tool could demand.
func (s *Service) wouldUse(
	ctx context.Context, p principal.Principal, r *approval.Request,
) (v *view, usable bool, err error) {
	c := callFor(p, Parties{r.AgentID, r.UserID, r.Email})
	c.request.Tool, c.request.SessionID = r.Tool, r.SessionID
	c.request.TokenRequired = true // ignore what the session declared since
	if r.Via == approval.ViaDecision || r.Via == approval.ViaProxy {
		c.request.Presented.PlanID = r.PlanID // only a decision has compared the call with its plan
	}
	if v, err = s.loadCurrent(ctx, c); err != nil {
		return nil, false, err
	}
	now := s.db.Now()
	named := c.toolcall(v, toolname.Name{Server: r.Server, Tool: r.Tool}, -1, now)
	if _, refused := v.refuseCaller(named); refused || v.planEnds(r, now) || v.lacksPlan() {
		return v, false, nil
	}
	known, err := s.loadArguments(ctx, c, r)
	if err != nil {
		return nil, false, err
	}
	named.Args = c.args.Decoded
	questions := engine.Ask(*named, namesOf(r))
	if _, stopped := v.refuseStopped(questions); stopped || r.OpenedAt < v.agent.EndedBefore {
		return v, false, nil
	}
	if !known && v.heldFor(questions) != "" {
		return v, r.PolicyID == policy.ByMCP, nil
	}
	if !known {
		return v, needsNoArguments(v.policies.Set, questions, r), nil
	}
	load := s.lazyStats(ctx, c.by.OrgID, named.Session.ID)
	for _, q := range questions {
		q.Call.Session.Load = load
	}
	d, _ := policy.JudgeNamed(v.policies.Set, questions, s.policies.Spent(ctx, p.OrgID))
	d = v.holdUnaccepted(d, questions)
	o := &outcome{candidate: candidate{Decision: d}}
	approved := d.Verdict == verdict.Allow || d.Verdict != verdict.Deny && r.Serves(requirementOf(o))
	return v, approved && len(d.Claims) == 0, nil // only a decision takes from limits
}

// planEnds reports whether the plan of the call has ended, has other steps since the call was asked about, or counts
// calls: only a decision compares and counts.
func (v *view) planEnds(r *approval.Request, now time.Time) bool {
	if v.presented.PlanID == "" {
		return false
	}
	if v.plan == nil || v.plan.Plan == nil {
		return true
	}
	if r.OpenedAt < v.plan.Since() {
		return true
	}
	shown := v.presented
	shown.Signature = v.plan.Signature // the request is the proof
	if !plan.CheckPresented(v.plan, shown, plan.Binding{OrgID: r.OrgID, KeyID: r.KeyID}, now).OK {
		return true
	}
	declared := v.plan.Plan
	counted := r.Step < 0 || r.Step >= len(declared.Steps) || declared.Steps[r.Step].MaxCalls > 0
	return declared.Ordered || counted
}

// lacksPlan reports whether a plan is required, and no decision has compared the call with one.
func (v *view) lacksPlan() bool {
	return v.presented.PlanID == "" && (v.settings.IntentRequired || v.agent.IntentRequired)
}

// loadArguments reads the arguments that a request stores, and reports whether they are complete.
func (s *Service) loadArguments(ctx context.Context, c *call, r *approval.Request) (bool, error) {
	if len(r.Digest) == 0 || r.Arguments == "" {
		return false, nil
	}
	digester, err := s.plans.Digester(ctx, r.OrgID)
	if err != nil {
		return false, err
	}
	if digest := digester.Arguments(r.Arguments); !bytes.Equal(digest[:], r.Digest) {
		return false, nil
	}
	c.args.Decoded, err = toolcall.Decode([]byte(r.Arguments))
	return err == nil, err
}

// namesOf are the names under which a decision would judge the request's call.
func namesOf(r *approval.Request) []toolname.Candidate {
	if server, _, ok := toolname.Split(r.Tool); ok && server == r.Server {
		return toolname.Candidates(r.Tool, "", "")
	}
	names := toolname.Candidates(r.Tool, r.Server, "")
	for _, n := range spellingsOf(toolname.Name{Server: r.Server, Tool: r.Tool}) {
		if !slices.ContainsFunc(names, func(c toolname.Candidate) bool { return c.Name == n }) {
			names = append(names, toolname.Candidate{Name: n, Naming: toolname.Claimed})
		}
	}
	return names
}

// spellingsOf are the readings of the names that clients give to a tool with its server. Nobody has stored how the call
// was spelled, and a rule about another reading of that restricts.
func spellingsOf(n toolname.Name) []toolname.Name {
	names := toolname.Readings(toolname.Claude(n))
	if toolname.IsReserved(n.Server) { // the tools of no MCP server have none before them
		return names
	}
	dotted := n.Server + toolname.Dot + n.Tool
	names = slices.Concat(names, toolname.Readings(dotted), toolname.Guesses(dotted))
	if joined := toolname.Gemini(n); !toolname.IsCut(joined) { // no call of a cut name is allowed
		names = append(names, toolname.Readings(joined)...)
	}
	return append(names, toolname.Name{Server: toolname.Local, Tool: dotted})
}

// needsNoArguments reports whether policies let a call be approved whose arguments are unknown: the tool is not always
// denied, and no rule about it could demand more approvers than there were.
func needsNoArguments(set *engine.Set, questions []engine.Question, r *approval.Request) bool {
	given := document.Approvers{Role: cmp.Or(r.Role, string(principal.Approver)), Count: r.Needed}
	for _, q := range set.Weigh(questions) {
		for _, caller := range policy.Callers(set, q.Call) {
			f := set.Foresee(caller)
			if f.Certain && f.Verdict == verdict.Deny && (!q.Restricts || f.ByRule()) {
				return false
			}
			for _, wanted := range set.Approvers(caller) {
				if *policy.MoreApprovers(&given, &wanted) != given {
					return false
				}
			}
		}
	}
	return true
}

// recordRelease records a decision that lets a client run a call by its approval alone.
func (s *Service) recordRelease(
	ctx context.Context, tx *database.Tx, by principal.Principal, r *approval.Request, v *view,
) (*call, *audit.Appended, error) {
	c := &call{
		by:      by,
		id:      database.NewID(),
		started: time.Now(),
		digest:  r.Digest,

		argumentsFrom: r.ArgumentsFrom,

		request: Request{
			Server:      r.Server,
			Tool:        r.Tool,
			AgentID:     r.AgentID,
			UserID:      r.UserID,
			UserEmail:   r.Email,
			SessionID:   r.SessionID,
			Environment: by.Environment,
		},
	}
	c.args.Incomplete = true
	if r.Arguments != "" {
		c.args.Shown = []byte(r.Arguments)
	}
	o := &outcome{
		approval: r, used: true, step: -1, candidate: candidate{server: r.Server, counting: v.agent.Counting},
	}
	o.Ruling = verdict.Ruling{
		Verdict:       verdict.Hold,
		PolicyID:      r.PolicyID,
		PolicyVersion: r.PolicyVersion,
		Rule:          r.Rule,
		Reason:        r.Reason,
		Message:       r.Message,
	}
	// Only a decision has checked the plan.
	if r.PlanID != "" && (r.Via == approval.ViaDecision || r.Via == approval.ViaProxy) {
		o.plan, o.step = &plan.Declared{ID: r.PlanID}, r.Step
		if v.plan != nil {
			o.plan.Under = v.plan.Under
		}
	}
	appended, err := s.record(ctx, tx, c, o)
	return c, appended, err
}
