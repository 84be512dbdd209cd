package grounding

import (
	"fmt"
	"strings"
	"testing"
)

// page is an output of ten kilobytes: records and running text.
func page(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < 10<<10; i++ {
		fmt.Fprintf(&b, "- id: %d\n  name: person %d of %d\n  email: p%d@x.example\n  note: this is what stands about the person in the list\n",
			i, i, n, i)
	}
	return b.String()
}

func BenchmarkJudge(b *testing.B) {
	for _, outputs := range []int{0, 20} {
		b.Run(fmt.Sprint(outputs, " outputs"), func(b *testing.B) {
			list := []*Output{NewOutput(Call{Tool: "noise", Class: Read}, noise)}
			for i := range outputs {
				list = append(list, NewOutput(Call{Tool: "list", Class: Read}, page(i)))
			}
			known := NewKnown([]string{"Write to the people."}, list, false)
			call := Call{Tool: "send", Class: Write, Arguments: map[string]any{
				"to": "p7@x.example", "subject": "hello", "body": "I hope that you are well today.",
			}}
			b.ReportAllocs()
			for b.Loop() {
				Judge(known, Plan{Declared: true, Planned: true}, call, Options{})
			}
		})
	}
}

func BenchmarkNewOutput(b *testing.B) {
	text := page(1)
	b.ReportAllocs()
	for b.Loop() {
		NewOutput(Call{Tool: "list", Class: Read}, text)
	}
}
