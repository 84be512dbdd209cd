package audit_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"writ/internal/audit"
	"writ/internal/audit/ledger"
	"writ/internal/database"
	"writ/internal/database/dbtest"
)

// appendUntilKilled tells this program to be the process that is killed.
const appendUntilKilled = "WRIT_TEST_APPEND_UNTIL_KILLED"

func TestMain(m *testing.M) {
	if where := os.Getenv(appendUntilKilled); where != "" {
		appendForEver(where)
	}
	os.Exit(m.Run())
}

// appendForEver appends decisions from several callers and prints each receipt
// once it has it.
func appendForEver(where string) {
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	var o database.Options
	fail(json.Unmarshal([]byte(where), &o))
	db, err := database.Open(context.Background(), o)
	fail(err)
	log, err := audit.Open(context.Background(), db, withKey(checkpointKey), nil)
	fail(err)
	receipts := make(chan ledger.Receipt)
	for caller := range 8 {
		go func() {
			for i := 0; ; i++ {
				appended, err := decide(context.Background(), db, log, decision("org", 1000*i+caller))
				fail(err)
				receipt, err := appended[0].Receipt()
				fail(err)
				receipts <- receipt
			}
		}()
	}
	out := json.NewEncoder(os.Stdout)
	for receipt := range receipts {
		fail(out.Encode(receipt))
	}
}

// TestKill kills a process that appends, again and again. Whatever it handed out
// a receipt for is in the log, and the log is one history.
func TestKill(t *testing.T) {
	t.Parallel()
	dbtest.EachOptions(t, func(t *testing.T, o database.Options) {
		var kept []ledger.Receipt
		for round := range 3 {
			kept = append(kept, killAfter(t, o, 150+70*round)...)
		}
		db := dbtest.Open(t, o)
		s := open(t, db)
		keys := keysOf(t, s)
		head, err := audit.ReadHead(t.Context(), db, "org")
		if err != nil {
			t.Fatal(err)
		}
		places := map[int64]bool{}
		for _, receipt := range kept {
			c, err := receipt.Check(keys)
			if err != nil {
				t.Fatal(err)
			}
			proof, err := s.ConsistencyProof(t.Context(), "org", c.Size, head.Size)
			if err == nil {
				err = ledger.CheckConsistency(proof, c.Size, c.Root, head.Size, head.Root())
			}
			if err != nil || places[receipt.Index] {
				t.Fatalf("the receipt of entry %d is not of this history: %v", receipt.Index, err)
			}
			places[receipt.Index] = true
		}
		report := export(t, s, "org", kept[len(kept)-1].Checkpoint, audit.ExportOptions{})
		if report.Size < int64(len(kept)) {
			t.Errorf("%d entries, and %d receipts", report.Size, len(kept))
		}
	})
}

// killAfter runs a process until it has given n receipts, and kills it.
func killAfter(t *testing.T, o database.Options, n int) (receipts []ledger.Receipt) {
	t.Helper()
	where, err := json.Marshal(map[string]any{"SQLitePath": o.SQLitePath, "PostgresURL": o.PostgresURL})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), appendUntilKilled+"="+string(where))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for len(receipts) < n && lines.Scan() {
		var receipt ledger.Receipt
		if err := json.Unmarshal(lines.Bytes(), &receipt); err != nil {
			t.Fatal(err)
		}
		receipts = append(receipts, receipt)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || len(receipts) < n {
		t.Fatalf("the process ended by itself after %d receipts: %v", len(receipts), err)
	}
	return receipts
}
