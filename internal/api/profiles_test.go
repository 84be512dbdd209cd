package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/database"
	"writ/internal/policy/profile"
)

// What plugins were recorded to stage.
const (
	geminiProfile = `{"schemaVersion":"armor.policy.v1","kind":"PolicyProfile","metadata":{"name":"armorgemini-current","description":"Staged from ArmorGemini /armor:add - no exfil"},"defaults":{"decision":"allow","conflictResolution":"deny_overrides"},"statements":[{"id":"armorgemini-deny-web_fetch","effect":"forbid","principal":{"type":"agent","id":"gemini-cli"},"action":{"type":"tool","eq":"WebFetch"},"resource":{"type":"workspace","scope":"current"},"conditions":[]}]}`
	claudeProfile = `{"schemaVersion":"armor.policy.v1","kind":"PolicyProfile","metadata":{"name":"mine","description":""},"defaults":{"decision":"hold","conflictResolution":"deny_overrides"},"statements":[{"id":"forbid-destructive-bash","effect":"forbid","principal":{"type":"agent","id":"claude-code"},"action":{"type":"tool","eq":"Bash"},"resource":{"type":"workspace","scope":"current"},"conditions":[{"field":"bash.program","op":"in","value":["rm","sudo"]}]},{"id":"allow-read-tools","effect":"permit","principal":{"type":"agent","id":"claude-code"},"action":{"type":"tool","in":["Read","Grep","Glob"]},"resource":{"type":"workspace","scope":"current"},"conditions":[]}]}`
)

// staging is an organization whose plugins stage profiles.
type staging struct {
	*wireWorld
	plugin *client.Client // of the owner: drafts, and asks for decisions
}

func eachStaging(t *testing.T, body func(t *testing.T, w *staging)) {
	t.Helper()
	each(t, func(t *testing.T, s *server) {
		w := &staging{wireWorld: &wireWorld{server: s, t: t, owner: s.person("owner")}}
		w.org = s.organization(w.owner, "Staging")
		w.key = s.pluginKey(w.owner, w.org)
		w.plugin = s.public.WithKey(w.key)
		body(t, w)
	})
}

// pluginKey is a key with what a plugin needs.
func (s *server) pluginKey(p *person, orgID string) string {
	s.t.Helper()
	key, err := p.CreateKey(s.t.Context(), client.NewKey{
		Name: "plugin", OrganizationID: orgID, Scopes: []string{"enforce", "policy.draft", "audit", "ingest"},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return key.APIKey
}

// TestPluginsStageWhatAPersonConfirms is the flow of both plugins, request by
// request as they were recorded, and of the person at its end.
func TestPluginsStageWhatAPersonConfirms(t *testing.T) {
	t.Parallel()
	eachStaging(t, func(t *testing.T, w *staging) {
		for _, plugin := range []struct {
			name, profile, reason string
			headers               []string
		}{
			{"Gemini", geminiProfile, "Staged via /armor:add deny web_fetch (no exfil)", w.gemini()},
			{
				"Claude", claudeProfile, "Policy synced via /armor (terminal)",
				append(w.claude(), "Content-Type", "application/json"),
			},
		} {
			before := w.active(plugin.headers)
			if status := w.wire(t, "POST", "/policies/profiles/confirm", `{}`,
				plugin.headers...).status; status != http.StatusUnauthorized {
				t.Errorf("%s confirms by itself: %d", plugin.name, status)
			}
			body := fmt.Sprintf(`{"policy":%s,"orgId":%q}`, plugin.profile, w.org)
			if answer := w.wire(t, "PUT", "/policies/profiles/draft", body,
				plugin.headers...); answer.status != http.StatusOK {
				t.Fatalf("%s, draft: %d %s", plugin.name, answer.status, answer.body)
			}
			status, proposed := w.call("/policies/profiles/propose",
				fmt.Sprintf(`{"reason":%q,"orgId":%q}`, plugin.reason, w.org), plugin.headers...)
			if status != http.StatusCreated {
				t.Fatalf("%s, propose: %d %v", plugin.name, status, proposed)
			}
			if diff := cmp.Diff(before, w.active(plugin.headers)); diff != "" {
				t.Errorf("%s: what was proposed counts already (-before +after):\n%s", plugin.name, diff)
			}
			open, err := w.owner.Proposals(t.Context(), w.org, "open", client.List{})
			if err != nil || len(open.Items) != 1 || open.Items[0].Reason != plugin.reason ||
				open.Items[0].ProposedBy.Kind != "key" || open.Items[0].OwnerID != w.owner.ID {
				t.Fatalf("%s: open proposals %+v, %v", plugin.name, open, err)
			}
			read, err := w.owner.Proposal(t.Context(), w.org, open.Items[0].ID)
			if err != nil || len(read.Explanation) < 2 ||
				!strings.HasPrefix(read.Explanation[0], "When no rule matches: ") ||
				read.Hash != profile.Hash(read.Policy) {
				t.Fatalf("%s: the proposal %+v, %v", plugin.name, read, err)
			}
			confirmed, err := w.owner.ConfirmProfile(t.Context(), w.org, read.ID, read.Hash)
			if err != nil || confirmed.State != "confirmed" || !confirmed.Active || confirmed.DecidedBy != w.owner.ID {
				t.Fatalf("%s: confirm: %+v, %v", plugin.name, confirmed, err)
			}
			active := w.active(plugin.headers)
			if diff := cmp.Diff(decoded(t, []byte(plugin.profile)), active["policy"]); diff != "" {
				t.Errorf("%s: the active profile (-staged +active):\n%s", plugin.name, diff)
			}
			if active["hash"] != read.Hash {
				t.Errorf("%s: active %v, want the hash %s", plugin.name, active, read.Hash)
			}
		}
		if version := w.active(w.gemini())["version"]; version != 2.0 {
			t.Errorf("version = %v after two confirmations", version)
		}
	})
}

// active is what GET /policies/profiles/active answers.
func (w *staging) active(headers []string) m {
	w.t.Helper()
	answer := w.wire(w.t, "GET", "/policies/profiles/active", "", headers...)
	if answer.status != http.StatusOK {
		w.t.Fatalf("active: %d %s", answer.status, answer.body)
	}
	members := w.members("active", answer)
	if _, ok := members["policy"]; !ok {
		w.t.Fatalf("active: no policy, not even null: %s", answer.body)
	}
	return members
}

func decoded(t *testing.T, text []byte) any {
	t.Helper()
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// TestOneProfileIsActive: confirming replaces, whoever proposed; going back is
// confirming again.
func TestOneProfileIsActive(t *testing.T) {
	t.Parallel()
	eachStaging(t, func(t *testing.T, w *staging) {
		ctx := t.Context()
		member := w.join(w.owner, w.org, "member")
		first := w.proposed(w.plugin, w.org, profileOf("first", "Bash"))
		second := w.proposed(member.Client, w.org, profileOf("first", "WebFetch")) // the same name, and another person
		if first.PolicyID == second.PolicyID {
			t.Fatal("two people propose in one policy")
		}
		for i, proposal := range []client.Proposal{first, second, first} {
			if _, err := w.owner.ConfirmProfile(ctx, w.org, proposal.ID, proposal.Hash); err != nil {
				t.Fatalf("confirmation %d: %v", i+1, err)
			}
			active, err := w.plugin.ActiveProfile(ctx, "")
			if err != nil || active.Version != i+1 || active.Hash != proposal.Hash ||
				active.PolicyID != proposal.PolicyID {
				t.Errorf("confirmation %d: %+v, %v, want %s", i+1, active, err, proposal.Hash)
			}
			policies, err := w.owner.Policies(ctx, client.PolicyFilter{OrganizationID: w.org, Status: "active"},
				client.List{})
			if err != nil || len(policies.Items) != 1 || policies.Items[0].ID != proposal.PolicyID ||
				policies.Items[0].Face != "profile" {
				t.Errorf("confirmation %d: active policies %+v, %v", i+1, policies.Items, err)
			}
		}
		if _, err := w.owner.ConfirmProfile(ctx, w.org, first.ID, first.Hash); err != nil {
			t.Errorf("confirm what is active: %v", err)
		}
		if _, err := w.plugin.StageProfile(ctx, w.org, json.RawMessage(profileOf("first", "Bash"))); err != nil {
			t.Fatal(err)
		}
		_, err := w.plugin.ProposeProfile(ctx, w.org, "to be sure")
		wantStatus(t, "propose what is in force", err, http.StatusConflict)
		if err != nil &&
			(!strings.Contains(err.Error(), "in force already") || !strings.Contains(err.Error(), first.ID)) {
			t.Errorf("propose what is in force: %v", err)
		}
		if _, err := w.owner.DeactivatePolicy(ctx, first.PolicyID); err != nil {
			t.Fatal(err)
		}
		if active, err := w.plugin.ActiveProfile(ctx, ""); err != nil || string(active.Policy) != "null" ||
			active.Version != 0 {
			t.Errorf("after it was deactivated: %+v, %v", active, err)
		}
		w.wantRecorded("profile.proposed", "profile.confirmed", "policy.activated", "policy.deactivated")
	})
}

func (w *staging) wantRecorded(actions ...string) {
	w.t.Helper()
	recorded := w.recorded(w.org)
	for _, action := range actions {
		if !slices.Contains(recorded, action) {
			w.t.Errorf("the log has no %s: %v", action, recorded)
		}
	}
}

// TestProposalsThatCannotBeConfirmed: a person confirms what was read, or nothing.
func TestProposalsThatCannotBeConfirmed(t *testing.T) {
	t.Parallel()
	eachStaging(t, func(t *testing.T, w *staging) {
		ctx := t.Context()
		_, err := w.plugin.ProposeProfile(ctx, "", "nothing is staged")
		wantStatus(t, "propose without a draft", err, http.StatusConflict)
		first := w.proposed(w.plugin, w.org, profileOf("a", "Bash"))
		if again := w.proposed(w.plugin, w.org, profileOf("a", "Bash")); again.ID != first.ID {
			t.Errorf("the same profile is another proposal: %+v", again)
		}
		confirm := func(p client.Proposal, hash string) error {
			return second(w.owner.ConfirmProfile(ctx, w.org, p.ID, hash))
		}
		wantStatus(t, "another hash", confirm(first, strings.Repeat("0", 64)), http.StatusConflict)
		noHash := confirm(first, "")
		wantStatus(t, "no hash", noHash, http.StatusBadRequest)
		if noHash != nil && !strings.Contains(noHash.Error(), "the 64 hex digits of the proposal's hash") {
			t.Errorf("no hash: %v", noHash)
		}
		wantStatus(t, "an unknown proposal", second(w.owner.ConfirmProfile(ctx, w.org, database.NewID(), first.Hash)),
			http.StatusNotFound)
		next := w.proposed(w.plugin, w.org, profileOf("a", "WebFetch"))
		if next.PolicyID != first.PolicyID || next.PolicyVersion != 2 {
			t.Errorf("the next proposal is not the next version: %+v", next)
		}
		wantStatus(t, "one that was replaced", confirm(first, first.Hash), http.StatusConflict)
		wantStatus(t, "its hash for the new one", confirm(next, first.Hash), http.StatusConflict)
		if err := w.plugin.WithdrawProposal(ctx, "", next.ID); err != nil {
			t.Fatalf("withdraw: %v", err)
		}
		wantStatus(t, "one that was withdrawn", confirm(next, next.Hash), http.StatusConflict)
		policies, err := w.owner.Policies(ctx, client.PolicyFilter{OrganizationID: w.org, Status: "active"},
			client.List{})
		if err != nil || len(policies.Items) != 0 {
			t.Errorf("active policies %+v, %v", policies.Items, err)
		}
		w.wantRecorded("profile.withdrawn")
		if later := w.proposed(w.plugin, w.org, profileOf("a", "Read")); later.State != "open" {
			t.Errorf("a proposal after a withdrawal: %+v", later)
		}
	})
}

// TestProposalsAreDraftPolicies: they are listed, explained and compared as such,
// and cannot be put in force or changed by another way.
func TestProposalsAreDraftPolicies(t *testing.T) {
	t.Parallel()
	eachStaging(t, func(t *testing.T, w *staging) {
		ctx := t.Context()
		proposal := w.proposed(w.plugin, w.org, claudeProfile)
		drafts, err := w.owner.Policies(ctx, client.PolicyFilter{OrganizationID: w.org, Status: "draft"}, client.List{})
		if err != nil || len(drafts.Items) != 1 || drafts.Items[0].ID != proposal.PolicyID ||
			drafts.Items[0].Face != "profile" {
			t.Fatalf("drafts: %+v, %v", drafts.Items, err)
		}
		full, err := w.owner.Policy(ctx, proposal.PolicyID)
		if err != nil || len(full.Rules) != 2 || full.Rules[0].ID != "forbid-destructive-bash" ||
			!strings.Contains(full.Rules[0].Description, "rm or sudo") {
			t.Errorf("the policy: %+v, %v", full, err)
		}
		simulated, err := w.owner.SimulatePolicy(ctx, w.org, client.Simulation{
			PolicyID: proposal.PolicyID,
			Call: client.ToolCall{
				Server: "claude-code", Tool: "Bash", Arguments: json.RawMessage(`{"command":"ls; rm x"}`),
			},
		})
		if err != nil || simulated.Decision != "deny" {
			t.Errorf("simulated: %+v, %v", simulated, err)
		}
		id := proposal.PolicyID
		for what, err := range map[string]error{
			"activate": second(w.owner.ActivatePolicy(ctx, id, 1)),
			"rollback": second(w.owner.RollbackPolicy(ctx, id, 1)),
			"update":   second(w.owner.UpdatePolicy(ctx, id, client.YAMLDocument, policyText("x", "allow"), 0)),
			"import": second(w.owner.ImportPolicy(ctx, w.org, client.YAMLDocument,
				policyText(`"`+full.Name+`"`, "allow"))),
			"bind": second(w.owner.SetBindings(ctx, id, client.Bindings{Roles: []string{"owner"}})),
		} {
			wantStatus(t, what, err, http.StatusConflict)
		}
		if err := w.owner.DeletePolicy(ctx, id); err != nil {
			t.Fatalf("delete: %v", err)
		}
		wantStatus(t, "confirm after the policy was deleted",
			second(w.owner.ConfirmProfile(ctx, w.org, proposal.ID, proposal.Hash)), http.StatusNotFound)
		if later := w.proposed(w.plugin, w.org, claudeProfile); later.ID == proposal.ID || later.State != "open" {
			t.Errorf("proposed again: %+v", later)
		}
	})
}
