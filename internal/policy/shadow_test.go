package policy_test

import (
	"slices"
	"testing"

	"writ/internal/fault"
	"writ/internal/policy"
	"writ/internal/policy/engine"
	"writ/internal/principal"
	"writ/internal/testenv"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

func (e *env) shadow(id string, version int) policy.Full {
	e.T.Helper()
	full, err := e.policies.StartShadow(e.T.Context(), e.owner, id, version)
	if err != nil {
		e.T.Fatalf("start a shadow: %v", err)
	}
	return full
}

// shadows are those of acme, as a service gives them once they are made.
func (e *env) shadows(s *policy.Service) []policy.Shadow {
	e.T.Helper()
	if err := s.PrepareShadows(e.T.Context(), e.acme); err != nil {
		e.T.Fatalf("prepare the shadows: %v", err)
	}
	snapshot, err := s.Snapshot(e.T.Context(), e.acme)
	if err != nil {
		e.T.Fatalf("snapshot: %v", err)
	}
	return snapshot.Shadows
}

func sayShadow(s policy.Shadow) engine.Decision {
	return s.Set.Evaluate(&toolcall.Call{Server: "bank", Tool: "send_money"}, nil)
}

// TestAShadowStandsInPlace: a shadow says what would be said with its version in
// place of the active one, on every server, and no answer is another for it.
func TestAShadowStandsInPlace(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		pay := e.active(yaml("pay", "deny bank.*"))
		e.active(yaml("rest", "allow *"))
		e.update(pay.ID, yaml("pay", "hold bank.*"))
		if full := e.shadow(pay.ID, policy.LatestVersion); full.ShadowVersion != 2 || full.ActiveVersion != 1 ||
			full.ShadowSince == nil {
			t.Errorf("the policy says %+v, want version 2 as its shadow", full.Policy)
		}
		e.wantVerdict("with a shadow", verdict.Deny)
		for _, s := range []*policy.Service{
			e.policies, policy.New(e.DB, e.Log, nil, policy.ProposalNotifier{}),
		} {
			shadows := e.shadows(s)
			if len(shadows) != 1 || shadows[0].Set == nil || shadows[0].PolicyID != pay.ID || shadows[0].Version != 2 {
				t.Fatalf("%+v, want the one shadow", shadows)
			}
			if d := sayShadow(shadows[0]); d.Verdict != verdict.Hold || d.PolicyVersion != 2 {
				t.Errorf("the shadow says %s by version %d, want hold by version 2: its own active version must be out of the way", d.Verdict, d.PolicyVersion)
			}
		}
		e.bind(pay.ID, policy.Bindings{Clients: []string{"bot"}})
		if d := sayShadow(e.shadows(e.policies)[0]); d.Verdict != verdict.Allow {
			t.Errorf("a shadow of a policy for others says %s, want allow", d.Verdict)
		}
		if ended, err := e.policies.EndShadow(t.Context(), e.owner, pay.ID); err != nil || ended.ShadowVersion != 0 ||
			ended.ShadowSince != nil {
			t.Errorf("ended: %+v, %v", ended, err)
		}
		if left := e.shadows(e.policies); len(left) != 0 {
			t.Errorf("%d shadows are left", len(left))
		}
		if !slices.Contains(e.recorded(), "policy.shadow_started") ||
			!slices.Contains(e.recorded(), "policy.shadow_ended") {
			t.Errorf("recorded: %v", e.recorded())
		}
	})
}

// TestShadowsFollowWhatIsActive: what stands beside a shadow is what is active now.
func TestShadowsFollowWhatIsActive(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active(yaml("rest", "allow *"))
		tried := e.create(yaml("tried", "allow bank.*"))
		e.shadow(tried.ID, 1)
		e.active(yaml("later", "deny bank.*"))
		if d := sayShadow(e.shadows(e.policies)[0]); d.Verdict != verdict.Deny {
			t.Errorf("the shadow says %s, want deny as the policy that came later", d.Verdict)
		}
		e.activate(tried.ID, 1)
		full, err := e.policies.Get(t.Context(), e.owner, tried.ID, 1)
		if err != nil || full.ShadowVersion != 0 || len(e.shadows(e.policies)) != 0 {
			t.Errorf("after the version was activated its shadow is %d, %v; want none", full.ShadowVersion, err)
		}
	})
}

func TestWhatMayNotBeAShadow(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		draft := e.create(yaml("draft", "allow *"))
		start := func(p principal.Principal, id string, version int) error {
			_, err := e.policies.StartShadow(ctx, p, id, version)
			return err
		}
		foreign := person(e.globex, principal.Owner)
		testenv.WantFault(t, "by a key", start(key(e.acme, principal.DraftPolicy), draft.ID, 1), fault.Forbidden)
		testenv.WantFault(t, "by a member", start(person(e.acme, principal.Member), draft.ID, 1), fault.Forbidden)
		testenv.WantFault(t, "by a stranger", start(foreign, draft.ID, 1), fault.NotFound)
		testenv.WantFault(t, "of no version", start(e.owner, draft.ID, 7), fault.NotFound)
		active := e.active(yaml("active", "allow *"))
		testenv.WantFault(t, "of the active version", start(e.owner, active.ID, 1), fault.Conflict)
		_, err := e.policies.EndShadow(ctx, foreign, draft.ID)
		testenv.WantFault(t, "ended by a stranger", err, fault.NotFound)
		_, err = e.policies.EndShadow(ctx, key(e.acme, principal.DraftPolicy), draft.ID)
		testenv.WantFault(t, "ended by a key", err, fault.Forbidden)

		var last policy.Full
		for _, name := range []string{"a", "b", "c"} {
			last = e.create(yaml(name, "deny *"))
			e.shadow(last.ID, 1)
		}
		testenv.WantFault(t, "one too many", start(e.owner, draft.ID, 1), fault.Conflict)
		if err := e.policies.Delete(ctx, e.owner, last.ID); err != nil {
			t.Fatal(err)
		}
		if err := start(e.owner, draft.ID, 1); err != nil {
			t.Errorf("after one of them was deleted: %v", err)
		}
		if got := len(e.shadows(e.policies)); got != policy.MaxShadows {
			t.Errorf("%d shadows, want %d", got, policy.MaxShadows)
		}
	})
}

// TestABrokenShadowBreaksNothing: a version that this server cannot read, or whose
// bindings it cannot, is a problem of its shadow alone.
func TestABrokenShadowBreaksNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active(yaml("rest", "allow *"))
		damaged, odd, sound := e.create(yaml("damaged", "deny *")), e.create(yaml("odd", "deny *")),
			e.create(yaml("sound", "deny *"))
		for _, p := range []policy.Full{damaged, odd, sound} {
			e.shadow(p.ID, 1)
		}
		e.Exec(`UPDATE policy_version SET source = 'rules: [' WHERE policy_id = $1`, damaged.ID)
		e.Exec(`INSERT INTO policy_binding (org_id, policy_id, kind, subject) VALUES ($1, $2, 'moon', 'x')`, e.acme,
			odd.ID)
		after := policy.New(e.DB, e.Log, nil, policy.ProposalNotifier{})
		if d := e.sayBy(after, toolcall.Call{}); d.Verdict != verdict.Allow {
			t.Errorf("with broken shadows: %s (%s), want allow", d.Verdict, d.Reason)
		}
		for _, s := range e.shadows(after) {
			if works := s.PolicyID == sound.ID; works != (s.Set != nil) || works != (s.Problem == "") {
				t.Errorf("shadow of %s: set %t, problem %q", s.PolicyID, s.Set != nil, s.Problem)
			}
		}
	})
}

// TestAProfileAsAShadow: of profiles one counts at most, so that the shadow of one
// stands in place of whichever is active; and confirming it ends the shadow.
func TestAProfileAsAShadow(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		e.active(yaml("rest", "allow *"))
		active, tried := e.proposed(e.owner, "Bash"), e.proposed(person(e.acme, principal.Member), "Read")
		if _, err := e.policies.ConfirmProfile(ctx, e.owner, active.ID, active.Hash); err != nil {
			t.Fatal(err)
		}
		e.shadow(tried.PolicyID, tried.Version)
		for tool, want := range map[string]struct{ said, would verdict.Verdict }{
			"Bash": {verdict.Deny, verdict.Allow}, "Read": {verdict.Allow, verdict.Deny},
		} {
			call := toolcall.Call{Tool: tool}
			if said, would := e.say(call).Verdict,
				e.shadows(e.policies)[0].Set.Evaluate(&call, nil).Verdict; said != want.said || would != want.would {
				t.Errorf("%s: %s, and %s by the shadow; want %s and %s", tool, said, would, want.said, want.would)
			}
		}
		if _, err := e.policies.ConfirmProfile(ctx, e.owner, tried.ID, tried.Hash); err != nil {
			t.Fatal(err)
		}
		if left := e.shadows(e.policies); len(left) != 0 {
			t.Errorf("%+v are shadows still", left)
		}
	})
}
