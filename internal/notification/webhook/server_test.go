package webhook_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/internal/notification/notice"
	"writ/internal/notification/webhook"
)

const heldURL = "https://writ.example.org/ui/servers/s"

// TestHeldToolsPayloads: each kind of target learns which tools are held and why, as plain text.
func TestHeldToolsPayloads(t *testing.T) {
	t.Parallel()
	held := func(e *notice.Event) {
		*e = notice.Server{
			ID:     "s",
			OrgID:  e.OrgID,
			Name:   "math",
			Tools:  []string{"add <!channel>"},
			More:   2,
			Reason: "the tool is not what a person has accepted",
			At:     e.At,
		}.Event()
	}
	for kind, check := range map[webhook.Kind]func(t *testing.T, body []byte){
		webhook.Generic: checkGenericServer,
		webhook.Slack: func(t *testing.T, body []byte) {
			slack := string(body)
			if strings.Contains(slack, "<!channel>") || !strings.Contains(slack, "<"+heldURL+"|Open the MCP server>") ||
				!strings.Contains(slack, "Why: the tool is not") {
				t.Errorf("slack: %s", slack)
			}
		},
		webhook.Teams: func(t *testing.T, body []byte) {
			teams := string(body)
			if !strings.Contains(teams, `"title":"Open the MCP server"`) ||
				!strings.Contains(teams, `"url":"`+heldURL+`"`) {
				t.Errorf("teams: %s", teams)
			}
		},
	} {
		each(t, func(t *testing.T, e *env) {
			check(t, e.body(webhook.New{Kind: kind, Events: []notice.Kind{notice.ToolsHeld}}, held))
		})
	}
}

func checkGenericServer(t *testing.T, body []byte) {
	t.Helper()
	var generic struct {
		Type    string
		Request any
		Server  map[string]any
	}
	if err := json.Unmarshal(body, &generic); err != nil || generic.Type != "mcp.tools_held" || generic.Request != nil {
		t.Fatalf("%s, %v", body, err)
	}
	want := map[string]any{
		"id": "s", "name": "math", "tools": []any{"add <!channel>"}, "more": 2.0,
		"reason": "the tool is not what a person has accepted", "url": heldURL,
	}
	if diff := cmp.Diff(want, generic.Server); diff != "" {
		t.Error(diff)
	}
}
