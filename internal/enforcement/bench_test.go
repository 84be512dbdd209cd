package enforcement_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"writ/internal/database"
	"writ/internal/enforcement"
)

// BenchmarkDecide is one decision as /iap/sdk/enforce makes it: a plan, a policy
// of 100 rules, a durable record and a receipt, on SQLite. Beside the time it
// tells the CPU time of the process, committer included.
func BenchmarkDecide(b *testing.B) {
	for _, callers := range []int{1, 32} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			e := newEnv(b, database.Options{SQLitePath: filepath.Join(b.TempDir(), "writ.db")})
			rules := []string{`id: pay; effect: allow; tools: ["bank.pay"]; when: args.amount < 1000`}
			for i := range 99 {
				rules = append(rules,
					fmt.Sprintf(`id: r%d; effect: allow; tools: ["server%d.*"]; when: args.amount < %d`, i, i, i))
			}
			e.active("hundred", rules...)
			shown := e.mint(e.agent,
				`{"goal":"pay","steps":[{"action":"pay","mcp":"bank","params":{"to":"ada"}},{"action":"read","mcp":"fs"},{"action":"list","mcp":"fs"}]}`)
			request := planned(shown, "pay",
				`{"to":"ada","amount":12.5,"note":"the invoice of May, as agreed","reference":"2030-0042"}`)
			if got := e.decide(request); !got.Allowed() {
				b.Fatalf("%+v", got)
			}
			b.ResetTimer()
			before := cpu()
			var failed atomic.Int64
			decideAll(b, e, request, callers, &failed)
			b.ReportMetric(float64((cpu()-before).Microseconds())/float64(b.N), "cpu-µs/op")
			if failed.Load() > 0 {
				b.Fatalf("%d failed", failed.Load())
			}
		})
	}
}

func decideAll(b *testing.B, e *env, request enforcement.Request, callers int, failed *atomic.Int64) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for next.Add(1) <= int64(b.N) {
				if got := e.decide(request); !got.Allowed() || got.Receipt == nil {
					failed.Add(1)
				}
			}
		})
	}
	all.Wait()
}

// cpu is the CPU time this process has used.
func cpu() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
