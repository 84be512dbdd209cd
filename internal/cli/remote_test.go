package cli_test

import (
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"
)

// repin FILE puts the keys of a file where those of every server are pinned.
func rePin(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, !neg && len(args) == 1, "repin FILE")
	pins, err := filepath.Glob(filepath.Join(ts.Getenv("XDG_CONFIG_HOME"), "writ", "log-keys", "*.txt"))
	ts.Check(err)
	needs(ts, len(pins) == 1, "one server's keys are pinned")
	ts.Check(os.WriteFile(pins[0], []byte(ts.ReadFile(args[0])), 0o600))
}
