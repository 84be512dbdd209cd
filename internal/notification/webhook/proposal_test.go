package webhook_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/internal/notification/notice"
	"writ/internal/notification/webhook"
)

const proposedURL = "https://writ.example.org/ui/policies/proposals/22222222-2222-4222-8222-222222222222"

// proposed makes the event one of a plugin that chose its words well.
func proposed(e *notice.Event) {
	*e = notice.Proposal{
		ID:            "22222222-2222-4222-8222-222222222222",
		OrgID:         e.OrgID,
		Name:          "mine <!channel>",
		Reason:        "see <https://evil.example|it>\nReason: none",
		PolicyID:      "p",
		PolicyVersion: 3,
		OwnerID:       "u",
		ByKey:         true,
		At:            e.At,
	}.Event()
}

// TestProposalPayloads: each kind of target learns that a profile waits and where,
// and nothing of what it says.
func TestProposalPayloads(t *testing.T) {
	t.Parallel()
	for kind, check := range map[webhook.Kind]func(t *testing.T, body []byte){
		webhook.Generic: checkGenericProposal,
		webhook.Slack: func(t *testing.T, body []byte) {
			slack := string(body)
			if strings.Contains(slack, "<!channel>") || strings.Contains(slack, "<https://evil") ||
				!strings.Contains(slack, "<"+proposedURL+"|Open the proposal>") {
				t.Errorf("slack: %s", slack)
			}
		},
		webhook.Teams: func(t *testing.T, body []byte) {
			teams := string(body)
			if !strings.Contains(teams, `"title":"Open the proposal"`) ||
				!strings.Contains(teams, `"url":"`+proposedURL+`"`) ||
				!strings.Contains(teams, "It has no effect until somebody confirms it") {
				t.Errorf("teams: %s", teams)
			}
		},
	} {
		each(t, func(t *testing.T, e *env) {
			check(t, e.body(webhook.New{Kind: kind, Events: []notice.Kind{notice.ProfileProposed}, SendArguments: true},
				proposed))
		})
	}
}

func checkGenericProposal(t *testing.T, body []byte) {
	t.Helper()
	var generic struct {
		Type, Title string
		Number      int64
		Request     any
		Proposal    map[string]any
	}
	if err := json.Unmarshal(body, &generic); err != nil || generic.Type != "profile.proposed" ||
		generic.Number != 0 || generic.Request != nil {
		t.Fatalf("%s, %v", body, err)
	}
	if generic.Title != `The profile "mine <!channel>" waits for a confirmation` {
		t.Errorf("title: %s", generic.Title)
	}
	want := map[string]any{
		"id": "22222222-2222-4222-8222-222222222222", "name": "mine <!channel>",
		"reason": "see <https://evil.example|it> Reason: none", "policyId": "p",
		"policyVersion": 3.0, "ownerId": "u", "byKey": true, "createdAt": "2030-01-01T12:00:00Z", "url": proposedURL,
	}
	if diff := cmp.Diff(want, generic.Proposal); diff != "" {
		t.Error(diff)
	}
}
