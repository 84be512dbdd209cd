package policy

import (
	"context"
	"fmt"
	"time"

	"writ/internal/decision"
	"writ/internal/policy/document"
	"writ/internal/toolcall"
)

// nanosPerDollar converts the unit in which telemetry counts cost.
const nanosPerDollar = 1e9

// SessionStats are what a session has used so far: allowed calls, and the cost and tokens that telemetry has recorded.
// They reserve nothing, so concurrent calls may all pass a condition on them. A limit is exact.
func (s *Service) SessionStats(ctx context.Context, orgID, sessionID string) (toolcall.SessionStats, error) {
	if s.spending == nil {
		return toolcall.SessionStats{}, errNoSpending
	}
	if sessionID == "" {
		// Leaving out the session must not be a way around such rules while nobody can count.
		if err := s.spending.Ping(ctx); err != nil {
			return toolcall.SessionStats{}, fmt.Errorf("read what sessions spent: %w", err)
		}
		return toolcall.SessionStats{}, nil
	}
	calls, err := decision.AllowedIn(ctx, s.db, orgID, sessionID)
	if err != nil {
		return toolcall.SessionStats{}, err
	}
	nanos, tokens, err := s.spending.Spent(ctx, orgID, document.Session, sessionID, time.Unix(0, 0).UTC())
	if err != nil {
		return toolcall.SessionStats{}, fmt.Errorf("read what a session spent: %w", err)
	}
	return toolcall.SessionStats{Calls: calls, CostUSD: float64(nanos) / nanosPerDollar, Tokens: tokens}, nil
}
