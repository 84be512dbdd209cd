package policy_test

import (
	"slices"
	"testing"

	"writ/internal/audit"
	"writ/internal/fault"
	"writ/internal/policy"
	"writ/internal/policy/engine"
	"writ/internal/principal"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

func (w *world) shadow(id string, version int) policy.Full {
	w.t.Helper()
	full, err := w.policies.StartShadow(w.t.Context(), w.owner, id, version)
	if err != nil {
		w.t.Fatalf("start a shadow: %v", err)
	}
	return full
}

// shadows are those of acme, as a service gives them once they are made.
func (w *world) shadows(s *policy.Service) []policy.Shadow {
	w.t.Helper()
	if err := s.PrepareShadows(w.t.Context(), w.acme); err != nil {
		w.t.Fatalf("prepare the shadows: %v", err)
	}
	snapshot, err := s.Snapshot(w.t.Context(), w.acme)
	if err != nil {
		w.t.Fatalf("snapshot: %v", err)
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
	each(t, func(t *testing.T, w *world) {
		pay := w.active(yaml("pay", "deny bank.*"))
		w.active(yaml("rest", "allow *"))
		w.update(pay.ID, yaml("pay", "hold bank.*"))
		if full := w.shadow(pay.ID, policy.LatestVersion); full.ShadowVersion != 2 || full.ActiveVersion != 1 ||
			full.ShadowSince == nil {
			t.Errorf("the policy says %+v, want version 2 as its shadow", full.Policy)
		}
		w.wantVerdict("with a shadow", verdict.Deny)
		for _, s := range []*policy.Service{
			w.policies, policy.New(w.db, audit.Unsigned(w.db), nil, policy.ProposalNotifier{}),
		} {
			shadows := w.shadows(s)
			if len(shadows) != 1 || shadows[0].Set == nil || shadows[0].PolicyID != pay.ID || shadows[0].Version != 2 {
				t.Fatalf("%+v, want the one shadow", shadows)
			}
			if d := sayShadow(shadows[0]); d.Verdict != verdict.Hold || d.PolicyVersion != 2 {
				t.Errorf("the shadow says %s by version %d, want hold by version 2: its own active version must be out of the way", d.Verdict, d.PolicyVersion)
			}
		}
		w.bind(pay.ID, policy.Bindings{Clients: []string{"bot"}})
		if d := sayShadow(w.shadows(w.policies)[0]); d.Verdict != verdict.Allow {
			t.Errorf("a shadow of a policy for others says %s, want allow", d.Verdict)
		}
		if ended, err := w.policies.EndShadow(t.Context(), w.owner, pay.ID); err != nil || ended.ShadowVersion != 0 ||
			ended.ShadowSince != nil {
			t.Errorf("ended: %+v, %v", ended, err)
		}
		if left := w.shadows(w.policies); len(left) != 0 {
			t.Errorf("%d shadows are left", len(left))
		}
		if !slices.Contains(w.recorded(), "policy.shadow_started") ||
			!slices.Contains(w.recorded(), "policy.shadow_ended") {
			t.Errorf("recorded: %v", w.recorded())
		}
	})
}

// TestShadowsFollowWhatIsActive: what stands beside a shadow is what is active now.
func TestShadowsFollowWhatIsActive(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.active(yaml("rest", "allow *"))
		tried := w.create(yaml("tried", "allow bank.*"))
		w.shadow(tried.ID, 1)
		w.active(yaml("later", "deny bank.*"))
		if d := sayShadow(w.shadows(w.policies)[0]); d.Verdict != verdict.Deny {
			t.Errorf("the shadow says %s, want deny as the policy that came later", d.Verdict)
		}
		w.activate(tried.ID, 1)
		full, err := w.policies.Get(t.Context(), w.owner, tried.ID, 1)
		if err != nil || full.ShadowVersion != 0 || len(w.shadows(w.policies)) != 0 {
			t.Errorf("after the version was activated its shadow is %d, %v; want none", full.ShadowVersion, err)
		}
	})
}

func TestWhatMayNotBeAShadow(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		draft := w.create(yaml("draft", "allow *"))
		start := func(p principal.Principal, id string, version int) error {
			_, err := w.policies.StartShadow(ctx, p, id, version)
			return err
		}
		foreign := person(w.globex, principal.Owner)
		wantKind(t, "by a key", start(key(w.acme, principal.DraftPolicy), draft.ID, 1), fault.Forbidden)
		wantKind(t, "by a member", start(person(w.acme, principal.Member), draft.ID, 1), fault.Forbidden)
		wantKind(t, "by a stranger", start(foreign, draft.ID, 1), fault.NotFound)
		wantKind(t, "of no version", start(w.owner, draft.ID, 7), fault.NotFound)
		active := w.active(yaml("active", "allow *"))
		wantKind(t, "of the active version", start(w.owner, active.ID, 1), fault.Conflict)
		_, err := w.policies.EndShadow(ctx, foreign, draft.ID)
		wantKind(t, "ended by a stranger", err, fault.NotFound)
		_, err = w.policies.EndShadow(ctx, key(w.acme, principal.DraftPolicy), draft.ID)
		wantKind(t, "ended by a key", err, fault.Forbidden)

		var last policy.Full
		for _, name := range []string{"a", "b", "c"} {
			last = w.create(yaml(name, "deny *"))
			w.shadow(last.ID, 1)
		}
		wantKind(t, "one too many", start(w.owner, draft.ID, 1), fault.Conflict)
		if err := w.policies.Delete(ctx, w.owner, last.ID); err != nil {
			t.Fatal(err)
		}
		if err := start(w.owner, draft.ID, 1); err != nil {
			t.Errorf("after one of them was deleted: %v", err)
		}
		if got := len(w.shadows(w.policies)); got != policy.MaxShadows {
			t.Errorf("%d shadows, want %d", got, policy.MaxShadows)
		}
	})
}

// TestABrokenShadowBreaksNothing: a version that this server cannot read, or whose
// bindings it cannot, is a problem of its shadow alone.
func TestABrokenShadowBreaksNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.active(yaml("rest", "allow *"))
		damaged, odd, sound := w.create(yaml("damaged", "deny *")), w.create(yaml("odd", "deny *")),
			w.create(yaml("sound", "deny *"))
		for _, p := range []policy.Full{damaged, odd, sound} {
			w.shadow(p.ID, 1)
		}
		w.exec(`UPDATE policy_version SET source = 'rules: [' WHERE policy_id = $1`, damaged.ID)
		w.exec(`INSERT INTO policy_binding (org_id, policy_id, kind, subject) VALUES ($1, $2, 'moon', 'x')`, w.acme,
			odd.ID)
		after := policy.New(w.db, audit.Unsigned(w.db), nil, policy.ProposalNotifier{})
		if d := w.sayBy(after, toolcall.Call{}); d.Verdict != verdict.Allow {
			t.Errorf("with broken shadows: %s (%s), want allow", d.Verdict, d.Reason)
		}
		for _, s := range w.shadows(after) {
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
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.active(yaml("rest", "allow *"))
		active, tried := w.proposed(w.owner, "Bash"), w.proposed(person(w.acme, principal.Member), "Read")
		if _, err := w.policies.ConfirmProfile(ctx, w.owner, active.ID, active.Hash); err != nil {
			t.Fatal(err)
		}
		w.shadow(tried.PolicyID, tried.Version)
		for tool, want := range map[string]struct{ said, would verdict.Verdict }{
			"Bash": {verdict.Deny, verdict.Allow}, "Read": {verdict.Allow, verdict.Deny},
		} {
			call := toolcall.Call{Tool: tool}
			if said, would := w.say(call).Verdict,
				w.shadows(w.policies)[0].Set.Evaluate(&call, nil).Verdict; said != want.said || would != want.would {
				t.Errorf("%s: %s, and %s by the shadow; want %s and %s", tool, said, would, want.said, want.would)
			}
		}
		if _, err := w.policies.ConfirmProfile(ctx, w.owner, tried.ID, tried.Hash); err != nil {
			t.Fatal(err)
		}
		if left := w.shadows(w.policies); len(left) != 0 {
			t.Errorf("%+v are shadows still", left)
		}
	})
}
