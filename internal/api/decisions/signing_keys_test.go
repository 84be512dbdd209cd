package decisions_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"writ/internal/app"
	"writ/internal/audit/ledger"
	"writ/internal/intent"
	"writ/internal/intent/plan"
	"writ/internal/keyring"
	"writ/internal/testserver"
)

// publishedKeys are those of GET /iap/keys.
type publishedKeys []struct {
	ID        string `json:"id"`
	Purpose   string `json:"purpose"`
	PublicKey string `json:"publicKey"`
	Current   bool   `json:"current"`
}

func readPublishedKeys(t *testing.T, s *testserver.Server) publishedKeys {
	t.Helper()
	var out struct{ Keys publishedKeys }
	if err := s.Public.Call(t.Context(), http.MethodGet, "/iap/keys", nil, nil, &out); err != nil {
		t.Fatal(err)
	}
	return out.Keys
}

// verifies finds the key of a token among the published ones of its purpose.
func (keys publishedKeys) verifies(t *testing.T, token json.RawMessage, purpose keyring.Purpose) (found, current bool) {
	t.Helper()
	var inner struct {
		PublicKey string `json:"public_key"`
	}
	if err := json.Unmarshal(token, &inner); err != nil || plan.VerifySignature(token) != nil {
		t.Fatalf("the token is not signed by the key inside it: %v", err)
	}
	for _, key := range keys {
		if key.PublicKey == inner.PublicKey && key.Purpose == string(purpose) {
			return true, key.Current
		}
	}
	return false, false
}

// TestRotatedKeysStillVerify rotates every key between issuing and using.
func TestRotatedKeysStillVerify(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		w := newCaseEnv(t, s, &caseFile{
			Policy: json.RawMessage(`{"version":"v1","name":"all","rules":[{"id":"all","effect":"allow","tools":["*"]}]}`),
			Plans: map[string]json.RawMessage{
				"work": json.RawMessage(`{"plan":{"steps":[{"action":"a","mcp":"x"}]}}`),
			},
		})
		r := w.begin(t)
		old, oldBinding := r.mint("work"), r.policyBinding()
		rotate(t, s)
		fresh := r.mint("work")
		keys := readPublishedKeys(t, s)
		for name, c := range map[string]struct {
			token   json.RawMessage
			purpose keyring.Purpose
			current bool
		}{
			"the token from before":   {old["token"], intent.PlanKey, false},
			"a new token":             {fresh["token"], intent.PlanKey, true},
			"the binding from before": {innerOf(t, oldBinding), intent.BindingKey, false},
			"a new binding":           {innerOf(t, r.policyBinding()), intent.BindingKey, true},
		} {
			if found, current := keys.verifies(t, c.token, c.purpose); !found || current != c.current {
				t.Errorf("%s: its key is published: %t, and signs now: %t, want %t", name, found, current, c.current)
			}
		}
		for name, token := range map[string]minted{"from before": old, "new": fresh} {
			if !keys.verifiesJWT(t, s, token.text("jwt_token")) {
				t.Errorf("the JWT %s does not verify with the key of its kid", name)
			}
			for _, surface := range []string{surfaceSDK, surfaceVerifyStep} {
				status, raw := r.post(surfacePath(surface), r.key, callBody(surface,
					map[string]json.RawMessage{"tool": quoteJSON("a")}, r.token("", token, nil)))
				if !strings.Contains(string(raw), `"allowed":true`) {
					t.Errorf("the token %s on %s: %d %s", name, surface, status, raw)
				}
			}
			status, raw := r.post("/verify/action", "", quoteJSON(map[string]json.RawMessage{
				"path": quoteJSON("/steps/[0]/action"), "value": quoteJSON("a"),
				"proof": firstOf(t, token["step_proofs"]), "token": token["token"],
			}))
			if !strings.Contains(string(raw), `"allowed":true`) {
				t.Errorf("the token %s on /verify/action: %d %s", name, status, raw)
			}
		}
	})
}

// TestCheckpointsAfterARotation verifies what was signed before and after with the
// keys that are published, and with neither of them alone.
func TestCheckpointsAfterARotation(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		org := s.Organization(owner, "Rotated")
		before, err := s.Audit.Checkpoint(t.Context(), org)
		if err != nil {
			t.Fatal(err)
		}
		s.AgentKey(owner, org)
		rotate(t, s)
		var published struct {
			Key  string
			Keys []string
		}
		if err := owner.Call(t.Context(), http.MethodGet, "/audit-log/key?organizationId="+org, nil, nil,
			&published); err != nil || len(published.Keys) != 2 || published.Key != published.Keys[0] {
			t.Fatalf("keys: %+v, %v", published, err)
		}
		export := string(s.Request(t, "GET", "/audit-log/export?organizationId="+org, "",
			testserver.Credentials(owner.Client)...).Body)
		for name, c := range map[string]struct {
			keys []string
			ok   bool
		}{
			"both keys": {published.Keys, true}, "the new one alone": {published.Keys[:1], false},
			"the old one alone": {published.Keys[1:], false},
		} {
			trusted, err := ledger.ParseKeys(strings.Join(c.keys, "\n"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := ledger.Verify(strings.NewReader(export), ledger.Trust{
				Keys: trusted, Earlier: before,
			}); (err == nil) != c.ok {
				t.Errorf("with %s: %v, want it to verify: %t", name, err, c.ok)
			}
		}
	})
}

// rotate rotates every key, as writd signing-key does beside the server.
func rotate(t *testing.T, s *testserver.Server) {
	t.Helper()
	rotated, err := s.RotateKeys(t.Context(), app.SigningPurposes())
	if err != nil || len(rotated) != len(app.SigningPurposes()) {
		t.Fatalf("rotated %v, %v", rotated, err)
	}
	if err := s.Audit.RefreshKey(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// verifiesJWT verifies a plan's JWT with the published key that its kid names.
func (keys publishedKeys) verifiesJWT(t *testing.T, s *testserver.Server, text string) bool {
	t.Helper()
	var header struct {
		KeyID string `json:"kid"`
	}
	encoded, _, _ := strings.Cut(text, ".")
	raw, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil || json.Unmarshal(raw, &header) != nil {
		t.Fatalf("the JWT's header %q: %v", raw, err)
	}
	for _, key := range keys {
		if key.ID != header.KeyID || key.Purpose != string(intent.JWTKey) {
			continue
		}
		public, err := hex.DecodeString(key.PublicKey)
		if err != nil {
			t.Fatal(err)
		}
		_, err = plan.VerifyJWT(text, ed25519.PublicKey(public), s.Database.Now())
		return err == nil
	}
	return false
}

// innerOf is the signed token in what it was issued in.
func innerOf(t *testing.T, raw json.RawMessage) json.RawMessage {
	t.Helper()
	var holder minted
	if err := json.Unmarshal(raw, &holder); err != nil {
		t.Fatal(err)
	}
	return holder["token"]
}

func firstOf(t *testing.T, list json.RawMessage) json.RawMessage {
	t.Helper()
	var all []json.RawMessage
	if err := json.Unmarshal(list, &all); err != nil || len(all) == 0 {
		t.Fatalf("%s: %v", list, err)
	}
	return all[0]
}
