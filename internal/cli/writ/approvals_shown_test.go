package writ_test

import (
	"strings"
	"testing"
)

// shown is what a command about approvals prints.
func shown(t *testing.T, answers map[string]string, args ...string) string {
	t.Helper()
	out, err := run(t, answers, append([]string{"approvals", args[0], "--token", withToken(t)}, args[1:]...)...)
	if err != nil {
		t.Errorf("%s: %v", args[0], err)
	}
	return out
}

// TestApprovalsShowWhatIsInDoubt, also where a rule held the call, and that nobody has seen the arguments.
func TestApprovalsShowWhatIsInDoubt(t *testing.T) {
	t.Parallel()
	const doubted = `{"approvalId":"i","status":"pending","server":"post","tool":"send","rule":"h","needed":1,` +
		`"grounding":[{"argument":"to","origin":"text","of":"read_file","ordered":true},{"argument":"to","origin":"nowhere"}]}`
	const unseen = `{"approvalId":"i","status":"pending","server":"post","tool":"send","needed":1,"argumentsFrom":"unknown"}`
	for name, c := range map[string]struct{ request, list, show string }{
		"in doubt": {doubted, "post.send (in doubt: to)",
			"in doubt   to: stands only in running text of read_file, which orders to use it"},
		"unseen": {unseen, "post.send (arguments unknown)", "arguments  unknown: nobody has seen them"},
	} {
		answers := map[string]string{
			"/delegation/requests": `{"items":[` + c.request + `]}`, "/delegation/requests/i": c.request,
		}
		for command, want := range map[string]string{"list": c.list, "watch": c.list, "show": c.show} {
			args := map[string][]string{"list": {"list"}, "watch": {"watch", "--count", "1"}, "show": {"show", "i"}}
			if out := shown(t, answers, args[command]...); !strings.Contains(out, want) {
				t.Errorf("%s, %s: %q does not have %q", name, command, out, want)
			}
		}
	}
}

// TestApprovalsThatPermitNothing: of a stopped agent, and of an approver who lost the right.
func TestApprovalsThatPermitNothing(t *testing.T) {
	t.Parallel()
	const stopped = "approved, but permits nothing any more: its agent or key was stopped"
	for name, c := range map[string]struct{ request, show, list string }{
		"not used": {`{"approvalId":"i","status":"approved","withdrawn":true,"grantExpiresAt":"2999-01-01T00:00:00Z"}`,
			stopped, "approved, withdrawn"},
		"standing": {`{"approvalId":"i","status":"approved","withdrawn":true}`, stopped, "approved, withdrawn"},
		"used":     {`{"approvalId":"i","status":"approved","withdrawn":true,"used":true}`, "approved, and used", "approved  "},
		"cancelled": {`{"approvalId":"i","status":"cancelled","withdrawn":true}`,
			"cancelled: its agent or key was stopped", "cancelled"},
	} {
		answers := map[string]string{
			"/delegation/requests": `{"items":[` + c.request + `]}`, "/delegation/requests/i": c.request,
		}
		if out := shown(t, answers, "show", "i"); !strings.Contains(out, c.show) {
			t.Errorf("%s: %q", name, out)
		}
		if out := shown(t, answers, "list", "--status", "any"); !strings.Contains(out, c.list) {
			t.Errorf("%s, listed: %q", name, out)
		}
	}
	answers := map[string]string{
		"/delegation/allows":      `{"items":[{"id":"s","tool":"t","permits":"Any call.","lapsed":true,"expiresAt":"2999-01-01T00:00:00Z"}]}`,
		"/organization/o/members": `{"items":[]}`,
		"/organization":           `{"items":[{"id":"o"}]}`,
	}
	out := shown(t, answers, "standing")
	if !strings.Contains(out, "lapsed") || !strings.Contains(out, "nothing, until") {
		t.Errorf("a lapsed approval: %q", out)
	}
}
