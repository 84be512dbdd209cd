package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// setfound NAME PATTERN FILE sets a variable to what the group of a pattern matches first in a file.
func setFound(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, !neg && len(args) == 3, "setfound NAME PATTERN FILE")
	found := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile(args[2]))
	needs(ts, len(found) == 2, "a file in which "+args[1]+" is found")
	ts.Setenv(args[0], found[1])
}

// invited E-MAIL FILE waits for the mail with an invitation, and writes its token to a file. The mail is removed, so
// that the next invitation is the one that is found.
func invited(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, !neg && len(args) == 2, "invited E-MAIL FILE")
	deadline := time.Now().Add(2 * time.Minute)
	for {
		mails, err := filepath.Glob(ts.MkAbs("data/outbox/*.eml"))
		ts.Check(err)
		for _, name := range mails {
			text, err := os.ReadFile(name)
			ts.Check(err)
			token := regexp.MustCompile(`inv_[A-Za-z0-9_-]+`).Find(text)
			if token == nil || !strings.Contains(string(text), args[0]) {
				continue
			}
			ts.Check(os.Remove(name))
			ts.Check(os.WriteFile(ts.MkAbs(args[1]), token, 0o600))
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("no invitation of %s was mailed", args[0])
		}
		time.Sleep(20 * time.Millisecond)
	}
}
