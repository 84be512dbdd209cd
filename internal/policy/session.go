package policy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"writ/internal/database"
	"writ/internal/policy/document"
	"writ/internal/toolcall"
)

// maxCounted bounds how many calls of a session are counted: more are as many.
const maxCounted = 100_000

// nanosPerDollar is how telemetry counts cost.
const nanosPerDollar = 1e9

// SessionFigures are what a session has used so far: calls that were allowed, and
// cost and tokens as far as telemetry knows them. Conditions compare them; they
// reserve nothing, so that calls at the same moment may all pass. A limit is
// exact.
func (s *Service) SessionFigures(ctx context.Context, orgID, sessionID string) (toolcall.Figures, error) {
	if sessionID == "" {
		return toolcall.Figures{}, nil
	}
	if s.spending == nil {
		return toolcall.Figures{}, errors.New("nothing tells what was spent")
	}
	calls, err := countSession(ctx, s.db, orgID, sessionID)
	if err != nil {
		return toolcall.Figures{}, err
	}
	nanos, tokens, err := s.spending.Spent(ctx, orgID, document.Session, sessionID, time.Unix(0, 0).UTC())
	if err != nil {
		return toolcall.Figures{}, fmt.Errorf("ask what a session spent: %w", err)
	}
	return toolcall.Figures{Calls: calls, CostUSD: float64(nanos) / nanosPerDollar, Tokens: tokens}, nil
}

func countSession(ctx context.Context, r database.Reader, orgID, sessionID string) (calls int64, err error) {
	err = r.QueryRow(ctx, `
		SELECT COUNT(*)
		FROM (
			SELECT 1
			FROM decision
			WHERE org_id = $1 AND session_id = $2 AND session_id <> '' AND verdict = 'allow'
			LIMIT $3
		) AS allowed`, orgID, sessionID, maxCounted).Scan(&calls)
	if err != nil {
		return 0, fmt.Errorf("count the calls of a session: %w", err)
	}
	return calls, nil
}
