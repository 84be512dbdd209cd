package enforcement

import (
	"context"
	"strings"

	"writ/internal/intent/plan"
	"writ/internal/policy"
	"writ/internal/policy/clientpolicy"
	"writ/internal/principal"
)

// Parties are whom a client says it calls for. All of it is the client's word.
type Parties struct{ AgentID, UserID, Email string }

// callFor is a call of which nothing is known but for whom it is made.
func callFor(p principal.Principal, of Parties) *call {
	c := &call{by: p, request: Request{
		AgentID:     stated(of.AgentID),
		UserID:      stated(of.UserID),
		UserEmail:   of.Email,
		Environment: p.Environment,
	}}
	c.request.readEmail()
	return c
}

// stated is an id, unless it is how SDKs write that they know none.
func stated(id string) string {
	if id == plan.NotStated {
		return ""
	}
	return id
}

// readEmail finds the user's e-mail address: SDKs send it as the id once they know it.
func (r *Request) readEmail() {
	if r.UserEmail == "" && strings.Contains(r.UserID, "@") {
		r.UserEmail = r.UserID
	}
	r.UserEmail = strings.ToLower(r.UserEmail)
}

// Foresee tells what policies say about the tools of a plan, for SDKs that judge by
// themselves. Widened are steps that nobody agreed to yet. It is advice, so it never
// fails: where nothing is known, every tool needs the server.
func (s *Service) Foresee(
	ctx context.Context, p principal.Principal, declared *plan.Plan, widened []int, of Parties,
) (clientpolicy.Validation, []clientpolicy.SnapshotEntry) {
	var tools, pending []clientpolicy.Tool
	for _, step := range declared.Steps {
		tools = append(tools, clientpolicy.Tool{Server: step.Server, Name: step.Tool})
	}
	for _, i := range widened {
		pending = append(pending, tools[i])
	}
	c := callFor(p, of)
	v, err := s.loadCurrent(ctx, c)
	now := s.db.Now()
	if err != nil || !v.key.validAt(now) {
		s.logger.WarnContext(ctx, "a client is to ask about every call of its plan, for nothing could be foreseen", "error", err)
		return clientpolicy.Unknown(tools), []clientpolicy.SnapshotEntry{}
	}
	set := v.policies.Set
	return clientpolicy.ForCallers(set, policy.Callers(set, c.toolcall(v, name{step: -1}, now)), tools, pending)
}
