package shell

import (
	"strings"
	"testing"
)

// TestDescriptions: our files are read, and say of every program that can be plain what
// its operands are.
func TestDescriptions(t *testing.T) {
	t.Parallel()
	all, err := readPrograms()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 200 {
		t.Errorf("%d programs are described, want 200 or more", len(all))
	}
	for name, p := range all {
		checkDescription(t, name, p)
	}
}

func checkDescription(t *testing.T, name string, p *program) {
	t.Helper()
	if len(p.options) > 250 {
		t.Errorf("%s has %d options, more than an index can hold", name, len(p.options))
	}
	seen := map[string]bool{}
	for _, o := range p.options {
		if seen[o.name] {
			t.Errorf("%s has %s twice", name, o.name)
		}
		seen[o.name] = true
		if strings.Contains(o.name, " ") {
			t.Errorf("%s has an option %q", name, o.name)
		}
	}
	for i := range p.variants {
		for _, o := range p.variants[i].options {
			if !seen[o.name] {
				t.Errorf("%s changes %s, which it does not have", name, o.name)
			}
		}
	}
	if !p.takes.stated && !p.partial && !p.script && !p.dynamic && p.subs == nil && p.read == nil {
		t.Errorf("%s does not say what it takes", name)
	}
	for sub, q := range p.subs {
		checkDescription(t, name+" "+sub, q)
	}
}
