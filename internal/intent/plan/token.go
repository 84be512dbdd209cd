package plan

import (
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/canonical"
)

// Versions of a signed token. Each has its own key.
const (
	PlanVersion   = "1.0"
	PolicyVersion = "policy-1" // binds a policy's text; it authorizes no call
)

// Token is a signed statement about a plan. Published clients verify the signature over
// exactly these members, in canonical JSON, with the public key in it. Times are whole
// seconds, because languages write other numbers differently.
type Token struct {
	PlanHash  string         `json:"plan_hash"`
	IssuedAt  int64          `json:"issued_at"`
	ExpiresAt int64          `json:"expires_at"`
	Policy    jsontext.Value `json:"policy"`
	Identity  string         `json:"identity"`
	PublicKey string         `json:"public_key"`
	Version   string         `json:"version"`
	Signature string         `json:"signature,omitempty"`
}

// Sign adds the public key and the signature.
func (t Token) Sign(key ed25519.PrivateKey) (Token, error) {
	t.PublicKey = hex.EncodeToString(key.Public().(ed25519.PublicKey))
	t.Signature = ""
	payload, err := canonical.Marshal(t)
	if err != nil {
		return Token{}, fmt.Errorf("sign a plan token: %w", err)
	}
	t.Signature = hex.EncodeToString(ed25519.Sign(key, payload))
	return t, nil
}

// signedFields are those that every token must have; optionalFields are signed if they
// are not empty.
var (
	signedFields   = []string{"plan_hash", "issued_at", "expires_at", "policy", "identity", "public_key", "version"}
	optionalFields = []string{"allowed_operations", "resource_scope"}
)

// errSignature is the only error of a bad signature.
var errSignature = errors.New("the token is not signed by the key inside it")

// VerifyToken reads a token with a valid signature, and returns the key in it: the
// caller must check whether to trust the key.
func VerifyToken(raw []byte) (Token, ed25519.PublicKey, error) {
	payload, signature, key, err := verifySignature(raw)
	if err != nil {
		return Token{}, nil, err
	}
	var t Token
	if err := json.Unmarshal(payload, &t); err != nil {
		return Token{}, nil, errors.New("the signed token has another form")
	}
	t.Signature = signature
	return t, key, nil
}

// VerifySignature checks that a token is signed by the key in it. Published clients
// check no more.
func VerifySignature(raw []byte) error {
	_, _, _, err := verifySignature(raw)
	return err
}

func verifySignature(raw []byte) (payload []byte, signature string, key ed25519.PublicKey, err error) {
	var members map[string]jsontext.Value
	if len(raw) > 2*MaxBytes || json.Unmarshal(raw, &members) != nil {
		return nil, "", nil, errSignature
	}
	if payload, err = signedPayload(members); err != nil {
		return nil, "", nil, err
	}
	var mark, public text
	if mark.UnmarshalJSON(members["signature"]) != nil || public.UnmarshalJSON(members["public_key"]) != nil {
		return nil, "", nil, errSignature
	}
	key, err = hex.DecodeString(public.text)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return nil, "", nil, errSignature
	}
	bytes, err := hex.DecodeString(mark.text)
	if err != nil || !ed25519.Verify(key, payload, bytes) {
		return nil, "", nil, errSignature
	}
	return payload, mark.text, key, nil
}

// signedPayload is the canonical JSON of the signed members.
func signedPayload(members map[string]jsontext.Value) ([]byte, error) {
	signed := map[string]jsontext.Value{}
	for _, name := range signedFields {
		value, ok := members[name]
		if !ok {
			return nil, errSignature
		}
		signed[name] = value
	}
	for _, name := range optionalFields {
		if value := members[name]; saysAnything(value) {
			signed[name] = value
		}
	}
	payload, err := canonical.Marshal(signed)
	if err != nil {
		return nil, errSignature
	}
	return payload, nil
}

func saysAnything(value jsontext.Value) bool {
	switch strings.TrimSpace(string(value)) {
	case "", "null", "false", "0", `""`, "[]", "{}":
		return false
	}
	return true
}

// Signable returns a client's policy in canonical JSON that TypeScript and Python write
// alike when they verify. It refuses what they write differently: integers beyond 2^53,
// fractions below 0.0001, and keys that they sort differently. No policy becomes an
// empty one.
func Signable(policy []byte) ([]byte, error) {
	if len(policy) == 0 {
		return []byte("{}"), nil
	}
	if len(policy) > MaxBytes {
		return nil, invalid("policy", "has %d bytes; at most %d are allowed", len(policy), MaxBytes)
	}
	if tooDeep(policy) {
		return nil, invalid("policy", "is nested deeper than %d levels", MaxDepth)
	}
	text, err := canonical.Transform(policy)
	switch {
	case err != nil:
		return nil, invalid("policy", "is not JSON that everyone reads alike: %s", reason(err))
	case string(text) == "null":
		return []byte("{}"), nil
	case text[0] != '{':
		return nil, invalid("policy", "must be an object")
	}
	return text, checkSignable(text)
}

func checkSignable(text []byte) error {
	in := jsontext.NewDecoder(strings.NewReader(string(text)))
	for {
		token, err := in.ReadToken()
		if err != nil {
			return nil // the end: the text was read before
		}
		switch token.Kind() {
		case jsontext.KindNumber:
			if !sameEverywhere(token.String()) {
				return invalid("policy",
					"has a number that clients write differently when they verify the token: use whole numbers up to 2^53")
			}
		case jsontext.KindString:
			kind, length := in.StackIndex(in.StackDepth())
			isKey := kind == jsontext.KindBeginObject && length%2 == 1
			if isKey && strings.ContainsFunc(token.String(), func(r rune) bool { return r >= 0xE000 && r <= 0xFFFF }) {
				return invalid("policy",
					"has a key with characters between U+E000 and U+FFFF, which clients sort differently")
			}
		}
	}
}

// sameEverywhere reports whether a canonical number reads back and prints as
// the same text in Go, JavaScript and Python.
func sameEverywhere(number string) bool {
	f, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return false
	}
	if strings.ContainsAny(number, ".e") {
		return math.Abs(f) >= 1e-4 && math.Abs(f) < 1e15
	}
	return math.Abs(f) <= 1<<53-1
}
