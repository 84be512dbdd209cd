package expression_test

import (
	"strings"
	"testing"
	"time"

	"writ/internal/policy/expression"
	"writ/internal/toolcall"
)

// aCall is a call with a bit of everything.
func aCall() *toolcall.Call {
	return &toolcall.Call{
		Server: "bank", Tool: "send_money",
		Args: map[string]any{
			"amount": int64(500), "rate": 1.5, "whole": 2.0, "currency": "EUR", "confirmed": true, "note": nil,
			"to":      []any{"ann@example.com", "bob@example.org"},
			"address": map[string]any{"city": "Bern", "zip": int64(3000)},
			"command": "cat a.txt | grep x > out.txt && rm -rf /tmp/x",
			"file":    "/repo/src/../src/main.go",
		},
		Agent:   toolcall.Agent{ID: "a1", Name: "bot", Status: "active"},
		User:    toolcall.User{ID: "u1", Email: "eve@example.com", Role: "member"},
		Org:     toolcall.Org{ID: "o1", Name: "Acme"},
		Session: toolcall.Session{ID: "s1", Calls: 7, CostUSD: 0.25, Tokens: 1200},
		Intent:  toolcall.Intent{PlanID: "p1", Goal: "pay the rent", Step: "2", Declared: true},
		Labels:  []string{"pii", "finance"}, Environment: "production",
		Now: time.Date(2026, 3, 4, 23, 30, 0, 0, time.UTC),
	}
}

// The wanted results of conditions. An error is wanted where neither is.
const (
	holds = "true"
	not   = "false"
)

func TestConditions(t *testing.T) {
	t.Parallel()
	for condition, want := range map[string]string{
		// Variables.
		`server == "bank" && tool == "send_money"`:                     holds,
		`agent.id == "a1" && agent.name == "bot"`:                      holds,
		`agent.status != "active"`:                                     not,
		`user.id == "u1" && user.email.endsWith("@example.com")`:       holds,
		`user.role in ["admin", "owner"]`:                              not,
		`org.id == "o1" && org.name == "Acme"`:                         holds,
		`session.id == "s1" && session.calls == 7`:                     holds,
		`session.costUsd > 0.2 && session.tokens < 2000`:               holds,
		`intent.declared && intent.planId == "p1"`:                     holds,
		`intent.goal.contains("rent") && intent.step == "2"`:           holds,
		`"pii" in labels`:                                              holds,
		`labels.exists(l, l.startsWith("hr"))`:                         not,
		`environment == "production"`:                                  holds,
		`now > timestamp("2026-01-01T00:00:00Z")`:                      holds,
		`now.getHours() == 23 && now.getHours("Europe/Berlin") == 0`:   holds,
		`now.getDayOfWeek("+02:00") == 4`:                              holds,
		`has(agent.name) && has(intent.declared)`:                      holds,
		`agent == agent && type(args) == map`:                          holds,
		`args.confirmed`:                                               holds,
		`args.currency`:                                                "neither true nor false",
		`args.missing == 1`:                                            "no such key: missing",
		`has(args.missing) && args.missing == 1`:                       not,
		`args.?missing.orValue(3) == 3`:                                holds,
		`args.?address.?city.orValue("") == "Bern"`:                    holds,
		`args.note == null`:                                            holds,
		`args.address.zip == 3000 && args["currency"] == "EUR"`:        holds,
		`args.to.all(r, r.endsWith(".com"))`:                           not,
		`args.to[1] == "bob@example.org"`:                              holds,
		`args.to[2] == "x"`:                                            "index out of bounds",
		`args.exists(name, value, name == "rate" && value > 1)`:        holds,
		`size(args.to) == 2 && size(args.currency) == 3`:               holds,
		`args.to.filter(r, r.contains("ann")).size() == 1`:             holds,
		`args.to.map(r, r.upperAscii()).exists(r, r.startsWith("BO"))`: holds,

		// Numbers compare across types, other things do not.
		`args.amount > 499.5 && args.amount < 501`: holds,
		`args.rate > 1`: holds,
		`args.whole == 2 && args.whole in [1, 2]`: holds,
		`args.currency > 5`:                       "no such overload",
		`args.amount == "500"`:                    not,
		`args.note > 5`:                           "no such overload",
		`args.amount / 0 == 1`:                    "division by zero",
		`int(args.currency) == 1`:                 "type conversion error",

		// An error does not hide behind an answer that is known without it.
		`args.amount > 100 || args.missing`: holds,
		`args.amount < 100 && args.missing`: not,
		`args.amount < 100 || args.missing`: "no such key: missing",

		// Text.
		`args.currency.lowerAscii() == "eur" && "  x ".trim() == "x"`:         holds,
		`args.currency.glob("E*") && glob(args.currency, "*R")`:               holds,
		`args.currency.glob("E") || args.currency.glob(["U*", "?UR"])`:        not,
		`glob(args.currency, ["U*", "*U*"])`:                                  holds,
		`args.amount.glob("5*")`:                                              "no such overload",
		`args.currency.matches("^[A-Z]{3}$") && matches(args.currency, "UR")`: holds,
		`args.amount.matches("5")`:                                            "no such overload",

		// Functions.
		`amount(args) == 500.0 && amount({"value": "12.50"}) == 12.5`:       holds,
		`amount(args.address) > 1`:                                          "amount: there is none of",
		`amount(args.currency) > 1`:                                         "no such overload",
		`"rm" in shell(args.command).programs`:                              holds,
		`shell(args.command).writes.exists(w, w == "out.txt")`:              holds,
		`shell("ls").dynamic`:                                               not,
		`shell(args.amount).dynamic`:                                        "no such overload",
		`path(args.file).within("/repo/src")`:                               holds,
		`path(args.file).within(["/etc", "/home"])`:                         not,
		`path(args.file).base == "main.go" && path(args.file).ext == ".go"`: holds,
		`path(args.file).dir == "/repo/src"`:                                holds,
		`path(args.file) == path("/repo/src/main.go")`:                      holds,
		`ip("10.0.0.1") == ip("10.0.0.2")`:                                  not,
		`args.to.all(r, path("/repo/x").within("/repo"))`:                   holds,
	} {
		t.Run(condition, func(t *testing.T) {
			t.Parallel()
			wantResult(t, condition, aCall(), want)
		})
	}
}

// wantResult evaluates a condition. What is wanted is true, false, or a part of
// the error.
func wantResult(t *testing.T, condition string, call *toolcall.Call, want string) {
	t.Helper()
	got, err := mustCompile(t, condition).Eval(call)
	switch {
	case want == holds || want == not:
		if err != nil || got != (want == holds) {
			t.Errorf("%s is %v, %v; want %s", condition, got, err, want)
		}
	case err == nil || !strings.Contains(err.Error(), want):
		t.Errorf("%s is %v, %v; want an error with %q", condition, got, err, want)
	case got:
		t.Errorf("%s holds in spite of its error", condition)
	}
}

func mustCompile(t testing.TB, condition string) *expression.Condition {
	t.Helper()
	c, problem := expression.Compile(condition)
	if problem != nil {
		t.Fatalf("compile %s: %d:%d: %s", condition, problem.Line, problem.Column, problem.Message)
	}
	return c
}

func TestNothingIsKnownOfAnEmptyCall(t *testing.T) {
	t.Parallel()
	condition := `agent.id == "" && user.email == "" && org.name == "" && session.calls == 0 && session.costUsd == 0.0 &&
		!intent.declared && labels == [] && size(args) == 0 && !has(agent.id) && environment == ""`
	wantResult(t, condition, &toolcall.Call{}, holds)
}

func TestErrorsHoldNoValues(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	call := &toolcall.Call{Args: map[string]any{"s": secret, "m": map[string]any{secret: 1}, "l": []any{secret}}}
	for _, condition := range []string{
		`timestamp(args.s) == now`, `duration(args.s) == duration("1s")`, `int(args.s) == 1`, `args.s > 1`,
		`bool(args.s)`, `double(args.s) == 1.0`,
		`path(args.s + "\u0000").base == ""`, `url(args.s).host == ""`, `ip(args.s).inCidr("10.0.0.0/8")`,
		`amount({"cost": args.s}) > 1`,
		`args.s.missing == 1`, `args.l.missing == 1`, `args.m == args.m + 1`, `args.s`, `-args.s == 1`,
	} {
		_, err := mustCompile(t, condition).Eval(call)
		if err == nil {
			t.Errorf("%s does not fail", condition)
		} else if strings.Contains(err.Error(), secret) {
			t.Errorf("%s tells a value: %v", condition, err)
		}
	}
}

func TestConditionsAreSharedByGoroutines(t *testing.T) {
	t.Parallel()
	condition := mustCompile(t,
		`"rm" in shell(args.command).programs && args.to.exists(r, path(args.file).within("/repo"))`)
	for range 8 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			for range 50 {
				if got, err := condition.Eval(aCall()); !got || err != nil {
					t.Errorf("the condition is %v, %v", got, err)
				}
				if steps := condition.Explain(aCall()); len(steps) == 0 {
					t.Error("there is no explanation")
				}
			}
		})
	}
}
