package api_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/database"
)

// TestWhoMayDoWhatWithProfiles calls everything as every role and kind of key.
func TestWhoMayDoWhatWithProfiles(t *testing.T) {
	t.Parallel()
	eachStaging(t, func(t *testing.T, w *staging) {
		ctx := t.Context()
		callers := map[string]*client.Client{
			"owner": w.owner.Client, "agent": w.public.WithKey(w.agentKey(w.owner, w.org).APIKey), "plugin": w.plugin,
			"drafter": w.public.WithKey(w.draftKey(w.owner, w.org).APIKey), "unbound": w.unboundKey(w.owner),
		}
		for _, role := range []string{"admin", "approver", "member", "viewer"} {
			callers[role] = w.join(w.owner, w.org, role).Client
		}
		other := w.join(w.owner, w.org, "member")
		const (
			reads  = "owner admin approver member viewer drafter plugin"
			drafts = "owner admin approver member drafter plugin"
		)
		for _, action := range []struct {
			name, may string
			do        func(c *client.Client) error
		}{
			{"stage", drafts, func(c *client.Client) error {
				return second(c.StageProfile(ctx, w.org, json.RawMessage(profileOf("x", "Bash"))))
			}},
			{"propose", drafts, func(c *client.Client) error { return second(c.ProposeProfile(ctx, w.org, "r")) }},
			{"read the active one", "owner admin approver member viewer agent plugin", func(c *client.Client) error {
				return second(c.ActiveProfile(ctx, w.org))
			}},
			{"list", reads, func(c *client.Client) error { return second(c.Proposals(ctx, w.org, "", client.List{})) }},
			{"read", reads, func(c *client.Client) error {
				return second(c.Proposal(ctx, w.org, w.proposed(other.Client, w.org, profileOf("o", "Bash")).ID))
			}},
			{"confirm", "owner admin", func(c *client.Client) error {
				// what is in force cannot be proposed
				p := w.proposed(other.Client, w.org, profileOf(database.NewID(), "Read"))
				return second(c.ConfirmProfile(ctx, w.org, p.ID, p.Hash))
			}},
			{"withdraw another's", "owner admin", func(c *client.Client) error {
				return c.WithdrawProposal(ctx, w.org, w.proposed(other.Client, w.org, profileOf("o", "Write")).ID)
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
		if _, err := w.plugin.StageProfile(ctx, "", json.RawMessage(profileOf("mine", "Bash"))); err != nil {
			t.Fatal(err)
		}
		member := w.join(w.owner, w.org, "member")
		_, err := member.ProposeProfile(ctx, w.org, "another's")
		wantStatus(t, "propose another's draft", err, http.StatusConflict)
		elsewhere := w.organization(w.owner, "Elsewhere")
		_, err = w.public.WithKey(w.pluginKey(w.owner, elsewhere)).ProposeProfile(ctx, "", "of another organization")
		wantStatus(t, "propose a draft of another organization", err, http.StatusConflict)
		proposal, err := w.public.WithKey(w.pluginKey(w.owner, w.org)).ProposeProfile(ctx, "", "by another key of mine")
		if err != nil || proposal.Name != "mine" {
			t.Errorf("propose with another key: %+v, %v", proposal, err)
		}
	})
}

// TestProfilesThatAreRefused: every problem is told at once, as plugins read it.
func TestProfilesThatAreRefused(t *testing.T) {
	t.Parallel()
	eachStaging(t, func(t *testing.T, w *staging) {
		before := w.dump()
		bad := strings.NewReplacer(`"forbid"`, `"deny"`, `"Bash"`, `"hunter2"`, `"conditions":[]`,
			`"conditions":[{"field":"bash.user","op":"eq","value":"root"}],"note":1`).Replace(profileOf("x", "Bash"))
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
					strings.Replace(profileOf("x", "Bash"), `{"type":"agent","id":"*"}`, `{"type":"org","id":"x"}`,
						1) + `}`,
				[]string{"policy.statements[0].principal.id"},
			},
			{
				"a pattern too large to be judged",
				`{"policy":` +
					strings.Replace(profileOf("x", "Bash"), `"conditions":[]`,
						`"conditions":[{"field":"bash.raw","op":"matches","value":"(a{0,900}b{0,900})"}]`, 1) + `}`,
				[]string{"policy.statements[0]"},
			},
		} {
			answer := w.wire(t, "PUT", "/policies/profiles/draft", c.body, w.gemini()...)
			var told struct {
				Message []string
				Details []struct{ Field string }
			}
			if err := json.Unmarshal(answer.body, &told); err != nil || answer.status != http.StatusBadRequest ||
				len(told.Message) != len(told.Details) {
				t.Errorf("%s: %d %s (%v), want 400 and a list of messages", c.name, answer.status, answer.body, err)
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
				t.Errorf("%s: (-want +got)\n%s\n%s", c.name, diff, answer.body)
			}
			if strings.Contains(string(answer.body), "hunter2") {
				t.Errorf("%s: the answer repeats what was sent: %s", c.name, answer.body)
			}
		}
		for name, answer := range map[string]wireAnswer{
			"another organization": w.wire(t, "PUT", "/policies/profiles/draft",
				`{"policy":{"rules":[]},"orgId":"org-1"}`, w.gemini()...),
			"proposed to another": w.wire(t, "POST", "/policies/profiles/propose", `{"orgId":"org-1"}`, w.gemini()...),
		} {
			answer.errorFields(t, http.StatusForbidden)
			_ = name
		}
		w.wire(t, "PUT", "/policies/profiles/draft", `{"policy":{"rules":[]}}`, append(w.gemini(), "Content-Type",
			"application/yaml")...).errorFields(t, http.StatusBadRequest)
		if diff := cmp.Diff(before, w.dump()); diff != "" {
			t.Errorf("something was stored (-before +after):\n%s", diff)
		}
		if answer := w.wire(t, "POST", "/policies/profiles/propose", `{"reason":"`+strings.Repeat("x", 2001)+`"}`,
			w.gemini()...); !strings.Contains(string(answer.body), `"message":["reason: `) {
			t.Errorf("a reason too long: %s", answer.body)
		}
	})
}
