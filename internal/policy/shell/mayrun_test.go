package shell

import (
	"slices"
	"strings"
	"testing"
)

func TestMayRun(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"frob":                               "",
		"frob rm x":                          "rm x",
		"frob /bin/rm":                       "rm",
		"frob --exec=rm -crm @rm !rm a:rm":   "a rm",
		`frob "rm; 'su'do id"`:               "id rm sudo",
		`frob -c "nice -n 5 rm x"`:           "nice rm",
		`frob "frob 'rm x'"`:                 "frob rm",
		`frob "" " " - -- = "= =" "-" . / ;`: "",
		"ls; frob rm":                        "rm",
		"git commit -m 'rm x'":               "",
		"npm test -- rm":                     "",
		"nice rm x":                          "",
		"echo frob rm":                       "",
	} {
		c := Parse(command)
		if got := strings.Join(c.MayRun, " "); got != want || c.Dynamic {
			t.Errorf("%q may run %q, want %q (dynamic %t)", command, got, want, c.Dynamic)
		}
		if c.Plain() && len(c.MayRun) > 0 {
			t.Errorf("%q is plain although it may run %q", command, c.MayRun)
		}
	}
}

// TestMayRunIsBounded: texts in words are read, but no command makes that endless.
func TestMayRunIsBounded(t *testing.T) {
	t.Parallel()
	many := Parse("frob" + strings.Repeat(` "a b"`, maxBytes/6-1))
	if !slices.Contains(many.MayRun, "a") || !slices.Contains(many.Programs, "frob") {
		t.Errorf("of many words %q may run", many.MayRun)
	}
	deep := "rm x"
	for range maxTexts + 2 {
		deep = "frob '" + strings.ReplaceAll(deep, "'", `'\''`) + "'"
		if c := Parse(deep); !slices.Contains(c.MayRun, "rm") && !c.Dynamic {
			t.Errorf("%d bytes of texts within texts hide rm behind %q", len(deep), c.MayRun)
		}
	}
}
