package enforcement

import (
	"context"

	"writ/internal/intent/plan"
	"writ/internal/policy/engine"
	"writ/internal/principal"
	"writ/internal/toolcall"
)

// Explain explains what the active policies say about a call under the same names as a decision: the server in the
// tool's own name can only restrict. It claims and records nothing.
func (s *Service) Explain(ctx context.Context, p principal.Principal, call toolcall.Call) (engine.Explanation, error) {
	explanation, err := s.policies.Check(ctx, p, call)
	if err != nil {
		return engine.Explanation{}, err
	}
	server, tool, ok := plan.OwnName(call.Tool)
	if !ok || server == call.Server && tool == call.Tool {
		return explanation, nil
	}
	call.Server, call.Tool = server, tool
	own, err := s.policies.Check(ctx, p, call)
	if err != nil {
		return engine.Explanation{}, err
	}
	if d := own.Decision; d.ByRule() && d.Verdict < explanation.Decision.Verdict {
		return own, nil
	}
	return explanation, nil
}
