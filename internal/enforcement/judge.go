package enforcement

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"writ/internal/agent"
	"writ/internal/audit"
	"writ/internal/decision"
	"writ/internal/intent/grounding"
	"writ/internal/intent/plan"
	"writ/internal/policy"
	"writ/internal/policy/engine"
	"writ/internal/redaction"
	"writ/internal/toolcall"
	"writ/internal/toolname"
	"writ/internal/verdict"
)

// candidate is the decision if nothing changes before it is recorded.
type candidate struct {
	engine.Decision // PolicyID may be a reserved one

	server string // as judged
	// placedOn is the server of the call if server is only the one in the tool's own name; mostly empty.
	placedOn    string
	spelled     []toolname.Name // those that the call writes in one with their servers; see tool
	plan        *plan.Declared
	steps       []int             // of the plan, that the call fits
	chain       [][]int           // those of a delegated plan and of each that it came from; nil: it was not delegated
	delegatedBy []string          // the owners of the keys that delegated it
	widened     bool              // the steps were added to the plan and still need approval
	shadows     []decision.Shadow // the decisions of shadow versions
	since       audit.Version     // of the log when the call was judged
	certificate string            // with which the caller has proven to be the agent; empty: none
	caller      *toolcall.Call    // whom and what policies judged; nil: nothing was judged
	endedBefore int64             // approvals that were asked for before this index have ended
	counting    agent.Counting    // what trips count of the call
	ours        bool              // the server is the cause of the deny
	// sessionUse is what the session had used, if a condition asked.
	sessionUse *decision.SessionUse
	session    *GuardedSession
	final      bool // a deny that is recorded even if something changed since
	grounded   grounded
}

// refuse is a deny that no policy made.
func refuse(by, rule, reason string) engine.Decision {
	return engine.Decision{Ruling: verdict.Ruling{PolicyID: by, Rule: rule, Reason: reason}}
}

// judge decides by a view. It reads nothing but limits from the database. The first of agent, intent and policy that
// does not allow decides.
func (s *Service) judge(ctx context.Context, c *call, v *view) candidate {
	now := s.db.Now()
	d := candidate{
		since:       v.policies.Version,
		plan:        v.plan,
		endedBefore: v.agent.EndedBefore,
		counting:    v.agent.Counting,
		session:     v.guarded(),
	}
	d.delegatedBy = v.delegatorOwners()
	d.place(c, v)
	d.caller = c.toolcall(v, toolname.Name{}, -1, now)
	if d.caller.Agent.Attested {
		d.certificate = c.by.Attested.CertificateID
	}
	refused, ok := v.refuseCaller(d.caller)
	if !ok {
		refused, ok = v.refuseDelegators(now)
	}
	if ok {
		d.Decision = refused
		return d
	}
	var fit plan.Result
	if c.needsPlan(v) {
		fit = c.checkIntent(v, now)
	}
	widened := fit.Drift == plan.Widened
	if c.needsPlan(v) && !fit.OK && !widened && (!v.outsidePlan(fit) || c.mustProve(v)) {
		// The reason may quote arguments.
		d.Decision = refuse(policy.ByIntent, string(fit.Drift), redaction.Text(fit.Reason))
		d.placeByPlan(c, v, fit)
		return d
	}
	d.steps, d.widened, d.chain = fit.Steps, widened, v.chain
	c.grounded = c.ground(v, fit)
	d.grounded = c.grounded
	s.judgeFitting(ctx, c, v, fit, &d)
	return d
}

// judgeFitting decides about a call that its plan does not refuse: by stops, by whether it can be carried out, and by
// policies. What is in doubt about the call itself then makes the decision stricter.
func (s *Service) judgeFitting(ctx context.Context, c *call, v *view, fit plan.Result, d *candidate) {
	questions := c.questions(v, fit, d.caller.Now)
	d.spelled = c.spelledIn(v, questions)
	if refused, ok := v.refuseStopped(questions); ok {
		d.Decision = refused
		return
	}
	if carried := c.request.Carried; carried != nil && carried.Problem != "" {
		d.Decision = refuse(policy.ByMCP, RuleNotCarried, carried.Problem)
		return
	}
	s.judgeByPolicies(ctx, c, v, questions, d)
	d.PolicyID = cmp.Or(d.PolicyID, policy.ByDefault)
	d.Decision = v.holdUngrounded(d.Decision, d.grounded)
	d.Decision = v.holdUnaccepted(d.Decision, questions)
	c.refuseNames(d)
	if d.widened {
		held := refuse(policy.ByIntent, string(fit.Drift), fit.Reason)
		held.Verdict = verdict.Hold
		confined := d.Confine
		d.Decision = policy.Stricter(d.Decision, held)
		d.Confine = confined // whoever approves the step does not lift what policies demand
	}
	d.noteDoubt()
	if v.agent.Stranger {
		d.Reason += strangerNote(d.caller.Agent.ID)
	}
}

// judgeByPolicies evaluates the active policies and the shadows.
func (s *Service) judgeByPolicies(ctx context.Context, c *call, v *view, questions []engine.Question, d *candidate) {
	spent := s.policies.Spent(ctx, c.by.OrgID)
	d.caller = questions[0].Call
	load := s.lazyStats(ctx, c.by.OrgID, d.caller.Session.ID)
	for _, q := range questions {
		q.Call.Session.Load = func() (toolcall.SessionStats, error) {
			use, err := load()
			d.sessionUse = &decision.SessionUse{Calls: use.Calls, CostUSD: use.CostUSD, Tokens: use.Tokens}
			return use, err
		}
	}
	if len(v.policies.Shadows) == 0 {
		d.ask(v.policies.Set, questions, spent)
		return
	}
	known := limitsRead{}
	d.ask(v.policies.Set, questions, known.reading(spent))
	d.shadows = s.judgeShadows(ctx, c, v, questions, known, d.Verdict)
}

// questions are the call under all its names, for policies to judge: at least one.
func (c *call) questions(v *view, fit plan.Result, now time.Time) []engine.Question {
	names := c.names(v, fit)
	questions := make([]engine.Question, len(names))
	for i, n := range names {
		questions[i] = engine.Question{Call: c.toolcall(v, n.Name, n.step, now), Naming: n.Naming}
	}
	return v.asDelegators(questions)
}

// ask evaluates all questions. The strictest answer counts, and its server is the decision's.
func (d *candidate) ask(set *engine.Set, questions []engine.Question, spent engine.Spent) {
	decided, by := policy.JudgeNamed(set, questions, spent)
	d.Decision, d.server = decided, by.Call.Server
	if d.Verdict == verdict.Ask && by.Call.Key.OwnerID != questions[0].Call.Key.OwnerID {
		d.Verdict = verdict.Hold // the person whom the delegator's rule asks is not the one whom the delegate works for
	}
	if first := questions[0].Call.Server; by.Naming != toolname.Certain && first != d.server {
		d.placedOn = first
	}
}

// needsPlan reports whether the call is checked against a plan: one is presented, declared by the session, or
// required.
func (c *call) needsPlan(v *view) bool {
	return !v.presented.IsZero() || c.request.TokenRequired || v.settings.IntentRequired || v.agent.IntentRequired ||
		v.session.Guarded || c.request.Turn != 0
}

// checkIntent compares the call with its plan.
func (c *call) checkIntent(v *view, now time.Time) plan.Result {
	r := &c.request
	if refused, ok := c.checkTurn(v); !ok {
		return refused
	}
	if v.delegated() {
		return c.checkDelegated(v, now)
	}
	if r.Envelope != nil {
		return plan.Result{
			Drift: plan.NotHeld, Reason: "this part of the plan was not delegated, or its delegation has ended: delegate it again",
		}
	}
	fit := c.checkName(v, r.Server, r.Tool, now)
	if c.contradicts() && (fit.OK || fit.Drift == plan.Widened) {
		if called := c.checkName(v, "", r.CalledAs, now); !called.OK {
			return called
		}
	}
	return c.checkProof(v, fit)
}

func (c *call) checkName(v *view, server, tool string, now time.Time) plan.Result {
	r := &c.request
	if v.presented.IsZero() && r.TokenRequired && r.Source == SourceMCP {
		return plan.Unreadable()
	}
	return plan.Check(v.plan, v.presented,
		plan.Call{Server: server, Tool: tool, Arguments: c.args.Canonical, GivenGround: v.asks()},
		plan.Binding{
			OrgID:   c.by.OrgID,
			KeyID:   c.by.KeyID,
			UserID:  r.UserID,
			Email:   r.UserEmail,
			AgentID: r.AgentID,
			Context: r.ContextID,
			Session: r.SessionID,
		}, now)
}

// name is a server and tool that the call may mean.
type name struct {
	toolname.Candidate
	step int
}

// names are all names that the call may mean, each once and at least one: those of the steps it fits, else those that
// the called name stands for. Where the host says which tool it called, and the called name says another, the call is
// both.
func (c *call) names(v *view, fit plan.Result) []name {
	r := &c.request
	var names []name
	add := func(step int, candidates ...toolname.Candidate) {
		for _, n := range candidates {
			known := slices.IndexFunc(names, func(other name) bool { return other.Name == n.Name })
			if known < 0 {
				names = append(names, name{n, step})
			} else { // what one spelling only guesses, another may say
				names[known].Naming = min(names[known].Naming, n.Naming)
			}
		}
	}
	step := -1
	if v.plan != nil && len(fit.Steps) > 0 {
		step = fit.Steps[0]
		for _, i := range fit.Steps {
			planned := &v.plan.Plan.Steps[i]
			if planned.Joins(r.Server, r.Tool) { // the host says which tool that is
				add(i, v.candidates(r.Tool, r.Server, r.Source)...)
				continue
			}
			if planned.Dotted() && toolname.Harness(v.plan.Plan.Source) == toolname.Local {
				add(i, v.candidates(planned.Tool, "", r.Source)...)
				if r.Server == "" && planned.DottedAs(r.Tool) { // as the call spells it
					add(i, v.candidates(r.Tool, "", r.Source)...)
				}
				continue
			}
			add(i, planned.Names(r.Tool)...)
		}
		if host, ok := c.hostOfBareName(v); ok && !slices.ContainsFunc(names, func(n name) bool {
			return n.Server == host || n.Server == toolname.Local
		}) {
			own := toolname.Candidate{Name: toolname.Name{Server: host, Tool: strings.TrimSpace(r.Tool)}}
			add(step, toolname.Others([]toolname.Candidate{own}, "")...)
		}
		add(step, c.perhapsLocal(v)...)
	} else {
		add(step, v.candidates(r.Tool, r.Server, r.Source)...)
	}
	if r.Carried != nil && r.Server != "" { // whatever its name stands for elsewhere, this is the tool that is called
		add(step, toolname.Candidate{Name: toolname.Name{Server: r.Server, Tool: r.Tool}})
	}
	if r.CalledAs != "" {
		called, _ := toolname.CalledFor(toolname.Name{Server: r.Server, Tool: r.Tool}, r.CalledAs, r.Source)
		add(step, called...)
	}
	return names
}

// contradicts reports whether the host says that the call is of one tool, and the called name that it is of another.
func (c *call) contradicts() bool {
	r := &c.request
	if r.CalledAs == "" {
		return false
	}
	_, contradicts := toolname.CalledFor(toolname.Name{Server: r.Server, Tool: r.Tool}, r.CalledAs, r.Source)
	return contradicts
}

// refuseNames denies what names cannot say: a name that its harness cut, or two tools of which one must be approved,
// because an approval is for one tool.
func (c *call) refuseNames(d *candidate) {
	switch r := &c.request; {
	case r.CalledAs == "" && r.Server == "" && toolname.IsCut(r.Tool):
		d.Decision = refuse(policy.ByDefault, "cut_name", "the harness cut the name of the tool, so nobody can tell "+
			"which tool it is: send mcp_context with server_name and tool_name")
	case (d.Verdict == verdict.Hold || d.Verdict == verdict.Ask) && c.contradicts():
		d.Decision = refuse(policy.ByDefault, "two_names",
			"the call names one tool and mcp_context another, and one of "+
				"them needs approval: name the tool that is called")
	}
}

// hostOfBareName is the harness whose own tool the call may mean, whatever server its plan names, unless the harness
// itself names the server. Where the call does not say which harness it is, its plan may.
func (c *call) hostOfBareName(v *view) (string, bool) {
	if c.request.Server != "" {
		return "", false
	}
	return toolname.BareHost(c.request.Tool, cmp.Or(c.request.Source, v.plan.Plan.Source))
}

// toolcall is the call as conditions see it.
func (c *call) toolcall(v *view, n toolname.Name, step int, now time.Time) *toolcall.Call {
	r := &c.request
	call := &toolcall.Call{
		Server:        n.Server,
		Tool:          n.Tool,
		Args:          c.args.Decoded,
		Agent:         v.agentOf(r),
		User:          v.user,
		Org:           v.org,
		Key:           toolcall.Key{ID: c.by.KeyID, OwnerID: c.by.UserID, OwnerRole: v.owner.Role},
		Session:       toolcall.Session{ID: r.SessionID},
		Labels:        r.Labels,
		Environment:   r.Environment,
		Now:           now,
		ResolvedPaths: r.ResolvedPaths,
		CanConfine:    r.CanConfine,
		CanOblige:     r.CanOblige,
	}
	call.Agent.Attested = v.certificate.validAt(now)
	if v.agent.Proven || call.Agent.Attested {
		call.Key.AgentID = call.Agent.ID
	}
	if v.plan != nil {
		call.Intent = toolcall.Intent{PlanID: v.plan.ID, Goal: v.plan.Plan.Goal, Declared: true}
		if step >= 0 {
			call.Intent.Step = strconv.Itoa(step)
		}
		call.Session.ID = cmp.Or(v.sessionAbove(), call.Session.ID, v.plan.Binding.Session)
	}
	// A read that nobody has seen may reach a host.
	call.Intent.Grounded = c.grounded.Pass && !(c.verifies && c.grounded.Rule == grounding.FreeRead)
	return call
}

// lazyStats reads what a session has used when a condition first needs it.
func (s *Service) lazyStats(ctx context.Context, orgID, sessionID string) func() (toolcall.SessionStats, error) {
	return sync.OnceValues(func() (toolcall.SessionStats, error) {
		return s.policies.SessionStats(ctx, orgID, sessionID)
	})
}
