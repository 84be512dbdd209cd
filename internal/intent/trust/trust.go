// Package trust is the form of delegations: what a token of a delegation says, and how whoever has the server's
// published keys verifies it offline, down to the plan that an agent declared. The package is pure.
//
// A token is a list of signed parts with ~ between them:
//
//	key ~ plan ~ anchor* ~ link+
//
//	key     a JWS: which key signs for the organization, signed with the server's trust key
//	plan    a JWS: which plan was declared; unlike the plan's own token it is no credential
//	anchor  a JWS for each re-anchoring of that plan before it was delegated
//	link    a JWS for each delegation; the last one is the token's own
//
// Plan, anchors and links are signed with the organization's key. Each link has the hash of the part that it hangs on,
// so that no link can be moved to another parent. Its steps are each covered by a step of that parent; those of the
// first link come with the plan's own steps and their proofs against the plan's hash.
//
// A token is of use only to whoever holds the private half of the key in its last link: see Proof.
package trust

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/intent/plan"
)

// Kinds of signed parts. They keep one from passing for another.
const (
	kindKey        = "trust-key+jwt"
	kindPlan       = "declared-plan+jwt"
	kindAnchor     = "anchor+jwt"
	kindLink       = "delegation+jwt"
	kindRevocation = "revocation+jwt"
	kindProof      = "delegation-proof+jwt"
)

// MaxBytes is how long a token may be.
const MaxBytes = 1 << 20

// ClockSkew is how far the clocks of a server, a delegate and a verifier may differ.
const ClockSkew = time.Minute

// Key is the statement which key signs for an organization.
type Key struct {
	OrgID  string `json:"org"`
	ID     string `json:"jti"`
	Public string `json:"key"` // of Ed25519, in hex
	Issued int64  `json:"iat"`
}

// Sign signs the statement with a key of the server.
func (k Key) Sign(keyID string, key ed25519.PrivateKey) (string, error) {
	return sign(kindKey, keyID, k, key)
}

// Plan says which plan was declared. The token of that plan is a credential of whoever declared it, so that no part of
// a delegation's token may have its signature.
type Plan struct {
	ID       string `json:"jti"`
	OrgID    string `json:"org"`
	PlanHash string `json:"plan_hash"` // of its first version
	Issued   int64  `json:"iat"`
	Expires  int64  `json:"exp"`
}

// Sign signs the statement with the organization's key.
func (p Plan) Sign(keyID string, key ed25519.PrivateKey) (string, error) {
	return sign(kindPlan, keyID, p, key)
}

// Anchor says that a plan was re-anchored.
type Anchor struct {
	ID       string `json:"jti"`
	OrgID    string `json:"org"`
	PlanID   string `json:"plan_id"`
	Number   int64  `json:"anchor"` // of the version of the plan, from 2
	From     string `json:"from_hash"`
	To       string `json:"to_hash"`
	Widened  []int  `json:"widened"`       // steps that a person must agree to
	Previous string `json:"previous_hash"` // of the anchor before, as it was signed; empty: there is none
	Issued   int64  `json:"iat"`
}

// Sign signs the anchor with the organization's key.
func (a Anchor) Sign(keyID string, key ed25519.PrivateKey) (string, error) {
	return sign(kindAnchor, keyID, a, key)
}

// Revocation says that a plan or delegation was revoked.
type Revocation struct {
	ID       string   `json:"jti"`
	OrgID    string   `json:"org"`
	PlanID   string   `json:"plan_id"` // the plan or delegation
	Cascade  bool     `json:"cascade"`
	Cascaded []string `json:"cascaded"` // delegations that were revoked with it
	Issued   int64    `json:"iat"`
}

// Sign signs the revocation with the organization's key.
func (r Revocation) Sign(keyID string, key ed25519.PrivateKey) (string, error) {
	return sign(kindRevocation, keyID, r, key)
}

// Link is one delegation.
type Link struct {
	ID       string `json:"jti"`
	OrgID    string `json:"org"`
	PlanID   string `json:"plan_id"`   // the declared plan
	ParentID string `json:"parent_id"` // the plan or delegation that it narrows
	// ParentHash is the SHA-256 of the part of the token that it hangs on, in hex.
	ParentHash string `json:"parent_hash"`
	PlanHash   string `json:"plan_hash"` // root of the tree of its own steps, as a plan
	Depth      int    `json:"depth"`     // from 1
	Further    int    `json:"further"`   // how many delegations may follow
	Delegate   string `json:"delegate"`  // the public key of whoever may use it: of Ed25519, in hex
	AgentID    string `json:"agent_id,omitzero"`
	Budget     int64  `json:"budget,omitzero"` // calls under it and what follows; absent: any number
	Steps      []Step `json:"steps"`
	Issued     int64  `json:"iat"`
	Expires    int64  `json:"exp"`
}

// Step is a step of a link.
type Step struct {
	// Step is what may be called, as plan.Step.Binding writes it, and Parent the index of the parent's step that covers
	// it.
	Step   jsontext.Value `json:"step"`
	Parent int            `json:"parent"`
	// From is the plan's step, if it is not the same as Step, and Proof leads from it to the plan's hash. Only the
	// first link has them.
	From  jsontext.Value `json:"from,omitzero"`
	Proof plan.Proof     `json:"proof,omitempty"`
}

// Sign signs the link with the organization's key.
func (l *Link) Sign(keyID string, key ed25519.PrivateKey) (string, error) {
	return sign(kindLink, keyID, l, key)
}

// HashOf is the hash by which parts name each other, and proofs name a token.
func HashOf(part string) string {
	sum := sha256.Sum256([]byte(part))
	return hex.EncodeToString(sum[:])
}

// Join makes a token of its parts.
func Join(parts ...string) string { return strings.Join(parts, "~") }

// Parts are the parts of a token.
func Parts(token string) []string { return strings.Split(token, "~") }

// SignatureOf is the signature of a signed part, in hex.
func SignatureOf(part string) string {
	raw, err := base64.RawURLEncoding.DecodeString(part[strings.LastIndexByte(part, '.')+1:])
	if err != nil {
		return ""
	}
	return hex.EncodeToString(raw)
}

// PublicKey reads a delegate's public key of Ed25519, in hex or base64.
func PublicKey(text string) (ed25519.PublicKey, bool) {
	text = strings.TrimSpace(text)
	if key, err := hex.DecodeString(text); err == nil && len(key) == ed25519.PublicKeySize {
		return key, true
	}
	text = strings.TrimRight(strings.NewReplacer("+", "-", "/", "_").Replace(text), "=")
	key, err := base64.RawURLEncoding.DecodeString(text)
	return key, err == nil && len(key) == ed25519.PublicKeySize
}

// derMark is what stands before the 32 bytes of a public key of Ed25519 in the form that Node and OpenSSL export as
// SPKI, in DER (RFC 8410).
const derMark = "\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00"

// StatedKey reads a delegate's public key as a person or a program states it: as PublicKey does, or in the form of
// SPKI. What is signed and proved names the key itself.
func StatedKey(text string) (ed25519.PublicKey, bool) {
	if key, ok := PublicKey(text); ok {
		return key, true
	}
	text = strings.TrimSpace(text)
	raw, err := hex.DecodeString(text)
	if err != nil {
		text = strings.TrimRight(strings.NewReplacer("+", "-", "/", "_").Replace(text), "=")
		raw, err = base64.RawURLEncoding.DecodeString(text)
	}
	key, marked := bytes.CutPrefix(raw, []byte(derMark))
	return key, err == nil && marked && len(key) == ed25519.PublicKeySize
}

const algorithm = "EdDSA"

// A header has one spelling, so that it is compared and not parsed; but see isProofHeader.
func headOf(kind, keyID string) string {
	if keyID == "" {
		return `{"alg":"` + algorithm + `","typ":"` + kind + `"}`
	}
	return `{"alg":"` + algorithm + `","typ":"` + kind + `","kid":"` + keyID + `"}`
}

// readHeader reads which kind of part a header is of, and the id of the key that signed it, if it names one.
func readHeader(header string) (kind, keyID string, ok bool) {
	after, ok := strings.CutPrefix(header, `{"alg":"`+algorithm+`","typ":"`)
	kind, after, also := strings.Cut(after, `"`)
	if !ok || !also || after == "}" {
		return kind, "", ok && also
	}
	keyID, ok = strings.CutPrefix(after, `,"kid":"`)
	keyID, also = strings.CutSuffix(keyID, `"}`)
	return kind, keyID, ok && also && keyID != "" && !strings.ContainsAny(keyID, `"\\`)
}

var strict = base64.RawURLEncoding.Strict()

func sign(kind, keyID string, claims any, key ed25519.PrivateKey) (string, error) {
	body, err := json.Marshal(claims)
	if err != nil {
		return "", fmt.Errorf("sign a %s: %w", kind, err)
	}
	signed := base64.RawURLEncoding.EncodeToString([]byte(headOf(kind,
		keyID))) + "." + base64.RawURLEncoding.EncodeToString(body)
	return signed + "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(key, []byte(signed))), nil
}

var errForm = errors.New("a part of it cannot be read")

// unsigned is a signed part whose signature was not verified yet.
type unsigned struct {
	kind      string
	keyID     string
	body      []byte
	text      string // what is signed
	signature []byte
}

// read takes a signed part of a token apart. Only one spelling of it is read.
func read(part string) (unsigned, error) {
	u, header, err := takeApart(part)
	if err != nil {
		return unsigned{}, err
	}
	kind, keyID, ok := readHeader(string(header))
	if !ok {
		return unsigned{}, errForm
	}
	u.kind, u.keyID = kind, keyID
	return u, nil
}

// readAs takes a signed part of this kind apart.
func readAs(kind, part string) (unsigned, error) {
	u, err := read(part)
	if err == nil && u.kind != kind {
		err = errForm
	}
	return u, err
}

// takeApart takes a JWS apart, whatever its header says.
func takeApart(part string) (u unsigned, header []byte, err error) {
	first, rest, ok := strings.Cut(part, ".")
	body, signature, also := strings.Cut(rest, ".")
	if !ok || !also {
		return u, nil, errForm
	}
	if header, err = strict.DecodeString(first); err != nil {
		return u, nil, errForm
	}
	if u.body, err = strict.DecodeString(body); err != nil {
		return u, nil, errForm
	}
	if u.signature, err = strict.DecodeString(signature); err != nil {
		return u, nil, errForm
	}
	u.text = part[:len(part)-len(signature)-1]
	return u, header, nil
}

func (u *unsigned) verify(key ed25519.PublicKey) bool {
	return len(key) == ed25519.PublicKeySize && ed25519.Verify(key, []byte(u.text), u.signature)
}

// claims reads a statement of the server, whose signature was verified: names in it are not there twice.
func (u *unsigned) claims(to any) error {
	if json.Unmarshal(u.body, to, jsontext.AllowDuplicateNames(true)) != nil {
		return errForm
	}
	return nil
}

// ReadAnchor reads an anchor that was signed here. It verifies nothing.
func ReadAnchor(part string) (a Anchor, err error) {
	u, err := readAs(kindAnchor, part)
	if err == nil {
		err = u.claims(&a)
	}
	return a, err
}
