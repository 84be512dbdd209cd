package decisions

import (
	"cmp"
	"net/http"
	"strings"

	"writ/internal/enforcement"
	"writ/internal/fault"
)

// PersonHeader names the person that the agent works for, as it does where clients ask for approvals.
const PersonHeader = "X-User-Email"

// NamePerson takes the person of a call from the header where the body names none: who rejects or may not approve the
// call must not depend on where it says whom it is for. It refuses a call that names two.
func NamePerson(call *enforcement.Request, header http.Header) error {
	said := call.UserEmail
	if strings.Contains(call.UserID, "@") {
		said = cmp.Or(said, call.UserID)
	}
	for _, named := range header.Values(PersonHeader) {
		named = strings.ToLower(strings.TrimSpace(named))
		switch {
		case named == "":
		case said == "":
			call.UserEmail, said = named, named
		case !strings.EqualFold(strings.TrimSpace(said), named):
			return fault.Field(PersonHeader, "the header names another person than the call: leave one out")
		}
	}
	return nil
}
