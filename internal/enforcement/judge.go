package enforcement

import (
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

// candidate is what will be decided if nothing changes until it is recorded.
type candidate struct {
	engine.Decision // PolicyID may be a reserved one

	server string // as judged
	// placedOn is the server that the call was on, where server is but the one
	// its own name claims; mostly empty.
	placedOn string
	plan     *plan.Declared
	steps    []int // of the plan that the call fits
	// widened: these were added to a plan under way, and nobody agreed yet.
	widened bool
	shadows []decision.Shadow // what would have been said by other versions
	// since is the state of the log that it was judged at. final: it is recorded
	// whatever has changed since, for it denies.
	since audit.Version
	final bool
}

// refuse is a deny by something else than a policy.
func refuse(by, rule, reason string) engine.Decision {
	return engine.Decision{Ruling: verdict.Ruling{PolicyID: by, Rule: rule, Reason: reason}}
}

func invalidKey() engine.Decision {
	return refuse(policy.ByAgent, "key", "the API key is not valid any more: use another one")
}

// judge decides by a view, without the database but for limits that are read.
// The first of agent, intent and policy that does not allow, decides.
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
		// it names arguments
		d.Decision = refuse(policy.ByIntent, string(fit.Drift), redaction.Text(fit.Reason))
		return d
	}
	d.steps, d.widened = fit.Steps, widened
	var room [2]question // mostly enough
	s.judgeByPolicies(ctx, c, v, c.questions(room[:0], v, fit, now), &d)
	if d.PolicyID == "" {
		d.PolicyID = policy.ByDefault
	}
	if widened {
		held := refuse(policy.ByIntent, string(fit.Drift), fit.Reason)
		held.Verdict = verdict.Hold
		d.Decision = policy.Stricter(d.Decision, held)
	}
	return d
}

// judgeByPolicies asks the active policies, and the shadows beside them.
func (s *Service) judgeByPolicies(ctx context.Context, c *call, v *view, questions []question, d *candidate) {
	spent, figures := s.policies.Spent(ctx, c.by.OrgID), s.figuresFor(ctx, c)
	for _, q := range questions {
		q.call.Session.Ask = figures(q.call.Session.ID)
	}
	if len(v.policies.Shadows) == 0 {
		d.ask(v.policies.Set, questions, spent)
		return
	}
	known := limitsRead{}
	d.ask(v.policies.Set, questions, known.reading(spent))
	d.shadows = s.judgeShadows(ctx, c, v, questions, known, d.Verdict)
}

// question is the call under one of its names, as policies are asked about it.
type question struct {
	call      *toolcall.Call
	restricts bool // what a rule says can only make the answer stricter
}

// questions adds what policies are asked about the call. There is always one.
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

// ask puts all questions to a set. The strictest answer counts, and the server is
// the one that this is about.
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

// join takes up the answer to a question, after those to the ones before it.
func (q question) join(first bool, d, answer engine.Decision) engine.Decision {
	switch {
	case first:
		return answer
	case q.restricts && !(answer.ByRule() && answer.Verdict < d.Verdict):
		return d
	}
	return policy.Stricter(d, answer)
}

// needsPlan reports whether a plan is judged: it is presented, known for the
// session, or required.
func (c *call) needsPlan(v *view) bool {
	return !v.presented.IsZero() || c.request.TokenRequired || v.settings.IntentRequired
}

// checkIntent judges the call by its plan.
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

// name is a server and tool that the call may be of.
type name struct {
	server, tool string
	step         int
}

// names are all that the call may be of, each once: those of the steps it fits,
// as the plan spells them and as the call does, for plans compare names without
// case and policies with it. There is always one.
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

// hostOfBareName is the harness whose own tool the call may be of, wherever a plan
// puts it, unless the harness itself says which server it called.
func (c *call) hostOfBareName() (string, bool) {
	if c.request.Server != "" {
		return "", false
	}
	return plan.BareHost(c.request.Tool, c.request.Source)
}

// ownName is what the called name itself says that it is of, where nothing else
// says so: agents write the plans that place a tool, and may put files__delete on a
// harmless server; harnesses list the tools of every server as their own. Rules
// about it can only restrict, for a tool may have such a name by chance.
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
		if call.Agent.ID == "" {
			call.Agent.ID = v.plan.Binding.AgentID
		}
		if call.Session.ID == "" {
			call.Session.ID = v.plan.Binding.Session
		}
	}
	return call
}

// figuresFor tells conditions what a session has used, once a call.
func (s *Service) figuresFor(
	ctx context.Context, c *call,
) func(sessionID string) func() (toolcall.SessionStats, error) {
	return func(sessionID string) func() (toolcall.SessionStats, error) {
		return sync.OnceValues(func() (toolcall.SessionStats, error) {
			return s.policies.SessionStats(ctx, c.by.OrgID, sessionID)
		})
	}
}
