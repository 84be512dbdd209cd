package route

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/misspelling"
)

// Unread counts the members of a body that nobody reads.
type Unread int

// mostUnread is how many of them a body may have: no client sends as many, and looking at each takes time.
const mostUnread = 64

const errTooManyUnread BodyError = "has too many members that nobody reads"

// Check refuses a member that is probably one which we read, misspelled. A call would be judged without what its sender
// wrote there: without its arguments, or without its plan. The member is not repeated.
func (n *Unread) Check(member string, known []string) error {
	if slices.Contains(known, member) {
		return nil
	}
	if *n++; *n > mostUnread {
		return errTooManyUnread
	}
	if meant := misspelling.Of(member, known); meant != "" {
		return BodyError("has a member that nobody reads: did you mean " + meant + "?")
	}
	return nil
}

// RefuseMisspelled checks all members of a body. What is no object is refused by whoever reads it.
func RefuseMisspelled(body []byte, known []string) error {
	var members map[string]jsontext.Value
	if json.Unmarshal(body, &members) != nil {
		return nil
	}
	var rest Unread
	for name := range members {
		if err := rest.Check(name, known); err != nil {
			return err
		}
	}
	return nil
}

// Misspelled says of members that nobody reads which were probably meant, where the request must not be refused for
// them. The members are not repeated.
func Misspelled(unread jsontext.Value, known []string) (warnings []string) {
	var members map[string]jsontext.Value
	if json.Unmarshal(unread, &members) != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(members))[:min(len(members), mostUnread)] {
		if meant := misspelling.Of(name, known); meant != "" {
			warnings = append(warnings, "a member of the body is not read: did you mean "+meant+"?")
		}
	}
	return warnings
}
