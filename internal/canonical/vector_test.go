package canonical_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/internal/canonical"
)

// The vectors are those that the client libraries of the wire contract check
// themselves against; a token signed over any other form would not verify there.

const (
	vectorKey       = "e23dbe8dbb842eef51a8d7dba01019814e5e6eaa29936fe5aca3570b78bbd5f8"
	vectorSignature = "61c5a5169165d208fa3486b72262b5f0f9ae3c1f473379f9d6b729c2a3d6eb6c" +
		"244caf14814b3e81930fed867f4f832eed5421ecd6db525428c92416b9818307"
	vectorPayload = `{
		"plan_hash": "abc123",
		"issued_at": 1700000000.5,
		"expires_at": 1700000060.5,
		"policy": {"allowed_tools": ["search", "réad"], "deny": []},
		"identity": "agent@armoriq.io",
		"version": "1.0",
		"public_key": "` + vectorKey + `"
	}`
	vectorCanonical = `{"expires_at":1700000060.5,"identity":"agent@armoriq.io","issued_at":1700000000.5,` +
		`"plan_hash":"abc123","policy":{"allowed_tools":["search","r\u00e9ad"],"deny":[]},` +
		`"public_key":"` + vectorKey + `","version":"1.0"}`
)

func TestSignatureVector(t *testing.T) {
	t.Parallel()
	got, err := canonical.Transform([]byte(vectorPayload))
	if err != nil {
		t.Fatalf("Transform: %v", err)
	}
	if diff := cmp.Diff(vectorCanonical, string(got)); diff != "" {
		t.Errorf("canonical payload (-want +got):\n%s", diff)
	}
	key, signature := unhex(t, vectorKey), unhex(t, vectorSignature)
	if !ed25519.Verify(key, got, signature) {
		t.Error("the signature of the vector does not verify over our form")
	}
	if ed25519.Verify(key, []byte(vectorPayload), signature) {
		t.Error("the signature verifies over the text as given, so it proves nothing")
	}
}

func TestDigestVectors(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, give, want string }{
		{
			"tool call", `[{"name":"Stripe__charge","args":{"amount":100}}]`,
			"6e73175f93d534cda8b74c9dc901202b1fe01bee285c5a0f7c4373a4b94ec7c9",
		},
		{
			"tool call, other spelling", `[ {"args":{"amount":1.00e2},"n\u0061me":"Stripe__charge"} ]`,
			"6e73175f93d534cda8b74c9dc901202b1fe01bee285c5a0f7c4373a4b94ec7c9",
		},
		{"value", `"noop"`, "a48838a5da63ab6652e7925667e233cbe0bbc1d60c5516137773ffc361c15485"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text, err := canonical.Transform([]byte(tt.give))
			if err != nil {
				t.Fatalf("Transform: %v", err)
			}
			if got := sha256.Sum256(text); hex.EncodeToString(got[:]) != tt.want {
				t.Errorf("digest = %x, want %s", got, tt.want)
			}
		})
	}
}

func TestDuplicateKeysHaveNoDigest(t *testing.T) {
	t.Parallel()
	if got, err := canonical.Transform([]byte(`{"a":1,"a":1}`)); err == nil {
		t.Errorf("the form of duplicate keys = %s, want an error", got)
	}
}

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatalf("decode %q: %v", text, err)
	}
	return b
}
