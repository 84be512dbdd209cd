package policy_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/policy"
	"writ/internal/policy/document"
	"writ/internal/testenv"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

func TestBindings(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		full := e.active(yaml("pay", "allow *"))
		ada, bob := database.NewID(), database.NewID()
		e.bind(full.ID, policy.Bindings{Members: []string{ada}, Clients: []string{"bot"}, Roles: []string{"viewer"}})
		for name, test := range map[string]struct {
			call toolcall.Call
			want verdict.Verdict
		}{
			"a bound member": {toolcall.Call{User: toolcall.User{ID: ada}}, verdict.Allow},
			"a bound agent":  {toolcall.Call{Agent: toolcall.Agent{ID: "bot"}}, verdict.Allow},
			"a bound role": {
				toolcall.Call{User: toolcall.User{ID: bob, Role: "viewer"}}, verdict.Allow,
			},
			"another member": {
				toolcall.Call{User: toolcall.User{ID: bob, Role: "member"}}, verdict.Deny,
			},
			"another agent":                 {toolcall.Call{Agent: toolcall.Agent{ID: "bots"}}, verdict.Deny},
			"nobody":                        {toolcall.Call{}, verdict.Deny},
			"an agent with a member's name": {toolcall.Call{Agent: toolcall.Agent{ID: ada}}, verdict.Deny},
		} {
			if d := e.say(test.call); d.Verdict != test.want {
				t.Errorf("%s: %s (%s), want %s", name, d.Verdict, d.Reason, test.want)
			}
		}
		got, err := e.policies.Unbind(t.Context(), e.owner, full.ID, policy.Bindings{Clients: []string{"bot"}})
		want := policy.Bindings{Members: []string{ada}, Clients: []string{}, Roles: []string{"viewer"}}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("after unbinding (%v, -want +got):\n%s", err, diff)
		}
		if d := e.say(toolcall.Call{Agent: toolcall.Agent{ID: "bot"}}); d.Verdict != verdict.Deny {
			t.Errorf("an agent that is not bound any more: %s", d.Verdict)
		}
		read, err := e.policies.Bindings(t.Context(), e.owner, full.ID)
		if diff := cmp.Diff(want, read); err != nil || diff != "" {
			t.Errorf("read (%v, -want +got):\n%s", err, diff)
		}
	})
}

// TestLastBindingStays: an allow that is bound to one person must not come to
// count for everybody because that person is taken out.
func TestLastBindingStays(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		full := e.active(yaml("pay", "allow *"))
		e.bind(full.ID, policy.Bindings{Roles: []string{"owner"}})
		_, err := e.policies.Unbind(t.Context(), e.owner, full.ID, policy.Bindings{Roles: []string{"owner"}})
		testenv.WantFault(t, "remove the last binding", err, fault.Conflict)
		e.wantVerdict("nobody", verdict.Deny)
		_, err = e.policies.Unbind(t.Context(), e.owner, full.ID, policy.Bindings{Roles: []string{"admin"}})
		testenv.WantFault(t, "remove what is not there", err, fault.NotFound)
		e.bind(full.ID, policy.Bindings{})
		e.wantVerdict("nobody, once it is said", verdict.Allow)
	})
}

func TestBindingsThatAreRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		full := e.create(yaml("pay"))
		many := policy.Bindings{}
		for i := range policy.MaxBindings + 1 {
			many.Clients = append(many.Clients, strings.Repeat("x", i%150+1)+database.NewID())
		}
		for name, b := range map[string]policy.Bindings{
			"a member that is no id":  {Members: []string{"ada"}},
			"an unknown role":         {Roles: []string{"root"}},
			"a role in capitals":      {Roles: []string{"Owner"}},
			"an empty agent":          {Clients: []string{""}},
			"a long agent":            {Clients: []string{strings.Repeat("x", 201)}},
			"an agent with a newline": {Clients: []string{"a\nb"}},
			"an agent of bytes":       {Clients: []string{"\xff"}},
			"too many":                many,
		} {
			_, err := e.policies.SetBindings(t.Context(), e.owner, full.ID, b)
			testenv.WantFault(t, "set "+name, err, fault.Invalid)
			_, err = e.policies.Bind(t.Context(), e.owner, full.ID, b)
			testenv.WantFault(t, "bind "+name, err, fault.Invalid)
		}
		_, err := e.policies.Bind(t.Context(), e.owner, full.ID, policy.Bindings{})
		testenv.WantFault(t, "bind nobody", err, fault.Invalid)
		got, err := e.policies.Bindings(t.Context(), e.owner, full.ID)
		if err != nil || !got.IsEmpty() {
			t.Errorf("bound to %+v, %v", got, err)
		}
	})
}

// TestBindingNeverOpens: a policy that denies to everybody is not lifted for all
// others by adding somebody to it.
func TestBindingNeverOpens(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		source := policy.Source{
			Text:   "version: v1\nname: never\ndefault: allow\nrules:\n- {id: never, effect: deny, tools: [\"bank.*\"]}\n",
			Format: document.YAML,
		}
		made, err := e.policies.Create(t.Context(), e.owner, source)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.policies.Activate(t.Context(), e.owner, made.ID, 1); err != nil {
			t.Fatal(err)
		}
		more := policy.Bindings{Clients: []string{"bot"}}
		if _, err := e.policies.Bind(t.Context(), e.owner, made.ID, more); !fault.Is(err, fault.Conflict) {
			t.Errorf("bind a policy that counts for everybody: %v, want a conflict", err)
		}
		x, err := e.policies.Check(t.Context(), e.owner, toolcall.Call{Server: "bank", Tool: "pay"})
		if err != nil || x.Decision.Verdict != verdict.Deny {
			t.Errorf("afterwards: %s, %v, want deny", x.Decision.Verdict, err)
		}
		if _, err := e.policies.SetBindings(t.Context(), e.owner, made.ID, more); err != nil {
			t.Errorf("set the bindings instead: %v", err)
		}
	})
}
