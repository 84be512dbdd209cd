package policy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"writ/internal/database"
	"writ/internal/policy"
	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/principal"
	"writ/internal/testenv"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

// env is two organizations and an owner of the first.
type env struct {
	*testenv.Env
	policies     *policy.Service
	acme, globex string
	owner        principal.Principal // of acme
}

func each(t *testing.T, body func(t *testing.T, e *env)) {
	t.Helper()
	testenv.Each(t, func(t *testing.T, base *testenv.Env) {
		base.Set(time.Date(2030, 5, 1, 12, 20, 0, 0, time.UTC))
		e := &env{Env: base, policies: policy.New(base.DB, base.Log, nil, policy.ProposalNotifier{})}
		e.acme, e.globex = e.Organization("Acme"), e.Organization("Globex")
		e.owner = person(e.acme, principal.Owner)
		body(t, e)
	})
}

func person(orgID string, role principal.Role) principal.Principal {
	return testenv.Person(database.NewID(), orgID, role)
}

func key(orgID string, scopes ...principal.Scope) principal.Principal {
	return principal.Principal{
		Kind:   principal.Key,
		KeyID:  database.NewID(),
		UserID: database.NewID(),
		OrgID:  orgID,
		Scopes: scopes,
	}
}

// yaml is a policy of a name with rules like "allow bank.*".
func yaml(name string, rules ...string) policy.Source {
	var text strings.Builder
	fmt.Fprintf(&text, "version: v1\nname: %s\nrules:\n", name)
	if len(rules) == 0 {
		text.Reset()
		fmt.Fprintf(&text, "version: v1\nname: %s\nrules: []\n", name)
	}
	for i, rule := range rules {
		effect, tools, _ := strings.Cut(rule, " ")
		fmt.Fprintf(&text, "  - id: r%d\n    effect: %s\n    tools: [%q]\n", i, effect, tools)
	}
	return policy.Source{Text: text.String(), Format: document.YAML}
}

func (e *env) create(source policy.Source) policy.Full {
	e.T.Helper()
	full, err := e.policies.Create(e.T.Context(), e.owner, source)
	if err != nil {
		e.T.Fatalf("create: %v", err)
	}
	return full
}

// active is a policy whose first version counts.
func (e *env) active(source policy.Source) policy.Full {
	e.T.Helper()
	full, err := e.policies.Activate(e.T.Context(), e.owner, e.create(source).ID, policy.LatestVersion)
	if err != nil {
		e.T.Fatalf("activate: %v", err)
	}
	return full
}

func (e *env) bind(id string, b policy.Bindings) {
	e.T.Helper()
	if _, err := e.policies.SetBindings(e.T.Context(), e.owner, id, b); err != nil {
		e.T.Fatalf("bind: %v", err)
	}
}

// say is what the active policies say about a call of send_money at the bank.
func (e *env) say(call toolcall.Call) engine.Decision {
	e.T.Helper()
	return e.sayBy(e.policies, call)
}

func (e *env) sayBy(s *policy.Service, call toolcall.Call) engine.Decision {
	e.T.Helper()
	if call.Tool == "" {
		call.Server, call.Tool = "bank", "send_money"
	}
	x, err := s.Check(e.T.Context(), e.owner, call)
	if err != nil {
		e.T.Fatalf("check: %v", err)
	}
	return x.Decision
}

func (e *env) wantVerdict(what string, want verdict.Verdict) {
	e.T.Helper()
	if d := e.say(toolcall.Call{}); d.Verdict != want {
		e.T.Errorf("%s: %s (%s), want %s", what, d.Verdict, d.Reason, want)
	}
}

// recorded are the actions about policies in acme's log.
func (e *env) recorded() []string {
	e.T.Helper()
	return e.Actions(e.acme)
}
