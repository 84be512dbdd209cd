package enforcement_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"writ/internal/database"
	"writ/internal/decision"
	"writ/internal/enforcement"
	"writ/internal/intent/plan"
	"writ/internal/principal"
	"writ/internal/verdict"
)

// decideUntilKilled tells this program to be the process that is killed.
const decideUntilKilled = "WRIT_TEST_DECIDE_UNTIL_KILLED"

func TestMain(m *testing.M) {
	if task := os.Getenv(approveUntilKilled); task != "" {
		if err := approveForEver(task); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if task := os.Getenv(decideUntilKilled); task != "" {
		if err := decideForEver(task); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// doomed is what the process that is killed needs to know.
type doomed struct {
	SQLitePath, PostgresURL string
	Now                     time.Time
	Agent                   principal.Principal
	Shown                   plan.Presented
}

// process opens the database as the child process does.
func process(ctx context.Context, o database.Options) (*areas, error) {
	db, err := database.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return assemble(ctx, db)
}

// decideForEver decides for several callers and prints each answer once it has it.
func decideForEver(task string) error {
	var d doomed
	if err := json.Unmarshal([]byte(task), &d); err != nil {
		return err
	}
	a, err := process(context.Background(), database.Options{
		SQLitePath: d.SQLitePath, PostgresURL: d.PostgresURL, Now: func() time.Time { return d.Now },
	})
	if err != nil {
		return err
	}
	answers := make(chan enforcement.Answer)
	for caller := range 8 {
		go func() {
			for i := 0; ; i++ {
				tool := []string{"pay", "ask", "other"}[i%3]
				answers <- a.decisions.Decide(context.Background(), d.Agent, planned(d.Shown, tool,
					fmt.Sprintf(`{"n":%d}`, 1000*i+caller)))
			}
		}()
	}
	out := json.NewEncoder(os.Stdout)
	for answer := range answers {
		if err := out.Encode(answer); err != nil {
			return err
		}
	}
	return nil
}

// TestKill kills a process that decides, again and again. What it answered is
// recorded, the log verifies, and what was claimed is what was allowed.
func TestKill(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", `id: pay; effect: allow; tools: ["bank.*"]; limit: {calls: 1000000, per: 1h, by: org}`,
			`id: hold; effect: hold; tools: ["h.*"]`)
		shown := e.mint(e.agent,
			`{"steps":[{"action":"pay","mcp":"bank","max_calls":1000000},{"action":"ask","mcp":"h"}]}`)
		var told []enforcement.Answer
		for round := range 3 {
			told = append(told,
				e.killAfter(doomed{e.Options.SQLitePath, e.Options.PostgresURL, e.Options.Now(), e.agent, shown},
					60+25*round)...)
		}
		e.settle()
		recorded := map[string]verdict.Verdict{}
		rows, err := decision.Read(t.Context(), e.DB, e.acme, 0, 100_000)
		if err != nil {
			t.Fatal(err)
		}
		ran := 0
		for _, row := range rows {
			recorded[row.ID] = row.Verdict
			if row.Verdict == verdict.Allow {
				ran++
			}
		}
		for _, a := range told {
			if v, ok := recorded[a.DecisionID]; !a.Recorded || !ok || v != a.Verdict {
				t.Fatalf("it said %s, and recorded is %s (%t): %s", a.Verdict, v, ok, a.Reason)
			}
			if err := e.checkReceipt(a); err != nil {
				t.Fatal(err)
			}
		}
		var uses, taken int
		if err := e.DB.QueryRow(t.Context(), `SELECT uses, (SELECT used FROM limit_use) FROM plan_step`).Scan(&uses,
			&taken); err != nil {
			t.Fatal(err)
		}
		if uses != ran || taken != ran || ran == 0 {
			t.Errorf("%d calls were allowed, %d uses of the step, %d of the limit", ran, uses, taken)
		}
		if n := e.verified(); n < len(told) {
			t.Errorf("%d decisions, and %d answers", n, len(told))
		}
		want(t, e.decide(planned(shown, "pay", `{}`)), verdict.Allow, "rules", "")
	})
}

// settle waits until PostgreSQL has ended what it still did for a process that is
// gone.
func (e *env) settle() {
	e.T.Helper()
	for e.DB.Engine() == database.PostgreSQL {
		var busy int
		err := e.DB.QueryRow(e.T.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND backend_type = 'client backend' AND state <> 'idle' AND pid <> pg_backend_pid()`).Scan(&busy)
		if err != nil {
			e.T.Fatal(err)
		}
		if busy == 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// killAfter runs a process until it has answered n times, and kills it.
func (e *env) killAfter(d doomed, n int) (answers []enforcement.Answer) {
	e.T.Helper()
	return killAfter[enforcement.Answer](e.T, decideUntilKilled, d, n)
}

// killAfter runs a process on a task until it has printed n lines of JSON, and
// kills it.
func killAfter[T any](t testing.TB, variable string, task any, n int) (answers []T) {
	t.Helper()
	text, err := json.Marshal(task)
	if err != nil {
		t.Fatal(err)
	}
	process := exec.CommandContext(t.Context(), os.Args[0])
	process.Env = append(os.Environ(), variable+"="+string(text))
	process.Stderr = os.Stderr
	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for len(answers) < n && lines.Scan() {
		var answer T
		if err := json.Unmarshal(lines.Bytes(), &answer); err != nil {
			t.Fatal(err)
		}
		answers = append(answers, answer)
	}
	if err := process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := process.Wait(); err == nil || len(answers) < n {
		t.Fatalf("the process ended by itself after %d answers: %v", len(answers), err)
	}
	return answers
}
