package enforcement_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"writ/internal/approval"
	"writ/internal/database"
	"writ/internal/decision"
	"writ/internal/enforcement"
	"writ/internal/principal"
	"writ/internal/verdict"
)

// approveUntilKilled tells this program to be the process that is killed between
// approving and deciding.
const approveUntilKilled = "WRIT_TEST_APPROVE_UNTIL_KILLED"

// doomedApprover is what that process needs to know.
type doomedApprover struct {
	SQLitePath, PostgresURL string
	Now                     time.Time
	Agent, Approver         principal.Principal
	Waiting                 []string // requests, of the calls with these numbers
	From                    int
}

// told is what it prints: that a call was approved, or decided.
type told struct {
	Number   int
	Approved bool
	Ran      bool
}

func numbered(i int) enforcement.Request { return call("bank", "pay", fmt.Sprintf(`{"n":%d}`, i)) }

// approveForEver approves call after call and has each decided, several at a time.
func approveForEver(task string) error {
	var d doomedApprover
	if err := json.Unmarshal([]byte(task), &d); err != nil {
		return err
	}
	ctx := context.Background()
	a, err := process(ctx, database.Options{
		SQLitePath: d.SQLitePath, PostgresURL: d.PostgresURL, Now: func() time.Time { return d.Now },
	})
	if err != nil {
		return err
	}
	said := make(chan told)
	const atOnce = 4
	for worker := range atOnce {
		go func() {
			for i := worker; i < len(d.Waiting); i += atOnce {
				if _, err := a.approvals.Approve(ctx, d.Approver, d.Waiting[i], approval.Approval{}); err != nil {
					fmt.Fprintln(os.Stderr, "approve:", err)
					continue
				}
				said <- told{Number: d.From + i, Approved: true}
				said <- told{Number: d.From + i, Ran: a.decisions.Decide(ctx, d.Agent, numbered(d.From+i)).Allowed()}
			}
			select {} // the parent kills it before there is nothing left to do
		}()
	}
	out := json.NewEncoder(os.Stdout)
	for line := range said {
		if err := out.Encode(line); err != nil {
			return err
		}
	}
	return nil
}

// TestKillBetweenApprovalAndUse kills a process that approves and uses approvals.
// Each grant was used with its decision or not at all, and what was not used
// serves the next process, once.
func TestKillBetweenApprovalAndUse(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.approver()
		e.active("rules", holdPay)
		const batch = 40
		var lines []told
		for round := range 3 {
			d := doomedApprover{
				SQLitePath:  e.Options.SQLitePath,
				PostgresURL: e.Options.PostgresURL,
				Now:         e.Options.Now(),
				Agent:       e.agent,
				Approver:    bob,
				From:        round * batch,
			}
			for i := range batch {
				d.Waiting = append(d.Waiting, e.decide(numbered(d.From+i)).ApprovalID)
			}
			lines = append(lines, killAfter[told](t, approveUntilKilled, d, 15+7*round)...)
		}
		e.settle()
		before := e.runs()
		grants, used := e.count(`approval_grant`), e.count(`approval_grant WHERE used_at IS NOT NULL`)
		if len(before) != used || used == 0 {
			t.Errorf("%d grants, %d used, %d calls ran", grants, used, len(before))
		}
		for _, line := range lines {
			if line.Ran && before[line.Number] != 1 {
				t.Errorf("it said that call %d ran, and %d are recorded", line.Number, before[line.Number])
			}
		}
		for i := range 3 * batch {
			for range 2 {
				e.decide(numbered(i))
			}
		}
		after := e.runs()
		for number, times := range after {
			if times != 1 {
				t.Errorf("call %d ran %d times on one approval", number, times)
			}
		}
		if len(after) != grants {
			t.Errorf("%d calls ran on %d grants", len(after), grants)
		}
		e.verified()
	})
}

// runs is how often each numbered call was allowed, by the record.
func (e *env) runs() map[int]int {
	e.T.Helper()
	rows, err := decision.Read(e.T.Context(), e.DB, e.acme, 0, 100_000)
	if err != nil {
		e.T.Fatal(err)
	}
	numbers := map[string]int{}
	for i := range 1000 {
		sum, err := e.digest(e.T.Context(), e.acme, fmt.Sprintf(`{"n":%d}`, i))
		if err != nil {
			e.T.Fatal(err)
		}
		numbers[string(sum)] = i
	}
	ran := map[int]int{}
	for _, row := range rows {
		if row.Verdict == verdict.Allow {
			ran[numbers[string(row.Digest)]]++
		}
	}
	return ran
}
