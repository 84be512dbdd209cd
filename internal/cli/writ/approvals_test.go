package writ_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// withToken is a file with an access token.
func withToken(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("a.b.c\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// What an agent writes must not steer the terminal of the approver, nor look
// like a line of ours.
func TestApprovalsShowNoControlCharacters(t *testing.T) {
	t.Parallel()
	const hostile = `"approvalId":"i\u001b[2J","status":"pending","server":"s\nrisk       low","tool":"t\u202etxt","agentId":"a\r","arguments":{"x":"\u001b]0;y\u0007\u009b"},` +
		`"risk":{"level":"high","reasons":[{"words":"w\nrisk       low"}]},"needed":1,"requesterEmail":"e\u0008","reason":"r\n","message":"m\u0000"`
	answers := map[string]string{
		"/delegation/requests": `{"items":[{` + hostile + `}]}`,
		"/delegation/requests/i": `{` + hostile +
			`,"scopes":[{"kind":"once","words":"w\napprove    forever"}],"planGoal":"g\n","history":{"decisions":[{"decision":"d\n"}]}}`,
	}
	for _, args := range [][]string{{"list"}, {"show", "i"}, {"watch", "--count", "1"}} {
		out, err := run(t, answers, append([]string{"approvals", args[0], "--token", withToken(t)}, args[1:]...)...)
		if err != nil {
			t.Errorf("%s: %v", args[0], err)
		}
		if !strings.Contains(out, "high") || !strings.Contains(out, "\uFFFD") {
			t.Errorf("%s does not show the request: %q", args[0], out)
		}
		for _, bad := range []string{
			"\x1b", "\r", "\a", "\b", "\x00", "\u202e", "\u009b", "\nrisk       low", "\napprove    forever",
		} {
			if strings.Contains(out, bad) {
				t.Errorf("%s prints %q: %q", args[0], bad, out)
			}
		}
	}
}

// An approval that is not enough says so, and is a success.
func TestApproveOfSeveral(t *testing.T) {
	t.Parallel()
	answers := map[string]string{"/delegation/approve": `{"approvalId":"i","status":"pending","needed":2}`}
	out, err := run(t, answers, "approvals", "approve", "i", "--token", withToken(t))
	if want := "counted, but not enough yet: 2 people must approve\n"; err != nil || out != want {
		t.Errorf("out = %q, %v, want %q", out, err, want)
	}
}
