package policy_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/policy"
	"writ/internal/policy/document"
	"writ/internal/principal"
	"writ/internal/testenv"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

func bankCall() toolcall.Call { return toolcall.Call{Server: "bank", Tool: "send_money"} }

// TestEditsDoNotCount: only activation moves what calls are judged by.
func TestEditsDoNotCount(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		if d := e.say(bankCall()); d.Verdict != verdict.Deny || !strings.Contains(d.Reason, "no active policy") {
			t.Errorf("without a policy: %+v", d)
		}
		full := e.create(yaml("pay", "allow *"))
		e.wantVerdict("a draft that allows", verdict.Deny)
		e.activate(full.ID, policy.LatestVersion)
		e.wantVerdict("active", verdict.Allow)
		e.update(full.ID, yaml("pay", "deny *"))
		e.wantVerdict("after an edit", verdict.Allow)
		got := e.activate(full.ID, 2)
		e.wantVerdict("after activating the edit", verdict.Deny)
		if got.ActiveVersion != 2 || got.Status() != policy.Active {
			t.Errorf("activated %+v", got.Policy)
		}
		e.activate(full.ID, 1)
		e.wantVerdict("after activating the first version again", verdict.Allow)
		off, err := e.policies.Deactivate(t.Context(), e.owner, full.ID)
		if err != nil || off.Status() != policy.Inactive {
			t.Errorf("deactivated %+v, %v", off, err)
		}
		e.wantVerdict("inactive", verdict.Deny)
	})
}

func (e *env) activate(id string, number int) policy.Full {
	e.T.Helper()
	full, err := e.policies.Activate(e.T.Context(), e.owner, id, number)
	if err != nil {
		e.T.Fatalf("activate: %v", err)
	}
	return full
}

func (e *env) update(id string, source policy.Source) policy.Full {
	e.T.Helper()
	full, err := e.policies.Update(e.T.Context(), e.owner, id, source, policy.AnyVersion)
	if err != nil {
		e.T.Fatalf("update: %v", err)
	}
	return full
}

// TestNobodySlipsVersionsIn: who activates "the latest" has seen what they wrote
// last themselves, not what somebody else wrote since.
func TestNobodySlipsVersionsIn(t *testing.T) {
	t.Parallel()
	for name, author := range map[string]func(org string) principal.Principal{
		"a key":          func(org string) principal.Principal { return key(org, principal.DraftPolicy) },
		"another person": func(org string) principal.Principal { return person(org, principal.Member) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, e *env) {
				full := e.create(yaml("pay", "deny *"))
				if _, err := e.policies.Update(t.Context(), author(e.acme), full.ID, yaml("pay", "allow *"),
					policy.AnyVersion); err != nil {
					t.Fatal(err)
				}
				_, err := e.policies.Activate(t.Context(), e.owner, full.ID, policy.LatestVersion)
				testenv.WantFault(t, "activate what "+name+" wrote without naming it", err, fault.Conflict)
				e.wantVerdict("after the refusal", verdict.Deny)
				e.activate(full.ID, 2)
				e.wantVerdict("after naming it", verdict.Allow)
			})
		})
	}
}

func TestRollback(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		full := e.active(yaml("pay", "deny *"))
		e.update(full.ID, yaml("renamed", "allow *"))
		e.activate(full.ID, 2)
		e.wantVerdict("before", verdict.Allow)
		back, err := e.policies.Rollback(t.Context(), e.owner, full.ID, 1)
		if err != nil || back.LatestVersion != 3 || back.ActiveVersion != 3 || back.Name != "pay" ||
			back.Version.Number != 3 || back.Version.RestoredFrom != 1 {
			t.Errorf("rolled back to %+v %+v, %v", back.Policy, back.Version, err)
		}
		e.wantVerdict("after", verdict.Deny)
		if v, err := e.policies.Get(t.Context(), e.owner, full.ID, 3); err != nil ||
			v.Version.Source != yaml("pay", "deny *") {
			t.Errorf("version 3 is %+v, %v", v.Version, err)
		}
		draft := e.create(yaml("draft"))
		e.update(draft.ID, yaml("draft", "allow *"))
		back, err = e.policies.Rollback(t.Context(), e.owner, draft.ID, 1)
		if err != nil || back.Status() != policy.Draft || back.LatestVersion != 3 {
			t.Errorf("a draft rolled back to %+v, %v", back.Policy, err)
		}
		_, err = e.policies.Rollback(t.Context(), e.owner, draft.ID, 9)
		testenv.WantFault(t, "a version that is not there", err, fault.NotFound)
		want := []string{
			"policy.created", "policy.activated", "policy.updated", "policy.activated", "policy.rolled_back",
			"policy.activated", "policy.created", "policy.updated", "policy.rolled_back",
		}
		if diff := cmp.Diff(want, e.recorded()); diff != "" {
			t.Errorf("recorded (-want +got):\n%s", diff)
		}
	})
}

func TestDelete(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		full := e.active(yaml("pay", "deny *"))
		testenv.WantFault(t, "delete an active policy", e.policies.Delete(t.Context(), e.owner, full.ID),
			fault.Conflict)
		e.wantVerdict("after the refusal", verdict.Deny)
		if _, err := e.policies.Deactivate(t.Context(), e.owner, full.ID); err != nil {
			t.Fatal(err)
		}
		if err := e.policies.Delete(t.Context(), e.owner, full.ID); err != nil {
			t.Fatal(err)
		}
		_, err := e.policies.Get(t.Context(), e.owner, full.ID, 0)
		testenv.WantFault(t, "get a deleted policy", err, fault.NotFound)
		_, err = e.policies.Activate(t.Context(), e.owner, full.ID, 1)
		testenv.WantFault(t, "activate a deleted policy", err, fault.NotFound)
		testenv.WantFault(t, "delete it again", e.policies.Delete(t.Context(), e.owner, full.ID), fault.NotFound)
		var versions int
		if err := e.DB.QueryRow(t.Context(), `SELECT count(*) FROM policy_version WHERE policy_id = $1`,
			full.ID).Scan(&versions); err != nil || versions != 1 {
			t.Errorf("%d versions are left (%v), want 1: decisions name them", versions, err)
		}
	})
}

func TestLimitsOfAnOrganization(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		big := policy.Source{
			Format: document.YAML, Text: "version: v1\nname: big\nrules:\n" + manyRules(document.MaxRules),
		}
		for i := range policy.MaxActiveRules / document.MaxRules {
			source := big
			source.Text = strings.Replace(big.Text, "name: big", fmt.Sprintf("name: big%d", i), 1)
			full := e.create(source)
			e.Exec(`UPDATE policy SET active_version = 1, activated_at = 1 WHERE id = $1`, full.ID)
		}
		one := e.create(yaml("one", "deny *"))
		_, err := e.policies.Activate(t.Context(), e.owner, one.ID, 1)
		testenv.WantFault(t, "one rule too many", err, fault.Conflict)
		if err == nil || !strings.Contains(err.Error(), "50001") {
			t.Errorf("%v does not say how many", err)
		}
		none := e.create(yaml("none"))
		e.activate(none.ID, 1)

		e.Exec(`UPDATE policy SET latest_version = $2 WHERE id = $1`, one.ID, policy.MaxVersions)
		e.Exec(`UPDATE policy_version SET version = $2 WHERE policy_id = $1`, one.ID, policy.MaxVersions)
		_, err = e.policies.Update(t.Context(), e.owner, one.ID, yaml("one", "allow *"), policy.AnyVersion)
		testenv.WantFault(t, "a version too many", err, fault.Conflict)

		var n int
		if err := e.DB.QueryRow(t.Context(), `SELECT count(*) FROM policy`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		e.Write("", func(ctx context.Context, tx *database.Tx) error {
			for range policy.MaxPolicies - n {
				if _, err := tx.Exec(ctx,
					`INSERT INTO policy (id, org_id, name, latest_version, created_at, updated_at) VALUES ($1, $2, $1, 1, 1, 1)`, database.NewID(), e.acme); err != nil {
					return err
				}
			}
			return nil
		})
		_, err = e.policies.Create(t.Context(), e.owner, yaml("more"))
		testenv.WantFault(t, "a policy too many", err, fault.Conflict)
	})
}

func manyRules(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "  - {id: r%d, effect: deny, tools: [\"s.t%d\"]}\n", i, i)
	}
	return text.String()
}
