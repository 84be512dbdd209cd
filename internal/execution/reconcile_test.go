package execution_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"writ/internal/database"
	"writ/internal/decision"
	"writ/internal/execution"
	"writ/internal/intent/scope"
	"writ/internal/testenv"
	"writ/internal/verdict"
)

func TestExecutionsFindTheirDecision(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		p1, p2 := e.plan(e.acme), e.plan(e.acme)
		old := e.allowed(e.agent, p1, "Bash", `{"a":1}`)
		second := e.allowed(e.agent, p1, "Bash", `{"a":2}`)
		planned := e.allowed(e.agent, p2, "Bash", `{"a":1}`)
		mcp := e.decided(e.agent, verdict.Allow, "", "git_hub", "get_me", `{}`)
		e.decided(e.agent, verdict.Deny, "", "", "Denied", `{}`)
		e.allowed(e.other, "", "Theirs", `{}`)
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
			id := e.ran(e.agent, test.row)
			e.reconcile()
			if got := e.decisionOf(id); got != test.want {
				t.Errorf("%s: decision %q, want %q", test.name, got, test.want)
			}
		}
		const without = "execution_without_decision "
		e.wantFindings(without+"Bash", without+"Denied", without+"Theirs")
	})
}

// TestServersThatBeginWithAMark: the Gemini CLI puts no second mark before the name of such a server.
func TestServersThatBeginWithAMark(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		plain := e.decided(e.agent, verdict.Allow, "", "bank", "pay", `{"n":1}`)
		marked := e.decided(e.agent, verdict.Allow, "", "mcp_bank", "pay", `{"n":1}`)
		second := e.decided(e.agent, verdict.Allow, "", "mcp_bank", "pay", `{"n":2}`)
		other := e.decided(e.agent, verdict.Allow, "", "bank", "pay", `{"n":3}`)
		third := e.decided(e.agent, verdict.Allow, "", "mcp_bank", "pay", `{"n":4}`)
		for _, test := range []struct{ name, tool, input, want string }{
			{"of the marked server", "mcp_bank_pay", `{"n":1}`, marked},
			{"by its arguments of the other", "mcp_bank_pay", `{"n":3}`, other},
			{"as Claude Code joins the other", "mcp__bank__pay", `{"n":1}`, plain},
			{"as Claude Code joins it", "mcp__mcp_bank__pay", `{"n":2}`, second},
			{"as policies name it", "mcp_bank.pay", `{"n":4}`, third},
			{"nothing is left", "mcp_bank_pay", `{"n":5}`, ""},
		} {
			id := e.ran(e.agent, fmt.Sprintf(`{"tool":%q,"input":%s,"status":"success"}`, test.tool, test.input))
			e.reconcile()
			if got := e.decisionOf(id); got != test.want {
				t.Errorf("%s: decision %q, want %q", test.name, got, test.want)
			}
		}
	})
}

// TestExecutionBeforeItsDecision: what allowed a call stands before it in the log.
func TestExecutionBeforeItsDecision(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		id := e.ran(e.agent, `{"tool":"Bash"}`)
		e.allowed(e.agent, "", "Bash", `{}`)
		e.reconcile()
		if got := e.decisionOf(id); got != "" {
			t.Errorf("it is matched to %s", got)
		}
		e.wantFindings("execution_without_decision Bash")
	})
}

func TestBlockedCallsNeedNoDecision(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.allowed(e.agent, "", "Bash", `{}`)
		e.ran(e.agent, `{"tool":"Bash","status":"failed","error_message":"Blocked by policy: no"}`)
		ran := e.ran(e.agent, `{"tool":"Bash","status":"success"}`)
		e.reconcile()
		if e.decisionOf(ran) == "" {
			t.Error("a call that was held back took the decision of one that ran")
		}
		e.wantFindings()
	})
}

func TestDecisionsWithoutOutcome(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.allowed(e.other, "", "Silent", `{}`) // it never reports
		e.allowed(e.agent, "", "Early", `{}`)
		e.ran(e.agent, `{"tool":"Early"}`)
		e.allowed(e.agent, "", "Lost", `{}`)
		e.allowed(e.agent, "", "Late", `{}`)
		e.decided(e.agent, verdict.Deny, "", "", "Denied", `{}`)
		e.Pass(execution.OutcomeWithin - time.Microsecond)
		e.reconcile()
		e.wantFindings()
		e.Pass(time.Microsecond)
		e.reconcile()
		e.reconcile()
		e.wantFindings("decision_without_outcome Lost", "decision_without_outcome Late")
		late := e.ran(e.agent, `{"tool":"Late"}`)
		e.reconcile()
		if e.decisionOf(late) == "" {
			t.Error("an outcome that came late did not find its decision")
		}
		e.wantFindings("decision_without_outcome Lost", "decision_without_outcome Late resolved")
		open, err := e.service.Findings(t.Context(), e.owner, execution.FindingFilter{
			Open: true, Kind: execution.WithoutOutcome,
		})
		if err != nil || len(open.Items) != 1 || open.Items[0].Tool != "Lost" {
			t.Errorf("open findings: %+v, %v", open.Items, err)
		}
		e.Pass(8 * 24 * time.Hour)
		e.reconcile()
		e.ran(e.agent, `{"tool":"Lost"}`)
		e.reconcile()
		e.wantFindings("decision_without_outcome Lost", "decision_without_outcome Late resolved",
			"execution_without_decision Lost")
	})
}

// TestOnlyReportersAreAwaited: a key that never reports costs nothing.
func TestOnlyReportersAreAwaited(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		awaited := func() (n int) {
			if err := e.DB.QueryRow(t.Context(), `SELECT COUNT(*) FROM awaited_outcome`).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		e.allowed(e.agent, "", "A", `{}`)
		e.allowed(e.other, "", "A", `{}`)
		e.reconcile()
		if n := awaited(); n != 0 {
			t.Errorf("%d outcomes are awaited of who never reports", n)
		}
		e.allowed(e.agent, "", "B", `{}`)
		ran := e.ran(e.agent, `{"tool":"A"}`) // decided before anyone knew that it reports
		e.allowed(e.agent, "", "C", `{}`)
		e.reconcile()
		if n := awaited(); n != 2 || e.decisionOf(ran) == "" {
			t.Errorf("%d outcomes are awaited, want those of B and C; A was matched to %q", n, e.decisionOf(ran))
		}
		e.wantFindings()
	})
}

// TestAProductsNameAwaitsNothing: a key reports for itself alone, because everybody may give their key the product of
// another.
func TestAProductsNameAwaitsNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		silent := e.agent
		silent.KeyID = database.NewID() // of the same product
		e.allowed(silent, "", "Silent", `{}`)
		e.allowed(e.agent, "", "Told", `{}`)
		e.ran(e.agent, `{"tool":"Told"}`)
		e.allowed(silent, "", "Silent", `{}`)
		e.Pass(execution.OutcomeWithin)
		e.reconcile()
		e.wantFindings()
	})
}

// TestFindingsAreCountedByKey, and a flood of one kind hides none of another.
func TestFindingsAreCountedByKey(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		add := func(keyID, kind string, n int) {
			e.Exec(`
				WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ` + strconv.Itoa(n) + `)
				INSERT INTO finding (id, org_id, kind, found_at, happened_at, position, key_id, agent_id, session_id, plan_id,
					tool, decision_id, execution_id, first_seq, last_seq, missing)
				SELECT '` + keyID + kind + `' || i, '` + e.acme + `', '` + kind + `', ` +
				strconv.FormatInt(database.Micros(e.Now()), 10) + `, 0, 0, '` + keyID +
				`', 'agent' || i, '', '', '', '', '', 0, 0, 0 FROM n`)
		}
		since := e.Now().Add(-time.Second)
		add(e.agent.KeyID, "sequence_gap", 2)
		e.Pass(time.Second)
		add(e.other.KeyID, "refused_by_kernel", 10_001)
		add(e.other.KeyID, "sequence_gap", 1)
		want := []execution.Counted{
			{KeyID: e.agent.KeyID, Kind: "sequence_gap", Count: 2},
			{KeyID: e.other.KeyID, Kind: "sequence_gap", Count: 1},
		}
		slices.SortFunc(want, func(a, b execution.Counted) int { return cmp.Compare(a.KeyID, b.KeyID) })
		found, err := e.service.CountFound(t.Context(), e.acme, []string{"sequence_gap"}, since)
		if err != nil || !slices.Equal(found, want) {
			t.Errorf("%+v, %v; want %+v", found, err, want)
		}
		found, err = e.service.CountFound(t.Context(), e.acme, []string{"sequence_gap"}, since.Add(time.Second))
		if err != nil || len(found) != 1 || found[0].KeyID != e.other.KeyID {
			t.Errorf("after the first: %+v, %v", found, err)
		}
	})
}

func TestGapsInASequence(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		n := 0
		send := func(session string, numbers ...int64) {
			for _, seq := range numbers {
				n++
				e.allowed(e.agent, "", "T", `{}`)
				e.ran(e.agent, fmt.Sprintf(`{"tool":"T","agent_id":"a","session_id":%q,"seq":%d,"input":{"n":%d}}`,
					session, seq, n))
			}
			e.reconcile()
		}
		send("whole", 0, 1, 2, 3)
		send("also whole", 1, 2)
		send("negative", -5)
		e.wantFindings()
		send("gap", 1, 2, 6)
		e.wantFindings("sequence_gap 3-5 lacks 3")
		send("gap", 4, 4, 4)
		e.wantFindings("sequence_gap 3-5 lacks 2")
		send("gap", 3, 5, 7)
		e.wantFindings("sequence_gap 3-5 lacks 0 resolved")
		send("late", 3)
		e.wantFindings("sequence_gap 3-5 lacks 0 resolved", "sequence_gap 1-2 lacks 2")
	})
}

// TestReconcilingIsTheSameInAnySlices has more than a slice of everything, and
// replicas that work at once.
func TestReconcilingIsTheSameInAnySlices(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		for i := range 70 {
			e.allowed(e.agent, "", "T", fmt.Sprintf(`{"n":%d}`, i))
		}
		for i := range 75 {
			e.ran(e.agent, fmt.Sprintf(`{"tool":"T","input":{"n":%d}}`, i))
			e.ran(e.other, fmt.Sprintf(`{"tool":"U","input":{"n":%d}}`, i))
		}
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if err := execution.New(e.DB, e.Log, plans{e}, keys{e}, scope.New(e.DB, testenv.Sealer(t, 1)), heard,
					nil, names{}).Reconcile(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		var matched, wrong int
		if err := e.DB.QueryRow(t.Context(),
			`SELECT COUNT(*) FROM execution WHERE decision_id <> ''`).Scan(&matched); err != nil {
			t.Fatal(err)
		}
		decided, err := decision.Read(t.Context(), e.DB, e.acme, 0, 1000)
		if err != nil || len(decided) != 70 {
			t.Fatalf("%d decisions, %v", len(decided), err)
		}
		for _, d := range decided {
			var hash []byte
			if err := e.DB.QueryRow(t.Context(), `SELECT digest FROM execution WHERE decision_id = $1`,
				d.ID).Scan(&hash); err != nil || string(hash) != string(d.Digest) {
				wrong++
			}
		}
		if found := len(e.findings()); matched != 70 || wrong != 0 || found != 80 {
			t.Errorf("%d matched, %d of them wrong, %d findings; want 70, 0 and 80", matched, wrong, found)
		}
	})
}

func TestFindingsArePagedAndPrivate(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		for i := range 5 {
			e.ran(e.agent, fmt.Sprintf(`{"tool":"t%d"}`, i))
			e.ran(e.foreign, fmt.Sprintf(`{"tool":"foreign%d"}`, i))
			e.Pass(time.Second)
			e.reconcile()
		}
		var tools, cursor string
		for {
			got, err := e.service.Findings(t.Context(), e.owner, execution.FindingFilter{Limit: 2, Cursor: cursor})
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
		nobody := e.owner
		nobody.Role = ""
		if _, err := e.service.Findings(t.Context(), nobody, execution.FindingFilter{}); err == nil {
			t.Error("someone without a role reads findings")
		}
	})
}

// TestOneLogDoesNotKeepTheOthers: whoever breaks the reconciling of one log has not
// prevented the findings of others.
func TestOneLogDoesNotKeepTheOthers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		if e.globex > e.acme { // logs are taken in the order of their names
			e.owner.OrgID = e.globex
			e.agent, e.foreign = e.foreign, e.agent
		}
		e.allowed(e.foreign, "", "Bash", `{}`)
		e.Write("", func(ctx context.Context, tx *database.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE audit_entry SET record = 'broken' WHERE log = $1`, e.foreign.OrgID)
			return err
		})
		e.ran(e.agent, `{"tool":"Bash"}`)
		e.ran(e.foreign, `{"tool":"Bash"}`)
		if err := e.service.Reconcile(t.Context()); err == nil {
			t.Error("a log that cannot be read is not told of")
		}
		e.wantFindings("execution_without_decision Bash")
	})
}

// TestManyCallsWait has more calls of one tool wait than are looked at: the search
// stays short, and a report takes the oldest that fits best among those.
func TestManyCallsWait(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.ran(e.agent, `{"tool":"first","status":"blocked"}`)
		var ids []string
		for i := range 130 {
			ids = append(ids, e.allowed(e.agent, "", "Bash", fmt.Sprintf(`{"n":%d}`, i)))
		}
		for _, test := range []struct{ n, want int }{{99, 99}, {125, 0}, {1, 1}, {500, 2}} {
			id := e.ran(e.agent, fmt.Sprintf(`{"tool":"Bash","input":{"n":%d}}`, test.n))
			e.reconcile()
			if got := e.decisionOf(id); got != ids[test.want] {
				t.Errorf("report %d: decision %d, want %d", test.n, slices.Index(ids, got), test.want)
			}
		}
		e.wantFindings()
	})
}
