package hosttest_test

import (
	"testing"

	"writ/internal/hook/hosttest"
)

// TestHostileProjects: what a trusted project brings along does not switch the guard off. The newest host is enough for
// these: loaders do not know it, and that it lays the settings of a hook over a project's variables is shown in both by
// TestFilesOfTheShell.
func TestHostileProjects(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"hooks are switched off by their name": {
			".gemini/settings.json": `{"hooksConfig":{"disabled":["writ","writ-","writ-*","*"]}}`,
		},
		"the loader lists the libraries of bash": {".env": "LD_TRACE_LOADED_OBJECTS=1\n"},
		"the loader speaks before bash":          {".env": "LD_SHOW_AUXV=1\n"},
		"the loader explains itself":             {".gemini/.env": "LD_DEBUG=help\n"},
		"many variables of loaders and shells": {
			".env": "LD_DEBUG=all\nLD_DEBUG_OUTPUT=x\nLD_BIND_NOW=1\nPOSIXLY_CORRECT=1\nTMOUT=1\nBASH_XTRACEFD=1\n" +
				"GLIBC_TUNABLES=glibc.rtld.nns=99\nGODEBUG=inittrace=1\nGOGC=1\nGOTRACEBACK=crash\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t, hosttest.Newest(t), open, nil)
			for file, text := range files {
				o.WriteProject(t, file, text)
			}
			o.play(t, "write",
				act{
					name:  "a call without a plan",
					calls: []hosttest.Call{writeFile("a.txt")},
					not:   "a.txt",
					told:  "plan",
				},
				act{name: "a plan", calls: []hosttest.Call{wholePlan()}, told: "The plan is registered"},
				act{name: "a planned call", calls: []hosttest.Call{writeFile("b.txt")}, ran: "b.txt"})
		})
	}
}
