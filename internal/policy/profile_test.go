package policy_test

import (
	"strings"
	"sync"
	"testing"

	"writ/internal/audit"
	"writ/internal/fault"
	"writ/internal/page"
	"writ/internal/policy"
	"writ/internal/policy/profile"
	"writ/internal/principal"
	"writ/internal/testenv"
)

// profile is one that forbids a tool.
func (e *env) profile(tool string) *profile.Profile {
	e.T.Helper()
	read, problems := profile.Parse([]byte(`{"rules":[{"id":"r","action":"deny","tool":"` + tool + `"}]}`))
	if problems != nil {
		e.T.Fatal(problems)
	}
	return read
}

// proposed has somebody propose a profile that forbids a tool.
func (e *env) proposed(by principal.Principal, tool string) policy.Proposal {
	e.T.Helper()
	if _, err := e.policies.StageProfile(e.T.Context(), by, e.profile(tool)); err != nil {
		e.T.Fatalf("stage: %v", err)
	}
	proposal, err := e.policies.ProposeProfile(e.T.Context(), by, "a reason")
	if err != nil {
		e.T.Fatalf("propose: %v", err)
	}
	return proposal
}

// TestConfirmationsAtOnce: whoever comes last, one profile is active.
func TestConfirmationsAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		var proposals []policy.Proposal
		for _, tool := range []string{"Bash", "Read", "Write", "Edit"} {
			proposals = append(proposals, e.proposed(person(e.acme, principal.Member), tool))
		}
		var all sync.WaitGroup
		for _, p := range proposals {
			all.Go(func() {
				if _, err := e.policies.ConfirmProfile(t.Context(), e.owner, p.ID, p.Hash); err != nil {
					t.Errorf("confirm: %v", err)
				}
			})
		}
		all.Wait()
		active, err := e.policies.List(t.Context(), e.owner, policy.Filter{Status: policy.Active}, "", page.MaxLimit)
		if err != nil || len(active.Items) != 1 {
			t.Fatalf("%d profiles are active, %v", len(active.Items), err)
		}
		in, err := e.policies.ActiveProfile(t.Context(), e.owner)
		if err != nil || in == nil || in.PolicyID != active.Items[0].ID || in.Confirmation != len(proposals) {
			t.Errorf("the active profile is %+v, %v", in, err)
		}
	})
}

// TestWhatIsRecordedOfAConfirmation: who confirmed, and which text.
func TestWhatIsRecordedOfAConfirmation(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		p := e.proposed(key(e.acme, principal.DraftPolicy), "Bash")
		if _, err := e.policies.ConfirmProfile(t.Context(), e.owner, p.ID, p.Hash); err != nil {
			t.Fatal(err)
		}
		entries, err := audit.ReadEntries(t.Context(), e.DB, e.acme, 0, 1000)
		if err != nil {
			t.Fatal(err)
		}
		last := entries[len(entries)-1]
		record, err := last.Parse()
		if err != nil || last.Action != "profile.confirmed" || record.Actor.ID != e.owner.UserID ||
			record.Subject.ID != p.PolicyID {
			t.Errorf("the last entry is %s by %+v about %+v, %v", last.Action, record.Actor, record.Subject, err)
		}
		for _, want := range []string{p.Hash, p.ID, p.OwnerID} {
			if !strings.Contains(string(last.Payload), want) {
				t.Errorf("the entry does not say %s: %s", want, last.Payload)
			}
		}
		testenv.WantFault(t, "another organization's owner confirms",
			second(e.policies.ConfirmProfile(t.Context(), person(e.globex, principal.Owner), p.ID, p.Hash)),
			fault.NotFound)
		testenv.WantFault(t, "a key confirms",
			second(e.policies.ConfirmProfile(t.Context(), key(e.acme, principal.DraftPolicy), p.ID, p.Hash)),
			fault.Forbidden)
	})
}

func second(_ policy.Proposal, err error) error { return err }

// TestDamagedProfiles: what was changed behind our back is not given out.
func TestDamagedProfiles(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		p := e.proposed(e.owner, "Bash")
		e.Exec(`UPDATE policy_profile SET profile = '{"rules":[]}' WHERE id = $1`, p.ID)
		e.Exec(`UPDATE policy_profile_draft SET profile = '{"rules":[]}' WHERE org_id = $1`, e.acme)
		read, err := e.policies.Proposal(t.Context(), e.owner, p.ID)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := read.Read(); err == nil {
			t.Error("a damaged proposal was read")
		}
		_, err = e.policies.ConfirmProfile(t.Context(), e.owner, p.ID, p.Hash)
		testenv.WantFault(t, "confirm it", err, fault.Conflict)
		_, err = e.policies.ProposeProfile(t.Context(), e.owner, "")
		testenv.WantFault(t, "propose a damaged draft", err, fault.Conflict)
	})
}

// TestWithdrawingIsNotDeleting: whoever may only propose cannot make room for more
// proposals than there may be, nor end the shadow that a person started.
func TestWithdrawingIsNotDeleting(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		plugin := key(e.acme, principal.DraftPolicy)
		first := e.proposed(plugin, "Bash")
		if _, err := e.policies.StartShadow(t.Context(), e.owner, first.PolicyID, policy.LatestVersion); err != nil {
			t.Fatal(err)
		}
		if err := e.policies.WithdrawProposal(t.Context(), plugin, first.ID); err != nil {
			t.Fatal(err)
		}
		full, err := e.policies.Get(t.Context(), e.owner, first.PolicyID, policy.LatestVersion)
		if err != nil || full.Policy.ShadowVersion != 1 {
			t.Errorf("a key withdrew its proposal: %+v, %v; want the policy and its shadow", full.Policy, err)
		}
		testenv.WantFault(t, "confirm what was withdrawn",
			second(e.policies.ConfirmProfile(t.Context(), e.owner, first.ID, first.Hash)), fault.Conflict)
		next := e.proposed(plugin, "Read")
		if next.PolicyID != first.PolicyID || next.Version != 2 {
			t.Errorf("the next is version %d of %s, want 2 of %s", next.Version, next.PolicyID, first.PolicyID)
		}
		if err := e.policies.WithdrawProposal(t.Context(), e.owner, next.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := e.policies.Get(t.Context(), e.owner, first.PolicyID, policy.LatestVersion); err != nil {
			t.Errorf("the policy has a shadow: %v", err)
		}
		if _, err := e.policies.EndShadow(t.Context(), e.owner, first.PolicyID); err != nil {
			t.Fatal(err)
		}
		last := e.proposed(plugin, "Write")
		if err := e.policies.WithdrawProposal(t.Context(), e.owner, last.ID); err != nil {
			t.Fatal(err)
		}
		_, err = e.policies.Get(t.Context(), e.owner, first.PolicyID, policy.LatestVersion)
		testenv.WantFault(t, "read what an owner threw away", err, fault.NotFound)
	})
}

// TestAPolicyHasTheNameOfTheProfileInForce: decisions name that one, whatever was proposed after it.
func TestAPolicyHasTheNameOfTheProfileInForce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		propose := func(name string) policy.Proposal {
			read := e.profile("Bash")
			read.Name = name
			if _, err := e.policies.StageProfile(t.Context(), e.owner, read); err != nil {
				t.Fatalf("stage: %v", err)
			}
			proposal, err := e.policies.ProposeProfile(t.Context(), e.owner, "")
			if err != nil {
				t.Fatalf("propose: %v", err)
			}
			return proposal
		}
		named := func(what, want string) {
			t.Helper()
			all, err := e.policies.List(t.Context(), e.owner, policy.Filter{}, "", page.MaxLimit)
			if err != nil || len(all.Items) != 1 || !strings.HasPrefix(all.Items[0].Name, "profile "+want+" (") {
				t.Errorf("%s: %+v, %v; want one policy named profile %s", what, all.Items, err, want)
			}
		}
		confirm := func(p policy.Proposal) {
			t.Helper()
			if _, err := e.policies.ConfirmProfile(t.Context(), e.owner, p.ID, p.Hash); err != nil {
				t.Fatalf("confirm: %v", err)
			}
		}
		propose("draft")
		named("the first that is proposed", "draft")
		careful := propose("careful")
		named("another one, and none is in force", "careful")
		confirm(careful)
		lockdown := propose("lockdown")
		named("one is proposed over another", "careful")
		if err := e.policies.WithdrawProposal(t.Context(), e.owner, lockdown.ID); err != nil {
			t.Fatal(err)
		}
		named("it was withdrawn", "careful")
		confirm(propose("lockdown"))
		named("it was confirmed", "lockdown")
		confirm(careful)
		named("the earlier one was confirmed again", "careful")
	})
}

// TestReasonsShowWhatTheySay: the person who confirms reads them.
func TestReasonsShowWhatTheySay(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.proposed(e.owner, "Bash")
		for name, reason := range map[string]string{
			"turned around":          "safe \u202egnihtyna swolla",
			"an escape of terminals": "a\x1b[2Jb",
			"a line of mail":         "a\r\nBcc: b",
		} {
			testenv.WantFault(t, name, second(e.policies.ProposeProfile(t.Context(), e.owner, reason)), fault.Invalid)
		}
	})
}
