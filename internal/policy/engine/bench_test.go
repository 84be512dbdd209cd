package engine_test

import (
	"fmt"
	"testing"

	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

// BenchmarkEvaluate is for work on the engine. What is compared with others is
// in bench/policy.
func BenchmarkEvaluate(b *testing.B) {
	for _, size := range []int{100, 10_000} {
		set := sized(b, size)
		for name, call := range usualCalls() {
			b.Run(fmt.Sprintf("%s/%d rules", name, size), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if set.Evaluate(call, nil).Verdict != verdict.Allow {
						b.Fatal("not allowed")
					}
				}
			})
		}
	}
}

// sized is a set of a number of rules that name tools by a prefix, and one with a
// condition.
func sized(t fataler, size int) *engine.Set {
	doc := &document.Document{Name: "x"}
	for i := range size {
		doc.Rules = append(doc.Rules, document.Rule{
			ID: fmt.Sprintf("r%d", i), Effect: verdict.Allow,
			Tools: []document.Pattern{document.Pattern(fmt.Sprintf("s%d.t%d*", i%10, i))},
		})
	}
	doc.Rules = append(doc.Rules, document.Rule{
		ID: "small", Effect: verdict.Allow, Tools: []document.Pattern{"bank.send_money"}, When: "args.amount <= 1000",
	})
	return engine.NewSet([]engine.Active{{ID: "p", Policy: compile(t, doc)}})
}

func usualCalls() map[string]*toolcall.Call {
	return map[string]*toolcall.Call{
		"no condition":  {Server: "s7", Tool: "t57_x"},
		"one condition": {Server: "bank", Tool: "send_money", Args: map[string]any{"amount": int64(5)}},
	}
}

// TestEvaluatingAllocatesLittle: a decision makes no garbage that grows with the
// rules. Not parallel, for allocations of others would count.
func TestEvaluatingAllocatesLittle(t *testing.T) {
	const most = 10
	for _, size := range []int{10, 1_000} {
		set := sized(t, size)
		for name, call := range usualCalls() {
			if name == "no condition" && size < 57 {
				continue // nothing names its tool
			}
			if set.Evaluate(call, nil).Verdict != verdict.Allow {
				t.Fatalf("%s, %d rules: not allowed", name, size)
			}
			if n := testing.AllocsPerRun(200, func() { set.Evaluate(call, nil) }); n > most {
				t.Errorf("%s, %d rules: %v allocations, want at most %d", name, size, n, most)
			}
		}
	}
}
