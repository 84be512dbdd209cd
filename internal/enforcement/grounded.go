package enforcement

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/decision"
	"writ/internal/intent"
	"writ/internal/intent/grounding"
	"writ/internal/intent/plan"
	"writ/internal/intent/scope"
	"writ/internal/policy"
	"writ/internal/policy/engine"
	"writ/internal/toolname"
	"writ/internal/verdict"
)

// Grounding is what an organization does about calls that only a text asks for.
type Grounding string

// The modes.
const (
	GroundingOff     Grounding = "off"
	GroundingObserve Grounding = "observe" // recorded, changes nothing
	GroundingAsk     Grounding = "ask"     // a person is asked
)

// Valid reports whether this is one of the modes.
func (g Grounding) Valid() bool {
	return g == GroundingOff || g == GroundingObserve || g == GroundingAsk
}

// grounded is what grounding says about a call.
type grounded struct {
	grounding.Result
	judged   bool
	binds    bool // the answer depends on it, and not only the record
	scope    scope.Key
	revision int64 // of the scope
	class    grounding.Class
	outside  bool // of the plan, which names neither a step nor a tool that may be needed
	follows  bool // if the call is allowed, its output will matter
}

// asks reports whether a person is asked about ungrounded calls.
func (v *view) asks() bool { return v.settings.Grounding == GroundingAsk }

// tracks reports whether it is followed what the call's session knows. Without a plan that is only done where a person
// is asked, because nothing else would come of it.
func (v *view) tracks() bool {
	return v.asks() || v.settings.Grounding == GroundingObserve && v.plan != nil
}

// Heard is what becomes of the output of a call that no decision waits for: it matters where decisions are judged by
// what is known, as tracks says.
func (s *Service) Heard(ctx context.Context, orgID string, planned bool) (scope.Heard, error) {
	settings, err := s.Settings(ctx, orgID)
	switch {
	case err != nil:
		return scope.NotHeard, err
	case settings.Grounding == GroundingAsk:
		return scope.HeardAlways, nil
	case settings.Grounding == GroundingObserve && planned:
		return scope.HeardBeside, nil
	}
	return scope.NotHeard, nil
}

// scopeKey is the scope of the call: what it states counts before what its plan does, which is the same if both do.
// What a delegate learns belongs to the plan that was declared, and what is known of that counts for the delegate:
// nobody gets rid of a text by delegating.
func (c *call) scopeKey(v *view) scope.Key {
	if v.delegated() && len(v.plan.Chain) > 0 {
		return intent.ScopeOf(v.plan.Chain[len(v.plan.Chain)-1].Binding)
	}
	key := scope.Key{
		OrgID:   c.by.OrgID,
		KeyID:   c.by.KeyID,
		Session: c.request.SessionID,
		Context: c.request.ContextID,
		User:    cmp.Or(c.request.UserID, c.request.UserEmail),
		Agent:   c.request.AgentID,
	}
	if v.plan != nil {
		declared := intent.ScopeOf(v.plan.Binding)
		key.Session, key.Context = cmp.Or(declared.Session, key.Session), cmp.Or(declared.Context, key.Context)
		key.User, key.Agent = cmp.Or(declared.User, key.User), cmp.Or(declared.Agent, key.Agent)
	}
	return key
}

// loadKnown loads what is known of the call's session.
func (s *Service) loadKnown(ctx context.Context, c *call, v *view) (err error) {
	if !v.tracks() {
		return nil
	}
	planID := ""
	if v.plan != nil {
		planID = v.plan.ID
	}
	if v.known, err = s.scopes.Load(ctx, c.scopeKey(v), planID); err != nil {
		return fmt.Errorf("load what is known of a session: %w", err)
	}
	v.classes, err = s.classesAt(ctx, c.by.OrgID, v.policies.Version)
	return err
}

// ground judges where the values of a call come from. fit is what the plan says about it.
func (c *call) ground(v *view, fit plan.Result) grounded {
	if v.known == nil {
		return grounded{}
	}
	class, kinds := v.classes.of(c.classNames(v, fit))
	g := grounded{
		judged:   true,
		binds:    v.asks(),
		scope:    c.scopeKey(v),
		revision: v.known.Revision,
		class:    class,
		// Where outputs were dropped no other one grounds anything. What is only observed then costs nothing more.
		follows: v.asks() || !v.known.Known.Dropped(),
	}
	call := grounding.Call{Tool: c.groundedTool(v, fit), Class: class, Arguments: c.args.Decoded, Kinds: kinds}
	if c.verifies {
		g.Result = groundStep(v, class)
		return g
	}
	declared := c.groundingPlan(v, fit)
	g.outside = declared.Declared && !declared.Planned
	options := grounding.Options{UnplannedBeforeText: v.settings.UnplannedBeforeText}
	g.Result = grounding.Judge(v.known.Known, declared, call, options)
	return g
}

// groundedTool is the tool of the call, as calls of the session are remembered.
func (c *call) groundedTool(v *view, fit plan.Result) string {
	if toolname.MayJoin(c.request.Tool) {
		var names []toolname.Candidate
		for _, n := range c.names(v, fit) {
			names = append(names, n.Candidate)
		}
		if spelled := c.spelled(v, names...); spelled != nil {
			return spelled[0].Tool
		}
	}
	return c.request.Tool
}

// groundStep judges a step whose call nobody has seen: reads pass, and everything while only the user can have spoken.
func groundStep(v *view, class grounding.Class) grounding.Result {
	switch {
	case class == grounding.Read:
		return grounding.Result{Pass: true, Rule: grounding.FreeRead}
	case v.known.Known.Clean():
		return grounding.Result{Pass: true, Rule: grounding.OnlyUser}
	}
	doubt := grounding.Reason{Argument: "arguments", Origin: grounding.Nowhere}
	return grounding.Result{Rule: grounding.Ungrounded, Doubts: []grounding.Reason{doubt}}
}

// classNames are the names that say what the call does. A plan that was declared after running text may be the text's:
// the servers that only it names make no call harmless.
func (c *call) classNames(v *view, fit plan.Result) (list []toolname.Candidate) {
	claimed := v.plan != nil && !v.plan.Grounds && c.request.Server == ""
	if claimed {
		list = toolname.Candidates(c.request.Tool, "", c.request.Source)
	}
	for _, n := range c.names(v, fit) {
		if claimed && !slices.ContainsFunc(list, func(own toolname.Candidate) bool { return own.Name == n.Name }) {
			n.Naming = toolname.Claimed
		}
		list = append(list, n.Candidate)
	}
	return list
}

// groundingPlan is what the plan says about the call, for grounding.
func (c *call) groundingPlan(v *view, fit plan.Result) grounding.Plan {
	if v.plan == nil {
		return grounding.Plan{}
	}
	p := grounding.Plan{Declared: true}
	p.Used = func(identity string) bool { return v.known.Used(v.plan.ID, identity) }
	p.Planned = len(fit.Steps) > 0 || v.plan.MayNeed(plan.Call{Server: c.request.Server, Tool: c.request.Tool})
	if v.plan.Grounds {
		p.Given = v.plan.Plan.GivenValues()
		p.Fixed = fixedArguments(v.plan.Plan, fit.Steps, v.known.Known.Says)
	}
	return p
}

// fixedArguments are the arguments for which every step gives values that the user said.
func fixedArguments(p *plan.Plan, steps []int, said func(string) bool) (fixed []string) {
	for n, i := range steps {
		var own []string
		for _, given := range p.Steps[i].Given {
			values := given.Texts()
			if len(values) > 0 && !slices.ContainsFunc(values, func(v string) bool { return !said(v) }) {
				own = append(own, given.Key)
			}
		}
		if n == 0 {
			fixed = own
		}
		fixed = slices.DeleteFunc(fixed, func(key string) bool { return !slices.Contains(own, key) })
	}
	return fixed
}

// holdUngrounded makes the decision at least a hold if the call is in doubt and the organization asks.
func (v *view) holdUngrounded(d engine.Decision, g grounded) engine.Decision {
	if !g.doubted() {
		return d
	}
	held := refuse(policy.ByIntent, string(g.drift()), g.Sentence())
	held.Verdict = verdict.Hold
	confined := d.Confine
	d = policy.Stricter(d, held)
	d.Confine = confined // whoever approves the call does not lift what policies demand
	return d
}

// noteDoubt adds to a hold that a rule made, or the registry, why a person must agree beside it: one approval lifts
// both.
func (d *candidate) noteDoubt() {
	if !d.grounded.doubted() || d.Verdict != verdict.Hold {
		return
	}
	if why := d.grounded.Sentence(); !strings.HasPrefix(d.Reason, why) {
		d.Reason += "; " + why
	}
}

func (g *grounded) drift() plan.Drift {
	if g.Rule == grounding.NotPlanned {
		return plan.NotInPlan
	}
	return plan.Ungrounded
}

// doubted reports whether a person must agree to the call because of where its values come from.
func (g *grounded) doubted() bool { return g.judged && g.binds && !g.Pass }

// outsidePlan reports whether a refusal of the plan is left to grounding: a call of another tool is held, not denied.
// A delegation is no plan that a user asked for, and its limits are not left to grounding.
func (v *view) outsidePlan(fit plan.Result) bool {
	return v.asks() && fit.Drift == plan.NotInPlan && !v.delegated()
}

// changed reports whether something became known since the call was judged.
func (g *grounded) changed(ctx context.Context, tx *database.Tx) (bool, error) {
	if !g.binds || g.Rule == grounding.FreeRead {
		return false, nil // nothing that is known matters
	}
	now, err := scope.Revision(ctx, tx.Prepared(), g.scope.ID())
	return now != g.revision, err
}

// remember adds an allowed call to what is known of its session: its output is unknown until it is reported.
func (s *Service) remember(
	ctx context.Context, tx *database.Tx, c *call, o *outcome, appended *audit.Appended,
) error {
	if !o.grounded.follows || o.Verdict != verdict.Allow {
		return nil
	}
	allowed := scope.Call{
		KeyID:      c.by.KeyID,
		DecisionID: c.id,
		Tool:       o.tool(c),
		WireName:   toolname.Wire(o.server, o.tool(c)),
		Digest:     c.digest,
		Arguments:  c.args.Canonical.Text(),
		Class:      o.grounded.class,
		Uses:       o.grounded.Identities,
		Position:   appended.Index,
		Carried:    c.request.Carried != nil,
	}
	if o.plan != nil {
		allowed.PlanID = o.plan.ID
	}
	if c.argumentsFrom == decision.FromNowhere {
		allowed.Digest, allowed.Arguments = nil, ""
	}
	return s.scopes.Allow(ctx, tx, o.grounded.scope, allowed)
}
