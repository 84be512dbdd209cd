package beforetool

import (
	"os"
	"path/filepath"

	"writ/internal/hook"
	"writ/internal/hook/selfguard"
)

// protect is the reason why a call is denied that would reach the guard itself; empty: it would not. A plan may name
// anything: its calls are judged when they are made.
func (c *call) protect() string {
	if c.IsOwn() {
		return ""
	}
	if file, variable := escapeIn(c.Input); variable != "" {
		return "Writ denies this: " + file + " sets " + variable +
			", by which the shell would run something else before the " +
			"command. A person must take it out and start the agent again."
	}
	return protected(c.Input).Check(c.Payload)
}

// protected is what no call may touch on this machine.
func protected(in *hook.Input) *selfguard.Guard {
	guard := in.Guard
	home, _ := os.UserHomeDir() // unknown: what is below it is found by its names
	g := &selfguard.Guard{
		Home:     home,
		Secrets:  []string{guard.Path(), guard.StateDir},
		Settings: append([]string{}, guard.Protected...),
		Programs: []string{guard.Writ, guard.PlanServer, guard.Client(),
			filepath.Join(filepath.Dir(guard.Path()), "shell")}, // the host's shell for hooks
		Real:   realPath,
		Exists: exists,

		Workspace: in.CWD,
	}
	if folder := filepath.Dir(guard.Path()); filepath.Base(folder) == "writ" {
		g.Secrets = append(g.Secrets, folder)
	}
	if folder, err := os.UserConfigDir(); err == nil {
		g.Secrets = append(g.Secrets, filepath.Join(folder, "writ"))
	}
	if home != "" {
		g.Secrets = append(g.Secrets, filepath.Join(home, ".config", "writ"), filepath.Join(home, ".armoriq"))
	}
	if guard.Manifest != "" {
		g.Settings = append(g.Settings, guard.Manifest)
	}
	return g
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
