package engine_test

import (
	"slices"
	"testing"

	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

const obliging = `
version: v1
name: careful
default: deny
rules:
  - {id: all, effect: allow, tools: ["crm.*"]}
  - {id: people, effect: allow, tools: ["crm.read"], oblige: {redact: ["ssn"], max_bytes: 1000}}
  - {id: ours, effect: allow, tools: ["crm.read"], when: 'args.kind == "own"', oblige: {labels: ["own"], max_bytes: 500}}
  - {id: pays, effect: hold, tools: ["crm.pay"], oblige: {labels: ["money"]}}
  - {id: never, effect: deny, tools: ["crm.drop"]}
`

func obligingSet(t *testing.T) *engine.Set {
	t.Helper()
	doc, err := document.Parse([]byte(obliging), document.YAML)
	if err != nil {
		t.Fatal(err)
	}
	compiled, problems := engine.Compile(doc)
	if len(problems) > 0 {
		t.Fatalf("%v", problems)
	}
	return engine.NewSet([]engine.Active{{ID: "p", Version: 1, Policy: compiled}})
}

// TestObligationsAddUp: whichever rule decides, and where a condition cannot be evaluated.
func TestObligationsAddUp(t *testing.T) {
	t.Parallel()
	set := obligingSet(t)
	call := func(tool string, args map[string]any, can bool) engine.Decision {
		return set.Evaluate(&toolcall.Call{Server: "crm", Tool: tool, Args: args, CanOblige: can}, nil)
	}
	d := call("read", map[string]any{"kind": "other"}, true)
	if d.Verdict != verdict.Allow || d.Oblige == nil || !slices.Equal(d.Oblige.Redact, []string{"ssn"}) ||
		d.Oblige.MaxBytes != 1000 || d.Oblige.Labels != nil {
		t.Errorf("one rule: %+v %+v", d, d.Oblige)
	}
	for name, args := range map[string]map[string]any{"both": {"kind": "own"}, "a condition that fails": {}} {
		d = call("read", args, true)
		if d.Verdict != verdict.Allow || d.Oblige == nil || d.Oblige.MaxBytes != 500 ||
			!slices.Equal(d.Oblige.Labels, []string{"own"}) || !slices.Equal(d.Oblige.Redact, []string{"ssn"}) {
			t.Errorf("%s: %+v %+v", name, d, d.Oblige)
		}
	}
	if d = call("pay", nil, true); d.Verdict != verdict.Hold || d.Oblige == nil {
		t.Errorf("a hold: %+v", d)
	}
	if d = call("list", nil, true); d.Verdict != verdict.Allow || d.Oblige != nil {
		t.Errorf("another tool: %+v", d)
	}
	if d = call("drop", nil, true); d.Verdict != verdict.Deny || d.Oblige != nil {
		t.Errorf("a deny: %+v", d)
	}
}

// TestWhoCannotKeepObligationsIsDenied: in a decision, and in what is foreseen.
func TestWhoCannotKeepObligationsIsDenied(t *testing.T) {
	t.Parallel()
	set := obligingSet(t)
	for tool, rule := range map[string]string{"read": "people", "pay": "pays"} {
		call := &toolcall.Call{Server: "crm", Tool: tool, Args: map[string]any{"kind": "other"}}
		d := set.Evaluate(call, nil)
		if d.Verdict != verdict.Deny || d.Rule != rule || d.Oblige != nil || len(d.Claims) != 0 {
			t.Errorf("%s: %+v", tool, d)
		}
		if f := set.Foresee(call); f.Verdict != verdict.Deny || !f.Certain || !f.MayDeny {
			t.Errorf("%s is foreseen as %+v", tool, f)
		}
		can := *call
		can.CanOblige = true
		if f := set.Foresee(&can); f.Verdict == verdict.Deny || f.Oblige == nil {
			t.Errorf("%s of who can is foreseen as %+v", tool, f)
		}
	}
	if d := set.Evaluate(&toolcall.Call{Server: "crm", Tool: "list"}, nil); d.Verdict != verdict.Allow {
		t.Errorf("another tool: %+v", d)
	}
}
