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
		doc := &document.Document{Name: "x"}
		for i := range size {
			doc.Rules = append(doc.Rules, document.Rule{
				ID: fmt.Sprintf("r%d", i), Effect: verdict.Allow, Tools: []document.Pattern{document.Pattern(fmt.Sprintf("s%d.t%d*", i%10, i))},
			})
		}
		doc.Rules = append(doc.Rules, document.Rule{ID: "small", Effect: verdict.Allow, Tools: []document.Pattern{"bank.send_money"}, When: "args.amount <= 1000"})
		set := engine.NewSet([]engine.Active{{ID: "p", Policy: compile(b, doc)}})
		for name, call := range map[string]*toolcall.Call{
			"no condition": {Server: "s7", Tool: "t57_x"}, "one condition": {Server: "bank", Tool: "send_money", Args: map[string]any{"amount": int64(5)}},
		} {
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
