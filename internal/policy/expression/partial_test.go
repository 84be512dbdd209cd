package expression_test

import (
	"fmt"
	"testing"

	"writ/internal/policy/expression"
	"writ/internal/toolcall"
)

func TestConditionsOverGaps(t *testing.T) {
	t.Parallel()
	const unknown, yes, no, fails = "unknown", "true", "false", "fails"
	call := &toolcall.Call{
		Server: "bank",
		Tool:   "pay",
		Agent:  toolcall.Agent{ID: "a"},
		User:   toolcall.User{ID: "u"},
		Labels: []string{"l"},
		Args: map[string]any{
			"n":      int64(5),
			"secret": "[redacted]",
			"deep":   map[string]any{"key": "[redacted]", "plain": "x"},
			"list":   []any{"a", "[redacted]"},
			"file":   "/etc/passwd",
		},
	}
	gaps := toolcall.Gaps{
		{"args", "secret"}, {"args", "deep", "key"}, {"args", "list"}, {"user", "role"}, {"session", "calls"},
		{"paths"},
	}
	for condition, want := range map[string]string{
		`args.n > 3`:                                    yes,
		`args.n > 7`:                                    no,
		`args.missing > 7`:                              fails,
		`args.secret == "x"`:                            unknown,
		`args.secret == "[redacted]"`:                   unknown,
		`has(args.secret)`:                              unknown, // it was there; but nobody relies on it
		`args.?secret.orValue("") == ""`:                unknown,
		`size(args) > 100`:                              unknown,
		`args.n > 3 || args.secret == "x"`:              yes,
		`args.secret == "x" || args.n > 3`:              yes,
		`args.n > 7 && args.secret == "x"`:              no,
		`args.secret == "x" && args.n > 7`:              no,
		`args.secret == "x" && args.missing > 7`:        unknown,
		`args.n > 3 ? true : args.secret == "x"`:        yes,
		`args.deep.plain == "x"`:                        yes,
		`args.deep.key == "x"`:                          unknown,
		`args.deep == {"plain": "x"}`:                   unknown,
		`"a" in args.list`:                              unknown,
		`args.list.exists(x, x == "a")`:                 unknown,
		`args.exists(k, v, k == "n")`:                   unknown,
		`shell(args.secret).programs.exists(p, p=="x")`: unknown,
		`path(args.file).within("/etc")`:                unknown,
		`args.n > 7 && path(args.file).within("/etc")`:  no,
		`user.role == "owner"`:                          unknown,
		`user.id == "u"`:                                yes,
		`has(user.role)`:                                unknown,
		`session.calls > 3`:                             unknown,
		`!(args.secret == "x")`:                         unknown,
		`args.secret.matches("x")`:                      unknown,
		`args["secret"] == "x"`:                         unknown,
		`"l" in labels`:                                 yes,
		`amount(args) > 3.0`:                            unknown,
	} {
		compiled, problem := expression.Compile(condition)
		if problem != nil {
			t.Errorf("%s: %s", condition, problem.Message)
			continue
		}
		holds, known, err := compiled.EvalPartial(expression.NewPartial(call, gaps))
		got := fmt.Sprint(holds)
		switch {
		case !known:
			got = unknown
		case err != nil:
			got = fails
		}
		if got != want {
			t.Errorf("%s is %s (%v), want %s", condition, got, err, want)
		}
	}
}

// TestTooMuchWorkOverGapsIsUnknown: what takes too much work where a value is missing
// takes little where the value settles it.
func TestTooMuchWorkOverGapsIsUnknown(t *testing.T) {
	t.Parallel()
	long := make([]any, 600)
	for i := range long {
		long[i] = int64(i)
	}
	condition, problem := expression.Compile(`args.secret == "x" || args.long.all(a, args.long.all(b, a + b >= 0))`)
	if problem != nil {
		t.Fatal(problem.Message)
	}
	call := &toolcall.Call{Server: "s", Tool: "t", Args: map[string]any{"secret": "x", "long": long}}
	if holds, err := condition.Eval(call); !holds || err != nil {
		t.Fatalf("it is %t (%v), and was to be true", holds, err)
	}
	if _, known, err := condition.EvalPartial(expression.NewPartial(call, toolcall.Gaps{{"args", "secret"}})); known {
		t.Errorf("without the secret it is said to fail for certain: %v", err)
	}
}
