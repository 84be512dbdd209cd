package telemetry_test

import (
	"fmt"
	"testing"
	"time"

	"writ/internal/telemetry"
)

// costing is a trace of one generation that cost so many dollars, with 10 tokens
// of each kind.
func costing(at time.Time, dollars int, members string) string {
	return trace(newID(), at, members, span("generation", "g", at, fmt.Sprintf(
		`"attributes":{"model":"m","inputTokens":10,"outputTokens":10,"cacheReadTokens":10,"cacheWriteTokens":10,"costUsd":%d}`, dollars)))
}

// person is someone.
const person = "0190a0a0-0000-7000-8000-00000000000c"

func (e *env) wantSpent(orgID string, by telemetry.Spender, id string, since time.Time, dollars, tokens int64) {
	e.T.Helper()
	u, err := e.Spent(e.T.Context(), orgID, by, id, since)
	if err != nil {
		e.T.Errorf("spent by %s %s: %v", by, id, err)
		return
	}
	if got := u.Input + u.Output + u.CacheRead + u.CacheWrite; u.CostNanos != dollars*1e9 || got != tokens {
		e.T.Errorf("%s %q spent %d nano-dollars and %d tokens, want %d dollars and %d", by, id, u.CostNanos, got,
			dollars, tokens)
	}
}

func TestSpentBySubject(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		one, two := newID(), newID()
		since := e.Now()
		e.accept(orgA,
			costing(e.Now(), 1, `"agentId":"a","userId":"`+person+`","sessionId":"`+one+`"`),
			costing(e.Now(), 2, `"agentId":"a","sessionId":"`+two+`"`),
			costing(e.Now(), 4, `"agentId":"b","userId":"`+person+`"`),
		)
		e.accept(orgB, costing(e.Now(), 64, `"agentId":"a","userId":"`+person+`","sessionId":"`+one+`"`))
		e.wantSpent(orgA, telemetry.SpentByOrganization, "", since, 7, 120)
		e.wantSpent(orgA, telemetry.SpentByAgent, "a", since, 3, 80)
		e.wantSpent(orgA, telemetry.SpentByAgent, "b", since, 4, 40)
		e.wantSpent(orgA, telemetry.SpentByUser, person, since, 5, 80)
		e.wantSpent(orgA, telemetry.SpentBySession, one, since, 1, 40)
		e.wantSpent(orgA, telemetry.SpentByAgent, "nobody", since, 0, 0)
		// Leaving a name out must not be the way around a limit.
		e.wantSpent(orgA, telemetry.SpentByUser, "", since, 2, 40)
		e.wantSpent(orgA, telemetry.SpentBySession, "", since, 4, 40)
		e.wantSpent(orgB, telemetry.SpentByOrganization, "", since, 64, 40)
		if _, err := e.Spent(t.Context(), orgA, "planet", "earth", since); err == nil {
			t.Error("an unknown kind of spender spends nothing, want an error")
		}
	})
}

// TestSpentCountsAtReceipt: an agent must not get out of a limit by dating what
// it did before the window.
func TestSpentCountsAtReceipt(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.accept(orgA, costing(e.Now(), 1, `"agentId":"a"`))
		e.Pass(10 * time.Minute)
		since := e.Now()
		e.wantSpent(orgA, telemetry.SpentByAgent, "a", since, 0, 0)
		e.Pass(time.Minute)
		e.accept(orgA, costing(e.Now().Add(-23*time.Hour), 2, `"agentId":"a"`), costing(e.Now().Add(time.Hour), 4,
			`"agentId":"a"`))
		e.wantSpent(orgA, telemetry.SpentByAgent, "a", since, 6, 80)
	})
}

func TestSpentCountsReports(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		session := newID()
		since := e.Now().Truncate(time.Hour)
		e.accept(orgA, trace(newID(), e.Now(), `"agentId":"a","userId":"`+person+`","sessionId":"`+session+`"`))
		report := []telemetry.ReportedUsage{{Model: "unpriced", Usage: telemetry.Usage{Input: 30, Output: 3}}}
		if _, err := e.ReportUsage(t.Context(), orgA, "test", session, report); err != nil {
			t.Fatal(err)
		}
		for by, id := range map[telemetry.Spender]string{
			telemetry.SpentByOrganization: "", telemetry.SpentByAgent: "a", telemetry.SpentByUser: person,
			telemetry.SpentBySession: session,
		} {
			e.wantSpent(orgA, by, id, since, 0, 33)
			e.wantSpent(orgA, by, id, since.Add(time.Hour), 0, 0)
		}
		e.wantSpent(orgA, telemetry.SpentByAgent, "b", since, 0, 0)
	})
}
