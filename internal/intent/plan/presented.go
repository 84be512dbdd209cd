package plan

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Presented is what a call shows of its plan: names to find the stored one by,
// and what must equal what was issued. The copy of the plan that clients send
// along is not even read: the stored one is judged.
type Presented struct {
	PlanID    string
	Reference string // intent_reference
	PlanHash  string
	Signature string
	JWT       string
}

// IsZero reports whether nothing was shown that could be of a plan.
func (p Presented) IsZero() bool { return p == Presented{} }

// wrappers is how deep a token may stand inside others: the SDK's object holds
// it under token, and either may be written into a string.
const wrappers = 3

// ParsePresented reads the intent_token of a call, or the token of verify-step
// and audit: the SDK's object, the signed token alone, the plan's JWT, or any of
// the objects written into a string. What is none of them presents nothing.
func ParsePresented(raw []byte) Presented {
	p, err := ReadPresented(jsontext.NewDecoder(bytes.NewBuffer(raw)))
	if err != nil {
		return Presented{}
	}
	return p
}

// ReadPresented is ParsePresented for the next value of a request that is being
// read. It passes over the plan that stands in it, which may be long. The error
// is the decoder's.
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
	if id, ok := planIDIn(text); ok {
		return Presented{PlanID: id, JWT: text}
	}
	return Presented{}
}

// readObject reads the SDK's object, or the signed token alone. What stands
// outside names the plan; what is inside is what was issued.
func readObject(in *jsontext.Decoder, wrappers int) (p Presented, err error) {
	var inner Presented
	if _, err := in.ReadToken(); err != nil {
		return Presented{}, err
	}
	for in.PeekKind() != jsontext.KindEndObject {
		name, err := in.ReadValue() // quoted; a name behind escapes is none of these
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
		PlanID: firstOf(p.PlanID, inner.PlanID), Reference: firstOf(p.Reference, inner.Reference),
		PlanHash:  firstOf(p.PlanHash, inner.PlanHash),
		Signature: firstOf(inner.Signature, p.Signature), JWT: firstOf(p.JWT, inner.JWT),
	}, err
}

// readText reads a string; anything else is passed over, as absent.
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

// genuine reports whether what is presented is what was issued for the plan.
// Comparing with the stored signature costs nothing beside verifying it, and
// proves as much: nobody but the holder of a token ever saw it. The signature
// counts where there is one, else the JWT.
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
