package expression

import (
	"encoding/json"
	"os"
	"strings"
	"sync"
	"testing"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/ext"
)

// TestAFreshEnvironmentIsShared has the race detector look at the first uses of
// environments: a name that is not known, beside a condition with a scope.
func TestAFreshEnvironmentIsShared(t *testing.T) {
	t.Parallel()
	for range 20 {
		env, err := newEnvironment()
		if err != nil {
			t.Fatal(err)
		}
		var uses sync.WaitGroup
		for _, text := range []string{"nobody()", "args.list.exists(x, [x].all(y, y == 1))"} {
			uses.Go(func() {
				parsed, issues := env.Parse(text)
				if issues.Err() != nil {
					t.Error(issues.Err())
					return
				}
				env.Check(parsed)
			})
		}
		uses.Wait()
	}
}

// TestEditorsHelpWithEveryName: the schema of policies describes what conditions may use, for editors. It must know all
// that we add to CEL, and nothing that is not there.
func TestEditorsHelpWithEveryName(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../document/schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs struct {
			Rule struct {
				Properties struct {
					When struct {
						Names []struct{ Name, Form, Help string } `json:"x-names"`
					} `json:"when"`
				} `json:"properties"`
			} `json:"rule"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	described := map[string]bool{}
	for _, n := range schema.Defs.Rule.Properties.When.Names {
		if n.Form == "" || n.Help == "" || described[n.Name] {
			t.Errorf("%s is described as %+v", n.Name, n)
		}
		described[n.Name] = true
		for member := range membersOf(n.Name) {
			if !strings.Contains(n.Form+",", "."+member+",") {
				t.Errorf("of %s, %q does not name %s", n.Name, n.Form, member)
			}
		}
	}
	ours, err := newEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	plain, err := cel.NewEnv(cel.OptionalTypes(), ext.TwoVarComprehensions())
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, m := range ours.Macros() {
		known[m.Function()] = true
	}
	for name := range ours.Functions() {
		known[name] = true
		if !plain.HasFunction(name) && !described[name] {
			t.Errorf("the function %s is not described", name)
		}
	}
	standard := map[string]bool{}
	for _, v := range plain.Variables() {
		standard[v.Name()] = true
	}
	for _, v := range ours.Variables() {
		known[v.Name()] = true
		if !standard[v.Name()] && !described[v.Name()] {
			t.Errorf("the variable %s is not described", v.Name())
		}
	}
	for name := range described {
		if !known[name] {
			t.Errorf("%s is described and does not exist", name)
		}
	}
}

// membersOf are the members of a variable of a call.
func membersOf(variable string) map[string]*types.FieldType {
	of := map[string]*kind{
		"agent": agentKind, "user": userKind, "org": orgKind, "session": sessionKind, "intent": intentKind,
	}[variable]
	if of == nil {
		return nil
	}
	return of.fields
}
