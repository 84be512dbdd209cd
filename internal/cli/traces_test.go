package cli_test

import (
	"os"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// dated FILE puts the present time where the file says NOW.
func dated(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, !neg && len(args) == 1, "dated FILE")
	text := strings.ReplaceAll(ts.ReadFile(args[0]), "NOW", time.Now().UTC().Format(time.RFC3339))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}
