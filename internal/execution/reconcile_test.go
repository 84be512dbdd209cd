package execution_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"writ/internal/database"
	"writ/internal/decision"
	"writ/internal/execution"
	"writ/internal/verdict"
)

func TestExecutionsFindTheirDecision(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		p1, p2 := w.plan(w.acme), w.plan(w.acme)
		old := w.allowed(w.agent, p1, "Bash", `{"a":1}`)
		second := w.allowed(w.agent, p1, "Bash", `{"a":2}`)
		planned := w.allowed(w.agent, p2, "Bash", `{"a":1}`)
		mcp := w.decided(w.agent, verdict.Allow, "", "git_hub", "get_me", `{}`)
		w.decided(w.agent, verdict.Deny, "", "", "Denied", `{}`)
		w.allowed(w.other, "", "Theirs", `{}`)
		row := func(plan, tool, input string) string {
			return fmt.Sprintf(`{"tool":%q,"plan_id":%q,"input":%s,"status":"success"}`, tool, plan, input)
		}
		for _, test := range []struct{ name, row, want string }{
			{"plan, tool and arguments", row(p2, "Bash", `{"a":1}`), planned},
			{"the same without a plan", row("", "Bash", `{"a":2}`), second},
			{"the tool alone", row(p1, "Bash", `{"other":true}`), old},
			{"a name that holds the server", row("", "mcp__git_hub__get_me", `{}`), mcp},
			{"nothing is left", row(p1, "Bash", `{"a":1}`), ""},
			{"a denied call", row("", "Denied", `{}`), ""},
			{"another key's call", row("", "Theirs", `{}`), ""},
		} {
			id := w.ran(w.agent, test.row)
			w.reconcile()
			if got := w.decisionOf(id); got != test.want {
				t.Errorf("%s: decision %q, want %q", test.name, got, test.want)
			}
		}
		const without = "execution_without_decision "
		w.wantFindings(without+"Bash", without+"Denied", without+"Theirs")
	})
}

// TestExecutionBeforeItsDecision: what allowed a call stands before it in the log.
func TestExecutionBeforeItsDecision(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		id := w.ran(w.agent, `{"tool":"Bash"}`)
		w.allowed(w.agent, "", "Bash", `{}`)
		w.reconcile()
		if got := w.decisionOf(id); got != "" {
			t.Errorf("it is matched to %s", got)
		}
		w.wantFindings("execution_without_decision Bash")
	})
}

func TestBlockedCallsNeedNoDecision(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.allowed(w.agent, "", "Bash", `{}`)
		w.ran(w.agent, `{"tool":"Bash","status":"failed","error_message":"Blocked by policy: no"}`)
		ran := w.ran(w.agent, `{"tool":"Bash","status":"success"}`)
		w.reconcile()
		if w.decisionOf(ran) == "" {
			t.Error("a call that was held back took the decision of one that ran")
		}
		w.wantFindings()
	})
}

func TestDecisionsWithoutOutcome(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.allowed(w.other, "", "Silent", `{}`) // its product never reports
		w.allowed(w.agent, "", "Early", `{}`)
		w.ran(w.agent, `{"tool":"Early"}`)
		w.allowed(w.agent, "", "Lost", `{}`)
		w.allowed(w.agent, "", "Late", `{}`)
		w.decided(w.agent, verdict.Deny, "", "", "Denied", `{}`)
		w.pass(execution.OutcomeWithin - time.Microsecond)
		w.reconcile()
		w.wantFindings()
		w.pass(time.Microsecond)
		w.reconcile()
		w.reconcile()
		w.wantFindings("decision_without_outcome Lost", "decision_without_outcome Late")
		late := w.ran(w.agent, `{"tool":"Late"}`)
		w.reconcile()
		if w.decisionOf(late) == "" {
			t.Error("an outcome that came late did not find its decision")
		}
		w.wantFindings("decision_without_outcome Lost", "decision_without_outcome Late resolved")
		open, err := w.service.Findings(t.Context(), w.owner, execution.FindingFilter{
			Open: true, Kind: execution.WithoutOutcome,
		})
		if err != nil || len(open.Items) != 1 || open.Items[0].Tool != "Lost" {
			t.Errorf("open findings: %+v, %v", open.Items, err)
		}
		w.pass(8 * 24 * time.Hour)
		w.reconcile()
		w.ran(w.agent, `{"tool":"Lost"}`)
		w.reconcile()
		w.wantFindings("decision_without_outcome Lost", "decision_without_outcome Late resolved",
			"execution_without_decision Lost")
	})
}

// TestOnlyReportersAreAwaited: a product that never reports costs nothing.
func TestOnlyReportersAreAwaited(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		awaited := func() (n int) {
			if err := w.db.QueryRow(t.Context(), `SELECT COUNT(*) FROM awaited_outcome`).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		w.allowed(w.agent, "", "A", `{}`)
		w.allowed(w.other, "", "A", `{}`)
		w.reconcile()
		if n := awaited(); n != 0 {
			t.Errorf("%d outcomes are awaited of who never reports", n)
		}
		w.allowed(w.agent, "", "B", `{}`)
		ran := w.ran(w.agent, `{"tool":"A"}`) // decided before anyone knew that it reports
		w.allowed(w.agent, "", "C", `{}`)
		w.reconcile()
		if n := awaited(); n != 2 || w.decisionOf(ran) == "" {
			t.Errorf("%d outcomes are awaited, want those of B and C; A was matched to %q", n, w.decisionOf(ran))
		}
		w.wantFindings()
	})
}

func TestGapsInASequence(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		n := 0
		send := func(session string, numbers ...int64) {
			for _, seq := range numbers {
				n++
				w.allowed(w.agent, "", "T", `{}`)
				w.ran(w.agent, fmt.Sprintf(`{"tool":"T","agent_id":"a","session_id":%q,"seq":%d,"input":{"n":%d}}`,
					session, seq, n))
			}
			w.reconcile()
		}
		send("whole", 0, 1, 2, 3)
		send("also whole", 1, 2)
		send("negative", -5)
		w.wantFindings()
		send("gap", 1, 2, 6)
		w.wantFindings("sequence_gap 3-5 lacks 3")
		send("gap", 4, 4, 4)
		w.wantFindings("sequence_gap 3-5 lacks 2")
		send("gap", 3, 5, 7)
		w.wantFindings("sequence_gap 3-5 lacks 0 resolved")
		send("late", 3)
		w.wantFindings("sequence_gap 3-5 lacks 0 resolved", "sequence_gap 1-2 lacks 2")
	})
}

// TestReconcilingIsTheSameInAnySlices has more than a slice of everything, and
// replicas that work at once.
func TestReconcilingIsTheSameInAnySlices(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		for i := range 70 {
			w.allowed(w.agent, "", "T", fmt.Sprintf(`{"n":%d}`, i))
		}
		for i := range 75 {
			w.ran(w.agent, fmt.Sprintf(`{"tool":"T","input":{"n":%d}}`, i))
			w.ran(w.other, fmt.Sprintf(`{"tool":"U","input":{"n":%d}}`, i))
		}
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if err := execution.New(w.db, w.log, plans{w}, keys{w}).Reconcile(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		var matched, wrong int
		if err := w.db.QueryRow(t.Context(),
			`SELECT COUNT(*) FROM execution WHERE decision_id <> ''`).Scan(&matched); err != nil {
			t.Fatal(err)
		}
		decided, err := decision.Read(t.Context(), w.db, w.acme, 0, 1000)
		if err != nil || len(decided) != 70 {
			t.Fatalf("%d decisions, %v", len(decided), err)
		}
		for _, d := range decided {
			var hash []byte
			if err := w.db.QueryRow(t.Context(), `SELECT digest FROM execution WHERE decision_id = $1`,
				d.ID).Scan(&hash); err != nil || string(hash) != string(d.Digest) {
				wrong++
			}
		}
		if found := len(w.findings()); matched != 70 || wrong != 0 || found != 80 {
			t.Errorf("%d matched, %d of them wrong, %d findings; want 70, 0 and 80", matched, wrong, found)
		}
	})
}

func TestFindingsArePagedAndPrivate(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		for i := range 5 {
			w.ran(w.agent, fmt.Sprintf(`{"tool":"t%d"}`, i))
			w.ran(w.foreign, fmt.Sprintf(`{"tool":"foreign%d"}`, i))
			w.pass(time.Second)
			w.reconcile()
		}
		var tools, cursor string
		for {
			got, err := w.service.Findings(t.Context(), w.owner, execution.FindingFilter{Limit: 2, Cursor: cursor})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range got.Items {
				tools += f.Tool + " "
			}
			if cursor = got.NextCursor; cursor == "" {
				break
			}
		}
		if tools != "t4 t3 t2 t1 t0 " {
			t.Errorf("pages give %s", tools)
		}
		nobody := w.owner
		nobody.Role = ""
		if _, err := w.service.Findings(t.Context(), nobody, execution.FindingFilter{}); err == nil {
			t.Error("someone without a role reads findings")
		}
	})
}

// TestOneLogDoesNotKeepTheOthers: whoever breaks the reconciling of one log has not
// prevented the findings of others.
func TestOneLogDoesNotKeepTheOthers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		if w.globex > w.acme { // logs are taken in the order of their names
			w.owner.OrgID = w.globex
			w.agent, w.foreign = w.foreign, w.agent
		}
		w.allowed(w.foreign, "", "Bash", `{}`)
		w.write(nil, func(ctx context.Context, tx *database.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE audit_entry SET record = 'broken' WHERE log = $1`, w.foreign.OrgID)
			return err
		})
		w.ran(w.agent, `{"tool":"Bash"}`)
		w.ran(w.foreign, `{"tool":"Bash"}`)
		if err := w.service.Reconcile(t.Context()); err == nil {
			t.Error("a log that cannot be read is not told of")
		}
		w.wantFindings("execution_without_decision Bash")
	})
}

// TestManyCallsWait has more calls of one tool wait than are looked at: the search
// stays short, and a report takes the oldest that fits best among those.
func TestManyCallsWait(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.ran(w.agent, `{"tool":"first","status":"blocked"}`)
		var ids []string
		for i := range 130 {
			ids = append(ids, w.allowed(w.agent, "", "Bash", fmt.Sprintf(`{"n":%d}`, i)))
		}
		for _, test := range []struct{ n, want int }{{99, 99}, {125, 0}, {1, 1}, {500, 2}} {
			id := w.ran(w.agent, fmt.Sprintf(`{"tool":"Bash","input":{"n":%d}}`, test.n))
			w.reconcile()
			if got := w.decisionOf(id); got != ids[test.want] {
				t.Errorf("report %d: decision %d, want %d", test.n, slices.Index(ids, got), test.want)
			}
		}
		w.wantFindings()
	})
}
