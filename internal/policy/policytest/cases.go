package policytest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"writ/internal/toolcall"
)

// Case is a single test of a suite, for callers that run tests in another way: over
// HTTP, or in a client.
type Case struct {
	Suite *Suite
	Test  Test
}

// Name is the file's name without its ending, and the test's.
func (c Case) Name() string {
	file := filepath.Base(c.Suite.File)
	return strings.TrimSuffix(file, filepath.Ext(file)) + "/" + c.Test.Name
}

// Cases is every test of every suite in a folder. All of the folder's YAML files must
// be suites, and there must be at least one.
func Cases(folder string) ([]Case, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("list the suites: %w", err)
	}
	var cases []Case
	for _, entry := range entries {
		if entry.IsDir() || filepath.Ext(entry.Name()) != ".yaml" {
			continue
		}
		s, err := Load(filepath.Join(folder, entry.Name()))
		if err != nil {
			return nil, err
		}
		for _, test := range s.Tests {
			cases = append(cases, Case{Suite: s, Test: test})
		}
	}
	if len(cases) == 0 {
		return nil, fmt.Errorf("no suite in %s", folder)
	}
	return cases, nil
}

// serverSays finds conditions on what the server itself fills in: the person, the
// organization and the time.
var serverSays = regexp.MustCompile(`\b(user|org|now)\b`)

// Sendable reports whether a server can run the case: it has one policy and a named
// tool, and neither the call nor the policy mentions what the server fills in itself,
// including limits.
func (c Case) Sendable() bool {
	call := c.Test.Call
	if call.CanConfine || call.CanOblige {
		return false
	}
	if len(c.Suite.Policies) != 1 || call.Server == "" || call.Tool == "" || len(c.Test.Spent) > 0 {
		return false
	}
	if call.User != (toolcall.User{}) || call.Org != (toolcall.Org{}) || !call.Now.IsZero() {
		return false
	}
	for _, rule := range c.Suite.Policies[0].Document().Rules {
		if serverSays.MatchString(rule.When) || call.Environment == "" && strings.Contains(rule.When, "environment") {
			return false
		}
	}
	return true
}
