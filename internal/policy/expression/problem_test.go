package expression_test

import (
	"fmt"
	"strings"
	"testing"

	"writ/internal/policy/expression"
)

func TestProblems(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		condition    string
		line, column int
		message      string
	}{
		"a misspelled field": {
			`agent.nmae == "x"`, 1, 6, "undefined field 'nmae': expected attested, id, name, registered or status",
		},
		"a misspelled field of a result": {
			`shell(args.c).program == []`, 1, 14,
			"undefined field 'program': expected dynamic, mayRun, opaque, paths, plain, programs, reads, scripts, unknown, words or writes",
		},
		"an unknown variable": {
			"args.a > 1 &&\n  amount > 5", 2, 3,
			"undeclared reference to 'amount': expected tool, server, args, agent, user, org, session, intent, labels, environment or now",
		},
		"an unknown function": {
			`exec("ls")`, 1, 5, "undeclared reference to 'exec': expected a function of CEL, or shell, path, ",
		},
		"types that do not compare": {
			`tool > 5`, 1, 6,
			"no matching overload for > applied to '(string, int)': expected two numbers, two texts or two times",
		},
		"text where a number belongs": {
			`session.calls == "7"`, 1, 15,
			"no matching overload for == applied to '(int, string)': expected two values of the same type",
		},
		"no end":                  {`args.a >`, 1, 9, "ends too early: expected a value"},
		"not a truth value":       {`size(tool)`, 1, 5, "must be true or false, but is int"},
		"an object as the result": {`path("x")`, 1, 5, "must be true or false, but is Path"},
		"nothing":                 {``, 1, 1, ""},
		"a second expression":     {"true\nfalse", 2, 1, "unexpected 'false': expected &&, ||"},

		"the hour": {
			`now.hour > 8`, 1, 4, "does not support field selection: expected getHours(), getMinutes(), getDayOfWeek()",
		},
		"a field of an address": {`ip(tool).host == ""`, 1, 9, "undefined field 'host': expected inCidr"},
		"a number where a text belongs": {
			`tool.startsWith(3)`, 1, 16, "applied to 'string.(int)': expected string.startsWith(string)",
		},
		"an argument of another kind": {`shell(3).dynamic`, 1, 6, "expected shell(string)"},
		"what is in a text":           {`args.x in "abc"`, 1, 8, "expected a list or a map after in"},
		"what is not true or false":   {`!tool`, 1, 1, "expected true or false"},
		"a single equals sign":        {`tool = "x"`, 1, 6, "unexpected '=': expected == to compare"},
		"a single ampersand":          {`tool == "x" & true`, 1, 13, "unexpected '&': expected && to join"},
		"a single bar":                {`tool == "x" | true`, 1, 13, "unexpected '|': expected || between"},
		"a text that does not end": {
			`tool == "x`, 1, 9, "unexpected '\"x': expected the quote that ends the text",
		},
		"quotes of a word processor": {`tool == “x”`, 1, 9, "a text in plain quotes"},
		"a word for an operator": {
			`true AND true`, 1, 6, "unexpected 'AND': expected &&, || or another operator",
		},
		"a bracket that stays open": {`(true`, 1, 6, "ends too early: expected ')'"},
		"a list that stays open":    {`tool in ["a"`, 1, 13, "ends too early: expected ']' or ','"},
		"two dots":                  {`args..x == 1`, 1, 6, "unexpected '..': expected a value"},

		"a pattern of an agent":         {`tool.matches(args.p)`, 1, 18, "matches takes a literal"},
		"a joined pattern":              {`tool.matches("a" + "b")`, 1, 18, "matches takes a literal"},
		"a list of patterns":            {`tool.glob(["a", args.p])`, 1, 21, "glob takes a literal"},
		"a pattern by another name":     {`glob(tool, args.?p.orValue(""))`, 1, 27, "glob takes a literal"},
		"a folder of an agent":          {`path("x").within(args.d)`, 1, 22, "within takes a literal"},
		"a range of an agent":           {`ip("::1").inCidr(args.r)`, 1, 22, "inCidr takes a literal"},
		"a time zone of an agent":       {`now.getHours(args.z) > 1`, 1, 18, "getHours takes a literal"},
		"a broken pattern":              {`tool.matches("(")`, 1, 14, "missing closing )"},
		"a pattern RE2 does not have":   {`tool.matches("(?=x)")`, 1, 14, "invalid or unsupported Perl syntax"},
		"a pattern that is too large":   {`tool.matches("(x{100}){10}")`, 1, 14, "too large"},
		"a folder that is not plain":    {`path("x").within("~/x")`, 1, 18, "begins with ~"},
		"a broken range":                {`ip("::1").inCidr("10.0.0.0")`, 1, 18, "must be a range"},
		"a range with bits to the left": {`ip("::1").inCidr("10.1.0.0/8")`, 1, 18, "did you mean 10.0.0.0/8?"},
		"an unknown time zone":          {`now.getHours("Mars") > 1`, 1, 14, "must be a time zone"},
		"the server's own time zone":    {`now.getHours("Local") > 1`, 1, 14, "must be a time zone"},
		"a broken timestamp":            {`now > timestamp("noon")`, 1, 17, "invalid timestamp"},
		"a computed key":                {`args[args.k] == 1`, 1, 10, "must be a literal or an int"},
		"a computed key of a literal":   {`{tool: 1} == {"x": 1}`, 1, 2, "must be a literal or an int"},
		"an object made up":             {`writ.Agent{id: "x"} == agent`, 1, 11, "cannot make objects"},
		"a loop that makes maps":        {`args.transformMap(k, v, v) == {}`, 1, 18, "transformMap is not available"},

		"too long":             {`tool == "` + strings.Repeat("x", 5000) + `"`, 1, 1, "4096"},
		"too deep":             {strings.Repeat("(", 60) + "true" + strings.Repeat(")", 60), 1, 1, "recursion"},
		"too many parts":       {"1 in [" + strings.TrimSuffix(strings.Repeat("1,", 1100), ",") + "]", 1, 1, "node"},
		"loops in loops":       {`args.a.all(x, args.b.all(y, args.c.all(z, z == x)))`, 1, 39, "nesting"},
		"a sum of many values": {strings.Repeat("1 + ", 100) + "1 == 1", 1, 1, "recursion"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, problem := expression.Compile(c.condition)
			if problem == nil {
				t.Fatal("it compiles")
			}
			got := fmt.Sprintf("%d:%d: %s", problem.Line, problem.Column, problem.Message)
			if problem.Line != c.line || problem.Column != c.column || !strings.Contains(problem.Message, c.message) {
				t.Errorf("the problem is %s; want %d:%d: %s", got, c.line, c.column, c.message)
			}
			if strings.Contains(problem.Message, "writ.") || strings.Contains(problem.Message, "container") ||
				strings.Contains(problem.Message, "EOF") || strings.Contains(problem.Message, "IDENTIFIER") {
				t.Errorf("the problem speaks of what nobody wrote: %s", got)
			}
		})
	}
}

func TestLongConditionsOfManyAlternativesCompile(t *testing.T) {
	t.Parallel()
	condition := `tool == "x"` + strings.Repeat(` || tool == "y"`, 100)
	if _, problem := expression.Compile(condition); problem != nil {
		t.Errorf("a hundred alternatives: %v", problem)
	}
}
