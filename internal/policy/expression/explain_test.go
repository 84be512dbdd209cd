package expression_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"writ/internal/policy/expression"
	"writ/internal/toolcall"
)

func TestExplanations(t *testing.T) {
	t.Parallel()
	for condition, want := range map[string][]expression.Step{
		`args.amount > 1000 && args.currency == "EUR"`: {
			{Expression: `args.amount`, Value: `500`},
			{Expression: `args.amount > 1000`, Value: `false`},
			{Expression: `args.amount > 1000 && args.currency == "EUR"`, Value: `false`},
		},
		`args.missing > 5 || agent.name == "bot"`: {
			{Expression: `args.missing`, Error: `no such key: missing`},
			{Expression: `args.missing > 5`, Error: `no such key: missing`},
			{Expression: `agent.name`, Value: `"bot"`},
			{Expression: `agent.name == "bot"`, Value: `true`},
			{Expression: `args.missing > 5 || agent.name == "bot"`, Value: `true`},
		},
		`path(args.file).within(["/tmp", "/etc"])`: {
			{Expression: `args.file`, Value: `"/repo/src/../src/main.go"`},
			{
				Expression: `path(args.file)`,
				Value:      `{"base":"main.go","clean":"/repo/src/main.go","dir":"/repo/src","ext":".go"}`,
			},
			{Expression: `path(args.file).within(["/tmp", "/etc"])`, Value: `false`},
		},
		`args.to.exists(r, r.endsWith(".org"))`: {
			{Expression: `args.to`, Value: `["ann@example.com","bob@example.org"]`},
			{Expression: `args.to.exists(r, r.endsWith(".org"))`, Value: `true`},
		},
		`has(args.note) && args.note == null`: {
			{Expression: `has(args.note)`, Value: `true`},
			{Expression: `args.note`, Value: `null`},
			{Expression: `args.note == null`, Value: `true`},
			{Expression: `has(args.note) && args.note == null`, Value: `true`},
		},
		`args.?x.orValue(2.5) > args.address.zip`: {
			{Expression: `args.?x`, Value: `null`},
			{Expression: `args.?x.orValue(2.5)`, Value: `2.5`},
			{Expression: `args.address`, Value: `{"city":"Bern","zip":3000}`},
			{Expression: `args.address.zip`, Value: `3000`},
			{Expression: `args.?x.orValue(2.5) > args.address.zip`, Value: `false`},
		},
		`now < timestamp("2026-01-01T00:00:00Z")`: {
			{Expression: `now`, Value: `"2026-03-04T23:30:00Z"`},
			{Expression: `timestamp("2026-01-01T00:00:00Z")`, Value: `"2026-01-01T00:00:00Z"`},
			{Expression: `now < timestamp("2026-01-01T00:00:00Z")`, Value: `false`},
		},
		`true`: nil,
	} {
		t.Run(condition, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(want, mustCompile(t, condition).Explain(aCall())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLongValuesAreCut(t *testing.T) {
	t.Parallel()
	many := make([]any, 10_000)
	for i := range many {
		many[i] = map[string]any{"k": "välue\u202e\x1b[2J"}
	}
	call := &toolcall.Call{Args: map[string]any{"long": strings.Repeat("日", 5_000), "many": many, "bad": "\xff\xfe"}}
	for _, argument := range []string{"long", "many", "bad"} {
		steps := mustCompile(t, `args.`+argument+` == "x"`).Explain(call)
		if len(steps) != 2 {
			t.Fatalf("%s: %d steps", argument, len(steps))
		}
		value := steps[0].Value
		if n := utf8.RuneCountInString(value); n > 201 || argument != "bad" && n < 200 || !utf8.ValidString(value) {
			t.Errorf("%s: %d characters: %s", argument, n, value)
		}
		if strings.ContainsRune(value, 0x1b) {
			t.Errorf("%s: control characters are shown as they are", argument)
		}
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	for condition, want := range map[string][]string{
		`args.amount > 5`:                        {"1:5 args.amount"},
		`args["amount"] > 5 || args.amount == 1`: {"1:5 args.amount"},
		`args.a.b > 5 && size(args.c) > 1`:       {"1:5 args.a", "1:26 args.c"},
		`has(args.amount) && args.amount > 5`:    nil,
		`"amount" in args && args.amount > 5`:    nil,
		`args.?amount.orValue(0) > 5`:            nil,
		`has(args.a) && args.b > 5`:              {"1:20 args.b"},
		`tool == "x"`:                            nil,
	} {
		var got []string
		for _, w := range mustCompile(t, condition).Warnings() {
			name, _, _ := strings.Cut(w.Message[strings.Index(w.Message, "args."):], ";")
			got = append(got, position(w)+" "+name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", condition, diff)
		}
	}
}

func TestDoubts(t *testing.T) {
	t.Parallel()
	for condition, want := range map[string][]string{
		`environment == "prod"`: {
			`1:16 environment is never "prod": expected sandbox or production`,
		},
		`"Production" != environment && tool == "prod"`: {
			`1:1 environment is never "Production": expected sandbox or production`,
		},
		`user.role in ["owner", "root", "admins"]`: {
			`1:24 user.role is never "root": expected owner, admin, approver, member or viewer`,
			`1:32 user.role is never "admins": expected owner, admin, approver, member or viewer`,
		},
		`agent.status == "suspend" || agent.status == "pending"`: {
			`1:17 agent.status is never "suspend": expected unregistered, active, suspended or killed`,
			`1:46 agent.status is never "pending": expected unregistered, active, suspended or killed`,
		},
		`agent.status in ["unregistered", "active", "suspended", "killed", ""]`: nil,
		`environment in ["sandbox", ""]`:                                        nil,
		`environment == "production" || user.role == ""`:                        nil,
		`environment == args.environment`:                                       nil,
		`args.role == "root" && user.email == "root"`:                           nil,
	} {
		var got []string
		for _, d := range mustCompile(t, condition).Doubts() {
			got = append(got, position(d)+" "+d.Message)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", condition, diff)
		}
	}
}
