package plan

import (
	"crypto/sha256"
	"crypto/subtle"
	"strings"

	"github.com/go-json-experiment/json"
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

// shown is a token in the wrapper that SDKs keep it in, or the signed token alone.
type shown struct {
	PlanID    text           `json:"plan_id"`
	Reference text           `json:"intent_reference"`
	PlanHash  text           `json:"plan_hash"`
	Signature text           `json:"signature"`
	JWT       text           `json:"jwt_token"`
	JWTCamel  text           `json:"jwtToken"`
	Token     jsontext.Value `json:"token"`
}

// ParsePresented reads the intent_token of a call, or the token of verify-step
// and audit: the SDK's wrapper, the signed token alone, the plan's JWT, or any
// of the objects written into a string. What is none of them presents nothing.
func ParsePresented(raw []byte) Presented { return parsePresented(raw, 2) }

func parsePresented(raw jsontext.Value, wrappers int) Presented {
	switch raw.Kind() {
	case jsontext.KindString:
		inner, err := jsontext.AppendUnquote(nil, raw)
		if err != nil {
			return Presented{}
		}
		return presentedText(string(inner), wrappers)
	case jsontext.KindBeginObject:
		return presentedObject(raw, wrappers)
	}
	return Presented{}
}

func presentedText(text string, wrappers int) Presented {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "{") && wrappers > 0 {
		return presentedObject([]byte(text), wrappers-1)
	}
	if id, ok := planIDIn(text); ok {
		return Presented{PlanID: id, JWT: text}
	}
	return Presented{}
}

func presentedObject(raw []byte, wrappers int) Presented {
	var s shown
	if err := json.Unmarshal(raw, &s); err != nil {
		return Presented{}
	}
	p := Presented{
		PlanID: s.PlanID.text, Reference: s.Reference.text, PlanHash: s.PlanHash.text,
		Signature: s.Signature.text, JWT: firstOf(s.JWT.text, s.JWTCamel.text),
	}
	if s.Token == nil || wrappers == 0 {
		return p
	}
	inner := parsePresented(s.Token, wrappers-1)
	p.Signature = firstOf(inner.Signature, p.Signature)
	p.JWT = firstOf(p.JWT, inner.JWT)
	p.PlanID = firstOf(p.PlanID, inner.PlanID)
	p.Reference = firstOf(p.Reference, inner.Reference)
	p.PlanHash = firstOf(p.PlanHash, inner.PlanHash)
	return p
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
