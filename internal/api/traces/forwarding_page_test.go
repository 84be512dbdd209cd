package traces_test

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/internal/testserver"
)

// pageCall is a call of curl on the page, and the answer shown behind it, if any.
type pageCall struct {
	method, path string
	body         map[string]any
	answer       map[string]any
}

var (
	pageBlocks = regexp.MustCompile("(?s)```(sh|json)\n(.*?)```")
	pageMethod = regexp.MustCompile(`-X ([A-Z]+)`)
	pagePath   = regexp.MustCompile(`"\$WRIT(/[^"]*)"`)
	pageBody   = regexp.MustCompile(`(?s)-d '(.*?)'`)
)

// forwardingPage reads the calls of docs/forwarding.md.
func forwardingPage(t *testing.T) (calls []pageCall) {
	t.Helper()
	text, err := os.ReadFile("../../../docs/forwarding.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range pageBlocks.FindAllStringSubmatch(string(text), -1) {
		if block[1] == "json" {
			if len(calls) == 0 || json.Unmarshal([]byte(block[2]), &calls[len(calls)-1].answer) != nil {
				t.Fatalf("an answer that is none: %s", block[2])
			}
			continue
		}
		c := pageCall{method: "GET"}
		if m := pageMethod.FindStringSubmatch(block[2]); m != nil {
			c.method = m[1]
		}
		if m := pagePath.FindStringSubmatch(block[2]); m != nil {
			c.path = m[1]
		}
		if m := pageBody.FindStringSubmatch(block[2]); m != nil {
			if err := json.Unmarshal([]byte(strings.ReplaceAll(m[1], "…", "some-key")), &c.body); err != nil {
				t.Fatalf("%s: %v", m[1], err)
			}
		}
		calls = append(calls, c)
	}
	return calls
}

// TestForwardingPage makes the calls that the page shows, and wants answers with the
// members that it shows.
func TestForwardingPage(t *testing.T) {
	t.Parallel()
	calls := forwardingPage(t)
	if len(calls) != 3 {
		t.Fatalf("the page has %d calls, want 3", len(calls))
	}
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		org := s.Organization(owner, "Reads pages")
		for _, c := range calls {
			var body any
			if c.body != nil {
				body = c.body
			}
			var answer map[string]any
			if err := owner.Call(t.Context(), c.method, strings.ReplaceAll(c.path, "$ORG", org), nil, body,
				&answer); err != nil {
				t.Errorf("%s %s: %v", c.method, c.path, err)
			}
			if c.answer == nil {
				continue
			}
			if diff := cmp.Diff(membersOf(c.answer), membersOf(answer)); diff != "" {
				t.Errorf("%s %s answers with other members than the page shows (-page +answer):\n%s", c.method, c.path,
					diff)
			}
		}
	})
}

// membersOf are the names of an object's members, and of those in it.
func membersOf(object map[string]any) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		names = append(names, name)
		if inner, ok := object[name].(map[string]any); ok {
			for _, n := range membersOf(inner) {
				names = append(names, name+"."+n)
			}
		}
	}
	return names
}
