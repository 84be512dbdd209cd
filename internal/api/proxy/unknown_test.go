package proxy_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/client"
)

// TestACallOfAnUnknownToolIsRecorded tries names that no server lists, by every transport. Clients get the error that
// they know, and the log a deny for each.
func TestACallOfAnUnknownToolIsRecorded(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, y *yard) {
		for _, c := range []struct {
			at                 visit
			name, server, tool string
		}{
			{y.one(), "nosuch", "yard", "nosuch"},
			{y.one(), "mcp:resource", "yard", "mcp:resource"},
			{y.one(), "yard__echo", "yard", "yard__echo"},
			{y.all(), "yard__nosuch", "yard", "nosuch"},
			{y.all(), "zz__x", "zz", "zz__x"},
			{y.all(), "nosuch", "local", "nosuch"},
		} {
			for _, version := range []string{withSessions, stateless} {
				c.at.version = version
				y.tryUnknown(t, c.at, c.name, c.server, c.tool)
			}
			c.at.sse, c.at.version = true, withSessions
			y.tryUnknown(t, c.at, c.name, c.server, c.tool)
		}
	})
}

// decided are the decisions of the log, the newest first.
func (y *yard) decided(t *testing.T) []client.LogEntry {
	t.Helper()
	page, err := y.Owner.LogEntries(t.Context(), y.ID, client.LogFilter{Action: "call.decided"})
	if err != nil {
		t.Fatal(err)
	}
	return page.Items
}

// tryUnknown calls a tool that does not exist, and looks at the error and at the record.
func (y *yard) tryUnknown(t *testing.T, v visit, name, server, tool string) {
	t.Helper()
	before := len(y.decided(t))
	_, err := v.connect(t).CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: m{"a": 1}})
	if codeOf(err) != -32602 || !strings.Contains(err.Error(), "unknown tool") {
		t.Errorf("%s: %v", name, err)
	}
	decided := y.decided(t)
	if len(decided) != before+1 {
		t.Errorf("%s: %d decisions", name, len(decided)-before)
		return
	}
	d := decided[0]
	if got := [5]string{d.Decision, d.Policy, d.Rule, d.Server, d.Tool}; got !=
		[5]string{"deny", "writ:mcp", "not_carried", server, tool} {
		t.Errorf("%s: recorded as %v, want %s of %s", name, got, tool, server)
	}
	told, ok := errors.AsType[*jsonrpc.Error](err)
	var data map[string]m
	if !ok || json.Unmarshal(told.Data, &data) != nil || data["writ/decision"]["decisionId"] != d.Subject.ID {
		t.Errorf("%s: the error does not name its decision: %+v", name, told)
	}
}

// TestAnUnknownNameIsCutInTheLog tries names that are too long for the log, and one that is empty.
func TestAnUnknownNameIsCutInTheLog(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, y *yard) {
		s := y.one().connect(t)
		for _, name := range []string{strings.Repeat("x", 100_000), ""} {
			before := len(y.decided(t))
			_, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: m{}})
			if codeOf(err) != -32602 {
				t.Errorf("%.10q: %v", name, err)
			}
			decided := y.decided(t)
			if len(decided) != before+1 || decided[0].Decision != "deny" {
				t.Fatalf("%.10q: %d decisions", name, len(decided)-before)
			}
			if n := len(decided[0].Tool); n > 200 {
				t.Errorf("the log has a name of %d bytes", n)
			}
		}
	})
}
