package message_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"writ/internal/enforcement"
	"writ/internal/guard/message"
	"writ/internal/intent"
	"writ/internal/intent/plan"
	"writ/internal/intent/trust"
)

// sent is a request as it is after it went to the server as JSON.
func sent(t *testing.T, r enforcement.Request) enforcement.Request {
	t.Helper()
	text, err := json.Marshal(message.CallOf(r))
	if err != nil {
		t.Fatal(err)
	}
	var call message.ProxyCall
	if err := json.Unmarshal(text, &call); err != nil {
		t.Fatal(err)
	}
	if err := call.CheckDelegation(); err != nil {
		t.Fatal(err)
	}
	return call.Request()
}

func delegated(t *testing.T) enforcement.Request {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := trust.RequestOf("/invoke", []byte(`{"tool":"search"}`))
	proof, err := trust.Prove("dlg_1", "token", about, time.Now(), key)
	if err != nil {
		t.Fatal(err)
	}
	held := intent.ReadHeld([]string{proof}, "/invoke", []byte(`{"tool":"search"}`))
	return enforcement.Request{
		Server:        "bank",
		Tool:          "search",
		Arguments:     []byte(`{"q":1}`),
		Presented:     plan.Presented{PlanID: "p", Contradictory: true},
		TokenRequired: true,
		AgentID:       "a",
		UserID:        "u",
		UserEmail:     "u@example.com",
		SessionID:     "s",
		Source:        "cli",
		UserOfPlan:    true,
		CanOblige:     true,
		Carried: &enforcement.Carried{
			ProofRequired: enforcement.ProofOptional, Problem: "none", OwnCredentials: true,
		},
		Held:   held.Proof,
		HeldAs: []string{proof},
		Sent:   held.Sent,
		Envelope: &plan.Envelope{
			Path: "/steps/[0]", Root: "aa", ParentRoot: "bb", Proof: plan.Proof{{Position: "left", Hash: "cc"}},
		},
	}
}

// TestNothingThatLimitsACallIsLost also names what no proxy sets: whoever adds a member to a request must say whether a
// proxy apart sends it.
func TestNothingThatLimitsACallIsLost(t *testing.T) {
	t.Parallel()
	unsent := []string{"CalledAs", "ContextID", "Environment", "Labels", "ResolvedPaths", "CanConfine", "Turn"}
	r := delegated(t)
	got := sent(t, r)
	for i := range reflect.TypeFor[enforcement.Request]().NumField() {
		name := reflect.TypeFor[enforcement.Request]().Field(i).Name
		was := reflect.ValueOf(r).Field(i)
		if slices.Contains(unsent, name) {
			continue
		}
		if was.IsZero() {
			t.Errorf("%s is not tested", name)
		}
		if now := reflect.ValueOf(got).Field(i); !reflect.DeepEqual(was.Interface(), now.Interface()) {
			t.Errorf("%s: %v, want %v", name, now, was)
		}
	}
	r.Carried = nil
	if got := sent(t, r); got.Envelope == nil || got.Held == nil || got.Carried != nil {
		t.Errorf("a call that is only judged: %+v", got)
	}
}

func TestProofsThatProveNothingAreNotLost(t *testing.T) {
	t.Parallel()
	r := delegated(t)
	for name, as := range map[string][]string{
		"unreadable": {"none"}, "twice": {r.HeldAs[0], r.HeldAs[0]}, "often": slices.Repeat(r.HeldAs, 9), "lost": nil,
	} {
		r.Held, r.HeldAs = &trust.Proof{}, as
		if got := sent(t, r); got.Held == nil || got.Held.Nonce != "" {
			t.Errorf("%s: %+v", name, got.Held)
		}
	}
}

func TestDelegationsAreBounded(t *testing.T) {
	t.Parallel()
	long, sum := strings.Repeat("x", 20_000), strings.Repeat("00", 32)
	for name, call := range map[string]message.ProxyCall{
		"a long path":  {Envelope: &message.ProxyEnvelope{Path: long}},
		"no path":      {Envelope: &message.ProxyEnvelope{}},
		"a long chain": {Envelope: &message.ProxyEnvelope{Path: "/", Proof: make([]plan.Sibling, 65)}},
		"no proof":     {Held: &message.ProxyHeld{Body: sum}},
		"many proofs":  {Held: &message.ProxyHeld{Proofs: make([]string, 3), Body: sum}},
		"a long proof": {Held: &message.ProxyHeld{Proofs: []string{long}, Body: sum}},
		"another hash": {Held: &message.ProxyHeld{Proofs: []string{""}, Body: "00"}},
	} {
		if call.CheckDelegation() == nil {
			t.Errorf("%s passes", name)
		}
	}
}
