package policy_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/policy"
	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/principal"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

func limitKey(rule, subject string) engine.LimitKey {
	return engine.LimitKey{
		PolicyID: "p",
		RuleID:   rule,
		Unit:     engine.Calls,
		By:       document.Agent,
		Subject:  subject,
		Window:   3600 * 1000,
		Per:      3600,
	}
}

// claim takes from limits of three, in a transaction of its own.
func (e *env) claim(db *database.DB, keys ...engine.LimitKey) (spent *engine.Claim, err error) {
	var claims []engine.Claim
	for _, k := range keys {
		claims = append(claims, engine.Claim{LimitKey: k, Max: 3})
	}
	err = db.Write(e.T.Context(), database.Change{Lane: database.Urgent, Do: func(
		ctx context.Context, tx *database.Tx,
	) (err error) {
		spent, err = policy.Claim(ctx, tx, e.acme, claims)
		return err
	}})
	return spent, err
}

func (e *env) wantUsed(key engine.LimitKey, want int64) {
	e.T.Helper()
	used, err := e.policies.Spent(e.T.Context(), e.acme)(key)
	if err != nil || used != want {
		e.T.Errorf("%s of %q used %d (%v), want %d", key.RuleID, key.Subject, used, err, want)
	}
}

// TestClaimsAreExact has replicas claim at once, in different orders.
func TestClaimsAreExact(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		replicas := []*database.DB{e.DB}
		if e.DB.Engine() == database.PostgreSQL {
			replicas = append(replicas, dbtest.Open(t, e.Options), dbtest.Open(t, e.Options))
		}
		keys := []engine.LimitKey{limitKey("a", "x"), limitKey("b", "x"), limitKey("c", "")}
		var had atomic.Int64
		var wg sync.WaitGroup
		for i := range 24 {
			mine := slices.Clone(keys)
			if i%2 == 0 {
				slices.Reverse(mine)
			}
			wg.Go(func() {
				spent, err := e.claim(replicas[i%len(replicas)], mine...)
				switch {
				case err != nil:
					t.Errorf("claim: %v", err)
				case spent == nil:
					had.Add(1)
				}
			})
		}
		wg.Wait()
		if had.Load() != 3 {
			t.Errorf("%d calls got through a limit of 3", had.Load())
		}
		for _, k := range keys {
			e.wantUsed(k, 3)
		}
	})
}

// TestClaimsAreAllOrNone: a call that is refused by one limit takes from none.
func TestClaimsAreAllOrNone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		free, full := limitKey("a", "x"), limitKey("b", "x")
		for range 3 {
			if spent, err := e.claim(e.DB, full, full); spent != nil || err != nil {
				t.Fatalf("claim: %v, %v", spent, err)
			}
		}
		e.wantUsed(full, 3)
		spent, err := e.claim(e.DB, free, free, full)
		if err != nil || spent == nil || spent.LimitKey != full {
			t.Errorf("spent is %+v, %v, want b", spent, err)
		}
		e.wantUsed(free, 0)
		e.wantUsed(full, 3)
		later := full
		later.Window += later.Per
		longer := full
		longer.Per *= 2
		for _, other := range []engine.LimitKey{later, longer, limitKey("b", "y"), limitKey("b", "")} {
			e.wantUsed(other, 0)
			if spent, err := e.claim(e.DB, other); spent != nil || err != nil {
				t.Errorf("another counter: %v, %v", spent, err)
			}
		}
	})
}

func TestClaimsThatAreRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		cost := limitKey("a", "x")
		cost.Unit = engine.Cost
		if _, err := e.claim(e.DB, cost); err == nil {
			t.Error("claimed from a limit of cost")
		}
		e.Write("", func(ctx context.Context, tx *database.Tx) error {
			spent, err := policy.Claim(ctx, tx, e.acme, []engine.Claim{{LimitKey: limitKey("zero", "x"), Max: 0}})
			if spent == nil {
				t.Error("claimed from a limit of none")
			}
			return err
		})
		// What an agent calls itself must neither fail nor share a counter.
		for _, subject := range []string{"a\x00b", "\xff", strings.Repeat("x", 100_000), strings.Repeat("x", 100_001)} {
			if spent, err := e.claim(e.DB, limitKey("a", subject)); spent != nil || err != nil {
				t.Errorf("claim for %.20q: %v, %v", subject, spent, err)
			}
			e.wantUsed(limitKey("a", subject), 1)
		}
	})
}

func TestSweepRemovesOldWindows(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		now := e.DB.Now().Unix()
		current := limitKey("a", "x")
		current.Window = now - now%3600
		if _, err := e.claim(e.DB, current); err != nil {
			t.Fatal(err)
		}
		e.Write("", func(ctx context.Context, tx *database.Tx) error {
			for i := range 1200 {
				if _, err := policy.Claim(ctx, tx, e.acme, []engine.Claim{
					{LimitKey: limitKey("old", fmt.Sprint(i)), Max: 1},
				}); err != nil {
					return err
				}
			}
			return nil
		})
		if err := e.policies.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		var left int
		if err := e.DB.QueryRow(t.Context(), `SELECT count(*) FROM limit_use`).Scan(&left); err != nil || left != 1 {
			t.Errorf("%d counters are left (%v), want the present one", left, err)
		}
		e.wantUsed(current, 1)
		e.Pass(3 * time.Hour)
		if err := e.policies.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		e.wantUsed(current, 0)
	})
}

const paced = `version: v1
name: pace
default: allow
rules:
  - id: pace
    effect: deny
    tools: ["*"]
    limit: {calls: 2, per: 1h, by: agent}
`

// TestLimitsDecide counts calls as enforcement will: claims of a decision, made.
func TestLimitsDecide(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active(policy.Source{Text: paced, Format: document.YAML})
		run := func(agent string) verdict.Verdict {
			d := e.say(toolcall.Call{Agent: toolcall.Agent{ID: agent}})
			e.Write("", func(ctx context.Context, tx *database.Tx) error {
				_, err := policy.Claim(ctx, tx, e.acme, d.Claims)
				return err
			})
			return d.Verdict
		}
		var got []verdict.Verdict
		for range 3 {
			got = append(got, run("x"))
		}
		got = append(got, run("y"), run(""))
		e.Pass(time.Hour)
		got = append(got, run("x"))
		want := []verdict.Verdict{
			verdict.Allow, verdict.Allow, verdict.Deny, verdict.Allow, verdict.Allow, verdict.Allow,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("verdicts (-want +got):\n%s", diff)
		}
	})
}

func TestAskingTakesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		full := e.active(policy.Source{Text: paced, Format: document.YAML})
		for range 5 {
			e.wantVerdict("asked", verdict.Allow)
			if _, err := e.policies.Simulate(t.Context(), e.owner, policy.Subject{PolicyID: full.ID},
				bankCall()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// purse is spending that a test sets.
type purse struct {
	nanos, tokens int64
	err           error
	asked         []string
}

func (p *purse) Spent(
	_ context.Context, orgID string, by document.Subject, id string, since time.Time,
) (int64, int64, error) {
	p.asked = append(p.asked, fmt.Sprintf("%s %s %s", by, id, since.Format(time.RFC3339)))
	return p.nanos, p.tokens, p.err
}

func (p *purse) Ping(context.Context) error { return p.err }

// TestSessionStatsFailClosed: while nobody can tell what sessions spent, a call that states no session fails too.
func TestSessionStatsFailClosed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		p := &purse{nanos: 2_000_000_000, tokens: 7}
		known := policy.New(e.DB, e.Log, p, policy.ProposalNotifier{})
		for session, want := range map[string]toolcall.SessionStats{"": {}, "s": {CostUSD: 2, Tokens: 7}} {
			if got, err := known.SessionStats(t.Context(), e.acme, session); err != nil || got != want {
				t.Errorf("session %q: %+v, %v", session, got, err)
			}
		}
		away := errors.New("away")
		p.err = away
		nobody := policy.New(e.DB, e.Log, nil, policy.ProposalNotifier{})
		for _, session := range []string{"", "s"} {
			if got, err := known.SessionStats(t.Context(), e.acme, session); !errors.Is(err, away) {
				t.Errorf("session %q, while nobody can tell: %+v, %v", session, got, err)
			}
			if got, err := nobody.SessionStats(t.Context(), e.acme, session); err == nil {
				t.Errorf("session %q, without anyone to ask: %+v", session, got)
			}
		}
	})
}

func TestSpendingDecides(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		p := &purse{}
		e.policies = policy.New(e.DB, e.Log, p, policy.ProposalNotifier{})
		e.active(policy.Source{Format: document.YAML, Text: "version: v1\nname: budget\ndefault: allow\nrules:\n" +
			"  - {id: cost, effect: deny, tools: [\"*\"], limit: {cost: 5.00, per: 1h, by: user}}\n" +
			"  - {id: tokens, effect: hold, tools: [\"*\"], limit: {tokens: 100, per: 1d, by: org}}\n"})
		for _, test := range []struct {
			name  string
			purse purse
			want  verdict.Verdict
		}{
			{"little", purse{nanos: 4_999_999_999, tokens: 99}, verdict.Allow},
			{"all tokens", purse{tokens: 100}, verdict.Hold},
			{"all money", purse{nanos: 5_000_000_000}, verdict.Deny},
			{"nobody knows", purse{err: errors.New("away")}, verdict.Deny},
		} {
			*p = test.purse
			if d := e.say(toolcall.Call{User: toolcall.User{ID: "ada"}}); d.Verdict != test.want {
				t.Errorf("%s: %s (%s), want %s", test.name, d.Verdict, d.Reason, test.want)
			}
		}
		want := []string{"user ada 2030-05-01T12:00:00Z"}
		if diff := cmp.Diff(want, p.asked[:1]); diff != "" {
			t.Errorf("asked (-want +got):\n%s", diff)
		}
		e.policies = policy.New(e.DB, e.Log, nil, policy.ProposalNotifier{})
		e.wantVerdict("without anyone to ask", verdict.Deny)
	})
}

// countedSpending counts how often telemetry is asked.
type countedSpending struct{ asked int }

func (c *countedSpending) Spent(
	context.Context, string, document.Subject, string, time.Time,
) (nanos, tokens int64, err error) {
	c.asked++
	return 0, 0, nil
}

func (c *countedSpending) Ping(context.Context) error { return nil }

// TestOneCallAsksForFewLimits: whoever may draft may simulate ten thousand rules
// with a limit, and each would add up a month of telemetry.
func TestOneCallAsksForFewLimits(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		for name, per := range map[string]func(i int) string{
			"the same window": func(int) string { return "31d" },
			"other windows":   func(i int) string { return fmt.Sprintf("%ds", 2_000_000+i) },
		} {
			spending := &countedSpending{}
			policies := policy.New(e.DB, e.Log, spending, policy.ProposalNotifier{})
			var text strings.Builder
			text.WriteString("version: v1\nname: p\ndefault: allow\nrules:\n")
			for i := range 5_000 {
				fmt.Fprintf(&text, "- {id: r%d, effect: deny, tools: [\"*\"], limit: {cost: 1, per: %s, by: org}}\n", i,
					per(i))
			}
			source := policy.Source{Text: text.String(), Format: document.YAML}
			got, err := policies.Simulate(t.Context(), key(e.acme, principal.DraftPolicy),
				policy.Subject{Source: &source}, toolcall.Call{Server: "s", Tool: "t"})
			if err != nil {
				t.Fatal(err)
			}
			if spending.asked > 200 {
				t.Errorf("%s: telemetry was asked %d times for one call", name, spending.asked)
			}
			if name == "other windows" && got.Decision.Verdict != verdict.Deny {
				t.Errorf("%s: %s, want deny: what is not read counts as spent", name, got.Decision.Verdict)
			}
		}
	})
}
