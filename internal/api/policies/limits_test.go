package policies_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"writ/client"
	"writ/internal/database"
	"writ/internal/testserver"
)

// caller is whom a call is counted for, as an agent says it.
type caller struct{ agent, user, session string }

// enforced is a call of a tool of the bank as an agent makes it.
func enforced(b *testserver.Org, by caller, tool string) client.Decision {
	b.T.Helper()
	var d client.Decision
	err := b.Agent.Call(b.T.Context(), http.MethodPost, "/iap/enforce", nil, map[string]any{
		"tool_name": tool, "tool_input": map[string]any{},
		"mcp_context": map[string]any{"server_name": "bank", "tool_name": tool},
		"agent_id":    by.agent, "user_id": by.user, "session_id": by.session,
	}, &d)
	if err != nil {
		b.T.Fatalf("enforce: %v", err)
	}
	return d
}

// limitedYAML has a tool for each subject of limits, with one limit each.
func limitedYAML(limit string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "version: v1\nname: %s\ndefault: allow\nrules:\n", strings.ReplaceAll(limit, ": ", "-"))
	for _, by := range []string{"agent", "session", "user", "org"} {
		fmt.Fprintf(&text, "  - {id: by-%s, effect: deny, tools: [\"bank.by_%s\"], limit: {%s, per: 31d, by: %s}}\n",
			by, by, limit, by)
	}
	return text.String()
}

// others are callers that differ from one in everything but what a limit counts
// by, and in that alone.
func (c caller) others(by string) (same, other caller) {
	stranger := caller{"stranger", database.NewID(), database.NewID()}
	same, other = stranger, c
	switch by {
	case "agent":
		same.agent, other.agent = c.agent, stranger.agent
	case "session":
		same.session, other.session = c.session, stranger.session
	case "user":
		same.user, other.user = c.user, stranger.user
	}
	return same, other
}

// TestLimitsOfEachSubject spends limits of calls, cost and tokens, each counted by
// agent, session, user and organization, and asks for all who share one and who
// do not.
func TestLimitsOfEachSubject(t *testing.T) {
	t.Parallel()
	for _, limit := range []string{"calls: 1", "cost: 1.50", "tokens: 100"} {
		t.Run(limit, func(t *testing.T) {
			t.Parallel()
			testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
				b.ActivePolicy(b.Owner, b.ID, limitedYAML(limit))
				me := caller{"bot", b.Owner.ID, database.NewID()}
				for _, by := range []string{"agent", "session", "user", "org"} {
					if d := enforced(b, me, "by_"+by); !d.Allowed {
						t.Errorf("by %s, the first call: %+v", by, d)
					}
				}
				if limit != "calls: 1" {
					report(b, me, 2, 150)
				}
				for _, by := range []string{"agent", "session", "user", "org"} {
					same, other := me.others(by)
					for _, who := range []caller{me, same} {
						if d := enforced(b, who, "by_"+by); d.Allowed || !strings.Contains(d.Reason, "by-"+by) ||
							!strings.Contains(d.Reason, "is spent") {
							t.Errorf("by %s, once it is spent: %+v", by, d)
						}
					}
					if d := enforced(b, other, "by_"+by); d.Allowed != (by != "org") {
						t.Errorf("by %s, for another: %+v", by, d)
					}
				}
			})
		})
	}
}

// report has a caller tell what it cost.
func report(b *testserver.Org, by caller, dollars, tokens int) {
	b.T.Helper()
	at := time.Now().UTC().Format(time.RFC3339)
	trace := map[string]any{"id": database.NewID(), "name": "t", "agentId": by.agent, "startTime": at, "status": "ok"}
	if by.user != "" {
		trace["userId"] = by.user
	}
	if by.session != "" {
		trace["sessionId"] = by.session
	}
	batch, err := json.Marshal(map[string]any{"trace": trace, "spans": []any{map[string]any{
		"id": database.NewID(), "kind": "generation", "name": "g", "startTime": at,
		"attributes": map[string]any{"model": "m", "inputTokens": tokens, "costUsd": dollars},
	}}})
	if err != nil {
		b.T.Fatal(err)
	}
	got, err := b.Agent.Ingest(b.T.Context(), client.Spans{Product: "p", Batches: []json.RawMessage{batch}})
	if err != nil || got.Accepted != 1 {
		b.T.Fatalf("report what was spent: %+v, %v", got, err)
	}
}
