package policies_test

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
	"writ/internal/testserver"
)

// What plugins were recorded to stage.
const (
	geminiProfile = `{"schemaVersion":"armor.policy.v1","kind":"PolicyProfile","metadata":{"name":"armorgemini-current","description":"Staged from ArmorGemini /armor:add - no exfil"},"defaults":{"decision":"allow","conflictResolution":"deny_overrides"},"statements":[{"id":"armorgemini-deny-web_fetch","effect":"forbid","principal":{"type":"agent","id":"gemini-cli"},"action":{"type":"tool","eq":"WebFetch"},"resource":{"type":"workspace","scope":"current"},"conditions":[]}]}`
	claudeProfile = `{"schemaVersion":"armor.policy.v1","kind":"PolicyProfile","metadata":{"name":"mine","description":""},"defaults":{"decision":"hold","conflictResolution":"deny_overrides"},"statements":[{"id":"forbid-destructive-bash","effect":"forbid","principal":{"type":"agent","id":"claude-code"},"action":{"type":"tool","eq":"Bash"},"resource":{"type":"workspace","scope":"current"},"conditions":[{"field":"bash.program","op":"in","value":["rm","sudo"]}]},{"id":"allow-read-tools","effect":"permit","principal":{"type":"agent","id":"claude-code"},"action":{"type":"tool","in":["Read","Grep","Glob"]},"resource":{"type":"workspace","scope":"current"},"conditions":[]}]}`
)

// staging is an organization whose plugins stage profiles.
type staging struct {
	*testserver.Published
	plugin *client.Client // of the owner: drafts, and asks for decisions
}

func eachStaging(t *testing.T, body func(t *testing.T, w *staging)) {
	t.Helper()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		w := &staging{Published: &testserver.Published{Server: s, T: t, Owner: s.Person("owner")}}
		w.Org = s.Organization(w.Owner, "Staging")
		w.Key = s.PluginKey(w.Owner, w.Org)
		w.plugin = s.Public.WithKey(w.Key)
		body(t, w)
	})
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
			{"Gemini", geminiProfile, "Staged via /armor:add deny web_fetch (no exfil)", w.Gemini()},
			{
				"Claude", claudeProfile, "Policy synced via /armor (terminal)",
				append(w.Claude(), "Content-Type", "application/json"),
			},
		} {
			before := w.active(plugin.headers)
			if status := w.Request(t, "POST", "/policies/profiles/confirm", `{}`,
				plugin.headers...).Status; status != http.StatusUnauthorized {
				t.Errorf("%s confirms by itself: %d", plugin.name, status)
			}
			body := fmt.Sprintf(`{"policy":%s,"orgId":%q}`, plugin.profile, w.Org)
			if answer := w.Request(t, "PUT", "/policies/profiles/draft", body,
				plugin.headers...); answer.Status != http.StatusOK {
				t.Fatalf("%s, draft: %d %s", plugin.name, answer.Status, answer.Body)
			}
			status, proposed := w.Call("/policies/profiles/propose",
				fmt.Sprintf(`{"reason":%q,"orgId":%q}`, plugin.reason, w.Org), plugin.headers...)
			if status != http.StatusCreated {
				t.Fatalf("%s, propose: %d %v", plugin.name, status, proposed)
			}
			if diff := cmp.Diff(before, w.active(plugin.headers)); diff != "" {
				t.Errorf("%s: what was proposed counts already (-before +after):\n%s", plugin.name, diff)
			}
			open, err := w.Owner.Proposals(t.Context(), w.Org, "open", client.List{})
			if err != nil || len(open.Items) != 1 || open.Items[0].Reason != plugin.reason ||
				open.Items[0].ProposedBy.Kind != "key" || open.Items[0].OwnerID != w.Owner.ID {
				t.Fatalf("%s: open proposals %+v, %v", plugin.name, open, err)
			}
			read, err := w.Owner.Proposal(t.Context(), w.Org, open.Items[0].ID)
			if err != nil || len(read.Explanation) < 2 ||
				!strings.HasPrefix(read.Explanation[0], "When no rule matches: ") ||
				read.Hash != profile.Hash(read.Policy) {
				t.Fatalf("%s: the proposal %+v, %v", plugin.name, read, err)
			}
			confirmed, err := w.Owner.ConfirmProfile(t.Context(), w.Org, read.ID, read.Hash)
			if err != nil || confirmed.State != "confirmed" || !confirmed.Active || confirmed.DecidedBy != w.Owner.ID {
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
		if version := w.active(w.Gemini())["version"]; version != 2.0 {
			t.Errorf("version = %v after two confirmations", version)
		}
	})
}

// active is what GET /policies/profiles/active answers.
func (w *staging) active(headers []string) m {
	w.T.Helper()
	answer := w.Request(w.T, "GET", "/policies/profiles/active", "", headers...)
	if answer.Status != http.StatusOK {
		w.T.Fatalf("active: %d %s", answer.Status, answer.Body)
	}
	members := w.Members("active", answer)
	if _, ok := members["policy"]; !ok {
		w.T.Fatalf("active: no policy, not even null: %s", answer.Body)
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
		member := w.Join(w.Owner, w.Org, "member")
		first := w.Proposed(w.plugin, w.Org, testserver.Profile("first", "Bash"))
		// the same name, and another person
		second := w.Proposed(member.Client, w.Org, testserver.Profile("first", "WebFetch"))
		if first.PolicyID == second.PolicyID {
			t.Fatal("two people propose in one policy")
		}
		for i, proposal := range []client.Proposal{first, second, first} {
			if _, err := w.Owner.ConfirmProfile(ctx, w.Org, proposal.ID, proposal.Hash); err != nil {
				t.Fatalf("confirmation %d: %v", i+1, err)
			}
			active, err := w.plugin.ActiveProfile(ctx, "")
			if err != nil || active.Version != i+1 || active.Hash != proposal.Hash ||
				active.PolicyID != proposal.PolicyID {
				t.Errorf("confirmation %d: %+v, %v, want %s", i+1, active, err, proposal.Hash)
			}
			policies, err := w.Owner.Policies(ctx, client.PolicyFilter{OrganizationID: w.Org, Status: "active"},
				client.List{})
			if err != nil || len(policies.Items) != 1 || policies.Items[0].ID != proposal.PolicyID ||
				policies.Items[0].Face != "profile" {
				t.Errorf("confirmation %d: active policies %+v, %v", i+1, policies.Items, err)
			}
		}
		if _, err := w.Owner.ConfirmProfile(ctx, w.Org, first.ID, first.Hash); err != nil {
			t.Errorf("confirm what is active: %v", err)
		}
		if _, err := w.plugin.StageProfile(ctx, w.Org,
			json.RawMessage(testserver.Profile("first", "Bash"))); err != nil {
			t.Fatal(err)
		}
		_, err := w.plugin.ProposeProfile(ctx, w.Org, "to be sure")
		testserver.WantStatus(t, "propose what is in force", err, http.StatusConflict)
		if err != nil &&
			(!strings.Contains(err.Error(), "in force already") || !strings.Contains(err.Error(), first.ID)) {
			t.Errorf("propose what is in force: %v", err)
		}
		if _, err := w.Owner.DeactivatePolicy(ctx, first.PolicyID); err != nil {
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
	w.T.Helper()
	recorded := w.Recorded(w.Org)
	for _, action := range actions {
		if !slices.Contains(recorded, action) {
			w.T.Errorf("the log has no %s: %v", action, recorded)
		}
	}
}

// TestProposalsThatCannotBeConfirmed: a person confirms what was read, or nothing.
func TestProposalsThatCannotBeConfirmed(t *testing.T) {
	t.Parallel()
	eachStaging(t, func(t *testing.T, w *staging) {
		ctx := t.Context()
		_, err := w.plugin.ProposeProfile(ctx, "", "nothing is staged")
		testserver.WantStatus(t, "propose without a draft", err, http.StatusConflict)
		first := w.Proposed(w.plugin, w.Org, testserver.Profile("a", "Bash"))
		if again := w.Proposed(w.plugin, w.Org, testserver.Profile("a", "Bash")); again.ID != first.ID {
			t.Errorf("the same profile is another proposal: %+v", again)
		}
		confirm := func(p client.Proposal, hash string) error {
			return second(w.Owner.ConfirmProfile(ctx, w.Org, p.ID, hash))
		}
		testserver.WantStatus(t, "another hash", confirm(first, strings.Repeat("0", 64)), http.StatusConflict)
		noHash := confirm(first, "")
		testserver.WantStatus(t, "no hash", noHash, http.StatusBadRequest)
		if noHash != nil && !strings.Contains(noHash.Error(), "the 64 hex digits of the proposal's hash") {
			t.Errorf("no hash: %v", noHash)
		}
		testserver.WantStatus(t, "an unknown proposal",
			second(w.Owner.ConfirmProfile(ctx, w.Org, database.NewID(), first.Hash)),
			http.StatusNotFound)
		next := w.Proposed(w.plugin, w.Org, testserver.Profile("a", "WebFetch"))
		if next.PolicyID != first.PolicyID || next.PolicyVersion != 2 {
			t.Errorf("the next proposal is not the next version: %+v", next)
		}
		testserver.WantStatus(t, "one that was replaced", confirm(first, first.Hash), http.StatusConflict)
		testserver.WantStatus(t, "its hash for the new one", confirm(next, first.Hash), http.StatusConflict)
		if err := w.plugin.WithdrawProposal(ctx, "", next.ID); err != nil {
			t.Fatalf("withdraw: %v", err)
		}
		testserver.WantStatus(t, "one that was withdrawn", confirm(next, next.Hash), http.StatusConflict)
		policies, err := w.Owner.Policies(ctx, client.PolicyFilter{OrganizationID: w.Org, Status: "active"},
			client.List{})
		if err != nil || len(policies.Items) != 0 {
			t.Errorf("active policies %+v, %v", policies.Items, err)
		}
		w.wantRecorded("profile.withdrawn")
		if later := w.Proposed(w.plugin, w.Org, testserver.Profile("a", "Read")); later.State != "open" {
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
		proposal := w.Proposed(w.plugin, w.Org, claudeProfile)
		drafts, err := w.Owner.Policies(ctx, client.PolicyFilter{OrganizationID: w.Org, Status: "draft"}, client.List{})
		if err != nil || len(drafts.Items) != 1 || drafts.Items[0].ID != proposal.PolicyID ||
			drafts.Items[0].Face != "profile" {
			t.Fatalf("drafts: %+v, %v", drafts.Items, err)
		}
		full, err := w.Owner.Policy(ctx, proposal.PolicyID)
		if err != nil || len(full.Rules) != 2 || full.Rules[0].ID != "forbid-destructive-bash" ||
			!strings.Contains(full.Rules[0].Description, "rm or sudo") {
			t.Errorf("the policy: %+v, %v", full, err)
		}
		simulated, err := w.Owner.SimulatePolicy(ctx, w.Org, client.Simulation{
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
			"activate": second(w.Owner.ActivatePolicy(ctx, id, 1)),
			"rollback": second(w.Owner.RollbackPolicy(ctx, id, 1)),
			"update": second(w.Owner.UpdatePolicy(ctx, id, client.YAMLDocument, testserver.PolicyText("x", "allow"),
				0)),
			"import": second(w.Owner.ImportPolicy(ctx, w.Org, client.YAMLDocument,
				testserver.PolicyText(`"`+full.Name+`"`, "allow"))),
			"bind": second(w.Owner.SetBindings(ctx, id, client.Bindings{Roles: []string{"owner"}})),
		} {
			testserver.WantStatus(t, what, err, http.StatusConflict)
		}
		if err := w.Owner.DeletePolicy(ctx, id); err != nil {
			t.Fatalf("delete: %v", err)
		}
		testserver.WantStatus(t, "confirm after the policy was deleted",
			second(w.Owner.ConfirmProfile(ctx, w.Org, proposal.ID, proposal.Hash)), http.StatusNotFound)
		if later := w.Proposed(w.plugin, w.Org, claudeProfile); later.ID == proposal.ID || later.State != "open" {
			t.Errorf("proposed again: %+v", later)
		}
	})
}
