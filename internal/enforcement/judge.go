package enforcement

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"writ/internal/audit"
	"writ/internal/decision"
	"writ/internal/intent/plan"
	"writ/internal/policy"
	"writ/internal/policy/engine"
	"writ/internal/redaction"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

// candidate is the decision if nothing changes before it is recorded.
type candidate struct {
	engine.Decision // PolicyID may be a reserved one

	server string // as judged
	// placedOn is the server of the call if server is only the one in the tool's own name; mostly empty.
	placedOn string
	plan     *plan.Declared
	steps    []int             // of the plan, that the call fits
	widened  bool              // the steps were added to the plan and still need approval
	shadows  []decision.Shadow // the decisions of shadow versions
	since    audit.Version     // of the log when the call was judged
	final    bool              // a deny that is recorded even if something changed since
}

// refuse is a deny that no policy made.
func refuse(by, rule, reason string) engine.Decision {
	return engine.Decision{Ruling: verdict.Ruling{PolicyID: by, Rule: rule, Reason: reason}}
}

func invalidKey() engine.Decision {
	return refuse(policy.ByAgent, "key", "the API key is not valid any more: use another one")
}

// judge decides by a view. It reads nothing but limits from the database. The first of agent, intent and policy that
// does not allow decides.
func (s *Service) judge(ctx context.Context, c *call, v *view) candidate {
	now := s.db.Now()
	d := candidate{since: v.policies.Version, plan: v.plan}
	d.server, _ = plan.ResolveName(c.request.Tool, c.request.Server, c.request.Source)
	if !v.key.validAt(now) {
		d.Decision = invalidKey()
		return d
	}
	var fit plan.Result
	if c.needsPlan(v) {
		fit = c.checkIntent(v, now)
	}
	widened := fit.Drift == plan.Widened
	if c.needsPlan(v) && !fit.OK && !widened {
		// The reason may quote arguments.
		d.Decision = refuse(policy.ByIntent, string(fit.Drift), redaction.Text(fit.Reason))
		return d
	}
	d.steps, d.widened = fit.Steps, widened
	var room [2]question // mostly enough
	s.judgeByPolicies(ctx, c, v, c.questions(room[:0], v, fit, now), &d)
	d.PolicyID = cmp.Or(d.PolicyID, policy.ByDefault)
	if widened {
		held := refuse(policy.ByIntent, string(fit.Drift), fit.Reason)
		held.Verdict = verdict.Hold
		d.Decision = policy.Stricter(d.Decision, held)
	}
	return d
}

// judgeByPolicies evaluates the active policies and the shadows.
func (s *Service) judgeByPolicies(ctx context.Context, c *call, v *view, questions []question, d *candidate) {
	spent := s.policies.Spent(ctx, c.by.OrgID)
	for _, q := range questions {
		q.call.Session.Load = s.lazyStats(ctx, c.by.OrgID, q.call.Session.ID)
	}
	if len(v.policies.Shadows) == 0 {
		d.ask(v.policies.Set, questions, spent)
		return
	}
	known := limitsRead{}
	d.ask(v.policies.Set, questions, known.reading(spent))
	d.shadows = s.judgeShadows(ctx, c, v, questions, known, d.Verdict)
}

// question is the call under one of its names, for policies to evaluate.
type question struct {
	call      *toolcall.Call
	restricts bool // a rule can only make the answer stricter
}

// questions appends at least one question.
func (c *call) questions(questions []question, v *view, fit plan.Result, now time.Time) []question {
	names := c.names(v, fit)
	for _, name := range names {
		questions = append(questions, question{call: c.toolcall(v, name, now)})
	}
	if own, ok := c.ownName(names); ok {
		questions = append(questions, question{c.toolcall(v, own, now), true})
	}
	return questions
}

// ask evaluates all questions. The strictest answer counts, and its server is the decision's.
func (d *candidate) ask(set *engine.Set, questions []question, spent engine.Spent) {
	for i, q := range questions {
		joined := q.join(i == 0, d.Decision, policy.Judge(set, q.call, spent))
		if i == 0 || joined.Verdict < d.Verdict {
			if q.restricts {
				d.placedOn = d.server
			}
			d.server = q.call.Server
		}
		d.Decision = joined
	}
}

// join combines the answer to a question with the decision of the earlier ones.
func (q question) join(first bool, d, answer engine.Decision) engine.Decision {
	switch {
	case first:
		return answer
	case q.restricts && !(answer.ByRule() && answer.Verdict < d.Verdict):
		return d
	}
	return policy.Stricter(d, answer)
}

// needsPlan reports whether the call is checked against a plan: one is presented, declared by the session, or required.
func (c *call) needsPlan(v *view) bool {
	return !v.presented.IsZero() || c.request.TokenRequired || v.settings.IntentRequired
}

// checkIntent compares the call with its plan.
func (c *call) checkIntent(v *view, now time.Time) plan.Result {
	r := &c.request
	return plan.Check(v.plan, v.presented, plan.Call{Server: r.Server, Tool: r.Tool, Arguments: c.args.Canonical},
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
	server, tool string
	step         int
}

// names are all names that the call may mean, each once and at least one: those of the steps it fits, as the plan and
// as the call spell them, because plans ignore case and policies do not.
func (c *call) names(v *view, fit plan.Result) []name {
	server, tool := plan.ResolveName(c.request.Tool, c.request.Server, c.request.Source)
	if v.plan == nil || len(fit.Steps) == 0 {
		return []name{{server, tool, -1}}
	}
	names := make([]name, 0, 2)
	add := func(server, tool string, step int) {
		if !slices.ContainsFunc(names, func(n name) bool { return n.server == server && n.tool == tool }) {
			names = append(names, name{server, tool, step})
		}
	}
	for _, i := range fit.Steps {
		for _, n := range v.plan.Plan.Steps[i].Names(c.request.Tool) {
			if !n.Restricts {
				add(n.Server, n.Tool, i)
			}
		}
	}
	if host, ok := c.hostOfBareName(); ok &&
		!slices.ContainsFunc(names, func(n name) bool { return n.server == host || n.server == plan.Local }) {
		add(host, strings.TrimSpace(c.request.Tool), names[0].step)
	}
	return names
}

// hostOfBareName is the harness whose own tool the call may mean, whatever server its plan names, unless the harness
// itself names the server.
func (c *call) hostOfBareName() (string, bool) {
	if c.request.Server != "" {
		return "", false
	}
	return plan.BareHost(c.request.Tool, c.request.Source)
}

// ownName is the server and tool that the called name itself contains, unless it is among the others. An agent could
// declare files__delete on a harmless server, and harnesses list the tools of every server as their own. Rules about
// such a name can only restrict, because a tool may have it by chance.
func (c *call) ownName(others []name) (name, bool) {
	server, tool, ok := plan.OwnName(c.request.Tool)
	if !ok || slices.ContainsFunc(others, func(n name) bool { return n.server == server && n.tool == tool }) {
		return name{}, false
	}
	return name{server, tool, others[0].step}, true
}

// toolcall is the call as conditions see it.
func (c *call) toolcall(v *view, n name, now time.Time) *toolcall.Call {
	r := &c.request
	call := &toolcall.Call{
		Server:        n.server,
		Tool:          n.tool,
		Args:          c.args.Decoded,
		Agent:         toolcall.Agent{ID: r.AgentID},
		User:          v.user,
		Org:           v.org,
		Key:           toolcall.Key{ID: c.by.KeyID, OwnerID: c.by.UserID, OwnerRole: v.owner.Role},
		Session:       toolcall.Session{ID: r.SessionID},
		Labels:        r.Labels,
		Environment:   r.Environment,
		Now:           now,
		ResolvedPaths: r.ResolvedPaths,
	}
	if v.plan != nil {
		call.Intent = toolcall.Intent{PlanID: v.plan.ID, Goal: v.plan.Plan.Goal, Declared: true}
		if n.step >= 0 {
			call.Intent.Step = strconv.Itoa(n.step)
		}
		call.Agent.ID = cmp.Or(call.Agent.ID, v.plan.Binding.AgentID)
		call.Session.ID = cmp.Or(call.Session.ID, v.plan.Binding.Session)
	}
	return call
}

// lazyStats reads what a session has used when a condition first needs it.
func (s *Service) lazyStats(ctx context.Context, orgID, sessionID string) func() (toolcall.SessionStats, error) {
	return sync.OnceValues(func() (toolcall.SessionStats, error) {
		return s.policies.SessionStats(ctx, orgID, sessionID)
	})
}
