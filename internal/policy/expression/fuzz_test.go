package expression_test

import (
	"strconv"
	"testing"

	"writ/internal/policy/expression"
)

func position(p expression.Problem) string {
	return strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Column)
}

// FuzzCompile looks for text that cannot be compiled, evaluated or explained
// without a panic, or that gets by the bounds.
func FuzzCompile(f *testing.F) {
	for _, seed := range []string{
		`args.amount > 5 && agent.name == "bot"`, `shell(args.command).programs.exists(p, p == "rm")`,
		`path("/a").within(["/b"])`,
		`args.to.all(i, x, x.matches("^a") ? true : args.?n.orValue(false))`,
		`{"a": [1, 2.5, null, b"x", 3u]}.a[0] == 1`, `url(args.u).port in [80, 443]`,
		"(((((", "\"\\u0000", `args.exists(k, v, v == dyn(agent))`, `[args].map(a, a.amount).filter(a, a > 1) == [500]`,
		`now - timestamp("2020-01-01T00:00:00Z") > duration("1h")`,
		`intent.?goal.optMap(g, g.size()).orValue(1) == 1`, `type(1) == int`, `string(now) + tool == ""`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		condition, problem := expression.Compile(text)
		if problem != nil {
			if problem.Line < 1 || problem.Column < 1 || problem.Message == "" {
				t.Errorf("%q: the problem is nowhere: %+v", text, problem)
			}
			return
		}
		input := expression.NewInput(aCall())
		if got, err := condition.EvalInput(input); got && err != nil {
			t.Errorf("%q holds in spite of %v", text, err)
		}
		if input.Work() > 2*expression.MaxWork {
			t.Errorf("%q took %d units", text, input.Work())
		}
		condition.Explain(aCall())
		condition.Warnings()
	})
}
