package expression_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"writ/internal/policy/expression"
	"writ/internal/toolcall"
)

// partsOfConditions are joined into larger ones: whatever looks at a value in a way
// of its own, and might take a missing one for an empty one.
var partsOfConditions = []string{
	`args.s == "x"`, `args.s != ""`, `has(args.s)`, `!has(args.s)`, `"s" in args`, `!("s" in args)`, `size(args) == 2`,
	`args.size() > 0`, `args == {}`,
	`args.?s.orValue("x") == "x"`, `args.?s.hasValue()`, `args[?"s"].orValue("") == ""`, `args["s"] == "x"`,
	`args.exists(k, v, k == "s")`, `args.all(k, v, v != "x")`, `args.exists(k, k == "s")`, `args.s in ["x", ""]`,
	`"x" in [args.s]`, `{"a": args.s} == {"a": "x"}`,
	`[args.s].exists(e, e == "x")`, `["x", "y"].exists(e, e == args.s)`, `["x"].all(e, e != args.s)`,
	`["x", "y"].filter(e, e == args.s).size() == 0`,
	`args.s.startsWith("x")`, `!args.s.contains("x")`, `args.s.matches("^x")`, `args.s.glob("x*")`,
	`args.s.lowerAscii() == "x"`, `args.s + "y" == "xy"`, `args.s < "y"`,
	`shell(args.s).programs == ["x"]`, `shell(args.s).dynamic`, `shell("ls " + args.s).words.exists(w, w == "x")`,
	`path(args.s).within("/x")`, `amount(args) > 1.0`,
	`(args.s == "x" ? 1 : 2) == 1`, `(args.k == "k" ? args.s : "x") == "x"`, `(has(args.s) ? args.s : "") == ""`,
	`type(args.s) == string`, `string(args.s) == "x"`, `dyn(args.s) == "x"`,
	`args.d.t == "x"`, `has(args.d.t)`, `args.d == {"t": "x"}`, `size(args.d) == 1`, `args.d.exists(k, v, v == "x")`,
	`has(args.d)`, `args.d.p == "p"`,
	`args.l[0] == "x"`, `size(args.l) == 1`, `"x" in args.l`, `args.l.exists(e, e == "x")`,
	`args.l.exists_one(e, e == "x")`, `args.l == ["x"]`, `args.l.map(e, e == "x") == [true]`,
	`args.k == "k"`, `args.missing == 1`, `user.role == "owner"`, `user.role in ["", "owner"]`, `session.calls > 1`,
	`environment == ""`, `labels.size() == 0`, `"l" in labels`, `has(user.role)`,
}

// drawCondition joins some parts.
func drawCondition(random *rand.Rand, depth int) string {
	if random.IntN(4) == 0 { // so that something is certain
		return []string{`tool == "t"`, `server == "t"`, `args.k == "k"`}[random.IntN(3)]
	}
	if depth == 0 {
		return partsOfConditions[random.IntN(len(partsOfConditions))]
	}
	left, right := drawCondition(random, depth-1), drawCondition(random, depth-1)
	switch random.IntN(5) {
	case 0:
		return fmt.Sprintf("!(%s)", left)
	case 1:
		return fmt.Sprintf("(%s ? %s : %s)", left, right, drawCondition(random, depth-1))
	case 2:
		return fmt.Sprintf("(%s || %s)", left, right)
	case 3:
		return fmt.Sprintf("((%s) == (%s))", left, right)
	}
	return fmt.Sprintf("(%s && %s)", left, right)
}

// filled is a call with something in the places of the gaps.
func filled(random *rand.Rand, erased bool) *toolcall.Call {
	one := func() any {
		return []any{"x", "", "y", int64(2), nil, []any{"x"}, map[string]any{}, "/x/y"}[random.IntN(8)]
	}
	call := &toolcall.Call{
		Server:      "s",
		Tool:        "t",
		Args:        map[string]any{"k": "k", "s": one(), "d": map[string]any{"t": one(), "p": "p"}, "l": []any{one()}},
		Labels:      []string{"l"},
		Environment: "production",
	}
	call.User.Role, call.Session.Calls = []string{"", "owner", "member"}[random.IntN(3)], random.Int64N(4)
	if random.IntN(2) == 0 {
		call.Args["l"] = []any{one(), one()}
	}
	if !erased {
		return call
	}
	if random.IntN(3) == 0 {
		call.Args = nil
	}
	if random.IntN(2) == 0 {
		call.Labels, call.Environment = nil, ""
	}
	return call
}

// TestKnownAnswersHoldWhateverFillsTheGaps: what is said to be known of a call with
// gaps is so for each call that it may have been.
func TestKnownAnswersHoldWhateverFillsTheGaps(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(22, 1))
	redacted := toolcall.Gaps{{"args", "s"}, {"args", "d", "t"}, {"args", "l"}, {"user", "role"}, {"session", "calls"}}
	erased := toolcall.Gaps{{"args"}, {"labels"}, {"environment"}, {"paths"}, {"user"}, {"session", "calls"}}
	certain := 0
	for range 1500 {
		text := drawCondition(random, 3)
		condition, problem := expression.Compile(text)
		if problem != nil {
			t.Fatalf("%s: %s", text, problem.Message)
		}
		gaps, gone := redacted, random.IntN(2) == 0
		kept := filled(random, false)
		kept.Args["s"], kept.Args["l"] = "[redacted]", []any{"[redacted]"}
		if gone {
			gaps, kept = erased, &toolcall.Call{Server: "s", Tool: "t"}
		}
		holds, known, failed := condition.EvalPartial(expression.NewPartial(kept, gaps))
		if !known {
			continue
		}
		certain++
		for range 12 {
			call := filled(random, gone)
			got, err := condition.Eval(call)
			if got != holds || (err != nil) != (failed != nil) {
				t.Fatalf("%s is said to be %t (%v), and is %t (%v) for %+v", text, holds, failed, got, err, call)
			}
		}
	}
	if certain < 200 {
		t.Errorf("%d answers were certain: too few to say", certain)
	}
}
