package enforcement

import (
	"context"

	"writ/internal/policy/engine"
	"writ/internal/principal"
	"writ/internal/toolcall"
)

// Explain explains what the active policies say about a call, under the same names as a decision. It claims and records
// nothing.
func (s *Service) Explain(ctx context.Context, p principal.Principal, call toolcall.Call) (engine.Explanation, error) {
	return s.policies.Check(ctx, p, call)
}
