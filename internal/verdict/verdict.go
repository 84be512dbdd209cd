// Package verdict is the answer to "may this call run?".
//
// There are four, ordered from strictest to most lenient, so that the strictest of
// several is their minimum. The zero value is Deny: what fails or is missing is denied.
package verdict

import "fmt"

// Verdict is one of the four answers.
type Verdict uint8

// The verdicts, strictest first.
const (
	Deny  Verdict = iota // it must not run
	Hold                 // an approver must approve it first
	Ask                  // the owner of the key must approve it first
	Allow                // it may run
)

// Ruling is the core of every decision: a verdict, what gave it, and why.
type Ruling struct {
	Verdict Verdict

	// What decided: a policy, or one of the reserved ids of package policy. Rule is
	// "default" where a policy's default decided, and empty where no policy applies.
	PolicyID      string
	PolicyName    string
	PolicyVersion int
	Rule          string

	Reason  string // one sentence, always set
	Message string // the rule's own words, if it has any
}

var names = [...]string{Deny: "deny", Hold: "hold", Ask: "ask", Allow: "allow"}

// String is the verdict's word. An invalid verdict is a deny.
func (v Verdict) String() string {
	if int(v) >= len(names) {
		return names[Deny]
	}
	return names[v]
}

// Parse reads a verdict's word, exactly as it is written.
func Parse(word string) (Verdict, error) {
	for v, name := range names {
		if word == name {
			return Verdict(v), nil
		}
	}
	return Deny, fmt.Errorf("must be allow, deny, hold or ask")
}

// MarshalText writes the verdict's word.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads the verdict's word.
func (v *Verdict) UnmarshalText(text []byte) error {
	parsed, err := Parse(string(text))
	if err != nil {
		return err
	}
	*v = parsed
	return nil
}
