package plan

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Presented is what a call sends of its plan: names by which to find the stored plan,
// and a token to compare with the one issued. The copy of the plan that clients send is
// not read.
type Presented struct {
	PlanID    string
	Reference string // intent_reference
	PlanHash  string
	Signature string
	JWT       string
	// MerkleRoot and ExpiresAt are what the token says of the plan; ExpiresAt is a JSON number as it was written.
	MerkleRoot, ExpiresAt string
	Contradictory         bool // it says one of them twice, or has a copy beside it, and not the same
}

// IsZero reports whether nothing was presented.
func (p Presented) IsZero() bool { return p == Presented{} }

// wrappers is how deep a token may be nested: the SDK's object holds it under token,
// and either may be a string.
const wrappers = 3

// ParsePresented reads the intent_token of a call, or the token of verify-step and
// audit: the SDK's object, the signed token alone, the plan's JWT, or one of the
// objects as a string. Anything else presents nothing.
func ParsePresented(raw []byte) Presented {
	p, err := ReadPresented(jsontext.NewDecoder(bytes.NewBuffer(raw)))
	if err != nil {
		return Presented{}
	}
	return p
}

// ReadPresented is ParsePresented for the next value of a decoder. It skips the plan in
// it, which may be long. The error is the decoder's.
func ReadPresented(in *jsontext.Decoder) (Presented, error) { return readPresented(in, wrappers) }

func readPresented(in *jsontext.Decoder, wrappers int) (p Presented, err error) {
	switch kind := in.PeekKind(); {
	case kind == jsontext.KindString:
		token, err := in.ReadToken()
		if err != nil {
			return Presented{}, err
		}
		return presentedText(token.String(), wrappers), nil
	case kind == jsontext.KindBeginObject && wrappers > 0:
		return readObject(in, wrappers-1)
	}
	return Presented{}, in.SkipValue()
}

func presentedText(text string, wrappers int) Presented {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "{") {
		p, err := readPresented(jsontext.NewDecoder(strings.NewReader(text)), wrappers-1)
		if err != nil {
			return Presented{}
		}
		return p
	}
	if i := strings.LastIndexByte(text, '~'); i >= 0 { // a delegation: its last part names it
		if id, ok := idIn(text[i+1:]); ok {
			return Presented{PlanID: id, JWT: text}
		}
		return Presented{}
	}
	if id, ok := planIDIn(text); ok {
		return Presented{PlanID: id, JWT: text}
	}
	return Presented{}
}

// readObject reads the SDK's object, or the signed token alone. The outer members name
// the plan; the inner signature is the one issued.
func readObject(in *jsontext.Decoder, wrappers int) (p Presented, err error) {
	var inner Presented
	if _, err := in.ReadToken(); err != nil {
		return Presented{}, err
	}
	for in.PeekKind() != jsontext.KindEndObject {
		name, err := in.ReadValue() // quoted; an escaped name is none of these
		if err != nil {
			return Presented{}, err
		}
		switch string(name) {
		case `"plan_id"`:
			p.PlanID, err = readText(in)
		case `"intent_reference"`:
			p.Reference, err = readText(in)
		case `"plan_hash"`:
			p.PlanHash, err = readText(in)
		case `"merkle_root"`:
			p.MerkleRoot, err = readText(in)
		case `"expires_at"`:
			p.ExpiresAt, err = readNumber(in)
		case `"signature"`:
			p.Signature, err = readText(in)
		case `"jwt_token"`, `"jwtToken"`:
			p.JWT, err = readText(in)
		case `"token"`:
			inner, err = readPresented(in, wrappers)
		default:
			err = in.SkipValue()
		}
		if err != nil {
			return Presented{}, err
		}
	}
	_, err = in.ReadToken()
	return Presented{
		PlanID:     cmp.Or(p.PlanID, inner.PlanID),
		Reference:  cmp.Or(p.Reference, inner.Reference),
		PlanHash:   cmp.Or(p.PlanHash, inner.PlanHash),
		Signature:  cmp.Or(inner.Signature, p.Signature),
		JWT:        cmp.Or(p.JWT, inner.JWT),
		MerkleRoot: cmp.Or(p.MerkleRoot, inner.MerkleRoot),
		ExpiresAt:  cmp.Or(p.ExpiresAt, inner.ExpiresAt),
		Contradictory: inner.Contradictory || differ(p.PlanHash, inner.PlanHash) ||
			differ(p.MerkleRoot, inner.MerkleRoot) || differ(p.ExpiresAt, inner.ExpiresAt),
	}, err
}

func differ(a, b string) bool { return a != "" && b != "" && a != b }

// readNumber reads a number as it is written. Anything but null is kept, so that it is compared.
func readNumber(in *jsontext.Decoder) (string, error) {
	value, err := in.ReadValue()
	if err != nil || value.Kind() == jsontext.KindNull {
		return "", err
	}
	return string(value), nil
}

// readText reads a string; anything else is skipped and counts as absent.
func readText(in *jsontext.Decoder) (string, error) {
	if in.PeekKind() != jsontext.KindString {
		return "", in.SkipValue()
	}
	quoted, err := in.ReadValue()
	if err != nil {
		return "", err
	}
	return unquote(string(quoted)), nil
}

// genuine reports whether the presented token is the one issued for the plan: by its
// signature if there is one, else by its JWT. Comparing with the stored signature is
// much cheaper than verifying it and proves as much, because only holders of the token
// know it.
func (d *Declared) genuine(p Presented) bool {
	if p.Signature != "" {
		return d.Signature != "" && subtle.ConstantTimeCompare([]byte(d.Signature), []byte(p.Signature)) == 1
	}
	if p.JWT == "" || d.JWTHash == [sha256.Size]byte{} {
		return false
	}
	hash := sha256.Sum256([]byte(p.JWT))
	return subtle.ConstantTimeCompare(d.JWTHash[:], hash[:]) == 1
}

// altered reports whether a token that names a plan says something else of it than was signed. The signature alone does
// not show it: clients send the signed members beside it, and others may read them.
func (d *Declared) altered(p Presented) bool {
	root := d.first().Root
	if p.Contradictory || differ(p.PlanHash, root) || differ(p.MerkleRoot, root) {
		return true
	}
	if p.ExpiresAt == "" {
		return false
	}
	expires, err := strconv.ParseFloat(p.ExpiresAt, 64)
	return err != nil || expires != float64(d.Expires.Unix())
}
