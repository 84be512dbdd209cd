package expression_test

import (
	"strings"
	"testing"

	"writ/internal/policy/expression"
	"writ/internal/toolcall"
)

// hostile is about the worst that fits into the arguments of a call, and more.
func hostile() *toolcall.Call {
	list := make([]any, 100_000)
	texts := make([]any, 50_000)
	for i := range list {
		list[i] = int64(i)
		texts[i/2] = strings.Repeat("a", 20)
	}
	var deep, deepMap any = strings.Repeat("x", 500_000), list
	for range 60 {
		deep, deepMap = []any{deep}, map[string]any{"m": deepMap}
	}
	return &toolcall.Call{Server: "s", Tool: "t", Args: map[string]any{
		"list": list, "texts": texts, "deep": deep, "deepMap": deepMap,
		"big": strings.Repeat("a", 1_000_000), "mid": strings.Repeat("a", 60_000), "empty": []any{},
		"nested": strings.Repeat("$(", 30_000), "url": "http://" + strings.Repeat("a.", 400_000),
		"path": strings.Repeat("../", 300_000),
	}}
}

func sum(term string, times int) string {
	return strings.TrimSuffix(strings.Repeat(term+" + ", times), " + ")
}

// TestWorkIsBounded runs conditions that would take from seconds to years.
func TestWorkIsBounded(t *testing.T) {
	t.Parallel()
	call := hostile()
	for _, condition := range []string{
		// Loops.
		`args.list.all(x, true)`,
		`args.list.exists(x, false)`,
		`args.list.exists_one(x, x < 5)`,
		`args.list.all(x, args.list.all(y, true))`,
		`args.list.all(i, x, args.list.exists(j, y, x == y + 1))`,
		`args.list.filter(x, true).size() > 5`,
		`args.list.map(x, args.list).size() > 0`,

		// Work that hides in one step of a loop.
		`args.list.all(x, size(args.big) > 0)`,
		`args.list.all(x, args.big == args.big)`,
		`args.list.all(x, args.big != args.mid)`,
		`args.list.all(x, args.big < args.big || true)`,
		`args.list.all(x, !(args.big in ["a", "b"]))`,
		`args.list.all(x, !(args.big in args))`,
		`args.list.all(x, x in args.list)`,
		`args.list.all(x, args.texts in [args.texts])`,
		`args.list.all(x, args.deep == args.deep)`,
		`args.list.all(x, args.deepMap == args.deepMap)`,
		`args.list.all(x, [args.big] == [args.big])`,
		`args.list.all(x, {"a": args.big} == {"a": args.big})`,
		`args.list.all(x, optional.of(args.big) == optional.of(args.big))`,
		`args.list.all(x, args.list + [1] != [])`,
		`args.list.all(x, !args.big.contains("b"))`,
		`args.list.all(x, args.big.startsWith(args.big))`,
		`args.list.all(x, args.big.endsWith(args.big))`,
		`args.list.all(x, args.big.glob("a*b*") || true)`,
		`args.list.all(x, args.mid.matches("(a|a)*$"))`,
		`args.list.all(x, args.big.lowerAscii() != "")`,
		`args.list.all(x, args.big.trim() != "")`,
		`args.list.all(x, bytes(args.big).size() > 0)`,
		`args.list.all(x, timestamp(args.big) == now || true)`,
		`args.list.all(x, int(args.big) == 1 || true)`,
		`args.list.all(x, double(args.big) == 1.0 || true)`,
		`args.list.all(x, duration(args.big) == duration("1s") || true)`,
		`args.list.all(x, now.getHours("Europe/Berlin") < 30)`,
		`args.list.all(x, path(args.path).base == "x" || true)`,
		`args.list.all(x, url(args.url).host == "x" || true)`,
		`args.list.all(x, ip(args.big).inCidr("10.0.0.0/8") || true)`,
		`args.list.all(x, shell(args.mid).dynamic || true)`,
		`args.list.all(x, shell(args.nested).dynamic || true)`,

		// Values that grow.
		`args.list.map(x, args.big + args.big).size() > 0`,
		`[args.list].exists(x, [` + sum("x", 40) + `].exists(y, size(` + sum("y", 40) + `) > 0))`,
		`[args.mid].exists(x, [` + sum("x", 40) + `].exists(y, size(` + sum("y", 40) + `) > 0))`,
		`[[]].exists(x, args.list.all(z, size(` + sum("x", 40) + `) == 0))`,
	} {
		t.Run(condition, func(t *testing.T) {
			t.Parallel()
			input := expression.NewInput(call)
			got, err := mustCompile(t, condition).EvalInput(input)
			if err == nil || !strings.Contains(err.Error(), "too much work") || got {
				t.Errorf("the condition is %v, %v; want it to take too much work", got, err)
			}
			// The step that goes over the bound is counted too.
			if work := input.Work(); work < expression.MaxWork || work > 2*expression.MaxWork {
				t.Errorf("it was stopped after %d units; the bound is %d", work, expression.MaxWork)
			}
		})
	}
}

// TestWorkGrowsWithWhatIsWalkedOver has conditions of few steps over one long
// text.
func TestWorkGrowsWithWhatIsWalkedOver(t *testing.T) {
	t.Parallel()
	call := hostile()
	for _, condition := range []string{
		`args.big in ["a", "b"] || size(tool) > 5`, `args.big == args.big + ""`, `args.deep == args.deep`,
		`args.deepMap != args.deepMap`, `size(args.big) > 0`,
		`args.big.contains("b")`, `args.big < args.big`, `args.big.glob("*b")`, `matches(args.big, "b")`,
		`args.big.trim() == ""`, `path(args.path).base == ""`, `7 in args.list`,
		`shell(args.mid).dynamic`, `bytes(args.big) == b""`, `[args.big] == ["b"] || [args.big] == [args.big]`,
	} {
		input := expression.NewInput(call)
		mustCompile(t, condition).EvalInput(input)
		if input.Work() < 20_000 {
			t.Errorf("%s counts as %d units", condition, input.Work())
		}
	}
}

// TestComparingWithLiteralsIsLight is about conditions that take the same work
// whatever the call holds: they are not counted step by step.
func TestComparingWithLiteralsIsLight(t *testing.T) {
	t.Parallel()
	for _, condition := range []string{
		`args.big == "a"`, `"a" != args.big`, `args.big in ["a", "b"]`, `args.list == [1, 2]`, `args.deep == ["x"]`,
		`args.big.startsWith("b")`,
		`args.big.endsWith("b") || args.big > "b"`, `has(args.big) && !(args.deepMap.m.m == 5) ? false : true`,
	} {
		c := mustCompile(t, condition)
		long, empty := expression.NewInput(hostile()), expression.NewInput(&toolcall.Call{})
		if _, err := c.EvalInput(long); err != nil {
			t.Errorf("%s: %v", condition, err)
		}
		c.EvalInput(empty)
		if long.Work() != empty.Work() || long.Work() == 0 || long.Work() > 30 {
			t.Errorf("%s takes %d units over much, %d over nothing", condition, long.Work(), empty.Work())
		}
		steps := c.ExplainInput(long)
		if len(steps) == 0 || steps[len(steps)-1].Error != "" {
			t.Errorf("%s: %+v", condition, steps)
		}
	}
}

// TestSingleStepsAreBounded is about functions that must refuse before they
// begin: their work is counted when it is done.
func TestSingleStepsAreBounded(t *testing.T) {
	t.Parallel()
	call := hostile()
	wantResult(t, `args.big.matches("(a+)+$b")`, call, "matches: the text is longer than")
	wantResult(t, `args.big.matches("(x+x+)+y")`, call, "matches: the text is longer than")
	wantResult(t, `args.mid.matches("(a|a)*b")`, call, not)
	wantResult(t, `shell(args.big).dynamic`, call, "shell: the command is longer than")
	wantResult(t, `args.big.glob("*a*a*a*a*a*a*a*a*b")`, call, not)
	wantResult(t, `args.big.glob(["b"`+strings.Repeat(`, "*b*"`, 500)+`])`, call, "glob: the text is longer than")
	wantResult(t, `args.mid.glob(["b"`+strings.Repeat(`, "*b*"`, 30)+`])`, call, not)
	wantResult(t, `url(args.big).host == ""`, call, "not a URL")
}

func TestTooMuchWorkIsExplained(t *testing.T) {
	t.Parallel()
	for _, condition := range []string{
		`args.list.all(x, true)`, `args.list.all(x, args.big == args.big) || tool == "x"`,
	} {
		steps := mustCompile(t, condition).Explain(hostile())
		if len(steps) == 0 || !strings.Contains(steps[len(steps)-1].Error, "too much work") {
			t.Errorf("%s: %+v", condition, steps)
		}
	}
}

func TestConditionsOverOneInputShareTheirWork(t *testing.T) {
	t.Parallel()
	heavy := mustCompile(t, `args.list.all(x, true)`)
	light := mustCompile(t, `true`)
	input := expression.NewInput(hostile())
	for range 2 * expression.MaxDecisionWork / expression.MaxWork {
		if got, err := heavy.EvalInput(input); got || err == nil {
			t.Fatalf("the condition is %v, %v", got, err)
		}
	}
	if work := input.Work(); work > expression.MaxDecisionWork+2*expression.MaxWork {
		t.Errorf("all took %d units; the bound is %d", work, expression.MaxDecisionWork)
	}
	if got, err := light.EvalInput(input); got || err == nil {
		t.Errorf("after too much work, true is %v, %v; want an error", got, err)
	}
	if got, err := light.Eval(hostile()); !got || err != nil {
		t.Errorf("over another input, true is %v, %v", got, err)
	}
}

func TestACommandIsParsedOnce(t *testing.T) {
	t.Parallel()
	call := aCall()
	input := expression.NewInput(call)
	first, second := mustCompile(t, `"rm" in shell(args.command).programs`),
		mustCompile(t, `shell(args.command) == shell(args.command)`)
	for _, c := range []*expression.Condition{first, second} {
		if got, err := c.EvalInput(input); !got || err != nil {
			t.Errorf("%s is %v, %v", c.Text(), got, err)
		}
	}
}

// TestLongListsOfLiteralsAreCounted: each folder and range of a list is looked at
// for each value.
func TestLongListsOfLiteralsAreCounted(t *testing.T) {
	t.Parallel()
	values := make([]any, 3_000)
	for i := range values {
		values[i] = "x"
	}
	call := &toolcall.Call{Args: map[string]any{"values": values}}
	for _, condition := range []string{
		`args.values.all(x, !path(x).within([` + strings.Repeat(`"a/b",`, 300) + `"b"]))`,
		`args.values.all(x, !ip("1.1.1.1").inCidr([` + strings.Repeat(`"10.0.0.0/8",`, 200) + `"2.0.0.0/8"]))`,
	} {
		if _, err := mustCompile(t, condition).Eval(call); err == nil ||
			!strings.Contains(err.Error(), "too much work") {
			t.Errorf("%.60s…: %v, want it to take too much work", condition, err)
		}
	}
	short := &toolcall.Call{Args: map[string]any{"values": values[:1000]}}
	wantResult(t, `args.values.all(x, path(x).within(["/repo", "/tmp", "."]))`, short, holds)
}
