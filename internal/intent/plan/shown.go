package plan

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// Shown is what a request shows of its plan, under the names that clients have for a token.
type Shown struct {
	Presented
	as, noneAs string // the name of the first token, and of the first value that is none
}

// DisagreeError says which member of a request contradicts another.
type DisagreeError struct{ Name, Message string }

func (e *DisagreeError) Error() string { return e.Name + " " + e.Message }

// Add takes a value and what it presents. Null and a blank text say nothing. A token that is not the same as another is
// refused, and so is what is no token beside one: nobody can tell which of them the caller goes by.
func (s *Shown) Add(name string, raw []byte, presented Presented) error {
	switch {
	case IsBlank(raw):
		return nil
	case presented.IsZero() && s.noneAs == "":
		s.noneAs = name
	case !presented.IsZero() && s.as == "":
		s.Presented, s.as = presented, name
	case !presented.IsZero() && s.Presented != presented:
		return otherToken(name, s.as)
	}
	if s.as != "" && s.noneAs != "" {
		return &DisagreeError{s.noneAs, "must be the token of a plan as it was issued, or absent"}
	}
	return nil
}

func otherToken(name, than string) error {
	return &DisagreeError{name, "must be the same as " + than + ", or absent"}
}

// ShownIn is what the members of a body show under some names.
func ShownIn(members map[string]jsontext.Value, names []string) (shown Shown, err error) {
	for _, name := range names {
		if err := shown.Add(name, members[name], ParsePresented(members[name])); err != nil {
			return Shown{}, err
		}
	}
	return shown, nil
}

// IsBlank reports whether a value is absent, null or a text of spaces.
func IsBlank(raw []byte) bool {
	switch raw = bytes.TrimSpace(raw); jsontext.Value(raw).Kind() {
	case jsontext.KindNull:
		return true
	case jsontext.KindString:
		return len(bytes.TrimSpace(bytes.Trim(raw, `"`))) == 0
	}
	return len(raw) == 0
}

// Agrees reports whether two tokens, perhaps of different form, are of one plan as far as both say: they share what
// names it, and differ in nothing.
func (p Presented) Agrees(other Presented) bool {
	shares := false
	for _, pair := range [...][2]string{
		{p.PlanID, other.PlanID}, {p.Reference, other.Reference}, {p.PlanHash, other.PlanHash},
		{p.Signature, other.Signature}, {p.JWT, other.JWT}, {p.MerkleRoot, other.MerkleRoot},
	} {
		if differ(pair[0], pair[1]) {
			return false
		}
		shares = shares || pair[0] != "" && pair[1] != ""
	}
	return shares
}

// With is the token with the copies of it that a client sends beside it. One that is not a copy makes it a token that
// was altered: whoever reads the copy would find another plan than the one by which the call is judged.
func (p Presented) With(members map[string]jsontext.Value, copies []string) Presented {
	if p.IsZero() {
		return p
	}
	whole := p
	for _, name := range copies {
		if raw := members[name]; !IsBlank(raw) && !p.Agrees(ParsePresented(raw)) {
			whole.Contradictory = true
		}
	}
	return whole
}
