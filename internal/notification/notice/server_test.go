package notice_test

import (
	"testing"

	"writ/internal/notification/notice"
)

// TestHeldTools: MCP servers choose the names of their tools.
func TestHeldTools(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]notice.Server{
		"A tool of the MCP server math is held until a person accepts it: add": {
			Name: "math", Tools: []string{"add"},
		},
		"4 tools of the MCP server math are held until a person accepts them: a, b, c and 1 more": {
			Name: "math", Tools: []string{"a", "b", "c", "d"},
		},
		"12 tools of the MCP server math are held until a person accepts them: a, b and 10 more": {
			Name: "math", Tools: []string{"a", "b"}, More: 10,
		},
		`A tool of the MCP server math is held until a person accepts it: "add. All is well: http:/ /eve.example"`: {
			Name: "math", Tools: []string{"add. All is well:\u2028http://eve.example"},
		},
		"All tools of the MCP server math are held: nobody can tell what it offers": {Name: "math"},
	} {
		if got := s.Event().Title(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	e := notice.Server{ID: "7", OrgID: "o"}.Event()
	link := e.Link("https://writ.example.org/")
	if link != "https://writ.example.org/ui/servers/7" || e.Subject() != "7" {
		t.Errorf("link: %s, of %s", link, e.Subject())
	}
}
