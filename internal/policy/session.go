package policy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"writ/internal/decision"
	"writ/internal/policy/document"
	"writ/internal/toolcall"
)

// nanosPerDollar is how telemetry counts cost.
const nanosPerDollar = 1e9

// SessionFigures are what a session has used so far: calls that were allowed, and
// cost and tokens as far as telemetry knows them. Conditions compare them; they
// reserve nothing, so that calls at the same moment may all pass. A limit is
// exact.
func (s *Service) SessionFigures(ctx context.Context, orgID, sessionID string) (toolcall.SessionStats, error) {
	if sessionID == "" {
		return toolcall.SessionStats{}, nil
	}
	if s.spending == nil {
		return toolcall.SessionStats{}, errors.New("nothing tells what was spent")
	}
	calls, err := decision.AllowedIn(ctx, s.db, orgID, sessionID)
	if err != nil {
		return toolcall.SessionStats{}, err
	}
	nanos, tokens, err := s.spending.Spent(ctx, orgID, document.Session, sessionID, time.Unix(0, 0).UTC())
	if err != nil {
		return toolcall.SessionStats{}, fmt.Errorf("ask what a session spent: %w", err)
	}
	return toolcall.SessionStats{Calls: calls, CostUSD: float64(nanos) / nanosPerDollar, Tokens: tokens}, nil
}
