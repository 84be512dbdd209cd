package cli_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

const workPage = "../../docs/policy-at-work.md"

// TestPolicyAtWorkPage goes the way from an incident to a policy in force, as the
// page does.
func TestPolicyAtWorkPage(t *testing.T) {
	t.Parallel()
	runPage(t, readBlocks(t, workPage), 8)
}

// TestPolicyAtWorkPageRequests checks that the requests that the page names beside
// its commands are routes.
func TestPolicyAtWorkPageRequests(t *testing.T) {
	t.Parallel()
	golden, err := os.ReadFile("../api/testdata/routes.golden")
	if err != nil {
		t.Fatalf("read the routes: %v", err)
	}
	routes := map[string]bool{}
	for line := range strings.Lines(string(golden)) {
		if words := strings.Fields(line); len(words) > 1 {
			routes[words[0]+" "+words[1]] = true
		}
	}
	page, err := os.ReadFile(workPage)
	if err != nil {
		t.Fatalf("read the page: %v", err)
	}
	named := regexp.MustCompile("`((?:GET|POST|PUT|PATCH|DELETE) /[^`?]*)`").FindAllStringSubmatch(string(page), -1)
	if len(named) < 7 {
		t.Errorf("%d requests are named, want at least 7: is the page read as it is written?", len(named))
	}
	for _, request := range named {
		if !routes[request[1]] {
			t.Errorf("%s is no route", request[1])
		}
	}
}
