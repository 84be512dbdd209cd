package cli_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

const approvalsPage = "../../docs/approvals.md"

// TestApprovalsPage runs every command of the page on approvals, as
// TestEnforcementPage does.
func TestApprovalsPage(t *testing.T) {
	t.Parallel()
	runPage(t, readBlocks(t, approvalsPage), 6)
}

// TestApprovalsPageRequests checks that the page has every route of approvals, and
// no other. The one by which older SDKs delegate a plan is none of them.
func TestApprovalsPageRequests(t *testing.T) {
	t.Parallel()
	golden, err := os.ReadFile("../api/testdata/routes.golden")
	if err != nil {
		t.Fatalf("read the routes: %v", err)
	}
	routes := map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)^(\w+) +(/delegation/\S+) `).FindAllSubmatch(golden, -1) {
		routes[string(match[1])+" "+string(match[2])] = true
	}
	delete(routes, "POST /delegation/create")
	if len(routes) < 15 {
		t.Fatalf("%d routes of approvals, want at least 15", len(routes))
	}
	for _, row := range tableRows(t, approvalsPage, "request", "") {
		request := strings.Trim(row[0], "`")
		if !routes[request] {
			t.Errorf("%s is no route", request)
		}
		delete(routes, request)
	}
	for route := range routes {
		t.Errorf("the page does not name %s", route)
	}
}
