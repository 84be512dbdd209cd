package policies_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/database"
	"writ/internal/testserver"
)

// TestWhoMayDoWhatWithProfiles calls everything as every role and kind of key.
func TestWhoMayDoWhatWithProfiles(t *testing.T) {
	t.Parallel()
	eachStaging(t, func(t *testing.T, w *staging) {
		ctx := t.Context()
		callers := map[string]*client.Client{
			"owner": w.Owner.Client, "agent": w.Public.WithKey(w.AgentKey(w.Owner, w.Org).APIKey), "plugin": w.plugin,
			"drafter": w.Public.WithKey(w.DraftKey(w.Owner, w.Org).APIKey), "unbound": w.UnboundKey(w.Owner),
		}
		for _, role := range []string{"admin", "approver", "member", "viewer"} {
			callers[role] = w.Join(w.Owner, w.Org, role).Client
		}
		other := w.Join(w.Owner, w.Org, "member")
		const (
			reads  = "owner admin approver member viewer drafter plugin"
			drafts = "owner admin approver member drafter plugin"
		)
		for _, action := range []struct {
			name, may string
			do        func(c *client.Client) error
		}{
			{"stage", drafts, func(c *client.Client) error {
				return second(c.StageProfile(ctx, w.Org, json.RawMessage(testserver.Profile("x", "Bash"))))
			}},
			{"propose", drafts, func(c *client.Client) error { return second(c.ProposeProfile(ctx, w.Org, "r")) }},
			{"read the active one", "owner admin approver member viewer agent plugin", func(c *client.Client) error {
				return second(c.ActiveProfile(ctx, w.Org))
			}},
			{"list", reads, func(c *client.Client) error { return second(c.Proposals(ctx, w.Org, "", client.List{})) }},
			{"read", reads, func(c *client.Client) error {
				return second(c.Proposal(ctx, w.Org,
					w.Proposed(other.Client, w.Org, testserver.Profile("o", "Bash")).ID))
			}},
			{"confirm", "owner admin", func(c *client.Client) error {
				// what is in force cannot be proposed
				p := w.Proposed(other.Client, w.Org, testserver.Profile(database.NewID(), "Read"))
				return second(c.ConfirmProfile(ctx, w.Org, p.ID, p.Hash))
			}},
			{"withdraw another's", "owner admin", func(c *client.Client) error {
				return c.WithdrawProposal(ctx, w.Org,
					w.Proposed(other.Client, w.Org, testserver.Profile("o", "Write")).ID)
			}},
		} {
			for who, caller := range callers {
				err := action.do(caller)
				may := slices.Contains(strings.Fields(action.may), who)
				status := client.StatusOf(err)
				switch {
				case may && err != nil:
					t.Errorf("%s by %s: %v, want leave", action.name, who, err)
				case !may && status != http.StatusForbidden && status != http.StatusUnauthorized:
					t.Errorf("%s by %s: %v, want a refusal", action.name, who, err)
				}
			}
		}
	})
}

// TestDraftsAreTheirOwners: a draft is one person's in one organization, by
// whichever key, and nobody proposes another's.
func TestDraftsAreTheirOwners(t *testing.T) {
	t.Parallel()
	eachStaging(t, func(t *testing.T, w *staging) {
		ctx := t.Context()
		if _, err := w.plugin.StageProfile(ctx, "", json.RawMessage(testserver.Profile("mine", "Bash"))); err != nil {
			t.Fatal(err)
		}
		member := w.Join(w.Owner, w.Org, "member")
		_, err := member.ProposeProfile(ctx, w.Org, "another's")
		testserver.WantStatus(t, "propose another's draft", err, http.StatusConflict)
		elsewhere := w.Organization(w.Owner, "Elsewhere")
		_, err = w.Public.WithKey(w.PluginKey(w.Owner, elsewhere)).ProposeProfile(ctx, "", "of another organization")
		testserver.WantStatus(t, "propose a draft of another organization", err, http.StatusConflict)
		proposal, err := w.Public.WithKey(w.PluginKey(w.Owner, w.Org)).ProposeProfile(ctx, "", "by another key of mine")
		if err != nil || proposal.Name != "mine" {
			t.Errorf("propose with another key: %+v, %v", proposal, err)
		}
	})
}

// TestProfilesThatAreRefused: every problem is told at once, as plugins read it.
func TestProfilesThatAreRefused(t *testing.T) {
	t.Parallel()
	eachStaging(t, func(t *testing.T, w *staging) {
		before := w.Dump()
		bad := strings.NewReplacer(`"forbid"`, `"deny"`, `"Bash"`, `"hunter2"`, `"conditions":[]`,
			`"conditions":[{"field":"bash.user","op":"eq","value":"root"}],"note":1`).Replace(testserver.Profile("x",
			"Bash"))
		for _, c := range []struct {
			name, body string
			fields     []string
		}{
			{"several problems", `{"policy":` + bad + `,"dryRun":true}`, []string{
				"dryRun", "policy.statements[0].note", "policy.statements[0].effect", "policy.statements[0].action.eq",
				"policy.statements[0].conditions[0].field",
			}},
			{"no policy", `{}`, []string{"policy"}},
			{"no JSON", `{"policy":`, []string{"body"}},
			{"nothing within", `{"policy":null}`, []string{"policy"}},
			{"a member twice", `{"policy":{},"policy":{}}`, []string{"body"}},
			{
				"another organization's statement",
				`{"policy":` +
					strings.Replace(testserver.Profile("x", "Bash"), `{"type":"agent","id":"*"}`,
						`{"type":"org","id":"x"}`,
						1) + `}`,
				[]string{"policy.statements[0].principal.id"},
			},
			{
				"a pattern too large to be judged",
				`{"policy":` +
					strings.Replace(testserver.Profile("x", "Bash"), `"conditions":[]`,
						`"conditions":[{"field":"bash.raw","op":"matches","value":"(a{0,900}b{0,900})"}]`, 1) + `}`,
				[]string{"policy.statements[0]"},
			},
		} {
			answer := w.Request(t, "PUT", "/policies/profiles/draft", c.body, w.Gemini()...)
			var told struct {
				Message []string
				Details []struct{ Field string }
			}
			if err := json.Unmarshal(answer.Body, &told); err != nil || answer.Status != http.StatusBadRequest ||
				len(told.Message) != len(told.Details) {
				t.Errorf("%s: %d %s (%v), want 400 and a list of messages", c.name, answer.Status, answer.Body, err)
				continue
			}
			var fields []string
			for i, d := range told.Details {
				fields = append(fields, d.Field)
				if !strings.HasPrefix(told.Message[i], d.Field+": ") {
					t.Errorf("%s: the message %q is not about %s", c.name, told.Message[i], d.Field)
				}
			}
			slices.Sort(fields)
			slices.Sort(c.fields)
			if diff := cmp.Diff(c.fields, fields); diff != "" {
				t.Errorf("%s: (-want +got)\n%s\n%s", c.name, diff, answer.Body)
			}
			if strings.Contains(string(answer.Body), "hunter2") {
				t.Errorf("%s: the answer repeats what was sent: %s", c.name, answer.Body)
			}
		}
		for name, answer := range map[string]testserver.Answer{
			"another organization": w.Request(t, "PUT", "/policies/profiles/draft",
				`{"policy":{"rules":[]},"orgId":"org-1"}`, w.Gemini()...),
			"proposed to another": w.Request(t, "POST", "/policies/profiles/propose", `{"orgId":"org-1"}`,
				w.Gemini()...),
		} {
			answer.ErrorFields(t, http.StatusForbidden)
			_ = name
		}
		w.Request(t, "PUT", "/policies/profiles/draft", `{"policy":{"rules":[]}}`, append(w.Gemini(), "Content-Type",
			"application/yaml")...).ErrorFields(t, http.StatusBadRequest)
		if diff := cmp.Diff(before, w.Dump()); diff != "" {
			t.Errorf("something was stored (-before +after):\n%s", diff)
		}
		if answer := w.Request(t, "POST", "/policies/profiles/propose", `{"reason":"`+strings.Repeat("x", 2001)+`"}`,
			w.Gemini()...); !strings.Contains(string(answer.Body), `"message":["reason: `) {
			t.Errorf("a reason too long: %s", answer.Body)
		}
	})
}
