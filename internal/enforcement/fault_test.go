package enforcement_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/verdict"
)

// eachOutage runs the body on each database with a way to make it unable to
// store anything, and to end that.
func eachOutage(t *testing.T, body func(t *testing.T, e *env, fail, mend func())) {
	t.Helper()
	t.Run("sqlite: disk full", func(t *testing.T) {
		t.Parallel()
		e := newEnv(t, dbtest.SQLite(t))
		body(t, e,
			func() { e.Exec(`PRAGMA max_page_count = 1`) }, // clamps to the present size
			func() { e.Exec(`PRAGMA max_page_count = 1000000`) })
	})
	t.Run("postgres: away", func(t *testing.T) {
		t.Parallel()
		options, line := dbtest.PostgresOnALine(t)
		e := newEnv(t, options)
		body(t, e, line.Cut, func() {
			line.Mend()
			for e.DB.Ping(t.Context()) != nil { // until connections that broke are noticed
				time.Sleep(time.Millisecond)
			}
		})
	})
}

// TestOutage: what cannot be recorded is denied and uses nothing up.
func TestOutage(t *testing.T) {
	t.Parallel()
	eachOutage(t, func(t *testing.T, e *env, fail, mend func()) {
		e.active("rules", `id: few; effect: allow; tools: ["fs.*"]; limit: {calls: 3, per: 1h, by: org}`)
		shown := e.mint(e.agent, `{"steps":[{"action":"read","mcp":"fs","max_calls":3}]}`)
		long := planned(shown, "read", `{"text":"`+string(make60k())+`"}`)
		want(t, e.decide(long), verdict.Allow, "", "")
		fail()
		for range 2 {
			got := e.decide(long)
			if got.Verdict != verdict.Deny || got.Recorded || got.Receipt != nil || got.Allowed() || got.Reason == "" {
				t.Errorf("without a database: %+v", got)
			}
		}
		mend()
		if n := e.verified(); n != 1 {
			t.Errorf("%d decisions are recorded, want 1", n)
		}
		for range 2 {
			want(t, e.decide(long), verdict.Allow, "", "")
		}
		want(t, e.decide(long), verdict.Deny, "", "")
	})
}

// make60k is more than the free pages of a small database hold.
func make60k() []byte {
	text := make([]byte, 60_000)
	for i := range text {
		text[i] = 'x'
	}
	return text
}

// TestLostCommit: perhaps it was recorded, but it is denied.
func TestLostCommit(t *testing.T) {
	t.Parallel()
	options, line := dbtest.PostgresOnALine(t)
	e := newEnv(t, options)
	e.active("rules", allowAll)
	want(t, e.decide(call("fs", "read", `{}`)), verdict.Allow, "", "")
	line.LoseCommits(true)
	got := e.decide(call("fs", "read", `{}`))
	line.LoseCommits(false)
	line.Mend()
	if got.Allowed() || got.Recorded || got.Receipt != nil {
		t.Errorf("a lost commit: %+v", got)
	}
	for e.DB.Ping(t.Context()) != nil {
		time.Sleep(time.Millisecond)
	}
	want(t, e.decide(call("fs", "read", `{}`)), verdict.Allow, "", "")
	if n := e.verified(); n != 2 && n != 3 {
		t.Errorf("%d decisions", n)
	}
}

// TestARecordThatFails has the last statement of the transaction fail: nothing
// of the decision stays.
func TestARecordThatFails(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", `id: few; effect: allow; tools: ["fs.*"]; limit: {calls: 1, per: 1h, by: org}`,
			`id: h; effect: hold; tools: ["h.*"]`)
		shown := e.mint(e.agent, `{"steps":[{"action":"read","mcp":"fs","max_calls":1},{"action":"pay","mcp":"h"}]}`)
		before := e.count("audit_entry")
		e.Exec(`ALTER TABLE audit_entry RENAME TO away`)
		for _, tool := range []string{"read", "pay", "other"} {
			if got := e.decide(planned(shown, tool, `{}`)); got.Recorded || got.Verdict != verdict.Deny {
				t.Errorf("%s: %+v", tool, got)
			}
		}
		e.Exec(`ALTER TABLE away RENAME TO audit_entry`)
		if after := e.count("audit_entry"); after != before || e.count("approval_request") != 0 ||
			e.count("limit_use") != 0 || e.count("plan_step") != 0 {
			t.Errorf("%d entries, %d before, and more stayed", after, before)
		}
		want(t, e.decide(planned(shown, "read", `{}`)), verdict.Allow, "", "")
		e.verified()
	})
}

// TestWhatCannotBeReadDenies takes away, one by one, what a decision reads.
func TestWhatCannotBeReadDenies(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", `id: few; effect: allow; tools: ["fs.*"]; limit: {calls: 100, per: 1h, by: org}`)
		shown := e.mint(e.agent, `{"steps":[{"action":"read","mcp":"fs","max_calls":100}]}`)
		for _, table := range []string{
			"policy", "policy_version", "organization", "organization_member", "enforcement_settings", "plan",
			"plan_step", "limit_use", "digest_key", "audit_head",
		} {
			e.Exec(`ALTER TABLE ` + table + ` RENAME TO away`)
			fresh := assembleOn(e.DB, e.audit.Log, e.sealer)
			got := fresh.decisions.Decide(t.Context(), e.agent, planned(shown, "read", `{}`))
			e.Exec(`ALTER TABLE away RENAME TO ` + table)
			if got.Allowed() || got.Verdict != verdict.Deny || got.Reason == "" {
				t.Errorf("without %s: %+v", table, got)
			}
		}
		want(t, e.decide(planned(shown, "read", `{}`)), verdict.Allow, "", "")
		e.verified()
	})
}

// TestGivingUp: a caller who leaves before the commit leaves nothing behind.
func TestGivingUp(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		want(t, e.decide(call("fs", "read", `{}`)), verdict.Allow, "", "")
		ctx, cancel := context.WithCancel(t.Context())
		began, end := make(chan struct{}), make(chan struct{})
		go func() {
			_ = e.DB.Write(context.Background(), database.Change{Do: func(context.Context, *database.Tx) error {
				close(began)
				<-end
				return nil
			}})
		}()
		<-began
		cancel()
		got := e.decisions.Decide(ctx, e.agent, call("fs", "read", `{}`))
		close(end)
		if got.Recorded || got.Verdict != verdict.Deny {
			t.Errorf("given up: %+v", got)
		}
		if n := e.verified(); n != 1 {
			t.Errorf("%d decisions", n)
		}
	})
}

// TestClosing: a server that stops denies.
func TestClosing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		want(t, e.decide(call("fs", "read", `{}`)), verdict.Allow, "", "")
		if err := e.DB.Close(); err != nil {
			t.Fatal(err)
		}
		if got := e.decide(call("fs", "read", `{}`)); got.Recorded || got.Verdict != verdict.Deny {
			t.Errorf("closed: %+v", got)
		}
	})
}

// TestAFaultyNeighbour: a change that fails in the same commit denies nobody.
func TestAFaultyNeighbour(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		want(t, e.decide(call("fs", "read", `{}`)), verdict.Allow, "", "")
		began, end := make(chan struct{}), make(chan struct{})
		wait := make(chan struct{}, 3)
		go func() {
			_ = e.DB.Write(context.Background(), database.Change{Lane: database.Urgent, Do: func(
				context.Context, *database.Tx,
			) error {
				select {
				case <-began:
				default:
					close(began)
				}
				<-end
				return nil
			}})
			wait <- struct{}{}
		}()
		<-began
		go func() {
			if got := e.decide(call("fs", "read", `{}`)); !got.Allowed() {
				t.Errorf("beside a change that fails: %+v", got)
			}
			wait <- struct{}{}
		}()
		go func() {
			_ = e.DB.Write(context.Background(), database.Change{
				Lane: database.Urgent, Do: func(context.Context, *database.Tx) error { return errors.New("no") },
			})
			wait <- struct{}{}
		}()
		for e.DB.QueueLength() < 2 {
			time.Sleep(time.Millisecond)
		}
		close(end)
		for range 3 {
			<-wait
		}
		e.verified()
	})
}

// TestClockJumps: decisions are recorded in order whatever the clock does.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", `id: few; effect: allow; tools: ["fs.*"]; limit: {calls: 1, per: 1h, by: org}`)
		want(t, e.decide(call("fs", "read", `{}`)), verdict.Allow, "", "")
		for _, jump := range []time.Duration{time.Minute, -2 * time.Minute, -24 * time.Hour, 48 * time.Hour} {
			e.Pass(jump)
			if got := e.decide(call("fs", "read", `{}`)); !got.Recorded || e.checkReceipt(got) != nil {
				t.Errorf("after %s: %+v", jump, got)
			}
		}
		e.Pass(-24 * time.Hour)
		want(t, e.decide(call("fs", "read", `{}`)), verdict.Deny, "", "")
		e.verified()
	})
}
