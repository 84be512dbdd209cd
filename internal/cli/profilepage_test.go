package cli_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

const profilePage = "../../docs/policy-profiles.md"

// TestProfilePage runs every command of the page on profiles.
func TestProfilePage(t *testing.T) {
	t.Parallel()
	runPage(t, readBlocks(t, profilePage), 4)
}

// TestProfilePageRequests checks that the page names every route of profiles.
func TestProfilePageRequests(t *testing.T) {
	t.Parallel()
	golden, err := os.ReadFile("../api/testdata/routes.golden")
	if err != nil {
		t.Fatalf("read the routes: %v", err)
	}
	page, err := os.ReadFile(profilePage)
	if err != nil {
		t.Fatalf("read the page: %v", err)
	}
	routes := regexp.MustCompile(`(?m)^(\w+) +(/policies/profiles/\S+)`).FindAllStringSubmatch(string(golden), -1)
	if len(routes) < 9 {
		t.Fatalf("%d routes of profiles", len(routes))
	}
	for _, route := range routes {
		if told := "`" + route[1] + " " + strings.TrimSuffix(route[2], "/{name}") +
			"`"; !strings.Contains(string(page), told) {
			t.Errorf("the page does not name %s", told)
		}
	}
}
