package engine_test

import (
	"testing"

	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

// TestPoliciesBoundToAKey: what the server knows of a caller binds beside what
// the client names, and alone where only that may count.
func TestPoliciesBoundToAKey(t *testing.T) {
	t.Parallel()
	deny := compile(t, &document.Document{
		Name: "bound", Rules: []document.Rule{{ID: "no", Effect: verdict.Deny, Tools: []document.Pattern{"*"}}},
	})
	allow := engine.Active{ID: "all", Policy: compile(t, &document.Document{Name: "all", Default: verdict.Allow})}
	key := toolcall.Key{ID: "k", OwnerID: "ann", OwnerRole: "admin"}
	alone := key
	alone.Alone = true
	for name, c := range map[string]struct {
		bindings engine.Bindings
		key      toolcall.Key
		want     verdict.Verdict
	}{
		"the key":          {engine.Bindings{Agents: []string{"k"}}, key, verdict.Deny},
		"its owner":        {engine.Bindings{Users: []string{"ann"}}, key, verdict.Deny},
		"the owner's role": {engine.Bindings{Roles: []string{"admin"}}, key, verdict.Deny},
		"who is named":     {engine.Bindings{Users: []string{"bob"}}, key, verdict.Deny},
		"the agent named":  {engine.Bindings{Agents: []string{"bot"}}, key, verdict.Deny},
		"the role named":   {engine.Bindings{Roles: []string{"viewer"}}, key, verdict.Deny},
		"somebody else": {
			engine.Bindings{Users: []string{"eve"}, Agents: []string{"other"}, Roles: []string{"owner"}}, key,
			verdict.Allow,
		},
		"alone: the key":      {engine.Bindings{Agents: []string{"k"}}, alone, verdict.Deny},
		"alone: its owner":    {engine.Bindings{Users: []string{"ann"}}, alone, verdict.Deny},
		"alone: the role":     {engine.Bindings{Roles: []string{"admin"}}, alone, verdict.Deny},
		"alone: who is named": {engine.Bindings{Users: []string{"bob"}}, alone, verdict.Allow},
		"alone: agent and all": {
			engine.Bindings{Agents: []string{"bot"}, Roles: []string{"viewer"}}, alone, verdict.Allow,
		},
		"no key": {
			engine.Bindings{Users: []string{"ann", ""}, Agents: []string{"k", ""}}, toolcall.Key{}, verdict.Allow,
		},
	} {
		set := engine.NewSet([]engine.Active{allow, {ID: "p", Policy: deny, Bindings: c.bindings}})
		call := &toolcall.Call{
			Server: "s",
			Tool:   "t",
			User:   toolcall.User{ID: "bob", Role: "viewer"},
			Agent:  toolcall.Agent{ID: "bot"},
			Key:    c.key,
		}
		if got := set.Evaluate(call, nil); got.Verdict != c.want {
			t.Errorf("%s: %s: %s", name, got.Verdict, got.Reason)
		}
		if !set.Bound() {
			t.Errorf("%s: the set says that nobody is bound", name)
		}
	}
	if engine.NewSet([]engine.Active{allow}).Bound() {
		t.Error("a set without bindings says that somebody is bound")
	}
}
